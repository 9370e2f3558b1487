"""Pods that topology-aware scheduling does not place, but that use up room on the nodes.

Source: TP-319, TP-508.
"""

from __future__ import annotations

from typing import Final

from kueue_fast.api.core import Pod, PodSpec
from kueue_fast.model.pod_requests import pod_requests
from kueue_fast.model.requests import units

PODS: Final = "pods"

_ANNOTATIONS: Final = (
    "kueue.x-k8s.io/podset-required-topology",
    "kueue.x-k8s.io/podset-preferred-topology",
    "kueue.x-k8s.io/podset-unconstrained-topology",
    "kueue.x-k8s.io/podset-slice-required-topology",
    "kueue.x-k8s.io/podset-slice-required-topology-constraints",
)
_ENDED: Final = ("Succeeded", "Failed")


def is_topology_pod(pod: Pod) -> bool:
    """Whether a pod is placed by topology: one of the annotations is there, whatever its value. Source: TP-319."""
    annotations = pod.metadata.annotations or ()
    return any(name in annotations for name in _ANNOTATIONS)


def occupied_node(pod: Pod) -> str | None:
    """The name of the node on which a pod counts as other use, None if it does not count.

    A pod that is being deleted still counts, one that has ended does not. Source: TP-508.
    """
    if not pod.spec.node_name or is_topology_pod(pod):
        return None
    if pod.status is not None and pod.status.phase in _ENDED:
        return None
    return pod.spec.node_name


def pod_amounts(pod: PodSpec) -> dict[str, int]:
    """The effective requests of one pod of this spec, sorted by resource name; the pod itself is not in them.

    cpu in milli, everything else whole, rounded up, clamped to int64, never negative. The spec alone counts: neither
    resource transformations nor excluded prefixes. Raises InputError for what is no quantity. Source: TP-501.
    """
    amounts = pod_requests(pod)
    return {name: max(units(name, amounts[name]), 0) for name in sorted(amounts, key=str.encode)}


def occupied(pod: PodSpec) -> dict[str, int]:
    """What a pod takes from its node: its requests, and one of `pods`. Raises as `pod_amounts`. Source: TP-508."""
    amounts = pod_amounts(pod)
    amounts[PODS] = amounts.get(PODS, 0) + 1
    return amounts
