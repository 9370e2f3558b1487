"""AppWrapper (workload.codeflare.dev/v1beta2), with the fields that Kueue reads or writes."""

from __future__ import annotations

from typing import Any, ClassVar

from kueue_fast.api.core import PodSchedulingGate, Toleration
from kueue_fast.api.meta import Condition, Int32, KubernetesObject, Wire


class AppWrapperPodSet(Wire, kw_only=True):
    path: str
    replicas: Int32 | None = None
    annotations: dict[str, str] | None = None


class AppWrapperPodSetInfo(Wire, kw_only=True):
    annotations: dict[str, str] | None = None
    labels: dict[str, str] | None = None
    node_selector: dict[str, str] | None = None
    tolerations: list[Toleration] | None = None
    scheduling_gates: list[PodSchedulingGate] | None = None


class AppWrapperComponent(Wire, kw_only=True):
    """One wrapped object; `template` is that object as it is."""

    template: dict[str, Any]
    pod_sets: list[AppWrapperPodSet] | None = None
    pod_set_infos: list[AppWrapperPodSetInfo] | None = None
    annotations: dict[str, str] | None = None


class AppWrapperSpec(Wire, kw_only=True):
    components: list[AppWrapperComponent] | None = None
    suspend: bool | None = None
    managed_by: str | None = None


class AppWrapperComponentStatus(Wire, kw_only=True):
    pod_sets: list[AppWrapperPodSet] | None = None


class AppWrapperStatus(Wire, kw_only=True):
    phase: str | None = None
    conditions: list[Condition] | None = None
    component_status: list[AppWrapperComponentStatus] | None = None


class AppWrapper(KubernetesObject, kw_only=True):
    API_VERSION: ClassVar[str] = "workload.codeflare.dev/v1beta2"
    KIND: ClassVar[str] = "AppWrapper"
    NAMESPACED: ClassVar[bool] = True

    spec: AppWrapperSpec
    status: AppWrapperStatus | None = None
