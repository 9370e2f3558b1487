"""Steps that reconcilers of groups ask for, besides those of `reconciler`. Source: JS-136, JS-346, JS-355."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from kueue_fast.api.core import Pod
from kueue_fast.api.kueue import Workload
from kueue_fast.jobs.reconciler import Action
from kueue_fast.lifecycle.events import Event

__all__ = ["DeletePod", "DeleteWorkload", "GroupAction", "RecordEvent", "ReleaseWorkload", "UpdatePod"]


class DeleteWorkload(NamedTuple):
    """Take the finalizer from the Workload and delete it, then record the event."""

    workload: Workload
    event: Event | None


class ReleaseWorkload(NamedTuple):
    """Take the finalizer from the Workload, whatever else of it has changed."""

    workload: Workload


class UpdatePod(NamedTuple):
    """Write the pod, then record the event."""

    pod: Pod
    event: Event | None


class DeletePod(NamedTuple):
    """Write the pod (its status too), delete it, then record the event."""

    pod: Pod
    event: Event | None


class RecordEvent(NamedTuple):
    """Record the event, nothing else."""

    event: Event


GroupAction: TypeAlias = Action | DeleteWorkload | ReleaseWorkload | UpdatePod | DeletePod | RecordEvent
