"""Topologies through the engine: who is placed where, what is inactive, and in which words a gang waits."""

from __future__ import annotations

from typing import Any

import pytest

from kueue_fast import Engine
from tests.arrays import objects as o
from tests.engine.placed_cluster import HOST, PLENTY, RACK, cluster, flavor, gang, node, on, places, topology

TOPOLOGY_GATES = (
    "TopologyAwareScheduling",
    "TASProfileMixed",
    "TASHandleOverlappingFlavors",
    "TASFailedNodeReplacement",
    "TASFailedNodeReplacementFailFast",
    "TASReplaceNodeOnPodTermination",
    "TASReplaceNodeOnNodeTaints",
    "TASMultiLayerTopology",
    "TASRecomputeAssignmentWithinSchedulingCycle",
)


def placed(engine: Engine) -> dict[str, dict[str, int] | None]:
    return {one.workload.partition("/")[2]: places(one) for one in o.cycle(engine).admitted}


# Pod set, and where its pods go in racks r1 {x1: 4, x2: 4} and r2 {x3: 4}; None: it waits.
PLACES: dict[str, tuple[Any, dict[str, int] | None]] = {
    "required, in one host": (gang(2, required=HOST), {"x1": 2}),
    "required, too many for a host": (gang(3, required=HOST), None),
    "required, in one rack": (gang(3, required=RACK), {"x1": 2, "x2": 1}),
    "required, too many for a rack": (gang(5, required=RACK), None),
    "preferred, over racks": (gang(5, preferred=RACK), {"x1": 2, "x2": 2, "x3": 1}),
    "unconstrained": (gang(6, unconstrained=True), {"x1": 2, "x2": 2, "x3": 2}),
    "no request, and every flavor has a topology": (gang(2), {"x1": 2}),
    "slices stay together": (
        gang(4, podSetSliceRequiredTopology=HOST, podSetSliceSize=2),
        {"x1": 2, "x2": 2},
    ),
    "more than there is": (gang(7, unconstrained=True), None),
}


@pytest.mark.parametrize("case", PLACES)
def test_where_pods_go(case: str) -> None:
    pods, want_places = PLACES[case]
    want = {} if want_places is None else {"w": want_places}
    assert placed(cluster(o.workload("w", "lq", pods))) == want


WORDS = {
    "too many for a host": (
        gang(3, required=HOST),
        'topology "t" allows to fit only 2 out of 3 pod(s)',
    ),
    "pods too large for any host": (
        gang(1, cpu=5, required=HOST),
        'topology "t" doesn\'t allow to fit any of 1 pod(s). Total nodes: 3; excluded: resource "cpu": 3',
    ),
    "a level that the topology lacks": (
        gang(1, required="cloud/zone"),
        'Flavor "tas" does not contain the requested level',
    ),
    "explicit, and names no level": (
        gang(1, unconstrained=False),
        'Flavor "tas" does not contain the requested level',
    ),
    "a slice size without a level": (
        gang(2, required=RACK, podSetSliceSize=2) | {"count": 9},
        'topology "t" allows to fit only 4 out of 9 pod(s)',
    ),
}


@pytest.mark.parametrize("case", WORDS)
def test_words_for_who_waits(case: str) -> None:
    pods, want_words = WORDS[case]
    engine = cluster(o.workload("w", "lq", pods))
    (refused,) = o.cycle(engine).requeued
    assert refused.message() == f"couldn't assign flavors to pod set main: {want_words}"


def test_leader_and_workers_stand_together() -> None:
    pods = [
        gang(1, name="leader", cpu=1, required=RACK, podSetGroupName="g"),
        gang(3, name="workers", required=RACK, podSetGroupName="g"),
    ]
    (one,) = o.cycle(cluster(o.workload("w", "lq", *pods))).admitted
    assert (places(one, 0), places(one, 1)) == ({"x1": 1}, {"x1": 1, "x2": 2})


def test_two_in_one_cycle_do_not_take_the_same_room() -> None:
    engine = cluster(
        o.cluster_queue("p", o.group(**PLENTY)),
        o.local_queue("lp", "p"),
        o.workload("a", "lq", gang(2, required=HOST)),
        o.workload("b", "lp", gang(2, required=HOST), created=1),
    )
    assert placed(engine) == {"a": {"x1": 2}, "b": {"x2": 2}}


def test_room_is_free_again_when_a_workload_ends() -> None:
    made = o.workload_json("a", "lq", gang(2, required=HOST))
    full = [
        on(made | {"metadata": made["metadata"] | {"name": n}}, (h, 2)) for n, h in (("a", "x1"), ("b", "x2"))
    ]
    engine = cluster(
        *full, node("x3", "r2", unschedulable=True), o.workload("w", "lq", gang(2, required=HOST))
    )
    assert placed(engine) == {}
    engine.delete("Workload", "default", "b")
    engine.flush(o.START, all=True)
    assert placed(engine) == {"w": {"x2": 2}}


NODES = {
    "a node that is not ready": [node("x1", ready=False)],
    "a node that takes no pods": [node("x1", unschedulable=True)],
    "a node with a taint": [node("x1", taints=[{"key": "k", "effect": "NoSchedule"}])],
    "a node that went to another rack": [node("x1", "r9")],
    "a node whose pods use all of it": [node("x1", cpu=0)],
    "a node that offers less than nothing": [node("x1", cpu="-8")],
}


@pytest.mark.parametrize("case", NODES)
def test_a_changed_node_counts_at_once(case: str) -> None:
    """Rack r1 had room for four pods; without x1 it has room for two."""
    engine = cluster()
    o.feed(engine, *NODES[case], o.workload("w", "lq", gang(3, required=RACK)))
    assert placed(engine) == {}


def test_pods_of_others_take_room() -> None:
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "other"},
        "spec": {"nodeName": "x1", "containers": [{"name": "c", "resources": {"requests": {"cpu": "3"}}}]},
    }
    engine = cluster(pod, o.workload("w", "lq", gang(3, required=RACK)))
    assert placed(engine) == {}
    engine.delete("Pod", "other", "p")
    engine.flush(o.START, all=True)
    engine.retry_all()
    engine.flush(o.START, all=True)
    assert placed(engine) == {"w": {"x1": 2, "x2": 1}}


def test_a_queue_waits_for_its_topology() -> None:
    engine = o.feed(
        Engine(), o.namespace(), flavor(), o.cluster_queue("q", o.group(**PLENTY)), o.local_queue("lq", "q"),
        node("x1"), o.workload("w", "lq", gang(1)),
    )  # fmt: skip
    state = engine.queue_state()["q"]
    assert (state.inactive_reason, state.inactive_message) == (
        "TopologyNotFound",
        'Can\'t admit new workloads: there is no Topology "t" for TAS flavor "tas".',
    )
    o.feed(engine, topology())
    assert placed(engine) == {"w": {"x1": 1}}


def test_workloads_that_run_before_their_topology_is_known_hold_their_places() -> None:
    """Objects come in any order at a start; places are booked when their flavor has a tree."""
    running = on(o.workload_json("a", "lq", gang(2, required=HOST)), ("x1", 2))
    engine = o.feed(
        Engine(), o.namespace(), o.cluster_queue("q", o.group(**PLENTY)), o.local_queue("lq", "q"), running,
        node("x1"), node("x2"), flavor(), topology(), o.workload("w", "lq", gang(2, required=HOST)),
    )  # fmt: skip
    assert placed(engine) == {"w": {"x2": 2}}


def test_without_the_gate_a_topology_means_nothing() -> None:
    gates = dict.fromkeys(TOPOLOGY_GATES, False)
    engine = cluster(o.workload("w", "lq", gang(50)), gates=gates)
    assert placed(engine) == {"w": None}


def test_nodes_wake_every_queue_again_after_each_run_and_for_each_new_queue() -> None:
    """Many nodes may come before a run; asking once for all must not forget who came, or was woken, since."""
    engine = cluster()
    engine.flush(o.START, all=True)
    o.feed(engine, node("x4"), node("x5"))
    assert engine.next_flush() == o.START + o.SECOND
    engine.flush(o.START + o.SECOND)
    assert engine.next_flush() is None
    o.feed(engine, node("x6"), at=5)
    assert engine.next_flush() == o.START + 6 * o.SECOND
    o.feed(engine, o.cluster_queue("p", o.group(**PLENTY)), o.local_queue("lp", "p"), at=5)
    engine.flush(o.START + 6 * o.SECOND)
    o.feed(engine, o.workload("w", "lp", gang(1, cpu=9, required=HOST)), at=7)
    assert placed(engine) == {}
    o.feed(engine, node("x7", cpu=9), at=8)
    engine.flush(o.START + 9 * o.SECOND)
    assert placed(engine) == {"w": {"x7": 1}}
