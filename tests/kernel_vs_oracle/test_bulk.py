"""The engine against the slow oracle on seeded random scenarios.

KUEUE_FAST_BULK_CYCLES says how many cycles `-m bulk` compares; each family gets its share. To look into a failure:
`python -m tests.oracle.generate FAMILY SEED 1` prints the scenario.
"""

import itertools
from typing import Any

import pytest

from kueue_fast.sim.conformance import replay
from tests.oracle import generate
from tests.oracle.scenario import normalise, run

EVERYDAY_CYCLES = 1_000


def difference(scenario: dict[str, Any]) -> str | None:
    """In words, where engine and oracle part first."""
    pairs = itertools.zip_longest(map(normalise, replay(scenario)), map(normalise, run(scenario)))
    for number, (got, want) in enumerate(pairs):
        if got == want:
            continue
        if got is None or want is None:
            return f"step {number}: the engine has {got}, the oracle {want}"
        cycles = itertools.zip_longest(got.pop("cycles"), want.pop("cycles"))
        for cycle, (got_cycle, want_cycle) in enumerate(cycles):
            if got_cycle != want_cycle:
                return (
                    f"step {number}, cycle {cycle}: the engine decides {got_cycle}, the oracle {want_cycle}"
                )
        return f"step {number}: the engine ends with {got}, the oracle with {want}"
    return None


def compare(family: str, cycles: int, *, preemption: bool = False) -> None:
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


@pytest.mark.parametrize("family", generate.FAMILIES)
def test_some_scenarios(family: str) -> None:
    compare(family, EVERYDAY_CYCLES // len(generate.FAMILIES))


@pytest.mark.bulk
@pytest.mark.parametrize("family", generate.FAMILIES)
def test_many_scenarios(family: str, bulk_cycles: int) -> None:
    compare(family, bulk_cycles // len(generate.FAMILIES))
