"""batch/v1 Job."""

from __future__ import annotations

from typing import ClassVar

from kueue_fast.api.core import PodTemplateSpec
from kueue_fast.api.meta import Condition, Int32, Int64, KubernetesObject, LabelSelector, Wire


class JobSpec(Wire, kw_only=True):
    template: PodTemplateSpec
    parallelism: Int32 | None = None
    completions: Int32 | None = None
    completion_mode: str | None = None
    suspend: bool | None = None
    active_deadline_seconds: Int64 | None = None
    backoff_limit: Int32 | None = None
    backoff_limit_per_index: Int32 | None = None
    max_failed_indexes: Int32 | None = None
    ttl_seconds_after_finished: Int32 | None = None
    pod_replacement_policy: str | None = None
    managed_by: str | None = None
    manual_selector: bool | None = None
    selector: LabelSelector | None = None


class UncountedTerminatedPods(Wire, kw_only=True):
    succeeded: list[str] | None = None
    failed: list[str] | None = None


class JobStatus(Wire, kw_only=True):
    conditions: list[Condition] | None = None
    start_time: str | None = None
    completion_time: str | None = None
    active: Int32 | None = None
    ready: Int32 | None = None
    terminating: Int32 | None = None
    succeeded: Int32 | None = None
    failed: Int32 | None = None
    completed_indexes: str | None = None
    failed_indexes: str | None = None
    uncounted_terminated_pods: UncountedTerminatedPods | None = None


class Job(KubernetesObject, kw_only=True):
    API_VERSION: ClassVar[str] = "batch/v1"
    KIND: ClassVar[str] = "Job"
    NAMESPACED: ClassVar[bool] = True

    spec: JobSpec
    status: JobStatus | None = None
