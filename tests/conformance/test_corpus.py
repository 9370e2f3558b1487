"""Kueue v0.19's own decisions on random clusters, cycle by cycle: data holds one file a family."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kueue_fast.sim.conformance import replay
from kueue_fast.sim.conformance_compare import first_difference
from kueue_fast.sim.conformance_report import read_scenarios

DATA = Path(__file__).parent / "data"

# Scenarios of each family: all match, none is unsupported.
COMPLETE = {
    "churn": 199,
    "cohort": 200,
    "fair": 194,
    "fairpressure": 109,
    "flavors": 200,
    "gates": 188,
    "hierarchy": 196,
    "partial": 198,
    "preempt": 199,
    "pressure": 194,
    "reports": 100,
    "requests": 240,
    "slices": 200,
    "stopping": 198,
    "tas": 200,
    "tasbalanced": 200,
    "tasfailures": 220,
    "tasgroups": 200,
    "tasnodes": 200,
    "taspreempt": 200,
    "tasslices": 200,
}


def scenarios(family: str) -> Iterator[dict[str, Any]]:
    for _, scenario in read_scenarios(DATA / f"{family}.jsonl.gz"):
        yield scenario


def difference(scenario: dict[str, Any]) -> str | None:
    found = first_difference(scenario["expect"], replay(scenario))
    return None if found is None else f"{scenario['name']}: {found}"


def test_every_file_is_compared() -> None:
    assert {path.name.removesuffix(".jsonl.gz") for path in DATA.iterdir()} == set(COMPLETE)


@pytest.mark.parametrize(("family", "want_count"), COMPLETE.items(), ids=COMPLETE.keys())
def test_a_complete_family_matches_to_the_last_scenario(family: str, want_count: int) -> None:
    results = [difference(scenario) for scenario in scenarios(family)]
    assert [result for result in results if result] == []
    assert len(results) == want_count
