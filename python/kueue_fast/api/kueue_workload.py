"""Workload of kueue.x-k8s.io/v1beta2. Source: LC-101 to LC-107."""

from __future__ import annotations

from typing import ClassVar

import msgspec

from kueue_fast.api.core import PodTemplateSpec, Toleration
from kueue_fast.api.meta import Condition, Int32, KubernetesObject, QuantityValue, Wire

V1BETA2 = "kueue.x-k8s.io/v1beta2"


class PriorityClassRef(Wire, kw_only=True):
    group: str
    kind: str
    name: str


class PreemptionGate(Wire, kw_only=True):
    name: str


class PodsetSliceRequiredTopologyConstraint(Wire, kw_only=True):
    topology: str
    size: Int32


class PodSetTopologyRequest(Wire, kw_only=True):
    required: str | None = None
    preferred: str | None = None
    unconstrained: bool | None = None
    pod_index_label: str | None = None
    sub_group_index_label: str | None = None
    sub_group_count: Int32 | None = None
    pod_set_group_name: str | None = None
    pod_set_slice_required_topology: str | None = None
    pod_set_slice_size: Int32 | None = None
    podset_slice_required_topology_constraints: list[PodsetSliceRequiredTopologyConstraint] | None = None


class PodSet(Wire, kw_only=True):
    template: PodTemplateSpec
    name: str = "main"
    count: Int32 = 1
    min_count: Int32 | None = None
    topology_request: PodSetTopologyRequest | None = None


class WorkloadSpec(Wire, kw_only=True):
    pod_sets: list[PodSet] | None = None
    queue_name: str | None = None
    priority_class_ref: PriorityClassRef | None = None
    priority: Int32 | None = None
    active: bool | None = None
    maximum_execution_time_seconds: Int32 | None = None
    preemption_gates: list[PreemptionGate] | None = None


class PodSetAssignment(Wire, kw_only=True):
    """What one pod set was given; `resource_usage` is the total of its pods at admission."""

    name: str = "main"
    flavors: dict[str, str] | None = None
    resource_usage: dict[str, QuantityValue] | None = None
    count: Int32 | None = None
    # JSON text of a v1beta2 TopologyAssignment (levels and slices); empty if there is none.
    topology_assignment: msgspec.Raw = msgspec.Raw()
    delayed_topology_request: str | None = None


class Admission(Wire, kw_only=True):
    cluster_queue: str
    pod_set_assignments: list[PodSetAssignment] | None = None


class RequeueState(Wire, kw_only=True):
    count: Int32 | None = None
    requeue_at: str | None = None


class ReclaimablePod(Wire, kw_only=True):
    name: str
    count: Int32


class PodSetUpdate(Wire, kw_only=True):
    name: str
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    node_selector: dict[str, str] | None = None
    tolerations: list[Toleration] | None = None


class AdmissionCheckState(Wire, kw_only=True):
    name: str
    state: str
    last_transition_time: str | None = None
    # Written even if empty (a factory default is): the API server insists on it.
    message: str = msgspec.field(default_factory=str)
    requeue_after_seconds: Int32 | None = None
    retry_count: Int32 | None = None
    pod_set_updates: list[PodSetUpdate] | None = None


class PodSetRequest(Wire, kw_only=True):
    name: str = "main"
    resources: dict[str, QuantityValue] | None = None


class WorkloadSchedulingStatsEviction(Wire, kw_only=True):
    reason: str
    underlying_cause: str
    count: Int32


class SchedulingStats(Wire, kw_only=True):
    evictions: list[WorkloadSchedulingStatsEviction] | None = None


class UnhealthyNode(Wire, kw_only=True):
    name: str


class PreemptionGateState(Wire, kw_only=True):
    name: str
    position: str
    last_transition_time: str | None = None


class WorkloadStatus(Wire, kw_only=True):
    conditions: list[Condition] | None = None
    admission: Admission | None = None
    requeue_state: RequeueState | None = None
    reclaimable_pods: list[ReclaimablePod] | None = None
    admission_checks: list[AdmissionCheckState] | None = None
    resource_requests: list[PodSetRequest] | None = None
    accumulated_past_execution_time_seconds: Int32 | None = None
    scheduling_stats: SchedulingStats | None = None
    nominated_cluster_names: list[str] | None = None
    cluster_name: str | None = None
    unhealthy_nodes: list[UnhealthyNode] | None = None
    preemption_gates: list[PreemptionGateState] | None = None


class Workload(KubernetesObject, kw_only=True):
    API_VERSION: ClassVar[str] = V1BETA2
    KIND: ClassVar[str] = "Workload"
    NAMESPACED: ClassVar[bool] = True

    spec: WorkloadSpec
    status: WorkloadStatus | None = None
