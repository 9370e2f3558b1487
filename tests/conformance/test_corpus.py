"""Kueue v0.19's own decisions on random clusters, cycle by cycle: data holds one file a family."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from kueue_fast.sim.conformance import replay
from kueue_fast.sim.conformance_compare import first_difference
from kueue_fast.sim.conformance_report import read_scenarios

DATA = Path(__file__).parent / "data"

# Scenarios of each family in which no ClusterQueue allows preemption: all must match, none may be unsupported.
WITHOUT_PREEMPTION = {"flavors": 200, "requests": 163, "cohort": 93, "partial": 109, "hierarchy": 64}


def allows_preemption(scenario: Mapping[str, Any]) -> bool:
    """Whether some ClusterQueue ever has a policy other than Never."""
    manifests = list(scenario["objects"])
    for step in scenario["steps"]:
        manifests += [*step.get("create", ()), *step.get("update", ())]
    policies = [
        manifest["spec"].get("preemption", {}).get(policy, "Never")
        for manifest in manifests
        if manifest["kind"] == "ClusterQueue"
        for policy in ("withinClusterQueue", "reclaimWithinCohort")
    ]
    return any(policy != "Never" for policy in policies)


@pytest.mark.parametrize(("family", "want_count"), WITHOUT_PREEMPTION.items(), ids=WITHOUT_PREEMPTION.keys())
def test_family_without_preemption(family: str, want_count: int) -> None:
    count = 0
    failures = []
    for _, scenario in read_scenarios(DATA / f"{family}.jsonl.gz"):
        if allows_preemption(scenario):
            continue
        count += 1
        difference = first_difference(scenario["expect"], replay(scenario))
        if difference:
            failures.append(f"{scenario['name']}: {difference}")
    assert not failures
    assert count == want_count
