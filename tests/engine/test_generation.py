"""The allocatable generation of ClusterQueues, event by event; what it is for stands in test_scan_progress.

Only "greater than before" is ever asked, so a case says whose grew. Source: QP-202, QP-217.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kueue_fast.arrays.quota_tree import Quota, Quotas, QuotaTree
from kueue_fast.arrays.tables import Tables

Event = Callable[[QuotaTree], object]


def quotas(cpu: int) -> Quotas:
    return {("one", "cpu"): Quota(cpu, None, None)}


def trees() -> QuotaTree:
    """`a`, `b` below Cohort `left`, below `root`; `c` alone below `implicit`; `d`, `e` below `shared`; `f` alone."""
    tree = QuotaTree(Tables())
    tree.set_cohort("root", None, {})
    tree.set_cohort("left", "root", quotas(3))
    for name, cohort in (
        ("a", "left"), ("b", "left"), ("c", "implicit"), ("d", "shared"), ("e", "shared"), ("f", None),
    ):  # fmt: skip
        tree.set_cluster_queue(name, cohort, quotas(1))
    tree.refresh()
    return tree


def generations(tree: QuotaTree) -> dict[str, int]:
    tree.refresh()
    nodes, forest = tree.tables.nodes, tree.tables.forest
    rows = {name: nodes.find(("ClusterQueue", name)) for name in "abcdef"}
    return {name: forest.generation[row] for name, row in rows.items() if row is not None}


EVENTS: dict[str, tuple[Event, str]] = {
    "nothing": (lambda tree: None, ""),
    "a queue is updated unchanged": (lambda tree: tree.set_cluster_queue("a", "left", quotas(1)), ""),
    "a queue without a cohort is updated unchanged": (lambda tree: tree.set_cluster_queue("f", None, quotas(1)), ""),
    "the only child of an implicit cohort is updated unchanged": (
        lambda tree: tree.set_cluster_queue("c", "implicit", quotas(1)), "c",
    ),
    "one of two children of an implicit cohort is updated unchanged": (
        lambda tree: tree.set_cluster_queue("d", "shared", quotas(1)), "",
    ),
    "the quota of a queue changes": (lambda tree: tree.set_cluster_queue("a", "left", quotas(2)), "ab"),
    "the quota of a queue without a cohort changes": (lambda tree: tree.set_cluster_queue("f", None, quotas(2)), "f"),
    "a limit of a queue changes": (
        lambda tree: tree.set_cluster_queue("d", "shared", {("one", "cpu"): Quota(1, 0, None)}), "de",
    ),
    "a flavor of a queue changes": (
        lambda tree: tree.set_cluster_queue("d", "shared", {("two", "cpu"): Quota(1, None, None)}), "de",
    ),
    "a queue moves to another tree": (lambda tree: tree.set_cluster_queue("a", "shared", quotas(1)), "abde"),
    "a queue leaves its cohort": (lambda tree: tree.set_cluster_queue("a", None, quotas(1)), "ab"),
    "a queue is deleted": (lambda tree: tree.remove_cluster_queue("b"), "a"),
    "a queue comes": (lambda tree: tree.set_cluster_queue("z", "implicit", quotas(1)), "c"),
    "a cohort is updated unchanged": (lambda tree: tree.set_cohort("left", "root", quotas(3)), "ab"),
    "the root is updated unchanged": (lambda tree: tree.set_cohort("root", None, {}), "ab"),
    "an implicit cohort gets an object": (lambda tree: tree.set_cohort("shared", None, {}), "de"),
    "a cohort moves below another tree": (lambda tree: tree.set_cohort("left", "shared", quotas(3)), "abde"),
    "a cohort is deleted": (lambda tree: tree.remove_cohort("left"), "ab"),
    "an unknown cohort is deleted": (lambda tree: tree.remove_cohort("nobody"), ""),
}  # fmt: skip


@pytest.mark.parametrize(("event", "want"), EVENTS.values(), ids=EVENTS)
def test_generations_grow(event: Event, want: str) -> None:
    tree = trees()
    before = generations(tree)
    event(tree)
    after = generations(tree)
    assert "".join(name for name in before if name in after and after[name] > before[name]) == want


def test_the_first_computation_makes_it_one() -> None:
    tree = QuotaTree(Tables())
    tree.set_cluster_queue("a", None, quotas(1))
    assert generations(tree) == {"a": 1}
