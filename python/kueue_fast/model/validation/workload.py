"""Workload: what its schema and webhook refuse on create.

Source: LC-102, LC-103, LC-206, LC-310, LC-312, LC-313; its status stands in `workload_status`.
"""

import re
from collections.abc import Iterator

from kueue_fast.api.kueue import PodSet, PodSetTopologyRequest, PriorityClassRef, Workload, WorkloadSpec
from kueue_fast.model.features import FeatureGates
from kueue_fast.model.integers import parse_int32
from kueue_fast.model.validation import names
from kueue_fast.model.validation.common import at_least, each, items, length, one_of, unique
from kueue_fast.model.validation.field_error import (
    FieldError,
    duplicate,
    forbidden,
    invalid,
    required,
    too_long,
    too_many,
)
from kueue_fast.model.validation.pod_template import workload_template_errors
from kueue_fast.model.validation.workload_status import validate_workload_status

POD_SETS_MAX = 18
PREEMPTION_GATES_MAX = 8
TOPOLOGY_NAME_MAX = 63
INDEX_LABEL_MAX = 317
POD_SET_GROUP_NAME_MAX = 256
SLICE_CONSTRAINTS_MAX = 3
ADMISSION_GATE_MAX = 63

ELASTIC_JOB_ANNOTATION = "kueue.x-k8s.io/elastic-job"
ADMISSION_GATED_BY_ANNOTATION = "kueue.x-k8s.io/admission-gated-by"
PRIORITY_BOOST_ANNOTATION = "kueue.x-k8s.io/priority-boost"

KIND_OF_GROUP = {"kueue.x-k8s.io": "WorkloadPriorityClass", "scheduling.k8s.io": "PriorityClass"}


def validate_workload(workload: Workload, gates: FeatureGates, v1beta2: bool) -> Iterator[FieldError]:
    """What is wrong with a Workload. `v1beta2`: whether that version's own bounds apply too."""
    annotations = workload.metadata.annotations or {}
    is_elastic = annotations.get(ELASTIC_JOB_ANNOTATION) == "true" and gates.enabled(
        "ElasticJobsViaWorkloadSlices"
    )
    yield from _spec(workload.spec, v1beta2)
    yield from _pod_sets(workload.spec.pod_sets or [], gates, v1beta2, is_elastic)
    if workload.status is not None:
        yield from validate_workload_status(workload.spec, workload.status, v1beta2)
    if ADMISSION_GATED_BY_ANNOTATION in annotations and gates.enabled("AdmissionGatedBy"):
        yield from _admission_gated_by(annotations[ADMISSION_GATED_BY_ANNOTATION])
    if PRIORITY_BOOST_ANNOTATION in annotations and gates.enabled("PriorityBoost"):
        yield from _priority_boost(annotations[PRIORITY_BOOST_ANNOTATION])


# Times of the usual form in years whose months have no odd ends here; others are asked for by the rules.
PLAIN_TIME = re.compile(
    r"20[0-9]{2}-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]Z"
)


def is_plain_workload(workload: Workload, gates: FeatureGates) -> bool:
    """Whether a look at a Workload's few usual fields shows that nothing is wrong, metadata included.

    A shortcut for the many: False says only that the rules have to be asked.
    """
    metadata = workload.metadata
    spec = workload.spec
    pod_sets = spec.pod_sets
    if (
        workload.status is not None
        or metadata.annotations
        or metadata.deletion_timestamp
        or (metadata.creation_timestamp and PLAIN_TIME.fullmatch(metadata.creation_timestamp) is None)
        or spec.priority_class_ref is not None
        or spec.maximum_execution_time_seconds is not None
        or spec.preemption_gates
        or not pod_sets
        or len(pod_sets) > POD_SETS_MAX
        or (spec.queue_name is not None and names.subdomain(spec.queue_name))
        or not metadata.namespace
        or names.label(metadata.namespace)
        or len(metadata.name) > names.SUBDOMAIN_MAX
        or names.SUBDOMAIN.fullmatch(metadata.name) is None
    ):
        return False
    for key, value in (metadata.labels or {}).items():
        if names.label_key(key) or names.label_value(value):
            return False
    if len(pod_sets) > 1 and len({pod_set.name for pod_set in pod_sets}) < len(pod_sets):
        return False
    check_metadata = gates.enabled("WorkloadValidationForPodSetMetadata")
    non_negative = gates.enabled("WorkloadValidateResourcesAreNonNegative")
    for pod_set in pod_sets:
        if (
            pod_set.count < 0
            or pod_set.min_count is not None
            or pod_set.topology_request is not None
            or names.label(pod_set.name)
            or workload_template_errors(pod_set.template, check_metadata, non_negative)
        ):
            return False
    return True


def _spec(spec: WorkloadSpec, v1beta2: bool) -> Iterator[FieldError]:
    if spec.queue_name is not None:
        yield from each("spec.queueName", spec.queue_name, names.subdomain(spec.queue_name))
    if spec.priority_class_ref is not None:
        yield from _priority_class(spec.priority_class_ref, v1beta2)
        if spec.priority is None:
            given = "priorityClassRef" if v1beta2 else "priorityClassName"
            yield required("spec.priority", f"must be set when {given} is set")
    yield from at_least("spec.maximumExecutionTimeSeconds", spec.maximum_execution_time_seconds, 1)
    if spec.preemption_gates:
        path = "spec.preemptionGates"
        yield from items(path, spec.preemption_gates, PREEMPTION_GATES_MAX)
        yield from unique(path, (gate.name for gate in spec.preemption_gates), ".name")
        for index, gate in enumerate(spec.preemption_gates):
            yield from length(f"{path}[{index}].name", gate.name, 63, least=1)


def _priority_class(ref: PriorityClassRef, v1beta2: bool) -> Iterator[FieldError]:
    path = "spec.priorityClassRef"
    name_path = f"{path}.name" if v1beta2 else "spec.priorityClassName"
    yield from each(name_path, ref.name, names.subdomain(ref.name))
    yield from one_of(f"{path}.group", ref.group, tuple(KIND_OF_GROUP))
    yield from one_of(f"{path}.kind", ref.kind, tuple(KIND_OF_GROUP.values()))
    kind = KIND_OF_GROUP.get(ref.group)
    if kind is not None and ref.kind in KIND_OF_GROUP.values() and ref.kind != kind:
        value = {"group": ref.group, "kind": ref.kind, "name": ref.name}
        yield invalid(path, value, f"the kind must be {kind} for group {ref.group}")


def _pod_sets(
    pod_sets: list[PodSet], gates: FeatureGates, v1beta2: bool, is_elastic: bool
) -> Iterator[FieldError]:
    path = "spec.podSets"
    if not pod_sets:
        yield required(path, "must have at least 1 item")
    if len(pod_sets) > POD_SETS_MAX:
        yield too_many(path, len(pod_sets), POD_SETS_MAX)
    # With the gate off the webhook drops every minCount before anything looks at it (LC-301).
    has_min_counts = gates.enabled("PartialAdmission")
    check_metadata = gates.enabled("WorkloadValidationForPodSetMetadata")
    non_negative = gates.enabled("WorkloadValidateResourcesAreNonNegative")
    seen: set[str] = set()
    variable = 0
    for index, pod_set in enumerate(pod_sets):
        at = f"{path}[{index}]"
        yield from each(f"{at}.name", pod_set.name, names.label(pod_set.name))
        if pod_set.name in seen:
            yield duplicate(at, {"name": pod_set.name}, "pod sets must have different names")
        seen.add(pod_set.name)
        yield from at_least(f"{at}.count", pod_set.count, 0)
        if pod_set.min_count is not None and has_min_counts:
            variable += 1
            yield from at_least(f"{at}.minCount", pod_set.min_count, 1)
            if pod_set.min_count > pod_set.count:
                value = {"count": pod_set.count, "minCount": pod_set.min_count}
                yield invalid(at, value, "minCount must be positive and less than or equal to count")
        if pod_set.topology_request is not None:
            yield from _topology_request(f"{at}.topologyRequest", pod_set.topology_request, gates, v1beta2)
        for error in workload_template_errors(pod_set.template, check_metadata, non_negative):
            yield error.under(f"{at}.template")
    if variable > 1:
        yield invalid(path, variable, "at most one pod set can use minCount")
    if variable and is_elastic:
        yield invalid(path, variable, "partial admission and elastic job cannot be used together")


def _topology_request(
    path: str, request: PodSetTopologyRequest, gates: FeatureGates, v1beta2: bool
) -> Iterator[FieldError]:
    constraints = request.podset_slice_required_topology_constraints or []
    if v1beta2:
        slice_topology = request.pod_set_slice_required_topology
        yield from length(f"{path}.required", request.required, TOPOLOGY_NAME_MAX)
        yield from length(f"{path}.preferred", request.preferred, TOPOLOGY_NAME_MAX)
        yield from length(f"{path}.podSetSliceRequiredTopology", slice_topology, TOPOLOGY_NAME_MAX)
        yield from length(f"{path}.podIndexLabel", request.pod_index_label, INDEX_LABEL_MAX)
        yield from length(f"{path}.subGroupIndexLabel", request.sub_group_index_label, INDEX_LABEL_MAX)
        yield from length(f"{path}.podSetGroupName", request.pod_set_group_name, POD_SET_GROUP_NAME_MAX)
        yield from items(f"{path}.podsetSliceRequiredTopologyConstraints", constraints, SLICE_CONSTRAINTS_MAX)
        for index, constraint in enumerate(constraints):
            at = f"{path}.podsetSliceRequiredTopologyConstraints[{index}]"
            yield from length(f"{at}.topology", constraint.topology, TOPOLOGY_NAME_MAX, least=1)
            yield from at_least(f"{at}.size", constraint.size, 1)
    if gates.enabled("TASValidateWorkloadSliceSize"):
        yield from _slice_size(f"{path}.podSetSliceSize", request)


def _slice_size(path: str, request: PodSetTopologyRequest) -> Iterator[FieldError]:
    size = request.pod_set_slice_size
    if request.pod_set_slice_required_topology is None:
        if size is not None:
            yield forbidden(path, "may not be set without podSetSliceRequiredTopology")
    elif size is None:
        yield required(path, "must be set when podSetSliceRequiredTopology is set")
    elif size <= 0:
        yield invalid(path, size, "must be greater than 0")


def _admission_gated_by(value: str) -> Iterator[FieldError]:
    path = f"metadata.annotations[{ADMISSION_GATED_BY_ANNOTATION}]"
    if not value.strip():
        return
    seen: set[str] = set()
    for gate in (part.strip() for part in value.split(",")):
        if not gate:
            yield invalid(path, value, "must not hold an empty gate name")
        elif gate in seen:
            yield invalid(path, value, f"duplicate gate name: {gate}")
        else:
            seen.add(gate)
            yield from each(path, gate, names.domain_prefixed_path(gate))
            if len(gate) > ADMISSION_GATE_MAX:
                yield too_long(path, ADMISSION_GATE_MAX)


def _priority_boost(value: str) -> Iterator[FieldError]:
    path = f"metadata.annotations[{PRIORITY_BOOST_ANNOTATION}]"
    if not value:
        yield invalid(path, value, "must be a signed integer; for no boost write 0, not an empty text")
    elif parse_int32(value) is None:
        yield invalid(path, value, "must be a signed integer of 32 bits")
