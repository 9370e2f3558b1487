"""The quota tree: the spec's worked cases, and laws that hold for every tree."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.oracle import amounts
from tests.oracle.amounts import MAX, MIN, UNLIMITED
from tests.oracle.forest import Forest, Quotas
from tests.oracle.strategies import COLUMNS, ForestCase, any_amounts, forests, small_amounts

RED = ("red", "cpu")


def quotas(nominal: int, borrow: int | None = None, lend: int | None = None) -> Quotas:
    def limit(value: int | None) -> dict[tuple[str, str], int]:
        return {} if value is None else {RED: value}

    return Quotas({RED: nominal}, limit(borrow), limit(lend))


def forest(
    cohorts: dict[str, tuple[str | None, Quotas]], cluster_queues: dict[str, tuple[str | None, Quotas, int]]
) -> Forest:
    built = Forest()
    for name, (parent, own) in cohorts.items():
        built.set_cohort(name, parent, own)
    for name, (cohort, own, usage) in cluster_queues.items():
        built.set_cluster_queue(name, cohort, own, {RED: usage})
    built.recompute()
    return built


NONE = quotas(0)
# QP section 3, corner cases (a) to (e): what each ClusterQueue could use at most, and what is left for it.
AVAILABLE = {
    "(a) a sibling keeps what it does not lend": {
        "cohorts": {"root": (None, quotas(10))},
        "cluster_queues": {"a": ("root", quotas(10), 0), "b": ("root", quotas(10, lend=9), 0)},
        "want_potential": {"a": 29, "b": 30},
        "want_available": {"a": 29, "b": 30},
    },
    "(b) overuse spills over to one that neither lends nor borrows": {
        "cohorts": {"root": (None, NONE)},
        "cluster_queues": {"a": ("root", quotas(20), 31), "b": ("root", quotas(10, borrow=0, lend=0), 0)},
        "want_potential": {"a": 20, "b": 10},
        "want_available": {"a": -11, "b": -1},
    },
    "(c) limits in both directions": {
        "cohorts": {"root": (None, quotas(10))},
        "cluster_queues": {
            "a": ("root", quotas(10), 20),
            "b": ("root", quotas(10, borrow=2), 10),
            "c": ("root", quotas(10, lend=5), 6),
        },
        "want_potential": {"a": 35, "b": 12, "c": 40},
        "want_available": {"a": 4, "b": 2, "c": 4},
    },
    "(d) a cohort's borrowing limit caps those below it": {
        "cohorts": {
            "root": (None, NONE),
            "left": ("root", quotas(10, borrow=5)),
            "right": ("root", quotas(10)),
        },
        "cluster_queues": {
            "a": ("left", quotas(10), 0),
            "b": ("left", quotas(10, borrow=5), 0),
            "c": ("right", quotas(10), 0),
        },
        "want_potential": {"a": 35, "b": 15, "c": 50},
        "want_available": {"a": 35, "b": 15, "c": 50},
    },
    "(e) a cohort lends only up to its limit": {
        "cohorts": {"root": (None, NONE), "left": ("root", quotas(0, lend=5)), "right": ("root", NONE)},
        "cluster_queues": {
            "a": ("left", quotas(10, lend=5), 0),
            "b": ("left", quotas(10), 0),
            "c": ("right", NONE, 0),
            "d": ("root", NONE, 0),
        },
        "want_potential": {"a": 20, "b": 15, "c": 5, "d": 5},
        "want_available": {"a": 20, "b": 15, "c": 5, "d": 5},
    },
    "Unlimited with a bounded lending limit lends nothing": {
        "cohorts": {"root": (None, NONE)},
        "cluster_queues": {"a": ("root", quotas(UNLIMITED, lend=5), 0), "b": ("root", NONE, 0)},
        "want_potential": {"a": UNLIMITED, "b": 0},
        "want_available": {"a": UNLIMITED, "b": 0},
    },
}


@pytest.mark.parametrize("case", AVAILABLE.values(), ids=AVAILABLE)
def test_available_and_potential(case: dict[str, Any]) -> None:
    cluster_queues = forest(case["cohorts"], case["cluster_queues"]).cluster_queues
    assert {name: node.potential(RED) for name, node in cluster_queues.items()} == case["want_potential"]
    assert {name: node.available(RED) for name, node in cluster_queues.items()} == case["want_available"]


def test_usage_reaches_the_cohort_only_above_what_is_never_lent() -> None:
    """QP section 3, corner case (f)."""
    built = forest(
        {"root": (None, quotas(0))},
        {"a": ("root", quotas(10, lend=4), 0), "b": ("root", quotas(10, lend=6), 0)},
    )
    root, a, b = built.cohorts["root"], built.cluster_queues["a"], built.cluster_queues["b"]
    steps = [
        (a.add_usage, 5, 0),
        (a.add_usage, 4, 3),
        (b.add_usage, 7, 6),
        (a.remove_usage, 2, 4),
        (a.remove_usage, 7, 3),
        (b.remove_usage, 7, 0),
    ]
    for change, amount, want in steps:
        change(RED, amount)
        assert root.usage.get(RED, 0) == want


# Amount, then what `lowest_subtree` says of queue "a" in: root(4) over left(2) over a(3), b(3); right over c(5).
LOWEST = {
    "within its own quota": {"amount": 3, "want": (0, True)},
    "the cohort next to it can hold it": {"amount": 8, "want": (1, True)},
    "only the whole tree can hold it": {"amount": 17, "want": (2, False)},
    "not even the whole tree": {"amount": 18, "want": (2, False)},
}


@pytest.mark.parametrize("case", LOWEST.values(), ids=LOWEST)
def test_lowest_subtree(case: dict[str, Any]) -> None:
    built = forest(
        {"root": (None, quotas(4)), "left": ("root", quotas(2)), "right": ("root", quotas(0))},
        {"a": ("left", quotas(3), 0), "b": ("left", quotas(3), 0), "c": ("right", quotas(5), 0)},
    )
    assert built.cluster_queues["a"].lowest_subtree(RED, case["amount"]) == case["want"]


def test_a_cycle_of_cohorts_is_refused() -> None:
    built = Forest()
    built.set_cohort("a", "b")
    built.set_cohort("b", "a")
    built.set_cluster_queue("queue", "a")
    with pytest.raises(ValueError, match="cycle"):
        built.recompute()


ARITHMETIC = {
    "bounded and Unlimited": (amounts.add(5, UNLIMITED), UNLIMITED),
    "overflow becomes Unlimited": (amounts.add(MAX - 5, 100), UNLIMITED),
    "Unlimited less Unlimited": (amounts.subtract(UNLIMITED, UNLIMITED), 0),
    "Unlimited less bounded": (amounts.subtract(UNLIMITED, 7), UNLIMITED),
    "bounded less Unlimited": (amounts.subtract(7, UNLIMITED), MIN),
    "Unlimited and a negative amount": (amounts.add(UNLIMITED, -1), UNLIMITED),
    "the product of the least values": (amounts.multiply(-1, MIN), MAX),
    "a product beyond the least": (amounts.multiply(MIN, 2), MIN),
    "cpu of 100u": (amounts.request_value("cpu", "100u"), 1),
    "memory of 1500m": (amounts.request_value("memory", "1500m"), 2),
    "a request of 10E is clamped": (amounts.request_value("memory", "10E"), MAX),
    "a quota of 1P cores": (amounts.quota_value("cpu", "1P"), 10**18),
    "a quota of 10P cores": (amounts.quota_value("cpu", "10P"), UNLIMITED),
    "a quota of 9223372036854775 cores": (amounts.quota_value("cpu", "9223372036854775"), UNLIMITED),
    "a quota of 9223372036854774 cores": (amounts.quota_value("cpu", "9223372036854774"), 9223372036854774000),
    "a quota of 1E bytes": (amounts.quota_value("memory", "1E"), 10**18),
    "a quota of 10E bytes": (amounts.quota_value("memory", "10E"), UNLIMITED),
    "an exponent": (amounts.quota_value("memory", "1e3"), 1000),
}  # fmt: skip


@pytest.mark.parametrize(("got", "want"), ARITHMETIC.values(), ids=ARITHMETIC)
def test_amounts(got: int, want: int) -> None:
    assert got == want


@given(any_amounts(), any_amounts())
def test_amounts_stay_in_int64(a: int, b: int) -> None:
    assert all(
        MIN <= operation(a, b) <= MAX for operation in (amounts.add, amounts.subtract, amounts.multiply)
    )


@given(forests(small_amounts()))
def test_changes_of_usage_equal_a_recomputation(case: ForestCase) -> None:
    """QP-306 and QP-307 keep QP-303, as long as nothing saturates and no usage falls below 0."""
    built = case.build()
    for change in case.changes:
        if (
            change.removes
            and built.cluster_queues[change.cluster_queue].usage.get(change.fr, 0) < change.amount
        ):
            continue
        case.apply(built, change)
    usage = {name: dict(cohort.usage) for name, cohort in built.cohorts.items()}
    built.recompute()
    for name, cohort in built.cohorts.items():
        for fr in COLUMNS:
            assert usage[name].get(fr, 0) == cohort.usage.get(fr, 0)


@given(forests())
def test_a_what_if_leaves_no_trace(case: ForestCase) -> None:
    built = case.build()
    nodes = [*built.cluster_queues.values(), *built.cohorts.values()]
    before = [dict(node.usage) for node in nodes]
    with built.what_if():
        for change in case.changes:
            case.apply(built, change)
    assert [node.usage for node in nodes] == before


@given(forests(), st.sampled_from(COLUMNS))
def test_nobody_may_use_more_than_is_potentially_there(case: ForestCase, fr: tuple[str, str]) -> None:
    built = case.build()
    for node in built.cluster_queues.values():
        node.usage = {}
    built.recompute()
    for node in built.cluster_queues.values():
        assert node.available(fr) == node.potential(fr) or node.parent is not None
        assert node.available(fr) <= node.potential(fr)
