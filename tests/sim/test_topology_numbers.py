"""Numbers about a topology at a moment."""

from __future__ import annotations

from typing import Any

import pytest

from kueue_fast.sim.topology_numbers import MOST_GANGS, measure, room_for
from kueue_fast.sim.topology_result import Gang, GangFit, LevelRow, Occupant, TopologyLeaf

LEVELS = ("block", "rack", "host")
CAPACITY = {"cpu": 8000, "gpu": 4, "pods": 10}


def leaf(path: str, gpu: int = 0, *, capacity: dict[str, int] | None = None, **more: Any) -> TopologyLeaf:
    """A host at `block/rack/host`, with one pod for each gpu that is used."""
    made = TopologyLeaf(tuple(path.split("/")), CAPACITY if capacity is None else capacity, 1, 1, **more)
    if gpu:
        made.occupants.append(Occupant("ns/w", gpu, {"cpu": gpu * 1000, "gpu": gpu, "pods": gpu}))
    return made


def gang(pods: int, name: str = "g", **request: int) -> Gang:
    return Gang(f"ns/{name}", "main", pods, {**(request or {"gpu": 1}), "pods": 1})


ROOM = {
    "all of an empty host": (leaf("b/r/h"), {"cpu": 1000, "pods": 1}, 8),
    "the scarcest resource decides": (leaf("b/r/h", 3), {"cpu": 1000, "gpu": 1, "pods": 1}, 1),
    "pods are one": (leaf("b/r/h"), {"cpu": 1, "pods": 1}, 10),
    "what a host does not have does not fit": (leaf("b/r/h"), {"tpu": 1, "pods": 1}, 0),
    "zero asks for nothing": (leaf("b/r/h"), {"tpu": 0, "pods": 1}, 10),
    "other pods take room": (leaf("b/r/h", other={"cpu": 7500, "pods": 1}), {"cpu": 500, "pods": 1}, 1),
    "no room is less than none": (leaf("b/r/h", other={"cpu": 9000, "pods": 1}), {"cpu": 500, "pods": 1}, 0),
    "a node that is not ready": (leaf("b/r/h", capacity={}), {"pods": 1}, 0),
}


@pytest.mark.parametrize("case", ROOM)
def test_room_for(case: str) -> None:
    at, request, want = ROOM[case]
    assert room_for(at, request) == want


def test_levels_and_gangs() -> None:
    leaves = [
        leaf("a/r0/h0", 4),
        leaf("a/r0/h1", 4),
        leaf("a/r1/h2", 3),
        leaf("a/r1/h3"),
        leaf("b/r2/h4", 2),
        leaf("b/r2/h5", 1),
    ]
    moment = measure(7, LEVELS, leaves, [gang(4, gpu=1)])
    assert moment.resource == "gpu"
    assert moment.levels == [
        LevelRow("block", 2, 0, 0, 3 / 8, 11 / 16),
        LevelRow("rack", 3, 0, 1, 3 / 8, 1.0),
        LevelRow("host", 6, 1, 2, 0.0, 1.0),
    ]
    [row] = moment.gangs
    assert row.resource == "gpu"
    # Free gpus: 0 0 1 4 2 3.
    assert row.fits == (
        GangFit("block", 5, ("a",), 2, 1 - 8 / 10),
        GangFit("rack", 5, ("a", "r1"), 2, 1 - 8 / 10),
        GangFit("host", 4, ("a", "r1", "h3"), 1, 1 - 4 / 10),
    )
    assert (moment.pods, moment.workloads) == (14, ["ns/w"])
    assert moment.total("gpu") == (24, 14, 0)


def test_what_is_left_over_in_a_host_does_not_add_up() -> None:
    moment = measure(0, LEVELS, [leaf("a/r/h0", 3), leaf("a/r/h1", 3)], [gang(1, gpu=2)])
    assert [fit.unusable for fit in moment.gangs[0].fits] == [1.0, 1.0, 1.0]
    assert [fit.largest for fit in moment.gangs[0].fits] == [0, 0, 0]
    assert [level.full for level in moment.levels] == [1, 1, 2]


def test_nothing_is_free_or_there_is_nothing() -> None:
    full = measure(0, LEVELS, [leaf("a/r/h", 4)], [gang(2)])
    assert full.gangs[0].fits[0] == GangFit("block", 0, ("a",), 0, None)
    down = measure(0, LEVELS, [leaf("a/r/h", capacity={})], [gang(2)])
    assert down.levels[0] == LevelRow("block", 1, 1, 1, None, None)
    assert down.gangs[0].fits[0].unusable is None


def test_without_gangs_nothing_is_full() -> None:
    moment = measure(0, LEVELS, [leaf("a/r/h", 4)], [])
    assert (moment.gangs, moment.levels[0].full) == ([], None)


def test_gangs_are_ordered_by_size_and_equal_ones_told_once() -> None:
    gangs = [gang(1, "b"), gang(1, "a"), gang(4, "c"), gang(2, "d", cpu=8000)]
    gangs += [gang(1, f"x{number}", cpu=number) for number in range(20)]
    moment = measure(0, LEVELS, [leaf(f"a/r/h{number}") for number in range(4)], gangs)
    assert len(moment.gangs) == MOST_GANGS
    assert [row.gang.workload for row in moment.gangs[:3]] == ["ns/d", "ns/c", "ns/b"]


def test_the_resource_of_an_empty_topology_is_that_of_the_largest_gang() -> None:
    assert measure(0, LEVELS, [leaf("a/r/h")], [gang(1, gpu=3)]).resource == "gpu"
    assert measure(0, LEVELS, [leaf("a/r/h")], []).resource == "cpu"
