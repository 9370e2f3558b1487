"""The order in which a changed batch/v1 Job may be written: the API server takes a stop only step by step.

The template of a Job can be restored only once its start time is cleared, and that only while it is suspended; since
Kubernetes v1.36 only once no pod is active. An annotation says meanwhile that the stop is not complete, so that whoever
looks next goes on with it.

Source: JS-252, JS-253.
"""

from __future__ import annotations

import msgspec

from kueue_fast.api.batch import Job
from kueue_fast.jobs.job import STOPPING

__all__ = ["next_write"]


def next_write(job: Job, wanted: Job) -> Job:
    """The job after the next write on the way to `wanted`: suspended, then its status, then the rest.

    What comes back differs from `job` either in the status or in the rest, never in both; it is `job` itself while its
    pods have to go first.
    """
    if wanted.spec.suspend and not job.spec.suspend:
        annotations = {**(job.metadata.annotations or {}), STOPPING: "true"}
        return msgspec.structs.replace(
            job,
            metadata=msgspec.structs.replace(job.metadata, annotations=annotations),
            spec=msgspec.structs.replace(job.spec, suspend=True),
        )
    if wanted.status != job.status:
        return msgspec.structs.replace(job, status=wanted.status)
    if wanted.spec.suspend and wanted.spec.template != job.spec.template and _has_active_pods(job):
        return job
    return wanted


def _has_active_pods(job: Job) -> bool:
    return job.status is not None and bool(job.status.active)
