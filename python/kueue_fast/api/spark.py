"""SparkApplication (sparkoperator.k8s.io/v1beta2), with the fields that Kueue reads or writes."""

from __future__ import annotations

from typing import Any, ClassVar

from kueue_fast.api.core import PodTemplateSpec, Toleration
from kueue_fast.api.meta import Int32, Int64, KubernetesObject, Wire


class GPUSpec(Wire, kw_only=True):
    name: str = ""
    quantity: Int64 = 0


class SparkPodSpec(Wire, kw_only=True):
    """Driver or executors; `instances` are the executors'."""

    template: PodTemplateSpec | None = None
    core_request: str | None = None
    core_limit: str | None = None
    memory: str | None = None
    memory_limit: str | None = None
    gpu: GPUSpec | None = None
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    node_selector: dict[str, str] | None = None
    affinity: dict[str, Any] | None = None
    tolerations: list[Toleration] | None = None
    sidecars: list[dict[str, Any]] | None = None
    init_containers: list[dict[str, Any]] | None = None
    priority_class_name: str | None = None
    instances: Int32 | None = None


class DynamicAllocation(Wire, kw_only=True):
    enabled: bool = False


class SparkApplicationSpec(Wire, kw_only=True):
    driver: SparkPodSpec
    executor: SparkPodSpec
    mode: str | None = None
    suspend: bool | None = None
    node_selector: dict[str, str] | None = None
    dynamic_allocation: DynamicAllocation | None = None


class ApplicationState(Wire, kw_only=True):
    state: str | None = None
    error_message: str | None = None


class SparkApplicationStatus(Wire, kw_only=True):
    application_state: ApplicationState | None = None
    executor_state: dict[str, str] | None = None


class SparkApplication(KubernetesObject, kw_only=True):
    API_VERSION: ClassVar[str] = "sparkoperator.k8s.io/v1beta2"
    KIND: ClassVar[str] = "SparkApplication"
    NAMESPACED: ClassVar[bool] = True

    spec: SparkApplicationSpec
    status: SparkApplicationStatus | None = None
