"""Metadata, the smaller Kueue kinds, and Kubernetes' own kinds: what is refused on create."""

from typing import Any

import pytest

from kueue_fast.api.kueue import LocalQueue
from kueue_fast.api.meta import ObjectMeta, OwnerReference
from kueue_fast.model.features import FeatureGates
from kueue_fast.model.validation import validate
from tests.model.validation.objects import DROP, V1BETA1, V1BETA2, Changes, changed, errors, messages

TEMPLATE = {"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]}}


def kueue(kind: str, **fields: Any) -> dict[str, Any]:
    return {"apiVersion": V1BETA2, "kind": kind, "metadata": {"name": "x"}, **fields}


BASES: dict[str, dict[str, Any]] = {
    "ResourceFlavor": kueue("ResourceFlavor", spec={"nodeLabels": {"a": "b"}}),
    "LocalQueue": kueue("LocalQueue", spec={"clusterQueue": "cq"}),
    "Topology": kueue(
        "Topology", spec={"levels": [{"nodeLabel": "rack"}, {"nodeLabel": "kubernetes.io/hostname"}]}
    ),
    "WorkloadPriorityClass": kueue("WorkloadPriorityClass", value=5),
    "AdmissionCheck": kueue("AdmissionCheck", spec={"controllerName": "example.com/check"}),
    "ProvisioningRequestConfig": kueue("ProvisioningRequestConfig", spec={"provisioningClassName": "a"}),
    "MultiKueueConfig": kueue("MultiKueueConfig", spec={"clusters": ["a", "b"]}),
    "MultiKueueCluster": kueue(
        "MultiKueueCluster", spec={"clusterSource": {"kubeConfig": {"location": "secret"}}}
    ),
    "Namespace": {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ns"}},
    "LimitRange": {
        "apiVersion": "v1",
        "kind": "LimitRange",
        "metadata": {"name": "x", "namespace": "ns"},
        "spec": {"limits": [{"type": "Container", "default": {"cpu": "1"}}]},
    },
    "RuntimeClass": {
        "apiVersion": "node.k8s.io/v1",
        "kind": "RuntimeClass",
        "metadata": {"name": "x"},
        "handler": "runc",
        "overhead": {"podFixed": {"cpu": 0.25}},
    },
    "PriorityClass": {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": "x"},
        "value": 1000000000,
    },
    "Node": {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "node-1.example.com", "labels": {"kubernetes.io/hostname": "node-1"}},
        "spec": {"taints": [{"key": "a", "effect": "NoSchedule"}]},
        "status": {"allocatable": {"cpu": "8", "memory": "32Gi"}},
    },
    "Pod": {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "x", "namespace": "ns"},
        "spec": TEMPLATE["spec"],
    },
    "Job": {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "x", "namespace": "ns"},
        "spec": {"parallelism": 2, "completions": 2, "template": TEMPLATE},
    },
}


@pytest.mark.parametrize("kind", BASES)
def test_a_good_one(kind: str) -> None:
    assert errors(BASES[kind]) == []


CASES: dict[str, tuple[str, Changes, list[str]]] = {
    # metadata
    "a name to be generated": (
        "Job",
        {"metadata": {"generateName": "x-", "namespace": "ns"}},
        ["metadata.name: Required value"],
    ),
    "a name with upper case letters": ("Job", {"metadata.name": "X"}, ["metadata.name: Invalid value"]),
    "a name of 254 characters": ("Job", {"metadata.name": "a" * 254}, ["metadata.name: Invalid value"]),
    "a name with a line break": ("Job", {"metadata.name": "a\n"}, ["metadata.name: Invalid value"]),
    "a name with dots": ("LocalQueue", {"metadata.name": "a.b"}, []),
    "a namespace named with dots": ("Namespace", {"metadata.name": "a.b"}, ["metadata.name: Invalid value"]),
    "an object in a namespace with dots": (
        "LocalQueue",
        {"metadata.namespace": "a.b"},
        ["metadata.namespace: Invalid value"],
    ),
    "a namespace where there is none": ("ResourceFlavor", {"metadata.namespace": "A"}, []),
    "bad labels and annotations": (
        "Node",
        {"metadata.labels": {"a/b/c": "x", "a": "-"}, "metadata.annotations": {"/a": "", "A.b/c": "@"}},
        [
            "metadata.labels: Invalid value",
            "metadata.labels: Invalid value",
            "metadata.annotations: Invalid value",
        ],
    ),
    "annotations of more than 256 KiB": (
        "Node",
        {"metadata.annotations": {"a": "x" * (256 * 1024)}},
        ["metadata.annotations: Too long"],
    ),
    # ResourceFlavor
    "a flavor without a spec": ("ResourceFlavor", {"spec": DROP}, []),
    "a bad node label": (
        "ResourceFlavor",
        {"spec.nodeLabels": {"@abc": "x"}},
        ["spec.nodeLabels: Invalid value"],
    ),
    "nine node labels": (
        "ResourceFlavor",
        {"spec.nodeLabels": {f"l{index}": "x" for index in range(9)}},
        ["spec.nodeLabels: Too many"],
    ),
    "taints: bad key, value and effect, one twice": (
        "ResourceFlavor",
        {
            "spec.nodeTaints": [
                {"key": "@abc", "value": "@", "effect": "Never"},
                {"key": "a", "effect": "NoSchedule"},
                {"key": "a", "value": "b", "effect": "NoSchedule"},
                {"key": "a", "effect": "NoExecute"},
            ]
        },
        [
            "spec.nodeTaints[0].key: Invalid value",
            "spec.nodeTaints[0].value: Invalid value",
            "spec.nodeTaints[0].effect: Unsupported value",
            "spec.nodeTaints[2]: Duplicate value",
        ],
    ),
    "tolerations: no key, bad key, operator, value, effect, seconds": (
        "ResourceFlavor",
        {
            "spec.tolerations": [
                {"operator": "Exists"},
                {"effect": "NoSchedule"},
                {"key": "@abc", "operator": "Exists"},
                {"key": "a", "operator": "Gt", "value": "b"},
                {"key": "a", "operator": "Exists", "value": "b"},
                {"key": "a", "effect": "Never"},
                {"key": "a", "effect": "NoSchedule", "tolerationSeconds": 5},
            ]
        },
        [
            "spec.tolerations[1].operator: Invalid value",
            "spec.tolerations[2].key: Invalid value",
            "spec.tolerations[3].operator: Unsupported value",
            "spec.tolerations[4].value: Invalid value",
            "spec.tolerations[5].effect: Unsupported value",
            "spec.tolerations[6].effect: Invalid value",
        ],
    ),
    "a topology without node labels": (
        "ResourceFlavor",
        {"spec": {"topologyName": "t"}},
        ["spec: Invalid value"],
    ),
    # LocalQueue
    "an unknown stop policy": (
        "LocalQueue",
        {"spec.stopPolicy": "Stop"},
        ["spec.stopPolicy: Unsupported value"],
    ),
    "an empty ClusterQueue": ("LocalQueue", {"spec.clusterQueue": ""}, ["spec.clusterQueue: Invalid value"]),
    "a negative weight, which no webhook looks at": ("LocalQueue", {"spec.fairSharing.weight": "-1"}, []),
    "a weight that cannot be read": (
        "LocalQueue",
        {"spec.fairSharing.weight": "x"},
        ["spec.fairSharing.weight: Invalid value"],
    ),
    # Topology
    "no levels": ("Topology", {"spec.levels": []}, ["spec.levels: Required value"]),
    "seventeen levels": (
        "Topology",
        {"spec.levels": [{"nodeLabel": f"l{index}"} for index in range(17)]},
        ["spec.levels: Too many"],
    ),
    "a level twice": (
        "Topology",
        {"spec.levels": [{"nodeLabel": "a"}, {"nodeLabel": "a"}]},
        ["spec.levels[1].nodeLabel: Duplicate value"],
    ),
    "the hostname above another level": (
        "Topology",
        {"spec.levels": [{"nodeLabel": "kubernetes.io/hostname"}, {"nodeLabel": "a"}]},
        ["spec.levels[0].nodeLabel: Invalid value"],
    ),
    "a level that is no label": (
        "Topology",
        {"spec.levels": [{"nodeLabel": ""}]},
        ["spec.levels[0].nodeLabel: Invalid value"],
    ),
    # the rest of Kueue's kinds
    "a description of 2049 characters": (
        "WorkloadPriorityClass",
        {"description": "a" * 2049},
        ["description: Too long"],
    ),
    "a long description in v1beta1": (
        "WorkloadPriorityClass",
        {"description": "a" * 2049, "apiVersion": V1BETA1},
        [],
    ),
    "a check without a controller and with bad parameters": (
        "AdmissionCheck",
        {"spec": {"controllerName": "", "parameters": {"apiGroup": "", "kind": "1", "name": "A"}}},
        [
            "spec.controllerName: Invalid value",
            "spec.parameters.apiGroup: Invalid value",
            "spec.parameters.kind: Invalid value",
            "spec.parameters.name: Invalid value",
        ],
    ),
    "a provisioning request with everything wrong": (
        "ProvisioningRequestConfig",
        {
            "spec": {
                "provisioningClassName": "",
                "parameters": {"a": "x" * 256},
                "managedResources": ["a", "a"],
                "podSetMergePolicy": "All",
                "podSetUpdates": {"nodeSelector": [{"key": "@", "valueFromProvisioningClassDetail": ""}]},
            }
        },
        [
            "spec.provisioningClassName: Invalid value",
            "spec.parameters[a]: Too long",
            "spec.managedResources[1]: Duplicate value",
            "spec.podSetMergePolicy: Unsupported value",
            "spec.podSetUpdates.nodeSelector[0].key: Invalid value",
            "spec.podSetUpdates.nodeSelector[0].valueFromProvisioningClassDetail: Invalid value",
        ],
    ),
    "no worker clusters": ("MultiKueueConfig", {"spec.clusters": []}, ["spec.clusters: Required value"]),
    "a worker cluster twice": (
        "MultiKueueConfig",
        {"spec.clusters": ["a", "a"]},
        ["spec.clusters[1]: Duplicate value"],
    ),
    "two sources of a worker cluster": (
        "MultiKueueCluster",
        {"spec.clusterSource.clusterProfileRef": {"name": "a"}},
        ["spec.clusterSource: Invalid value"],
    ),
    # Kubernetes' own kinds
    "a quantity of a limit range": (
        "LimitRange",
        {"spec.limits": [{"type": "Container", "max": {"cpu": "1x"}}, {"type": "Container"}]},
        ["spec.limits[1].type: Duplicate value", "spec.limits[0].max[cpu]: Invalid value"],
    ),
    "a runtime class without a handler": ("RuntimeClass", {"handler": ""}, ["handler: Invalid value"]),
    "a negative overhead": (
        "RuntimeClass",
        {"overhead.podFixed": {"cpu": "-1"}},
        ["overhead.podFixed[cpu]: Invalid value"],
    ),
    "a priority that users may not define": ("PriorityClass", {"value": 1000000001}, ["value: Forbidden"]),
    "a priority of the system": (
        "PriorityClass",
        {"value": 2000001000, "metadata.name": "system-node-critical"},
        [],
    ),
    "an unknown preemption policy": (
        "PriorityClass",
        {"preemptionPolicy": "Always"},
        ["preemptionPolicy: Unsupported value"],
    ),
    "amounts and taints of a node": (
        "Node",
        {
            "spec.taints": [{"key": "a", "effect": "Never"}],
            "status.allocatable": {"cpu": "-1", "memory": "x"},
        },
        [
            "spec.taints[0].effect: Unsupported value",
            "status.allocatable[cpu]: Invalid value",
            "status.allocatable[memory]: Invalid value",
        ],
    ),
    "a pod without containers": ("Pod", {"spec.containers": []}, ["spec.containers: Required value"]),
    "negative counts of a job": (
        "Job",
        {"spec.parallelism": -1, "spec.completions": -1, "spec.backoffLimit": -1},
        [
            "spec.parallelism: Invalid value",
            "spec.completions: Invalid value",
            "spec.backoffLimit: Invalid value",
        ],
    ),
    "an indexed job without completions": (
        "Job",
        {"spec.completionMode": "Indexed", "spec.completions": DROP},
        ["spec.completions: Required value"],
    ),
    "a job without a template": (
        "Job",
        {"spec.template": {}},
        ["spec.template.spec.containers: Required value"],
    ),
    "a job with a bad and a negative quantity": (
        "Job",
        {"spec.template.spec.containers.0.resources.requests": {"cpu": "1x", "memory": "-1"}},
        [
            "spec.template.spec.containers[0].resources.requests[cpu]: Invalid value",
            "spec.template.spec.containers[0].resources.requests[memory]: Invalid value",
        ],
    ),
    "a job with an unquoted fraction": (
        "Job",
        {"spec.template.spec.containers.0.resources.requests": {"cpu": 0.5}},
        [],
    ),
    "a job with a template of another type": (
        "Job",
        {"spec.template.spec.containers": {}},
        ["spec.template.spec.containers: Invalid value"],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_case(case: str) -> None:
    kind, changes, want = CASES[case]
    assert errors(changed(BASES[kind], changes)) == want


def test_an_object_made_by_hand_needs_a_name_and_a_namespace() -> None:
    found = validate(LocalQueue(metadata=ObjectMeta()), FeatureGates())
    want = [
        "metadata.name: Required value",
        "metadata.namespace: Required value: a LocalQueue stands in a namespace",
    ]
    assert [str(error) for error in found] == want


def test_a_quantity_is_quoted_with_what_is_expected() -> None:
    changes: Changes = {"spec.template.spec.containers.0.resources.requests": {"cpu": "1x"}}
    (message,) = messages(changed(BASES["Job"], changes))
    assert message.startswith('spec.template.spec.containers[0].resources.requests[cpu]: Invalid value: "1x"')
    assert "expected" in message


def test_an_object_has_one_controller() -> None:
    owners = [
        OwnerReference(api_version="batch/v1", kind="Job", name=name, uid=name, controller=True)
        for name in "ab"
    ]
    queue = LocalQueue(metadata=ObjectMeta(name="x", namespace="ns", owner_references=owners))
    found = [each for each in validate(queue, FeatureGates()) if each.path == "metadata.ownerReferences"]
    assert [each.message for each in found] == [
        'only one reference can have controller set to true: found "true" for Job/a and Job/b'
    ]
    owners[1].controller = None
    assert not any(each.path == "metadata.ownerReferences" for each in validate(queue, FeatureGates()))
