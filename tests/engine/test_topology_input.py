"""Odd and hostile topologies, nodes and requests: refused in words, or handled as upstream handles them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kueue_fast.errors import InputError
from tests.arrays import objects as o
from tests.engine import tas
from tests.placed import HOSTNAME

Json = dict[str, Any]

MOST = 2**63 - 1

# Nodes, and where a workload of three pods in one rack goes: pods by host, or why it waits.
NODES: dict[str, tuple[list[Any], dict[str, int] | str]] = {
    "a node without one of the levels is no member": (
        [tas.node("x1", None, cpu=9), tas.node("x2", "r2")],
        {"x2": 3},
    ),
    "an empty level value is a value": ([tas.node("x1", "")], {"x1": 3}),
    "nodes of one host name are one leaf, where the first by name stands": (
        [tas.node("y1", "r9", cpu=2, host="h"), tas.node("x1", "r1", cpu=1, host="h")],
        {"h": 3},
    ),
    "hosts of the same name as a rack": ([tas.node("r1"), tas.node("b1")], {"b1": 3}),
    "negative allocatable is no room": (
        [tas.node("x1", cpu=-4)],
        'topology "t" doesn\'t allow to fit any of 3 pod(s). Total nodes: 1; excluded: resource "cpu": 1',
    ),
    "nothing allocatable": (
        [tas.node("x1", cpu=0), tas.node("x2", pods=0)],
        'topology "t" doesn\'t allow to fit any of 3 pod(s). Total nodes: 2; '
        'excluded: resource "cpu": 1, resource "pods": 1',
    ),
    "a node with negative allocatable takes from its twin of the same host name": (
        [tas.node("x1", cpu=4, host="h"), tas.node("x2", cpu=-3, host="h")],
        'topology "t" allows to fit only 1 out of 3 pod(s)',
    ),
    "the most that there is": ([tas.node("x1", cpu=MOST, pods=MOST)], {"x1": 3}),
    "sums stay at the most": (
        [tas.node("x1", cpu=MOST, pods=MOST, host="h"), tas.node("x2", cpu=MOST, pods=MOST, host="h")],
        {"h": 3},
    ),
    "the least that there is": (
        [tas.node("x1", cpu=-MOST - 1, pods=-MOST - 1)],
        'topology "t" doesn\'t allow to fit any of 3 pod(s). Total nodes: 1; excluded: resource "cpu": 1',
    ),
    "neither ready nor schedulable": (
        [tas.node("x1", ready=False), tas.node("x2", unschedulable=True)],
        "no topology domains at level: rack",
    ),
}


@pytest.mark.parametrize(("nodes", "want"), NODES.values(), ids=NODES)
def test_odd_nodes(nodes: list[Any], want: dict[str, int] | str) -> None:
    engine = tas.engine(*nodes)
    o.feed(engine, tas.workload("w", 3, required="rack"))
    cycle = o.cycle(engine)
    assert (tas.reason(cycle) if isinstance(want, str) else tas.places(cycle)["w"]) == want


MISSING_LEVEL = 'Flavor "f" does not contain the requested level'
NO_SIZE = "slice topology requested, but slice size not provided"


def layers(*named: tuple[str, int]) -> list[Json]:
    return [{"topology": level, "size": size} for level, size in named]


# Requests of four pods, on hosts x1 (rack r1) and x2 (rack r2) with room for four each.
REQUESTS: dict[str, tuple[Json, dict[str, int] | str]] = {
    "a level that the topology lacks": ({"required": "zone"}, MISSING_LEVEL),
    "an empty level": ({"required": ""}, MISSING_LEVEL),
    "a preferred level that the topology lacks": ({"preferred": "zone"}, MISSING_LEVEL),
    "required goes before preferred": ({"required": "rack", "preferred": "zone"}, {"x1": 4}),
    "required goes before unconstrained": ({"required": "zone", "unconstrained": True}, MISSING_LEVEL),
    "unconstrained, said to be false, has no level": ({"unconstrained": False}, MISSING_LEVEL),
    "a slice level that the topology lacks": (
        {"required": "rack", "podSetSliceRequiredTopology": "zone", "podSetSliceSize": 2},
        MISSING_LEVEL,
    ),
    "slices of 0": (
        {"required": "rack", "podSetSliceRequiredTopology": HOSTNAME, "podSetSliceSize": 0},
        NO_SIZE,
    ),
    "slices of less": (
        {"required": "rack", "podSetSliceRequiredTopology": HOSTNAME, "podSetSliceSize": -(2**31)},
        NO_SIZE,
    ),
    "slices without a size": ({"required": "rack", "podSetSliceRequiredTopology": HOSTNAME}, NO_SIZE),
    "a layer of 0": (
        {"required": "rack", "podsetSliceRequiredTopologyConstraints": layers((HOSTNAME, 0))},
        NO_SIZE,
    ),
    "slices beyond the count are no slice at all (TP-2010)": (
        {"required": "rack", "podSetSliceRequiredTopology": HOSTNAME, "podSetSliceSize": 2**31 - 1},
        {},
    ),
    "what is no whole slice is left out (TP-2010)": (
        {"required": "rack", "podSetSliceRequiredTopology": HOSTNAME, "podSetSliceSize": 3},
        {"x1": 3},
    ),
    "slices above the main level": (
        {"required": HOSTNAME, "podSetSliceRequiredTopology": "rack", "podSetSliceSize": 2},
        f"podset slice topology rack is above the podset topology {HOSTNAME}",
    ),
    "a layer that does not divide the one around it": (
        {
            "required": "block",
            "podsetSliceRequiredTopologyConstraints": layers(("rack", 4), (HOSTNAME, 3)),
        },
        "additional slice layer size 3 must evenly divide parent layer size 4",
    ),
    "a layer of 0 in another": (
        {
            "required": "block",
            "podsetSliceRequiredTopologyConstraints": layers(("rack", 4), (HOSTNAME, 0)),
        },
        "additional slice layer size 0 must evenly divide parent layer size 4",
    ),
    "a layer above the one around it": (
        {
            "required": "block",
            "podsetSliceRequiredTopologyConstraints": layers((HOSTNAME, 4), ("rack", 2)),
        },
        f"additional slice layer topology rack must be at a lower level than {HOSTNAME}",
    ),
    "a layer twice": (
        {"required": "block", "podsetSliceRequiredTopologyConstraints": layers(("rack", 4), ("rack", 2))},
        "additional slice layer topology rack must be at a lower level than rack",
    ),
    "a layer that the topology lacks": (
        {"required": "block", "podsetSliceRequiredTopologyConstraints": layers(("rack", 4), ("zone", 2))},
        MISSING_LEVEL,
    ),
}


@pytest.mark.parametrize(("request_", "want"), REQUESTS.values(), ids=REQUESTS)
def test_odd_requests(request_: Json, want: dict[str, int] | str) -> None:
    engine = o.feed(tas.engine(), tas.workload("w", 4, **request_))
    cycle = o.cycle(engine)
    assert (tas.reason(cycle) if isinstance(want, str) else tas.places(cycle)["w"]) == want


@pytest.mark.parametrize("pods", [2**31 - 1, 10])
def test_more_pods_than_there_is_room_for(pods: int) -> None:
    engine = o.feed(tas.engine(quota=2**40), tas.workload("w", pods, unconstrained=True))
    assert tas.reason(o.cycle(engine)) == f'topology "t" allows to fit only 8 out of {pods} pod(s)'


def test_as_many_pods_as_can_be_asked_for() -> None:
    nodes = [tas.node("x1", cpu=MOST, pods=2**31 - 2), tas.node("x2", "r2", cpu=MOST, pods=MOST)]
    engine = o.feed(tas.engine(*nodes, quota=2**40), tas.workload("w", 2**31 - 1, required="block"))
    cycle = o.cycle(engine)
    assert tas.places(cycle) == {"w": {"x2": 2**31 - 1}}
    assert tas.used(engine) == {"b1/r2/x2": 2**31 - 1}


def test_pods_without_pods() -> None:
    engine = o.feed(tas.engine(), tas.workload("w", 0, required="rack"))
    assert tas.places(o.cycle(engine)) == {"w": {}}


@pytest.mark.parametrize(
    ("members", "want"),
    [
        (1, {"a": [("x1", 1)]}),
        (2, {"a": [("x1", 1)], "b": [("x1", 1)]}),
        (3, "a pod set group may hold at most two pod sets that use a topology"),
    ],
)
def test_groups(members: int, want: dict[str, Any] | str) -> None:
    """TP-2011: upstream crashes on groups of three."""
    pod_sets = [tas.pod_set(name=name, required="rack", podSetGroupName="g") for name in "abc"[:members]]
    engine = o.feed(tas.engine(), o.workload("w", "lq", *pod_sets))
    cycle = o.cycle(engine)
    if isinstance(want, str):
        assert cycle.requeued[0].message().count(want) == members
        assert tas.used(engine) == {}
        return
    (admission,) = cycle.admitted
    assert {
        one.name: [(values[-1], count) for values, count in one.placement.domains]
        for one in admission.pod_sets
    } == want


# What is refused: the object, and the words.
REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "a topology of 17 levels": (
        lambda: tas.topology(*map(str, range(17)), name="u"),
        "Topology u: $.spec.levels: has 17 items (expected at most 16)",
    ),
    "a label with a comma": (
        lambda: tas.node("x1", "r1,x1"),
        "Node x1: $.metadata.labels[rack]: 'r1,x1' has a comma or a null character "
        "(expected the value of a label)",
    ),
    "a label with a null character": (
        lambda: tas.node("x1", host="a\0"),
        f"Node x1: $.metadata.labels[{HOSTNAME}]: 'a\\x00' has a comma or a null character "
        "(expected the value of a label)",
    ),
    "an allocatable that is no quantity": (
        lambda: tas.node("x1", cpu="much"),
        "Node x1: $.status.allocatable.cpu: 'much' is not a quantity",
    ),
    "slices larger than any": (
        lambda: tas.workload("w", podSetSliceRequiredTopology=HOSTNAME, podSetSliceSize=2**31),
        "Workload default/w: $.spec.podSets[0].topologyRequest.podSetSliceSize: is out of range",
    ),
    "four layers": (
        lambda: tas.workload("w", podsetSliceRequiredTopologyConstraints=layers(*[("rack", 1)] * 4)),
        "Workload default/w: $.spec.podSets[0].topologyRequest.podsetSliceRequiredTopologyConstraints: "
        "has 4 items (expected at most 3)",
    ),
}


@pytest.mark.parametrize(("make", "want"), REFUSED.values(), ids=REFUSED)
def test_what_is_refused_changes_nothing(make: Callable[[], Any], want: str) -> None:
    engine = o.feed(tas.engine(), tas.workload("a", 8, required="block"))
    with pytest.raises(InputError) as error:
        o.feed(engine, make())
    assert str(error.value).startswith(want)
    assert tas.places(o.cycle(engine)) == {"a": {"x1": 4, "x2": 4}}
    assert tas.used(engine) == {"b1/r1/x1": 4, "b1/r2/x2": 4}
    assert o.cycle(engine, 1).heads == 0
