"""The RayJob integration. Source: JS-301..303, section 11.4 of the job rules."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from kueue_fast.api.core import PodTemplateSpec
from kueue_fast.api.kueue import PodSet
from kueue_fast.api.ray import RayCluster, RayClusterSpec, RayJob
from kueue_fast.errors import InputError
from kueue_fast.jobs.integration import Finished
from kueue_fast.jobs.pod_set_info import decode, encode
from kueue_fast.jobs.pod_templates import added_container
from kueue_fast.jobs.ray_clusters import (
    READY,
    ClusterReader,
    cluster_roles,
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
from kueue_fast.jobs.workload import is_managed
from kueue_fast.model.validation.field_error import FieldError, invalid, required

__all__ = ["RayJobs"]

CLUSTER: Final = "spec.rayClusterSpec"
BY_JOB: Final = "K8sJobMode"
BY_SIDECAR: Final = "SidecarMode"
SUBMITTER: Final = "submitter"
SUBMITTER_CONTAINER: Final = "ray-job-submitter"
SUBMITTER_RESOURCES: Final = {
    "limits": {"cpu": "1", "memory": "1Gi"},
    "requests": {"cpu": "500m", "memory": "200Mi"},
}


class RayJobs(RoleIntegration[RayJob]):
    """ray.io/v1 RayJob: the pod sets of its cluster, and `submitter` if a Job submits.

    One that runs in a cluster made before (`clusterSelector`) is not Kueue's.
    """

    framework = "ray.io/rayjob"
    api_version = "ray.io/v1"
    group = "ray.io"
    kind = "RayJob"
    elastic = True
    grouped = True

    def __init__(self, clusters: ClusterReader = no_cluster) -> None:
        self._clusters = clusters

    def pod_sets(self, job: RayJob, settings: JobSettings) -> list[PodSet]:
        """One that scales itself has the workers of the cluster that runs. Source: JS-284."""
        pod_sets = super().pod_sets(job, settings)
        return running_counts(pod_sets, job, cluster_of(job), self._running(job), settings)

    def slice_annotations(self, job: RayJob, pod_sets: Sequence[PodSet]) -> Mapping[str, str]:
        """Sizes, and the generation of the cluster. Source: JS-482."""
        return slice_annotations(pod_sets, self._running(job))

    def _running(self, job: RayJob) -> RayCluster | None:
        name = job.status.ray_cluster_name if job.status is not None else None
        return self._clusters(job.metadata.namespace or "", name) if name else None

    def slice_mark(self, job: RayJob) -> str:
        """Its cluster may be resized while its own spec stays. Source: JS-104."""
        return slice_mark(job.metadata)

    def roles(self, job: RayJob) -> list[Role]:
        """Head, workers, submitter. Raises InputError without a cluster, and for a head without container."""
        spec = cluster_of(job)
        roles = cluster_roles(spec, job.metadata, CLUSTER)
        if job.spec.submission_mode == BY_JOB:
            path = "spec.submitterPodTemplate"
            roles.append(Role(SUBMITTER, 1, submitter_template(job), path, checked=False))
        elif job.spec.submission_mode == BY_SIDECAR:
            head = roles[0]
            container = {"name": SUBMITTER_CONTAINER, "resources": SUBMITTER_RESOURCES}
            counted = added_container(head.counted or head.template, container)
            roles[0] = dataclasses.replace(head, counted=counted)
        return roles

    def replace(self, job: RayJob, templates: Sequence[PodTemplateSpec] | None, *, suspended: bool) -> RayJob:
        """A submitter template that the job did not name is written once it holds more than the default.

        The API leaves `suspend` out of a job that is not held.
        """
        spec = msgspec.structs.replace(job.spec, suspend=suspended or None)
        if templates is not None:
            cluster = cluster_of(job)
            if spec.submission_mode == BY_JOB:
                *templates, submitter = templates
                if spec.submitter_pod_template is not None or not suspended:
                    spec.submitter_pod_template = submitter
            spec.ray_cluster_spec = with_templates(cluster, templates)
        return msgspec.structs.replace(job, spec=spec)

    def skip(self, job: RayJob, settings: JobSettings) -> bool:
        """It runs in a cluster that is there already."""
        return bool(job.spec.cluster_selector)

    def on_hold(self, job: RayJob) -> bool:
        """KubeRay found the job wrong."""
        return deployment_status(job) == "ValidationFailed"

    def validate(self, job: RayJob, settings: JobSettings) -> list[FieldError]:
        """A managed job has a cluster of its own or a selector, and only with the former the rest is looked at.

        Source: JS-303.
        """
        spec = job.spec
        if not is_managed(job.metadata, settings):
            return super().validate(job, settings)
        if spec.cluster_selector:
            if spec.ray_cluster_spec is None:
                return []
            message = "a kueue managed job should not use an existing cluster"
            return [invalid("spec.clusterSelector", spec.cluster_selector, message)]
        if spec.ray_cluster_spec is None:
            return [
                required(
                    CLUSTER,
                    "rayClusterSpec is required for Kueue-managed jobs that don't use clusterSelector",
                )
            ]
        return super().validate(job, settings)

    def validate_kind(self, job: RayJob, settings: JobSettings) -> list[FieldError]:
        """Checks of a managed job with a cluster of its own. Source: JS-303."""
        cluster = job.spec.ray_cluster_spec
        if cluster is None or not is_managed(job.metadata, settings):
            return []
        errors = []
        if not job.spec.shutdown_after_job_finishes:
            message = "a kueue managed job should delete the cluster after finishing"
            errors.append(invalid("spec.shutdownAfterJobFinishes", False, message))
        errors += validate_autoscaling(cluster, job.metadata, CLUSTER, settings)
        return errors + validate_groups_of_workers(cluster, CLUSTER)

    def validate_topology(self, job: RayJob, settings: JobSettings) -> list[FieldError]:
        """Nothing without a cluster of the job's own."""
        return [] if job.spec.ray_cluster_spec is None else super().validate_topology(job, settings)

    def validate_update(
        self, old: RayJob, new: RayJob, settings: JobSettings, default_queue_exists: bool
    ) -> list[FieldError]:
        """Source: JS-288."""
        if not updates_are_checked(old.metadata, new.metadata, settings):
            return []
        return super().validate_update(old, new, settings, default_queue_exists)

    def suspended(self, job: RayJob) -> bool:
        """Whether the job is held."""
        return bool(job.spec.suspend)

    def active(self, job: RayJob) -> bool:
        """Anything but a job that is new or suspended may have pods."""
        return deployment_status(job) not in ("", "Suspended")

    def pods_ready(self, job: RayJob) -> bool:
        """The state of its cluster says it."""
        cluster = job.status.ray_cluster_status if job.status is not None else None
        return cluster is not None and cluster.state == READY

    def finished(self, job: RayJob) -> Finished | None:
        """Once the deployment ended; whether the job itself succeeded is another field."""
        if job.status is None or deployment_status(job) not in ("Failed", "Complete"):
            return None
        return Finished(job.status.message or "", job.status.job_status == "SUCCEEDED")


def cluster_of(job: RayJob) -> RayClusterSpec:
    """Spec of the job's own cluster. Raises InputError when it has none."""
    if job.spec.ray_cluster_spec is None:
        raise InputError("is missing", field=f"$.{CLUSTER}", expected="a cluster of the job's own")
    return job.spec.ray_cluster_spec


def deployment_status(job: RayJob) -> str:
    """How far KubeRay is with the job; empty for a new one."""
    return (job.status.job_deployment_status if job.status is not None else None) or ""


def submitter_template(job: RayJob) -> PodTemplateSpec:
    """Template of the Job that submits: the job's own, or KubeRay's default with the image of the head.

    Raises InputError when the head has no container. Source: JS-301.
    """
    if job.spec.submitter_pod_template is not None:
        return job.spec.submitter_pod_template
    containers = decode(cluster_of(job).head_group_spec.template.spec).get("containers") or []
    if not containers:
        field = f"$.{CLUSTER}.headGroupSpec.template.spec.containers"
        raise InputError(
            "is empty", field=field, expected="the Ray container, whose image the submitter takes"
        )
    container: dict[str, Any] = {"name": SUBMITTER_CONTAINER}
    if containers[0].get("image"):
        container["image"] = containers[0]["image"]
    container["resources"] = SUBMITTER_RESOURCES
    return PodTemplateSpec(spec=encode({"containers": [container], "restartPolicy": "Never"}))
