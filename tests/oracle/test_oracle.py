"""The oracle against what upstream decided: a sample of the corpus every day, all of it with `-m bulk`."""

import gzip
import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.oracle.scenario import normalise, run, unsupported

DATA = Path(__file__).parent.parent / "conformance" / "data"
# Families of which every scenario must be supported, then those of which only a part is.
WHOLE = (
    "flavors",
    "requests",
    "cohort",
    "partial",
    "hierarchy",
    "preempt",
    "pressure",
    "churn",
    "fair",
    "fairpressure",
    "stopping",
    "gates",
)
PARTLY = ("reports",)
SAMPLE = 12


def corpus(family: str) -> Iterator[dict[str, Any]]:
    with gzip.open(DATA / f"{family}.jsonl.gz", "rt") as lines:
        yield from map(json.loads, lines)


def check(scenario: dict[str, Any]) -> None:
    for number, (step, want) in enumerate(zip(run(scenario), scenario["expect"], strict=True)):
        assert normalise(step) == normalise(want), f"{scenario['name']}, step {number}"


@pytest.mark.parametrize("family", WHOLE + PARTLY)
def test_sample_of_the_corpus(family: str) -> None:
    supported = (scenario for scenario in corpus(family) if unsupported(scenario) is None)
    for scenario in itertools.islice(supported, SAMPLE):
        check(scenario)


@pytest.mark.bulk
@pytest.mark.parametrize("family", WHOLE + PARTLY)
def test_all_of_the_corpus(family: str) -> None:
    for scenario in corpus(family):
        reason = unsupported(scenario)
        assert reason is None or family in PARTLY, f"{scenario['name']} is unsupported: {reason}"
        if reason is None:
            check(scenario)


@pytest.mark.parametrize(
    ("family", "want_reason"),
    [
        ("tas", "kind Topology"),
        ("slices", "feature gate ElasticJobsViaWorkloadSlices"),
    ],
)
def test_what_is_missing_is_named(family: str, want_reason: str) -> None:
    scenario = next(corpus(family))
    assert unsupported(scenario) == want_reason
    with pytest.raises(ValueError, match=want_reason):
        run(scenario)
