"""The engine and the slow oracle on the same scenario."""

import itertools
from typing import Any

from kueue_fast.sim.conformance import replay
from tests.oracle.scenario import normalise, run


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
