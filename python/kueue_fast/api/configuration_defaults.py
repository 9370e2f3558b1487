"""Defaults of the Configuration, set where a value is absent.

As in Go, a plain string or duration that is empty or zero counts as absent, while for an optional one an
explicit zero is kept.
Source: OP-221..225, OP-240..297.
"""

from kueue_fast.api import configuration_types as types
from kueue_fast.api.meta import LabelSelector, LabelSelectorRequirement

DEFAULT_NAMESPACE = "kueue-system"
METADATA_NAME_LABEL = "kubernetes.io/metadata.name"


def set_defaults(configuration: types.Configuration, namespace: str = DEFAULT_NAMESPACE) -> None:
    """Set v1beta2's defaults in place. `namespace` is where the process runs."""
    set_common_defaults(configuration, namespace)
    configuration.wait_for_pods_ready = _wait_for_pods_ready(configuration.wait_for_pods_ready)
    multi_kueue = configuration.multi_kueue
    if multi_kueue is not None and multi_kueue.dispatcher_name == types.DISPATCHER_INCREMENTAL:
        dispatcher = multi_kueue.incremental_dispatcher_config or types.IncrementalDispatcherConfig()
        dispatcher.step_size = 3 if dispatcher.step_size is None else dispatcher.step_size
        multi_kueue.incremental_dispatcher_config = dispatcher


def set_common_defaults(configuration: types.Configuration, namespace: str = DEFAULT_NAMESPACE) -> None:
    """Set in place the defaults that v1beta1 and v1beta2 have in common."""
    if configuration.namespace is None:
        configuration.namespace = namespace
    configuration.webhook = _webhook(configuration.webhook)
    configuration.metrics = _metrics(configuration.metrics)
    configuration.health = _health(configuration.health)
    configuration.leader_election = _leader_election(configuration.leader_election)
    configuration.internal_cert_management = _internal_cert_management(configuration.internal_cert_management)
    configuration.client_connection = _client_connection(configuration.client_connection)
    configuration.integrations = configuration.integrations or types.Integrations()
    configuration.integrations.frameworks = configuration.integrations.frameworks or ["batch/job"]
    if configuration.managed_jobs_namespace_selector is None:
        configuration.managed_jobs_namespace_selector = _all_but_system_namespaces(configuration.namespace)
    configuration.multi_kueue = _multi_kueue(configuration.multi_kueue)
    if configuration.wait_for_pods_ready is not None:
        _requeuing(configuration.wait_for_pods_ready)
    if configuration.admission_fair_sharing is not None:
        _admission_fair_sharing(configuration.admission_fair_sharing)
    if configuration.resources is not None:
        for transformation in configuration.resources.transformations or ():
            transformation.strategy = transformation.strategy or types.RETAIN
    # v1beta1 has no such section, yet its server listens on the same port (OP-224).
    configuration.visibility_server = configuration.visibility_server or types.VisibilityServerConfiguration()
    if configuration.visibility_server.bind_port is None:
        configuration.visibility_server.bind_port = 8082


def _is_zero(duration: str | None) -> bool:
    return duration is None or types.parse_duration(duration) == 0


def _webhook(webhook: types.ControllerWebhook | None) -> types.ControllerWebhook:
    webhook = webhook or types.ControllerWebhook()
    webhook.port = 9443 if webhook.port is None else webhook.port
    webhook.cert_dir = webhook.cert_dir or "/tmp/k8s-webhook-server/serving-certs"
    return webhook


def _metrics(metrics: types.ControllerMetrics | None) -> types.ControllerMetrics:
    metrics = metrics or types.ControllerMetrics()
    metrics.bind_address = metrics.bind_address or ":8443"
    # A section without `enable` means off: only the section's absence means on (OP-257).
    if metrics.local_queue_metrics is None:
        metrics.local_queue_metrics = types.LocalQueueMetrics(enable=True)
    return metrics


def _health(health: types.ControllerHealth | None) -> types.ControllerHealth:
    health = health or types.ControllerHealth()
    health.health_probe_bind_address = health.health_probe_bind_address or ":8081"
    return health


def _leader_election(election: types.LeaderElection | None) -> types.LeaderElection:
    election = election or types.LeaderElection()
    election.leader_elect = True if election.leader_elect is None else election.leader_elect
    election.resource_name = election.resource_name or "c1f6bfd2.kueue.x-k8s.io"
    election.resource_lock = election.resource_lock or "leases"
    election.lease_duration = "15s" if _is_zero(election.lease_duration) else election.lease_duration
    election.renew_deadline = "10s" if _is_zero(election.renew_deadline) else election.renew_deadline
    election.retry_period = "2s" if _is_zero(election.retry_period) else election.retry_period
    return election


def _internal_cert_management(
    management: types.InternalCertManagement | None,
) -> types.InternalCertManagement:
    management = management or types.InternalCertManagement()
    management.enable = True if management.enable is None else management.enable
    if management.enable:
        if management.webhook_service_name is None:
            management.webhook_service_name = "kueue-webhook-service"
        if management.webhook_secret_name is None:
            management.webhook_secret_name = "kueue-webhook-server-cert"
    return management


def _client_connection(connection: types.ClientConnection | None) -> types.ClientConnection:
    connection = connection or types.ClientConnection()
    connection.qps = 300.0 if connection.qps is None else connection.qps
    connection.burst = 500 if connection.burst is None else connection.burst
    return connection


def _all_but_system_namespaces(namespace: str) -> LabelSelector:
    requirement = LabelSelectorRequirement(
        key=METADATA_NAME_LABEL, operator="NotIn", values=["kube-system", namespace]
    )
    return LabelSelector(match_expressions=[requirement])


def _multi_kueue(multi_kueue: types.MultiKueue | None) -> types.MultiKueue:
    multi_kueue = multi_kueue or types.MultiKueue()
    multi_kueue.gc_interval = "1m" if multi_kueue.gc_interval is None else multi_kueue.gc_interval
    multi_kueue.origin = multi_kueue.origin or "multikueue"
    if multi_kueue.worker_lost_timeout is None:
        multi_kueue.worker_lost_timeout = "15m"
    if multi_kueue.dispatcher_name is None:
        multi_kueue.dispatcher_name = types.DISPATCHER_ALL_AT_ONCE
    return multi_kueue


def _wait_for_pods_ready(wait: types.WaitForPodsReady | None) -> types.WaitForPodsReady:
    wait = wait or types.WaitForPodsReady()
    wait.timeout = "30m" if _is_zero(wait.timeout) else wait.timeout
    wait.block_admission = bool(wait.block_admission)
    # An explicit 0s is kept: no limit on recovery (OP-269).
    wait.recovery_timeout = wait.timeout if wait.recovery_timeout is None else wait.recovery_timeout
    _requeuing(wait)
    return wait


def _requeuing(wait: types.WaitForPodsReady) -> None:
    strategy = wait.requeuing_strategy or types.RequeuingStrategy()
    strategy.timestamp = types.EVICTION_TIMESTAMP if strategy.timestamp is None else strategy.timestamp
    strategy.backoff_base_seconds = (
        60 if strategy.backoff_base_seconds is None else strategy.backoff_base_seconds
    )
    strategy.backoff_max_seconds = (
        3600 if strategy.backoff_max_seconds is None else strategy.backoff_max_seconds
    )
    wait.requeuing_strategy = strategy


def _admission_fair_sharing(sharing: types.AdmissionFairSharing) -> None:
    if _is_zero(sharing.usage_half_life_time):
        sharing.usage_half_life_time = "0s"
    if _is_zero(sharing.usage_sampling_interval):
        sharing.usage_sampling_interval = "5m"
