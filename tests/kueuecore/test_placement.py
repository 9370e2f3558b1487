"""Placement in small trees by hand, hostile numbers, and how much is counted again.

Source: TP-701..813, TP-1101..1104.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from kueuecore import Journal
from tests.kueuecore.trees import CPU, GPU, Path, ask, build, placer, topologies, write_classes

RACKS: dict[Path, Any] = {("b", "r1", "x3"): 2, ("b", "r2", "x5"): 2} | {
    ("b", "r3", host): 1 for host in ("x1", "x2", "x4", "x6")
}
HOSTS: dict[Path, Any] = {("b", "h1"): 6, ("b", "h2"): 5, ("b", "h3"): 4, ("b", "h4"): 2}
BLOCKS: dict[Path, Any] = {
    ("b1", "x1"): 1,
    ("b1", "x3"): 4,
    ("b1", "x5"): 1,
    ("b2", "x2"): 1,
    ("b2", "x6"): 2,
}

Want = list[tuple[str, int]]


@pytest.mark.parametrize(
    ("sentence", "free", "request_", "want"),
    [
        (
            "fewest racks come first",
            RACKS,
            ask(0, 4, required=True),
            [("x1", 1), ("x2", 1), ("x4", 1), ("x6", 1)],
        ),
        (
            "of domains with as many slices the one with less to spare comes first",
            HOSTS,
            ask(0, 12, required=True, layers=[(1, 2)]),
            [("h1", 6), ("h3", 4), ("h4", 2)],
        ),
        (
            "unconstrained fills the smallest first",
            BLOCKS,
            ask(1, 6, unconstrained=True),
            [("x1", 1), ("x3", 1), ("x5", 1), ("x2", 1), ("x6", 2)],
        ),
        (
            "slices with LeastFree",
            {("b", f"h{room}"): room for room in (6, 5, 4, 3, 2)},
            ask(0, 10, unconstrained=True, layers=[(1, 2)]),
            [("h2", 2), ("h3", 2), ("h4", 4), ("h5", 2)],
        ),
        (
            "an inner layer keeps pairs together",
            {("r1", "x1"): 1, ("r1", "x2"): 4, ("r2", "x3"): 3, ("r2", "x4"): 4},
            ask(0, 8, layers=[(0, 4), (1, 2)]),
            [("x2", 4), ("x3", 2), ("x4", 2)],
        ),
        ("the rest of a slice is not placed", HOSTS, ask(0, 5, layers=[(1, 2)]), [("h3", 4)]),
        ("less than one slice is nothing", HOSTS, ask(0, 1, layers=[(1, 2)]), []),
        ("no pods", HOSTS, ask(0, 0), []),
        ("required host takes the tightest", HOSTS, ask(1, 3, required=True), [("h3", 3)]),
        ("more than there is", HOSTS, ask(0, 18), None),
        ("more than a rack holds", RACKS, ask(1, 5, required=True), None),
        (
            "preferred climbs, and the racks' shares do not bind their hosts",
            RACKS,
            ask(1, 5),
            [("x3", 2), ("x1", 1), ("x2", 1), ("x4", 1)],
        ),
    ],
)
def test_one_pod_set(
    sentence: str, free: dict[Path, Any], request_: dict[str, Any], want: Want | None
) -> None:
    made = topologies()
    leaves = build(made, free)
    asked = placer(made)
    placed, failure = asked.place_python([request_])
    got = None if placed[0] is None else [(leaves[leaf][-1], count) for leaf, count in placed[0]]
    assert got == want
    assert (failure is None) == (want is not None)
    assert asked.can_place_python([request_]) == (want is not None)


@pytest.mark.parametrize(
    ("sentence", "free", "requests", "want"),
    [
        (
            "the leader goes where it takes no worker's room",
            {("r", "h1"): 2, ("r", "h2"): 4, ("r", "h3"): 3},
            [ask(0, 4, required=True, group=1), ask(0, 1, group=1, pods=1)],
            [[("h1", 1), ("h2", 2), ("h3", 1)], [("h3", 1)]],
        ),
        (
            "preferred, the leader on the small host",
            {("r", "h1"): 8, ("r", "h2"): 3},
            [ask(1, 5, group=1), ask(0, 1, group=1, pods=1)],
            [[("h1", 4), ("h2", 1)], [("h2", 1)]],
        ),
        (
            "the larger pod set has the workers, wherever it stands",
            {("r", "h1"): 8, ("r", "h2"): 3},
            [ask(0, 1, group=1, pods=1), ask(1, 5, group=1)],
            [[("h2", 1)], [("h1", 4), ("h2", 1)]],
        ),
        (
            "LeastFree may lead from one domain without slices to a host of another",
            {("z", "a", "a1"): 1, ("z", "a", "a2"): 1, ("z", "c", "c1"): 1, ("z", "d", "d1"): 4},
            [
                ask(0, 4, pods=1, group=1, unconstrained=True, layers=[(2, 2)]),
                ask(0, 1, pods=1, group=1, unconstrained=True),
            ],
            [[("d1", 4)], [("a1", 1)]],
        ),
        (
            "a second pod set sees the first",
            {("r", "h1"): 4, ("r", "h2"): 4},
            [ask(1, 2, required=True), ask(1, 2, required=True)],
            [[("h1", 2)], [("h2", 2)]],
        ),
    ],
)
def test_several_pod_sets(
    sentence: str, free: dict[Path, Any], requests: list[dict[str, Any]], want: list[Want]
) -> None:
    made = topologies(classes=[{CPU: 2}, {CPU: 1}])
    leaves = build(made, free)
    asked = placer(made)
    placed, failure = asked.place_python(requests)
    assert failure is None
    assert [[(leaves[leaf][-1], count) for leaf, count in domains] for domains in placed if domains] == want
    assert asked.can_place_python(requests)
    assert made.leaf_used(0, 0).tolist() == [0, 0, 0]


def test_pod_sets_of_sibling_flavors_do_not_overlap_on_a_host() -> None:
    made = topologies()
    for tree in (0, 1):
        build(made, {("h1",): 3, ("h2",): 9}, tree=tree)
    requests = [ask(0, 3, required=True), ask(0, 3, required=True, tree=1)]
    asked = placer(made)
    assert asked.place_python(requests)[0] == [[(0, 3)], [(1, 3)]]
    asked.overlapping = False
    assert asked.place_python(requests)[0] == [[(0, 3)], [(0, 3)]]


def test_the_first_failing_pod_set_is_named_over_all_trees() -> None:
    made = topologies()
    build(made, {("h1",): 3}, tree=1)
    build(made, {("h2",): 3}, tree=0, places={("h2",): 1})
    requests = [ask(0, 4, required=True, tree=1), ask(0, 5, required=True, tree=0), ask(0, 1, tree=0)]
    placed, failure = placer(made).place_python(requests)
    assert placed == [None, None, None]
    assert failure is not None
    assert (failure["request"], failure["tree"], failure["first"], failure["second"]) == (0, 1, 3, 4)


def test_exclusions_are_counted_by_their_first_reason() -> None:
    made = topologies()
    build(made, {("h1",): 9, ("h2",): 9, ("h3",): 0, ("h4",): (9, 0, 0), ("h5",): 1})
    made.grow_match(1, 3)
    np.asarray(made.match)[0, 1:] = 1, 5
    for leaf, node_class in ((0, 1), (1, 2)):
        made.write_leaf(0, leaf, node_class, 1, [9, 0, 9])
    _, failure = placer(made).place_python([ask(0, 2, required=True)])
    assert failure is not None
    assert failure["excluded"] == {1: 1, 5: 1}
    assert failure["scarce"] == {0: 1, 2: 1}
    assert failure["leaves"] == 5


def test_a_changed_table_needs_another_generation() -> None:
    made = topologies()
    build(made, {("h1",): 4})
    asked = placer(made)
    assert asked.can_place_python([ask(0, 4)])
    write_classes(made, [{CPU: 2}])
    made.generation += 1
    assert not asked.can_place_python([ask(0, 4)])
    np.asarray(made.match)[0, 0] = 1
    made.generation += 1
    assert not asked.can_place_python([ask(0, 1)])


def test_a_change_of_one_leaf_counts_one_leaf() -> None:
    made = topologies(places=400)
    build(made, {(f"b{host % 7}", f"h{host:03}"): host % 5 for host in range(400)})
    asked, journal = placer(made), Journal()
    for requests in ([ask(0, 20)], [ask(0, 20, group=1, required=True), ask(0, 1, group=1)]):
        asked.place_python(requests)
        counted = asked.cache.recounted
        assert asked.can_place_python(requests)
        assert asked.cache.recounted == counted
        made.change_leaf(0, 17, 0, 1, journal)
        asked.can_place_python(requests)
        assert asked.cache.recounted == counted + 1


def test_counts_stay_within_their_memory() -> None:
    made = topologies(classes=[{CPU: amount} for amount in range(1, 100)])
    build(made, HOSTS)
    asked = placer(made)
    for pods in range(99):
        asked.place_python([ask(0, 1, pods=pods)])
    assert asked.cache.length == 64
    asked.cache.most_bytes = 1
    asked.forget()
    for pods in range(99):
        asked.place_python([ask(0, 1, pods=pods)])
    assert asked.cache.length == 8


EDGES = (-(2**63), -(2**62), -1, 0, 1, 2, 2**31 - 1, 2**31, 2**32, 2**62, 2**63 - 1)


def test_no_number_brings_it_down() -> None:
    """Hostile amounts, counts and sizes: an answer, the same from both ways to ask, and usage untouched."""
    rng = random.Random(1)
    for _ in range(3_000):
        made = topologies(classes=[{CPU: rng.choice(EDGES), GPU: rng.choice(EDGES)} for _ in range(2)])
        depth = rng.randint(1, 3)
        paths = {
            (*tuple(rng.choice("ab") for _ in range(depth - 1)), f"h{host}")
            for host in range(rng.randint(0, 6))
        }
        free = {path: (rng.choice(EDGES), rng.choice(EDGES), rng.choice(EDGES)) for path in paths}
        leaves = build(made, free, by_host=rng.random() < 0.5)
        asked, journal = placer(made), Journal()
        asked.balanced = rng.random() < 0.5
        for leaf in range(len(leaves)):
            made.change_leaf(0, leaf, rng.randrange(2), rng.choice(EDGES), journal)
        used = [made.leaf_used(0, leaf).tolist() for leaf in range(len(leaves))]
        requests = [
            ask(
                rng.choice((None, *range(depth + 1))),
                rng.choice(EDGES),
                pods=rng.randrange(2),
                group=rng.randrange(2),
                required=rng.random() < 0.5,
                unconstrained=rng.random() < 0.5,
                layers=[
                    (rng.randrange(depth + 1), rng.choice((-1, 0, 1, 2, 2**31 - 1)))
                    for _ in range(rng.randrange(3))
                ],
            )
            for _ in range(rng.randint(1, 2))
        ]
        _, failure = asked.place_python(requests)
        assert asked.can_place_python(requests) == (failure is None)
        assert [made.leaf_used(0, leaf).tolist() for leaf in range(len(leaves))] == used
