"""The engine and the slow oracle on the same scenario."""

import itertools
import re
from functools import partial
from typing import Any

from kueue_fast.sim.conformance import replay
from tests.oracle.scenario import normalise, run

# A flavor in the words of an admission; reasons in brackets behind it are not compared.
CONSIDERED = re.compile(r"([\w.-]+)\((NoFit|Fit|preemptionMode=\w+)(?:;borrow=(\d+))?")
compared = partial(normalise, considered=True)


def decisions(scenario: dict[str, Any]) -> list[dict[str, Any]]:
    """Those of the engine, with the flavors that it considered as the oracle gives them."""
    steps = replay(scenario, considered=True)
    for step in steps:
        for cycle in step["cycles"]:
            for admission in cycle.get("admitted", ()):
                found = CONSIDERED.findall(admission["considered"])
                admission["considered"] = [(flavor, mode, int(borrow or 0)) for flavor, mode, borrow in found]
    return steps


def difference(scenario: dict[str, Any]) -> str | None:
    """In words, where engine and oracle part first."""
    pairs = itertools.zip_longest(map(compared, decisions(scenario)), map(compared, run(scenario)))
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
