"""Pods and groups of them."""

from __future__ import annotations

from typing import Any

import msgspec

from kueue_fast.api.core import Pod
from kueue_fast.jobs.pod_group import PodGroup
from tests.jobs.kinds import QUEUE

MANAGED = "kueue.x-k8s.io/managed"
GATE = "kueue.x-k8s.io/admission"
TOPOLOGY = "kueue.x-k8s.io/topology"
GROUP_NAME = "kueue.x-k8s.io/pod-group-name"
TOTAL = "kueue.x-k8s.io/pod-group-total-count"
FAST = "kueue.x-k8s.io/pod-group-fast-admission"
SERVING = "kueue.x-k8s.io/pod-group-serving"
ROLE = "kueue.x-k8s.io/role-hash"
RETRIABLE = "kueue.x-k8s.io/retriable-in-group"
PARENT = "kueue.x-k8s.io/pod-suspending-parent"
INDEX = "kueue.x-k8s.io/pod-group-pod-index"
DELETED = "2026-01-01T00:30:00Z"


def pod(
    name: str = "p",
    *,
    labels: dict[str, str] | None = None,
    annotations: dict[str, str] | None = None,
    gates: tuple[str, ...] = (GATE,),
    finalizer: bool = True,
    cpu: str = "1",
    node: str | None = None,
    status: dict[str, Any] | None = None,
    **metadata: Any,
) -> Pod:
    """A pod of Kueue's that waits."""
    made = {
        "metadata": {
            "name": name,
            "namespace": "ns",
            "uid": f"uid-{name}",
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "labels": {MANAGED: "true", QUEUE: "lq"} if labels is None else labels,
            "annotations": annotations,
            "finalizers": [MANAGED] if finalizer else None,
            **metadata,
        },
        "spec": {
            "containers": [{"name": "c", "resources": {"requests": {"cpu": cpu}}}],
            "schedulingGates": [{"name": gate} for gate in gates] or None,
            "nodeName": node,
        },
        "status": status,
    }
    return msgspec.json.decode(msgspec.json.encode(made), type=Pod)


def member(name: str, *, total: str = "2", role: str | None = "r", **fields: Any) -> Pod:
    """A pod of the group `g`."""
    annotations = {GROUP_NAME: "g", TOTAL: total, **({ROLE: role} if role else {})}
    return pod(name, annotations={**annotations, **fields.pop("annotations", {})}, **fields)


def running(name: str, **fields: Any) -> Pod:
    """A member that runs."""
    return member(name, gates=(), node="n", status={"phase": "Running"}, **fields)


def ended(name: str, phase: str = "Succeeded", **fields: Any) -> Pod:
    """A member that is done."""
    status = {"phase": phase, **fields.pop("status", {})}
    return member(name, gates=(), node="n", status=status, **fields)


def group(*pods: Pod) -> PodGroup:
    """A group of these pods."""
    return PodGroup(pods)


def alone(a_pod: Pod) -> PodGroup:
    """A pod without group."""
    return PodGroup([a_pod], is_group=False)
