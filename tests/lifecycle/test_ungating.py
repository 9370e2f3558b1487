"""Which gated pods may go, and where."""

from typing import Any

import msgspec
import pytest

from kueue_fast.api.core import Pod
from kueue_fast.api.kueue import Workload
from kueue_fast.api.meta import OwnerReference
from kueue_fast.lifecycle.expectations import Expectations
from kueue_fast.lifecycle.pod_ranks import OffsetError, rank_ranges
from kueue_fast.lifecycle.ungating import (
    gate_seconds,
    is_observed,
    pods_to_ungate,
    reconcile_ungating,
    whose_places,
    workload_to_look_at,
)
from kueue_fast.model.placements import placements
from tests.lifecycle.slice_makers import make_slice
from tests.placed import (
    GATE,
    HOSTNAME,
    NOW,
    POD_SET,
    SLICE_NAME,
    UNCONSTRAINED,
    WORKLOAD,
    Domain,
    assignment,
    on_hosts,
    placed,
    pod,
)

BLOCK, RACK = "cloud.com/topology-block", "cloud.com/topology-rack"
LEVELS = (BLOCK, RACK)
INDEX, GROUP_INDEX = "index", "group-index"
OFFSET = "kueue.x-k8s.io/pod-index-offset"
GATED: dict[str, Any] = {"gates": [GATE]}

# Where a pod is to go, written short: b1/r2.
Places = dict[str, str]
Case = tuple[Workload, list[Pod], Places]


def at(place: str) -> dict[str, str]:
    return dict(zip(LEVELS, place.split("/"), strict=True))


def domains(*places: tuple[str, int]) -> list[Domain]:
    return [(tuple(place.split("/")), count) for place, count in places]


def ranked(
    *places: tuple[str, int], count: int | None = None, own_count: bool = True, **request: Any
) -> Workload:
    """A Workload whose pods carry their index in a label; without `own_count` its assignment names no count."""
    made = assignment("main", LEVELS, *domains(*places))
    count = made["count"] if count is None else count
    made["count"] = count if own_count else None
    request = {"podIndexLabel": INDEX, **request}
    pod_sets = [{"name": "main", "count": count, "template": {}, "topologyRequest": request}]
    return placed(made, pod_sets=pod_sets)


def unranked(*places: tuple[str, int], **more: Any) -> Workload:
    return placed(assignment("main", LEVELS, *domains(*places)), **more)


def grouped(first: dict[str, Any], second: dict[str, Any]) -> Workload:
    """Two pod sets of one group, whose pods are counted through."""
    request = {"podIndexLabel": INDEX, "podSetGroupName": "group"}
    pod_sets = [
        {"name": each["name"], "count": each["count"], "template": {}, "topologyRequest": request}
        for each in (first, second)
    ]
    return placed(first, second, pod_sets=pod_sets)


def gated(name: str, index: int | str | None = None, group: int | None = None, **more: Any) -> Pod:
    labels = {
        INDEX: None if index is None else str(index),
        GROUP_INDEX: None if group is None else str(group),
    }
    return pod(name, labels={**labels, **more.pop("labels", {})}, **GATED, **more)


def going(name: str, place: str, index: int | None = None, group: int | None = None, **more: Any) -> Pod:
    """A pod that was let go."""
    labels = {
        INDEX: None if index is None else str(index),
        GROUP_INDEX: None if group is None else str(group),
    }
    return pod(name, labels=labels, select=at(place), **more)


def went(workload: Workload, pods: list[Pod]) -> Places:
    """Places of the pods that are let go, in order."""
    found = {}
    for each in pods_to_ungate(workload, placements(workload), pods):
        assert not any(gate.name == GATE for gate in each.spec.scheduling_gates or ())
        selector = each.spec.node_selector or {}
        found[each.metadata.name] = "/".join(selector[level] for level in LEVELS)
    return found


FIVE = (("b1/r1", 2), ("b1/r2", 1), ("b2/r1", 2))
FOUR = (("b1/r1", 2), ("b1/r2", 1), ("b2/r1", 1))
SUB_GROUPS = {"subGroupIndexLabel": GROUP_INDEX, "subGroupCount": 2}
WORKERS = assignment("workers", LEVELS, *domains(("b1/r1", 1), ("b1/r2", 1), ("b2/r1", 2)))
LEADER = assignment("leader", LEVELS, *domains(("b1/r1", 1)))
IN_LEADER = {"labels": {POD_SET: "leader"}}
IN_WORKERS = {"labels": {POD_SET: "workers"}}


def workers(*indices: int, **more: Any) -> list[Pod]:
    return [gated(f"w{number}", index, **IN_WORKERS, **more) for number, index in enumerate(indices, 1)]


CASES: dict[str, Case] = {
    # upstream's table
    "one pod": (unranked(("b1/r1", 1)), [gated("p")], {"p": "b1/r1"}),
    "a label of sub groups without their number": (
        ranked(("b1/r1", 1), subGroupIndexLabel=GROUP_INDEX),
        [gated("p", 0, 0)],
        {"p": "b1/r1"},
    ),
    "no sub groups": (
        ranked(("b1/r1", 1), subGroupIndexLabel=GROUP_INDEX, subGroupCount=0),
        [gated("p", 0, 0)],
        {"p": "b1/r1"},
    ),
    "many pods in one domain": (
        unranked(("b1/r1", 3)),
        [gated("p1"), gated("p2"), gated("p3")],
        {"p1": "b1/r1", "p2": "b1/r1", "p3": "b1/r1"},
    ),
    "many pods in many domains, by name": (
        unranked(("b1/r1", 2), ("b1/r2", 1)),
        [gated("p3"), gated("p1"), gated("p2")],
        {"p1": "b1/r1", "p2": "b1/r1", "p3": "b1/r2"},
    ),
    "no admission": (placed(conditions=()), [gated("p")], {}),
    "no places": (placed(assignment("main", LEVELS)), [gated("p")], {}),
    "quota, and no admission yet": (
        unranked(("b1/r1", 1), conditions=("QuotaReserved",)),
        [gated("p")],
        {},
    ),
    "a pod that does not say whose it is": (
        unranked(("b1/r1", 1)),
        [gated("p", annotations={WORKLOAD: None})],
        {},
    ),
    "a pod that does not name its pod set": (
        unranked(("b1/r1", 1)),
        [gated("p", labels={POD_SET: None})],
        {},
    ),
    "only another gate": (unranked(("b1/r1", 1)), [pod("p", gates=["other"], select=at("b1/r1"))], {}),
    "a pod too many": (unranked(("b1/r1", 1)), [going("p1", "b1/r1"), gated("p2")], {}),
    "the place of a pod that failed": (
        unranked(("b1/r1", 1)),
        [going("p1", "b1/r1", phase="Failed"), gated("p2")],
        {"p2": "b1/r1"},
    ),
    "the place of a pod that succeeded": (
        unranked(("b1/r1", 1)),
        [going("p1", "b1/r1", phase="Succeeded"), gated("p2")],
        {"p2": "b1/r1"},
    ),
    "a place beside another": (
        unranked(("b1/r1", 2)),
        [going("p1", "b1/r1"), gated("p2")],
        {"p2": "b1/r1"},
    ),
    "a replacement whose rank's place is taken": (
        ranked(("b1/r1", 1), ("b1/r2", 1), subGroupIndexLabel=GROUP_INDEX, subGroupCount=1),
        [going("p1", "b1/r1", 1, 0), gated("p0", 0, 0)],
        {"p0": "b1/r2"},
    ),
    "by rank, some went": (
        ranked(*FIVE),
        [going("p0", "b1/r1", 0), gated("p1", 1), gated("p2", 2), going("p3", "b2/r1", 3), gated("p4", 4)],
        {"p1": "b1/r1", "p2": "b1/r2", "p4": "b2/r1"},
    ),
    "by rank, all": (
        ranked(*FIVE),
        [gated(f"p{9 - index}", index) for index in range(5)],
        {"p9": "b1/r1", "p8": "b1/r1", "p7": "b1/r2", "p6": "b2/r1", "p5": "b2/r1"},
    ),
    "the indices of a group go on": (
        grouped(WORKERS, LEADER),
        [gated("p0", 0, **IN_LEADER), *workers(2, 1, 3, 4)],
        {"w2": "b1/r1", "w1": "b1/r2", "w3": "b2/r1", "w4": "b2/r1", "p0": "b1/r1"},
    ),
    "the indices of a group begin anew: by name": (
        grouped(WORKERS, LEADER),
        [gated("p0", 0, **IN_LEADER), *workers(3, 2, 1, 0)],
        {"w1": "b1/r1", "w2": "b1/r2", "w3": "b2/r1", "w4": "b2/r1", "p0": "b1/r1"},
    ),
    "ranks without a request are not looked at": (
        unranked(*FOUR),
        [gated("p0", 0), gated("p1", 1), gated("p2", 0), gated("p3", 1)],
        {"p0": "b1/r1", "p1": "b1/r1", "p2": "b1/r2", "p3": "b2/r1"},
    ),
    "the same rank twice: by name": (
        ranked(*FOUR),
        [gated("p0", 3), gated("p1", 1), gated("p2", 3)],
        {"p0": "b1/r1", "p1": "b1/r1", "p2": "b1/r2"},
    ),
    "fewer pods at once than completions": (
        ranked(("b1/r1", 1)),
        [going("p0", "b1/r1", 0, phase="Failed"), gated("p1", 1)],
        {"p1": "b1/r1"},
    ),
    "sub groups, all": (
        ranked(*FOUR, **SUB_GROUPS),
        [gated("p0", 0, 0), gated("p1", 1, 0), gated("p2", 0, 1), gated("p3", 1, 1)],
        {"p0": "b1/r1", "p1": "b1/r1", "p2": "b1/r2", "p3": "b2/r1"},
    ),
    "sub groups, some went": (
        ranked(*FOUR, **SUB_GROUPS),
        [going("p0", "b1/r1", 0, 0), gated("p1", 1, 0), gated("p2", 0, 1), going("p3", "b2/r1", 1, 1)],
        {"p1": "b1/r1", "p2": "b1/r2"},
    ),
    "sub groups, some have come": (
        ranked(*FOUR, **SUB_GROUPS),
        [gated("p1", 1, 0), gated("p3", 1, 1)],
        {"p1": "b1/r1", "p3": "b2/r1"},
    ),
    "an offset": (
        ranked(("b1/r1", 1), ("b1/r2", 1)),
        [gated(f"w{3 - index}", index, annotations={OFFSET: "1"}) for index in (1, 2)],
        {"w2": "b1/r1", "w1": "b1/r2"},
    ),
    "an offset on top of a group's: by name": (
        grouped(LEADER, WORKERS),
        [gated("p0", 0, **IN_LEADER), *workers(4, 3, 2, 1, annotations={OFFSET: "1"})],
        {"p0": "b1/r1", "w1": "b1/r1", "w2": "b1/r2", "w3": "b2/r1", "w4": "b2/r1"},
    ),
    "an index beyond the range: by name, and nothing is left": (
        ranked(("b1/r1", 1), ("b1/r2", 1)),
        [
            going("w1", "b1/r1", 1, annotations={OFFSET: "1"}),
            going("w2", "b1/r2", 2, annotations={OFFSET: "1"}),
            gated("stray", 3, annotations={OFFSET: "1"}),
        ],
        {},
    ),
    "an assignment shorter than its pod set: by name": (
        ranked(("b1/r1", 1), count=2),
        [gated("w1", 1)],
        {"w1": "b1/r1"},
    ),
    # and what the rules say beyond it
    "one pod without a rank: by name": (
        ranked(("b1/r1", 1), ("b1/r2", 1)),
        [gated("p1", 1), gated("p2")],
        {"p1": "b1/r1", "p2": "b1/r2"},
    ),
    "a rank with a sign: by name": (
        ranked(("b1/r1", 1), ("b1/r2", 1)),
        [gated("p1", "+1"), gated("p2", 0)],
        {"p1": "b1/r1", "p2": "b1/r2"},
    ),
    "the labels of pods that ended do not count": (
        ranked(("b1/r1", 1), ("b1/r2", 1)),
        [pod("old", phase="Failed"), gated("p1", 1)],
        {"p1": "b1/r2"},
    ),
    "an offset within sub groups": (
        ranked(*FOUR, **SUB_GROUPS),
        [
            gated(name, index, group, annotations={OFFSET: "1"})
            for name, index, group in (("p2", 1, 0), ("p1", 0, 1), ("p0", 1, 1))
        ],
        {"p2": "b1/r1", "p1": "b1/r1", "p0": "b1/r2"},
    ),
    "an offset below all indices: by name": (
        ranked(("b1/r1", 1), ("b1/r2", 1)),
        [gated("p0", 1, annotations={OFFSET: "-3"}), gated("p1", 0)],
        {"p0": "b1/r1", "p1": "b1/r2"},
    ),
    "without a count of its own the pod set's counts": (
        ranked(("b1/r1", 1), ("b1/r2", 1), count=None, own_count=False),
        [gated("p1", 1)],
        {"p1": "b1/r2"},
    ),
    "a pod that was let go without selector: by name": (
        ranked(("b1/r1", 1), ("b1/r2", 1)),
        [pod("p0", labels={INDEX: "0"}), gated("p1", 1)],
        {"p1": "b1/r1"},
    ),
    "a sub group beyond their number: by name": (
        ranked(*FOUR, **SUB_GROUPS),
        [gated("p0", 1, 2)],
        {"p0": "b1/r1"},
    ),
    "an index beyond its sub group: by name": (
        ranked(*FOUR, **SUB_GROUPS),
        [gated("p0", 2, 0)],
        {"p0": "b1/r1"},
    ),
    "a group of two pod sets of one pod: the first comes first": (
        grouped(
            assignment("a", LEVELS, *domains(("b1/r1", 1))), assignment("b", LEVELS, *domains(("b1/r2", 1)))
        ),
        [gated("p0", 0, labels={POD_SET: "a"}), gated("p1", 1, labels={POD_SET: "b"})],
        {"p0": "b1/r1", "p1": "b1/r2"},
    ),
    "a pod that went astray takes no place": (
        unranked(("b1/r1", 1)),
        [going("p1", "b9/r9"), gated("p2")],
        {"p2": "b1/r1"},
    ),
    "more pods went to a domain than belong there": (
        unranked(("b1/r1", 1), ("b1/r2", 2)),
        [going("p1", "b1/r1"), going("p2", "b1/r1"), gated("p3"), gated("p4"), gated("p5")],
        {"p3": "b1/r2", "p4": "b1/r2"},
    ),
    "pods of another namespace": (unranked(("b1/r1", 1)), [gated("p", namespace="other")], {}),
    "pods of another Workload": (unranked(("b1/r1", 1)), [gated("p", annotations={WORKLOAD: "v"})], {}),
    "pods of a predecessor hold their places": (
        unranked(("b1/r1", 2), annotations={SLICE_NAME: "chain"}),
        [
            going("p1", "b1/r1", annotations={WORKLOAD: "v", SLICE_NAME: "chain"}),
            gated("p2", annotations={SLICE_NAME: "chain"}),
            gated("p3", annotations={SLICE_NAME: "chain"}),
        ],
        {"p2": "b1/r1"},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_pods_go_to_their_domains(case: str) -> None:
    workload, pods, want = CASES[case]
    got = went(workload, pods)
    assert got == want
    assert list(got) == list(want)
    # Once they are written, nothing is left to do.
    written = {each.metadata.name: each for each in pods_to_ungate(workload, placements(workload), pods)}
    after = [written.get(each.metadata.name, each) for each in pods]
    assert not set(went(workload, after)) & set(written)


def test_other_gates_and_selectors_stay() -> None:
    before = pod("p", gates=["first", GATE, "last"], select={"other": "x", RACK: "wrong"})
    workload = unranked(("b1/r1", 1))
    (after,) = pods_to_ungate(workload, placements(workload), [before])
    assert [gate.name for gate in after.spec.scheduling_gates or ()] == ["first", "last"]
    assert after.spec.node_selector == {"other": "x", **at("b1/r1")}
    assert before.spec.node_selector == {"other": "x", RACK: "wrong"}
    (alone,) = pods_to_ungate(workload, placements(workload), [gated("p")])
    assert alone.spec.scheduling_gates is None


UNHEALTHY: dict[str, tuple[Workload, list[Pod], list[str]]] = {
    "a pod stays until its node is replaced": (
        placed(on_hosts("x1"), unhealthyNodes=[{"name": "x1"}]),
        [gated("p")],
        [],
    ),
    "beside a pod that goes on": (
        placed(on_hosts("x1", "x2"), unhealthyNodes=[{"name": "x1"}]),
        [pod("p1", select={HOSTNAME: "x2"}), gated("p2")],
        [],
    ),
    "others go": (
        placed(on_hosts("x1", "x2"), unhealthyNodes=[{"name": "x1"}]),
        [gated("p1"), gated("p2")],
        ["x2"],
    ),
    "a rack of that name is no node": (
        placed(assignment("main", (RACK,), (("x1",), 1)), unhealthyNodes=[{"name": "x1"}]),
        [gated("p")],
        ["x1"],
    ),
}


@pytest.mark.parametrize("case", UNHEALTHY)
def test_nobody_goes_to_an_unhealthy_node(case: str) -> None:
    workload, pods, want = UNHEALTHY[case]
    got = pods_to_ungate(workload, placements(workload), pods)
    assert [list((each.spec.node_selector or {}).values())[-1] for each in got] == want


def test_an_offset_that_is_no_integer_stops_the_workload() -> None:
    workload = unranked(("b1/r1", 2))
    pods = [gated("a", annotations={OFFSET: "one"}), gated("b")]
    with pytest.raises(OffsetError, match=r"pod ns/a: .*pod-index-offset.*'one'"):
        went(workload, pods)
    # Only the first pod is asked.
    assert went(workload, [gated("A"), *pods]) == {"A": "b1/r1", "a": "b1/r1"}


def test_pending_writes_block_everything() -> None:
    workload = unranked(("b1/r1", 2))
    pods = [going("p1", "b1/r1"), gated("p2")]
    blocked = reconcile_ungating(workload, placements(workload), pods, {"uid-p1"})
    assert (blocked.pods, blocked.retry) == ([], True)
    free = reconcile_ungating(workload, placements(workload), pods)
    assert ([each.metadata.name for each in free.pods], free.retry) == (["p2"], False)


V1BETA2 = "kueue.x-k8s.io/v1beta2"
# Owner, the gate, whether the Workload is passed over.
VARIANTS: dict[str, tuple[tuple[str, str], bool, bool]] = {
    "a variant": ((V1BETA2, "Workload"), True, True),
    "without the gate": ((V1BETA2, "Workload"), False, False),
    "a Workload of a job": (("batch/v1", "Job"), True, False),
    "a Workload of somebody else's Workload": (("example.com/v1", "Workload"), True, False),
}


@pytest.mark.parametrize("case", VARIANTS)
def test_variants_have_no_pods(case: str) -> None:
    (api_version, kind), gate, want = VARIANTS[case]
    workload = unranked(("b1/r1", 1))
    owner = OwnerReference(api_version=api_version, kind=kind, name="parent")
    metadata = msgspec.structs.replace(workload.metadata, owner_references=[owner])
    variant = msgspec.structs.replace(workload, metadata=metadata)
    got = reconcile_ungating(variant, placements(variant), [gated("p")], concurrent_admission=gate)
    assert len(got.pods) == (0 if want else 1)


def test_a_third_pod_set_of_a_group_has_no_indices() -> None:
    request = {"podIndexLabel": INDEX, "podSetGroupName": "group"}
    made = [assignment(name, LEVELS, *domains(("b1/r1", 1), ("b1/r2", 1))) for name in "abc"]
    pod_sets = [{"name": name, "count": 2, "template": {}, "topologyRequest": request} for name in "abc"]
    ranges = rank_ranges(placed(*made, pod_sets=pod_sets))
    assert ranges == {"a": (0, 2), "b": (2, 4), "c": (0, 0)}


def test_expectations_end_when_all_was_seen() -> None:
    expectations = Expectations()
    expectations.expect("ns/w", [])
    assert not expectations.pending("ns/w")
    expectations.expect("ns/w", ["a", "b"])
    expectations.expect("ns/w", ["b", "c"])
    expectations.observed("ns/w", "a")
    expectations.observed("ns/w", "unknown")
    expectations.observed("ns/other", "b")
    assert expectations.pending("ns/w") == {"b", "c"}
    expectations.observed("ns/w", "b")
    expectations.observed("ns/w", "c")
    assert not expectations.pending("ns/w")
    assert not expectations.pending("ns/other")


EVENTS: dict[str, tuple[Pod, str | None]] = {
    "a pod of a Workload": (pod("p"), "ns/w"),
    "a pod of none": (pod("p", annotations={WORKLOAD: None}), None),
    "a pod without places": (pod("p", annotations={UNCONSTRAINED: None}), None),
}


@pytest.mark.parametrize("case", EVENTS)
def test_events_of_pods_lead_to_workloads(case: str) -> None:
    a_pod, want = EVENTS[case]
    assert workload_to_look_at(a_pod) == want


def test_what_shows_that_a_write_came_through() -> None:
    assert is_observed(pod("p"), deleted=False)
    assert is_observed(gated("p"), deleted=True)
    assert not is_observed(gated("p"), deleted=False)


def test_how_long_a_pod_was_held() -> None:
    workload = unranked(("b1/r1", 1))
    assert gate_seconds(workload, NOW + 2_500_000_000) == 2.5
    assert gate_seconds(workload, NOW - 1) == 0
    assert gate_seconds(placed(conditions=()), NOW) is None


OWNER = [{"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "u", "controller": True}]
CHAIN: dict[str, tuple[Workload, list[Workload], str | None]] = {
    "a Workload that has not ended": (make_slice("a", admitted=True), [], "a"),
    "one that has ended and was followed": (
        make_slice("a", finished=True, ownerReferences=OWNER),
        [make_slice("a", finished=True), make_slice("b", admitted=True), make_slice("c", replaces="b")],
        "b",
    ),
    "one that has ended for good": (make_slice("a", finished=True, ownerReferences=OWNER), [], None),
    "one that has ended, without an owner": (make_slice("a", finished=True), [make_slice("b")], None),
}


@pytest.mark.parametrize("case", CHAIN)
def test_whose_places_count(case: str) -> None:
    workload, owned, want = CHAIN[case]
    got = whose_places(workload, lambda uid: owned if uid == "u" else [])
    assert (None if got is None else got.metadata.name) == want
