"""Jobs that belong to a managed job: they run only while that one may. Source: JS-062."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from kueue_fast.api.kueue import Workload
from kueue_fast.api.meta import KubernetesObject
from kueue_fast.jobs.integration import Integration
from kueue_fast.jobs.job_events import job_event
from kueue_fast.jobs.reconciler import UpdateJob
from kueue_fast.lifecycle import finish
from kueue_fast.model import conditions

__all__ = ["hold_child", "must_be_held"]

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
