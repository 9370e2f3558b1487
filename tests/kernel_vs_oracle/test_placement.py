"""Placement in the kernel against the slow oracle on seeded random trees and requests.

KUEUE_FAST_BULK_CYCLES says how many cases `-m bulk` compares. To look into one:
`python -c 'from tests.oracle.generate_topology import case; print(case(SEED))'`.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.kernel_vs_oracle.topology_case import KernelCase, difference
from tests.oracle.generate_topology import Case, balanced_case, case

EVERYDAY_CASES = 600
FAMILIES = 4  # so that a failure names a quarter, and pytest can share the work out


def compare(seeds: range, make: Callable[[int], Case] = case) -> None:
    for seed in seeds:
        found = difference(make(seed), seed)
        assert found is None, f"seed {seed}: {found}"


@pytest.mark.parametrize("family", range(FAMILIES))
def test_some_placements(family: int) -> None:
    compare(range(family, EVERYDAY_CASES, FAMILIES))


@pytest.mark.bulk
@pytest.mark.parametrize("family", range(FAMILIES))
def test_many_placements(family: int, bulk_cycles: int) -> None:
    compare(range(family, bulk_cycles, FAMILIES))


@pytest.mark.parametrize("family", range(FAMILIES))
def test_some_balanced_placements(family: int) -> None:
    compare(range(family, EVERYDAY_CASES, FAMILIES), balanced_case)


@pytest.mark.bulk
@pytest.mark.parametrize("family", range(FAMILIES))
def test_many_balanced_placements(family: int, bulk_cycles: int) -> None:
    compare(range(family, bulk_cycles // 4, FAMILIES), balanced_case)


def test_the_cases_cover_what_they_are_for() -> None:
    codes: set[str] = set()
    placed = repaired = 0
    for seed in range(2_000):
        made = case(seed)
        kernel = KernelCase(made, seed)
        _, failure = kernel.place()
        codes.add("PLACED" if failure is None else failure["code"])
        placed += failure is None
        repaired += failure is None and any(request.unhealthy for request in made.requests)
    assert codes == {
        "PLACED",
        "NOT_ENOUGH_ROOM",
        "LEVEL_MISSING",
        "LEVEL_UNKNOWN",
        "SLICE_LEVEL_UNKNOWN",
        "SLICE_ABOVE_MAIN",
        "SLICE_SIZE_MISSING",
        "LAYER_UNKNOWN",
        "LAYER_NOT_LOWER",
        "LAYER_NOT_DIVIDING",
        "INVALID_FILTER",
        "STALE_DOMAIN",
        "NO_REPLACEMENT",
        "TOO_MANY_IN_GROUP",
    }
    assert placed > 500
    assert repaired > 20


def test_order_of_nodes_changes_nothing() -> None:
    """Rows, places and leaves without nodes are dealt out by a second seed; the answer is that of the first."""
    for seed in range(200):
        answers = [KernelCase(case(seed), other, ghosts=other % 3).place()[0] for other in range(4)]
        assert answers.count(answers[0]) == len(answers), f"seed {seed}"
