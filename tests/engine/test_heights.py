"""Borrowing levels, seen by the order of entries that borrow. Source: QP-321, QP-322, QP-232, QC-107, QC-108."""

from __future__ import annotations

import pytest

from tests.engine.small_cluster import (
    Json,
    add,
    cycle,
    held,
    order_of_admission,
    queue,
    quotas,
    started,
    tree,
    waits,
)

# `a` borrows from cohort x and `b`, of a higher priority, from cohort y; who borrows from the lower subtree is first.
# x has its queue `a`, y has `b` and another level below it.
LEVELS = {
    "the lower subtree goes first": {
        "objects": [queue("deep", 0, "y2")], "want": "ab",
    },
    "equal levels: the priority": {
        "objects": [queue("deep", 0, "y2"), tree("x2", "x"), queue("too", 0, "x2")], "want": "ba",
    },
    "a stopped queue makes its cohort no higher": {
        "objects": [queue("deep", 0, "y2"), tree("x2", "x"), queue("too", 0, "x2", stopPolicy="Hold")], "want": "ab",
    },
    "a queue whose flavor is missing makes its cohort no higher": {
        "objects": [
            queue("deep", 0, "y2"), tree("x2", "x"), queue("too", 0, "x2", quotas({"missing": {"cpu": 0}})),
        ],
        "want": "ab",
    },
    "a cohort below without queues counts as one level": {
        "objects": [tree("x2", "x"), queue("deep", 0, "y2")], "want": "ab",
    },
    "two cohorts below without queues count as two": {
        "objects": [tree("x2", "x"), tree("x3", "x2"), queue("deep", 0, "y2")], "want": "ba",
    },
    "with the level below y stopped the priority decides": {
        "objects": [queue("deep", 0, "y2", stopPolicy="Hold")], "want": "ba",
    },
    "levels count from the longest branch": {
        "objects": [
            tree("x2", "x"), queue("too", 0, "x2"), tree("x3", "x2"), queue("more", 0, "x3"), queue("deep", 0, "y2"),
        ],
        "want": "ba",
    },
}  # fmt: skip


@pytest.mark.parametrize("case", LEVELS.values(), ids=LEVELS)
def test_levels_order_entries(case: Json) -> None:
    engine = started(
        tree("root"), tree("x", "root", 5), tree("y", "root", 5), tree("y2", "y"), queue("a", 0, "x"),
        queue("b", 0, "y"),
        *case["objects"], waits("a", "a", 1), waits("b", "b", 1, priority=9),
    )  # fmt: skip
    assert "".join(order_of_admission(cycle(engine))) == case["want"]


def test_a_queue_that_is_resumed_counts_again() -> None:
    objects = [
        tree("root"), tree("x", "root", 5), tree("y", "root", 5), tree("y2", "y"), queue("a", 0, "x"),
        queue("b", 0, "y"),
        tree("x2", "x"), queue("deep", 0, "y2"), queue("too", 0, "x2", stopPolicy="Hold"),
    ]  # fmt: skip
    engine = started(*objects)
    for number, (stop, want) in enumerate([("Hold", "ab"), ("None", "ba"), ("HoldAndDrain", "ab")]):
        add(engine, queue("too", 0, "x2", stopPolicy=stop)[0])
        names = {"a": f"a{number}", "b": f"b{number}"}
        add(engine, waits(names["a"], "a", 1), waits(names["b"], "b", 1, priority=9))
        assert order_of_admission(cycle(engine)) == [names[each] for each in want]


# The level of `a` (2 cpu) below x, seen by whether it goes before `b`, which borrows from y (level 1) at some priority.
FITTING = {
    "within nominal: before any borrowing": {"objects": [queue("a", 2, "x")], "b": 9, "want": "ab"},
    "the cohort holds it: as high as y": {"objects": [queue("a", 0, "x"), tree("x", "root", 2)], "b": 9, "want": "ba"},
    "the cohort holds it: as low as y": {"objects": [queue("a", 0, "x"), tree("x", "root", 2)], "b": -9, "want": "ab"},
    "what the queue keeps for itself is not asked of the cohort": {
        "objects": [queue("a", (1, None, 0), "x"), tree("x", "root", 1)], "b": -9, "want": "ab",
    },
    "what the cohort uses counts": {
        "objects": [
            queue("a", 0, "x"), tree("x", "root", 2), queue("a2", 0, "x"), queue("lender", 2, "root"),
            held("u", "a2", 1),
        ],
        "b": -9,
        "want": "ba",
    },
    "only the whole tree holds it": {
        "objects": [queue("a", 0, "x"), queue("lender", 2, "root")], "b": -9, "want": "ba",
    },
}  # fmt: skip


@pytest.mark.parametrize("case", FITTING.values(), ids=FITTING)
def test_the_level_of(case: Json) -> None:
    engine = started(
        tree("root"), tree("x", "root"), tree("y", "root", 5), queue("b", 0, "y"), *case["objects"],
        waits("a", "a", 2), waits("b", "b", 1, priority=case["b"]),
    )  # fmt: skip
    assert "".join(order_of_admission(cycle(engine))) == case["want"]
