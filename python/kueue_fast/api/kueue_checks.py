"""Admission checks and what configures them, kueue.x-k8s.io/v1beta2. Source: LC-115, LC-117, LC-118."""

from __future__ import annotations

from typing import ClassVar

from kueue_fast.api.kueue_workload import V1BETA2
from kueue_fast.api.meta import Condition, Int32, KubernetesObject, Wire


class AdmissionCheckParametersReference(Wire, kw_only=True):
    api_group: str
    kind: str
    name: str


class AdmissionCheckSpec(Wire, kw_only=True):
    controller_name: str
    parameters: AdmissionCheckParametersReference | None = None


class AdmissionCheckStatus(Wire, kw_only=True):
    conditions: list[Condition] | None = None


class AdmissionCheck(KubernetesObject, kw_only=True):
    API_VERSION: ClassVar[str] = V1BETA2
    KIND: ClassVar[str] = "AdmissionCheck"

    spec: AdmissionCheckSpec
    status: AdmissionCheckStatus | None = None


class ProvisioningRequestRetryStrategy(Wire, kw_only=True):
    backoff_limit_count: Int32 | None = None
    backoff_base_seconds: Int32 | None = None
    backoff_max_seconds: Int32 | None = None


class ProvisioningRequestPodSetUpdatesNodeSelector(Wire, kw_only=True):
    key: str
    value_from_provisioning_class_detail: str


class ProvisioningRequestPodSetUpdates(Wire, kw_only=True):
    node_selector: list[ProvisioningRequestPodSetUpdatesNodeSelector] | None = None


class ProvisioningRequestConfigSpec(Wire, kw_only=True):
    provisioning_class_name: str
    parameters: dict[str, str] | None = None
    managed_resources: list[str] | None = None
    retry_strategy: ProvisioningRequestRetryStrategy | None = None
    pod_set_updates: ProvisioningRequestPodSetUpdates | None = None
    pod_set_merge_policy: str | None = None


class ProvisioningRequestConfig(KubernetesObject, kw_only=True):
    API_VERSION: ClassVar[str] = V1BETA2
    KIND: ClassVar[str] = "ProvisioningRequestConfig"

    spec: ProvisioningRequestConfigSpec


class MultiKueueConfigSpec(Wire, kw_only=True):
    clusters: list[str] | None = None
    quota_management: str | None = None


class MultiKueueConfig(KubernetesObject, kw_only=True):
    API_VERSION: ClassVar[str] = V1BETA2
    KIND: ClassVar[str] = "MultiKueueConfig"

    spec: MultiKueueConfigSpec | None = None


class KubeConfig(Wire, kw_only=True):
    location: str = ""
    location_type: str | None = None


class ClusterProfileReference(Wire, kw_only=True):
    name: str


class ClusterSource(Wire, kw_only=True):
    kube_config: KubeConfig | None = None
    cluster_profile_ref: ClusterProfileReference | None = None


class MultiKueueClusterSpec(Wire, kw_only=True):
    cluster_source: ClusterSource | None = None


class MultiKueueClusterStatus(Wire, kw_only=True):
    conditions: list[Condition] | None = None


class MultiKueueCluster(KubernetesObject, kw_only=True):
    API_VERSION: ClassVar[str] = V1BETA2
    KIND: ClassVar[str] = "MultiKueueCluster"

    spec: MultiKueueClusterSpec | None = None
    status: MultiKueueClusterStatus | None = None
