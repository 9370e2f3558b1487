"""Topology assignments that come with Workloads: what is refused, and what counts where while topologies change."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kueue_fast import Engine
from kueue_fast.errors import InputError
from tests.arrays import objects as o
from tests.engine import tas
from tests.placed import HOSTNAME

Json = dict[str, Any]

X1: tuple[tuple[str, ...], int] = (("x1",), 3)


def holding(*domains: tuple[tuple[str, ...], int], levels: tuple[str, ...] = (HOSTNAME,)) -> Json:
    """Workload `a` of three pods that stand there."""
    return tas.placed(tas.workload("a", 3, required="rack"), tas.written(*domains, levels=levels))


# Assignments that can be read, and the pods that count by leaf; upstream takes them as they are.
TAKEN: dict[str, tuple[Json, dict[str, int]]] = {
    "an unknown host": (holding((("nowhere",), 3)), {}),
    "more pods than there are": (holding((("x1",), 5)), {"b1/r1/x1": 5}),
    "as many pods as can be written": (holding((("x1",), 2**31 - 1)), {"b1/r1/x1": 2**31 - 1}),
    "a host twice": (holding((("x1",), 1), (("x1",), 2)), {"b1/r1/x1": 3}),
    "the whole path where the host name would do": (
        holding((("b1", "r1", "x1"), 3), levels=tas.LEVELS),
        {},
    ),
    "another level": (holding((("r1",), 3), levels=("rack",)), {}),
    "no domains": (holding(), {}),
}


@pytest.mark.parametrize(("made", "want"), TAKEN.values(), ids=TAKEN)
def test_what_is_taken_and_given_back(made: Json, want: dict[str, int]) -> None:
    engine = o.feed(tas.engine(), made)
    assert tas.used(engine) == want
    o.feed(engine, o.finished(made))
    assert tas.used(engine) == {}


def part(**change: Any) -> Json:
    made = {
        "domainCount": 1,
        "valuesPerLevel": [{"universal": "x1"}],
        "podCounts": {"universal": 3},
        **change,
    }
    return {"levels": [HOSTNAME], "slices": [made]}


BOTH = {"universal": "x1", "individual": {"roots": ["x1"]}}
AT = "Workload default/a: $.status.admission.podSetAssignments[0].topologyAssignment"
# Assignments that the API server would refuse, and the words.
REFUSED: dict[str, tuple[Any, str]] = {
    "a text": ("x1", ": Expected `object`, got `str` (expected a TopologyAssignment of v1beta2)"),
    "no levels": ({}, ": Object missing required field `levels`"),
    "none of the levels": ({"levels": []}, ".levels: Expected `array` of length >= 1"),
    "17 levels": ({"levels": list("abcdefghijklmnopq")}, ".levels: Expected `array` of length <= 16"),
    "no pods": (
        part(podCounts={"universal": 0}),
        ".slices[0].podCounts.universal: Expected `int` >= 1",
    ),
    "less than no pods": (
        part(podCounts={"individual": [-1]}),
        ".slices[0].podCounts.individual[0]: Expected `int` >= 1",
    ),
    "more pods than can be counted": (
        part(podCounts={"universal": 2**31}),
        ".slices[0].podCounts.universal: Expected `int` <= 2147483647",
    ),
    "too few roots": (
        part(domainCount=2, valuesPerLevel=[{"individual": {"roots": ["x1"]}}]),
        ".slices[0].valuesPerLevel[0].individual.roots: has 1 items (expected 2, one for each domain)",
    ),
    "too many values": (
        part(valuesPerLevel=[{"universal": "x1"}] * 2),
        ".slices[0].valuesPerLevel: has 2 items (expected 1, one for each level)",
    ),
    "one value and many": (
        part(valuesPerLevel=[BOTH]),
        ".slices[0].valuesPerLevel[0]: has both or neither (expected exactly one of universal and individual)",
    ),
    "more domains than memory": (
        part(domainCount=2**31 - 1),
        ".slices[0].domainCount: makes more domains than can be kept (expected at most 1000000 domains in all)",
    ),
    "1001 slices": (
        {"levels": [HOSTNAME], "slices": part()["slices"] * 1001},
        ".slices: Expected `array` of length <= 1000",
    ),
}


@pytest.mark.parametrize("failed", [False, True], ids=["whole", "a node failed"])
@pytest.mark.parametrize(("assignment", "want"), REFUSED.values(), ids=REFUSED)
def test_what_is_refused_changes_nothing(assignment: Any, want: str, failed: bool) -> None:
    before = holding(X1)
    engine = o.feed(tas.engine(), before)
    made = tas.placed(tas.workload("a", 3, required="rack"), assignment)
    if failed:
        made["status"]["unhealthyNodes"] = [{"name": "x1"}]
    with pytest.raises(InputError) as error:
        o.feed(engine, made, at=1)
    assert str(error.value).startswith(AT + want)
    assert tas.used(engine) == {"b1/r1/x1": 3}
    assert engine.next_second_pass() is None
    o.feed(engine, o.finished(before), at=2)
    assert tas.used(engine) == {}


@pytest.mark.parametrize("active", [True, False])
def test_a_failed_node_of_a_workload_that_waits_is_refused_before_it_is_queued(active: bool) -> None:
    """The second pass reads places although nothing is reserved any more: then it is too late to say no."""
    made = tas.placed(tas.workload("a", 3, required="rack"), {"levels": []})
    made["status"].update(conditions=[], unhealthyNodes=[{"name": "x1"}])
    made["spec"]["active"] = active
    engine = tas.engine()
    with pytest.raises(InputError):
        o.feed(engine, made)
    assert engine.queue_state()["q"].active == []


def test_a_hundred_thousand_domains() -> None:
    domains: list[tuple[tuple[str, ...], int]] = [((f"x{number}",), 1) for number in range(1, 100_001)]
    made = tas.placed(tas.workload("a", 100_000, required="rack"), tas.written(*domains))
    engine = o.feed(tas.engine(quota=200_000), made)
    assert tas.used(engine) == {"b1/r1/x1": 1, "b1/r2/x2": 1}
    o.feed(engine, tas.node("x77", "r3"))
    assert tas.used(engine) == {"b1/r1/x1": 1, "b1/r2/x2": 1, "b1/r3/x77": 1}
    engine.delete("Workload", "default", "a")
    assert tas.used(engine) == {}


# --- what changes under admitted workloads


def test_levels_never_change() -> None:
    """TP-505: a Topology that is written again says nothing new."""
    engine = o.feed(tas.engine(), holding(X1), tas.topology("rack"))
    o.feed(engine, tas.workload("b", 1, required="block"))
    assert tas.places(o.cycle(engine)) == {"b": {"x1": 1}}
    assert tas.used(engine) == {"b1/r1/x1": 4}


@pytest.mark.parametrize(
    ("levels", "want"),
    [
        (tas.LEVELS, {"b1/r1/x1": 3}),
        ((HOSTNAME,), {"x1": 3}),
        # The places that are written are no racks.
        (("block", "rack"), {}),
    ],
    ids="-".join,
)
def test_a_topology_that_is_deleted_and_created_again(levels: tuple[str, ...], want: dict[str, int]) -> None:
    engine = o.feed(tas.engine(), holding(X1), tas.workload("b", 2, required=levels[0]))
    engine.delete("Topology", "", "t")
    state = engine.queue_state()["q"]
    assert (state.status, state.inactive_reason) == ("pending", "TopologyNotFound")
    assert state.usage == {"f/cpu": 3000}
    assert not engine.has_heads()
    o.feed(engine, tas.topology(*levels))
    assert tas.used(engine) == want
    assert len(o.cycle(engine).admitted) == 1
    o.feed(engine, o.finished(holding(X1)))
    assert sum(tas.used(engine).values()) == 2


def test_levels_of_no_places_are_those_of_the_topology_of_now() -> None:
    """Slices beyond the count have no places, and such decisions look alike."""
    engine = tas.engine()
    slices = {"podSetSliceRequiredTopology": "rack", "podSetSliceSize": 2}
    found = []
    for name, levels in (("a", ()), ("b", ("block", "rack"))):
        if levels:
            engine.delete("Topology", "", "t")
            o.feed(engine, tas.topology(*levels))
        o.feed(engine, tas.workload(name, 1, required="block", **slices))
        (admission,) = o.cycle(engine).admitted
        found.append(admission.pod_sets[0].placement)
    assert found == [((HOSTNAME,), ()), (("block", "rack"), ())]


def shared() -> Engine:
    """Flavor `g` of another Topology has the hosts of flavor `f`, of which a workload uses x1."""
    return o.feed(
        tas.engine(),
        tas.topology(HOSTNAME, name="u"),
        tas.flavor("g", topologyName="u"),
        o.cluster_queue("p", o.group(g=[o.quota("cpu", 9)])),
        holding(X1),
    )


GONE: dict[str, tuple[Callable[[Engine], None], Any]] = {
    "its Topology": (lambda engine: engine.delete("Topology", "", "t"), tas.topology(*tas.LEVELS)),
    "its flavor": (lambda engine: engine.delete("ResourceFlavor", "", "f"), tas.flavor()),
}


@pytest.mark.parametrize(("remove", "again"), GONE.values(), ids=GONE)
def test_what_a_flavor_without_tree_uses_counts_for_no_other_flavor(
    remove: Callable[[Engine], None], again: Any
) -> None:
    """TP-505, TP-509: the use of shared hosts is the sum over the flavors that have a tree."""
    engine = shared()
    assert tas.used(engine, "g") == {"x1": 3}
    remove(engine)
    assert tas.used(engine, "g") == {}
    o.feed(engine, again)
    assert tas.used(engine, "g") == {"x1": 3}
    assert tas.used(engine) == {"b1/r1/x1": 3}
    o.feed(engine, o.finished(holding(X1)))
    assert tas.used(engine, "g") == tas.used(engine) == {}


def test_a_workload_that_ends_while_its_topology_is_gone() -> None:
    engine = shared()
    engine.delete("Topology", "", "t")
    o.feed(engine, o.finished(holding(X1)), tas.topology(*tas.LEVELS))
    assert tas.used(engine, "g") == tas.used(engine) == {}


def test_a_node_moves_to_another_rack_with_what_it_carries() -> None:
    engine = o.feed(tas.engine(), holding(X1), tas.node("x1", "r2"))
    assert tas.used(engine) == {"b1/r2/x1": 3}
    o.feed(engine, tas.workload("b", 5, required="rack"))
    assert tas.places(o.cycle(engine)) == {"b": {"x1": 1, "x2": 4}}
    o.feed(engine, tas.node("x1", "r1"))
    assert tas.used(engine) == {"b1/r1/x1": 4, "b1/r2/x2": 4}


def test_what_stood_in_a_rack_stays_there_when_its_node_moves() -> None:
    """Below racks places are not known."""
    levels = ("block", "rack")
    engine = tas.engine(tas.node("x1"), tas.node("x2", "r2"), levels=levels)
    made = tas.placed(tas.workload("a", 3, required="rack"), tas.written((("b1", "r1"), 3), levels=levels))
    o.feed(engine, made, tas.node("x1", "r2"))
    assert tas.used(engine) == {}
    o.feed(engine, tas.workload("b", 8, required="rack"))
    assert tas.places(o.cycle(engine)) == {"b": {"r2": 8}}
    o.feed(engine, tas.node("x3", "r1"))
    assert tas.used(engine) == {"b1/r1": 3, "b1/r2": 8}
