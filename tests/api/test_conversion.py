"""v1beta1 objects are read as their v1beta2 form. Source: LC-201 to LC-207."""

import json
from typing import Any

import msgspec
import pytest

from kueue_fast.api import topology_assignment
from kueue_fast.api.decode import decode
from kueue_fast.api.encode import to_manifest
from kueue_fast.errors import InputError

V1BETA1 = "kueue.x-k8s.io/v1beta1"


def convert(kind: str, **fields: Any) -> dict[str, Any]:
    document = {"apiVersion": V1BETA1, "kind": kind, "metadata": {"name": "a"}, **fields}
    manifest = to_manifest(decode(json.dumps(document).encode()))
    assert manifest["apiVersion"] == "kueue.x-k8s.io/v1beta2"
    return {name: manifest[name] for name in fields if name in manifest}


STRATEGY = {"admissionChecks": [{"name": "c", "onFlavors": ["f"]}]}
SLICE_REQUEST = {"podSetSliceSize": 2, "podSetSliceRequiredTopology": "rack"}
PRIORITY_REF = {"group": "kueue.x-k8s.io", "kind": "WorkloadPriorityClass", "name": "p"}
POD_REF = {"group": "scheduling.k8s.io", "kind": "PriorityClass", "name": "p"}

# sentence -> (kind, v1beta1 fields, want v1beta2 fields)
CASES: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "cohort becomes cohortName": ("ClusterQueue", {"spec": {"cohort": "c"}}, {"spec": {"cohortName": "c"}}),
    "a v1beta2 name is no field of v1beta1": ("ClusterQueue", {"spec": {"cohortName": "c"}}, {"spec": {}}),
    "an absent spec stays absent": ("ClusterQueue", {}, {}),
    "admissionChecks become rules in their order": (
        "ClusterQueue",
        {"spec": {"admissionChecks": ["b", "a"]}},
        {"spec": {"admissionChecksStrategy": {"admissionChecks": [{"name": "b"}, {"name": "a"}]}}},
    ),
    "admissionChecks replace a strategy": (
        "ClusterQueue",
        {"spec": {"admissionChecks": ["a"], "admissionChecksStrategy": STRATEGY}},
        {"spec": {"admissionChecksStrategy": {"admissionChecks": [{"name": "a"}]}}},
    ),
    "empty admissionChecks leave a strategy": (
        "ClusterQueue",
        {"spec": {"admissionChecks": [], "admissionChecksStrategy": STRATEGY}},
        {"spec": {"admissionChecksStrategy": STRATEGY}},
    ),
    "deprecated fungibility values": (
        "ClusterQueue",
        {"spec": {"flavorFungibility": {"whenCanBorrow": "Borrow", "whenCanPreempt": "Preempt"}}},
        {
            "spec": {
                "flavorFungibility": {"whenCanBorrow": "MayStopSearch", "whenCanPreempt": "MayStopSearch"}
            }
        },
    ),
    "each deprecated value belongs to its own field": (
        "ClusterQueue",
        {"spec": {"flavorFungibility": {"whenCanBorrow": "Preempt", "whenCanPreempt": "Borrow"}}},
        {"spec": {"flavorFungibility": {"whenCanBorrow": "Preempt", "whenCanPreempt": "Borrow"}}},
    ),
    "other fungibility values": (
        "ClusterQueue",
        {
            "spec": {
                "flavorFungibility": {
                    "whenCanBorrow": "TryNextFlavor",
                    "preference": "BorrowingOverPreemption",
                }
            }
        },
        {
            "spec": {
                "flavorFungibility": {
                    "whenCanBorrow": "TryNextFlavor",
                    "preference": "BorrowingOverPreemption",
                }
            }
        },
    ),
    "concurrentAdmissionPolicy is no field of v1beta1": (
        "ClusterQueue",
        {"spec": {"concurrentAdmissionPolicy": {"migration": {"mode": "RetainFirstAdmission"}}}},
        {"spec": {}},
    ),
    "pendingWorkloadsStatus and admission fair sharing are dropped": (
        "ClusterQueue",
        {
            "status": {
                "pendingWorkloads": 3,
                "pendingWorkloadsStatus": {"clusterQueuePendingWorkload": []},
                "fairSharing": {"weightedShare": 4, "admissionFairSharingStatus": {"lastUpdate": "x"}},
            }
        },
        {"status": {"pendingWorkloads": 3, "fairSharing": {"weightedShare": 4}}},
    ),
    "everything else of a ClusterQueue": (
        "ClusterQueue",
        spec := {
            "spec": {
                "resourceGroups": [
                    {
                        "coveredResources": ["cpu"],
                        "flavors": [{"name": "f", "resources": [{"name": "cpu", "nominalQuota": 1}]}],
                    }
                ],
                "queueingStrategy": "StrictFIFO",
                "namespaceSelector": {"matchLabels": {"a": "b"}},
                "preemption": {
                    "reclaimWithinCohort": "Any",
                    "withinClusterQueue": "LowerPriority",
                    "borrowWithinCohort": {"policy": "LowerPriority", "maxPriorityThreshold": 5},
                },
                "stopPolicy": "Hold",
                "fairSharing": {"weight": "2"},
                "admissionScope": {"admissionMode": "UsageBasedAdmissionFairSharing"},
            }
        },
        spec,
    ),
    "flavorUsage becomes flavorsUsage": (
        "LocalQueue",
        {
            "status": {
                "flavorUsage": [{"name": "f", "resources": [{"name": "cpu", "total": "1"}]}],
                "flavors": [],
            }
        },
        {"status": {"flavorsUsage": [{"name": "f", "resources": [{"name": "cpu", "total": "1"}]}]}},
    ),
    "an empty flavorUsage stays empty": (
        "LocalQueue",
        {"status": {"flavorUsage": []}},
        {"status": {"flavorsUsage": []}},
    ),
    "a null flavorUsage stays absent": ("LocalQueue", {"status": {"flavorUsage": None}}, {"status": {}}),
    "a LocalQueue keeps admission fair sharing": (
        "LocalQueue",
        status := {
            "spec": {"clusterQueue": "cq", "stopPolicy": "Hold"},
            "status": {
                "fairSharing": {
                    "weightedShare": 4,
                    "admissionFairSharingStatus": {"consumedResources": {"cpu": "1"}, "lastUpdate": "x"},
                }
            },
        },
        status,
    ),
    "a WorkloadPriorityClass": (
        "Workload",
        {"spec": {"priorityClassSource": "kueue.x-k8s.io/workloadpriorityclass", "priorityClassName": "p"}},
        {"spec": {"priorityClassRef": PRIORITY_REF}},
    ),
    "a PriorityClass of pods": (
        "Workload",
        {
            "spec": {
                "priorityClassSource": "scheduling.k8s.io/priorityclass",
                "priorityClassName": "p",
                "priority": 7,
            }
        },
        {"spec": {"priorityClassRef": POD_REF, "priority": 7}},
    ),
    "a priority class name without a source is lost": (
        "Workload",
        {"spec": {"priorityClassName": "p", "priorityClassSource": ""}},
        {"spec": {}},
    ),
    "fields that v1beta1 lacks": (
        "Workload",
        {
            "spec": {
                "preemptionGates": [{"name": "g"}],
                "podSets": [
                    {
                        "template": {},
                        "topologyRequest": SLICE_REQUEST
                        | {"podsetSliceRequiredTopologyConstraints": [{"topology": "t", "size": 1}]},
                    }
                ],
            },
            "status": {"preemptionGates": [{"name": "g", "position": "Open"}]},
        },
        {"spec": {"podSets": [{"template": {}, "topologyRequest": SLICE_REQUEST}]}, "status": {}},
    ),
    "the misspelt execution time": (
        "Workload",
        {"spec": {}, "status": {"accumulatedPastExexcutionTimeSeconds": 0}},
        {"spec": {}, "status": {"accumulatedPastExecutionTimeSeconds": 0}},
    ),
    "a kube config becomes the cluster source": (
        "MultiKueueCluster",
        {"spec": {"kubeConfig": {"location": "x", "locationType": "Secret"}}},
        {"spec": {"clusterSource": {"kubeConfig": {"location": "x", "locationType": "Secret"}}}},
    ),
    "a kube config without location is none": (
        "MultiKueueCluster",
        {
            "spec": {
                "kubeConfig": {"location": "", "locationType": "Secret"},
                "clusterProfileRef": {"name": "c"},
            }
        },
        {"spec": {"clusterSource": {"clusterProfileRef": {"name": "c"}}}},
    ),
    "retryDelayMinutes has no effect": (
        "AdmissionCheck",
        {"spec": {"controllerName": "c", "retryDelayMinutes": 15}},
        {"spec": {"controllerName": "c"}},
    ),
    "a kind that reads the same in both": (
        "ResourceFlavor",
        {"spec": {"nodeLabels": {"a": "b"}, "topologyName": "t"}},
        {"spec": {"nodeLabels": {"a": "b"}, "topologyName": "t"}},
    ),
}


@pytest.mark.parametrize(("kind", "fields", "want"), CASES.values(), ids=CASES)
def test_v1beta1_reads_as_v1beta2(kind: str, fields: dict[str, Any], want: dict[str, Any]) -> None:
    assert convert(kind, **fields) == want


def topology(levels: list[str], domains: list[dict[str, Any]]) -> dict[str, Any]:
    assignment = {"name": "main", "topologyAssignment": {"levels": levels, "domains": domains}}
    return {"admission": {"clusterQueue": "cq", "podSetAssignments": [assignment]}}


def domain(count: int, *values: str) -> dict[str, Any]:
    return {"values": list(values), "count": count}


ASSIGNMENTS: dict[str, tuple[list[str], list[dict[str, Any]]]] = {
    "no domains": (["rack"], []),
    "one domain": (["rack", "host"], [domain(3, "r1", "h1")]),
    "equal counts": (["host"], [domain(2, "h2"), domain(2, "h1")]),
    "a shared upper level": (["rack", "host"], [domain(2, "r1", "h2"), domain(1, "r1", "h1")]),
    "nothing shared, order kept": (["rack", "host"], [domain(2, "r2", "h9"), domain(1, "r1", "h1")]),
}


@pytest.mark.parametrize(("levels", "domains"), ASSIGNMENTS.values(), ids=ASSIGNMENTS)
def test_topology_domains_become_slices_that_expand_to_them(
    levels: list[str], domains: list[dict[str, Any]]
) -> None:
    converted = convert("Workload", spec={}, status=topology(levels, domains))["status"]
    (assignment,) = converted["admission"]["podSetAssignments"]
    got = topology_assignment.decode(json.dumps(assignment["topologyAssignment"]).encode())
    assert list(got.levels) == levels
    assert [domain(count, *values) for values, count in got.domains] == domains


BAD_TOPOLOGIES: dict[str, tuple[dict[str, Any], str]] = {
    "a domain with too few values": (
        topology(["rack", "host"], [domain(1, "r", "h"), domain(1, "r")]),
        "Workload a: domains[1] has 1 values for 2 levels",
    ),
    "a count that is a text": (
        topology(["host"], [{"values": ["h"], "count": "1"}]),
        "$.status.admission.podSetAssignments[0].topologyAssignment.domains[0].count: has `str`",
    ),
}


@pytest.mark.parametrize(("status", "want"), BAD_TOPOLOGIES.values(), ids=BAD_TOPOLOGIES)
def test_a_bad_topology_assignment_is_refused(status: dict[str, Any], want: str) -> None:
    with pytest.raises(InputError) as caught:
        convert("Workload", spec={}, status=status)
    assert want in str(caught.value)


def test_the_template_of_a_v1beta1_workload_is_kept_byte_for_byte() -> None:
    spec = b'{"containers":[ {"name":"c"} ]}'
    head = b'{"apiVersion":"%s","kind":"Workload","metadata":{"name":"a"},' % V1BETA1.encode()
    obj: Any = decode(head + b'"spec":{"podSets":[{"template":{"spec":%s}}]}}' % spec)
    template = obj.spec.pod_sets[0].template
    assert bytes(template.spec) == spec
    assert isinstance(template.spec, msgspec.Raw)
