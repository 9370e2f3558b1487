"""Status of a Workload: bounds of the schema, and what must fit its spec.

A TopologyAssignment is kept as text and not looked into here. Source: LC-104, LC-105, LC-107, LC-108a,
LC-108e, LC-311.
"""

from collections.abc import Iterator, Sequence

from kueue_fast.api.kueue import (
    Admission,
    AdmissionCheckState,
    PodSetUpdate,
    ReclaimablePod,
    WorkloadSpec,
    WorkloadStatus,
)
from kueue_fast.model.validation import names
from kueue_fast.model.validation.common import (
    annotations,
    at_least,
    conditions,
    each,
    items,
    labels,
    length,
    one_of,
    quantities,
    quantity,
    time,
    tolerations,
    unique,
)
from kueue_fast.model.validation.field_error import (
    FieldError,
    invalid,
    not_found,
    not_supported,
    required,
)
from kueuecore._quantity import request_value

POD_SETS_MAX = 18
CHECKS_MAX = 8
CHECK_NAME_MAX = 316
CHECK_STATES = ("Pending", "Ready", "Retry", "Rejected")
MESSAGE_MAX = 32768
NOMINATED_MAX = 20
CLUSTER_NAME_MAX = 256
EVICTIONS_MAX = 256
UNHEALTHY_NODES_MAX = 8
PREEMPTION_GATES_MAX = 8


def validate_workload_status(
    spec: WorkloadSpec, status: WorkloadStatus, v1beta2: bool
) -> Iterator[FieldError]:
    """What is wrong with a Workload's status. `v1beta2`: whether that version's own bounds apply too."""
    counts = {pod_set.name: pod_set.count for pod_set in spec.pod_sets or ()}
    yield from conditions("status.conditions", status.conditions, bounded=v1beta2)
    reserves_quota = any(
        condition.type == "QuotaReserved" and condition.status == "True"
        for condition in status.conditions or ()
    )
    if status.admission is not None:
        yield from _admission(status.admission, counts, reserves_quota)
    elif reserves_quota:
        yield required("status.admission", "must be set while the condition QuotaReserved is True")
    if status.requeue_state is not None:
        yield from at_least("status.requeueState.count", status.requeue_state.count, 0)
        yield from time("status.requeueState.requeueAt", status.requeue_state.requeue_at)
    if status.reclaimable_pods:
        yield from _reclaimable_pods(status.reclaimable_pods, counts)
    if status.admission_checks:
        yield from _admission_checks(status.admission_checks, counts, v1beta2)
    if status.resource_requests:
        path = "status.resourceRequests"
        yield from items(path, status.resource_requests, POD_SETS_MAX)
        yield from unique(path, (request.name for request in status.resource_requests), ".name")
        for index, request in enumerate(status.resource_requests):
            yield from quantities(f"{path}[{index}].resources", request.resources)
    yield from _clusters_and_nodes(status, v1beta2)


def _admission(admission: Admission, counts: dict[str, int], reserves_quota: bool) -> Iterator[FieldError]:
    path = "status.admission"
    queue = admission.cluster_queue
    yield from each(f"{path}.clusterQueue", queue, names.subdomain(queue))
    assignments = admission.pod_set_assignments or []
    at = f"{path}.podSetAssignments"
    yield from items(at, assignments, POD_SETS_MAX)
    yield from unique(at, (assignment.name for assignment in assignments), ".name")
    if reserves_quota and len(assignments) != len(counts):
        message = "must have as many items as spec.podSets while the condition QuotaReserved is True"
        yield invalid(at, len(assignments), message)
    for index, assignment in enumerate(assignments):
        item = f"{at}[{index}]"
        yield from at_least(f"{item}.count", assignment.count, 0)
        delayed = assignment.delayed_topology_request
        yield from one_of(f"{item}.delayedTopologyRequest", delayed, ("Pending", "Ready"))
        for resource, flavor in (assignment.flavors or {}).items():
            yield from each(f"{item}.flavors[{resource}]", flavor, names.subdomain(flavor))
        if reserves_quota and assignment.name not in counts:
            yield not_found(f"{item}.name", assignment.name)
        for resource, value in (assignment.resource_usage or {}).items():
            usage = f"{item}.resourceUsage[{resource}]"
            problems = list(quantity(usage, value))
            yield from problems
            divisor = assignment.count or 0
            if not problems and reserves_quota and divisor > 0 and request_value(resource, value) % divisor:
                yield invalid(usage, value, f"is not a multiple of {divisor}")


def _reclaimable_pods(pods: Sequence[ReclaimablePod], counts: dict[str, int]) -> Iterator[FieldError]:
    path = "status.reclaimablePods"
    yield from items(path, pods, POD_SETS_MAX)
    yield from unique(path, (pod.name for pod in pods), ".name")
    for pod in pods:
        at = f"{path}[{pod.name}]"
        yield from at_least(f"{at}.count", pod.count, 0)
        if pod.name not in counts:
            yield not_supported(f"{at}.name", pod.name, counts)
        elif pod.count > counts[pod.name]:
            yield invalid(f"{at}.count", pod.count, f"must be less than or equal to {counts[pod.name]}")


def _admission_checks(
    checks: Sequence[AdmissionCheckState], counts: dict[str, int], v1beta2: bool
) -> Iterator[FieldError]:
    path = "status.admissionChecks"
    yield from items(path, checks, CHECKS_MAX)
    yield from unique(path, (check.name for check in checks), ".name")
    for index, check in enumerate(checks):
        at = f"{path}[{index}]"
        yield from length(f"{at}.name", check.name, CHECK_NAME_MAX, least=1 if v1beta2 else 0)
        yield from one_of(f"{at}.state", check.state, CHECK_STATES)
        if not check.last_transition_time:
            yield required(f"{at}.lastTransitionTime")
        yield from length(f"{at}.message", check.message, MESSAGE_MAX)
        yield from at_least(f"{at}.requeueAfterSeconds", check.requeue_after_seconds, 0)
        yield from at_least(f"{at}.retryCount", check.retry_count, 0)
        yield from items(f"{at}.podSetUpdates", check.pod_set_updates, POD_SETS_MAX)
        for position, update in enumerate(check.pod_set_updates or ()):
            yield from _pod_set_update(f"{at}.podSetUpdates[{position}]", update, counts)


def _pod_set_update(path: str, update: PodSetUpdate, counts: dict[str, int]) -> Iterator[FieldError]:
    if update.name not in counts:
        yield not_supported(f"{path}.name", update.name, sorted(counts))
    yield from tolerations(f"{path}.tolerations", update.tolerations)
    yield from annotations(f"{path}.annotations", update.annotations)
    yield from labels(f"{path}.nodeSelector", update.node_selector)
    yield from labels(f"{path}.labels", update.labels)


def _clusters_and_nodes(status: WorkloadStatus, v1beta2: bool) -> Iterator[FieldError]:
    yield from items("status.nominatedClusterNames", status.nominated_cluster_names, NOMINATED_MAX)
    if status.cluster_name is not None and status.nominated_cluster_names:
        message = "clusterName and nominatedClusterNames must not both be set"
        yield invalid("status", {"clusterName": status.cluster_name}, message)
    evictions = status.scheduling_stats.evictions if status.scheduling_stats is not None else None
    for index, eviction in enumerate(evictions or ()):
        yield from at_least(f"status.schedulingStats.evictions[{index}].count", eviction.count, 0)
    nodes = status.unhealthy_nodes or []
    yield from unique("status.unhealthyNodes", (node.name for node in nodes), ".name")
    if not v1beta2:
        return
    yield from length("status.clusterName", status.cluster_name, CLUSTER_NAME_MAX)
    for index, name in enumerate(status.nominated_cluster_names or ()):
        yield from length(f"status.nominatedClusterNames[{index}]", name, CLUSTER_NAME_MAX)
    yield from items("status.schedulingStats.evictions", evictions, EVICTIONS_MAX)
    yield from items("status.unhealthyNodes", nodes, UNHEALTHY_NODES_MAX)
    for index, node in enumerate(nodes):
        yield from length(f"status.unhealthyNodes[{index}].name", node.name, 63)
    gates = status.preemption_gates or []
    yield from items("status.preemptionGates", gates, PREEMPTION_GATES_MAX)
    for index, gate in enumerate(gates):
        yield from length(f"status.preemptionGates[{index}].name", gate.name, 63, least=1)
        yield from one_of(f"status.preemptionGates[{index}].position", gate.position, ("Closed", "Open"))
