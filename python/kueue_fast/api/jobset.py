"""JobSet (jobset.x-k8s.io/v1alpha2), with the fields that Kueue reads or writes. Defaults are the CRD's."""

from __future__ import annotations

from typing import ClassVar

import msgspec

from kueue_fast.api.batch import JobSpec
from kueue_fast.api.meta import Condition, Int32, KubernetesObject, Wire


class JobTemplateSpec(Wire, kw_only=True):
    spec: JobSpec
    metadata: msgspec.Raw = msgspec.Raw()


class ReplicatedJob(Wire, kw_only=True):
    name: str
    template: JobTemplateSpec
    replicas: Int32 = 1


class JobSetSpec(Wire, kw_only=True):
    replicated_jobs: list[ReplicatedJob] | None = None
    suspend: bool | None = None
    managed_by: str | None = None


class ReplicatedJobStatus(Wire, kw_only=True):
    name: str
    ready: Int32 = 0
    succeeded: Int32 = 0
    failed: Int32 = 0
    active: Int32 = 0
    suspended: Int32 = 0


class JobSetStatus(Wire, kw_only=True):
    conditions: list[Condition] | None = None
    replicated_jobs_status: list[ReplicatedJobStatus] | None = None


class JobSet(KubernetesObject, kw_only=True):
    API_VERSION: ClassVar[str] = "jobset.x-k8s.io/v1alpha2"
    KIND: ClassVar[str] = "JobSet"
    NAMESPACED: ClassVar[bool] = True

    spec: JobSetSpec
    status: JobSetStatus | None = None
