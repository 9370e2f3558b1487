"""Why a workload waits, in words: the kernel's codes with upstream's facts.

Source: QP-411, QP-421..434, QP-464, QC-77..92.
"""

from __future__ import annotations

from typing import Any

import pytest

from kueue_fast import Engine
from tests.arrays import objects as o

ASSIGN = "couldn't assign flavors to pod set main: "
TAINT = {"key": "gpu", "value": "yes", "effect": "NoSchedule"}
AFFINITY = {
    "nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [
                {"matchExpressions": [{"key": "zone", "operator": "Near", "values": ["a"]}]}
            ]
        }
    }
}


def refusal(
    *extra: Any,
    groups: list[o.Json] | None = None,
    flavors: list[Any] | None = None,
    held: str = "",
    **queue: Any,
) -> Any:
    """What the only head of a cycle was told, in a queue of 4 cpu, of which `held` are in use."""
    groups = groups or [o.group(spot=[o.quota("cpu", 4)])]
    engine = o.feed(
        Engine(),
        o.namespace(),
        *(flavors or [o.flavor("spot")]),
        o.cluster_queue("q", *groups, **queue),
        o.local_queue("lq", "q"),
    )
    if held:
        made = o.workload_json("held", "lq", o.pod_set(cpu=held))
        o.feed(engine, o.reserved(made, "q", ("main", 1, {"cpu": "spot"}, {"cpu": held})))
    o.feed(engine, *extra)
    (requeued,) = o.cycle(engine).requeued
    assert engine.pending_message(requeued.workload) == requeued.message()
    return requeued


def w(*pod_sets: o.Json, **rest: Any) -> Any:
    return o.workload("w", "lq", *pod_sets, **rest)


ABOVE_LIMITS = {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}

# How the head comes about, and (outcome, requeue reason, message).
WORDS: dict[str, tuple[Any, tuple[str, str, str]]] = {
    "a resource in no group": (
        lambda: refusal(w(o.pod_set(cpu=1, gpu=1))),
        ("NoFit", "NoFit", ASSIGN + "resource example.com/gpu unavailable in ClusterQueue"),
    ),
    "more than there is": (
        lambda: refusal(w(o.pod_set(5, cpu=1))),
        (
            "NoFit",
            "NoFit",
            ASSIGN + "insufficient quota for cpu in flavor spot, previously considered podsets requests (0) "
            "+ current podset request (5) > maximum capacity (4)",
        ),
    ),
    "more than there is, with another pod set before it": (
        lambda: refusal(w(o.pod_set(3, name="first", cpu=1), o.pod_set(4, name="second", cpu="500m"))),
        (
            "NoFit",
            "NoFit",
            "couldn't assign flavors to pod set second: insufficient quota for cpu in flavor spot, "
            "previously considered podsets requests (3) + current podset request (2) > maximum capacity (4)",
        ),
    ),
    "a request beyond int64 is clamped": (
        lambda: refusal(w(o.pod_set(2**31 - 1, cpu=4_300_000))),
        (
            "NoFit",
            "NoFit",
            ASSIGN + "insufficient quota for cpu in flavor spot, previously considered podsets requests (0) "
            "+ current podset request (9223372036854775807m) > maximum capacity (4)",
        ),
    ),
    "memory in binary form": (
        lambda: refusal(w(o.pod_set(memory="3Gi")), groups=[o.group(spot=[o.quota("memory", "1536Mi")])]),
        (
            "NoFit",
            "NoFit",
            ASSIGN
            + "insufficient quota for memory in flavor spot, previously considered podsets requests (0) "
            "+ current podset request (3Gi) > maximum capacity (1536Mi)",
        ),
    ),
    "not now": (
        lambda: refusal(w(o.pod_set(cpu=2)), held="3"),
        (
            "NoCandidates",
            "PreemptionNoCandidates",
            ASSIGN + "insufficient unused quota for cpu in flavor spot, 1 more needed",
        ),
    ),
    "every flavor has its own reason, sorted": (
        lambda: refusal(
            w(o.pod_set(cpu=2)),
            held="3",
            flavors=[o.flavor("spot"), o.flavor("a", nodeTaints=[TAINT])],
            groups=[o.group(spot=[o.quota("cpu", 4)], a=[o.quota("cpu", 9)])],
        ),
        (
            "NoCandidates",
            "PreemptionNoCandidates",
            ASSIGN + "insufficient unused quota for cpu in flavor spot, 1 more needed, "
            "untolerated taint {gpu yes NoSchedule <nil>} in flavor a",
        ),
    ),
    "a check that failed": (
        lambda: refusal(w(o.pod_set(cpu=1), status={"admissionChecks": [{"name": "k", "state": "Retry"}]})),
        ("FailedChecks", "", "The workload has failed admission checks"),
    ),
    "a namespace that does not exist": (
        lambda: refusal(
            o.local_queue("lq", "q", in_namespace="gone"), w(o.pod_set(cpu=1), in_namespace="gone")
        ),
        ("NamespaceMissing", "", 'workload namespace "gone" does not exist: Namespace "gone" not found'),
    ),
    "a namespace that the queue does not take": (
        lambda: refusal(w(o.pod_set(cpu=1)), namespaceSelector={"matchLabels": {"team": "a"}}),
        ("NamespaceMismatch", "NamespaceMismatch", "workload namespace doesn't match ClusterQueue selector"),
    ),
    "below a cohort cycle": (
        lambda: refusal(o.cohort("team", parent="team"), w(o.pod_set(cpu=1)), cohort="team"),
        ("Inactive", "", "ClusterQueue q is inactive"),
    ),
}


def test_words() -> None:
    """In one test: most cases look alike, and the difference of the whole table says more."""
    got = {}
    for name, (make, _) in WORDS.items():
        requeued = make()
        got[name] = (requeued.outcome, requeued.reason, requeued.message())
    wants = {name: want for name, (_, want) in WORDS.items()}
    assert got == wants


def test_a_selector_that_does_not_match_names_the_flavor() -> None:
    requeued = refusal(
        w(o.pod_set(cpu=1, pod={"nodeSelector": {"zone": "b"}})),
        flavors=[o.flavor("spot", nodeLabels={"zone": "a"})],
    )
    assert (requeued.outcome, "spot" in requeued.message()) == ("NoFit", True)


def test_an_affinity_that_cannot_be_read_replaces_all_other_reasons() -> None:
    requeued = refusal(
        w(o.pod_set(name="a", cpu=1), o.pod_set(name="b", cpu=1, pod={"affinity": AFFINITY})),
        flavors=[o.flavor("spot", nodeLabels={"zone": "a"})],
    )
    assert requeued.outcome == "NoFit"
    assert requeued.message().startswith("failed to assign flavors to pod set b: ")
    assert "Near" in requeued.message()


@pytest.mark.parametrize(
    ("pod", "want"),
    [
        (o.pod_set(pod={"containers": [{"name": "c", "resources": ABOVE_LIMITS}]}), "containers[0]"),
        (o.pod_set(cpu=3), "cpu"),
    ],
    ids=["requests above limits", "outside a LimitRange"],
)  # fmt: skip
def test_invalid_requests_name_their_path(pod: o.Json, want: str) -> None:
    limit = o.limit_range("x", {"type": "Container", "max": {"cpu": "2"}})
    requeued = refusal(limit, w(pod))
    assert (requeued.outcome, requeued.reason) == ("Invalid", "")
    assert "spec.podSets[0].template.spec" in requeued.message()
    assert want in requeued.message()


def test_quota_that_went_to_another_in_the_same_cycle() -> None:
    engine = o.feed(Engine(), o.namespace(), o.flavor("spot"))
    for name in ("a", "b"):
        o.feed(
            engine,
            o.cluster_queue(name, o.group(spot=[o.quota("cpu", 2)]), cohort="team"),
            o.local_queue(name, name),
            o.workload(f"w-{name}", name, o.pod_set(cpu=4), created=1 if name == "a" else 0),
        )
    cycle = o.cycle(engine)
    assert o.admitted_names(cycle) == ["w-b"]
    (requeued,) = cycle.requeued
    assert (requeued.outcome, requeued.reason) == ("NoLongerFits", "FailedAfterNomination")
    assert requeued.message() == "Workload no longer fits after processing another workload"


def test_the_words_go_with_the_admission() -> None:
    engine = o.feed(
        Engine(),
        o.namespace(),
        o.flavor("spot"),
        o.cluster_queue("q", o.group(spot=[o.quota("cpu", 1)])),
        o.local_queue("lq", "q"),
        w(o.pod_set(cpu=2)),
    )
    o.cycle(engine)
    assert engine.pending_message("default/w") is not None
    o.feed(engine, o.cluster_queue("q", o.group(spot=[o.quota("cpu", 2)])))
    engine.flush(o.START, all=True)
    assert o.admitted_names(o.cycle(engine)) == ["w"]
    assert engine.pending_message("default/w") is None
