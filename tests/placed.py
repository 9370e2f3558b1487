"""Makers of Workloads that were given places, of their pods, and of nodes."""

from typing import Any

import msgspec

from kueue_fast.api import topology_assignment
from kueue_fast.api.core import Node, Pod
from kueue_fast.api.kueue import Workload
from kueue_fast.model import times

START = "2026-01-01T01:00:00Z"
NOW = times.parse(START)
HOSTNAME = "kubernetes.io/hostname"
WORKLOAD = "kueue.x-k8s.io/workload"
SLICE_NAME = "kueue.x-k8s.io/workload-slice-name"
POD_SET = "kueue.x-k8s.io/podset"
UNCONSTRAINED = "kueue.x-k8s.io/podset-unconstrained-topology"
GATE = "kueue.x-k8s.io/topology"

Domain = tuple[tuple[str, ...], int]


def as_struct(made: dict[str, Any], type_: Any) -> Any:
    """By way of JSON, as parts of Workloads are kept as text."""
    return msgspec.json.decode(msgspec.json.encode(made), type=type_)


def assignment(name: str, levels: tuple[str, ...], *domains: Domain, **more: Any) -> dict[str, Any]:
    """One pod set's assignment; without domains it has no places."""
    made: dict[str, Any] = {
        "name": name,
        "count": sum(count for _, count in domains),
        "flavors": {"cpu": "flavor"},
    }
    if domains:
        made["topologyAssignment"] = msgspec.Raw(topology_assignment.encode(levels, list(domains)))
    return {**made, **more}


def on_hosts(*hosts: str, count: int = 1) -> dict[str, Any]:
    """The assignment of pod set `main` to hosts, with `count` pods each."""
    return assignment("main", (HOSTNAME,), *(((host,), count) for host in hosts))


def placed(
    *assignments: dict[str, Any],
    pod_sets: list[dict[str, Any]] | None = None,
    conditions: tuple[str, ...] = ("QuotaReserved", "Admitted"),
    annotations: dict[str, str] | None = None,
    name: str = "w",
    **status: Any,
) -> Workload:
    """A Workload with an admission; `pod_sets` are by default those of the assignments, with empty templates."""
    default = [{"name": each["name"], "count": each["count"], "template": {}} for each in assignments]
    made = {
        "metadata": {"name": name, "namespace": "ns", "uid": "uid", "annotations": annotations},
        "spec": {"podSets": pod_sets or default, "queueName": "lq"},
        "status": {
            "admission": {"clusterQueue": "cq", "podSetAssignments": list(assignments)}
            if assignments
            else None,
            "conditions": [
                {"type": each, "status": "True", "reason": each, "lastTransitionTime": START}
                for each in conditions
            ],
            **status,
        },
    }
    return as_struct(made, Workload)


def pod(name: str, **more: Any) -> Pod:
    """A pod of Workload `w` and pod set `main`, with an annotation that makes it Kueue's.

    `annotations` and `labels` are added, a None takes one away. `node` is where it runs, `select` its node
    selector, `gates` its gates, `phase` its phase.
    """
    annotations = {WORKLOAD: "w", UNCONSTRAINED: "true", **more.pop("annotations", {})}
    labels = {POD_SET: "main", **more.pop("labels", {})}
    made = {
        "metadata": {
            "name": name,
            "namespace": more.pop("namespace", "ns"),
            "uid": f"uid-{name}",
            "annotations": {key: value for key, value in annotations.items() if value is not None},
            "labels": {key: value for key, value in labels.items() if value is not None},
            "deletionTimestamp": START if more.pop("deleted", False) else None,
        },
        "spec": {
            "nodeName": more.pop("node", None),
            "nodeSelector": more.pop("select", None),
            "schedulingGates": [{"name": gate} for gate in more.pop("gates", ())],
        },
        "status": {"phase": more.pop("phase", "Pending")},
    }
    assert not more
    return as_struct(made, Pod)


def node(
    ready: str | None = "True",
    *,
    since: str | None = START,
    taints: list[dict[str, Any]] | None = None,
    **more: Any,
) -> Node:
    """Node `n1` unless named; `ready` None is one without the condition, `more` goes into its metadata."""
    conditions = [{"type": "Ready", "status": ready, "lastTransitionTime": since}] if ready else []
    made = {
        "metadata": {"name": "n1", **more},
        "spec": {"taints": taints},
        "status": {"conditions": conditions},
    }
    return as_struct(made, Node)
