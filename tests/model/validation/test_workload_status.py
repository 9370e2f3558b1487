"""Status of Workloads: what is refused on create."""

from typing import Any

import pytest

from tests.model.validation.objects import DROP, V1BETA2, Changes, changed, errors


def condition(kind: str, status: str = "True", **fields: Any) -> dict[str, Any]:
    time = "2026-01-01T00:00:00Z"
    return {"type": kind, "status": status, "reason": "Because", "lastTransitionTime": time, **fields}


def assignment(name: str = "main", **fields: Any) -> dict[str, Any]:
    return {"name": name, "flavors": {"cpu": "rf"}, "resourceUsage": {"cpu": "2"}, "count": 2, **fields}


def check(name: str = "ac", **fields: Any) -> dict[str, Any]:
    return {"name": name, "state": "Ready", "lastTransitionTime": "2026-01-01T00:00:00Z", **fields}


WORKLOAD = {
    "apiVersion": V1BETA2,
    "kind": "Workload",
    "metadata": {"name": "w", "namespace": "ns"},
    "spec": {"queueName": "lq", "podSets": [{"name": "main", "count": 2, "template": {}}]},
    "status": {
        "conditions": [condition("QuotaReserved")],
        "admission": {"clusterQueue": "cq", "podSetAssignments": [assignment()]},
    },
}
ASSIGNMENT = "status.admission.podSetAssignments.0"
ASSIGNMENT_PATH = "status.admission.podSetAssignments[0]"
UPDATE_PATH = "status.admissionChecks[0].podSetUpdates[0]"

CASES: dict[str, tuple[Changes, list[str]]] = {
    "a reservation with its admission": ({}, []),
    "a reservation without an admission": ({"status.admission": DROP}, ["status.admission: Required value"]),
    "no reservation and no admission": (
        {"status.admission": DROP, "status.conditions": [condition("QuotaReserved", "False")]},
        [],
    ),
    "fewer assignments than pod sets": (
        {"status.admission.podSetAssignments": []},
        ["status.admission.podSetAssignments: Invalid value"],
    ),
    "an assignment of an unknown pod set": (
        {f"{ASSIGNMENT}.name": "other"},
        [f"{ASSIGNMENT_PATH}.name: Not found"],
    ),
    "a usage that the count does not divide": (
        {f"{ASSIGNMENT}.resourceUsage": {"cpu": "1m"}},
        [f"{ASSIGNMENT_PATH}.resourceUsage[cpu]: Invalid value"],
    ),
    "cpu is divided in milli-units": ({f"{ASSIGNMENT}.resourceUsage": {"cpu": "1"}}, []),
    "no count, nothing to divide by": (
        {f"{ASSIGNMENT}.resourceUsage": {"cpu": "1m"}, f"{ASSIGNMENT}.count": DROP},
        [],
    ),
    "an empty ClusterQueue and a bad flavor": (
        {"status.admission.clusterQueue": "", f"{ASSIGNMENT}.flavors": {"cpu": "A"}},
        ["status.admission.clusterQueue: Invalid value", f"{ASSIGNMENT_PATH}.flavors[cpu]: Invalid value"],
    ),
    "a condition twice, of bad status, reason and time": (
        {
            "status.conditions": [
                condition("A", "False"),
                condition("A", "Yes", reason="9", lastTransitionTime=None),
            ],
        },
        [
            "status.conditions[1].type: Duplicate value",
            "status.conditions[1].status: Unsupported value",
            "status.conditions[1].lastTransitionTime: Required value",
            "status.conditions[1].reason: Invalid value",
        ],
    ),
    "seventeen conditions": (
        {"status.conditions": [condition(f"T{index}") for index in range(17)]},
        ["status.conditions: Too many"],
    ),
    "reclaimable pods within the count": ({"status.reclaimablePods": [{"name": "main", "count": 2}]}, []),
    "more reclaimable pods than pods, and of an unknown pod set": (
        {"status.reclaimablePods": [{"name": "main", "count": 3}, {"name": "other", "count": 1}]},
        [
            "status.reclaimablePods[main].count: Invalid value",
            "status.reclaimablePods[other].name: Unsupported value",
        ],
    ),
    "an update of a pod set by a check": (
        {"status.admissionChecks": [check(podSetUpdates=[{"name": "main", "nodeSelector": {"a": "b"}}])]},
        [],
    ),
    "an update with everything wrong": (
        {
            "status.admissionChecks": [
                check(
                    podSetUpdates=[
                        {
                            "name": "other",
                            "labels": {"@abc": "x"},
                            "annotations": {"@abc": "x"},
                            "nodeSelector": {"@abc": "x"},
                            "tolerations": [{"key": "@abc", "operator": "Exists"}],
                        }
                    ]
                )
            ]
        },
        [
            f"{UPDATE_PATH}.name: Unsupported value",
            f"{UPDATE_PATH}.tolerations[0].key: Invalid value",
            f"{UPDATE_PATH}.annotations: Invalid value",
            f"{UPDATE_PATH}.nodeSelector: Invalid value",
            f"{UPDATE_PATH}.labels: Invalid value",
        ],
    ),
    "checks: nine, one twice, an unknown state": (
        {
            "status.admissionChecks": [check(f"a{index % 8}") for index in range(8)]
            + [check("a0", state="Maybe")]
        },
        [
            "status.admissionChecks: Too many",
            "status.admissionChecks[8].name: Duplicate value",
            "status.admissionChecks[8].state: Unsupported value",
        ],
    ),
    "a cluster beside nominated ones": (
        {"status.clusterName": "a", "status.nominatedClusterNames": ["a"]},
        ["status: Invalid value"],
    ),
    "nine unhealthy nodes": (
        {"status.unhealthyNodes": [{"name": f"n{index}"} for index in range(9)]},
        ["status.unhealthyNodes: Too many"],
    ),
    "a negative requeue count": (
        {"status.requeueState.count": -1},
        ["status.requeueState.count: Invalid value"],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_status(case: str) -> None:
    changes, want = CASES[case]
    assert errors(changed(WORKLOAD, changes)) == want
