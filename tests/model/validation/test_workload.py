"""Workloads: what is refused on create."""

import json
from typing import Any

import pytest

from kueue_fast.api.decode import decode
from kueue_fast.api.kueue import Workload
from kueue_fast.model.features import FeatureGates
from kueue_fast.model.validation.workload import is_plain_workload
from tests.model.validation.objects import DROP, V1BETA1, V1BETA2, Changes, changed, errors, messages

CONTAINER = {"name": "c", "resources": {"requests": {"cpu": "1"}}}


def pod_set(name: str = "main", **fields: Any) -> dict[str, Any]:
    return {"name": name, "count": 2, "template": {"spec": {"containers": [CONTAINER]}}, **fields}


WORKLOAD = {
    "apiVersion": V1BETA2,
    "kind": "Workload",
    "metadata": {"name": "w", "namespace": "ns"},
    "spec": {"queueName": "lq", "podSets": [pod_set()]},
}
REQUESTS = "spec.podSets.0.template.spec.containers.0.resources.requests"
REQUESTS_PATH = "spec.podSets[0].template.spec.containers[0].resources.requests"
POD_SET = "spec.podSets.0"
TOPOLOGY = "spec.podSets.0.topologyRequest"
GATED_BY = "kueue.x-k8s.io/admission-gated-by"
BOOST = "kueue.x-k8s.io/priority-boost"
ELASTIC = {"metadata.annotations": {"kueue.x-k8s.io/elastic-job": "true"}}

VALID: dict[str, tuple[Changes, dict[str, bool]]] = {
    "a plain one": ({}, {}),
    "a pod set of no pods": ({f"{POD_SET}.count": 0}, {}),
    "eighteen pod sets": ({"spec.podSets": [pod_set(f"p{index}") for index in range(18)]}, {}),
    "no queue": ({"spec.queueName": DROP}, {}),
    "a workload priority class": (
        {
            "spec.priority": 5,
            "spec.priorityClassRef": {
                "group": "kueue.x-k8s.io",
                "kind": "WorkloadPriorityClass",
                "name": "p",
            },
        },
        {},
    ),
    "a pod priority class": (
        {
            "spec.priority": 5,
            "spec.priorityClassRef": {"group": "scheduling.k8s.io", "kind": "PriorityClass", "name": "p"},
        },
        {},
    ),
    "a template without a spec": ({f"{POD_SET}.template": {}}, {}),
    "a template with an empty list of containers": ({f"{POD_SET}.template.spec.containers": []}, {}),
    "one pod set with minCount": ({f"{POD_SET}.minCount": 2}, {}),
    "any minCount while partial admission is off": ({f"{POD_SET}.minCount": 9}, {"PartialAdmission": False}),
    "minCount in an elastic one while elastic jobs are off": (
        {f"{POD_SET}.minCount": 1, **ELASTIC},
        {"ElasticJobsViaWorkloadSlices": False},
    ),
    "a negative request while the gate is off": (
        {REQUESTS: {"cpu": "-1"}},
        {"WorkloadValidateResourcesAreNonNegative": False},
    ),
    "any label of a template while the gate is off": (
        {f"{POD_SET}.template.metadata": {"labels": {"@abc": "@"}}},
        {"WorkloadValidationForPodSetMetadata": False},
    ),
    "a slice size with its topology": (
        {TOPOLOGY: {"podSetSliceRequiredTopology": "rack", "podSetSliceSize": 2}},
        {},
    ),
    "admission gates": ({"metadata.annotations": {GATED_BY: "example.com/a, example.com/b"}}, {}),
    "an empty list of admission gates": ({"metadata.annotations": {GATED_BY: ""}}, {}),
    "any admission gate while the gate is off": (
        {"metadata.annotations": {GATED_BY: ",,"}},
        {"AdmissionGatedBy": False},
    ),
    "any priority boost while the gate is off": ({"metadata.annotations": {BOOST: "x"}}, {}),
    "a negative priority boost": ({"metadata.annotations": {BOOST: "-5"}}, {"PriorityBoost": True}),
    "a request as a number": ({REQUESTS: {"cpu": 2, "memory": 1.0}}, {}),
    "a huge request": ({REQUESTS: {"cpu": "9223372036854775808"}}, {}),
}


@pytest.mark.parametrize("case", VALID)
def test_valid(case: str) -> None:
    changes, gates = VALID[case]
    assert errors(changed(WORKLOAD, changes), gates) == []


INVALID: dict[str, tuple[Changes, dict[str, bool], list[str]]] = {
    "no pod sets": ({"spec.podSets": []}, {}, ["spec.podSets: Required value"]),
    "pod sets absent": ({"spec.podSets": DROP}, {}, ["spec.podSets: Required value"]),
    "nineteen pod sets": (
        {"spec.podSets": [pod_set(f"p{index}") for index in range(19)]},
        {},
        ["spec.podSets: Too many"],
    ),
    "two pod sets of one name": (
        {"spec.podSets": [pod_set("a"), pod_set("a")]},
        {},
        ["spec.podSets[1]: Duplicate value"],
    ),
    "two pod sets without a name": (
        {"spec.podSets": [{"template": {}}, {"template": {}}]},
        {},
        ["spec.podSets[1]: Duplicate value"],
    ),
    "a pod set with upper case letters": (
        {f"{POD_SET}.name": "Main"},
        {},
        ["spec.podSets[0].name: Invalid value"],
    ),
    "a pod set of 64 characters": (
        {f"{POD_SET}.name": "a" * 64},
        {},
        ["spec.podSets[0].name: Invalid value"],
    ),
    "a negative count": ({f"{POD_SET}.count": -1}, {}, ["spec.podSets[0].count: Invalid value"]),
    "minCount 0": ({f"{POD_SET}.minCount": 0}, {}, ["spec.podSets[0].minCount: Invalid value"]),
    "minCount over count": ({f"{POD_SET}.minCount": 3}, {}, ["spec.podSets[0]: Invalid value"]),
    "minCount over the default count of 1": (
        {f"{POD_SET}.minCount": 2, f"{POD_SET}.count": DROP},
        {},
        ["spec.podSets[0]: Invalid value"],
    ),
    "minCount in two pod sets": (
        {"spec.podSets": [pod_set("a", minCount=1), pod_set("b", minCount=1)]},
        {},
        ["spec.podSets: Invalid value"],
    ),
    "minCount in an elastic Workload": (
        {f"{POD_SET}.minCount": 1, **ELASTIC},
        {},
        ["spec.podSets: Invalid value"],
    ),
    "an empty queue name": ({"spec.queueName": ""}, {}, ["spec.queueName: Invalid value"]),
    "a queue name with an underscore": ({"spec.queueName": "a_b"}, {}, ["spec.queueName: Invalid value"]),
    "a priority class without a priority": (
        {"spec.priorityClassRef": {"group": "scheduling.k8s.io", "kind": "PriorityClass", "name": "p"}},
        {},
        ["spec.priority: Required value"],
    ),
    "a priority class of the other group": (
        {
            "spec.priority": 1,
            "spec.priorityClassRef": {"group": "kueue.x-k8s.io", "kind": "PriorityClass", "name": "p"},
        },
        {},
        ["spec.priorityClassRef: Invalid value"],
    ),
    "a priority class of unknown group and kind, without a name": (
        {"spec.priority": 1, "spec.priorityClassRef": {"group": "a", "kind": "b", "name": ""}},
        {},
        [
            "spec.priorityClassRef.name: Invalid value",
            "spec.priorityClassRef.group: Unsupported value",
            "spec.priorityClassRef.kind: Unsupported value",
        ],
    ),
    "an execution time of 0": (
        {"spec.maximumExecutionTimeSeconds": 0},
        {},
        ["spec.maximumExecutionTimeSeconds: Invalid value"],
    ),
    "nine preemption gates, one twice": (
        {"spec.preemptionGates": [{"name": f"g{index % 8}"} for index in range(9)]},
        {},
        ["spec.preemptionGates: Too many", "spec.preemptionGates[8].name: Duplicate value"],
    ),
    "a quantity that cannot be read": (
        {REQUESTS: {"cpu": "1x"}},
        {},
        [f"{REQUESTS_PATH}[cpu]: Invalid value"],
    ),
    "an unquoted fraction": ({REQUESTS: {"cpu": 0.5}}, {}, [f"{REQUESTS_PATH}[cpu]: Invalid value"]),
    "a suffix without a number": ({REQUESTS: {"cpu": "m"}}, {}, [f"{REQUESTS_PATH}[cpu]: Invalid value"]),
    "a negative request": ({REQUESTS: {"cpu": "-1"}}, {}, [f"{REQUESTS_PATH}[cpu]: Invalid value"]),
    "a negative limit of an init container": (
        {
            f"{POD_SET}.template.spec.initContainers": [
                {"name": "i", "resources": {"limits": {"memory": "-1Gi"}}}
            ]
        },
        {},
        ["spec.podSets[0].template.spec.initContainers[0].resources.limits[memory]: Invalid value"],
    ),
    "a request for pods": ({REQUESTS: {"pods": 1}}, {}, [f"{REQUESTS_PATH}[pods]: Invalid value"]),
    "a request for pods on the level of the pod": (
        {f"{POD_SET}.template.spec.resources": {"requests": {"pods": 1}}},
        {},
        ["spec.podSets[0].template.spec.resources.requests[pods]: Invalid value"],
    ),
    "no containers": (
        {f"{POD_SET}.template.spec": {"restartPolicy": "Never"}},
        {},
        ["spec.podSets[0].template.spec.containers: Required value"],
    ),
    "two containers of one name": (
        {f"{POD_SET}.template.spec.containers": [CONTAINER, CONTAINER]},
        {},
        ["spec.podSets[0].template.spec.containers[1].name: Duplicate value"],
    ),
    "a template with a field of another type": (
        {f"{POD_SET}.template.spec.containers": [{"name": 5}]},
        {},
        ["spec.podSets[0].template.spec.containers[0].name: Invalid value"],
    ),
    "a bad label of a template": (
        {f"{POD_SET}.template.metadata": {"labels": {"@abc": "x"}}},
        {},
        ["spec.podSets[0].template.metadata.labels: Invalid value"],
    ),
    "a bad annotation of a template": (
        {f"{POD_SET}.template.metadata": {"annotations": {"@abc": "x"}}},
        {},
        ["spec.podSets[0].template.metadata.annotations: Invalid value"],
    ),
    "topology names over their bounds": (
        {
            TOPOLOGY: {
                "required": "a" * 64,
                "preferred": "a" * 64,
                "podIndexLabel": "a" * 318,
                "podSetGroupName": "a" * 257,
            }
        },
        {},
        [
            "spec.podSets[0].topologyRequest.required: Too long",
            "spec.podSets[0].topologyRequest.preferred: Too long",
            "spec.podSets[0].topologyRequest.podIndexLabel: Too long",
            "spec.podSets[0].topologyRequest.podSetGroupName: Too long",
        ],
    ),
    "a slice topology without a size": (
        {TOPOLOGY: {"podSetSliceRequiredTopology": "rack"}},
        {},
        ["spec.podSets[0].topologyRequest.podSetSliceSize: Required value"],
    ),
    "a slice size without a topology": (
        {TOPOLOGY: {"podSetSliceSize": 1}},
        {},
        ["spec.podSets[0].topologyRequest.podSetSliceSize: Forbidden"],
    ),
    "a slice size of 0": (
        {TOPOLOGY: {"podSetSliceRequiredTopology": "rack", "podSetSliceSize": 0}},
        {},
        ["spec.podSets[0].topologyRequest.podSetSliceSize: Invalid value"],
    ),
    "four slice constraints, one of size 0": (
        {
            TOPOLOGY: {
                "podsetSliceRequiredTopologyConstraints": [
                    {"topology": "a", "size": size} for size in (8, 4, 2, 0)
                ]
            }
        },
        {},
        [
            "spec.podSets[0].topologyRequest.podsetSliceRequiredTopologyConstraints: Too many",
            "spec.podSets[0].topologyRequest.podsetSliceRequiredTopologyConstraints[3].size: Invalid value",
        ],
    ),
    "admission gates: empty, twice, no domain": (
        {"metadata.annotations": {GATED_BY: "example.com/a,,example.com/a,gate"}},
        {},
        [f"metadata.annotations[{GATED_BY}]: Invalid value"] * 3,
    ),
    "an admission gate of 64 characters": (
        {"metadata.annotations": {GATED_BY: "example.com/" + "a" * 52}},
        {},
        [f"metadata.annotations[{GATED_BY}]: Too long"],
    ),
    "an empty priority boost": (
        {"metadata.annotations": {BOOST: ""}},
        {"PriorityBoost": True},
        [f"metadata.annotations[{BOOST}]: Invalid value"],
    ),
    "a priority boost that int32 does not hold": (
        {"metadata.annotations": {BOOST: "2147483648"}},
        {"PriorityBoost": True},
        [f"metadata.annotations[{BOOST}]: Invalid value"],
    ),
    "a priority boost that is no number": (
        {"metadata.annotations": {BOOST: "1_0"}},
        {"PriorityBoost": True},
        [f"metadata.annotations[{BOOST}]: Invalid value"],
    ),
}


@pytest.mark.parametrize("case", INVALID)
def test_invalid(case: str) -> None:
    changes, gates, want = INVALID[case]
    assert errors(changed(WORKLOAD, changes), gates) == want


V1BETA1_CASES: dict[str, tuple[Changes, list[str]]] = {
    "nineteen pod sets: the same limit": (
        {"spec.podSets": [pod_set(f"p{index}") for index in range(19)]},
        ["spec.podSets: Too many"],
    ),
    "no pod sets": ({"spec.podSets": []}, ["spec.podSets: Required value"]),
    "topology names have no bounds": ({TOPOLOGY: {"required": "a" * 64}}, []),
    "a priority class without a priority": (
        {"spec.priorityClassName": "p", "spec.priorityClassSource": "scheduling.k8s.io/priorityclass"},
        ["spec.priority: Required value"],
    ),
    "seventeen conditions": (
        {
            "status.conditions": [
                {
                    "type": f"T{index}",
                    "status": "True",
                    "reason": "R",
                    "lastTransitionTime": "2026-01-01T00:00:00Z",
                }
                for index in range(17)
            ]
        },
        [],
    ),
}


@pytest.mark.parametrize("case", V1BETA1_CASES)
def test_v1beta1(case: str) -> None:
    changes, want = V1BETA1_CASES[case]
    assert errors(changed(WORKLOAD, {"apiVersion": V1BETA1, **changes})) == want


MESSAGES: dict[str, tuple[Changes, str]] = {
    "a bad quantity: path, text, what is expected": (
        {REQUESTS: {"cpu": "1x"}},
        f'{REQUESTS_PATH}[cpu]: Invalid value: "1x": is not a quantity: expected a number with an optional'
        " suffix (n, u, m, k, M, G, T, P, E, Ki, Mi, Gi, Ti, Pi, Ei) or exponent, such as 500m, 2 or 4Gi",
    ),
    "a negative request": (
        {REQUESTS: {"cpu": "-1"}},
        f'{REQUESTS_PATH}[cpu]: Invalid value: "-1": must be greater than or equal to 0',
    ),
    "too many pod sets": (
        {"spec.podSets": [pod_set(f"p{index}") for index in range(19)]},
        "spec.podSets: Too many: 19: must have at most 18 items",
    ),
    "no pod sets": ({"spec.podSets": []}, "spec.podSets: Required value: must have at least 1 item"),
    "an unknown kind of priority class": (
        {
            "spec.priority": 1,
            "spec.priorityClassRef": {"group": "kueue.x-k8s.io", "kind": "Class", "name": "p"},
        },
        'spec.priorityClassRef.kind: Unsupported value: "Class": supported values: "WorkloadPriorityClass",'
        ' "PriorityClass"',
    ),
}


@pytest.mark.parametrize("case", MESSAGES)
def test_message(case: str) -> None:
    changes, want = MESSAGES[case]
    assert messages(changed(WORKLOAD, changes)) == [want]


def test_the_shortcut_never_hides_an_error() -> None:
    for changes, gates, _ in INVALID.values():
        workload = decode(json.dumps(changed(WORKLOAD, changes)).encode())
        assert isinstance(workload, Workload)
        assert not is_plain_workload(workload, FeatureGates(gates))
    bad_metadata: list[Changes] = [
        {"metadata.name": "A"},
        {"metadata.name": "a" * 254},
        {"metadata.name": "a\n"},
        {"metadata.namespace": "a.b"},
        {"metadata.labels": {"a": "@"}},
        {"metadata.labels": {"@": "a"}},
        {"metadata.annotations": {"@": "a"}},
    ]
    for changes in bad_metadata:
        workload = decode(json.dumps(changed(WORKLOAD, changes)).encode())
        assert isinstance(workload, Workload)
        assert not is_plain_workload(workload, FeatureGates())


def test_the_shortcut_is_taken_by_a_plain_workload() -> None:
    manifest = changed(WORKLOAD, {"metadata.labels": {"kueue.x-k8s.io/job-uid": "x"}, "spec.priority": 5})
    workload = decode(json.dumps(manifest).encode())
    assert isinstance(workload, Workload)
    assert is_plain_workload(workload, FeatureGates())
