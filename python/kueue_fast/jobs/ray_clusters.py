"""What the three Ray kinds share: the roles of a cluster, what KubeRay adds to its pods, and the checks.

Source: JS-281..284, JS-288, section 11.3 of the job rules.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

import msgspec

from kueue_fast.api.core import PodTemplateSpec
from kueue_fast.api.kueue import PodSet
from kueue_fast.api.meta import KubernetesObject, ObjectMeta
from kueue_fast.api.ray import RayCluster, RayClusterSpec, WorkerGroupSpec
from kueue_fast.errors import InputError
from kueue_fast.jobs import names
from kueue_fast.jobs.pod_set_info import decode, encode
from kueue_fast.jobs.pod_templates import added_container, gated
from kueue_fast.jobs.roles import Role
from kueue_fast.jobs.settings import JobSettings
from kueue_fast.jobs.validation import is_elastic
from kueue_fast.jobs.workload import is_managed, queue_name
from kueue_fast.model.quantities import as_fraction
from kueue_fast.model.validation.field_error import FieldError, forbidden, invalid, too_many

__all__ = [
    "HEAD",
    "ClusterReader",
    "cluster_roles",
    "fault_tolerant",
    "gated_cluster",
    "no_cluster",
    "running_counts",
    "slice_annotations",
    "slice_mark",
    "updates_are_checked",
    "validate_autoscaling",
    "validate_groups_of_workers",
    "with_live_counts",
    "with_templates",
    "worker_count",
]

HEAD: Final = "head"
REPLICA_SIZES: Final = "kueue.x-k8s.io/raycluster-podset-replica-sizes"
CLUSTER_GENERATION: Final = "kueue.x-k8s.io/raycluster-generation"
FAULT_TOLERANCE: Final = "ray.io/ft-enabled"
READY: Final = "ready"
REDIS_CLEANUP: Final = {"cpu": "200m", "memory": "256Mi"}
AUTOSCALER: Final = {"cpu": "500m", "memory": "512Mi"}

ClusterReader: TypeAlias = Callable[[str, str], RayCluster | None]
"""A RayCluster by namespace and name, None if there is none."""


def no_cluster(namespace: str, name: str) -> RayCluster | None:
    """For whoever has no cluster to read."""
    return None


def slice_mark(metadata: ObjectMeta) -> str:
    """What tells the slices of a RayJob or RayService apart: its generation, and that of its cluster, which may have
    been resized alone. Source: JS-104.
    """
    mark = str(metadata.generation or 0)
    cluster = (metadata.annotations or {}).get(CLUSTER_GENERATION)
    return f"{mark}_{cluster}" if cluster else mark


def slice_annotations(pod_sets: Sequence[PodSet], cluster: RayCluster | None) -> dict[str, str]:
    """What an elastic RayJob or RayService notes of its pod sets and of its running cluster, None if it has none.

    Source: JS-482.
    """
    sizes = [{"name": pod_set.name, "count": pod_set.count} for pod_set in pod_sets]
    generation = "" if cluster is None else str(cluster.metadata.generation or 0)
    return {REPLICA_SIZES: msgspec.json.encode(sizes).decode(), CLUSTER_GENERATION: generation}


def worker_count(group: WorkerGroupSpec) -> int:
    """Pods of a worker group: replicas (none: 1), each of so many hosts. Source: JS-281."""
    replicas = 1 if group.replicas is None else group.replicas
    return replicas * max(group.num_of_hosts or 1, 1)


def cluster_roles(spec: RayClusterSpec, metadata: ObjectMeta, path: str) -> list[Role]:
    """Head, then the worker groups; `path` is where the cluster's spec stands in the object.

    Raises InputError when the head has no container although Redis is to be cleaned up. Source: JS-282, JS-283.
    """
    head = spec.head_group_spec.template
    head_path = f"{path}.headGroupSpec.template"
    roles = [Role(HEAD, 1, head, head_path, counted=_counted_head(spec, metadata, head_path))]
    for number, group in enumerate(spec.worker_group_specs or ()):
        template_path = f"{path}.workerGroupSpecs[{number}].template"
        roles.append(Role(group.group_name.lower(), worker_count(group), group.template, template_path))
    return roles


def with_templates(spec: RayClusterSpec, templates: Sequence[PodTemplateSpec]) -> RayClusterSpec:
    """The cluster with other templates: head's, then the workers'."""
    replace = msgspec.structs.replace
    groups = [
        replace(group, template=template)
        for group, template in zip(spec.worker_group_specs or (), templates[1:], strict=True)
    ]
    head = replace(spec.head_group_spec, template=templates[0])
    return replace(spec, head_group_spec=head, worker_group_specs=groups or spec.worker_group_specs)


def fault_tolerant(spec: RayClusterSpec, metadata: ObjectMeta) -> bool:
    """Whether the cluster keeps its state in a Redis, which KubeRay cleans up at the end. Source: JS-282."""
    options = spec.gcs_fault_tolerance_options
    if options and bytes(options) != b"null":
        return True
    return (metadata.annotations or {}).get(FAULT_TOLERANCE, "").lower() == "true"


def with_live_counts(
    pod_sets: Sequence[PodSet], job: KubernetesObject, cluster: RayCluster | None
) -> list[PodSet]:
    """Pod sets of an elastic job with the counts that its autoscaler wrote into the cluster that runs.

    `cluster` is the one that the job's status names, None when it is not there (yet). Raises InputError for a worker
    group that the job does not have. Source: JS-284.
    """
    counts = {pod_set.name: pod_set.count for pod_set in pod_sets}
    for group in (cluster.spec.worker_group_specs or ()) if cluster is not None else ():
        name = group.group_name.lower()
        if cluster is not None and name not in counts:
            raise InputError(
                f"RayCluster {cluster.metadata.name} has a worker group {group.group_name} "
                f"that {job.KIND} {job.metadata.name} does not have"
            )
        if group.replicas is not None:
            counts[name] = worker_count(group)
    return [msgspec.structs.replace(pod_set, count=counts[pod_set.name]) for pod_set in pod_sets]


def running_counts(
    pod_sets: list[PodSet],
    job: KubernetesObject,
    spec: RayClusterSpec,
    cluster: RayCluster | None,
    settings: JobSettings,
) -> list[PodSet]:
    """The pod sets with the counts of `cluster` where the job scales itself; `spec` is the job's own of it.

    Raises InputError as `with_live_counts`. Source: JS-284.
    """
    if not spec.enable_in_tree_autoscaling or not is_elastic(job.metadata, settings):
        return pod_sets
    return with_live_counts(pod_sets, job, cluster)


def gated_cluster(spec: RayClusterSpec) -> RayClusterSpec:
    """The cluster with the gate of elastic jobs on all its pods. Source: JS-287."""
    templates = [spec.head_group_spec.template, *(group.template for group in spec.worker_group_specs or ())]
    return with_templates(spec, [gated(template, names.ELASTIC_JOB_GATE) for template in templates])


def updates_are_checked(old: ObjectMeta, new: ObjectMeta, settings: JobSettings) -> bool:
    """Whether a change is looked at: not one of an object that neither was nor is Kueue's. Source: JS-288."""
    was_managed = settings.validate_ray_and_spark_updates and bool(queue_name(old))
    return is_managed(new, settings) or was_managed


def validate_autoscaling(
    spec: RayClusterSpec, metadata: ObjectMeta, path: str, settings: JobSettings
) -> list[FieldError]:
    """Only an elastic job may scale itself. Source: JS-303."""
    if spec.enable_in_tree_autoscaling and not is_elastic(metadata, settings):
        message = "a kueue managed job should only use autoscaling when workload slicing is enabled"
        return [invalid(f"{path}.enableInTreeAutoscaling", True, message)]
    return []


def validate_groups_of_workers(spec: RayClusterSpec, path: str) -> list[FieldError]:
    """No more pod sets than a Workload holds, and no worker group named as the head. Source: JS-285, JS-303."""
    groups = spec.worker_group_specs or ()
    errors = []
    if len(groups) + 1 > names.MAX_POD_SETS:
        errors.append(too_many(f"{path}.workerGroupSpecs", len(groups) + 1, names.MAX_POD_SETS))
    for number, group in enumerate(groups):
        if group.group_name == HEAD:
            at = f"{path}.workerGroupSpecs[{number}].groupName"
            errors.append(forbidden(at, f'"{HEAD}" is reserved for the head group'))
    return errors


def _counted_head(spec: RayClusterSpec, metadata: ObjectMeta, path: str) -> PodTemplateSpec | None:
    """The head with what KubeRay will make of it, None if that is the template itself."""
    head, counted = spec.head_group_spec.template, None
    if fault_tolerant(spec, metadata):
        counted = head = _with_redis_cleanup(head, path)
    if spec.enable_in_tree_autoscaling:
        options = spec.autoscaler_options
        resources: Any = {"limits": AUTOSCALER, "requests": AUTOSCALER}
        if options is not None and options.resources and bytes(options.resources) != b"null":
            resources = decode(options.resources)
        counted = added_container(head, {"name": "autoscaler", "resources": resources})
    return counted


def _with_redis_cleanup(head: PodTemplateSpec, path: str) -> PodTemplateSpec:
    """The head with room for the Job that cleans up afterwards: the larger of both requests."""
    opened = decode(head.spec)
    containers = opened.get("containers") or []
    if not containers:
        raise InputError(
            "the Redis of the cluster cannot be cleaned up without a Ray container",
            field=f"$.{path}.spec.containers",
            expected="at least 1 item",
        )
    resources = containers[0].setdefault("resources", {})
    resources["requests"] = _larger(resources.get("requests") or {}, REDIS_CLEANUP)
    return PodTemplateSpec(metadata=head.metadata, spec=encode(opened))


def _larger(one: Mapping[str, Any], other: Mapping[str, str]) -> dict[str, Any]:
    """The larger amount of each resource."""
    merged = dict(one)
    for resource, amount in other.items():
        if resource not in merged or as_fraction(merged[resource]) < as_fraction(amount):
            merged[resource] = amount
    return merged
