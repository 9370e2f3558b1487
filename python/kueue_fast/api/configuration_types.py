"""Structs of Kueue's Configuration, config.kueue.x-k8s.io/v1beta2.

Every field of upstream's type exists, so that any file Kueue accepts loads. Unknown fields are refused in
each struct. Sub-structs (FairSharing, Resources, ...) are also read on their own, by the conformance corpus.
Values stay as written: durations are Go duration strings (`parse_duration` gives nanoseconds), quantities
are texts or numbers. Null reads as absent, as in Go.

Source: OP-220..226, OP-240..297.
"""

import re
from typing import Annotated, TypeAlias

import msgspec

from kueue_fast.api.meta import Int32, Int64, LabelSelector, QuantityValue

DURATION_PATTERN = r"^[-+]?(0|(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+)\Z"
DURATION_TERM = re.compile(r"([0-9]*)(?:\.([0-9]*))?(ns|us|µs|μs|ms|s|m|h)")
NANOSECONDS = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,
    "μs": 1_000,
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "m": 60_000_000_000,
    "h": 3_600_000_000_000,
}
MAX_DURATION = 2**63 - 1

Duration: TypeAlias = Annotated[str, msgspec.Meta(pattern=DURATION_PATTERN)]

LESS_THAN_OR_EQUAL_TO_FINAL_SHARE = "LessThanOrEqualToFinalShare"
LESS_THAN_INITIAL_SHARE = "LessThanInitialShare"
RETAIN = "Retain"
REPLACE = "Replace"
BLOCK_UNDECLARED = "BlockUndeclared"
IGNORE_UNDECLARED = "IgnoreUndeclared"
CREATION_TIMESTAMP = "Creation"
EVICTION_TIMESTAMP = "Eviction"
DISPATCHER_ALL_AT_ONCE = "kueue.x-k8s.io/multikueue-dispatcher-all-at-once"
DISPATCHER_INCREMENTAL = "kueue.x-k8s.io/multikueue-dispatcher-incremental"


def parse_duration(text: str) -> int:
    """Nanoseconds of a Go duration string such as `1h30m`, `250ms`, `-5s` or `0`.

    Fractions of a nanosecond are dropped. Raises ValueError naming the text and what is expected. Source: OP-226.
    """
    if re.match(DURATION_PATTERN, text) is None:
        raise ValueError(f"{text!r} is not a duration: expected numbers with units, such as 30s, 5m or 1h30m")
    total = 0
    for whole, fraction, unit in DURATION_TERM.findall(text):
        total += int(whole or "0") * NANOSECONDS[unit]
        if fraction:
            total += int(fraction) * NANOSECONDS[unit] // 10 ** len(fraction)
    if total > MAX_DURATION:
        raise ValueError(f"{text!r} is not a duration: expected at most {MAX_DURATION} ns (about 292 years)")
    return -total if text.startswith("-") else total


class ConfigurationStruct(
    msgspec.Struct, rename="camel", kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """What all structs of the Configuration share."""


class RequeuingStrategy(ConfigurationStruct):
    """How a Workload evicted because its Pods were not ready in time comes back. Source: OP-270..272."""

    timestamp: str | None = None
    backoff_limit_count: Int32 | None = None
    backoff_base_seconds: Int32 | None = None
    backoff_max_seconds: Int32 | None = None


class WaitForPodsReady(ConfigurationStruct):
    """Eviction of Workloads whose Pods are not ready in time. Source: OP-267..272."""

    timeout: Duration | None = None
    block_admission: bool | None = None
    requeuing_strategy: RequeuingStrategy | None = None
    recovery_timeout: Duration | None = None


class FairSharing(ConfigurationStruct):
    """Fair sharing between ClusterQueues and cohorts; its presence switches it on. Source: OP-223, OP-285."""

    preemption_strategies: list[str] | None = None


class AdmissionFairSharing(ConfigurationStruct):
    """Order of LocalQueues by their decayed past usage. Source: OP-286..288."""

    usage_half_life_time: Duration | None = None
    usage_sampling_interval: Duration | None = None
    resource_weights: dict[str, float] | None = None


class ResourceTransformation(ConfigurationStruct):
    """Outputs, per unit of the input resource, that replace or accompany it. Source: OP-291, QC-67."""

    input: str = ""
    strategy: str | None = None
    multiply_by: str = ""
    outputs: dict[str, QuantityValue] | None = None


class CELDeviceSelector(ConfigurationStruct):
    """A CEL expression over a device."""

    expression: str = ""


class DeviceSelector(ConfigurationStruct):
    """Which devices of a driver count."""

    cel: CELDeviceSelector | None = None


class DeviceClassCounterSource(ConfigurationStruct):
    """A counter of partitionable devices that is charged to quota."""

    name: str = ""
    driver: str = ""
    device_selector: DeviceSelector | None = None


class DeviceClassCapacitySource(ConfigurationStruct):
    """A capacity of shareable devices that is charged to quota."""

    name: str = ""
    driver: str = ""
    device_selector: DeviceSelector | None = None


class DeviceClassSourceConfig(ConfigurationStruct):
    """Exactly one of both."""

    counter: DeviceClassCounterSource | None = None
    capacity: DeviceClassCapacitySource | None = None


class DeviceClassMapping(ConfigurationStruct):
    """The quota resource that stands for some device classes. Source: OP-292."""

    name: str = ""
    device_class_names: list[str] | None = None
    sources: list[DeviceClassSourceConfig] | None = None


class Resources(ConfigurationStruct):
    """From resources of Pods to requests of Workloads. Source: OP-289..292."""

    quota_check_strategy: str | None = None
    exclude_resource_prefixes: list[str] | None = None
    transformations: list[ResourceTransformation] | None = None
    device_class_mappings: list[DeviceClassMapping] | None = None


class Integrations(ConfigurationStruct):
    """Which job kinds are managed. Source: OP-275..277."""

    frameworks: list[str] | None = None
    external_frameworks: list[str] | None = None
    label_keys_to_copy: list[str] | None = None


class WorkloadRetentionPolicy(ConfigurationStruct):
    """When Workloads are deleted; absent means never. Source: OP-294, OP-295."""

    after_finished: Duration | None = None
    after_deactivated_by_kueue: Duration | None = None


class ObjectRetentionPolicies(ConfigurationStruct):
    """Retention by kind of object."""

    workloads: WorkloadRetentionPolicy | None = None


class InternalCertManagement(ConfigurationStruct):
    """Self-made certificates of the webhook server. Source: OP-243..245."""

    enable: bool | None = None
    webhook_service_name: str | None = None
    webhook_secret_name: str | None = None


class ControllerWebhook(ConfigurationStruct):
    """Where the webhook server listens. Source: OP-246..248."""

    port: Int64 | None = None
    host: str | None = None
    cert_dir: str | None = None


class LeaderElection(ConfigurationStruct):
    """Kubernetes' leader election settings. Source: OP-249..253."""

    leader_elect: bool | None = None
    lease_duration: Duration | None = None
    renew_deadline: Duration | None = None
    retry_period: Duration | None = None
    resource_lock: str | None = None
    resource_name: str | None = None
    resource_namespace: str | None = None


class ControllerMetricsCustomLabel(ConfigurationStruct):
    """A label or annotation of an object that becomes a metric label. Source: OP-256."""

    name: str = ""
    source_label_key: str | None = None
    source_annotation_key: str | None = None
    source_kind: str | None = None
    tracked_values: list[str] | None = None


class LocalQueueMetrics(ConfigurationStruct):
    """Which LocalQueues have metrics. Source: OP-257, OP-258."""

    enable: bool | None = None
    local_queue_selector: LabelSelector | None = None


class ControllerMetrics(ConfigurationStruct):
    """The metrics server. Source: OP-254..258."""

    bind_address: str | None = None
    enable_cluster_queue_resources: bool | None = None
    custom_labels: list[ControllerMetricsCustomLabel] | None = None
    local_queue_metrics: LocalQueueMetrics | None = None


class ControllerHealth(ConfigurationStruct):
    """The probes. Source: OP-259, OP-260."""

    health_probe_bind_address: str | None = None
    readiness_endpoint_name: str | None = None
    liveness_endpoint_name: str | None = None


class ControllerConfigurationSpec(ConfigurationStruct):
    """Workers by kind; `cache_sync_timeout` in nanoseconds. Source: OP-226, OP-262, OP-263."""

    group_kind_concurrency: dict[str, Int64] | None = None
    cache_sync_timeout: Int64 | None = None


class TLSOptions(ConfigurationStruct):
    """TLS of all servers. Source: OP-264..266."""

    min_version: str | None = None
    cipher_suites: list[str] | None = None
    curve_preferences: list[Int32] | None = None


class ClientConnection(ConfigurationStruct):
    """Limits of calls to the API server. Source: OP-273, OP-274."""

    qps: float | None = None
    burst: Int32 | None = None


class ExecEnvVar(ConfigurationStruct):
    """An environment variable of a credentials command."""

    name: str = ""
    value: str = ""


class ExecConfig(ConfigurationStruct):
    """A command that gives credentials, as in a kubeconfig."""

    command: str = ""
    args: list[str] | None = None
    env: list[ExecEnvVar] | None = None
    api_version: str = ""
    install_hint: str | None = None
    provide_cluster_info: bool | None = None
    interactive_mode: str | None = None


class ClusterProfileAccessProvider(ConfigurationStruct):
    """Access to worker clusters named by ClusterProfiles."""

    name: str = ""
    exec_config: ExecConfig | None = None


class ClusterProfile(ConfigurationStruct):
    """Access by ClusterProfiles; the second list is the deprecated form of the first. Source: OP-283."""

    access_providers: list[ClusterProfileAccessProvider] | None = None
    credentials_providers: list[ClusterProfileAccessProvider] | None = None


class IncrementalDispatcherConfig(ConfigurationStruct):
    """Worker clusters nominated at a time. Source: OP-284."""

    step_size: Int32 | None = None


class MultiKueueExternalFramework(ConfigurationStruct):
    """A job kind, `Kind.version.group`, that is dispatched by the generic adapter."""

    name: str = ""


class MultiKueue(ConfigurationStruct):
    """Dispatching to worker clusters. Source: OP-278..284."""

    gc_interval: Duration | None = None
    origin: str | None = None
    worker_lost_timeout: Duration | None = None
    dispatcher_name: str | None = None
    external_frameworks: list[MultiKueueExternalFramework] | None = None
    cluster_profile: ClusterProfile | None = None
    incremental_dispatcher_config: IncrementalDispatcherConfig | None = None


class VisibilityServerConfiguration(ConfigurationStruct):
    """The visibility API server. Source: OP-296, OP-297."""

    bind_address: str | None = None
    bind_port: Int32 | None = None


class Configuration(ConfigurationStruct):
    """The whole Configuration in its v1beta2 form, whatever version the file had. Source: OP-240..297."""

    api_version: str = "config.kueue.x-k8s.io/v1beta2"
    kind: str = "Configuration"
    namespace: str | None = None
    webhook: ControllerWebhook | None = None
    leader_election: LeaderElection | None = None
    metrics: ControllerMetrics | None = None
    health: ControllerHealth | None = None
    pprof_bind_address: str | None = None
    controller: ControllerConfigurationSpec | None = None
    tls: TLSOptions | None = None
    manage_jobs_without_queue_name: bool | None = None
    managed_jobs_namespace_selector: LabelSelector | None = None
    internal_cert_management: InternalCertManagement | None = None
    wait_for_pods_ready: WaitForPodsReady | None = None
    client_connection: ClientConnection | None = None
    integrations: Integrations | None = None
    multi_kueue: MultiKueue | None = None
    fair_sharing: FairSharing | None = None
    admission_fair_sharing: AdmissionFairSharing | None = None
    resources: Resources | None = None
    feature_gates: dict[str, bool] | None = None
    object_retention_policies: ObjectRetentionPolicies | None = None
    visibility_server: VisibilityServerConfiguration | None = None
