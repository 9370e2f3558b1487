"""Carries out what reconcilers ask for, in order, and tells when a write came too late."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from kueue_fast.api.core import Pod
from kueue_fast.api.kueue import Workload
from kueue_fast.cluster.memory import ClusterError, MemoryCluster
from kueue_fast.jobs.actions import DeletePod, DeleteWorkload, GroupAction, RecordEvent, UpdatePod
from kueue_fast.jobs.reconciler import (
    CreateWorkload,
    DeleteJob,
    UpdateJob,
    UpdateWorkload,
    UpdateWorkloadStatus,
)
from kueue_fast.lifecycle.events import Event
from kueue_fast.lifecycle.retention import without_finalizer

__all__ = ["Actions"]


class Actions:
    """Writes into the cluster; `record` takes the events."""

    def __init__(self, cluster: MemoryCluster, record: Callable[[Event], None]) -> None:
        self._cluster = cluster
        self._record = record

    def record(self, event: Event) -> None:
        """Keep an event that comes with no write."""
        self._record(event)

    def carry_out(self, actions: Iterable[GroupAction]) -> bool:
        """Carry the actions out; False when an object was gone or had changed since: the rest is left then.

        Whoever asked looks again, as a controller does after a conflict.
        """
        try:
            for action in actions:
                self._carry_out(action)
        except ClusterError:
            return False
        return True

    def _carry_out(self, action: GroupAction) -> None:
        match action:
            case CreateWorkload(workload, event):
                self._cluster.create(workload)
                self._record(event)
            case UpdateJob(job, event):
                self._write(job)
                self._tell(event)
            case DeleteJob(job, event):
                self._cluster.delete(job.KIND, job.metadata.namespace, job.metadata.name)
                self._record(event)
            case UpdateWorkload(workload, event):
                self._cluster.update(workload)
                self._tell(event)
            case UpdateWorkloadStatus(workload, event):
                self._cluster.update_status(workload)
                self._tell(event)
            case DeleteWorkload(workload, event):
                self._delete_workload(workload)
                self._tell(event)
            case UpdatePod(pod, event):
                self._cluster.update(pod)
                self._tell(event)
            case DeletePod(pod, event):
                self._tell(event)
                self._delete_pod(pod)
            case RecordEvent(event):
                self._record(event)

    def _write(self, obj: Any) -> None:
        """Spec and status, which are two writes."""
        stored = self._cluster.update(obj)
        if obj.status != stored.status:
            current: Any = self._cluster.get(obj.KIND, obj.metadata.namespace, obj.metadata.name)
            self._cluster.update_status(msgspec.structs.replace(current, status=obj.status))

    def _delete_pod(self, pod: Pod) -> None:
        """Nothing for one that is gone: workers go with their leader."""
        namespace, name = pod.metadata.namespace, pod.metadata.name
        if self._cluster.get(Pod.KIND, namespace, name) is not None:
            self._write(pod)
            self._cluster.delete(Pod.KIND, namespace, name)

    def _delete_workload(self, workload: Workload) -> None:
        namespace, name = workload.metadata.namespace, workload.metadata.name
        released = without_finalizer(workload)
        if released is not None:
            self._cluster.update(released)
        if self._cluster.get(Workload.KIND, namespace, name) is not None:
            self._cluster.delete(Workload.KIND, namespace, name)

    def _tell(self, event: Event | None) -> None:
        if event is not None:
            self._record(event)
