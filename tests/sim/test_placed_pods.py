"""Pods of placed Jobs: made, sent to their domains, bound, lost with their nodes, replaced."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from kueue_fast.api.core import Node, Pod
from kueue_fast.api.decode import decode_object
from kueue_fast.api.kueue import Workload
from kueue_fast.model.times import SECOND
from kueue_fast.sim.manifest import Moment, SimulationFacts
from tests.arrays import objects as o
from tests.placed import GATE, HOSTNAME
from tests.sim.pod_world import RACK, World

MINUTE = 60.0


def two_nodes(**more: Any) -> World:
    world = World(**more)
    world.node("n0")
    world.node("n1")
    return world


def pod(name: str, *, cpu: Any = 1, **spec: Any) -> Any:
    return decode_object(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "namespace": "ns"},
            "spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": cpu}}}], **spec},
        }
    )


# ---- where pods go ----


def test_pods_go_to_the_nodes_of_their_ranks() -> None:
    world = two_nodes()
    world.workload((("n1",), 2), (("n0",), 1))
    world.job(3)
    assert world.where() == {"j-0": None, "j-1": None, "j-2": None}
    world.run()
    assert world.where() == {"j-0": "n1", "j-1": "n1", "j-2": "n0"}
    running: Pod | None = world.cluster.get(Pod.KIND, "ns", "j-2")
    assert running is not None
    assert running.status is not None
    assert running.status.phase == "Running"
    assert running.spec.node_selector == {HOSTNAME: "n0"}
    assert not running.spec.scheduling_gates


def test_pods_without_an_index_fill_the_domains_by_name() -> None:
    world = two_nodes()
    world.workload((("n1",), 1), (("n0",), 2))
    world.job(3, indexed=False)
    world.run()
    assert world.where() == {"j-0": "n1", "j-1": "n0", "j-2": "n0"}


def test_in_a_topology_without_hosts_a_node_of_the_rack_is_found() -> None:
    world = World()
    for name, rack in (("a", "r0"), ("b", "r1"), ("c", "r1")):
        world.node(name, rack=rack, cpu=2)
    world.workload((("r1",), 3), levels=(RACK,))
    world.job(3)
    world.run()
    assert world.where() == {"j-0": "b", "j-1": "b", "j-2": "c"}


def test_pods_stay_gated_until_the_workload_is_placed() -> None:
    world = two_nodes()
    world.job(1)
    world.run()
    assert world.where() == {"j-0": None}
    gated: Pod | None = world.cluster.get(Pod.KIND, "ns", "j-0")
    assert gated is not None
    assert [gate.name for gate in gated.spec.scheduling_gates or ()] == [GATE]
    world.workload((("n0",), 1))
    world.run()
    assert world.where() == {"j-0": "n0"}


def test_a_job_that_was_not_placed_has_no_pods() -> None:
    world = two_nodes()
    world.job(2, schedulingGates=[])
    world.run()
    assert world.where() == {}


# ---- the end of pods ----


def test_pods_of_a_stopped_job_go_when_they_are_not_active_any_more() -> None:
    world = two_nodes()
    world.workload((("n0",), 1))
    world.job(1)
    world.run()
    world.change_job(suspend=True, active=1)
    assert list(world.where()) == ["j-0"]
    world.change_job(active=None)
    assert world.where() == {}


def test_pods_of_a_deleted_job_go_with_it() -> None:
    world = two_nodes()
    world.workload((("n0",), 1))
    world.job(1)
    world.run()
    world.cluster.delete("Job", "ns", "j")
    world.run()
    assert world.where() == {}


# ---- binding ----


BINDING: dict[str, tuple[dict[str, Any], dict[str, Any], str | None]] = {
    "the first that has room": ({"cpu": 1}, {}, "n1"),
    "none that has room": ({}, {"cpu": 9}, None),
    "not one that is cordoned": ({"spec": {"unschedulable": True}}, {}, "n1"),
    "not one whose taint is not tolerated": (
        {"spec": {"taints": [{"key": "k", "effect": "NoSchedule"}]}},
        {},
        "n1",
    ),
    "one whose taint is tolerated": (
        {"spec": {"taints": [{"key": "k", "effect": "NoSchedule"}]}},
        {"tolerations": [{"key": "k", "operator": "Exists"}]},
        "n0",
    ),
    "one that the selector names": ({}, {"nodeSelector": {HOSTNAME: "n1"}}, "n1"),
    "none that has the label": ({}, {"nodeSelector": {"zone": "z"}}, None),
    "one that the affinity names": (
        {},
        {
            "affinity": {
                "nodeAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": {
                        "nodeSelectorTerms": [
                            {"matchExpressions": [{"key": HOSTNAME, "operator": "NotIn", "values": ["n0"]}]}
                        ]
                    }
                }
            }
        },
        "n1",
    ),
}


@pytest.mark.parametrize("case", BINDING)
def test_a_pod_is_bound_to(case: str) -> None:
    node, spec, want = BINDING[case]
    world = World()
    world.node("n1")
    world.node("n0", **node)
    world.cluster.create(pod("p", **{"cpu": 2, **spec}))
    world.run()
    assert world.where() == {"p": want}


def test_what_found_no_node_waits_for_room_and_for_nodes() -> None:
    world = World()
    for name in ("a", "b", "c"):
        world.cluster.create(pod(name, cpu=6))
    world.run()
    world.node("n0")
    world.run()
    assert world.where() == {"a": "n0", "b": None, "c": None}
    world.cluster.delete(Pod.KIND, "ns", "a")
    world.run()
    assert world.where() == {"b": "n0", "c": None}
    world.node("n1")
    world.run()
    assert world.where() == {"b": "n0", "c": "n1"}


def test_a_node_holds_as_many_pods_as_it_says() -> None:
    world = World()
    world.node("n0", capacity={"pods": 1})
    world.cluster.create(pod("a", cpu=0))
    world.cluster.create(pod("b", cpu=0))
    world.run()
    assert world.where() == {"a": "n0", "b": None}


def test_what_is_bound_counts_on_a_node_that_comes_later_or_changes() -> None:
    world = World()
    world.cluster.create(pod("a", cpu=6, nodeName="n0"))
    world.cluster.create(pod("b", cpu=6))
    world.node("n0")
    world.run()
    assert world.where()["b"] is None
    node: Node | None = world.cluster.get(Node.KIND, None, "n0")
    assert node is not None
    assert node.status is not None
    larger = msgspec.structs.replace(node.status, allocatable={"cpu": 12, "pods": 9})
    world.cluster.update_status(msgspec.structs.replace(node, status=larger))
    world.run()
    assert world.where()["b"] == "n0"


ENDS = {"succeeds": (False, "Succeeded"), "fails": (True, "Failed")}


@pytest.mark.parametrize("case", ENDS)
def test_a_pod_of_the_input(case: str) -> None:
    fails, want = ENDS[case]
    facts = {("Pod", "ns", "a"): SimulationFacts(run_time_ns=60 * SECOND, fails=fails)}
    world = World(facts)
    world.cluster.create(pod("a", cpu=8))
    world.cluster.create(pod("b", cpu=8))
    world.run(MINUTE)
    world.node("n0")
    world.run(MINUTE - 1)
    assert world.where() == {"a": "n0", "b": None}
    world.run(1)
    assert world.where() == {"a": "n0", "b": "n0"}
    ended: Pod | None = world.cluster.get(Pod.KIND, "ns", "a")
    assert ended is not None
    assert ended.status is not None
    assert ended.status.phase == want


def test_room_that_others_leave_is_looked_at_every_ten_seconds() -> None:
    world = two_nodes()
    for made in (
        o.obj("Topology", "racks", {"levels": [{"nodeLabel": RACK}]}),
        o.obj("ResourceFlavor", "placed", {"topologyName": "racks"}),
        o.flavor("plain"),
        o.cluster_queue("q", o.group(placed=[o.quota("cpu", 8)])),
        o.cluster_queue("other", o.group(plain=[o.quota("cpu", 8)])),
    ):
        world.cluster.create(made)
    for name in ("a", "b", "c"):
        world.cluster.create(pod(name))
    world.cluster.create(pod("lost", nodeName="nowhere"))
    world.run(12)
    world.cluster.delete(Pod.KIND, "ns", "a")
    world.run(3)
    world.cluster.delete(Pod.KIND, "ns", "b")
    world.run(25)
    world.cluster.delete(Pod.KIND, "ns", "lost")
    world.run(25)
    world.cluster.delete(Pod.KIND, "ns", "c")
    world.run(25)
    assert world.retries == [(20 * SECOND, {"q"}), (70 * SECOND, {"q"})]


# ---- nodes that fail ----


def failing(**gates: bool) -> World:
    """Two pods on `n0`, one on `n1`; `n0` fails after a minute."""
    facts = {("Node", "", "n0"): SimulationFacts(fails_at=(Moment(60 * SECOND, False),))}
    world = World(facts, **gates)
    for name in ("n0", "n1", "n2"):
        world.node(name)
    world.workload((("n0",), 2), (("n1",), 1))
    world.job(3)
    world.run(MINUTE)
    return world


def test_pods_of_a_failed_node_are_lost_after_five_minutes_and_made_again() -> None:
    world = failing()
    world.run(299)
    # They may still be there: Kueue waits for them.
    assert world.unhealthy() == []
    assert world.where() == {"j-0": "n0", "j-1": "n0", "j-2": "n1"}
    world.run(2)
    assert world.unhealthy() == ["n0"]
    # The new ones wait for another place than the one that is out of order.
    assert world.where() == {"j-0-r1": None, "j-1-r1": None, "j-2": "n1"}
    world.workload((("n2",), 2), (("n1",), 1))
    world.run()
    assert world.where() == {"j-0-r1": "n2", "j-1-r1": "n2", "j-2": "n1"}


def test_a_node_that_recovers_in_time_loses_nothing() -> None:
    world = failing()
    world.run(200)
    world.ready("n0", True)
    world.run(1000)
    assert world.where() == {"j-0": "n0", "j-1": "n0", "j-2": "n1"}
    assert world.unhealthy() == []


def test_a_node_that_recovers_is_not_unhealthy_any_more() -> None:
    world = failing()
    world.run(400)
    assert world.unhealthy() == ["n0"]
    world.ready("n0", True)
    world.run(1)
    assert world.unhealthy() == []
    assert world.where() == {"j-0-r1": "n0", "j-1-r1": "n0", "j-2": "n1"}


def test_without_waiting_for_pods_a_failure_counts_after_half_a_minute() -> None:
    world = failing(TASReplaceNodeOnPodTermination=False)
    world.run(29)
    assert world.unhealthy() == []
    world.run(1)
    assert world.unhealthy() == ["n0"]


def test_a_second_failure_evicts() -> None:
    world = failing()
    world.run(400)
    world.ready("n1", False)
    world.run(400)
    workload: Workload | None = world.cluster.get(Workload.KIND, "ns", "w")
    assert workload is not None
    assert workload.status is not None
    evicted = {each.type: each.reason for each in workload.status.conditions or ()}["Evicted"]
    assert evicted == "NodeFailures"
    assert [(each.reason, each.name) for each in world.recorder.evictions] == [
        ("EvictedDueToNodeFailures", "w")
    ]


def test_a_node_that_is_gone_loses_its_pods_at_once() -> None:
    world = failing()
    world.cluster.delete(Node.KIND, None, "n1")
    world.run(1)
    assert world.unhealthy() == ["n1"]
    assert world.where() == {"j-0": "n0", "j-1": "n0", "j-2-r1": None}


PATIENCE: dict[str, tuple[list[dict[str, Any]], float | None]] = {
    "five minutes": ([], 300),
    "as long as it tolerates": (
        [{"key": "node.kubernetes.io/not-ready", "operator": "Exists", "tolerationSeconds": 10}],
        10,
    ),
    "no time": ([{"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": -1}], 0),
    "for ever": ([{"key": "node.kubernetes.io/not-ready", "operator": "Exists"}], None),
    "five minutes whatever else it tolerates": ([{"key": "other", "operator": "Exists"}], 300),
}


@pytest.mark.parametrize("case", PATIENCE)
def test_a_pod_stays_on_a_failed_node(case: str) -> None:
    tolerations, want = PATIENCE[case]
    world = two_nodes()
    world.cluster.create(pod("p", tolerations=tolerations))
    world.run()
    world.ready("n0", False)
    if want is None:
        world.run(10_000)
        assert world.where() == {"p": "n0"}
        return
    if want:
        world.run(want - 1)
        assert world.where() == {"p": "n0"}
    world.run(1)
    assert world.where() == {}
