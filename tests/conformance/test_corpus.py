"""Kueue v0.19's own decisions on random clusters, cycle by cycle: data holds one file a family."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kueue_fast.errors import Unsupported
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
    "requests": 240,
    "stopping": 198,
}

# Families that need what is not built yet: how many scenarios match, and how many say what they lack.
ELASTIC = "elastic jobs (workload slices)"
NODES = "failing nodes"
TOPOLOGY = "topology-aware scheduling"
INCOMPLETE: dict[str, tuple[int, dict[str, int]]] = {
    "reports": (69, {TOPOLOGY: 29, ELASTIC: 2}),
    "slices": (0, {ELASTIC: 200}),
    "tas": (0, {TOPOLOGY: 200}),
    "tasbalanced": (0, {TOPOLOGY: 200}),
    "tasfailures": (0, {NODES: 215, TOPOLOGY: 5}),
    "tasgroups": (0, {TOPOLOGY: 200}),
    "tasnodes": (0, {TOPOLOGY: 200}),
    "taspreempt": (0, {TOPOLOGY: 200}),
    "tasslices": (0, {TOPOLOGY: 200}),
}


def scenarios(family: str) -> Iterator[dict[str, Any]]:
    for _, scenario in read_scenarios(DATA / f"{family}.jsonl.gz"):
        yield scenario


def difference(scenario: dict[str, Any]) -> str | None:
    found = first_difference(scenario["expect"], replay(scenario))
    return None if found is None else f"{scenario['name']}: {found}"


def test_every_file_is_compared() -> None:
    assert {path.name.removesuffix(".jsonl.gz") for path in DATA.iterdir()} == {*COMPLETE, *INCOMPLETE}


@pytest.mark.parametrize(("family", "want_count"), COMPLETE.items(), ids=COMPLETE.keys())
def test_a_complete_family_matches_to_the_last_scenario(family: str, want_count: int) -> None:
    results = [difference(scenario) for scenario in scenarios(family)]
    assert [result for result in results if result] == []
    assert len(results) == want_count


@pytest.mark.parametrize("family", INCOMPLETE)
def test_an_incomplete_family_names_what_it_lacks(family: str) -> None:
    """A scenario that lacks something is refused before it decides anything, so that none matches by accident."""
    want_matched, want_unsupported = INCOMPLETE[family]
    matched = 0
    unsupported: Counter[str] = Counter()
    failures = []
    for scenario in scenarios(family):
        try:
            found = difference(scenario)
        except Unsupported as reason:
            unsupported[str(reason)] += 1
            continue
        if found is not None:
            failures.append(found)
        matched += found is None
    assert failures == []
    assert unsupported == want_unsupported
    assert matched == want_matched
