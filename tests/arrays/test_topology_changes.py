"""Changes of nodes, pods, flavors and filters, leaf by leaf, against trees built whole."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from kueue_fast.arrays.topology import TopologyRows
from tests.arrays.trees import HOST, LEVELS, dump, flavor, leaves, node, pod, pod_spec, rows, topology

START = [node("x", "b1", "r1"), node("y", "b1", "r2"), node("z", "b2", "r1")]


def version(made: TopologyRows) -> tuple[int, int]:
    """How often leaves were numbered anew, and the leaves, dead ones included."""
    made.refresh()
    tree = made._trees["f"]
    return id(tree.paths), len(tree.paths)


# Changes of one tree; whether all leaves stay where they are.
CHANGES: dict[str, tuple[Callable[[TopologyRows], Any], bool]] = {
    "nothing": (lambda made: made.set_node(node("x", "b1", "r1")), True),
    "the same in other units": (lambda made: made.set_node(node("x", "b1", "r1", cpu="1000m")), True),
    "allocatable": (lambda made: made.set_node(node("x", "b1", "r1", cpu=3)), True),
    "a taint": (
        lambda made: made.set_node(node("x", "b1", "r1", taints=[{"key": "k", "effect": "NoSchedule"}])),
        True,
    ),
    "not ready": (lambda made: made.set_node(node("x", "b1", "r1", ready=False)), True),
    "deleted": (lambda made: made.delete_node("x"), True),
    "deleted, and not there before": (lambda made: made.delete_node("w"), True),
    "a label that means nothing": (lambda made: made.set_node(node("x", "b1", "r1", other="x")), True),
    "leaves the pool": (lambda made: made.set_node(node("x", "b1", "r1", pool="b")), True),
    "a new node in a known rack": (lambda made: made.set_node(node("w", "b1", "r1")), False),
    "a new rack": (lambda made: made.set_node(node("w", "b1", "r0")), False),
    "a new block, first": (lambda made: made.set_node(node("w", "b0", "r9")), False),
    "a new block, last": (lambda made: made.set_node(node("w", "b9", "r0")), False),
    "a new block that begins another": (lambda made: made.set_node(node("w", "b", "r1")), False),
    "a second node of a host": (lambda made: made.set_node(node("y2", "b1", "r2", "y")), True),
    "a second node of a host that decides its rack": (
        lambda made: made.set_node(node("a", "b0", "r0", "y")),
        False,
    ),
    "another rack": (lambda made: made.set_node(node("x", "b1", "r2")), False),
    "a pod of others": (lambda made: made.set_pod(pod("p", "x")), True),
    "a pod on no known node": (lambda made: made.set_pod(pod("p", "w")), True),
}


@pytest.mark.parametrize("levels", [LEVELS, ["block", "rack"], [HOST]], ids="-".join)
@pytest.mark.parametrize(("change", "stays"), CHANGES.values(), ids=CHANGES)
def test_a_change_written_leaf_by_leaf_is_as_if_built_whole(
    change: Callable[[TopologyRows], Any], stays: bool, levels: list[str]
) -> None:
    made = rows(*START, levels=levels)
    before = version(made)
    change(made)
    want = rows(*START, levels=levels)
    change(want)
    want.rebuild("f")
    assert dump(made) == dump(want)
    if stays:
        assert version(made) == before


def test_a_node_that_moves_to_another_rack_and_back() -> None:
    made = rows(*START)
    want = dump(made)
    made.set_node(node("x", "b2", "r1"))
    assert list(leaves(made)) == ["b1/r2/y", "b2/r1/x", "b2/r1/z"]
    made.set_node(node("x", "b1", "r1"))
    assert dump(made) == want


def test_a_node_that_comes_back_in_another_rack() -> None:
    made = rows(*START)
    made.delete_node("x")
    made.refresh()
    made.set_node(node("x", "b3", "r1"))
    assert list(leaves(made)) == ["b1/r2/y", "b2/r1/z", "b3/r1/x"]


def test_the_lowest_name_leaves_a_host_to_the_next_one() -> None:
    made = rows(node("a", "b1", "r1", "h"), node("b", "b2", "r2", "h"))
    assert leaves(made) == {"b1/r1/h": 2000}
    made.delete_node("a")
    assert leaves(made) == {"b2/r2/h": 1000}
    made.set_node(node("a", "b1", "r1", "h"))
    assert leaves(made) == {"b1/r1/h": 2000}


def test_events_between_two_refreshes_count_as_their_last() -> None:
    made = rows(*START)
    want = dump(made)
    made.set_node(node("x", "b1", "r1", cpu=7))
    made.set_node(node("w", "b9", "r1"))
    made.delete_node("w")
    made.delete_node("x")
    made.set_node(node("x", "b1", "r1"))
    assert dump(made) == want


def test_leaves_without_nodes_do_not_pile_up() -> None:
    made = rows(*START)
    for number in range(1000):
        made.set_node(node(f"n{number}", "b1", "r1"))
        made.refresh()
        made.delete_node(f"n{number}")
        made.refresh()
    assert len(made._trees["f"].paths) < 100
    assert len(leaves(made)) == len(START)


PODS: dict[str, tuple[list[Any], dict[str, int]]] = {
    "requests and the pod": ([pod("p", "x", "250m")], {"cpu": 750, "pods": 9}),
    "several": ([pod("p", "x", "250m"), pod("q", "x", "1")], {"cpu": -250, "pods": 8}),
    "changed": ([pod("p", "x", "250m"), pod("p", "x", "0.5")], {"cpu": 500, "pods": 9}),
    "moved": ([pod("p", "x"), pod("p", "y")], {"cpu": 1000, "pods": 10}),
    "ended": ([pod("p", "x"), pod("p", "x", phase="Succeeded")], {"cpu": 1000, "pods": 10}),
    "not scheduled": ([pod("p", None)], {"cpu": 1000, "pods": 10}),
    "placed by topology": (
        [pod("p", "x", **{"kueue.x-k8s.io/podset-required-topology": "rack"})],
        {"cpu": 1000, "pods": 10},
    ),
}


@pytest.mark.parametrize(("pods", "want"), PODS.values(), ids=PODS)
def test_pods_of_others_take_room(pods: list[Any], want: dict[str, int]) -> None:
    made = rows(*START)
    untouched = dump(made)
    for each in pods:
        made.set_pod(each)
        made.refresh()
    assert dump(made)["b1/r1/x"]["free"] == want
    made.rebuild("f")
    assert dump(made)["b1/r1/x"]["free"] == want
    for each in pods:
        made.delete_pod("ns", each.metadata.name)
    assert dump(made) == untouched


# The pod before and after, None where it is deleted; the node that is told.
FREED: dict[str, tuple[Any, Any, str | None]] = {
    "deleted": (pod("p", "x"), None, "x"),
    "ended": (pod("p", "x"), pod("p", "x", phase="Failed"), "x"),
    "became one of a topology": (
        pod("p", "x"),
        pod("p", "x", **{"kueue.x-k8s.io/podset-preferred-topology": "rack"}),
        "x",
    ),
    "moved": (pod("p", "x"), pod("p", "y"), "x"),
    "asks for less": (pod("p", "x"), pod("p", "x", "250m"), "x"),
    "asks for more": (pod("p", "x"), pod("p", "x", "2"), None),
    "asks for the same": (pod("p", "x"), pod("p", "x", "1000m"), None),
    "came": (pod("p", None), pod("p", "x"), None),
    "was not there": (pod("p", None), None, None),
}


@pytest.mark.parametrize(("before", "after", "want"), FREED.values(), ids=FREED)
def test_a_node_is_told_when_a_pod_may_have_freed_room_there(
    before: Any, after: Any, want: str | None
) -> None:
    made = rows(*START)
    assert made.set_pod(before) is None
    assert (made.delete_pod("ns", "p") if after is None else made.set_pod(after)) == want


def test_pods_come_before_their_node() -> None:
    made = rows()
    made.set_pod(pod("p", "x", "250m"))
    made.refresh()
    made.set_node(START[0])
    assert leaves(made) == {"b1/r1/x": 750}


def test_pods_are_taken_from_racks_too() -> None:
    made = rows(node("x", "b1", "r1"), node("y", "b1", "r1"), levels=["block", "rack"])
    made.set_pod(pod("p", "x", "250m"))
    made.set_pod(pod("q", "y", "250m"))
    assert leaves(made) == {"b1/r1": 1500}


class World:
    """A cluster that changes at random: what is there now, and the rows that followed every change."""

    def __init__(self, seed: int, levels: list[str]) -> None:
        self.random = random.Random(seed)
        self.made = rows(levels=levels)
        self.levels = levels
        self.nodes: dict[str, Any] = {}
        self.pods: dict[str, Any] = {}
        self.flavors: dict[str, Any] = {"f": flavor()}
        self.filters: list[Any] = []

    def step(self) -> bool:
        """Change something; whether it is a filter, which changes many leaves at once."""
        draw = self.random.random()
        name = f"n{self.random.randrange(40)}"
        if draw < 0.55:
            self.nodes[name] = self.node(name)
            self.made.set_node(self.nodes[name])
        elif draw < 0.7:
            self.nodes.pop(name, None)
            self.made.delete_node(name)
        elif draw < 0.85:
            key = f"p{self.random.randrange(60)}"
            self.pods[key] = pod(
                key, name, f"{self.random.randrange(900)}m", self.random.choice(["Running", "Failed"])
            )
            self.made.set_pod(self.pods[key])
        elif draw < 0.95:
            key = f"p{self.random.randrange(60)}"
            self.pods.pop(key, None)
            self.made.delete_pod("ns", key)
        elif draw < 0.955:
            # By label or by host, each with a toleration or without.
            selector = self.random.choice([{"rack": "r1"}, {HOST: name}, {"pool": "b", "rack": "r2"}, {}])
            tolerations = self.random.choice([[], [{"operator": "Exists"}]])
            self.filters.append(pod_spec(nodeSelector=selector, tolerations=tolerations))
            if self.made.exists("f"):
                self.made.filter_row(self.filters[-1], "f")
                return True
            self.filters.pop()
        else:
            key = self.random.choice(["f", "g"])
            self.flavors.pop(key, None)
            if draw < 0.98:
                self.flavors[key] = flavor(
                    nodeLabels=self.random.choice([{"pool": "a"}, {"pool": "b"}, {"pool": ""}])
                )
            self.made.set_flavor(key, None)
            self.made.set_flavor(key, self.flavors.get(key))
        return False

    def node(self, name: str) -> Any:
        pick = self.random.choice
        return node(
            name,
            pick("ab-") if pick([0, 1, 1, 1]) else "-",
            pick(["r1", "r10", "r2"]),
            pick([name, name, name, "shared", "-"]),
            cpu=pick([1, "1500m", -1, 0]),
            ready=pick([True, True, True, False]),
            pool=pick(["a", "a", "b", "-"]),
            taints=pick([None, [{"key": "k", "effect": "NoSchedule"}]]),
        )

    def afresh(self) -> TopologyRows:
        made = rows(levels=self.levels)
        for each in self.filters:
            made.filter_row(each, "f")
        made.set_flavor("f", None)
        for name, spec in self.flavors.items():
            made.set_flavor(name, spec)
        for each in self.pods.values():
            made.set_pod(each)
        for each in sorted(self.nodes.values(), key=lambda each: self.random.random()):
            made.set_node(each)
        return made


@pytest.mark.parametrize("levels", [LEVELS, ["block", "rack"], [HOST]], ids="-".join)
def test_ten_thousand_changes_end_where_building_whole_ends(levels: list[str]) -> None:
    world = World(7, levels)
    for number in range(10_000):
        filtered = world.step()
        if world.random.random() < 0.4:
            world.made.refresh()
        if number % 500 == 0 or filtered:
            want = world.afresh()
            assert world.made.flavors() == want.flavors()
            for name in want.flavors():
                assert dump(world.made, name) == dump(want, name)


def test_a_topology_and_flavors_may_come_in_any_order() -> None:
    parts: list[Callable[[TopologyRows], Any]] = [
        lambda made: made.set_topology("t", topology(*LEVELS)),
        lambda made: made.set_flavor("f", flavor()),
        lambda made: made.set_node(START[0]),
        lambda made: made.set_pod(pod("p", "x", "250m")),
    ]
    for seed in range(24):
        made = rows()
        made.set_topology("t", None)
        made.set_flavor("f", None)
        for part in random.Random(seed).sample(parts, len(parts)):
            part(made)
            made.refresh()
        assert leaves(made) == {"b1/r1/x": 750}
