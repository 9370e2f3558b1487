"""Jobs that belong to a managed job: they run only while that one may. Source: JS-062."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

from kueue_fast.api.kueue import Workload
from kueue_fast.api.meta import KubernetesObject
from kueue_fast.jobs.integration import Integration
from kueue_fast.jobs.job_events import job_event
from kueue_fast.jobs.reconciler import DeleteJob, UpdateJob
from kueue_fast.lifecycle import events, eviction, finish
from kueue_fast.model import conditions

__all__ = ["hold_child", "must_be_held", "remove_left_behind"]

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
    event = job_event(
        integration.kind, job.metadata, "Suspended", "Kueue managed child job suspended", now_ns
    )
    return UpdateJob(integration.suspend(job), event)


def remove_left_behind(
    job: JobType,
    integration: Integration[JobType],
    workloads: Iterable[Workload],
    children: Iterable[Any],
    now_ns: int,
) -> list[DeleteJob]:
    """Delete children that stay held although the job runs, so that the job's own controller makes others.

    `workloads` are those of the job, `children` all objects with an owner reference to it.
    """
    if not any(_admits(workload) for workload in workloads):
        return []
    namespace, name = job.metadata.namespace or "", job.metadata.name
    return [
        DeleteJob(
            child,
            events.deleted(
                integration.kind,
                namespace,
                name,
                f"Deleted {child.KIND} {namespace}/{child.metadata.name}: "
                f"it is suspended although the {integration.kind} is not",
                now_ns,
            ),
        )
        for child in integration.left_behind(job, children)
    ]


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
