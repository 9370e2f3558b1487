"""What is refused of the kinds of jobs besides batch/v1 Job before a simulation starts. Source: section 9, JS-446."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kueue_fast.api.apps import StatefulSet
from kueue_fast.api.core import Pod, PriorityClass
from kueue_fast.api.kueue import PodSet, Workload, WorkloadPriorityClass, WorkloadSpec
from kueue_fast.api.meta import KubernetesObject, ObjectMeta
from kueue_fast.api.ray import RayJob
from kueue_fast.errors import InputError
from kueue_fast.jobs import names
from kueue_fast.jobs.deployment import Deployments
from kueue_fast.jobs.pod_group import single_pod_set
from kueue_fast.jobs.registry import Kind, Registry
from kueue_fast.jobs.settings import JobSettings
from kueue_fast.jobs.stateful_set import replicas
from kueue_fast.jobs.validation import is_elastic, prebuilt_name
from kueue_fast.jobs.workload import is_managed, priority_of, queue_name
from kueue_fast.model.features import FeatureGates
from kueue_fast.model.validation import FieldError, validate
from kueue_fast.sim.kind_autoscaler import cluster_spec
from kueue_fast.sim.kind_ray_input import check_ray, gated
from kueue_fast.sim.manifest import REPLICAS, Manifest, problem_words
from kueue_fast.sim.pod_limits import too_many_pods
from kueue_fast.sim.pod_template_input import unreadable_templates

__all__ = ["Classes", "check_kind", "refused"]

Classes = tuple[Mapping[str, WorkloadPriorityClass], Mapping[str, PriorityClass]]
"""WorkloadPriorityClasses and PriorityClasses by name."""


def check_kind(
    manifest: Manifest, registry: Registry, settings: JobSettings, classes: Classes
) -> list[InputError]:
    """What is wrong with an object of a kind of jobs, by its webhook and by what can be played."""
    obj = manifest.object
    integration = registry.find(obj.API_VERSION, obj.KIND)
    if integration is None:
        return []
    if isinstance(obj, Pod) and not queue_name(obj.metadata) and not registry.enabled("pod"):
        return []
    off = registry.refusal(obj)
    if off is not None:
        return [off]
    unreadable = unreadable_templates(obj)
    if unreadable:
        return unreadable
    found = _validate(gated(obj, integration, settings), integration, settings)
    found += _not_played(obj, settings)
    found += [] if found else too_many_pods(manifest)
    if cluster_spec(obj) is not None or manifest.facts.workers_at:
        found += check_ray(obj, manifest.facts.workers_at, settings)
    if isinstance(obj, StatefulSet):
        found += _resized(obj, manifest)
    if not found and is_managed(obj.metadata, settings):
        found += _priority(obj, integration, settings, classes)
    return found


def refused(wrong: FieldError) -> InputError:
    """What a webhook refuses, with the path in the decoder's form."""
    value = "" if wrong.value is None else f": {wrong.value!r}"
    return InputError(f"{wrong.type}{value}", field=f"$.{wrong.path}", expected=wrong.message)


def _validate(obj: Any, integration: Any, settings: JobSettings) -> list[InputError]:
    try:
        return [refused(wrong) for wrong in integration.validate(obj, settings)]
    except InputError as error:
        return [error]


def _not_played(obj: KubernetesObject, settings: JobSettings) -> list[InputError]:
    found = []
    if prebuilt_name(obj.metadata, settings) and is_elastic(obj.metadata, settings):
        what = f"elastic {obj.KIND}s with a Workload made beforehand ({names.PREBUILT_WORKLOAD})"
        found.append(InputError(f"{what} cannot be simulated yet"))
    return found


def _resized(job: StatefulSet, manifest: Manifest) -> list[InputError]:
    """A StatefulSet of Kueue's goes to none and comes back, and changes in no other way. Source: JS-396.

    Its Workload stays as large as it was made: of more pods Kueue would delete the last ones again and again.
    """
    path = f'$.metadata.annotations["{REPLICAS}"]'
    before = first = replicas(job)
    for _, after in manifest.facts.replicas_at:
        what = f"goes from {before} to {after} replicas"
        if before and after and before != after:
            expected = "0 between two sizes: Kueue refuses any other change of a StatefulSet"
            return [InputError(what, field=path, expected=expected)]
        first = first or after
        if after > first:
            expected = f"at most {first}: its Workload keeps its size"
            return [InputError(what, field=path, expected=expected)]
        before = after
    return []


def _priority(obj: Any, integration: Kind, settings: JobSettings, classes: Classes) -> list[InputError]:
    """A priority class that does not exist, or pods that no Workload may ask for, would keep the job without one."""
    try:
        own_class = None
        if isinstance(obj, Pod):
            pod_sets = [single_pod_set(obj, settings)]
        elif isinstance(integration, Deployments):
            pod_sets = []
        elif isinstance(obj, RayJob) and obj.spec.cluster_selector:
            return []  # It runs in a cluster that is there, and is not Kueue's.
        else:
            pod_sets = integration.pod_sets(obj, settings)  # type: ignore[union-attr]
            own_class = integration.priority_class(obj) if hasattr(integration, "priority_class") else None
        priority_of(obj.metadata, pod_sets, *classes, own_class)
    except InputError as error:
        return [error]
    return _unlike_a_workload(obj, pod_sets)


def _unlike_a_workload(obj: Any, pod_sets: list[PodSet]) -> list[InputError]:
    """Pod sets that the API server would refuse in a Workload, so that Kueue could never make it."""
    if not pod_sets:
        return []
    metadata = ObjectMeta(name="w", namespace=obj.metadata.namespace)
    made = Workload(metadata=metadata, spec=WorkloadSpec(pod_sets=pod_sets))
    return [
        InputError(f"no Workload can be made of it: {wrong.path}: {problem_words(wrong)}")
        for wrong in validate(made, FeatureGates())
    ]
