"""The job reconciler as a function: the facts of a job and its Workload in, at most one step out.

Each step ends with a write; the watch of what was written brings the job back for the next. Whoever calls this
carries the actions out, live or in the embedded cluster.

This is a top-level job with one Workload, from creation through evictions to the end. `one_workload` goes before it to
find that Workload, `elastic` for jobs with several; `ancestors` tells which jobs are not top-level.

Source: JS-060..079, JS-088..090, JS-140, JS-160, JS-164.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final, Generic, NamedTuple, Protocol, TypeAlias, TypeVar

import msgspec

from kueue_fast.api.core import PriorityClass
from kueue_fast.api.kueue import PodSet, ReclaimablePod, ResourceFlavor, Workload, WorkloadPriorityClass
from kueue_fast.api.meta import KubernetesObject
from kueue_fast.jobs import pod_set_info
from kueue_fast.jobs.integration import Integration
from kueue_fast.jobs.pod_set_info import StartError
from kueue_fast.jobs.settings import JobSettings
from kueue_fast.jobs.validation import prebuilt_name
from kueue_fast.jobs.workload import build, priority_of, queue_name
from kueue_fast.lifecycle import checks, deactivation, events, eviction, finish, pods_ready, retention
from kueue_fast.lifecycle.admission import unset_reservation
from kueue_fast.lifecycle.events import Event
from kueue_fast.lifecycle.status import with_status, writable_status
from kueue_fast.model import conditions
from kueue_fast.model.priority import ResolvedPriority

__all__ = [
    "Action",
    "CreateWorkload",
    "DeleteJob",
    "UpdateJob",
    "UpdateWorkload",
    "UpdateWorkloadStatus",
    "View",
    "checks_event",
    "creation",
    "expired",
    "finalize",
    "finished_event",
    "next_look",
    "reconcile",
    "resolved_priority",
]

JobType = TypeVar("JobType", bound=KubernetesObject)

ON_HOLD: Final = "OnHold"


class CreateWorkload(NamedTuple):
    """Create the Workload, then record the event."""

    workload: Workload
    event: Event


class UpdateJob(NamedTuple, Generic[JobType]):
    """Write the job, its status too, then record the event, if there is one."""

    job: JobType
    event: Event | None


class UpdateWorkload(NamedTuple):
    """Write metadata and spec of the Workload."""

    workload: Workload
    event: Event | None


class UpdateWorkloadStatus(NamedTuple):
    """Write the status of the Workload."""

    workload: Workload
    event: Event | None


class DeleteJob(NamedTuple):
    """Delete the job and, in the background, what it owns; then record the event."""

    job: KubernetesObject
    event: Event


Action: TypeAlias = (
    CreateWorkload | UpdateJob[KubernetesObject] | UpdateWorkload | UpdateWorkloadStatus | DeleteJob
)


class View(Protocol):
    """What the reconciler reads besides the job and its Workload."""

    @property
    def settings(self) -> JobSettings:
        """Configuration and gates."""

    @property
    def flavor(self) -> Callable[[str], ResourceFlavor | None]:
        """A ResourceFlavor by name."""

    @property
    def workload_classes(self) -> Mapping[str, WorkloadPriorityClass]:
        """WorkloadPriorityClasses by name."""

    @property
    def pod_classes(self) -> Mapping[str, PriorityClass]:
        """PriorityClasses by name."""


def reconcile(
    job: JobType,
    integration: Integration[JobType],
    workload: Workload | None,
    view: View,
    now_ns: int,
    *,
    elastic: bool = False,
) -> Action | None:
    """The next step for a job, None when it is where it should be.

    `workload` is the job's Workload, None when there is none. `now_ns` is the time in ns since 1970. The pods of an
    `elastic` job are held by a gate: it runs on while its Workload is not admitted (JS-487).

    Raises InputError when a priority class does not exist, or no pod sets can be made of the job, LookupError when
    a flavor does not exist: all are retried live.
    """
    settings = view.settings
    if integration.skip(job, settings):
        return None
    if not queue_name(job.metadata) and not settings.manage_jobs_without_queue_name:
        return None
    if workload is not None and finish.is_finished(workload):
        return release(job, integration, workload, now_ns)
    if workload is not None and workload.metadata.deletion_timestamp:
        return let_go(job, integration, workload, now_ns)
    if integration.on_hold(job):
        return hold(workload, settings, now_ns) if workload is not None else None
    ended = integration.finished(job)
    if ended is not None:
        if workload is None:
            return None
        reason = finish.SUCCEEDED if ended.success else finish.FAILED
        done = finish.finished(workload, reason, ended.message, now_ns)
        if done is None:
            return None
        return UpdateWorkloadStatus(done, finished_event(job, integration, workload, now_ns))
    if workload is None:
        return hold_or_create(job, integration, view, now_ns)
    reclaimable = integration.reclaimable_pods(job) if settings.reclaimable_pods else None
    if reclaimable is not None:
        changed = with_reclaimable_pods(workload, reclaimable)
        if changed is not None:
            return UpdateWorkloadStatus(changed, None)
    if settings.wait_for_pods_ready:
        changed = pods_ready.ready_condition(workload, integration.pods_ready(job), now_ns)
        if changed is not None:
            return UpdateWorkloadStatus(changed, None)
    told_to_stop = eviction.eviction_of(workload)
    if told_to_stop is not None:
        return leave(job, integration, workload, told_to_stop[1], settings, now_ns)
    admitted = workload.status is not None and conditions.is_true(
        workload.status.conditions, conditions.ADMITTED
    )
    if integration.suspended(job):
        return start(job, integration, workload, view, now_ns) if admitted else follow_queue(job, workload)
    if not admitted and not elastic:
        return stop(job, integration, workload, "Not admitted by cluster queue", now_ns)
    return None


def hold(workload: Workload, settings: JobSettings, now_ns: int) -> Action | None:
    """A job on hold keeps no quota, whether its Workload was evicted or not. Source: JS-068."""
    known = workload.status.conditions if workload.status is not None else None
    if not conditions.is_true(known, conditions.QUOTA_RESERVED):
        return None
    status = writable_status(workload)
    unset_reservation(workload, status, ON_HOLD, "Job is on hold", now_ns, settings.reasons)
    return UpdateWorkloadStatus(with_status(workload, status), None)


def hold_or_create(job: JobType, integration: Integration[JobType], view: View, now_ns: int) -> Action | None:
    """A job without Workload: held if it runs, waited for while pods run, else given its Workload.

    One that names a Workload made beforehand waits for it: whoever asks comes back, as nothing may tell when it comes.

    Source: JS-135, JS-140.
    """
    if not integration.suspended(job):
        return stop(job, integration, None, "missing workload", now_ns)
    if integration.active(job) or prebuilt_name(job.metadata, view.settings):
        return None
    pod_sets = integration.pod_sets(job, view.settings)
    workload = build(
        job, integration, pod_sets, resolved_priority(job, integration, pod_sets, view), view.settings
    )
    return creation(job, integration, workload, now_ns)


def resolved_priority(
    job: JobType, integration: Integration[JobType], pod_sets: Iterable[PodSet], view: View
) -> ResolvedPriority:
    """Priority of a Workload of the job with these pod sets. Raises InputError when the class does not exist."""
    own = integration.priority_class(job)
    return priority_of(job.metadata, pod_sets, view.workload_classes, view.pod_classes, own)


def creation(
    job: JobType, integration: Integration[JobType], workload: Workload, now_ns: int
) -> CreateWorkload:
    """Create the Workload of a job, with the event on the job."""
    namespace = job.metadata.namespace or ""
    key = f"{namespace}/{workload.metadata.name}"
    event = events.created_workload(integration.kind, namespace, job.metadata.name, key, now_ns)
    return CreateWorkload(workload, event)


def start(
    job: JobType, integration: Integration[JobType], workload: Workload, view: View, now_ns: int
) -> Action | None:
    """Release a job; one that can never be started as admitted ends its Workload. Source: JS-077, JS-160, JS-163."""
    try:
        infos = pod_set_info.from_status(workload, view.flavor, view.settings)
        started = integration.start(job, infos)
    except StartError as error:
        done = finish.finished(workload, finish.FAILED_TO_START, str(error), now_ns)
        return None if done is None else UpdateWorkloadStatus(done, None)
    admission = workload.status.admission if workload.status is not None else None
    event = events.started(
        integration.kind,
        job.metadata.namespace or "",
        job.metadata.name,
        admission.cluster_queue if admission is not None else "",
        now_ns,
    )
    return UpdateJob(started, event)


def checks_event(
    job: JobType, integration: Integration[JobType], workload: Workload | None, now_ns: int
) -> Event | None:
    """Event on a held job whose Workload has quota and waits for checks: what these say, None if nothing.

    The reference records it at each look; the same words say nothing new. Source: JS-089, LC-1209.
    """
    known = workload.status.conditions if workload is not None and workload.status is not None else None
    if (
        workload is None
        or not conditions.is_true(known, conditions.QUOTA_RESERVED)
        or conditions.is_true(known, conditions.ADMITTED)
        or eviction.is_evicted(workload)
        or not integration.suspended(job)
    ):
        return None
    message = checks.pending_messages(workload)
    namespace, name = job.metadata.namespace or "", job.metadata.name
    return (
        events.updated_admission_check(integration.kind, namespace, name, message, now_ns)
        if message
        else None
    )


def stop(
    job: JobType, integration: Integration[JobType], workload: Workload | None, why: str, now_ns: int
) -> Action | None:
    """Hold a job and restore its templates, None when that has been done. Source: JS-164."""
    infos = pod_set_info.from_workload(workload) if workload is not None else []
    stopped = integration.stop(job, infos)
    if stopped.job is job:
        return None
    event = None
    if stopped.now:
        event = events.stopped(integration.kind, job.metadata.namespace or "", job.metadata.name, why, now_ns)
    return UpdateJob(stopped.job, event)


def leave(
    job: JobType,
    integration: Integration[JobType],
    workload: Workload,
    why: str,
    settings: JobSettings,
    now_ns: int,
) -> Action | None:
    """An evicted Workload: its job is stopped; once no pod runs the quota is free. Source: JS-074, JS-075."""
    action = stop(job, integration, workload, why, now_ns)
    if action is not None:
        return action
    known = workload.status.conditions if workload.status is not None else None
    if not conditions.is_true(known, conditions.QUOTA_RESERVED) or integration.active(job):
        return expired(job, integration.kind, workload, settings, now_ns)
    stopped = eviction.stopped(
        workload, now_ns, settings.reasons, skip_pod_owned=settings.skip_reassignment_for_pod_owned
    )
    return UpdateWorkloadStatus(stopped, None)


def expired(
    job: KubernetesObject, kind: str, workload: Workload, settings: JobSettings, now_ns: int
) -> DeleteJob | None:
    """A job whose Workload Kueue switched off goes after a while. Source: JS-076."""
    deadline = deactivation.job_deadline(workload, settings.after_deactivated_ns)
    if deadline is None or now_ns < deadline or job.metadata.deletion_timestamp:
        return None
    message = "Deleted job: deactivation retention period expired"
    return DeleteJob(
        job, events.deleted(kind, job.metadata.namespace or "", job.metadata.name, message, now_ns)
    )


def next_look(workload: Workload | None, settings: JobSettings, now_ns: int) -> int | None:
    """When a job is to be looked at although nothing changed, in ns since 1970; None: not at all. Source: JS-076."""
    if workload is None:
        return None
    deadline = deactivation.job_deadline(workload, settings.after_deactivated_ns)
    return deadline if deadline is not None and deadline > now_ns else None


def let_go(job: JobType, integration: Integration[JobType], workload: Workload, now_ns: int) -> Action | None:
    """The Workload is being deleted: its job stops, and then it may go. Source: JS-067."""
    action = stop(job, integration, workload, "Workload is deleted", now_ns)
    if action is not None:
        return action
    released = retention.without_finalizer(workload)
    return None if released is None else UpdateWorkload(released, None)


def follow_queue(job: KubernetesObject, workload: Workload) -> Action | None:
    """Take over a new queue name while nothing is reserved. Source: JS-088."""
    wanted = queue_name(job.metadata) or None
    if (workload.spec.queue_name or None) == wanted:
        return None
    if workload.status is not None and conditions.is_true(
        workload.status.conditions, conditions.QUOTA_RESERVED
    ):
        return None
    return UpdateWorkload(
        msgspec.structs.replace(workload, spec=msgspec.structs.replace(workload.spec, queue_name=wanted)),
        None,
    )


def finalize(workload: Workload, settings: JobSettings, now_ns: int) -> Action | None:
    """The next step for a Workload whose job is gone: it ends, and then may be deleted. Source: JS-061."""
    if settings.finish_orphaned and not workload.metadata.deletion_timestamp:
        done = finish.finished(workload, finish.OWNER_NOT_FOUND, retention.NO_OWNER, now_ns)
        if done is not None:
            return UpdateWorkloadStatus(done, None)
    released = retention.without_finalizer(workload)
    return None if released is None else UpdateWorkload(released, None)


def release(
    job: JobType, integration: Integration[JobType], workload: Workload, now_ns: int
) -> Action | None:
    """A finished Workload loses the finalizer, so that it can be deleted. Source: JS-066."""
    released = retention.without_finalizer(workload)
    if released is None:
        return None
    # A job that has ended got its event when the Workload was finished for it.
    event = (
        None if integration.finished(job) is not None else finished_event(job, integration, workload, now_ns)
    )
    return UpdateWorkload(released, event)


def finished_event(job: JobType, integration: Integration[JobType], workload: Workload, now_ns: int) -> Event:
    """Event on the job that its Workload is finished."""
    namespace = job.metadata.namespace or ""
    key = f"{namespace}/{workload.metadata.name}"
    return events.finished_workload(integration.kind, namespace, job.metadata.name, key, now_ns)


def with_reclaimable_pods(workload: Workload, pods: list[ReclaimablePod]) -> Workload | None:
    """The Workload with these reclaimable pods, capped by its counts; None when they stand there. Source: JS-072."""
    counts = {pod_set.name: pod_set.count for pod_set in workload.spec.pod_sets or ()}
    capped = [
        ReclaimablePod(name=each.name, count=min(each.count, counts.get(each.name, each.count)))
        for each in pods
    ]
    before = (workload.status.reclaimable_pods or []) if workload.status is not None else []
    if {each.name: each.count for each in before} == {each.name: each.count for each in capped}:
        return None
    status = writable_status(workload)
    return with_status(workload, msgspec.structs.replace(status, reclaimable_pods=capped or None))
