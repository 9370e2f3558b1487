"""Which gated pods of an elastic job may go. Source: JS-510..516."""

from typing import Any

import msgspec
import pytest

from kueue_fast.api.core import Pod
from kueue_fast.api.kueue import AdmissionCheckState, Workload
from kueue_fast.errors import InputError
from kueue_fast.lifecycle.elastic_gates import may_release, next_release, pods_to_release, releasing_slice
from kueue_fast.lifecycle.pods import has_gate
from kueue_fast.model.elastic import ELASTIC_JOB
from kueue_fast.model.topology_names import TOPOLOGY_GATE
from tests.lifecycle.slice_makers import make_slice
from tests.placed import pod

CHAIN = "kueue.x-k8s.io/workload-slice-name"
WORKLOAD = "kueue.x-k8s.io/workload"
POD_SET = "kueue.x-k8s.io/podset"
CONSUME = "autoscaling.x-k8s.io/consume-provisioning-request"


def gated(name: str, **more: Any) -> Pod:
    """A gated pod of the chain `first`."""
    annotations = {CHAIN: "first", **more.pop("annotations", {})}
    return pod(name, annotations=annotations, gates=more.pop("gates", (ELASTIC_JOB,)), **more)


def gone(name: str, **more: Any) -> Pod:
    return gated(name, gates=(), **more)


def admitted_slice(pods: int | dict[str, int] = 2, *checks: dict[str, Any]) -> Workload:
    """The second slice of the chain `first`."""
    made = make_slice("second", pods=pods, admitted=True, replaces="first", annotations={CHAIN: "first"})
    assert made.status is not None
    made.status.admission_checks = msgspec.convert(
        [{"name": f"check-{number}", "state": "Ready", **check} for number, check in enumerate(checks)],
        list[AdmissionCheckState],
    )
    return made


def update(pod_set: str = "main", **what: Any) -> dict[str, Any]:
    return {"podSetUpdates": [{"name": pod_set, **what}]}


CASES: dict[str, tuple[Workload, list[Pod], list[str]]] = {
    "no pods": (admitted_slice(), [], []),
    "as many as the slice has, the lowest names first": (
        admitted_slice(2),
        [gated("c"), gated("a"), gated("b")],
        ["a", "b"],
    ),
    "names are compared byte by byte": (admitted_slice(1), [gated("p-9"), gated("p-10")], ["p-10"]),
    "those that have gone take room": (admitted_slice(2), [gated("a"), gated("b"), gone("c")], ["a"]),
    "more have gone than the slice has": (admitted_slice(1), [gated("a"), gone("b"), gone("c")], []),
    "those that ended take no room": (
        admitted_slice(2),
        [gated("a"), gated("b"), gone("c", phase="Succeeded"), gone("d", phase="Failed")],
        ["a", "b"],
    ),
    "a gated pod that failed does not go": (admitted_slice(2), [gated("a", phase="Failed")], []),
    "pod sets do not share room": (
        admitted_slice({"one": 1, "two": 1}),
        [
            gated("a", labels={POD_SET: "one"}),
            gated("b", labels={POD_SET: "one"}),
            gone("c", labels={POD_SET: "two"}),
        ],
        ["a"],
    ),
    "a pod without pod set stays": (admitted_slice(3), [gated("a", labels={POD_SET: None})], []),
    "a pod that names its first slice only": (
        admitted_slice(1),
        [gated("a", annotations={CHAIN: None, WORKLOAD: "first"})],
        ["a"],
    ),
    "a pod of another chain": (admitted_slice(1), [gated("a", annotations={CHAIN: "second"})], []),
    "a pod of another namespace": (admitted_slice(1), [gated("a", namespace="other")], []),
    "a pod with stale marks of capacity stays and takes no room": (
        admitted_slice(1, update(annotations={CONSUME: "new"})),
        [gated("a", annotations={CONSUME: "old"}), gated("b")],
        ["b"],
    ),
    "a pod that selects other nodes stays": (
        admitted_slice(1, update(nodeSelector={"zone": "z1"})),
        [gated("a", select={"zone": "z2"}), gated("b", select={"zone": "z1"})],
        ["b"],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_pods_to_release(case: str) -> None:
    workload, pods, want = CASES[case]
    released = pods_to_release(workload, pods)
    assert [each.metadata.name for each in released] == want
    assert not any(has_gate(each, ELASTIC_JOB) for each in released)


def test_a_released_pod_keeps_other_gates_and_gets_what_checks_add() -> None:
    checks = (
        update(annotations={CONSUME: "request", "other": "ignored"}, nodeSelector={"zone": "z1"}),
        update("another", nodeSelector={"zone": "z9"}),
    )
    before = gated("a", gates=(TOPOLOGY_GATE, ELASTIC_JOB), select={"disk": "fast"})
    (got,) = pods_to_release(admitted_slice(1, *checks), [before])
    assert [gate.name for gate in got.spec.scheduling_gates or ()] == [TOPOLOGY_GATE]
    assert got.spec.node_selector == {"disk": "fast", "zone": "z1"}
    annotations = got.metadata.annotations or {}
    assert (annotations[CONSUME], "other" in annotations) == ("request", False)
    assert before.spec.node_selector == {"disk": "fast"}


@pytest.mark.parametrize(
    ("key", "values"),
    [("annotations", ({CONSUME: "a"}, {CONSUME: "b"})), ("nodeSelector", ({"zone": "a"}, {"zone": "b"}))],
)
def test_checks_that_contradict_each_other(key: str, values: tuple[dict[str, str], dict[str, str]]) -> None:
    workload = admitted_slice(1, *(update(**{key: value}) for value in values))
    with pytest.raises(InputError, match='on pod set "main"'):
        pods_to_release(workload, [gated("a")])


RELEASING: dict[str, tuple[list[Workload], str | None]] = {
    "none": ([], None),
    "the admitted one": ([make_slice("a", admitted=True)], "a"),
    "the admitted one, while its replacement waits": (
        [make_slice("a", age=1, admitted=True), make_slice("b", replaces="a")],
        "a",
    ),
    "nothing goes while the newest waits for its checks": (
        [make_slice("a", age=1, admitted=True), make_slice("b", reserved=True)],
        None,
    ),
    "an evicted one lets nothing go": ([make_slice("a", admitted=True, evicted=True)], None),
    "one that ended lets nothing go": ([make_slice("a", admitted=True, finished=True)], None),
}


@pytest.mark.parametrize("case", RELEASING)
def test_releasing_slice(case: str) -> None:
    workloads, want = RELEASING[case]
    got = releasing_slice(workloads, slices=True)
    assert (None if got is None else got.metadata.name) == want
    assert releasing_slice(workloads, slices=False) is None


def test_a_workload_that_is_not_elastic_lets_nothing_go() -> None:
    plain = make_slice("a", admitted=True, annotations={ELASTIC_JOB: "no"})
    assert not may_release(plain, slices=True)


NEXT: dict[str, tuple[str, list[Workload], set[str], list[str]]] = {
    "as the active slice says": ("first", [admitted_slice(1)], set(), ["a"]),
    "not before what was written is seen": ("first", [admitted_slice(1)], {"uid-of-b"}, []),
    "the job has begun another chain": (
        "first",
        [make_slice("second", pods=1, admitted=True, annotations={CHAIN: "second"})],
        set(),
        [],
    ),
    "no slice is there any more": ("first", [], set(), []),
}


@pytest.mark.parametrize("case", NEXT)
def test_next_release(case: str) -> None:
    chain, workloads, expected, want = NEXT[case]
    got = next_release(chain, workloads, [gated("a"), gated("b")], expected, slices=True)
    assert [pod.metadata.name for pod in got] == want
