"""Who sat where, at the end and when most was used."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from kueue_fast.api.core import Node
from kueue_fast.api.decode import decode_object
from kueue_fast.api.kueue import Workload
from kueue_fast.model.times import SECOND
from kueue_fast.sim.topology_result import TopologyMoment, TopologyRow
from tests.placed import HOSTNAME, NOW, assignment, placed
from tests.sim.pod_world import RACK, World
from tests.sim.world import KUEUE, flavor, meta


def world_of(*levels: str, flavors: tuple[str, ...] = ("flavor",), nodes: int = 4) -> World:
    """Nodes n0, n1, ... in racks of two, 8 cpu each, in a Topology of these levels."""
    world = World()
    spec = {"levels": [{"nodeLabel": level} for level in levels]}
    world.cluster.create(
        decode_object({"apiVersion": KUEUE, "kind": "Topology", "metadata": meta("t"), "spec": spec})
    )
    for name in flavors:
        world.cluster.create(decode_object(flavor(name, topologyName="t")))
    for number in range(nodes):
        world.node(f"n{number}", rack=f"r{number // 2}")
    return world


def place(world: World, name: str, *domains: tuple[tuple[str, ...], int], **more: Any) -> None:
    """A Workload of pods of 2 cpu in these domains."""
    container = {"name": "c", "resources": {"requests": {"cpu": 2}}}
    levels = more.pop("levels", (HOSTNAME,))
    pods = sum(count for _, count in domains)
    pod_set = {"name": "main", "count": pods, "template": {"spec": {"containers": [container]}}}
    flavors = {"flavors": {"cpu": more.pop("flavor", "flavor")}}
    made = placed(assignment("main", levels, *domains, **flavors), pod_sets=[pod_set], name=name, **more)
    if world.cluster.get(Workload.KIND, "ns", name) is None:
        world.cluster.create(
            msgspec.structs.replace(made, metadata=msgspec.structs.replace(made.metadata, uid=name))
        )
    else:
        world.cluster.update_status(made)
    world.pods.ledger.settle()


def row(world: World) -> TopologyRow:
    [found] = world.pods.ledger.rows(world.clock.now)
    return found


def seats(moment: TopologyMoment | None) -> dict[str, list[tuple[str, int]]]:
    """Workloads and their pods, by the value of the lowest level; empty ones left out."""
    assert moment is not None
    return {
        leaf.values[-1]: [(each.workload.removeprefix("ns/"), each.pods) for each in leaf.occupants]
        for leaf in moment.leaves
        if leaf.occupants
    }


def test_the_end_and_the_highest_use() -> None:
    world = world_of(RACK, HOSTNAME)
    place(world, "a", (("n0",), 2), (("n1",), 1))
    world.run(10)
    place(world, "b", (("n0",), 1))
    world.run(10)
    place(world, "a", conditions=("QuotaReserved", "Admitted", "Finished"))
    place(world, "c", (("n3",), 1))
    got = row(world)
    assert seats(got.end) == {"n0": [("b", 1)], "n3": [("c", 1)]}
    assert seats(got.peak) == {"n0": [("a", 2), ("b", 1)], "n1": [("a", 1)]}
    assert got.peak is not None
    assert (got.peak.time_ns, got.end.time_ns) == (NOW + 10 * SECOND, NOW + 20 * SECOND)
    assert got.levels == (RACK, HOSTNAME)
    assert [leaf.values for leaf in got.end.leaves] == [
        ("r0", "n0"),
        ("r0", "n1"),
        ("r1", "n2"),
        ("r1", "n3"),
    ]
    assert got.peak.total("cpu") == (32000, 8000, 0)
    assert got.resources == ["cpu", "pods"]


def test_a_workload_that_finished_keeps_its_assignment_and_no_seat() -> None:
    world = world_of(HOSTNAME)
    place(world, "a", (("n0",), 1))
    place(world, "a", (("n0",), 1), conditions=("QuotaReserved", "Admitted", "Finished"))
    assert seats(row(world).end) == {}


def test_pods_that_move_are_where_they_went() -> None:
    world = world_of(HOSTNAME)
    place(world, "a", (("n0",), 1))
    place(world, "a", (("n2",), 1))
    assert seats(row(world).end) == {"n2": [("a", 1)]}


def test_domains_without_hosts_count_their_nodes_together() -> None:
    world = world_of(RACK)
    place(world, "a", (("r1",), 5), levels=(RACK,))
    got = row(world)
    assert seats(got.end) == {"r1": [("a", 5)]}
    assert [(leaf.nodes, leaf.capacity["cpu"]) for leaf in got.end.leaves] == [(2, 16000), (2, 16000)]
    assert got.end.gangs[0].fits[0].largest == 8


def test_hosts_are_shared_by_flavors() -> None:
    world = world_of(HOSTNAME, flavors=("flavor", "other"))
    place(world, "a", (("n0",), 1), flavor="other")
    rows = world.pods.ledger.rows(world.clock.now)
    assert [(each.flavor, seats(each.end)) for each in rows] == [
        ("flavor", {"n0": [("a", 1)]}),
        ("other", {"n0": [("a", 1)]}),
    ]
    assert [each.peak is None for each in rows] == [True, False]


def test_nodes_that_are_not_ready_have_no_capacity() -> None:
    world = world_of(HOSTNAME, nodes=2)
    world.ready("n0", False)
    leaves = row(world).end.leaves
    assert [(leaf.nodes, leaf.ready, leaf.capacity.get("cpu")) for leaf in leaves] == [
        (1, 0, None),
        (1, 1, 8000),
    ]


def test_a_peak_is_drawn_with_the_nodes_of_its_time() -> None:
    world = world_of(HOSTNAME, nodes=2)
    place(world, "a", (("n0",), 1))
    world.cluster.delete(Node.KIND, None, "n1")
    got = row(world)
    assert got.peak is not None
    assert (len(got.peak.leaves), len(got.end.leaves)) == (2, 1)


OTHERS: dict[str, tuple[dict[str, Any], dict[str, int]]] = {
    "a pod on a node": ({}, {"cpu": 1000, "pods": 1}),
    "a pod that ended": ({"status": {"phase": "Succeeded"}}, {}),
    "a pod that Kueue placed": (
        {"metadata": {"annotations": {"kueue.x-k8s.io/podset-required-topology": RACK}}},
        {},
    ),
}


@pytest.mark.parametrize("case", OTHERS)
def test_other_pods(case: str) -> None:
    more, want = OTHERS[case]
    world = world_of(HOSTNAME)
    container = {"name": "c", "resources": {"requests": {"cpu": 1}}}
    made = {
        "apiVersion": "v1",
        "kind": "Pod",
        "spec": {"containers": [container], "nodeName": "n0"},
        **more,
    }
    made["metadata"] = {"name": "p", "namespace": "ns", **made.get("metadata", {})}
    world.cluster.create(decode_object(made))
    assert row(world).end.leaves[0].other == want
    world.cluster.delete("Pod", "ns", "p")
    assert row(world).end.leaves[0].other == {}


def test_a_flavor_without_nodes_or_without_its_topology_has_no_row() -> None:
    world = world_of(HOSTNAME, nodes=0)
    world.cluster.create(decode_object(flavor("astray", topologyName="missing")))
    assert world.pods.ledger.rows(NOW) == []


def test_gangs_that_never_got_a_place_are_known() -> None:
    world = world_of(HOSTNAME)
    pod_set = {"name": "main", "count": 3, "template": {}, "topologyRequest": {"required": RACK}}
    world.cluster.create(placed(pod_sets=[pod_set], conditions=()))
    gangs = row(world).end.gangs
    assert [(each.gang.workload, each.gang.pods, dict(each.gang.request)) for each in gangs] == [
        ("ns/w", 3, {"pods": 1})
    ]
