"""Events of the lifecycle rules, sent to the API server under the recorders' names. Source: OP-691."""

from __future__ import annotations

from typing import Final

from kueue_fast.cluster.kube.cluster import KubeCluster
from kueue_fast.cluster.kube.events import EventRecorder, ObjectReference
from kueue_fast.cluster.kube.resources import RESOURCES
from kueue_fast.lifecycle.events import Event

__all__ = ["SCHEDULER", "TOPOLOGY", "WORKLOADS", "Events", "recorder_name"]

SCHEDULER: Final = "kueue-admission"
WORKLOADS: Final = "kueue-workload-controller"
# Upstream's controller of nodes records under this name, too.
TOPOLOGY: Final = "tas-resource-flavor-controller"

# What an event says was done, where that is not its reason.
ACTIONS: Final = {"PodTerminatedByKueue": "PodTerminated", "WorkloadSliceReplaced": "Replaced"}


def recorder_name(framework: str) -> str:
    """Who records events about the jobs of a framework."""
    return f"{framework}-kueue-controller"


class Events:
    """Finds the object that an event is about, and records it."""

    def __init__(self, cluster: KubeCluster, recorder: EventRecorder) -> None:
        self._cluster = cluster
        self._recorder = recorder

    def record(self, controller: str, event: Event, version: str | None = None) -> None:
        """Record an event by the recorder of that name, about the object as it is known, or as it was at `version`."""
        found = self._cluster.get(event.kind, event.namespace, event.name)
        metadata = found.metadata if found is not None else None
        regarding = ObjectReference(
            RESOURCES[event.kind].api_version,
            event.kind,
            event.namespace,
            event.name,
            (metadata.uid or "") if metadata is not None else "",
            version
            if version is not None
            else (metadata.resource_version or "")
            if metadata is not None
            else "",
        )
        self._recorder.record(
            controller,
            regarding,
            event.type,
            event.reason,
            event.message,
            action=ACTIONS.get(event.reason, ""),
            time_ns=event.time_ns,
        )
