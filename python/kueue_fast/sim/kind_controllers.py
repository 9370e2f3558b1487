"""The controllers of all kinds of jobs besides batch/v1 Job, put together, and what webhooks make of a new object."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import msgspec

from kueue_fast.api.core import Pod, PodStatus
from kueue_fast.api.meta import KubernetesObject
from kueue_fast.api.ray import RayCluster
from kueue_fast.cluster.memory import MemoryCluster
from kueue_fast.cluster.placement_index import PlacementIndex
from kueue_fast.jobs import names, pod_names
from kueue_fast.jobs.ancestors import controller_of
from kueue_fast.jobs.defaults import defaulted, in_default_priority_class
from kueue_fast.jobs.deployment import Deployments
from kueue_fast.jobs.leader_worker_set import LeaderWorkerSets
from kueue_fast.jobs.pod import Pods
from kueue_fast.jobs.reconciler import View
from kueue_fast.jobs.registry import Registry
from kueue_fast.jobs.roles import RoleIntegration
from kueue_fast.jobs.stateful_set import StatefulSets
from kueue_fast.jobs.workload import queue_name
from kueue_fast.lifecycle.events import Event
from kueue_fast.sim.clock import VirtualClock
from kueue_fast.sim.housekeeping import Housekeeping
from kueue_fast.sim.kind_actions import Actions
from kueue_fast.sim.kind_ancestors import Ancestors
from kueue_fast.sim.kind_autoscaler import Autoscaler
from kueue_fast.sim.kind_controller import KindController, PlayedKind
from kueue_fast.sim.kind_deployment import DeploymentController
from kueue_fast.sim.kind_leader_worker_set import LeaderWorkerSetController
from kueue_fast.sim.kind_lifetimes import Lifetimes, Orphans, schedule_scaling
from kueue_fast.sim.kind_made_pods import MadePods
from kueue_fast.sim.kind_pod_jobs import PodJobs
from kueue_fast.sim.kind_pod_runs import PodRuns
from kueue_fast.sim.kind_ray import RayOperator
from kueue_fast.sim.kind_runner import KindRunner
from kueue_fast.sim.kind_serving import Around, has_default_class, has_default_queue
from kueue_fast.sim.kind_stateful_set import StatefulSetController
from kueue_fast.sim.kinds import PLAYED
from kueue_fast.sim.manifest import Manifest, SimulationFacts

__all__ = ["KindControllers"]


class KindControllers:
    """Registers them after the reconciler of Jobs, which is also their `view`.

    `manifest_of(kind, namespace, name)` gives the manifest of an object of the input. Where it has Jobs and Workloads
    alone, nothing is `wanted`: nobody listens then.
    """

    def __init__(
        self,
        cluster: MemoryCluster,
        clock: VirtualClock,
        registry: Registry,
        ancestors: Ancestors,
        view: View,
        placements: PlacementIndex,
        manifest_of: Callable[[str, str, str], Manifest | None],
        facts: Callable[[str, str, str], SimulationFacts],
        record: Callable[[Event], None],
        housekeeping: Housekeeping,
        *,
        wanted: bool,
    ) -> None:
        self._cluster = cluster
        self._clock = clock
        self._start = clock.now
        self._registry = registry
        self._ancestors = ancestors
        self._view = view
        self._manifest_of = manifest_of
        self._restarts: list[Callable[[], None]] = []
        if wanted:
            self._register(placements, facts, record, housekeeping)

    def _register(
        self,
        placements: PlacementIndex,
        facts: Callable[[str, str, str], SimulationFacts],
        record: Callable[[Event], None],
        housekeeping: Housekeeping,
    ) -> None:
        cluster, clock, view, ancestors = self._cluster, self._clock, self._view, self._ancestors
        actions = Actions(cluster, record)
        pods = MadePods(cluster)
        integrations = {each.KIND: found for each in PLAYED if (found := self._played(each)) is not None}
        runner = KindRunner(cluster, clock, facts)
        jobs = KindController(
            cluster, clock, integrations, view, ancestors, runner, actions, pods, housekeeping
        )
        RayOperator(cluster, clock, pods, self._ray_cluster)
        Autoscaler(cluster, clock, facts)
        around = Around(cluster, clock, view, actions)
        DeploymentController(around)
        serving = (StatefulSetController(around), LeaderWorkerSetController(around))
        PodRuns(cluster, clock, placements, facts, self._fresh_pod)
        groups = PodJobs(cluster, clock, self._registry, view, actions)
        Lifetimes(cluster, clock, facts)
        orphans = Orphans(cluster)
        self._restarts = [each.restart for each in (jobs, *serving, groups, orphans)]

    def restart(self) -> None:
        """Kueue's controllers forget what they heard, and look at everything; those that stand in for others go on."""
        for restart in self._restarts:
            restart()

    def created(self, manifest: Manifest) -> KubernetesObject:
        """The object of a manifest as it is stored: with what the webhook of its kind writes into it.

        What is to happen to it later is scheduled.
        """
        obj = manifest.object
        if manifest.facts.replicas_at:
            key = obj.KIND, obj.metadata.namespace or "", obj.metadata.name
            schedule_scaling(self._cluster, self._clock, key, manifest.facts, self._start)
        return self._stored(obj)

    def _ray_cluster(self, cluster: RayCluster) -> RayCluster:
        """A RayCluster of a RayJob or RayService, with what Kueue's webhook gives it: an elastic one is gated."""
        found: Any = self._registry.find(cluster.API_VERSION, cluster.KIND)
        if not self._registry.enabled(found.framework):
            return cluster
        made: RayCluster = found.default(cluster, self._view.settings)
        return made

    def _stored(self, obj: Any) -> KubernetesObject:
        integration = self._registry.find(obj.API_VERSION, obj.KIND)
        if integration is None or not self._registry.enabled(integration.framework):
            return obj  # type: ignore[no-any-return]
        settings = self._view.settings
        queue = has_default_queue(self._cluster, obj.metadata.namespace)
        match integration:
            case Pods():
                return self._stored_pod(obj, integration)
            case Deployments() | StatefulSets() | LeaderWorkerSets():
                if queue and not queue_name(obj.metadata):
                    obj = _in_default_queue(obj)
                if has_default_class(self._cluster):
                    obj = in_default_priority_class(obj, settings)
                stored: KubernetesObject = integration.default(obj, settings)
                return stored
        if self._ancestors.has_one(obj.metadata):
            return obj  # type: ignore[no-any-return]
        made: KubernetesObject = defaulted(
            obj, integration, settings, queue, default_class_exists=has_default_class(self._cluster)
        )
        return made

    def _stored_pod(self, pod: Pod, integration: Pods) -> Pod:
        if pod.status is None:
            pod = msgspec.structs.replace(pod, status=PodStatus(phase="Pending"))
        if has_default_class(self._cluster) and controller_of(pod.metadata) is None:
            pod = in_default_priority_class(pod, self._view.settings)
        by_parent = pod_names.SUSPENDING_PARENT in (pod.metadata.annotations or {})
        if self._registry.implicit(integration.framework) and not by_parent:
            return pod
        return integration.default(
            pod,
            self._view.settings,
            default_queue_exists=has_default_queue(self._cluster, pod.metadata.namespace),
            foreign=self._ancestors.has_one(pod.metadata),
        )

    def _fresh_pod(self, namespace: str, name: str) -> Pod | None:
        """A pod of the input as it was created."""
        manifest = self._manifest_of(Pod.KIND, namespace, name)
        found = None if manifest is None else self._stored(manifest.object)
        return found if isinstance(found, Pod) else None

    def _played(self, kind: type[KubernetesObject]) -> PlayedKind | None:
        found: object = self._registry.find(kind.API_VERSION, kind.KIND)
        return cast(PlayedKind, found) if isinstance(found, RoleIntegration) else None


def _in_default_queue(obj: Any) -> Any:
    labels = {**(obj.metadata.labels or {}), names.QUEUE_NAME_LABEL: names.DEFAULT_LOCAL_QUEUE}
    return msgspec.structs.replace(obj, metadata=msgspec.structs.replace(obj.metadata, labels=labels))
