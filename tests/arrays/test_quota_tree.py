"""Edges, implicit cohorts, cycles and what a change recomputes. Source: QP-201..203, QP-217."""

from __future__ import annotations

import pytest

from kueue_fast.arrays.quota_tree import CLUSTER_QUEUE, COHORT, Quota, QuotaTree
from kueue_fast.arrays.tables import Tables

CPU = ("default", "cpu")


def quota(nominal: int, borrow: int | None = None, lend: int | None = None) -> dict[tuple[str, str], Quota]:
    return {CPU: Quota(nominal, borrow, lend)}


class Trees:
    """A QuotaTree whose nodes are asked by name: `q...` are ClusterQueues, all else cohorts."""

    def __init__(self) -> None:
        self.tables = Tables()
        self.tree = QuotaTree(self.tables)

    def queue(self, name: str, cohort: str | None = None, nominal: int = 1, **limits: int) -> Trees:
        row = self.tree.set_cluster_queue(name, cohort, quota(nominal, **limits))
        self.tree.set_active(row, True)
        return self

    def cohort(self, name: str, parent: str | None = None, nominal: int = 0) -> Trees:
        self.tree.set_cohort(name, parent, quota(nominal))
        return self

    def row(self, name: str) -> int | None:
        return self.tables.nodes.find((CLUSTER_QUEUE if name.startswith("q") else COHORT, name))

    def at(self, name: str) -> int:
        row = self.row(name)
        assert row is not None, f"{name} does not exist"
        return row

    def subtree(self, name: str) -> int:
        self.tree.refresh()
        forest = self.tables.forest
        return forest.subtree[self.at(name), self.tables.column(*self.pair())]

    def pair(self) -> tuple[int, int]:
        return self.tables.flavor(CPU[0]), self.tables.resource(CPU[1])

    def generation(self, name: str) -> int:
        self.tree.refresh()
        return self.tables.forest.generation[self.at(name)]

    def root(self, name: str) -> str:
        return self.tables.nodes[self.tree.root(self.at(name))][1]

    def queues(self, name: str) -> list[str]:
        return sorted(self.tables.nodes[row][1] for row in self.tree.queues_of_tree(self.at(name)))

    def kernel_parent(self, name: str) -> str | None:
        self.tree.refresh()
        above = self.tables.forest.parent[self.at(name)]
        return None if above < 0 else self.tables.nodes[above][1]


def test_an_implicit_cohort_lives_as_long_as_it_has_children() -> None:
    trees = Trees().queue("q1", "team").queue("q2", "team")
    assert (trees.root("q1"), trees.subtree("team")) == ("team", 2)
    trees.queue("q1")
    assert (trees.root("q1"), trees.subtree("team")) == ("q1", 1)
    trees.tree.remove_cluster_queue("q2")
    assert trees.row("team") is None


def test_a_cohort_object_upgrades_an_implicit_cohort_in_place() -> None:
    trees = Trees().queue("q1", "team")
    row = trees.row("team")
    trees.cohort("team", "root", nominal=5)
    assert trees.row("team") == row
    assert [trees.subtree(name) for name in ("team", "root")] == [6, 6]


def test_a_cohort_object_without_children_stays_until_it_is_deleted() -> None:
    trees = Trees().cohort("team", "root", nominal=5)
    assert trees.subtree("root") == 5
    trees.tree.remove_cohort("team")
    assert (trees.row("team"), trees.row("root")) == (None, None)
    trees.tree.remove_cohort("team")  # unknown: nothing happens


def test_a_deleted_cohort_with_children_becomes_an_implicit_root() -> None:
    """The grandparent loses the quota at once (QP-201.3)."""
    trees = (
        Trees()
        .cohort("root", nominal=1)
        .cohort("middle", "root", nominal=10)
        .queue("q1", "middle", nominal=100)
    )
    assert trees.subtree("root") == 111
    trees.tree.remove_cohort("middle")
    assert [trees.subtree("root"), trees.subtree("middle")] == [1, 100]
    assert (trees.root("q1"), trees.kernel_parent("middle")) == ("middle", None)
    trees.tree.remove_cluster_queue("q1")
    assert trees.row("middle") is None


def test_a_queue_that_moves_changes_both_trees() -> None:
    trees = Trees().cohort("a").cohort("b").queue("q1", "a", 10).queue("q2", "b", 1)
    assert [trees.subtree("a"), trees.subtree("b")] == [10, 1]
    before = [trees.generation(name) for name in ("q1", "q2")]
    trees.queue("q1", "b", 10)
    assert [trees.subtree("a"), trees.subtree("b")] == [0, 11]
    assert all(trees.generation(name) > old for name, old in zip(("q1", "q2"), before, strict=True))
    assert (trees.queues("q1"), trees.queues("a")) == (["q1", "q2"], [])


# Cohorts (name, parent), what breaks the cycle, and the root of q1 then.
CYCLES = {
    "its own parent, set free": ([("a", "a")], lambda trees: trees.cohort("a"), "a"),
    "its own parent, deleted": ([("a", "a")], lambda trees: trees.tree.remove_cohort("a"), "a"),
    "two, one gets another parent": ([("a", "b"), ("b", "a")], lambda trees: trees.cohort("b", "c"), "c"),
    "two, one loses its parent": ([("a", "b"), ("b", "a")], lambda trees: trees.cohort("a"), "a"),
    "two, one is deleted": ([("a", "b"), ("b", "a")], lambda trees: trees.tree.remove_cohort("b"), "b"),
    "below a cycle, the cycle is broken": (
        [("a", "b"), ("b", "c"), ("c", "b")],
        lambda trees: trees.cohort("b"),
        "b",
    ),
    "below a cycle, leaving it": (
        [("a", "b"), ("b", "c"), ("c", "b")],
        lambda trees: trees.cohort("a", "d"),
        "d",
    ),
    "three in a cycle": ([("a", "b"), ("b", "c"), ("c", "a")], lambda trees: trees.cohort("c"), "c"),
}


@pytest.mark.parametrize("case", CYCLES.values(), ids=CYCLES)
def test_a_cycle_freezes_its_members_until_it_is_broken(case: tuple) -> None:
    cohorts, repair, want_root = case
    trees = Trees().queue("q1", "a", 3).queue("q2", nominal=4)
    for name, _ in cohorts:
        trees.cohort(name)
    trees.subtree("q1")
    before = trees.generation("q1")
    for name, parent in cohorts:
        trees.cohort(name, parent)
    trees.tree.refresh()
    assert trees.tree.is_cyclic(trees.at("q1"))
    assert not trees.tree.is_cyclic(trees.at("q2"))
    assert all(trees.kernel_parent(name) is None for name, _ in cohorts)
    frozen = trees.tables.forest.frozen
    assert [frozen[trees.at(name)] for name in ("q1", "q2", *(name for name, _ in cohorts))] == [1, 0] + [
        1
    ] * len(cohorts)
    cyclic = trees.generation("q1")
    trees.queue("q1", "a", 5)  # while it lasts nothing is recomputed
    assert trees.generation("q1") == cyclic >= before
    repair(trees)
    assert not trees.tree.is_cyclic(trees.at("q1"))
    assert trees.root("q1") == want_root
    assert trees.subtree(want_root) == 5
    assert trees.generation("q1") > cyclic
    assert trees.tables.forest.frozen[trees.at("q1")] == 0  # not `frozen`: the table may have grown


def test_a_lone_cohort_that_is_its_own_parent_can_be_deleted() -> None:
    trees = Trees().cohort("a", "a")
    trees.tree.refresh()
    trees.tree.remove_cohort("a")
    trees.tree.refresh()
    assert trees.row("a") is None


# What is set again, and whether q1's generation moves on. q1 is in cohort "team" with q2, q3 is alone in "alone".
GENERATIONS = {
    "the same queue again": (lambda trees: trees.queue("q1", "team"), "q1", False),
    "the only child of an implicit cohort again (QP-202)": (
        lambda trees: trees.queue("q3", "alone"),
        "q3",
        True,
    ),
    "the only child of a cohort object again": (lambda trees: trees.queue("q4", "object"), "q4", False),
    "its own quota": (lambda trees: trees.queue("q1", "team", 2), "q1", True),
    "a limit of its own": (lambda trees: trees.queue("q1", "team", lend=1), "q1", True),
    "another cohort": (lambda trees: trees.queue("q1", "alone"), "q1", True),
    "no cohort any more": (lambda trees: trees.queue("q1"), "q1", True),
    "a sibling's quota": (lambda trees: trees.queue("q2", "team", 2), "q1", True),
    "the same sibling again": (lambda trees: trees.queue("q2", "team"), "q1", False),
    "a sibling that leaves": (lambda trees: trees.tree.remove_cluster_queue("q2"), "q1", True),
    "a queue of another tree": (lambda trees: trees.queue("q3", nominal=9), "q1", False),
    "its cohort object, even unchanged": (lambda trees: trees.cohort("object"), "q4", True),
    "its cohort object is deleted": (lambda trees: trees.tree.remove_cohort("object"), "q4", True),
    "another cohort object": (lambda trees: trees.cohort("other"), "q4", False),
    "whether a sibling is active": (
        lambda trees: trees.tree.set_active(trees.at("q2"), False),
        "q1",
        False,
    ),
}


@pytest.mark.parametrize("case", GENERATIONS.values(), ids=GENERATIONS)
def test_generation(case: tuple) -> None:
    change, name, want = case
    trees = (
        Trees()
        .queue("q1", "team")
        .queue("q2", "team")
        .queue("q3", "alone")
        .cohort("object")
        .queue("q4", "object")
    )
    before = trees.generation(name)
    change(trees)
    assert (trees.generation(name) > before) is want


def test_inactive_queues_do_not_count_for_heights() -> None:
    trees = Trees().cohort("team").queue("q1", "team")
    forest = trees.tables.forest
    trees.tree.refresh()
    assert forest.height[trees.at("team")] == 1
    trees.tree.set_active(trees.at("q1"), False)
    trees.tree.refresh()
    assert forest.height[trees.at("team")] == 0
    assert trees.subtree("team") == 1  # its quota still counts (QP-232)


def test_a_removed_queue_leaves_no_quota_to_the_one_that_gets_its_row() -> None:
    trees = Trees().queue("q1", "team", 7, borrow=3, lend=2)
    row = trees.at("q1")
    trees.tree.refresh()
    trees.tree.remove_cluster_queue("q1")
    trees.tree.set_cluster_queue("q2", None, {})
    trees.tree.refresh()
    assert {trees.at("q2"), *trees.tables.nodes._free} >= {row}
    column = trees.tables.column(*trees.pair())
    forest = trees.tables.forest
    assert [
        forest.has_quota[trees.at("q2"), column],
        forest.has_lend_limit[trees.at("q2"), column],
        forest.subtree[trees.at("q2"), column],
        forest.potential[trees.at("q2"), column],
    ] == [0, 0, 0, 0]
