"""The second pass through the engine: other places for running workloads, or their end.

Source: TP-1501..1511, TP-1601..1604.
"""

from __future__ import annotations

from typing import Any

from kueue_fast import Engine
from kueue_fast.api.configuration import Configuration, FairSharing
from tests.arrays import objects as o
from tests.engine.placed_cluster import HOST, RACK, cluster, gang, node, on, places

DUE = 2  # seconds: the first wait is one


def failing(engine: Engine, pods: Any, *hosts: tuple[str, int], failed: str = "x1") -> Engine:
    """A workload `w` runs on these hosts, then one of them fails."""
    made = o.workload_json("w", "lq", pods)
    o.feed(engine, on(made, *hosts))
    o.feed(engine, node(failed, ready=False), on(made, *hosts, failed=(failed,)))
    return engine


def test_pods_of_a_failed_node_go_elsewhere_and_the_others_stay() -> None:
    engine = failing(cluster(), gang(3, preferred=RACK), ("x1", 1), ("x2", 2))
    assert not engine.has_heads(o.START)
    assert engine.next_second_pass() == o.START + o.SECOND
    cycle = o.cycle(engine, at=DUE)
    (moved,) = cycle.moved
    assert (cycle.admitted, places(moved)) == ([], {"x2": 2, "x3": 1})
    assert engine.queue_state()["q"].usage["tas/cpu"] == 6000  # not booked a second time


def test_within_a_required_rack() -> None:
    engine = failing(cluster(node("x0")), gang(3, required=RACK), ("x1", 1), ("x2", 2))
    (moved,) = o.cycle(engine, at=DUE).moved
    assert places(moved) == {"x0": 1, "x2": 2}


def test_who_finds_no_other_place_is_evicted_at_once() -> None:
    engine = failing(cluster(), gang(4, required=RACK), ("x1", 2), ("x2", 2))
    cycle = o.cycle(engine, at=DUE)
    assert [(one.workload, one.reason, one.message) for one in cycle.evicted] == [
        (
            "default/w",
            "NodeFailures",
            "Workload was evicted as there was no replacement for unhealthy node(s): x1",
        )
    ]
    assert (list(cycle.moved), list(cycle.requeued)) == ([], [])


def test_without_failing_fast_it_comes_again_later_and_later() -> None:
    gates = {"TASFailedNodeReplacementFailFast": False}
    engine = failing(cluster(gates=gates), gang(4, required=RACK), ("x1", 2), ("x2", 2))
    (refused,) = o.cycle(engine, at=1).requeued
    assert (refused.again, refused.workload) == (True, "default/w")
    assert engine.next_second_pass() == o.START + (1 + 2) * o.SECOND
    o.feed(engine, node("x0"), at=2)
    (moved,) = o.cycle(engine, at=3).moved
    assert places(moved) == {"x0": 2, "x2": 2}


def test_places_come_after_the_provisioning_check() -> None:
    """TP-608: quota first, places when the nodes are there."""
    check = o.check("prov", controller="kueue.x-k8s.io/provisioning-request")
    rule = {"admissionChecks": [{"name": "prov"}]}
    engine = cluster(check, admissionChecksStrategy=rule)
    made = o.workload_json("w", "lq", gang(2, required=HOST))
    o.feed(engine, made)
    (one,) = o.cycle(engine).admitted
    assert (one.pod_sets[0].placement, one.pod_sets[0].delayed) == (None, "Pending")
    reserved = o.reserved(made, "q", ("main", 2, {"cpu": "tas"}, {"cpu": 4}), admitted=False)
    reserved["status"]["admission"]["podSetAssignments"][0]["delayedTopologyRequest"] = "Pending"
    o.feed(engine, reserved)
    assert engine.next_second_pass() is None  # the check is not ready
    reserved["status"]["admissionChecks"] = [
        {"name": "prov", "state": "Ready", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    ]
    o.feed(engine, reserved)
    (moved,) = o.cycle(engine, at=DUE).moved
    assert (places(moved), moved.pod_sets[0].delayed) == ({"x1": 2}, "Ready")


def test_second_passes_claim_their_places_before_new_work() -> None:
    engine = failing(cluster(), gang(2, preferred=RACK), ("x1", 2))
    o.feed(engine, o.workload("new", "lq", gang(2, preferred=RACK)))
    cycle = o.cycle(engine, at=DUE)
    assert places(cycle.moved[0]) == {"x2": 2}
    assert [(one.workload, places(one)) for one in cycle.admitted] == [("default/new", {"x3": 2})]


def test_under_fair_sharing_the_head_goes_first() -> None:
    """QC-109, TP-1109: one entry a ClusterQueue; the second pass waits for its next turn."""
    engine = failing(
        cluster(config=Configuration(fair_sharing=FairSharing())), gang(2, preferred=RACK), ("x1", 2)
    )
    o.feed(engine, o.workload("new", "lq", gang(2, preferred=RACK)))
    cycle = o.cycle(engine, at=1)
    assert [one.workload for one in cycle.admitted] == ["default/new"]
    assert [(one.workload, one.outcome) for one in cycle.requeued] == [("default/w", "Displaced")]
    (moved,) = o.cycle(engine, at=3).moved
    assert moved.workload == "default/w"


def test_the_assignment_of_a_single_pod_stays() -> None:
    """TP-1503: the pod ends with its node; the Workload goes on as it is, and keeps its place."""
    made = o.workload_json("w", "lq", gang(1, preferred=RACK))
    made["metadata"]["ownerReferences"] = [{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u"}]
    engine = cluster(on(made, ("x1", 1)))
    o.feed(engine, node("x1", ready=False), on(made, ("x1", 1), failed=("x1",)))
    (moved,) = o.cycle(engine, at=DUE).moved
    assert places(moved) == {"x1": 1}
    o.feed(engine, node("x1", cpu=2), o.workload("new", "lq", gang(1, required=HOST)), at=DUE)
    assert [places(one) for one in o.cycle(engine, at=DUE).admitted] == [{"x2": 1}]


def test_what_came_late_does_not_ask_again() -> None:
    """An event that left before the new places were written, and reaches us after we decided on them."""
    pods = gang(3, preferred=RACK)
    engine = failing(cluster(), pods, ("x1", 1), ("x2", 2))
    (moved,) = o.cycle(engine, at=DUE).moved
    assert places(moved) == {"x2": 2, "x3": 1}
    made = o.workload_json("w", "lq", pods)
    o.feed(engine, on(made, ("x1", 1), ("x2", 2), failed=("x1",)), at=DUE)
    o.feed(engine, on(made, ("x2", 2), ("x3", 1)), at=DUE)
    later = o.cycle(engine, at=2 * DUE)
    assert (list(later.evicted), list(later.moved), list(later.requeued)) == ([], [], [])
    # Another node that fails is another matter.
    o.feed(engine, node("x3", ready=False), on(made, ("x2", 2), ("x3", 1), failed=("x3",)), at=2 * DUE)
    o.feed(engine, node("x1"), at=2 * DUE)
    (again,) = o.cycle(engine, at=3 * DUE).moved
    assert places(again) == {"x1": 1, "x2": 2}
