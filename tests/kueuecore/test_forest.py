"""The quota forest against the slow oracle, and the spec's worked cases. Source: QP-201..217, QP-300..322."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kueuecore import Forest, Journal
from tests.kueuecore.kernel import KernelForest, differences, random_case
from tests.oracle.amounts import MAX, UNLIMITED
from tests.oracle.forest import Quotas
from tests.oracle.strategies import COLUMNS, ClusterQueueRow, CohortRow, ForestCase, any_amounts, forests

RED = COLUMNS[0]
EVERYDAY_FORESTS = 1_500


def check(case: ForestCase, seed: int, amounts: list[int], inactive: list[str]) -> None:
    """Same numbers before and after the changes of a case, and the same usage bits after undoing them."""
    kernel = KernelForest(case, seed, inactive)
    built = case.build()
    for name in inactive:
        built.cluster_queues[name].active = False
    assert differences(kernel, built, amounts) == []
    before = kernel.usage_bytes()
    for change in case.changes:
        kernel.change(change)
        case.apply(built, change)
    assert differences(kernel, built, amounts) == []
    kernel.forest.undo(kernel.journal)
    assert kernel.usage_bytes() == before
    assert len(kernel.journal) == 0


@given(forests(), st.integers(0, 99), st.lists(any_amounts(), max_size=3), st.data())
def test_a_forest_equals_the_oracle(
    case: ForestCase, seed: int, amounts: list[int], data: st.DataObject
) -> None:
    names = [row.name for row in case.cluster_queues]
    check(case, seed, amounts, data.draw(st.lists(st.sampled_from(names), unique=True)))


def compare_seeded(cases: int) -> None:
    for seed in range(cases):
        rng = random.Random(seed)
        case = random_case(rng)
        inactive = [row.name for row in case.cluster_queues if rng.random() < 0.1]
        check(case, seed, [rng.randrange(25), rng.choice((0, MAX - 1, UNLIMITED))], inactive)


def test_some_seeded_forests_equal_the_oracle() -> None:
    compare_seeded(EVERYDAY_FORESTS)


@pytest.mark.bulk
def test_many_seeded_forests_equal_the_oracle(bulk_cycles: int) -> None:
    compare_seeded(bulk_cycles)


def quotas(nominal: int, borrow: int | None = None, lend: int | None = None) -> Quotas:
    def limit(value: int | None) -> dict[tuple[str, str], int]:
        return {} if value is None else {RED: value}

    return Quotas({RED: nominal}, limit(borrow), limit(lend))


def kernel_forest(
    cohorts: dict[str, tuple[str | None, Quotas]], queues: dict[str, tuple[str | None, Quotas, int]]
) -> KernelForest:
    return KernelForest(
        ForestCase(
            tuple(CohortRow(name, parent, own) for name, (parent, own) in cohorts.items()),
            tuple(
                ClusterQueueRow(name, parent, own, {RED: used})
                for name, (parent, own, used) in queues.items()
            ),
            (),
        )
    )


# QP section 3, corner cases (a) to (e): what each ClusterQueue could use at most, and what is left for it.
AVAILABLE = {
    "(a) a sibling keeps what it does not lend": (
        {"root": (None, quotas(10))},
        {"a": ("root", quotas(10), 0), "b": ("root", quotas(10, lend=9), 0)},
        {"want_potential": [29, 30], "want_available": [29, 30]},
    ),
    "(b) overuse spills over to one that neither lends nor borrows": (
        {"root": (None, quotas(0))},
        {"a": ("root", quotas(20), 31), "b": ("root", quotas(10, borrow=0, lend=0), 0)},
        {"want_potential": [20, 10], "want_available": [-11, -1]},
    ),
    "(c) limits in both directions": (
        {"root": (None, quotas(10))},
        {
            "a": ("root", quotas(10), 20),
            "b": ("root", quotas(10, borrow=2), 10),
            "c": ("root", quotas(10, lend=5), 6),
        },
        {"want_potential": [35, 12, 40], "want_available": [4, 2, 4]},
    ),
    "(d) a cohort's borrowing limit caps those below it": (
        {"root": (None, quotas(0)), "left": ("root", quotas(10, borrow=5)), "right": ("root", quotas(10))},
        {"a": ("left", quotas(10), 0), "b": ("left", quotas(10, borrow=5), 0), "c": ("right", quotas(10), 0)},
        {"want_potential": [35, 15, 50], "want_available": [35, 15, 50]},
    ),
    "(e) a cohort lends only up to its limit": (
        {"root": (None, quotas(0)), "left": ("root", quotas(0, lend=5)), "right": ("root", quotas(0))},
        {
            "a": ("left", quotas(10, lend=5), 0),
            "b": ("left", quotas(10), 0),
            "c": ("right", quotas(0), 0),
            "d": ("root", quotas(0), 0),
        },
        {"want_potential": [20, 15, 5, 5], "want_available": [20, 15, 5, 5]},
    ),
    "a bounded quota with an Unlimited lending limit lends all": (
        {"root": (None, quotas(0))},
        {"a": ("root", quotas(7, lend=UNLIMITED), 0), "b": ("root", quotas(0), 0)},
        {"want_potential": [7, 7], "want_available": [7, 7]},
    ),
    "Unlimited quota with an Unlimited lending limit lends all": (
        {"root": (None, quotas(0))},
        {"a": ("root", quotas(UNLIMITED, lend=UNLIMITED), 0), "b": ("root", quotas(0), 0)},
        {"want_potential": [UNLIMITED, UNLIMITED], "want_available": [UNLIMITED, UNLIMITED]},
    ),
    "Unlimited quota with a bounded lending limit lends nothing": (
        {"root": (None, quotas(0))},
        {"a": ("root", quotas(UNLIMITED, lend=5), 0), "b": ("root", quotas(0), 0)},
        {"want_potential": [UNLIMITED, 0], "want_available": [UNLIMITED, 0]},
    ),
    "the root's own limits mean nothing to its capacity": (
        {},
        {"a": (None, quotas(9, borrow=3, lend=4), 2)},
        {"want_potential": [9], "want_available": [7]},
    ),
}


@pytest.mark.parametrize("case", AVAILABLE.values(), ids=AVAILABLE)
def test_available_and_potential(case: tuple) -> None:
    cohorts, queues, want = case
    kernel = kernel_forest(cohorts, queues)
    rows = [kernel.row[name] for name in queues]
    assert [kernel.forest.potential[row, 0] for row in rows] == want["want_potential"]
    assert [kernel.forest.find_available(row, 0) for row in rows] == want["want_available"]


def test_usage_reaches_the_cohort_only_above_what_is_never_lent() -> None:
    """QP section 3, corner case (f)."""
    kernel = kernel_forest(
        {"root": (None, quotas(0))},
        {"a": ("root", quotas(10, lend=4), 0), "b": ("root", quotas(10, lend=6), 0)},
    )
    forest, row = kernel.forest, kernel.row
    steps = [
        ("a", 5, False, 0),
        ("a", 4, False, 3),
        ("b", 7, False, 6),
        ("a", 2, True, 4),
        ("a", 7, True, 3),
        ("b", 7, True, 0),
    ]
    for name, amount, removes, want in steps:
        forest.change_usage(row[name], 0, amount, kernel.journal, removes)
        assert forest.usage[row["root"], 0] == want


# Amount, then the answer for queue "a" in: root(4) over left(2) over a(3), b(3); right over c(5).
LOWEST = {
    "within its own quota": (3, (0, True)),
    "the cohort next to it can hold it": (8, (1, True)),
    "only the whole tree can hold it": (17, (2, False)),
    "not even the whole tree": (18, (2, False)),
    "an Unlimited amount": (UNLIMITED, (2, False)),
}


@pytest.mark.parametrize("case", LOWEST.values(), ids=LOWEST)
def test_lowest_subtree(case: tuple[int, tuple[int, bool]]) -> None:
    amount, want = case
    kernel = kernel_forest(
        {"root": (None, quotas(4)), "left": ("root", quotas(2)), "right": ("root", quotas(0))},
        {"a": ("left", quotas(3), 0), "b": ("left", quotas(3), 0), "c": ("right", quotas(5), 0)},
    )
    assert kernel.forest.find_lowest_subtree_that_fits(kernel.row["a"], 0, amount) == want


def test_a_queue_without_a_cohort_never_borrows() -> None:
    kernel = kernel_forest({}, {"a": (None, quotas(3), 0)})
    assert kernel.forest.find_lowest_subtree_that_fits(kernel.row["a"], 0, 9) == (0, False)


HEIGHTS = {
    "no children": ({"root": (None, quotas(0))}, {}, 0),
    "a queue below it": ({"root": (None, quotas(0))}, {"a": ("root", quotas(0), 0)}, 1),
    "only a queue that is not in the snapshot": (
        {"root": (None, quotas(0))},
        {"gone": ("root", quotas(0), 0)},
        0,
    ),
    "a cohort without children below it": (
        {"root": (None, quotas(0)), "left": ("root", quotas(0))},
        {},
        1,
    ),
    "a queue of a cohort below it": (
        {"root": (None, quotas(0)), "left": ("root", quotas(0))},
        {"a": ("left", quotas(0), 0)},
        2,
    ),
}


@pytest.mark.parametrize("case", HEIGHTS.values(), ids=HEIGHTS)
def test_height(case: tuple) -> None:
    cohorts, queues, want = case
    kernel = kernel_forest(cohorts, queues)
    if "gone" in queues:
        kernel.forest.in_snapshot[kernel.row["gone"]] = 0
        kernel.forest.recompute_heights(kernel.order)
    assert kernel.forest.height[kernel.row["root"]] == want


def test_undoing_after_saturation_restores_the_bits_where_removing_does_not() -> None:
    """Removing what was added is no undo: QP-909."""
    kernel = kernel_forest({"root": (None, quotas(0))}, {"a": ("root", quotas(5), 7)})
    before = kernel.usage_bytes()
    kernel.forest.change_usage(kernel.row["a"], 0, MAX - 3, kernel.journal)
    kernel.forest.change_usage(kernel.row["a"], 0, MAX - 3, kernel.journal, True)
    assert kernel.usage_bytes() != before
    kernel.forest.undo(kernel.journal)
    assert kernel.usage_bytes() == before


def test_undo_stops_at_its_mark() -> None:
    kernel = kernel_forest({}, {"a": (None, quotas(9), 1)})
    forest, row = kernel.forest, kernel.row["a"]
    forest.change_usage(row, 0, 2, kernel.journal)
    mark, want = len(kernel.journal), forest.usage[row, 0]
    for _ in range(200):  # the journal grows meanwhile
        forest.change_usage(row, 0, 1, kernel.journal)
    forest.undo(kernel.journal, mark)
    assert (forest.usage[row, 0], len(kernel.journal)) == (want, mark)


def test_a_recomputation_advances_the_generation_of_each_queue_of_the_tree() -> None:
    kernel = kernel_forest(
        {"root": (None, quotas(0))}, {"a": ("root", quotas(1), 0), "b": ("root", quotas(1), 0)}
    )
    forest, row = kernel.forest, kernel.row
    assert [forest.generation[row[name]] for name in ("a", "b", "root")] == [1, 1, 0]
    forest.recompute(kernel.order)
    assert [forest.generation[row[name]] for name in ("a", "b", "root")] == [2, 2, 0]


def test_more_rows_and_columns_keep_what_was_written() -> None:
    kernel = kernel_forest({"root": (None, quotas(4, lend=2))}, {"a": ("root", quotas(9), 3)})
    forest = kernel.forest
    names = (*Forest.VECTORS, *Forest.MATRICES)
    before = {name: np.asarray(getattr(forest, name)).copy() for name in names}
    forest.reserve(300, 40)
    for name, old in before.items():
        new = np.asarray(getattr(forest, name))
        assert np.array_equal(new[tuple(slice(0, n) for n in old.shape)], old), name
    assert (forest.nodes, forest.columns) == (300, 40)
    assert forest.parent[299] == -1


def test_a_cleared_row_is_as_new() -> None:
    kernel = kernel_forest({"root": (None, quotas(4))}, {"a": ("root", quotas(9, 1, 2), 3)})
    forest, row = kernel.forest, kernel.row["a"]
    fresh = Forest()
    fresh.reserve(1, len(COLUMNS))
    forest.clear_row(row)
    for name in Forest.VECTORS:
        assert getattr(forest, name)[row] == getattr(fresh, name)[0], name
    for name in Forest.MATRICES:
        got, want = (np.asarray(getattr(one, name)) for one in (forest, fresh))
        assert got[row, : len(COLUMNS)].tolist() == want[0, : len(COLUMNS)].tolist(), name


BAD_CALLS = {
    "a negative node": (lambda forest: forest.find_available(-1, 0), "node -1: expected a row from 0 to 2"),
    "a node beyond the table": (lambda forest: forest.clear_row(3), "node 3: expected a row from 0 to 2"),
    "a column beyond the table": (
        lambda forest: forest.find_lowest_subtree_that_fits(0, 2, 1),
        "column 2: expected a column from 0 to 1",
    ),
    "a node of an order": (
        lambda forest: forest.recompute(np.array([0, 9], np.int32)),
        "node 9: expected a row from 0 to 2",
    ),
    "a node of an order of heights": (
        lambda forest: forest.recompute_heights(np.array([-1], np.int32)),
        "node -1: expected a row from 0 to 2",
    ),
    "an order of another type": (
        lambda forest: forest.recompute(np.array([0], np.int64)),
        "Buffer dtype mismatch",
    ),
    "a mark that was never reached": (lambda forest: forest.undo(Journal(), 1), "mark 1: expected 0 to 0"),
    "a mark below 0": (lambda forest: forest.undo(Journal(), -1), "mark -1: expected 0 to 0"),
}


@pytest.mark.parametrize("case", BAD_CALLS.values(), ids=BAD_CALLS)
def test_a_bad_call_is_a_value_error(case: tuple) -> None:
    call, want = case
    forest = Forest()
    forest.reserve(3, 2)
    with pytest.raises(ValueError, match=want):
        call(forest)


def test_a_parent_that_is_no_row_is_a_value_error() -> None:
    forest = Forest()
    forest.reserve(2, 1)
    forest.parent[0] = 7
    with pytest.raises(ValueError, match="parent of node 0: 7 is no row"):
        forest.recompute(np.array([0], np.int32))
