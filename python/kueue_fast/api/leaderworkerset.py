"""LeaderWorkerSet (leaderworkerset.x-k8s.io/v1), with the fields that Kueue reads or writes. Defaults are the CRD's."""

from __future__ import annotations

from typing import ClassVar

from kueue_fast.api.core import PodTemplateSpec
from kueue_fast.api.meta import Int32, KubernetesObject, Wire


class LeaderWorkerTemplate(Wire, kw_only=True):
    worker_template: PodTemplateSpec
    leader_template: PodTemplateSpec | None = None
    size: Int32 | None = 1


class RollingUpdateConfiguration(Wire, kw_only=True):
    max_surge: int | str | None = None


class RolloutStrategy(Wire, kw_only=True):
    rolling_update_configuration: RollingUpdateConfiguration | None = None


class LeaderWorkerSetSpec(Wire, kw_only=True):
    leader_worker_template: LeaderWorkerTemplate
    replicas: Int32 | None = 1
    rollout_strategy: RolloutStrategy | None = None


class LeaderWorkerSetStatus(Wire, kw_only=True):
    replicas: Int32 | None = None
    ready_replicas: Int32 | None = None
    updated_replicas: Int32 | None = None


class LeaderWorkerSet(KubernetesObject, kw_only=True):
    API_VERSION: ClassVar[str] = "leaderworkerset.x-k8s.io/v1"
    KIND: ClassVar[str] = "LeaderWorkerSet"
    NAMESPACED: ClassVar[bool] = True

    spec: LeaderWorkerSetSpec
    status: LeaderWorkerSetStatus | None = None
