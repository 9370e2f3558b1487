"""The controller's process: caches first, then the Lease, then everything that decides and writes.

Who follows keeps its caches up to date, so that it can decide at once when it leads. At the end what decides stops
first, pending writes get a moment, and the Lease is given back last.

Source: OP-130, OP-131, OP-147, OP-148, OP-182..185.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import time
from functools import partial
from pathlib import Path
from typing import Final

from kueue_fast.api import batch, core, kueue
from kueue_fast.app.admissions import Admissions, AdmissionWriter
from kueue_fast.app.blocked_admissions import BlockedAdmissions
from kueue_fast.app.decisions import DecisionWriter
from kueue_fast.app.elastic_ungater import ElasticUngater
from kueue_fast.app.events import Events
from kueue_fast.app.finalizers import FinalizerController
from kueue_fast.app.freed_nodes import FreedNodes
from kueue_fast.app.integrations import Sink, job_controllers, job_kinds, live_registry
from kueue_fast.app.node_failures import NodeFailures
from kueue_fast.app.observability import Observability, serving
from kueue_fast.app.past_use import PastUseWriter
from kueue_fast.app.queue_statuses import QueueStatusController
from kueue_fast.app.scheduler import SchedulerThread
from kueue_fast.app.settings import ControllerSettings, lease_settings
from kueue_fast.app.shadow import Shadow
from kueue_fast.app.statuses import StatusWriter
from kueue_fast.app.topology_ungater import TopologyUngater
from kueue_fast.app.view import LiveView
from kueue_fast.app.workloads import WorkloadController
from kueue_fast.cluster.changes import Change, WatchEvent
from kueue_fast.cluster.kube.cluster import KubeCluster
from kueue_fast.cluster.kube.credentials import Credentials, find_kubeconfig
from kueue_fast.cluster.kube.events import EventRecorder
from kueue_fast.cluster.kube.lease import LeaderElector
from kueue_fast.cluster.kube.transport import Connection
from kueue_fast.cluster.kube.writer import Writer
from kueue_fast.engine import Engine
from kueue_fast.errors import InputError, Unsupported
from kueue_fast.jobs.settings import JobSettings
from kueue_fast.lifecycle.node_gates import NodeGates
from kueue_fast.lifecycle.settings import LifecycleSettings
from kueue_fast.model.features import FeatureGates

__all__ = ["Controller", "run_controller"]

# In the order in which the engine takes them in at the start: what others refer to comes first.
KINDS: Final = tuple(
    cls.KIND
    for cls in (
        core.Namespace,
        core.LimitRange,
        core.RuntimeClass,
        core.PriorityClass,
        core.Node,
        core.Pod,
        kueue.Topology,
        kueue.ResourceFlavor,
        kueue.AdmissionCheck,
        kueue.Cohort,
        kueue.ClusterQueue,
        kueue.LocalQueue,
        kueue.WorkloadPriorityClass,
        kueue.Workload,
        batch.Job,
    )
)
NAMESPACE_FILE: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
# The kubelet kills 10 s after it has told us to stop (OP-104).
WRITE_PATIENCE_S: Final = 5.0
SWEEP_S: Final = 60.0

log = logging.getLogger("setup")


async def run_controller(settings: ControllerSettings) -> None:
    """Run until cancelled. Raises InputError for what has to be set up otherwise, LeaseLostError, TimeoutError."""
    credentials = Credentials(find_kubeconfig(settings.kubeconfig, os.environ, Path.home()))
    pod_namespace = NAMESPACE_FILE.read_text().strip() if NAMESPACE_FILE.exists() else None
    async with await Connection.open(credentials, settings.connection()) as connection:
        controller = Controller(settings, connection, pod_namespace)
        async with serving(settings.configuration, connection, controller.observability):
            await controller.run()


class Controller:
    """One process's controllers on one connection."""

    def __init__(
        self, settings: ControllerSettings, connection: Connection, pod_namespace: str | None = None
    ) -> None:
        self._settings = settings
        self._connection = connection
        self._gates = FeatureGates({**(settings.configuration.feature_gates or {}), **settings.feature_gates})
        lease = lease_settings(settings, pod_namespace)
        self.elector = None if lease is None else LeaderElector(connection, lease)
        self._jobs = JobSettings.read(settings.configuration, self._gates)
        kinds = [kind for kind in job_kinds(self._jobs) if kind not in KINDS]
        self.cluster = KubeCluster(connection, KINDS, optional=kinds)
        # A framework that is not known must stop the start too.
        self._registry = live_registry(self.cluster, self._jobs)
        self.leading = asyncio.Event()
        self.shadow: Shadow | None = None
        self.observability = Observability(settings.configuration, self._gates, self.cluster, self._role)
        self._lifecycle = LifecycleSettings.read(settings.configuration, self._gates)
        # A configuration that the engine does not take must stop the start, not the take-over.
        self._make_engine()

    async def run(self) -> None:
        """Until cancelled, or the Lease is lost, or something has failed."""
        async with asyncio.TaskGroup() as group:
            watching = group.create_task(self.cluster.run())
            await self.cluster.synced(self._settings.sync_timeout_s)
            # What the first lists made stays for long; the collector need not look at it again and again.
            gc.collect()
            gc.freeze()
            log.info("caches are synced")
            try:
                if self.elector is None:
                    await self._lead()
                else:
                    await self.elector.run(self._lead)
            finally:
                watching.cancel()

    def _role(self) -> str:
        """`replica_role` of metrics; a shadow decides no more than a follower. Source: OP-186."""
        if self._settings.shadow:
            return "follower"
        return "standalone" if self.elector is None else "leader" if self.leading.is_set() else "follower"

    def _make_engine(self) -> Engine:
        try:
            return Engine(self._settings.configuration, self._settings.feature_gates, attempts=True)
        except Unsupported as error:
            raise InputError(str(error), object="Configuration") from error

    def _admissions(self, statuses: StatusWriter, events: Events, scheduler: SchedulerThread) -> Admissions:
        writer = AdmissionWriter(statuses, events, self._gates, scheduler)
        pods_ready = self._lifecycle.pods_ready
        if pods_ready is None or not pods_ready.block_admission:
            return writer
        return BlockedAdmissions(self.cluster, statuses, writer, scheduler, time.time_ns, self._lifecycle)

    async def _lead(self) -> None:
        """Decide and write, until cancelled or the scheduler fails."""
        failed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        holds = (lambda: True) if self.elector is None else self.elector.holds
        writer = Writer(self._connection, may_write=holds, answered=self.cluster.take_answer)
        recorder = EventRecorder(self._connection, self._settings.hostname, time.time_ns)
        sinks: list[Sink] = []

        def fail(error: BaseException) -> None:
            if not failed.done():
                failed.set_exception(error)

        scheduler = SchedulerThread(self._make_engine(), fail)
        events = Events(self.cluster, recorder)
        statuses = StatusWriter(self.cluster, writer)
        if self._settings.shadow:
            self.shadow = Shadow(self.cluster)
            scheduler.start(self.observability.lead(scheduler, self.shadow.on_cycle))
        else:
            preempted = self.observability.metrics.preempted
            admissions = self._admissions(statuses, events, scheduler)
            decisions = DecisionWriter(
                self.cluster, statuses, events, self._gates, scheduler, admissions, preempted
            )
            past_use = PastUseWriter(self.cluster, writer)
            scheduler.start(self.observability.lead(scheduler, decisions.on_cycle), past_use.on_sample)
        feed = scheduler.feed
        for kind in KINDS:
            for obj in self.cluster.list(kind):
                feed(WatchEvent(Change.ADDED, obj, None))
            self.cluster.watch(kind, feed)
        if not self._settings.shadow:
            workloads = WorkloadController(
                self.cluster,
                writer,
                events,
                self._lifecycle,
                time.time_ns,
                topology_aware=self._gates.enabled("TopologyAwareScheduling"),
            )
            sinks += [workloads, FinalizerController(self.cluster, writer, time.time_ns)]
            selector = self._settings.configuration.managed_jobs_namespace_selector
            view = LiveView(self.cluster, self._jobs, selector)
            if self._gates.enabled("TopologyAwareScheduling"):
                concurrent = self._gates.enabled("ConcurrentAdmission")
                sinks += [
                    TopologyUngater(self.cluster, writer, time.time_ns, concurrent_admission=concurrent),
                    NodeFailures(self.cluster, writer, events, time.time_ns, NodeGates.read(self._gates)),
                    FreedNodes(
                        self.cluster,
                        lambda queues: scheduler.submit(partial(Engine.retry_queues, cluster_queues=queues)),
                    ),
                ]
            if self._jobs.elastic_jobs:
                sinks.append(ElasticUngater(self.cluster, writer, time.time_ns))
            sinks += job_controllers(self.cluster, writer, events, view, self._registry, time.time_ns)
            for sink in sinks:
                sink.start()
        self.leading.set()
        log.info("leading%s", ", in shadow: nothing is written" if self._settings.shadow else "")
        background = [asyncio.create_task(recorder.run()), asyncio.create_task(_sweep(recorder))]
        if not self._settings.shadow:
            concurrency = self._settings.configuration.controller
            queues = QueueStatusController(
                self.cluster,
                writer,
                self.observability.numbers,
                time.time_ns,
                fair_sharing=self._settings.configuration.fair_sharing is not None,
                workers=(concurrency.group_kind_concurrency if concurrency is not None else None) or {},
            )
            background.append(asyncio.create_task(queues.run()))
        try:
            await failed
        finally:
            self.leading.clear()
            self.observability.follow()
            for sink in sinks:
                sink.stop()
            await scheduler.stop()
            await writer.close(WRITE_PATIENCE_S)
            for task in background:
                task.cancel()
            await asyncio.wait(background)


async def _sweep(recorder: EventRecorder) -> None:
    while True:
        await asyncio.sleep(SWEEP_S)
        recorder.sweep()
