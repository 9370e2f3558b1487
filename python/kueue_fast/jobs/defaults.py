"""What Kueue's webhook writes into a job at creation.

Source: JS-043, JS-047..049, JS-191.
"""

from __future__ import annotations

from typing import Any, Final, TypeVar

import msgspec

from kueue_fast.api.meta import KubernetesObject
from kueue_fast.jobs import names
from kueue_fast.jobs.integration import Integration
from kueue_fast.jobs.settings import JobSettings
from kueue_fast.jobs.workload import is_managed, queue_name

__all__ = ["DEFAULT_PRIORITY_CLASS", "defaulted", "in_default_priority_class"]

JobType = TypeVar("JobType", bound=KubernetesObject)

DEFAULT_PRIORITY_CLASS: Final = "default"


def defaulted(
    job: JobType,
    integration: Integration[JobType],
    settings: JobSettings,
    default_queue_exists: bool,
    *,
    default_class_exists: bool = False,
) -> JobType:
    """A top-level job as it is stored: with the LocalQueue `default` where there is one and none is named, and held.

    A job without queue name stays as it is, unless the configuration manages these too. `default_class_exists`: whether
    there is a WorkloadPriorityClass `default`.
    """
    if not queue_name(job.metadata) and default_queue_exists:
        labels = {**(job.metadata.labels or {}), names.QUEUE_NAME_LABEL: names.DEFAULT_LOCAL_QUEUE}
        job = msgspec.structs.replace(job, metadata=msgspec.structs.replace(job.metadata, labels=labels))
    if default_class_exists:
        job = in_default_priority_class(job, settings)
    if is_managed(job.metadata, settings) and not integration.suspended(job):
        job = integration.suspend(job)
    return integration.default(job, settings)


def in_default_priority_class(job: JobType, settings: JobSettings) -> JobType:
    """The job with the WorkloadPriorityClass `default`, if it names none and the gate is on; else the same object.

    Jobs whose controller is managed are not asked for: whoever calls this looks at their owner. Source: JS-048.
    """
    labels = job.metadata.labels or {}
    if not settings.default_priority_class or labels.get(names.PRIORITY_CLASS_LABEL):
        return job
    labels = {**labels, names.PRIORITY_CLASS_LABEL: DEFAULT_PRIORITY_CLASS}
    metadata: Any = msgspec.structs.replace(job.metadata, labels=labels)
    return msgspec.structs.replace(job, metadata=metadata)
