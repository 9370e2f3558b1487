"""The RayCluster integration. Source: JS-281..288, section 11.3 of the job rules."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from kueue_fast.api.core import PodTemplateSpec
from kueue_fast.api.ray import RayCluster
from kueue_fast.jobs import names
from kueue_fast.jobs.integration import Finished
from kueue_fast.jobs.pod_templates import has_gate
from kueue_fast.jobs.ray_clusters import (
    READY,
    cluster_roles,
    gated_cluster,
    updates_are_checked,
    validate_groups_of_workers,
    with_templates,
)
from kueue_fast.jobs.roles import Role, RoleIntegration
from kueue_fast.jobs.settings import JobSettings
from kueue_fast.jobs.validation import is_elastic
from kueue_fast.jobs.workload import is_managed
from kueue_fast.model.validation.field_error import FieldError, forbidden, invalid

__all__ = ["RayClusters"]


class RayClusters(RoleIntegration[RayCluster]):
    """ray.io/v1 RayCluster: `head`, then one pod set a worker group; it holds its quota until it is deleted."""

    framework = "ray.io/raycluster"
    api_version = "ray.io/v1"
    group = "ray.io"
    kind = "RayCluster"
    elastic = True
    grouped = True

    def roles(self, job: RayCluster) -> list[Role]:
        """Head and workers."""
        return cluster_roles(job.spec, job.metadata, "spec")

    def replace(
        self, job: RayCluster, templates: Sequence[PodTemplateSpec] | None, *, suspended: bool
    ) -> RayCluster:
        """Replica counts are never changed."""
        spec = job.spec if templates is None else with_templates(job.spec, templates)
        return msgspec.structs.replace(job, spec=msgspec.structs.replace(spec, suspend=suspended))

    def default(self, job: RayCluster, settings: JobSettings) -> RayCluster:
        """The pods of an elastic cluster are gated. Source: JS-287."""
        if not is_elastic(job.metadata, settings):
            return job
        return msgspec.structs.replace(job, spec=gated_cluster(job.spec))

    def validate_kind(self, job: RayCluster, settings: JobSettings) -> list[FieldError]:
        """Checks of a managed cluster. Source: JS-285, JS-286."""
        if not is_managed(job.metadata, settings):
            return []
        errors = []
        if is_elastic(job.metadata, settings):
            errors += validate_elastic(job)
        elif job.spec.enable_in_tree_autoscaling:
            message = (
                "a kueue-managed RayCluster can use autoscaling only as an elastic job: enable the "
                "ElasticJobsViaWorkloadSlices feature gate and set the "
                f'"{names.ELASTIC_JOB_ANNOTATION}": "true" annotation'
            )
            errors.append(invalid("spec.enableInTreeAutoscaling", True, message))
        return errors + validate_groups_of_workers(job.spec, "spec")

    def validate_update(
        self, old: RayCluster, new: RayCluster, settings: JobSettings, default_queue_exists: bool
    ) -> list[FieldError]:
        """Source: JS-288."""
        if not updates_are_checked(old.metadata, new.metadata, settings):
            return []
        return super().validate_update(old, new, settings, default_queue_exists)

    def suspended(self, job: RayCluster) -> bool:
        """Whether the cluster is held."""
        return bool(job.spec.suspend)

    def active(self, job: RayCluster) -> bool:
        """A cluster counts as running once it is ready."""
        return job.status is not None and job.status.state == READY

    def pods_ready(self, job: RayCluster) -> bool:
        """The state says it."""
        return self.active(job)

    def finished(self, job: RayCluster) -> Finished | None:
        """Never."""
        return None


def validate_elastic(job: RayCluster) -> list[FieldError]:
    """All pods of an elastic cluster must be gated, and another cluster cannot scale it. Source: JS-286."""
    message = "an elastic job must have the ElasticJobSchedulingGate"
    workers, head = (
        [
            (f"spec.workerGroupSpecs[{number}]", group.template)
            for number, group in enumerate(job.spec.worker_group_specs or ())
        ],
        ("spec.headGroupSpec", job.spec.head_group_spec.template),
    )
    errors = [
        invalid(f"{path}.template.spec.schedulingGates", None, message)
        for path, template in (*workers, head)
        if not has_gate(template, names.ELASTIC_JOB_GATE)
    ]
    if job.spec.enable_in_tree_autoscaling and job.spec.managed_by == names.MULTIKUEUE_CONTROLLER:
        message = "in-tree autoscaling is not supported for a MultiKueue-managed elastic RayCluster"
        errors.append(forbidden("spec.enableInTreeAutoscaling", message))
    return errors
