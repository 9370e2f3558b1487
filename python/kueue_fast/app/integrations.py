"""Which kinds of jobs a live cluster is watched for, and the controllers that run for them. Source: JS-020..025."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol, cast

from kueue_fast.api.apps import StatefulSet
from kueue_fast.api.leaderworkerset import LeaderWorkerSet
from kueue_fast.api.ray import RayCluster
from kueue_fast.api.trainer import ClusterTrainingRuntime, TrainingRuntime, TrainJob
from kueue_fast.app.events import Events
from kueue_fast.app.jobs import JobController
from kueue_fast.app.leader_worker_sets import LeaderWorkerSetController
from kueue_fast.app.pod_jobs import PodJobController
from kueue_fast.app.stateful_sets import StatefulSetController
from kueue_fast.app.view import LiveView
from kueue_fast.cluster.kube.cluster import KubeCluster
from kueue_fast.cluster.kube.resources import RESOURCES
from kueue_fast.cluster.kube.writer import Writer
from kueue_fast.jobs.deployment import Deployments
from kueue_fast.jobs.integration import Integration
from kueue_fast.jobs.leader_worker_set import LeaderWorkerSets
from kueue_fast.jobs.pod import Pods
from kueue_fast.jobs.registry import Registry
from kueue_fast.jobs.settings import JobSettings
from kueue_fast.jobs.stateful_set import StatefulSets

__all__ = ["Sink", "job_controllers", "job_kinds", "live_registry"]

# Kinds that a kind needs to be read as well.
NEEDS = {
    LeaderWorkerSet.KIND: (StatefulSet.KIND,),
    "RayJob": (RayCluster.KIND,),
    "RayService": (RayCluster.KIND,),
    TrainJob.KIND: (TrainingRuntime.KIND, ClusterTrainingRuntime.KIND),
}


class Sink(Protocol):
    """A controller that runs while we lead."""

    def start(self) -> None:
        """Begin."""

    def stop(self) -> None:
        """Take no more steps."""


def job_kinds(settings: JobSettings) -> list[str]:
    """Kinds that are watched for the frameworks that are on.

    Raises InputError for a framework that is not known, or is off by its gate.
    """
    registry = Registry(settings)
    kinds: dict[str, None] = {}
    for found in _enabled(registry):
        for kind in (found.kind, *NEEDS.get(found.kind, ())):
            kinds[kind] = None
    return list(kinds)


def live_registry(cluster: KubeCluster, settings: JobSettings) -> Registry:
    """The integrations, which read from the caches what they need besides the job."""

    def runtime(kind: str, namespace: str, name: str) -> Any:
        found = cluster.get(kind, namespace if kind == TrainingRuntime.KIND else None, name)
        return None if found is None else found.spec

    def ray_cluster(namespace: str, name: str) -> RayCluster | None:
        found: RayCluster | None = cluster.get(RayCluster.KIND, namespace, name)
        return found

    return Registry(settings, runtime, ray_cluster)


def job_controllers(
    cluster: KubeCluster,
    writer: Writer,
    recorder: Events,
    view: LiveView,
    registry: Registry,
    now: Callable[[], int],
) -> list[Sink]:
    """A controller for all kinds of one object, and one for each kind whose pods come in groups, if they are on."""
    single: dict[str, Integration[Any]] = {}
    sinks: list[Sink] = []
    for found in _enabled(registry):
        match found:
            case Pods():
                implicit = registry.implicit(found.framework)
                sinks.append(PodJobController(cluster, writer, recorder, view, now, implicit=implicit))
            case LeaderWorkerSets():
                sinks.append(LeaderWorkerSetController(cluster, writer, recorder, view, now))
            case StatefulSets():
                sinks.append(StatefulSetController(cluster, writer, recorder, view, now))
            case Deployments():
                pass  # Their pods come with what the webhooks gave them.
            case _:
                single[found.kind] = cast(Integration[Any], found)
    sinks.append(JobController(cluster, writer, recorder, view, registry, single, now))
    return sinks


def _enabled(registry: Registry) -> Iterator[Any]:
    for framework in registry.frameworks:
        if not registry.enabled(framework):
            continue
        for resource in RESOURCES.values():
            found = registry.find(resource.api_version, resource.kind)
            if found is not None and found.framework == framework:
                yield found
