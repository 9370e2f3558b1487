"""What others may see of the process: metrics and probes, wired to the controller.

Source: OP-160, OP-254..260, OP-500.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Final

from prometheus_client.core import GaugeMetricFamily

from kueue_fast.api.configuration import Configuration
from kueue_fast.api.configuration_types import ControllerHealth, ControllerMetrics
from kueue_fast.api.kueue import ClusterQueue, Cohort, LocalQueue, Workload
from kueue_fast.app.access import Access
from kueue_fast.app.certificates import metrics_context
from kueue_fast.app.gauges import text
from kueue_fast.app.job_latencies import JobLatencies
from kueue_fast.app.metrics import Metrics
from kueue_fast.app.queue_gauges import GaugeOptions, ancestors, gauges
from kueue_fast.app.scheduler import CycleResult, SchedulerThread
from kueue_fast.app.servers import health_app, listening, metrics_app, read_address
from kueue_fast.cluster.index import ObjectIndex
from kueue_fast.cluster.kube.cluster import KubeCluster
from kueue_fast.cluster.kube.transport import Connection
from kueue_fast.engine import Engine
from kueue_fast.engine.queue_numbers import QueueNumbers
from kueue_fast.jobs.settings import JobSettings
from kueue_fast.model.features import FeatureGates
from kueue_fast.model.selectors import SelectorError, selects

__all__ = ["Observability", "Ports", "serving", "shows_local_queue"]

REVIEW_S: Final = 10.0
METRICS_ADDRESS: Final = "metrics.bindAddress"
HEALTH_ADDRESS: Final = "health.healthProbeBindAddress"


class Observability:
    """The metrics of one process. Gauges of queues are there while it leads: the engine knows them."""

    def __init__(
        self, configuration: Configuration, gates: FeatureGates, cluster: KubeCluster, role: Callable[[], str]
    ) -> None:
        self._cluster = cluster
        self._role = role
        election = configuration.leader_election
        self._lease = (election.resource_name if election is not None else None) or ""
        self._scheduler: SchedulerThread | None = None
        self.tls_options = gates.enabled("TLSOptions")
        self._fair_sharing = configuration.fair_sharing is not None
        self._cohorts = gates.enabled("MetricsForCohorts")
        self._unadmitted = gates.enabled("UnadmittedWorkloadsObservability")
        settings = configuration.metrics or ControllerMetrics()
        self._resources = bool(settings.enable_cluster_queue_resources)
        self._shows = shows_local_queue(settings, gates, cluster)
        self.metrics = Metrics(time.time_ns, role, self._shows, self._above)
        self._latencies = JobLatencies(
            cluster,
            self.metrics,
            time.time_ns,
            JobSettings.read(configuration, gates),
            creations=gates.enabled("MetricForWorkloadCreationLatency"),
        )

    def lead(
        self, scheduler: SchedulerThread, on_cycle: Callable[[CycleResult], None]
    ) -> Callable[[CycleResult], None]:
        """From now on count what changes, and what the scheduler does; gives what it is to call after a cycle."""
        self._scheduler = scheduler
        self._cluster.watch(Workload.KIND, self.metrics.on_workload)
        self._cluster.watch(ClusterQueue.KIND, self.metrics.on_queue)
        self._cluster.watch(LocalQueue.KIND, self.metrics.on_queue)
        self._cluster.watch(Cohort.KIND, self.metrics.on_queue)
        self._latencies.start()

        def after(result: CycleResult) -> None:
            self.metrics.on_cycle(result.cycle, result.seconds)
            on_cycle(result)

        return after

    def _above(self, cluster_queue: str) -> list[str]:
        return ancestors(self._cluster.get(ClusterQueue.KIND, None, cluster_queue), self._cluster)

    def follow(self) -> None:
        """The scheduler ends."""
        self._scheduler = None

    async def numbers(self) -> QueueNumbers:
        """Numbers of all queues; the process has to lead."""
        assert self._scheduler is not None
        return await self._scheduler.ask(Engine.queue_numbers)

    async def collect(self) -> bytes:
        """All metrics as text."""
        leadership = self._leadership()
        if self._scheduler is None:
            return text([self.metrics.registry], leadership)
        numbers = await self._scheduler.ask(Engine.metric_numbers)
        options = GaugeOptions(
            self._role(), self._resources, self._fair_sharing, self._cohorts, self._unadmitted, self._shows
        )
        families = gauges(numbers, self._cluster, self.metrics.skips, options)
        return text([self.metrics.registry], [*families, *leadership])

    def _leadership(self) -> list[GaugeMetricFamily]:
        """Who holds the Lease, as client-go tells it; nothing where none is needed."""
        if self._role() == "standalone":
            return []
        found = GaugeMetricFamily(
            "leader_election_master_status", "Whether this process holds the Lease", labels=["name"]
        )
        found.add_metric([self._lease], float(self._role() == "leader"))
        return [found]


class Ports:
    """Where the servers listen; None for one that is off."""

    metrics: int | None = None
    health: int | None = None


@asynccontextmanager
async def serving(
    configuration: Configuration, connection: Connection, observability: Observability
) -> AsyncIterator[Ports]:
    """Run the servers that the Configuration wants. Raises InputError where one cannot be had."""
    ports = Ports()
    health = configuration.health or ControllerHealth()
    metrics = configuration.metrics or ControllerMetrics()
    health_address = read_address(health.health_probe_bind_address or ":8081", HEALTH_ADDRESS)
    metrics_address = read_address(metrics.bind_address or ":8443", METRICS_ADDRESS)
    async with AsyncExitStack() as stack:
        if metrics_address is not None:
            certificates = configuration.internal_cert_management
            external = certificates is not None and certificates.enable is False
            options = configuration.tls if observability.tls_options else None
            context = metrics_context(external=external, options=options)

            async def post(path: str, body: bytes) -> bytes:
                return await connection.request("POST", path, body=body, timeout_s=REVIEW_S)

            app = metrics_app(observability.collect, Access(post).check)
            found = await stack.enter_async_context(listening(app, metrics_address, METRICS_ADDRESS, context))
            ports.metrics = found[0]
        if health_address is not None:
            app = health_app(
                health.liveness_endpoint_name or "/healthz", health.readiness_endpoint_name or "/readyz"
            )
            found = await stack.enter_async_context(listening(app, health_address, HEALTH_ADDRESS))
            ports.health = found[0]
        yield ports


def shows_local_queue(
    settings: ControllerMetrics, gates: FeatureGates, objects: ObjectIndex
) -> Callable[[str, str], bool]:
    """Whether a LocalQueue, by namespace and name, has metrics. Source: OP-506, OP-258."""
    wanted = settings.local_queue_metrics
    if not gates.enabled("LocalQueueMetrics") or wanted is None or not wanted.enable:
        return lambda namespace, name: False
    selector = wanted.local_queue_selector
    if selector is not None:
        try:
            selects(selector, {})
        except SelectorError:
            selector = None

    def shows(namespace: str, name: str) -> bool:
        queue: LocalQueue | None = objects.get(LocalQueue.KIND, namespace, name)
        if queue is None or selector is None:
            return queue is not None
        return selects(selector, queue.metadata.labels)

    return shows
