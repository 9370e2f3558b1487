"""What a TrainJob makes of its runtime: the JobSet that will run, as far as pods and quota go.

The trainer's own operator does this; here are its rules for counts, resources and patches, not for environment, volumes
and commands.

Source: JS-442, section 11.10 of the job rules.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from kueue_fast.api.batch import JobSpec
from kueue_fast.api.core import PodTemplateSpec
from kueue_fast.api.jobset import JobTemplateSpec, ReplicatedJob
from kueue_fast.api.trainer import MLPolicy, TrainingRuntimeSpec, TrainJob
from kueue_fast.jobs.pod_set_info import decode, encode

__all__ = ["merged", "rendered"]

ANCESTOR: Final = "trainer.kubeflow.org/trainjob-ancestor-step"
TRAINER: Final = "trainer"
INITIALIZERS: Final = ("dataset-initializer", "model-initializer")
NODE: Final = "node"
# Lists that are merged by the name of their elements; other lists are exchanged.
MERGED_BY_NAME: Final = (
    "containers",
    "env",
    "imagePullSecrets",
    "initContainers",
    "schedulingGates",
    "volumes",
)


def rendered(job: TrainJob, runtime: TrainingRuntimeSpec) -> list[ReplicatedJob]:
    """The replicated jobs of the runtime with the patches, the nodes and the resources of the TrainJob."""
    jobs = []
    for replicated in runtime.template.spec.replicated_jobs or ():
        template = _patched(job, replicated)
        ancestor = (decode(template.metadata).get("labels") or {}).get(ANCESTOR)
        count = _count(job, runtime.ml_policy, replicated.name, ancestor, template.spec)
        pods = template.spec.template
        if ancestor == TRAINER or (_launcher_is_node(runtime.ml_policy) and replicated.name == NODE):
            pods = _with_resources(job, pods)
        spec = msgspec.structs.replace(template.spec, template=pods, parallelism=count, completions=count)
        once = ancestor == TRAINER or ancestor in INITIALIZERS
        jobs.append(
            ReplicatedJob(
                name=replicated.name,
                replicas=1 if once else replicated.replicas,
                template=msgspec.structs.replace(template, spec=spec),
            )
        )
    return jobs


def merged(value: Any, patch: Any) -> Any:
    """A JSON value with a strategic merge patch: mappings field by field, some lists by name, the rest exchanged."""
    if not isinstance(value, Mapping) or not isinstance(patch, Mapping):
        return patch
    result = dict(value)
    for key, part in patch.items():
        if part is None:
            result.pop(key, None)
        elif key in MERGED_BY_NAME and isinstance(result.get(key), list):
            by_name = {each.get("name"): each for each in result[key]}
            for each in part:
                name = each.get("name")
                by_name[name] = merged(by_name.get(name, {}), each)
            result[key] = list(by_name.values())
        else:
            result[key] = merged(result.get(key), part)
    return result


def _patched(job: TrainJob, replicated: ReplicatedJob) -> JobTemplateSpec:
    template = replicated.template
    for patch in job.spec.runtime_patches or ():
        spec = ((patch.get("trainingRuntimeSpec") or {}).get("template") or {}).get("spec") or {}
        for each in spec.get("replicatedJobs") or ():
            if each.get("name") == replicated.name and each.get("template"):
                template = _merged_template(template, each["template"])
    return template


def _merged_template(template: JobTemplateSpec, patch: Mapping[str, Any]) -> JobTemplateSpec:
    """The template of a Job with a patch, which may change its metadata and its pods only."""
    metadata = template.metadata
    if patch.get("metadata"):
        metadata = encode(merged(decode(metadata), patch["metadata"]))
    pods = template.spec.template
    of_pods = (patch.get("spec") or {}).get("template") or {}
    pod_metadata, pod_spec = pods.metadata, pods.spec
    if of_pods.get("metadata"):
        pod_metadata = encode(merged(decode(pod_metadata), of_pods["metadata"]))
    if of_pods.get("spec"):
        pod_spec = encode(merged(decode(pod_spec), of_pods["spec"]))
    spec = msgspec.structs.replace(
        template.spec, template=PodTemplateSpec(metadata=pod_metadata, spec=pod_spec)
    )
    return JobTemplateSpec(metadata=metadata, spec=spec)


def _count(job: TrainJob, policy: MLPolicy | None, name: str, ancestor: str | None, spec: JobSpec) -> int:
    """Pods of a Job: as the runtime says, or as many nodes as the TrainJob wants."""
    count = 1 if spec.parallelism is None else spec.parallelism
    if ancestor == TRAINER and policy is not None:
        count = 1 if policy.num_nodes is None else policy.num_nodes
    count = max(count, 1)
    nodes = job.spec.trainer.num_nodes if job.spec.trainer is not None else None
    if nodes is None:
        return count
    if policy is not None and policy.mpi is not None:
        if name != NODE:
            return count
        return max(nodes - 1, 1) if policy.mpi.run_launcher_as_node else nodes
    return nodes if ancestor == TRAINER else count


def _launcher_is_node(policy: MLPolicy | None) -> bool:
    return policy is not None and policy.mpi is not None and bool(policy.mpi.run_launcher_as_node)


def _with_resources(job: TrainJob, pods: PodTemplateSpec) -> PodTemplateSpec:
    """The pods with the resources that the TrainJob wants for each node."""
    wanted = decode(job.spec.trainer.resources_per_node) if job.spec.trainer is not None else {}
    resources = {part: wanted[part] for part in ("limits", "requests") if wanted.get(part) is not None}
    if not resources:
        return pods
    spec = decode(pods.spec)
    for container in spec.get("containers") or ():
        if container.get("name") == NODE:
            container["resources"] = resources
    return PodTemplateSpec(metadata=pods.metadata, spec=encode(spec))
