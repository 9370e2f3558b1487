"""The engine against the slow oracle on seeded random scenarios: candidates, targets, order and all that follows.

KUEUE_FAST_BULK_CYCLES says how many cycles `-m bulk` compares; each case gets its share. To look into a failure:
`python -m tests.oracle.generate FAMILY SEED 1 [--preemption]` prints the scenario.
"""

import itertools

import pytest

from tests.kernel_vs_oracle.comparison import difference
from tests.oracle import generate
from tests.oracle.scenario import run

EVERYDAY_CYCLES = 1_500

CASES = [
    *((family, False) for family in generate.ODD_FAMILIES),
    *((family, True) for family in generate.ODD_FAMILIES),
    *((family, True) for family in generate.CONTENDED_FAMILIES),
]
NAMES = [f"{family}{' with preemption' if preemption else ''}" for family, preemption in CASES]


def compare(family: str, cycles: int, *, preemption: bool) -> None:
    """Compare scenarios of one family until they have had so many cycles."""
    compared = 0
    for seed in itertools.count():
        if compared >= cycles:
            return
        scenario = generate.scenario(family, seed, preemption=preemption)
        found = difference(scenario)
        option = " --preemption" if preemption else ""
        assert found is None, f"python -m tests.oracle.generate {family} {seed} 1{option}: {found}"
        compared += sum(len(step["cycles"]) for step in run(scenario))


@pytest.mark.parametrize(("family", "preemption"), CASES, ids=NAMES)
def test_some_scenarios(family: str, preemption: bool) -> None:
    compare(family, EVERYDAY_CYCLES // len(CASES), preemption=preemption)


@pytest.mark.bulk
@pytest.mark.parametrize(("family", "preemption"), CASES, ids=NAMES)
def test_many_scenarios(family: str, preemption: bool, bulk_cycles: int) -> None:
    compare(family, bulk_cycles // len(CASES), preemption=preemption)


# What the contended families are for: every reason to preempt must come up, or the comparison shows nothing.
REASONS = {
    False: {"InClusterQueue", "InCohortReclamation", "InCohortReclaimWhileBorrowing"},
    True: {"InClusterQueue", "InCohortReclamation", "InCohortFairSharing"},
}


@pytest.mark.parametrize("family", generate.CONTENDED_FAMILIES)
def test_a_contended_family_preempts_for_every_reason(family: str) -> None:
    want = REASONS[family.startswith("fair")]
    got: set[str] = set()
    for seed in range(100):
        for step in run(generate.scenario(family, seed)):
            got |= {one["reason"] for cycle in step["cycles"] for one in cycle.get("preempted", ())}
        if got == want:
            return
    assert got == want
