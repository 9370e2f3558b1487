"""The RayService integration. Source: section 11.5 of the job rules."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec

from kueue_fast.api.core import PodTemplateSpec
from kueue_fast.api.kueue import PodSet
from kueue_fast.api.ray import ActiveServiceStatus, RayCluster, RayService
from kueue_fast.jobs.integration import Finished
from kueue_fast.jobs.ray_clusters import (
    ClusterReader,
    cluster_roles,
    fault_tolerant,
    gated_cluster,
    no_cluster,
    running_counts,
    slice_annotations,
    slice_mark,
    updates_are_checked,
    validate_autoscaling,
    validate_groups_of_workers,
    with_templates,
)
from kueue_fast.jobs.roles import Role, RoleIntegration
from kueue_fast.jobs.settings import JobSettings
from kueue_fast.jobs.validation import is_elastic
from kueue_fast.jobs.workload import is_managed
from kueue_fast.model import conditions
from kueue_fast.model.validation.field_error import FieldError

__all__ = ["RayServices"]

# Upstream's errors name the field so, although manifests write `rayClusterConfig`.
CLUSTER: Final = "spec.rayClusterSpec"
SUSPENDED: Final = "suspended"


class RayServices(RoleIntegration[RayService]):
    """ray.io/v1 RayService: the pod sets of its cluster; it holds its quota until it is deleted."""

    framework = "ray.io/rayservice"
    api_version = "ray.io/v1"
    group = "ray.io"
    kind = "RayService"
    elastic = True
    grouped = True

    def __init__(self, clusters: ClusterReader = no_cluster) -> None:
        self._clusters = clusters

    def pod_sets(self, job: RayService, settings: JobSettings) -> list[PodSet]:
        """One that scales itself has the workers of its active cluster. Source: JS-284."""
        pod_sets = super().pod_sets(job, settings)
        return running_counts(pod_sets, job, job.spec.ray_cluster_config, self._active(job), settings)

    def slice_annotations(self, job: RayService, pod_sets: Sequence[PodSet]) -> Mapping[str, str]:
        """Sizes, and the generation of the active cluster. Source: JS-482."""
        return slice_annotations(pod_sets, self._active(job))

    def _active(self, job: RayService) -> RayCluster | None:
        return self._named(job, job.status.active_service_status if job.status is not None else None)

    def _pending(self, job: RayService) -> RayCluster | None:
        return self._named(job, job.status.pending_service_status if job.status is not None else None)

    def _named(self, job: RayService, status: ActiveServiceStatus | None) -> RayCluster | None:
        name = status.ray_cluster_name if status is not None else None
        return self._clusters(job.metadata.namespace or "", name) if name else None

    def slice_mark(self, job: RayService) -> str:
        """Its cluster may be resized while its own spec stays. Source: JS-104."""
        return slice_mark(job.metadata)

    def roles(self, job: RayService) -> list[Role]:
        """Head and workers."""
        return cluster_roles(job.spec.ray_cluster_config, job.metadata, CLUSTER)

    def replace(
        self, job: RayService, templates: Sequence[PodTemplateSpec] | None, *, suspended: bool
    ) -> RayService:
        """The field that holds it is the cluster's."""
        cluster = job.spec.ray_cluster_config
        if templates is not None:
            cluster = with_templates(cluster, templates)
        cluster = msgspec.structs.replace(cluster, suspend=suspended)
        return msgspec.structs.replace(
            job, spec=msgspec.structs.replace(job.spec, ray_cluster_config=cluster)
        )

    def default(self, job: RayService, settings: JobSettings) -> RayService:
        """The pods of an elastic service are gated. Source: JS-287."""
        if not is_elastic(job.metadata, settings):
            return job
        cluster = gated_cluster(job.spec.ray_cluster_config)
        return msgspec.structs.replace(
            job, spec=msgspec.structs.replace(job.spec, ray_cluster_config=cluster)
        )

    def skip(self, job: RayService, settings: JobSettings) -> bool:
        """One that is being deleted while a Job cleans up its Redis: that one needs the quota still."""
        return (
            settings.defer_ray_service_finalization
            and bool(job.metadata.deletion_timestamp)
            and fault_tolerant(job.spec.ray_cluster_config, job.metadata)
        )

    def validate_kind(self, job: RayService, settings: JobSettings) -> list[FieldError]:
        """Checks of a managed service."""
        if not is_managed(job.metadata, settings):
            return []
        cluster = job.spec.ray_cluster_config
        errors = validate_autoscaling(cluster, job.metadata, CLUSTER, settings)
        return errors + validate_groups_of_workers(cluster, CLUSTER)

    def validate_update(
        self, old: RayService, new: RayService, settings: JobSettings, default_queue_exists: bool
    ) -> list[FieldError]:
        """Source: JS-288."""
        if not updates_are_checked(old.metadata, new.metadata, settings):
            return []
        return super().validate_update(old, new, settings, default_queue_exists)

    def suspended(self, job: RayService) -> bool:
        """Whether the service is held."""
        return bool(job.spec.ray_cluster_config.suspend)

    def active(self, job: RayService) -> bool:
        """A service counts as running once it is ready, until it is held and its clusters have no pods.

        KubeRay goes on calling it ready then: it looks for a head first, finds none, and leaves the status as it is.
        """
        if not self.pods_ready(job) or not self.suspended(job):
            return self.pods_ready(job)
        clusters = (self._active(job), self._pending(job))
        return any(each is not None and not has_stopped(each) for each in clusters)

    def pods_ready(self, job: RayService) -> bool:
        """The condition says it."""
        known = job.status.conditions if job.status is not None else None
        return conditions.is_true(known, "Ready")

    def finished(self, job: RayService) -> Finished | None:
        """Never."""
        return None

    def left_behind(self, job: RayService, children: Iterable[Any]) -> Sequence[RayCluster]:
        """Its clusters that are suspended, and have no pods, while the service is not.

        KubeRay makes a cluster with the service, suspended or not, and never releases one; as long as one without a
        head is there it makes no other. So the cluster of a service that had to wait, or was evicted, has to go.
        """
        if self.suspended(job):
            return ()
        return [each for each in own_clusters(job, children) if each.spec.suspend and has_stopped(each)]

    def stopped_children(self, job: RayService, children: Iterable[Any]) -> Sequence[RayCluster]:
        """Its clusters that run, suspended. KubeRay takes the suspension for a new version of the cluster.

        It makes that one beside the one that serves, and lets the latter serve until the new one does.
        """
        if not self.suspended(job):
            return ()
        return [
            msgspec.structs.replace(each, spec=msgspec.structs.replace(each.spec, suspend=True))
            for each in own_clusters(job, children)
            if not each.spec.suspend
        ]


def own_clusters(job: RayService, children: Iterable[Any]) -> list[RayCluster]:
    """RayClusters among the children that the service controls and that are not on their way out."""
    return [
        each
        for each in children
        if isinstance(each, RayCluster)
        and not each.metadata.deletion_timestamp
        and any(
            owner.controller and owner.uid == job.metadata.uid
            for owner in each.metadata.owner_references or ()
        )
    ]


def has_stopped(cluster: RayCluster) -> bool:
    """Whether KubeRay calls a cluster suspended, as it does once its pods are gone."""
    return cluster.status is not None and cluster.status.state == SUSPENDED
