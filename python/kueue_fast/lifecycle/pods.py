"""Facts about single pods. Source: TP-1306, TP-1804."""

from __future__ import annotations

from typing import Final

from kueue_fast.api.core import Pod
from kueue_fast.api.kueue import Workload
from kueue_fast.model import topology_names as names

__all__ = [
    "has_gate",
    "is_terminal",
    "selected_node",
    "slice_name",
    "slice_of_pod",
    "workload_of_pod",
]

FAILED: Final = "Failed"
SUCCEEDED: Final = "Succeeded"


def is_terminal(pod: Pod) -> bool:
    """Whether a pod has failed or succeeded."""
    return pod.status is not None and pod.status.phase in (FAILED, SUCCEEDED)


def has_gate(pod: Pod, name: str = names.TOPOLOGY_GATE) -> bool:
    """Whether a scheduling gate holds the pod back."""
    return any(gate.name == name for gate in pod.spec.scheduling_gates or ())


def selected_node(pod: Pod) -> str | None:
    """The host name that the pod's node selector asks for, None if it does not."""
    return (pod.spec.node_selector or {}).get(names.HOSTNAME)


def workload_of_pod(pod: Pod) -> str | None:
    """Name of the Workload, in the pod's namespace, that a pod says it belongs to."""
    return (pod.metadata.annotations or {}).get(names.WORKLOAD)


def slice_of_pod(pod: Pod) -> str | None:
    """What its Workload and the Workload's predecessors and successors have in common. Source: TP-1306."""
    annotations = pod.metadata.annotations or {}
    return annotations.get(names.WORKLOAD_SLICE_NAME, annotations.get(names.WORKLOAD))


def slice_name(workload: Workload) -> str:
    """The name under which pods of a Workload are found. Source: TP-1306."""
    return (workload.metadata.annotations or {}).get(names.WORKLOAD_SLICE_NAME, workload.metadata.name)
