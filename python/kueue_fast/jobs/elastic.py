"""The reconciler of elastic jobs: all Workloads of a job in, at most one step out, as in `reconciler`.

It finds the slice that stands for the job, brings it to the job's size or makes the next one, and leaves the rest to
the steps that all jobs have. Kinds differ in their pod sets alone.

A job that has ended ends all its slices. The reference ends one, so that the quota of a slice whose replacement still
waited stays taken until the job is deleted (JS-596).

Source: JS-069, JS-480..489.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

import msgspec

from kueue_fast.api.kueue import Workload
from kueue_fast.api.meta import KubernetesObject
from kueue_fast.errors import KueueFastError
from kueue_fast.jobs import names, reconciler
from kueue_fast.jobs.integration import Finished, Integration
from kueue_fast.jobs.priorities import next_priority_update
from kueue_fast.jobs.reconciler import Action, UpdateJob, UpdateWorkload, UpdateWorkloadStatus, View
from kueue_fast.jobs.workload import build, is_managed
from kueue_fast.lifecycle import finish, slices
from kueue_fast.lifecycle.pods import slice_name
from kueue_fast.model.elastic import ELASTIC_JOB, REPLACEMENT_FOR, is_elastic

__all__ = ["TooManySlicesError", "is_elastic_job", "new_slice", "reconcile"]

JobType = TypeVar("JobType", bound=KubernetesObject)


class TooManySlicesError(KueueFastError):
    """A slice is wanted while several live: some have to end first, so the step is tried again. Source: JS-485."""


def is_elastic_job(job: JobType, integration: Integration[JobType], view: View) -> bool:
    """Whether the job has slices: by annotation, of a kind that can, with the gate on. Source: JS-198, JS-470."""
    return integration.elastic and is_elastic(job.metadata.annotations, slices=view.settings.elastic_jobs)


def reconcile(
    job: JobType,
    integration: Integration[JobType],
    workloads: Iterable[Workload],
    view: View,
    now_ns: int,
) -> Action | None:
    """The next step for an elastic job, None when it is where it should be.

    `workloads` are all Workloads that the job owns, in any order. `now_ns` is the time in ns since 1970.

    A job whose pod sets have got other names is treated with its newest slice as one that is not elastic (JS-484).

    Raises what `reconciler.reconcile` raises, and TooManySlicesError.
    """
    settings = view.settings
    if integration.skip(job, settings) or not is_managed(job.metadata, settings):
        return None
    live = slices.live_slices(workloads)
    ended = integration.finished(job)
    if ended is not None:
        return _finish(job, integration, live, ended, now_ns)
    pod_sets = integration.pod_sets(job, settings)
    noted = with_annotations(job, integration.slice_annotations(job, pod_sets))
    if noted is not None:
        return UpdateJob(noted, None)
    choice = slices.choose(slices.pod_counts(pod_sets), live)
    for workload, reason, message in choice.ended:
        done = finish.finished(workload, reason, message, now_ns)
        if done is not None:
            return UpdateWorkloadStatus(done, None)
    if not choice.compatible:
        return reconciler.reconcile(job, integration, live[-1], view, now_ns)
    if choice.resized and choice.workload is not None:
        return UpdateWorkload(choice.workload, None)
    chosen = choice.workload
    active = slices.active_slice(live)
    followers = [each for each in (chosen, active if active is not chosen else None) if each is not None]
    update = next_priority_update(job, integration, followers, view, now_ns)
    if update is not None:
        return update
    if chosen is None and not integration.on_hold(job):
        priority = reconciler.resolved_priority(job, integration, pod_sets, view)
        mark = integration.slice_mark(job)
        built = build(job, integration, pod_sets, priority, settings, slice_mark=mark)
        return reconciler.creation(job, integration, new_slice(built, live), now_ns)
    return (
        None if chosen is None else reconciler.reconcile(job, integration, chosen, view, now_ns, elastic=True)
    )


def with_annotations(job: JobType, annotations: Mapping[str, str]) -> JobType | None:
    """The job with these annotations besides its own, None if it has them. Source: JS-482."""
    known = job.metadata.annotations or {}
    wanted = {**known, **annotations}
    if wanted == known:
        return None
    metadata = msgspec.structs.replace(job.metadata, annotations=wanted)
    return msgspec.structs.replace(job, metadata=metadata)


def new_slice(workload: Workload, live: Sequence[Workload]) -> Workload:
    """A Workload about to be created, marked as the first slice of a chain or as the one that follows `live[0]`.

    Raises TooManySlicesError when more than one slice lives. Source: JS-485.
    """
    if len(live) > 1:
        raise TooManySlicesError(
            f"{workload.metadata.name} is to follow one slice, and {len(live)} have not ended"
        )
    annotations = {**(workload.metadata.annotations or {}), ELASTIC_JOB: "true"}
    chain = workload.metadata.name
    if live:
        annotations[REPLACEMENT_FOR] = slices.key_of(live[0])
        chain = slice_name(live[0]) or live[0].metadata.name
    annotations[names.WORKLOAD_SLICE_NAME_ANNOTATION] = chain
    metadata = msgspec.structs.replace(workload.metadata, annotations=annotations)
    return msgspec.structs.replace(workload, metadata=metadata)


def _finish(
    job: JobType, integration: Integration[JobType], live: Sequence[Workload], ended: Finished, now_ns: int
) -> Action | None:
    """End the newest slice of a job that has ended, the older ones in the steps that follow."""
    if not live:
        return None
    reason = finish.SUCCEEDED if ended.success else finish.FAILED
    done = finish.finished(live[-1], reason, ended.message, now_ns)
    if done is None:
        return None
    return UpdateWorkloadStatus(done, reconciler.finished_event(job, integration, live[-1], now_ns))
