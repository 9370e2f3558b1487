"""From the Workloads that a job has to the one that stands for it: found, updated, or adopted as made beforehand.

The job reconciler goes on from there. Live this is asked at each look; where nobody can have changed a job meanwhile,
the one Workload that it owns will do.

Source: JS-130..137, JS-140..142.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeVar

import msgspec

from kueue_fast.api.kueue import PodSet, Workload
from kueue_fast.api.meta import KubernetesObject, ObjectMeta, OwnerReference
from kueue_fast.jobs import reconciler
from kueue_fast.jobs.actions import DeleteWorkload, GroupAction
from kueue_fast.jobs.equivalence import equivalent
from kueue_fast.jobs.group_workload import updated_gates, with_gates
from kueue_fast.jobs.integration import Integration
from kueue_fast.jobs.job_events import UPDATED_WORKLOAD, job_event
from kueue_fast.jobs.priorities import next_priority_update
from kueue_fast.jobs.reconciler import UpdateWorkload, UpdateWorkloadStatus, View
from kueue_fast.jobs.validation import prebuilt_name
from kueue_fast.jobs.workload import JobKind, build, label_of_uid
from kueue_fast.lifecycle import finish
from kueue_fast.model import conditions
from kueue_fast.model.elastic import REPLACEMENT_FOR, is_elastic

__all__ = ["Ensured", "adopt", "ensure", "find", "in_sync", "take_over"]

JobType = TypeVar("JobType", bound=KubernetesObject)

OUT_OF_SYNC = "OutOfSync"


class Ensured(NamedTuple):
    """The Workload that stands for a job, None without one, or what has to be done first: then the job comes back."""

    workload: Workload | None
    actions: Sequence[GroupAction] = ()


def find(
    job: JobType,
    integration: Integration[JobType],
    owned: Sequence[Workload],
    named: Workload | None,
    view: View,
    now_ns: int,
) -> Ensured:
    """The one Workload of a job that has no slices.

    `owned` are the Workloads that it owns, in the order in which the API lists them; `named` is the one whose name it
    gives, if it gives one and that is there. Raises what making pod sets raises, and InputError for a priority class
    that does not exist.
    """
    if prebuilt_name(job.metadata, view.settings):
        return adopt(job, integration, named, view, now_ns)
    return ensure(job, integration, owned, view, now_ns)


def adopt(
    job: JobType, integration: Integration[JobType], named: Workload | None, view: View, now_ns: int
) -> Ensured:
    """The Workload that was made beforehand: the job comes to own it, unless another one does.

    One that does not fit the job ends. Source: JS-142.
    """
    taken = take_over(job.metadata, integration, named)
    if taken.actions or taken.workload is None:
        return taken
    settings = view.settings
    annotations = taken.workload.metadata.annotations or {}
    elastic = integration.elastic and is_elastic(job.metadata.annotations, slices=settings.elastic_jobs)
    if elastic and annotations.get(REPLACEMENT_FOR):
        return taken
    pod_sets = integration.pod_sets(job, settings)
    return in_sync(job.metadata, taken.workload, view, pod_sets, now_ns, held=integration.suspended(job))


def take_over(metadata: ObjectMeta, kind: JobKind, named: Workload | None) -> Ensured:
    """Make the job, whose `metadata` these are, the controller of the Workload; none if it is another's.

    Source: JS-142.
    """
    if named is None:
        return Ensured(None)
    owners = named.metadata.owner_references or []
    uid = metadata.uid or ""
    controller = next((each for each in owners if each.controller), None)
    if controller is None:
        own = OwnerReference(
            api_version=kind.api_version,
            kind=kind.kind,
            name=metadata.name,
            uid=uid,
            controller=True,
            block_owner_deletion=True,
        )
        kept = [each for each in owners if each.uid != uid]
        changed = msgspec.structs.replace(named.metadata, owner_references=[*kept, own])
        owned = label_of_uid(msgspec.structs.replace(named, metadata=changed), metadata)
        return Ensured(None, (UpdateWorkload(owned, None),))
    return Ensured(named if controller.uid == uid else None)


def in_sync(
    metadata: ObjectMeta,
    workload: Workload,
    view: View,
    pod_sets: Sequence[PodSet],
    now_ns: int,
    *,
    held: bool,
) -> Ensured:
    """The Workload if it says what the job says; else it ends. Source: JS-142."""
    if equivalent(metadata, workload, view, pod_sets, held=held):
        return Ensured(workload)
    message = "The prebuilt workload is out of sync with its user job"
    done = finish.finished(workload, OUT_OF_SYNC, message, now_ns)
    # One that has ended is no Workload any more, so that the job is held.
    return Ensured(None, () if done is None else (UpdateWorkloadStatus(done, None),))


def ensure(
    job: JobType, integration: Integration[JobType], owned: Sequence[Workload], view: View, now_ns: int
) -> Ensured:
    """The first Workload that says what the job says; others are deleted, or one is brought in line.

    Source: JS-130, JS-134..137.
    """
    if not owned:
        return Ensured(None)
    settings = view.settings
    pod_sets = integration.pod_sets(job, settings)
    held = integration.suspended(job)
    match: Workload | None = None
    others: list[Workload] = []
    for workload in owned:
        if match is None and equivalent(job.metadata, workload, view, pod_sets, held=held):
            match = workload
        else:
            others.append(workload)
    update: Workload | None = None
    if match is None and others and held and not _reserved(others[0]):
        update = others.pop(0)
    actions: list[GroupAction] = []
    if match is None and not held and integration.finished(job) is None:
        restore = others[0] if len(others) == 1 else None
        why = (
            "Missing Workload; unable to restore pod templates"
            if restore is None
            else "No matching Workload; restoring pod templates according to existent Workload"
        )
        stopped = reconciler.stop(job, integration, restore, why, now_ns)
        if stopped is not None:
            actions.append(stopped)
    for workload in others:
        text = f"Deleted not matching Workload: {_key(workload)}"
        event = job_event(integration.kind, job.metadata, "DeletedWorkload", text, now_ns)
        gone = workload.metadata.deletion_timestamp
        actions.append(DeleteWorkload(workload, None if gone else event))
    if actions:
        return Ensured(None, actions)
    if update is not None:
        built = build(
            job,
            integration,
            pod_sets,
            reconciler.resolved_priority(job, integration, pod_sets, view),
            settings,
        )
        spec = msgspec.structs.replace(built.spec, active=update.spec.active)
        text = f"Updated not matching Workload for suspended job: {_key(update)}"
        event = job_event(integration.kind, job.metadata, UPDATED_WORKLOAD, text, now_ns)
        return Ensured(None, (UpdateWorkload(msgspec.structs.replace(update, spec=spec), event),))
    if match is None:
        return Ensured(None)
    gated = with_gates(match, job.metadata, settings)
    if gated is not match:
        event = updated_gates(integration.kind, job.metadata, now_ns)
        return Ensured(None, (UpdateWorkload(gated, event),))
    followed = next_priority_update(job, integration, (match,), view, now_ns)
    return Ensured(match) if followed is None else Ensured(None, (followed,))


def _reserved(workload: Workload) -> bool:
    known = workload.status.conditions if workload.status is not None else None
    return conditions.is_true(known, conditions.QUOTA_RESERVED)


def _key(workload: Workload) -> str:
    return f"{workload.metadata.namespace or ''}/{workload.metadata.name}"
