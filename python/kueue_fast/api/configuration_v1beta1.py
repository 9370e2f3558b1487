"""The v1beta1 forms of the Configuration that differ from v1beta2, and the conversion to v1beta2.

Fields that v1beta1 lacks are unknown in a v1beta1 file; fields that only v1beta1 has are read and dropped.
Source: OP-221..224.
"""

from typing import Any

import msgspec

from kueue_fast.api import configuration_types as v1beta2
from kueue_fast.api.configuration_types import ConfigurationStruct, Duration
from kueue_fast.api.meta import Int32, LabelSelector


class WaitForPodsReady(ConfigurationStruct):
    """Off unless `enable` is true."""

    enable: bool | None = None
    timeout: Duration | None = None
    block_admission: bool | None = None
    requeuing_strategy: v1beta2.RequeuingStrategy | None = None
    recovery_timeout: Duration | None = None


class FairSharing(ConfigurationStruct):
    """Off unless `enable` is true."""

    enable: bool | None = None
    preemption_strategies: list[str] | None = None


class DeviceClassMapping(ConfigurationStruct):
    """Without sources."""

    name: str = ""
    device_class_names: list[str] | None = None


class Resources(ConfigurationStruct):
    """Without a quota check strategy."""

    exclude_resource_prefixes: list[str] | None = None
    transformations: list[v1beta2.ResourceTransformation] | None = None
    device_class_mappings: list[DeviceClassMapping] | None = None


class PodIntegrationOptions(ConfigurationStruct):
    """Deprecated, without effect."""

    namespace_selector: LabelSelector | None = None
    pod_selector: LabelSelector | None = None


class Integrations(ConfigurationStruct):
    """With the deprecated `podOptions`."""

    frameworks: list[str] | None = None
    external_frameworks: list[str] | None = None
    pod_options: PodIntegrationOptions | None = None
    label_keys_to_copy: list[str] | None = None


class ControllerMetricsCustomLabel(ConfigurationStruct):
    """Labels of ClusterQueues only, any value."""

    name: str = ""
    source_label_key: str | None = None
    source_annotation_key: str | None = None


class ControllerMetrics(ConfigurationStruct):
    """The metrics server."""

    bind_address: str | None = None
    enable_cluster_queue_resources: bool | None = None
    custom_labels: list[ControllerMetricsCustomLabel] | None = None
    local_queue_metrics: v1beta2.LocalQueueMetrics | None = None


class MultiKueue(ConfigurationStruct):
    """Without ClusterProfiles and settings of the incremental dispatcher."""

    gc_interval: Duration | None = None
    origin: str | None = None
    worker_lost_timeout: Duration | None = None
    dispatcher_name: str | None = None
    external_frameworks: list[v1beta2.MultiKueueExternalFramework] | None = None


class ClusterQueueVisibility(ConfigurationStruct):
    """Deprecated, without effect."""

    max_count: Int32 | None = None


class QueueVisibility(ConfigurationStruct):
    """Deprecated, without effect."""

    cluster_queues: ClusterQueueVisibility | None = None
    update_interval_seconds: Int32 | None = None


class Configuration(ConfigurationStruct):
    """The whole Configuration of a v1beta1 file."""

    api_version: str = "config.kueue.x-k8s.io/v1beta1"
    kind: str = "Configuration"
    namespace: str | None = None
    webhook: v1beta2.ControllerWebhook | None = None
    leader_election: v1beta2.LeaderElection | None = None
    metrics: ControllerMetrics | None = None
    health: v1beta2.ControllerHealth | None = None
    pprof_bind_address: str | None = None
    controller: v1beta2.ControllerConfigurationSpec | None = None
    tls: v1beta2.TLSOptions | None = None
    manage_jobs_without_queue_name: bool | None = None
    managed_jobs_namespace_selector: LabelSelector | None = None
    internal_cert_management: v1beta2.InternalCertManagement | None = None
    wait_for_pods_ready: WaitForPodsReady | None = None
    client_connection: v1beta2.ClientConnection | None = None
    integrations: Integrations | None = None
    queue_visibility: QueueVisibility | None = None
    multi_kueue: MultiKueue | None = None
    fair_sharing: FairSharing | None = None
    admission_fair_sharing: v1beta2.AdmissionFairSharing | None = None
    resources: Resources | None = None
    feature_gates: dict[str, bool] | None = None
    object_retention_policies: v1beta2.ObjectRetentionPolicies | None = None


def to_v1beta2(configuration: Configuration) -> v1beta2.Configuration:
    """The v1beta2 form. v1beta1's own defaults, which depend on `enable`, are set on the way. Source: OP-221..223."""
    fields: dict[str, Any] = msgspec.to_builtins(configuration)
    for dropped in ("apiVersion", "queueVisibility", "fairSharing", "waitForPodsReady"):
        fields.pop(dropped, None)
    fields.get("integrations", {}).pop("podOptions", None)
    converted = msgspec.convert(fields, v1beta2.Configuration)
    converted.fair_sharing = _fair_sharing(configuration.fair_sharing)
    converted.wait_for_pods_ready = _wait_for_pods_ready(configuration.wait_for_pods_ready)
    return converted


def _fair_sharing(fair_sharing: FairSharing | None) -> v1beta2.FairSharing | None:
    if fair_sharing is None or not fair_sharing.enable:
        return None
    default = [v1beta2.LESS_THAN_OR_EQUAL_TO_FINAL_SHARE, v1beta2.LESS_THAN_INITIAL_SHARE]
    return v1beta2.FairSharing(preemption_strategies=fair_sharing.preemption_strategies or default)


def _wait_for_pods_ready(wait: WaitForPodsReady | None) -> v1beta2.WaitForPodsReady | None:
    if wait is None or not wait.enable:
        return None
    timeout = "5m" if wait.timeout is None else wait.timeout
    return v1beta2.WaitForPodsReady(
        timeout=timeout,
        block_admission=True if wait.block_admission is None else wait.block_admission,
        requeuing_strategy=wait.requeuing_strategy,
        recovery_timeout=timeout if wait.recovery_timeout is None else wait.recovery_timeout,
    )
