"""Fair sharing in the simulator: turned on by the configuration, shares and weights in the output."""

import json
from typing import Any

import pytest

from kueue_fast.api.configuration import load_configuration
from kueue_fast.api.kueue import ClusterQueue, Cohort
from tests.sim.world import (
    SECOND,
    cluster_queue,
    cohort,
    flavor,
    job,
    local_queue,
    output,
    run,
)

RECLAIM = {"preemption": {"reclaimWithinCohort": "Any"}}
FAIR = b"""
apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
fairSharing: {}
"""


def sharing(weight_of_a: Any = 2) -> tuple[dict[str, Any], ...]:
    group = {"coveredResources": ["cpu"], "flavors": [{"name": "default", "resources": [QUOTA]}]}
    return (
        flavor("default"),
        cohort("lab", resourceGroups=[group]),
        cluster_queue(
            "a", {"default": {"cpu": 0}}, cohortName="lab", fairSharing={"weight": weight_of_a}, **RECLAIM
        ),
        cluster_queue("b", {"default": {"cpu": 0}}, cohortName="lab", **RECLAIM),
        local_queue("lq-a", "a"),
        local_queue("lq-b", "b"),
        *(job(f"a{n}", arrival=f"{n}s", queue="lq-a", run_time=None) for n in range(9)),
        *(job(f"b{n}", arrival=f"{60 + n}s", queue="lq-b", run_time=None) for n in range(9)),
    )


QUOTA = {"name": "cpu", "nominalQuota": 9}


def test_fair_sharing_gives_by_weight() -> None:
    configuration = load_configuration(FAIR, "config.yaml")
    result, simulation = run(*sharing(), configuration=configuration, until_ns=120 * SECOND)
    first, second = result.queues
    assert [each.resources[0].reserved for each in result.queues] == [6000, 3000]
    assert (first.weight, second.weight) == (2, 1)
    assert first.weighted_share == second.weighted_share == pytest.approx(1000 * 3 / 9)
    assert {row.reason for row in result.preemptions} == {"InCohortFairSharing"}
    stored: ClusterQueue | None = simulation.cluster.get("ClusterQueue", None, "a")
    assert stored is not None
    assert stored.status is not None
    assert stored.status.fair_sharing is not None
    assert stored.status.fair_sharing.weighted_share == 334
    lab: Cohort | None = simulation.cluster.get("Cohort", None, "lab")
    assert lab is not None
    assert lab.status is not None
    assert lab.status.fair_sharing is not None
    # The root lends to nobody above it.
    assert lab.status.fair_sharing.weighted_share == 0
    document, text = output(*sharing(), configuration=configuration, until_ns=120 * SECOND)
    shares = [each["fairSharing"] for each in json.loads(document)["clusterQueues"]]
    assert shares[0] == {"weight": 2, "weightedShare": pytest.approx(1000 * 3 / 9)}
    assert "Weight   Share" in text


def test_weight_0_while_borrowing_is_an_infinite_share() -> None:
    configuration = load_configuration(FAIR, "config.yaml")
    objects = sharing(0)[:8]
    result, simulation = run(*objects, configuration=configuration, until_ns=10 * SECOND)
    assert result.queues[0].weighted_share == float("inf")
    stored: ClusterQueue | None = simulation.cluster.get("ClusterQueue", None, "a")
    assert stored is not None
    assert stored.status is not None
    assert stored.status.fair_sharing is not None
    assert stored.status.fair_sharing.weighted_share == 2**63 - 1
    document, _ = output(*objects, configuration=configuration, until_ns=10 * SECOND)
    first = json.loads(document)["clusterQueues"][0]
    assert first["fairSharing"] == {"weight": 0, "weightedShare": "infinite"}


def test_without_the_section_weights_mean_nothing() -> None:
    result, simulation = run(*sharing(), until_ns=120 * SECOND)
    assert result.queues[0].weight is None
    assert result.preemptions == []
    stored: ClusterQueue | None = simulation.cluster.get("ClusterQueue", None, "a")
    assert stored is not None
    assert stored.status is not None
    assert stored.status.fair_sharing is None
