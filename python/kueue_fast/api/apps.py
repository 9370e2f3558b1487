"""Serving kinds of apps/v1, with the fields that Kueue reads or writes. Defaults are the API server's."""

from __future__ import annotations

from typing import ClassVar

from kueue_fast.api.core import PodTemplateSpec
from kueue_fast.api.meta import Int32, KubernetesObject, Wire


class StatefulSetSpec(Wire, kw_only=True):
    template: PodTemplateSpec
    replicas: Int32 | None = 1


class StatefulSetStatus(Wire, kw_only=True):
    replicas: Int32 | None = None
    ready_replicas: Int32 | None = None
    current_revision: str | None = None
    update_revision: str | None = None


class StatefulSet(KubernetesObject, kw_only=True):
    API_VERSION: ClassVar[str] = "apps/v1"
    KIND: ClassVar[str] = "StatefulSet"
    NAMESPACED: ClassVar[bool] = True

    spec: StatefulSetSpec
    status: StatefulSetStatus | None = None


class DeploymentSpec(Wire, kw_only=True):
    template: PodTemplateSpec
    replicas: Int32 | None = 1


class DeploymentStatus(Wire, kw_only=True):
    replicas: Int32 | None = None
    ready_replicas: Int32 | None = None


class Deployment(KubernetesObject, kw_only=True):
    API_VERSION: ClassVar[str] = "apps/v1"
    KIND: ClassVar[str] = "Deployment"
    NAMESPACED: ClassVar[bool] = True

    spec: DeploymentSpec
    status: DeploymentStatus | None = None


class ReplicaSetSpec(Wire, kw_only=True):
    template: PodTemplateSpec
    replicas: Int32 | None = 1


class ReplicaSet(KubernetesObject, kw_only=True):
    """Stands between the pods of a Deployment and it; no kind that is read from manifests."""

    API_VERSION: ClassVar[str] = "apps/v1"
    KIND: ClassVar[str] = "ReplicaSet"
    NAMESPACED: ClassVar[bool] = True

    spec: ReplicaSetSpec
