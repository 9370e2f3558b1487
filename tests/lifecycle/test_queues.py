"""Status of queues, and what they mean for a Workload that waits."""

from typing import Any

import msgspec
import pytest

from kueue_fast.api.kueue import ClusterQueue, Cohort, LocalQueue, Workload
from kueue_fast.lifecycle.queues import (
    Activity,
    QueueCounts,
    blocked,
    cluster_queue_status,
    cohort_status,
    local_queue_status,
    queue_blocker,
)
from kueue_fast.model import times

NOW = times.parse("2026-01-01T01:00:00Z")
READY = Activity(True, "Ready", "Can admit new workloads")
COUNTS = QueueCounts(4, 3, 2, {"b/cpu": 2500, "b/memory": 2**30}, {"b/cpu": 1500})
NOMINAL = {("b", "cpu"): 2000, ("b", "memory"): 2**31, ("a", "cpu"): 1000}


def cluster_queue(**spec: Any) -> ClusterQueue:
    groups = [
        {
            "coveredResources": ["memory", "cpu"],
            "flavors": [
                {
                    "name": "b",
                    "resources": [
                        {"name": "memory", "nominalQuota": "2Gi"},
                        {"name": "cpu", "nominalQuota": 2},
                    ],
                },
                {"name": "a", "resources": [{"name": "cpu", "nominalQuota": 1}]},
            ],
        }
    ]
    made = {"metadata": {"name": "cq", "generation": 3}, "spec": {"resourceGroups": groups, **spec}}
    return msgspec.convert(made, ClusterQueue)


def local_queue(**spec: Any) -> LocalQueue:
    made = {"metadata": {"name": "lq", "namespace": "ns"}, "spec": {"clusterQueue": "cq", **spec}}
    return msgspec.convert(made, LocalQueue)


def workload() -> Workload:
    return msgspec.convert({"metadata": {"name": "w"}, "spec": {"queueName": "lq"}}, Workload)


def test_cluster_queue_status_lists_every_pair_of_the_spec() -> None:
    got = cluster_queue_status(cluster_queue(cohortName="team"), READY, COUNTS, NOMINAL, NOW)
    assert got is not None
    assert msgspec.to_builtins(got.status) == {
        "conditions": [
            {
                "type": "Active",
                "status": "True",
                "reason": "Ready",
                "message": "Can admit new workloads",
                "lastTransitionTime": "2026-01-01T01:00:00Z",
                "observedGeneration": 3,
            }
        ],
        "flavorsReservation": [
            {
                "name": "b",
                "resources": [
                    {"name": "cpu", "total": "2500m", "borrowed": "500m"},
                    {"name": "memory", "total": "1Gi", "borrowed": "0"},
                ],
            },
            {"name": "a", "resources": [{"name": "cpu", "total": "0", "borrowed": "0"}]},
        ],
        "flavorsUsage": [
            {
                "name": "b",
                "resources": [
                    {"name": "cpu", "total": "1500m", "borrowed": "0"},
                    {"name": "memory", "total": "0", "borrowed": "0"},
                ],
            },
            {"name": "a", "resources": [{"name": "cpu", "total": "0", "borrowed": "0"}]},
        ],
        "pendingWorkloads": 4,
        "reservingWorkloads": 3,
        "admittedWorkloads": 2,
    }


def test_nothing_is_borrowed_without_a_cohort() -> None:
    got = cluster_queue_status(cluster_queue(), READY, COUNTS, NOMINAL, NOW)
    assert got is not None
    assert got.status is not None
    assert (got.status.flavors_reservation or [])[0].resources[0].borrowed == "0"  # type: ignore[index]


def test_the_same_status_again_is_not_written() -> None:
    once = cluster_queue_status(cluster_queue(), READY, COUNTS, NOMINAL, NOW)
    assert once is not None
    assert cluster_queue_status(once, READY, COUNTS, NOMINAL, NOW + 10**10) is None
    local = local_queue_status(local_queue(), once, True, COUNTS, NOW)
    assert local is not None
    assert local_queue_status(local, once, True, COUNTS, NOW + 10**10) is None


# status before, share, fair sharing; the share that is written, or None for no write
COHORTS: dict[str, tuple[dict[str, Any], float | None, bool, dict[str, Any] | None]] = {
    "rounded up": ({}, 333.4, True, {"fairSharing": {"weightedShare": 334}}),
    "infinite is the largest": ({}, float("inf"), True, {"fairSharing": {"weightedShare": 2**63 - 1}}),
    "the same share again": ({"fairSharing": {"weightedShare": 334}}, 333.4, True, None),
    "one in a cycle has none": ({"fairSharing": {"weightedShare": 1}}, None, True, None),
    "fair sharing was switched off": ({"fairSharing": {"weightedShare": 1}}, None, False, {}),
    "never on": ({}, None, False, None),
}


@pytest.mark.parametrize("case", COHORTS)
def test_cohort_status(case: str) -> None:
    before, share, fair_sharing, want_status = COHORTS[case]
    cohort = msgspec.convert({"metadata": {"name": "team"}, "spec": {}, "status": before}, Cohort)
    got = cohort_status(cohort, share, fair_sharing=fair_sharing)
    assert (None if got is None else msgspec.to_builtins(got.status)) == want_status


LOCAL: dict[str, tuple[dict[str, Any], bool, bool, str, str, int, int]] = {
    "active": ({}, True, True, "True", "Ready", 4, 3),
    "its own stop policy comes first": (
        {"stopPolicy": "Hold"},
        False,
        False,
        "False",
        "Stopped",
        0,
        3,
    ),
    "no ClusterQueue, no numbers": ({}, False, False, "False", "ClusterQueueDoesNotExist", 4, 0),
    "an inactive ClusterQueue": (
        {"stopPolicy": "None"},
        True,
        False,
        "False",
        "ClusterQueueIsInactive",
        4,
        3,
    ),
}


@pytest.mark.parametrize("case", LOCAL)
def test_local_queue_status(case: str) -> None:
    spec, exists, active, want_status, want_reason, want_pending, want_reserving = LOCAL[case]
    queue = cluster_queue() if exists else None
    got = local_queue_status(local_queue(**spec), queue, active, COUNTS, NOW)
    assert got is not None
    assert got.status is not None
    condition = (got.status.conditions or [])[0]
    assert (condition.status, condition.reason) == (want_status, want_reason)
    assert got.status.pending_workloads == want_pending
    assert got.status.reserving_workloads == want_reserving


HOLD = {"stopPolicy": "HoldAndDrain"}
BLOCKERS: dict[str, tuple[dict[str, Any] | None, bool, bool, tuple[str, str] | None]] = {
    "no LocalQueue": (None, True, True, ("Misconfigured", "LocalQueue lq doesn't exist")),
    "a stopped LocalQueue": (HOLD, True, True, ("Suspended", "LocalQueue lq is inactive")),
    "no ClusterQueue": ({}, False, False, ("Misconfigured", "ClusterQueue cq doesn't exist")),
    "an inactive ClusterQueue": ({}, True, False, ("Suspended", "ClusterQueue cq is inactive")),
    "nothing in the way": ({}, True, True, None),
}


@pytest.mark.parametrize("case", BLOCKERS)
def test_queue_blocker(case: str) -> None:
    spec, exists, active, want = BLOCKERS[case]
    local = None if spec is None else local_queue(**spec)
    assert queue_blocker(workload(), local, cluster_queue() if exists else None, active) == want


def test_a_blocked_workload_is_inadmissible() -> None:
    got = blocked(workload(), ("Suspended", "LocalQueue lq is inactive"), NOW)
    assert got is not None
    assert got.status is not None
    condition = (got.status.conditions or [])[0]
    assert (condition.type, condition.status) == ("QuotaReserved", "False")
    assert (condition.reason, condition.message) == ("Inadmissible", "LocalQueue lq is inactive")
    assert blocked(got, ("Suspended", "LocalQueue lq is inactive"), NOW) is None
