"""What is refused of RayClusters, RayJobs and RayServices before a simulation starts, besides what Kueue refuses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from kueue_fast.api.core import PodTemplateSpec
from kueue_fast.api.ray import RayCluster, RayClusterSpec, RayJob, RayService
from kueue_fast.errors import InputError
from kueue_fast.jobs import names
from kueue_fast.jobs.pod_set_info import decode
from kueue_fast.jobs.ray_clusters import worker_count
from kueue_fast.jobs.settings import JobSettings
from kueue_fast.jobs.validation import is_elastic
from kueue_fast.jobs.workload import is_managed
from kueue_fast.sim.kind_autoscaler import cluster_spec
from kueue_fast.sim.manifest import RESIZE, Resize
from kueue_fast.sim.pod_limits import MOST_PODS

__all__ = ["check_ray", "gated"]

# KubeRay runs nothing whose name is longer: it appends to it.
MOST_CHARACTERS: Final = {RayCluster.KIND: 53, RayJob.KIND: 47, RayService.KIND: 47}
FIELDS: Final = {
    RayCluster.KIND: "$.spec",
    RayJob.KIND: "$.spec.rayClusterSpec",
    RayService.KIND: "$.spec.rayClusterConfig",
}
MOST_COUNTED: Final = 2**31 - 1


def check_ray(obj: Any, resizes: Sequence[Resize], settings: JobSettings) -> list[InputError]:
    """What KubeRay refuses of a name and of worker groups, and resizes that nobody would ask for."""
    found = []
    most = MOST_CHARACTERS[obj.KIND]
    if len(obj.metadata.name) > most:
        what = f"has {len(obj.metadata.name)} characters"
        expected = f"at most {most}: KubeRay makes longer names of it"
        found.append(InputError(what, field="$.metadata.name", expected=expected))
    spec = cluster_spec(obj)
    if spec is not None:
        found += _groups(spec, FIELDS[obj.KIND])
    return found + (_resizes(obj, resizes, settings) if resizes else [])


def _groups(spec: RayClusterSpec, path: str) -> list[InputError]:
    found = _containers(spec.head_group_spec.template, f"{path}.headGroupSpec")
    for number, group in enumerate(spec.worker_group_specs or ()):
        at = f"{path}.workerGroupSpecs[{number}]"
        least, most = group.min_replicas or 0, group.max_replicas
        amounts = {"replicas": group.replicas, "minReplicas": least, "maxReplicas": most}
        found += [
            InputError(f"is {amount}", field=f"{at}.{name}", expected="no negative number")
            for name, amount in amounts.items()
            if amount is not None and amount < 0
        ]
        found += _containers(group.template, at)
        if worker_count(group) > MOST_COUNTED:
            what = f"asks for {worker_count(group)} pods in groups of {group.num_of_hosts} hosts"
            found.append(InputError(what, field=f"{at}.replicas", expected=f"at most {MOST_COUNTED} pods"))
        if most is not None and 0 <= most < least:
            found.append(
                InputError(f"is {least}", field=f"{at}.minReplicas", expected=f"at most maxReplicas, {most}")
            )
    return found


def _containers(template: PodTemplateSpec, at: str) -> list[InputError]:
    if decode(template.spec).get("containers"):
        return []
    field = f"{at}.template.spec.containers"
    return [InputError("is empty", field=field, expected="at least one container: KubeRay asks for it")]


def gated(obj: Any, integration: Any, settings: JobSettings) -> Any:
    """An elastic object as the webhook that checks it sees it: with the gates that another one gave it before."""
    if isinstance(obj, RayCluster | RayService) and is_elastic(obj.metadata, settings):
        return integration.default(obj, settings)
    return obj


def _resizes(obj: Any, resizes: Sequence[Resize], settings: JobSettings) -> list[InputError]:
    """Sizes that nobody would ask for: of what is not elastic, of no group, beyond the group's own limits."""
    path = f'$.metadata.annotations["{RESIZE}"]'
    spec = cluster_spec(obj)
    if spec is None:
        return [InputError("a job without a cluster of its own cannot be resized", field=path)]
    if not is_elastic(obj.metadata, settings):
        expected = f'the annotation {names.ELASTIC_JOB_ANNOTATION}: "true", and the gate ElasticJobsViaWorkloadSlices'
        return [InputError(f"only an elastic {obj.KIND} can be resized", field=path, expected=expected)]
    if not is_managed(obj.metadata, settings):
        return [InputError(f"only a {obj.KIND} with a queue can be resized", field=path)]
    if not isinstance(obj, RayCluster) and not spec.enable_in_tree_autoscaling:
        expected = "enableInTreeAutoscaling: true, or the size that is wanted in its worker groups"
        return [
            InputError(f"the cluster of this {obj.KIND} does not scale itself", field=path, expected=expected)
        ]
    groups = {group.group_name: group for group in spec.worker_group_specs or ()}
    found = []
    for _, count, name in resizes:
        group = groups.get(name) if name or len(groups) != 1 else next(iter(groups.values()))
        if group is None:
            what = f"names the worker group {name!r}" if name else "does not say which worker group"
            expected = " or ".join(groups) or "a cluster with worker groups"
            found.append(InputError(what, field=path, expected=expected))
            continue
        least = group.min_replicas or 0
        most = MOST_PODS if group.max_replicas is None else min(group.max_replicas, MOST_PODS)
        if not least <= count <= most:
            expected = f"{least} to {most}: what the worker group {group.group_name} may have"
            found.append(InputError(f"asks for {count} replicas", field=path, expected=expected))
    return found
