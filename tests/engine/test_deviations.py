"""Where the engine decides otherwise than upstream, fixes an order that upstream leaves open, or copies an oddity.

See docs/parity.md.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kueue_fast import Engine
from kueue_fast.api.configuration import AdmissionFairSharing, Configuration, load_configuration
from kueue_fast.api.decode import decode_object
from tests.arrays import objects as o

Json = dict[str, Any]

SIZES = {"small": [o.quota("cpu", 4)], "large": [o.quota("cpu", 10)]}
USAGE_BASED = {"admissionScope": {"admissionMode": "UsageBasedAdmissionFairSharing"}}


# Pod sets of one workload, in a ClusterQueue with cpu 4 of `small` and then 10 of `large`.
POD_SETS: dict[str, Json] = {
    "members of a group need not follow one another (QP-903)": {
        "pod_sets": [
            o.pod_set(name="a", together="g", cpu=2),
            o.pod_set(name="b", cpu=1),
            o.pod_set(name="c", together="g", cpu=3),
        ],
        "want": {"a": {"cpu": "large"}, "b": {"cpu": "small"}, "c": {"cpu": "large"}},
    },
    "a group named like the place of another pod set (QP-903)": {
        "pod_sets": [o.pod_set(name="a", cpu=1), o.pod_set(name="b", together="0", cpu=5)],
        "want": {"a": {"cpu": "small"}, "b": {"cpu": "large"}},
    },
    "one that asks for nothing does not end the assignment (QP-904)": {
        "pod_sets": [o.pod_set(name="a", gpu=0), o.pod_set(name="b", cpu=1)],
        "want": {"a": {}, "b": {"cpu": "small"}},
    },
}


@pytest.mark.parametrize("case", POD_SETS.values(), ids=POD_SETS)
def test_pod_sets_get_their_own_flavors(case: Json) -> None:
    engine = o.feed(
        Engine(),
        o.namespace(),
        *map(o.flavor, SIZES),
        o.cluster_queue("q", o.group(**SIZES)),
        o.local_queue("lq", "q"),
        o.workload("w", "lq", *case["pod_sets"]),
    )
    (admission,) = o.cycle(engine).admitted
    assert {one.name: one.flavors for one in admission.pod_sets} == case["want"]


@pytest.mark.parametrize("names", ["abc", "cab", "bca"])
def test_heads_come_by_the_name_of_their_queue(names: str) -> None:
    """QC-48: whatever the order in which the queues came."""
    engine = o.feed(Engine(), o.namespace(), o.flavor("spot"))
    for name in names:
        queue = o.cluster_queue(name, o.group(spot=[o.quota("cpu", 1)]))
        o.feed(engine, queue, o.local_queue(name, name), o.workload(name, name, o.pod_set(cpu=2)))
    assert [one.cluster_queue for one in o.cycle(engine).requeued] == ["a", "b", "c"]


def fair_engine() -> Engine:
    text = b"apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\nfairSharing: {}\n"
    return Engine(load_configuration(text, "config.yaml"))


@pytest.mark.parametrize("make", [Engine, fair_engine], ids=["classical", "fair sharing"])
@pytest.mark.parametrize("names", ["ab", "ba"])
def test_equal_entries_go_by_uid(names: str, make: Callable[[], Engine]) -> None:
    """QC-107, QC-112: two heads alike, and quota for one of them."""
    engine = o.feed(make(), o.namespace(), o.flavor("spot"))
    o.feed(engine, o.cohort("team", o.group(spot=[o.quota("cpu", 1)])))
    for name in names:
        queue = o.cluster_queue(name, o.group(spot=[o.quota("cpu", 0)]), cohort="team")
        uid = {"uid": "2" if name == "a" else "1"}
        made = o.workload(name, name, o.pod_set(cpu=1), metadata=uid)
        o.feed(engine, queue, o.local_queue(name, name), made)
    assert o.admitted_names(o.cycle(engine)) == ["b"]


@pytest.mark.parametrize(("topology", "want"), [(True, []), (False, ["w"])])
def test_a_queue_without_flavors(topology: bool, want: list[str]) -> None:
    """QP-917: copied. The workload asks for nothing."""
    engine = Engine(feature_gates={"TopologyAwareScheduling": topology})
    o.feed(
        engine,
        o.namespace(),
        o.cluster_queue("q"),
        o.local_queue("lq", "q"),
        o.workload("w", "lq", o.pod_set()),
    )
    assert o.admitted_names(o.cycle(engine)) == want


# --- admission fair sharing


def sharing(**spec: Any) -> Engine:
    """ClusterQueue `q` with cpu 4 and two LocalQueues: `less` used 1 cpu in the past, `more` 8."""
    half_life = AdmissionFairSharing(usage_half_life_time="1h", usage_sampling_interval="5m")
    engine = o.feed(Engine(Configuration(admission_fair_sharing=half_life)), o.namespace(), o.flavor("spot"))
    o.feed(engine, o.cluster_queue("q", o.group(spot=[o.quota("cpu", 4)]), **spec))
    return o.feed(engine, used("less", 1), used("more", 8))


def used(name: str, cpu: int) -> Any:
    status = {"consumedResources": {"cpu": str(cpu)}, "lastUpdate": "2026-01-01T00:00:00Z"}
    return decode_object(
        {
            "apiVersion": o.V1BETA2,
            "kind": "LocalQueue",
            "metadata": {"namespace": "default", "name": name},
            "spec": {"clusterQueue": "q"},
            "status": {"fairSharing": {"weightedShare": 0, "admissionFairSharingStatus": status}},
        }
    )


def test_use_is_read_at_each_pop() -> None:
    """QC-15: an admission charges its LocalQueue at once, so that the other one has the next turn."""
    engine = sharing(**USAGE_BASED)
    for name in ("more", "less"):
        o.feed(engine, *(o.workload(f"{name}{i}", name, o.pod_set(cpu=1), created=i) for i in (1, 2)))
    assert [o.admitted_names(o.cycle(engine)) for _ in range(4)] == [
        ["less1"],
        ["less2"],
        ["more1"],
        ["more2"],
    ]


def test_admission_scope_may_change() -> None:
    """QC-7: from creation times to past use, and back."""
    engine = sharing()
    o.feed(engine, o.workload("older", "more", o.pod_set(cpu=9)))
    o.feed(engine, o.workload("newer", "less", o.pod_set(cpu=9, memory=0), created=5))
    first = []
    for scope in ({}, USAGE_BASED, {}):
        o.feed(engine, o.cluster_queue("q", o.group(spot=[o.quota("cpu", 4)]), **scope))
        engine.flush(o.START, all=True)
        first += [one.workload for one in o.cycle(engine).requeued]
        engine.retry_all()
        engine.flush(o.START, all=True)
    assert first == ["default/older", "default/newer", "default/older"]


def test_the_more_used_local_queue_gives_first() -> None:
    """QP-611.3, QP-920: of two alike, and against the time of admission, which is the next rule."""
    rules = {**USAGE_BASED, "preemption": {"withinClusterQueue": "LowerPriority"}}
    engine = sharing(**rules)
    for name in ("less", "more"):
        made = o.workload_json(name, name, o.pod_set(cpu=2))
        o.feed(engine, o.reserved(made, "q", ("main", 1, {"cpu": "spot"}, {"cpu": "2"})))
    o.feed(engine, o.workload("urgent", "less", o.pod_set(cpu=2), priority=1))
    assert [one.workload for one in o.cycle(engine).preempted] == ["default/more"]
