"""ClusterQueues and cohorts: what is refused on create."""

from typing import Any

import pytest

from tests.model.validation.objects import DROP, V1BETA1, V1BETA2, Changes, changed, errors, messages


def quota(name: str = "cpu", **fields: Any) -> dict[str, Any]:
    return {"name": name, "nominalQuota": "5", **fields}


def group(
    flavors: list[str], covered: list[str] | None = None, resources: list[dict[str, Any]] | None = None
) -> dict[str, Any]:
    covered = ["cpu"] if covered is None else covered
    resources = [quota(name) for name in covered] if resources is None else resources
    return {
        "coveredResources": covered,
        "flavors": [{"name": flavor, "resources": resources} for flavor in flavors],
    }


CLUSTER_QUEUE = {
    "apiVersion": V1BETA2,
    "kind": "ClusterQueue",
    "metadata": {"name": "cq"},
    "spec": {"namespaceSelector": {}, "resourceGroups": [group(["rf"])]},
}
COHORT = {
    "apiVersion": V1BETA2,
    "kind": "Cohort",
    "metadata": {"name": "co"},
    "spec": {"resourceGroups": [group(["rf"])]},
}
GROUP = "spec.resourceGroups[0]"
QUOTA = "spec.resourceGroups.0.flavors.0.resources.0"
QUOTA_PATH = "spec.resourceGroups[0].flavors[0].resources[0]"
CONCURRENT = "spec.concurrentAdmissionPolicy.migration"
ON_FLAVORS = "spec.admissionChecksStrategy.admissionChecks[0].onFlavors"


def strategy(*flavors: str) -> dict[str, Any]:
    return {"admissionChecks": [{"name": "ac", "onFlavors": list(flavors)}]}


VALID: dict[str, Changes] = {
    "a plain one": {},
    "no spec at all": {"spec": DROP},
    "limits in a cohort": {
        "spec.cohortName": "co",
        f"{QUOTA}.borrowingLimit": "0",
        f"{QUOTA}.lendingLimit": "5",
    },
    "huge quotas": {f"{QUOTA}.nominalQuota": "9223372036854775808"},
    "any order of groups, one flavor each": {
        "spec.resourceGroups": [group(["a"]), group(["b"], ["memory", "example.com/gpu"])]
    },
    "no resource groups": {"spec.resourceGroups": []},
    "no queueing strategy": {"spec.queueingStrategy": None},
    "reclaiming with borrowing": {
        "spec.preemption": {
            "reclaimWithinCohort": "LowerPriority",
            "borrowWithinCohort": {"policy": "LowerPriority", "maxPriorityThreshold": 5},
        }
    },
    "never reclaiming, never borrowing": {
        "spec.preemption": {"reclaimWithinCohort": "Never", "borrowWithinCohort": {"policy": "Never"}}
    },
    "a threshold without a policy": {
        "spec.preemption": {"borrowWithinCohort": {"maxPriorityThreshold": -(2**31)}}
    },
    "a threshold at the end of its range": {
        "spec.preemption": {
            "reclaimWithinCohort": "Any",
            "borrowWithinCohort": {"policy": "LowerPriority", "maxPriorityThreshold": 2**31 - 1},
        }
    },
    "a weight beyond 64 bits": {"spec.fairSharing.weight": "1e30"},
    "a preference among next flavors": {
        "spec.flavorFungibility": {
            "whenCanBorrow": "TryNextFlavor",
            "whenCanPreempt": "TryNextFlavor",
            "preference": "PreemptionOverBorrowing",
        }
    },
    "a preference, whenCanPreempt by default": {
        "spec.flavorFungibility": {"whenCanBorrow": "TryNextFlavor", "preference": "PreemptionOverBorrowing"}
    },
    "weights of 0, 2n and a fraction": {"spec.fairSharing.weight": "2n"},
    "checks on flavors of the queue": {"spec.admissionChecksStrategy": strategy("rf")},
    "checks on all flavors": {"spec.admissionChecksStrategy": strategy()},
    "concurrent admission while the gate is off": {
        "spec.queueingStrategy": "StrictFIFO",
        f"{CONCURRENT}.mode": "TryPreferredFlavors",
    },
}


@pytest.mark.parametrize("case", VALID)
def test_valid(case: str) -> None:
    assert errors(changed(CLUSTER_QUEUE, VALID[case])) == []


INVALID: dict[str, tuple[Changes, list[str]]] = {
    "a negative quota": ({f"{QUOTA}.nominalQuota": "-1"}, [f"{QUOTA_PATH}.nominalQuota: Invalid value"]),
    "a quota that cannot be read": (
        {f"{QUOTA}.nominalQuota": "1x"},
        [f"{QUOTA_PATH}.nominalQuota: Invalid value"],
    ),
    "limits without a cohort": (
        {f"{QUOTA}.borrowingLimit": "1", f"{QUOTA}.lendingLimit": "1"},
        [f"{QUOTA_PATH}.borrowingLimit: Invalid value", f"{QUOTA_PATH}.lendingLimit: Invalid value"],
    ),
    "negative limits": (
        {"spec.cohortName": "co", f"{QUOTA}.borrowingLimit": "-1", f"{QUOTA}.lendingLimit": "-1"},
        [f"{QUOTA_PATH}.borrowingLimit: Invalid value", f"{QUOTA_PATH}.lendingLimit: Invalid value"],
    ),
    "lending more than the nominal quota": (
        {"spec.cohortName": "co", f"{QUOTA}.lendingLimit": "5001m"},
        [f"{QUOTA_PATH}.lendingLimit: Invalid value"],
    ),
    "resources in another order than covered": (
        {"spec.resourceGroups.0": group(["rf"], ["cpu", "memory"], [quota("memory"), quota("cpu")])},
        [f"{QUOTA_PATH}.name: Invalid value", f"{GROUP}.flavors[0].resources[1].name: Invalid value"],
    ),
    "fewer resources than covered": (
        {"spec.resourceGroups.0": group(["rf"], ["cpu", "memory"], [quota("cpu")])},
        [f"{GROUP}.flavors[0].resources: Invalid value"],
    ),
    "more resources than covered": (
        {"spec.resourceGroups.0": group(["rf"], ["cpu"], [quota("cpu"), quota("memory")])},
        [f"{GROUP}.flavors[0].resources: Invalid value"],
    ),
    "no flavors, nothing covered": (
        {"spec.resourceGroups.0": {"coveredResources": [], "flavors": []}},
        [f"{GROUP}.coveredResources: Required value", f"{GROUP}.flavors: Required value"],
    ),
    "a flavor in two groups": (
        {"spec.resourceGroups": [group(["rf"]), group(["rf"], ["memory"])]},
        ["spec.resourceGroups[1].flavors[0].name: Duplicate value"],
    ),
    "a flavor twice in one group": (
        {"spec.resourceGroups": [group(["rf", "rf"])]},
        [f"{GROUP}.flavors[1].name: Duplicate value"],
    ),
    "a resource in two groups": (
        {"spec.resourceGroups": [group(["a"]), group(["b"])]},
        ["spec.resourceGroups[1].coveredResources[0]: Duplicate value"],
    ),
    "a resource that is no label key": (
        {"spec.resourceGroups.0": group(["rf"], ["@cpu"])},
        [f"{GROUP}.coveredResources[0]: Invalid value"],
    ),
    "a flavor that is no name": (
        {"spec.resourceGroups": [group(["RF"])]},
        [f"{GROUP}.flavors[0].name: Invalid value"],
    ),
    "seventeen groups": (
        {"spec.resourceGroups": [group([f"f{index}"], [f"r{index}"]) for index in range(17)]},
        ["spec.resourceGroups: Too many"],
    ),
    "65 flavors in a group": (
        {"spec.resourceGroups": [group([f"f{index}" for index in range(65)])]},
        [f"{GROUP}.flavors: Too many"],
    ),
    "257 flavors over all groups": (
        {
            "spec.resourceGroups": [
                group([f"f{number}-{index}" for index in range(64 if number < 4 else 1)], [f"r{number}"])
                for number in range(5)
            ]
        },
        ["spec.resourceGroups: Invalid value"],
    ),
    "257 resources over all groups": (
        {
            "spec.resourceGroups": [
                group([f"f{number}"], [f"r{number}-{index}" for index in range(64 if number < 4 else 1)])
                for number in range(5)
            ]
        },
        ["spec.resourceGroups: Invalid value"],
    ),
    "513 pairs of flavor and resource in a group": (
        {
            "spec.resourceGroups": [
                group([f"f{index}" for index in range(27)], [f"r{index}" for index in range(19)])
            ]
        },
        [f"{GROUP}: Invalid value"],
    ),
    "an unknown value of each list": (
        {
            "spec.queueingStrategy": "FIFO",
            "spec.stopPolicy": "Stop",
            "spec.preemption": {
                "reclaimWithinCohort": "Maybe",
                "withinClusterQueue": "Maybe",
                "borrowWithinCohort": {"policy": "Never"},
            },
            "spec.flavorFungibility": {"whenCanBorrow": "Borrow", "whenCanPreempt": "Preempt"},
            "spec.admissionScope.admissionMode": "Fair",
        },
        [
            "spec.queueingStrategy: Unsupported value",
            "spec.preemption.reclaimWithinCohort: Unsupported value",
            "spec.preemption.withinClusterQueue: Unsupported value",
            "spec.flavorFungibility.whenCanBorrow: Unsupported value",
            "spec.flavorFungibility.whenCanPreempt: Unsupported value",
            "spec.stopPolicy: Unsupported value",
            "spec.admissionScope.admissionMode: Unsupported value",
        ],
    ),
    "a preference while the search may stop": (
        {
            "spec.flavorFungibility": {
                "whenCanBorrow": "TryNextFlavor",
                "whenCanPreempt": "MayStopSearch",
                "preference": "PreemptionOverBorrowing",
            }
        },
        ["spec.flavorFungibility.preference: Invalid value"],
    ),
    "a preference, whenCanBorrow by default": (
        {"spec.flavorFungibility": {"preference": "BorrowingOverPreemption"}},
        ["spec.flavorFungibility.preference: Invalid value"],
    ),
    "an unknown preference": (
        {"spec.flavorFungibility": {"whenCanBorrow": "TryNextFlavor", "preference": "Cheapest"}},
        ["spec.flavorFungibility.preference: Unsupported value"],
    ),
    "never reclaiming but borrowing": (
        {
            "spec.preemption": {
                "reclaimWithinCohort": "Never",
                "borrowWithinCohort": {"policy": "LowerPriority"},
            }
        },
        ["spec.preemption: Invalid value"],
    ),
    "borrowing, reclaiming by default": (
        {"spec.preemption": {"borrowWithinCohort": {"policy": "LowerPriority"}}},
        ["spec.preemption: Invalid value"],
    ),
    "a negative weight": ({"spec.fairSharing.weight": "-1"}, ["spec.fairSharing: Invalid value"]),
    "a weight of 1n": ({"spec.fairSharing.weight": "1n"}, ["spec.fairSharing: Invalid value"]),
    "a weight that cannot be read": (
        {"spec.fairSharing.weight": "much"},
        ["spec.fairSharing.weight: Invalid value"],
    ),
    "an empty cohort name": ({"spec.cohortName": ""}, ["spec.cohortName: Invalid value"]),
    "a check on an unknown flavor": (
        {"spec.admissionChecksStrategy": strategy("rf", "other")},
        [f"{ON_FLAVORS}[1]: Unsupported value"],
    ),
    "a check on a flavor twice": (
        {"spec.admissionChecksStrategy": strategy("rf", "rf")},
        [f"{ON_FLAVORS}[1]: Duplicate value"],
    ),
    "a strategy without checks": (
        {"spec.admissionChecksStrategy": {"admissionChecks": []}},
        ["spec.admissionChecksStrategy.admissionChecks: Required value"],
    ),
    "a namespace selector with everything wrong": (
        {
            "spec.namespaceSelector": {
                "matchLabels": {"a": "@"},
                "matchExpressions": [
                    {"key": "a", "operator": "In"},
                    {"key": "@", "operator": "Exists", "values": ["a"]},
                    {"key": "a", "operator": "Gt", "values": ["@"]},
                ],
            }
        },
        [
            "spec.namespaceSelector.matchLabels: Invalid value",
            "spec.namespaceSelector.matchExpressions[0].values: Required value",
            "spec.namespaceSelector.matchExpressions[1].values: Forbidden",
            "spec.namespaceSelector.matchExpressions[1].key: Invalid value",
            "spec.namespaceSelector.matchExpressions[2].operator: Invalid value",
            "spec.namespaceSelector.matchExpressions[2].values[0]: Invalid value",
        ],
    ),
    "a migration without a mode": (
        {"spec.concurrentAdmissionPolicy": {"migration": {}}},
        [f"{CONCURRENT}.mode: Required value"],
    ),
}


@pytest.mark.parametrize("case", INVALID)
def test_invalid(case: str) -> None:
    changes, want = INVALID[case]
    assert errors(changed(CLUSTER_QUEUE, changes)) == want


CONCURRENT_CASES: dict[str, tuple[Changes, list[str]]] = {
    "one group, its last acceptable flavor": (
        {CONCURRENT: {"mode": "TryPreferredFlavors", "constraints": {"lastAcceptableFlavorName": "rf"}}},
        [],
    ),
    "two groups": (
        {
            CONCURRENT: {"mode": "RetainFirstAdmission"},
            "spec.resourceGroups": [group(["a"]), group(["b"], ["memory"])],
        },
        ["spec.resourceGroups: Invalid value"],
    ),
    "seventeen flavors": (
        {
            CONCURRENT: {"mode": "RetainFirstAdmission"},
            "spec.resourceGroups": [group([f"f{index}" for index in range(17)])],
        },
        ["spec.resourceGroups[0].flavors: Invalid value"],
    ),
    "constraints of the other mode": (
        {CONCURRENT: {"mode": "RetainFirstAdmission", "constraints": {}}},
        [f"{CONCURRENT}.constraints: Forbidden"],
    ),
    "an unknown last flavor": (
        {CONCURRENT: {"mode": "TryPreferredFlavors", "constraints": {"lastAcceptableFlavorName": "a"}}},
        [f"{CONCURRENT}.constraints.lastAcceptableFlavorName: Invalid value"],
    ),
    "strict order": (
        {CONCURRENT: {"mode": "TryPreferredFlavors"}, "spec.queueingStrategy": "StrictFIFO"},
        ["spec.queueingStrategy: Invalid value"],
    ),
}


@pytest.mark.parametrize("case", CONCURRENT_CASES)
def test_concurrent_admission(case: str) -> None:
    changes, want = CONCURRENT_CASES[case]
    assert errors(changed(CLUSTER_QUEUE, changes), {"ConcurrentAdmission": True}) == want


V1BETA1_CASES: dict[str, tuple[Changes, list[str]]] = {
    "old names of fungibility": (
        {"spec.flavorFungibility": {"whenCanBorrow": "Borrow", "whenCanPreempt": "Preempt"}},
        [],
    ),
    "old names in the wrong places": (
        {"spec.flavorFungibility": {"whenCanBorrow": "Preempt", "whenCanPreempt": "Borrow"}},
        [
            "spec.flavorFungibility.whenCanBorrow: Unsupported value",
            "spec.flavorFungibility.whenCanPreempt: Unsupported value",
        ],
    ),
    "limits in a cohort by its old name": ({"spec.cohort": "co", f"{QUOTA}.borrowingLimit": "1"}, []),
    "a bad cohort name": ({"spec.cohort": "A"}, ["spec.cohort: Invalid value"]),
    "65 checks": (
        {
            "spec.admissionChecksStrategy": {
                "admissionChecks": [{"name": f"ac{index}"} for index in range(65)]
            }
        },
        [],
    ),
}


@pytest.mark.parametrize("case", V1BETA1_CASES)
def test_v1beta1(case: str) -> None:
    changes, want = V1BETA1_CASES[case]
    assert errors(changed(CLUSTER_QUEUE, {"apiVersion": V1BETA1, **changes})) == want


COHORTS: dict[str, tuple[Changes, list[str]]] = {
    "a plain one": ({}, []),
    "lending more than the nominal quota": ({"spec.parentName": "root", f"{QUOTA}.lendingLimit": "6"}, []),
    "limits without a parent": (
        {f"{QUOTA}.borrowingLimit": "1", f"{QUOTA}.lendingLimit": "1"},
        [f"{QUOTA_PATH}.borrowingLimit: Invalid value", f"{QUOTA_PATH}.lendingLimit: Invalid value"],
    ),
    "a negative weight": ({"spec.fairSharing.weight": "-1"}, ["spec.fairSharing: Invalid value"]),
    "an empty parent": ({"spec.parentName": ""}, ["spec.parentName: Invalid value"]),
    "more flavors than a ClusterQueue may have": (
        {
            "spec.resourceGroups": [
                group([f"f{number}-{index}" for index in range(64)], [f"r{number}"]) for number in range(5)
            ]
        },
        [],
    ),
}


@pytest.mark.parametrize("case", COHORTS)
def test_cohort(case: str) -> None:
    changes, want = COHORTS[case]
    assert errors(changed(COHORT, changes)) == want


def test_words_that_users_may_match() -> None:
    limits: Changes = {f"{QUOTA}.borrowingLimit": "1"}
    assert messages(changed(CLUSTER_QUEUE, limits)) == [
        f'{QUOTA_PATH}.borrowingLimit: Invalid value: "1": must be nil when cohort is empty'
    ]
    assert messages(changed(COHORT, limits)) == [
        f'{QUOTA_PATH}.borrowingLimit: Invalid value: "1": must be nil when parent is empty'
    ]
    lending: Changes = {"spec.cohortName": "co", f"{QUOTA}.lendingLimit": "6"}
    assert messages(changed(CLUSTER_QUEUE, lending)) == [
        f'{QUOTA_PATH}.lendingLimit: Invalid value: "6": must be less than or equal to the nominalQuota'
    ]


def test_policies_that_contradict_each_other_are_refused_in_upstreams_words() -> None:
    preemption = {"reclaimWithinCohort": "Never", "borrowWithinCohort": {"policy": "LowerPriority"}}
    (message,) = messages(changed(CLUSTER_QUEUE, {"spec.preemption": preemption}))
    assert message.startswith("spec.preemption: Invalid value: ")
    assert message.endswith(": reclaimWithinCohort=Never and borrowWithinCohort.Policy!=Never")
