"""What Kueue's webhook writes into a job at creation.

Source: JS-043, JS-047, JS-049, JS-191.
"""

from __future__ import annotations

from typing import TypeVar

import msgspec

from kueue_fast.api.meta import KubernetesObject
from kueue_fast.jobs import names
from kueue_fast.jobs.integration import Integration
from kueue_fast.jobs.settings import JobSettings
from kueue_fast.jobs.workload import is_managed, queue_name

__all__ = ["defaulted"]

JobType = TypeVar("JobType", bound=KubernetesObject)


def defaulted(
    job: JobType,
    integration: Integration[JobType],
    settings: JobSettings,
    default_queue_exists: bool,
) -> JobType:
    """A top-level job as it is stored: with the LocalQueue `default` where there is one and none is named, and held.

    A job without queue name stays as it is, unless the configuration manages these too.
    """
    if not queue_name(job.metadata) and default_queue_exists:
        labels = {**(job.metadata.labels or {}), names.QUEUE_NAME_LABEL: names.DEFAULT_LOCAL_QUEUE}
        job = msgspec.structs.replace(job, metadata=msgspec.structs.replace(job.metadata, labels=labels))
    if is_managed(job.metadata, settings) and not integration.suspended(job):
        job = integration.suspend(job)
    return integration.default(job, settings)
