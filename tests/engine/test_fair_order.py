"""The order of entries under fair sharing: a tournament at each cohort. Source: QC-106..114, QP-331..334."""

from __future__ import annotations

from typing import Any

import pytest

from tests.engine.small_cluster import (
    Json,
    cycle,
    held,
    order_of_admission,
    outcomes,
    queue,
    quotas,
    started,
    tree,
    waits,
)


def used(name: str, cpu: int, flavor: str = "one") -> Json:
    return held(f"used-{name}", name, cpu, flavor, priority=50)


# Queues below one cohort of 20 cpu; all entries fit, so the order in which they are admitted is theirs.
FLAT = {
    "the lower share with the request first": {
        "objects": [queue("a"), queue("b"), used("a", 3), used("b", 2), waits("a", "a", 1), waits("b", "b", 1)],
        "want": "ba",
    },
    "the request is part of the share": {
        "objects": [queue("a"), queue("b"), used("a", 3), used("b", 2), waits("a", "a", 1), waits("b", "b", 4)],
        "want": "ab",
    },
    "weights divide shares": {
        "objects": [
            queue("a", weight="2"), queue("b"), used("a", 3), used("b", 2), waits("a", "a", 1), waits("b", "b", 1),
        ],
        "want": "ab",
    },
    "a weight below 1 multiplies them": {
        "objects": [
            queue("a"), queue("b", weight="0.5"), used("a", 3), used("b", 2), waits("a", "a", 1), waits("b", "b", 1),
        ],
        "want": "ab",
    },
    "weight 0 comes last": {
        "objects": [
            queue("a", weight="0"), queue("b"), used("b", 9), waits("a", "a", 1, priority=9), waits("b", "b", 1),
        ],
        "want": "ba",
    },
    "of weights 0 the one that borrows less, whatever the priority": {
        "objects": [
            queue("a", weight="0"), queue("b", weight="0"), used("a", 3), used("b", 2),
            waits("a", "a", 1, priority=9), waits("b", "b", 1),
        ],
        "want": "ba",
    },
    "weight 0 within nominal is no worse than others": {
        "objects": [
            queue("a", 2, weight="0"), queue("b", 2), waits("a", "a", 1, priority=9), waits("b", "b", 1),
        ],
        "want": "ab",
    },
    "equal shares: the higher priority": {
        "objects": [queue("a"), queue("b"), waits("a", "a", 1), waits("b", "b", 1, priority=1)],
        "want": "ba",
    },
    "without sorting by priority: the older": {
        "objects": [queue("a"), queue("b"), waits("a", "a", 1), waits("b", "b", 1, priority=1, created=1)],
        "gates": {"PrioritySortingWithinCohort": False},
        "want": "ab",
    },
    "equal priorities: the older": {
        "objects": [queue("a"), queue("b"), waits("a", "a", 1, created=1), waits("b", "b", 1)],
        "want": "ba",
    },
    "the same age: the smaller uid": {
        "objects": [
            queue("a"), queue("b"), waits("a", "a", 1, metadata={"uid": "9"}), waits("b", "b", 1,
            metadata={"uid": "10"}),
        ],
        "want": "ba",
    },
    "each choice changes the shares of the next": {
        "objects": [
            queue("a"), queue("b"), queue("c"), *(waits(name, name, 1, priority=i) for i, name in enumerate("abc")),
        ],
        "want": "cba",
    },
    "the larger of two resources counts": {
        "objects": [
            queue("a", 0, "all", quotas({"one": {"cpu": 0, "memory": 0}})),
            queue("b", 0, "all", quotas({"one": {"cpu": 0, "memory": 0}})),
            queue("m", 0, "all", quotas({"one": {"cpu": 0, "memory": 4}})),
            waits("a", "a", {"cpu": 2, "memory": 1}), waits("b", "b", {"cpu": 1, "memory": 2}),
        ],
        "want": "ab",
    },
    "flavors of a resource add up": {
        "objects": [
            queue("a", 0, "all", quotas({"one": {"cpu": 0}, "two": {"cpu": 0}})), queue("b"),
            used("a", 2), {**used("a", 2, "two"), "metadata": {"name": "t", "namespace": "default", "uid": "t"}},
            used("b", 3), waits("a", "a", 1), waits("b", "b", 1),
        ],
        "want": "ba",
    },
}  # fmt: skip


@pytest.mark.parametrize("case", FLAT.values(), ids=FLAT)
def test_order_below_one_cohort(case: Json) -> None:
    engine = started(queue("lender", 20), *case["objects"], fair=True, gates=case.get("gates"))
    assert "".join(order_of_admission(cycle(engine))) == case["want"]


# Who does not borrow goes first (FairSharingPrioritizeNonBorrowing): `a` (2 cpu) within nominal, but with a share on
# another flavor; `b` borrows a little.
NON_BORROWING = {
    "with the gate who does not borrow what it asks for": {"gates": {}, "want": "ab"},
    "without it the lower share": {"gates": {"FairSharingPrioritizeNonBorrowing": False}, "want": "ba"},
}


@pytest.mark.parametrize("case", NON_BORROWING.values(), ids=NON_BORROWING)
def test_non_borrowing_entries_first(case: Json) -> None:
    engine = started(
        queue("a", 0, "all", quotas({"one": {"cpu": 2}, "two": {"cpu": 0}})), queue("b"),
        queue("lender", 0, "all", quotas({"one": {"cpu": 4}, "two": {"cpu": 6}})), used("a", 5, "two"),
        waits("a", "a", 1), waits("b", "b", 1, priority=9), fair=True, gates=case["gates"],
    )  # fmt: skip
    assert "".join(order_of_admission(cycle(engine))) == case["want"]


# Levels: x and y below root. {name: objects}. A level decides before the one above it.
LEVELS = {
    "the cohort with the lower share, not the queue": {
        "objects": [
            tree("x", "root"), tree("y", "root"), queue("a", 0, "x"), queue("a2", 0, "x"), queue("b", 0, "y"),
            used("a2", 5), used("b", 3), waits("a", "a", 1), waits("b", "b", 1),
        ],
        "want": "ba",
    },
    "who wins in its cohort competes above it": {
        # in x the loser `a` would give x the smaller share, but `c` wins there and carries x
        "objects": [
            tree("x", "root"), tree("y", "root"), queue("a", 0, "x"), queue("c", 0, "x"), queue("b", 0, "y"),
            used("a", 3), used("b", 2), waits("a", "a", 1), waits("c", "c", 2), waits("b", "b", 2),
        ],
        "want": "bca",
    },
    "quota of a cohort lowers its share, not that of its queues": {
        "objects": [
            tree("x", "root", 10), tree("y", "root"), queue("a", 0, "x"), queue("b", 0, "y"), used("a", 8),
            used("b", 1),
            waits("a", "a", 1), waits("b", "b", 1),
        ],
        "want": "ab",
    },
    "the weight of a cohort counts above it": {
        "objects": [
            tree("x", "root", weight="9"), tree("y", "root"), queue("a", 0, "x"), queue("b", 0, "y"), used("a", 8),
            used("b", 1), waits("a", "a", 1), waits("b", "b", 1),
        ],
        "want": "ab",
    },
    "a queue competes with a cohort": {
        "objects": [
            tree("x", "root"), queue("a", 0, "x"), queue("b", 0, "root"), used("a", 3), used("b", 2),
            waits("a", "a", 1),
            waits("b", "b", 1),
        ],
        "want": "ba",
    },
    "after a win the shares of the cohort are looked at again": {
        "objects": [
            tree("x", "root"), tree("y", "root"), queue("a", 0, "x"), queue("a2", 0, "x"), queue("b", 0, "y"),
            used("b", 1), waits("a", "a", 1, priority=2), waits("c", "a2", 1, priority=1), waits("b", "b", 1,
            priority=5),
        ],
        "want": "abc",
    },
}  # fmt: skip


@pytest.mark.parametrize("case", LEVELS.values(), ids=LEVELS)
def test_order_in_a_hierarchy(case: Json) -> None:
    engine = started(tree("root"), queue("lender", 30, "root"), *case["objects"], fair=True)
    assert "".join(order_of_admission(cycle(engine))) == case["want"]


def test_trees_follow_each_other_and_queues_without_a_cohort_are_served() -> None:
    objects: list[Any] = [
        queue("a", 1, "one tree"), queue("b", 1, None), queue("c", 1, "one tree"), queue("d", 1, "another tree"),
    ]  # fmt: skip
    engine = started(
        *objects, *(waits(name, name, 1, priority=i) for i, name in enumerate("abcd")), fair=True
    )
    assert "".join(order_of_admission(cycle(engine))) == "cabd"


def test_the_last_quota_goes_to_the_lower_share() -> None:
    engine = started(
        queue("a"), queue("b"), queue("lender", 6), used("a", 3), used("b", 2), waits("a", "a", 1, priority=9),
        waits("b", "b", 1), fair=True,
    )  # fmt: skip
    assert outcomes(cycle(engine)) == {"a": "NoLongerFits", "b": "Admitted"}


def test_classical_order_without_fair_sharing() -> None:
    """The same queues: borrowing levels are equal, so priority decides."""
    engine = started(
        queue("a"), queue("b"), queue("lender", 6), used("a", 3), used("b", 2), waits("a", "a", 1, priority=9),
        waits("b", "b", 1),
    )  # fmt: skip
    assert outcomes(cycle(engine)) == {"a": "Admitted", "b": "NoLongerFits"}
