"""Topology trees: building, changing a leaf, usage and bookings. Source: TP-404, TP-501..511, TP-705, TP-1106."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from kueuecore import Journal, Topologies
from tests.kueuecore.trees import CPU, GPU, NONE, PODS, WIDTH, Path, ask, build, placer, topologies

LARGEST = 2**63 - 1

FREE: dict[Path, Any] = {("a", "h1"): 4, ("a", "h2"): 3, ("b", "h3"): 5}


@pytest.mark.parametrize(
    ("sentence", "amounts", "free", "want"),
    [
        ("the scarcest resource limits", {CPU: 2, GPU: 1}, (9, 2, 110), (2, GPU)),
        ("of two that allow as many the first name limits", {CPU: 2, GPU: 1}, (4, 2, 110), (2, CPU)),
        ("the pods themselves are counted", {CPU: 1}, (9, 0, 3), (3, PODS)),
        ("a tie with the pods goes by name", {CPU: 1}, (3, 0, 3), (3, CPU)),
        ("an amount of 0 limits nothing", {CPU: 0}, (0, 0, 7), (7, PODS)),
        ("negative room is none", {CPU: 1}, (-4, 0, 7), (0, CPU)),
        ("more than 2^31-1 is 2^31-1", {CPU: 1}, (LARGEST, 0, LARGEST), (2**31 - 1, CPU)),
        ("a class without resources still takes pods", {}, (0, 0, 5), (5, PODS)),
        ("a request for pods adds to the pod itself", {PODS: 1}, (0, 0, 5), (2, PODS)),
        ("amounts beyond int64 saturate", {CPU: LARGEST}, (LARGEST, 0, 9), (1, CPU)),
    ],
)
def test_pods_that_fit_a_leaf(
    sentence: str, amounts: dict[int, int], free: tuple[int, int, int], want: tuple[int, int]
) -> None:
    made = topologies(classes=[amounts])
    build(made, {("h1",): free})
    assert made.fitting(0, 0, 0) == want
    # The counts of a placement take another way to the same number.
    placed, _ = placer(made).place_python([ask(0, want[0], unconstrained=True)])
    assert placed[0] == ([(0, want[0])] if want[0] else [])
    assert not placer(made).can_place_python([ask(0, want[0] + 1, required=True)])


def test_a_class_without_resources_and_pods_fits_nothing() -> None:
    made = topologies(classes=[{}])
    build(made, {("h1",): 4})
    assert made.fitting(0, 0, 0, 0, count_pods=False) == (0, NONE)


def test_nodes_of_inner_domains_are_sums() -> None:
    made = topologies()
    leaves = build(made, FREE, nodes={("a", "h1"): 2, ("b", "h3"): 0})
    assert made.nodes_of(0, 0).tolist() == [3, 0]
    assert made.leaves_of(0) == (3, 2)
    made.write_leaf(0, leaves.index(("b", "h3")), 0, 4, [9, 9, 9])
    assert made.nodes_of(0, 0).tolist() == [3, 4]
    assert made.leaf_free(0, 2).tolist() == [9, 9, 9]
    made.write_leaf(0, 0, 0, 0, [0, 0, 0])
    assert made.nodes_of(0, 0).tolist() == [1, 4]
    assert made.leaves_of(0) == (3, 2)


def test_a_leaf_without_nodes_takes_no_part() -> None:
    made = topologies()
    build(made, {("h1",): 9, ("h2",): 2}, nodes={("h1",): 0})
    found, failure = placer(made).place_python([ask(0, 3, required=True)])
    assert found == [None]
    assert failure is not None
    assert (failure["first"], failure["second"], failure["leaves"]) == (2, 3, 1)


def read(made: Topologies, tree: int = 0) -> list[Any]:
    leaves, live = made.leaves_of(tree)
    return [
        leaves,
        live,
        [
            (made.leaf_free(tree, leaf).tolist(), made.leaf_used(tree, leaf).tolist())
            for leaf in range(leaves)
        ],
    ]


def test_leaves_inserted_one_by_one_make_the_tree_that_is_built_at_once() -> None:
    rng = random.Random(7)
    for _ in range(60):
        depth = rng.randint(1, 4)
        paths = {
            (*tuple(rng.choice("abc") for _ in range(depth - 1)), f"h{host}")
            for host in range(rng.randint(1, 12))
        }
        places = {path: number for number, path in enumerate(paths)}
        free = {path: rng.randint(0, 9) for path in paths}
        whole, grown = topologies(), topologies()
        for made in (whole, grown):
            made.write_bookings(
                3, np.array([(0, 0, place, 0, place + 1) for place in places.values()], np.int64)
            )
            made.book_workload(3)
        build(whole, free, places=places)
        order = rng.sample(sorted(paths), len(paths))
        build(grown, {order[0]: free[order[0]]}, places=places)
        for number, path in enumerate(order[1:], 1):
            known = order[:number]
            domains = [sorted({other[: level + 1] for other in [*known, path]}) for level in range(depth)]
            old = [{other[: level + 1] for other in known} for level in range(depth)]
            grown.insert_leaf(
                0,
                [domains[level].index(path[: level + 1]) for level in range(depth)],
                next(level for level in range(depth) if path[: level + 1] not in old[level]),
                places[path],
                0,
                1,
                [free[path], 0, 110],
            )
        assert read(grown) == read(whole)
        request = [ask(0, sum(free.values()) // 2, unconstrained=True), ask(depth - 1, 2)]
        assert placer(grown).place_python(request) == placer(whole).place_python(request)


def test_a_host_moves_and_comes_back() -> None:
    made = topologies()
    leaves = build(made, FREE)
    made.write_bookings(0, np.array([(0, 0, 1, 0, 2)], np.int64))
    made.book_workload(0)
    with pytest.raises(ValueError, match="place: 1 is in the tree"):
        made.insert_leaf(0, [1, 2], 1, 1, 0, 1, [3, 0, 110])
    made.write_leaf(0, leaves.index(("a", "h2")), 0, 0, [0, 0, 0])
    made.insert_leaf(0, [1, 2], 1, 1, 0, 1, [3, 0, 110])  # b/h2
    assert made.leaf_used(0, 2).tolist() == [2, 0, 2]
    made.book_workload(0)
    assert made.leaf_used(0, 2).tolist() == [4, 0, 4]
    with pytest.raises(ValueError, match="place 1 of leaf 1 is leaf 2 now"):
        made.write_leaf(0, 1, 0, 1, [3, 0, 110])
    made.write_leaf(0, 2, 0, 0, [0, 0, 0])
    made.write_leaf(0, 1, 0, 1, [3, 0, 110])
    assert made.leaf_used(0, 1).tolist() == [4, 0, 4]
    made.book_workload(0, remove=True)
    assert made.leaf_used(0, 1).tolist() == [2, 0, 2]


def test_bookings_count_in_every_tree_that_has_the_place_and_simulations_only_in_their_own() -> None:
    made = topologies(classes=[{CPU: 2}])
    build(made, FREE)
    build(made, {("x", "h9"): 4, ("x", "h1"): 4}, tree=2, places={("x", "h9"): 9, ("x", "h1"): 0})
    made.write_bookings(5, np.array([(0, 1, 0, 0, 3), (1, 0, 9, 0, 1), (7, 0, 30, 0, 1)], np.int64))
    assert made.read_bookings(5).tolist() == [[0, 1, 0, 0, 3], [1, 0, 9, 0, 1], [7, 0, 30, 0, 1]]
    made.book_workload(5)
    assert made.leaf_used(0, 0).tolist() == [6, 0, 3]
    assert made.leaf_used(2, 0).tolist() == [6, 0, 3]
    assert made.leaf_used(2, 1).tolist() == [2, 0, 1]
    journal = Journal()
    made.simulate(5, journal, remove=True)
    assert made.leaf_used(0, 0).tolist() == [0, 0, 0]
    assert made.leaf_used(2, 0).tolist() == [6, 0, 3]
    made.undo_changes(journal)
    assert made.leaf_used(0, 0).tolist() == [6, 0, 3]
    # A tree that comes later finds the use of its places.
    build(made, {("h1",): 4}, tree=4, places={("h1",): 0})
    assert made.leaf_used(4, 0).tolist() == [6, 0, 3]
    made.drop(4)
    made.book_workload(5, remove=True)
    assert made.leaf_used(0, 0).tolist() == [0, 0, 0]
    with pytest.raises(ValueError, match="tree: 4 does not exist"):
        made.leaf_used(4, 0)


def test_undo_brings_back_what_saturated() -> None:
    made = topologies(classes=[{CPU: LARGEST}])
    build(made, FREE)
    journal = Journal()
    made.change_leaf(0, 0, 0, 1, journal)
    made.change_leaf(0, 0, 0, 1, journal)
    assert made.leaf_used(0, 0).tolist() == [LARGEST, 0, 2]
    made.undo_changes(journal, 2)
    assert made.leaf_used(0, 0).tolist() == [LARGEST, 0, 1]
    made.undo_changes(journal)
    assert made.leaf_used(0, 0).tolist() == [0, 0, 0]


def test_more_resources_keep_what_is_there() -> None:
    made = topologies()
    build(made, FREE)
    made.write_bookings(0, np.array([(0, 0, 1, 0, 2)], np.int64))
    made.book_workload(0)
    made.reserve_width(WIDTH + 2)
    assert made.leaf_free(0, 1).tolist() == [3, 0, 110, 0, 0]
    assert made.leaf_used(0, 1).tolist() == [2, 0, 2, 0, 0]
    assert made.leaf_used(0, 1, 1).tolist() == [0] * 5


@pytest.mark.parametrize(
    ("sentence", "changed", "want"),
    [
        ("parents run backwards", {"parents": [[NONE, NONE], [1, 0, 1]]}, r"parents\[1\]"),
        ("a parent does not exist", {"parents": [[NONE, NONE], [0, 1, 2]]}, r"parents\[1\]"),
        ("the top has a parent", {"parents": [[0, 0], [0, 0, 1]]}, r"parents\[0\]"),
        ("levels and keys differ", {"level_keys": [0]}, "parents: 2 levels"),
        ("no level", {"level_keys": [], "parents": []}, "parents: 0 levels"),
        ("two leaves in one place", {"places": [1, 1, 2]}, "places"),
        ("a place that nobody made", {"places": [1, 2, 99]}, "places"),
        ("a negative number of nodes", {"nodes": [1, -1, 1]}, "nodes"),
        ("more nodes than can be counted", {"nodes": [2**31 - 1, 1, 1]}, "nodes"),
        ("a negative node class", {"node_classes": [0, 0, -1]}, "node_classes"),
        ("rows of another width", {"free": np.zeros((3, 2), np.int64)}, "free"),
        ("fractions", {"free": np.full((3, WIDTH), 0.5)}, "free"),
        ("places beyond int32", {"places": [1, 2, 2**40]}, "places"),
    ],
)
def test_a_tree_that_does_not_hold_together_is_refused_whole(
    sentence: str, changed: dict[str, Any], want: str
) -> None:
    made = topologies()
    build(made, {("old",): 7})
    arguments = {
        "level_keys": [0, 1],
        "parents": [[NONE, NONE], [0, 0, 1]],
        "places": [0, 1, 2],
        "node_classes": [0, 0, 0],
        "nodes": [1, 1, 1],
        "free": np.zeros((3, WIDTH), np.int64),
    } | changed
    with pytest.raises(ValueError, match=want):
        made.build(0, 0, True, *arguments.values())
    assert read(made) == [1, 1, [([7, 0, 110], [0, 0, 0])]]


@pytest.mark.parametrize(
    ("sentence", "call", "want"),
    [
        ("a leaf that is none", lambda made: made.write_leaf(0, 3, 0, 1, [0] * WIDTH), "leaf: 3"),
        ("a row of another width", lambda made: made.write_leaf(0, 0, 0, 1, [0]), "free_row"),
        ("no such tree", lambda made: made.write_leaf(9, 0, 0, 1, [0] * WIDTH), "tree: 9"),
        (
            "a number of another parent",
            lambda made: made.insert_leaf(0, [0, 3], 1, 5, 0, 1, [0] * WIDTH),
            r"positions\[1\]",
        ),
        ("a path too short", lambda made: made.insert_leaf(0, [0], 0, 5, 0, 1, [0] * WIDTH), "positions"),
        ("an old leaf", lambda made: made.insert_leaf(0, [0, 0], 2, 5, 0, 1, [0] * WIDTH), "new_from_level"),
        (
            "a place that nobody made",
            lambda made: made.insert_leaf(0, [0, 0], 1, 99, 0, 1, [0] * WIDTH),
            "place",
        ),
        (
            "bookings of another shape",
            lambda made: made.write_bookings(0, np.zeros((2, 4), np.int64)),
            "items",
        ),
        (
            "a booking without class",
            lambda made: made.write_bookings(0, np.array([(0, 0, 0, 7, 1)])),
            r"items\[0\]",
        ),
        (
            "a booking of less than nothing",
            lambda made: made.write_bookings(0, np.array([(0, 0, 0, 0, -1)])),
            r"items\[0\]",
        ),
        ("a row below 0", lambda made: made.write_bookings(-1, np.zeros((0, 5), np.int64)), "workload"),
        ("a request without class", lambda made: placer(made).place_python([ask(0, 1, pods=4)]), "pods: 4"),
        ("a request without tree", lambda made: placer(made).place_python([ask(0, 1, tree=4)]), "tree: 4"),
        ("four layers", lambda made: placer(made).place_python([ask(0, 1, layers=[(0, 1)] * 4)]), "layers"),
        ("an unknown view", lambda made: placer(made).place_python([ask(0, 1)], 2), "view"),
    ],
)
def test_wrong_numbers_are_named_and_nothing_changes(sentence: str, call: Any, want: str) -> None:
    made = topologies()
    build(made, FREE)
    before = read(made)
    with pytest.raises(ValueError, match=want):
        call(made)
    assert read(made) == before


def test_a_pod_table_that_reaches_outside_is_refused() -> None:
    made = topologies()
    build(made, FREE)
    made.item_resource = np.array([WIDTH], np.int32)
    with pytest.raises(ValueError, match="item_resource"):
        placer(made).place_python([ask(0, 1)])
    made.item_resource = np.array([0], np.int32)
    made.pods_length = np.array([2], np.int32)
    with pytest.raises(ValueError, match="pods_length"):
        made.check()
