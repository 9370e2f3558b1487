"""Jobs that belong to a managed job: they run only while that one may. Source: JS-062."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

from kueue_fast.api.kueue import Workload
from kueue_fast.api.meta import KubernetesObject, ObjectMeta
from kueue_fast.jobs.integration import Integration
from kueue_fast.jobs.job_events import job_event
from kueue_fast.jobs.reconciler import DeleteJob, UpdateJob
from kueue_fast.lifecycle import events, eviction, finish
from kueue_fast.lifecycle.events import Event
from kueue_fast.model import conditions

__all__ = ["bring_children_along", "hold_child", "must_be_held"]

JobType = TypeVar("JobType", bound=KubernetesObject)


def hold_child(
    job: JobType,
    integration: Integration[JobType],
    workloads: Sequence[Workload],
    now_ns: int,
    *,
    elastic: bool = False,
) -> UpdateJob[JobType] | None:
    """Hold a child that runs although it must not; None where there is nothing to do. It never gets a Workload.

    `workloads` are those of the managed ancestor, `elastic` says whether one of the two is.
    """
    if integration.finished(job) is not None or integration.suspended(job):
        return None
    if not must_be_held(workloads, elastic=elastic):
        return None
    return UpdateJob(integration.suspend(job), _held(integration.kind, job.metadata, now_ns))


def bring_children_along(
    job: JobType,
    integration: Integration[JobType],
    workloads: Iterable[Workload],
    children: Iterable[Any],
    now_ns: int,
) -> list[DeleteJob | UpdateJob[KubernetesObject]]:
    """Hold children that run on although their job is held; delete those that stay held although it runs.

    That is for kinds whose own controller does neither: it makes others for those that are gone. `workloads` are those
    of the job, `children` all objects with an owner reference to it.
    """
    if any(_admits(workload) for workload in workloads):
        return [
            DeleteJob(child, _left_behind(job, integration.kind, child, now_ns))
            for child in integration.left_behind(job, children)
        ]
    return [
        UpdateJob(child, _held(child.KIND, child.metadata, now_ns))
        for child in integration.stopped_children(job, children)
    ]


def _left_behind(job: KubernetesObject, kind: str, child: KubernetesObject, now_ns: int) -> Event:
    namespace, name = job.metadata.namespace or "", job.metadata.name
    what = f"{child.KIND} {namespace}/{child.metadata.name}"
    message = f"Deleted {what}: it is suspended although the {kind} is not"
    return events.deleted(kind, namespace, name, message, now_ns)


def _held(kind: str, metadata: ObjectMeta, now_ns: int) -> Event:
    return job_event(kind, metadata, "Suspended", "Kueue managed child job suspended", now_ns)


def _admits(workload: Workload) -> bool:
    known = workload.status.conditions if workload.status is not None else None
    return (
        conditions.is_true(known, conditions.ADMITTED)
        and not finish.is_finished(workload)
        and not eviction.is_evicted(workload)
    )


def must_be_held(workloads: Sequence[Workload], *, elastic: bool) -> bool:
    """Whether children of these Workloads' job may not run: by the newest one that has not ended.

    The pods of an elastic job are held by gates: its children stop only when it is evicted.
    """
    live = [workload for workload in workloads if not finish.is_finished(workload)]
    if not live:
        return True
    # Times in whole seconds, all written alike.
    newest = max(live, key=lambda each: (each.metadata.creation_timestamp or "", each.metadata.uid or ""))
    known = newest.status.conditions if newest.status is not None else None
    if elastic:
        return conditions.is_true(known, conditions.EVICTED)
    return not conditions.is_true(known, conditions.ADMITTED)
