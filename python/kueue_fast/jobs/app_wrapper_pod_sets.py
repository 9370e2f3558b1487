"""Which pods the objects in an AppWrapper make: as declared, or as known of their kinds.

The AppWrapper's own operator decides this; Kueue only reads it.

Source: section 11.10 of the job rules, TP-306.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from kueue_fast.api.appwrapper import AppWrapper, AppWrapperPodSet
from kueue_fast.api.core import PodSpec, PodTemplateSpec
from kueue_fast.errors import InputError
from kueue_fast.jobs.pod_set_info import encode
from kueue_fast.jobs.topology_indexes import APP_WRAPPER_PREFIX, COMPLETION_INDEX, REPLICA_INDEX

__all__ = ["component_pod_sets", "pod_template"]

TEMPLATE: Final = "template"
STEP: Final = re.compile(r"\.([^.\[]+)|\[(\d+)\]")
POD_INDEX: Final = f"{APP_WRAPPER_PREFIX}tas-pod-index-label"
SUB_GROUP: Final = f"{APP_WRAPPER_PREFIX}tas-sub-group-index-label"
SUB_GROUP_COUNT: Final = f"{APP_WRAPPER_PREFIX}tas-sub-group-count"
# Path of the pod template, and of the number of replicas, for kinds that have one of them.
SIMPLE_KINDS: Final = {
    ("v1", "Pod"): ("template", None),
    ("apps/v1", "Deployment"): ("template.spec.template", "template.spec.replicas"),
    ("apps/v1", "StatefulSet"): ("template.spec.template", "template.spec.replicas"),
}
# What of a pod's spec, and of a container, reaches the Workload.
POD_FIELDS: Final = (
    "affinity",
    "nodeName",
    "nodeSelector",
    "overhead",
    "priorityClassName",
    "restartPolicy",
    "schedulerName",
    "tolerations",
    "topologySpreadConstraints",
)
CONTAINER_FIELDS: Final = ("name", "image", "command", "args", "resources", "securityContext")


def component_pod_sets(job: AppWrapper) -> list[list[AppWrapperPodSet]]:
    """Pod sets of each component: those that the operator wrote down, or declared, or known of the kind."""
    components = job.spec.components or []
    known = (job.status.component_status if job.status is not None else None) or []
    if len(known) == len(components):
        return [list(each.pod_sets or ()) for each in known]
    return [list(each.pod_sets or ()) or list(inferred(each.template)) for each in components]


def pod_template(component: Mapping[str, Any], path: str) -> PodTemplateSpec | None:
    """The pod template at a path of a component, with what matters to Kueue; None if there is none.

    Raises InputError for one that cannot be read.

    Init containers that go on running are counted as if they ended: the operator leaves out what says so.
    """
    found = at_path(component, path)
    spec = found.get("spec") if isinstance(found, Mapping) else None
    if not isinstance(found, Mapping) or not isinstance(spec, Mapping):
        return None
    _check(found, path)
    made = {field: spec[field] for field in POD_FIELDS if spec.get(field) is not None}
    made.setdefault("restartPolicy", "Always")
    for part in ("initContainers", "containers"):
        containers = spec.get(part) or []
        if containers or part == "containers":
            made[part] = [
                {field: each[field] for field in CONTAINER_FIELDS if field in each} for each in containers
            ]
    metadata = found.get("metadata") or {}
    kept = {part: metadata[part] for part in ("labels", "annotations") if metadata.get(part)}
    return PodTemplateSpec(metadata=encode(kept), spec=encode(made))


class _Metadata(msgspec.Struct):
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None


class _Template(msgspec.Struct):
    spec: PodSpec
    metadata: _Metadata | None = None


def _check(found: Mapping[str, Any], path: str) -> None:
    try:
        msgspec.convert(found, _Template)
    except msgspec.ValidationError as error:
        raise InputError(f"{path}: {error}", expected="a pod template") from error


def at_path(component: Mapping[str, Any], path: str) -> Any:
    """The value at a path such as `template.spec.replicatedJobs[0].template`, None if there is none."""
    if not path.startswith(TEMPLATE):
        return None
    value: Any = component
    rest = path[len(TEMPLATE) :]
    while rest:
        step = STEP.match(rest)
        if step is None:
            return None
        key, index = step.groups()
        if index is not None:
            fits = isinstance(value, list) and int(index) < len(value)
            value = value[int(index)] if fits else None
        else:
            value = value.get(key) if isinstance(value, Mapping) else None
        if value is None:
            return None
        rest = rest[step.end() :]
    return value


def inferred(component: Mapping[str, Any]) -> Iterator[AppWrapperPodSet]:
    """Pod sets of an object of a kind that the operator knows; of another kind none."""
    kind = (str(component.get("apiVersion", "")), str(component.get("kind", "")))
    match kind:
        case ("batch/v1", "Job"):
            count = _pods_of_a_job(component, "template.spec")
            yield _pod_set("template.spec.template", count, {POD_INDEX: COMPLETION_INDEX})
        case ("jobset.x-k8s.io/v1alpha2", "JobSet"):
            yield from _replicated_jobs(component)
        case ("kubeflow.org/v1", "PyTorchJob"):
            for type_ in ("Master", "Worker"):
                prefix = f"template.spec.pytorchReplicaSpecs.{type_}"
                if at_path(component, f"{prefix}.template") is not None:
                    count = _number(component, f"{prefix}.replicas")
                    yield _pod_set(f"{prefix}.template", count, {POD_INDEX: REPLICA_INDEX})
        case ("ray.io/v1", "RayCluster"):
            yield from _ray_cluster(component, "template.spec")
        case ("ray.io/v1", "RayJob"):
            yield from _ray_cluster(component, "template.spec.rayClusterSpec")
        case _ if kind in SIMPLE_KINDS:
            path, replicas = SIMPLE_KINDS[kind]
            if at_path(component, path) is not None:
                yield _pod_set(path, 1 if replicas is None else _number(component, replicas))


def _replicated_jobs(component: Mapping[str, Any]) -> Iterator[AppWrapperPodSet]:
    jobs = at_path(component, "template.spec.replicatedJobs")
    for number in range(len(jobs) if isinstance(jobs, list) else 0):
        prefix = f"template.spec.replicatedJobs[{number}]"
        if at_path(component, f"{prefix}.template") is None:
            continue
        replicas = _number(component, f"{prefix}.replicas")
        annotations = {
            POD_INDEX: COMPLETION_INDEX,
            SUB_GROUP: "jobset.sigs.k8s.io/job-index",
            SUB_GROUP_COUNT: str(replicas),
        }
        count = replicas * _pods_of_a_job(component, f"{prefix}.template.spec")
        yield _pod_set(f"{prefix}.template.spec.template", count, annotations)


def _ray_cluster(component: Mapping[str, Any], prefix: str) -> Iterator[AppWrapperPodSet]:
    """Head and workers; hosts of a worker are not counted, as the operator does not."""
    yield _pod_set(f"{prefix}.headGroupSpec.template", 1)
    workers = at_path(component, f"{prefix}.workerGroupSpecs")
    for number in range(len(workers) if isinstance(workers, list) else 0):
        group = f"{prefix}.workerGroupSpecs[{number}]"
        if at_path(component, f"{group}.template") is not None:
            yield _pod_set(f"{group}.template", _number(component, f"{group}.replicas"))


def _pods_of_a_job(component: Mapping[str, Any], prefix: str) -> int:
    parallelism = _number(component, f"{prefix}.parallelism")
    return min(parallelism, _number(component, f"{prefix}.completions", parallelism))


def _number(component: Mapping[str, Any], path: str, default: int = 1) -> int:
    value = at_path(component, path)
    return value if isinstance(value, int) else default


def _pod_set(path: str, replicas: int, annotations: dict[str, str] | None = None) -> AppWrapperPodSet:
    return AppWrapperPodSet(path=path, replicas=replicas, annotations=annotations)
