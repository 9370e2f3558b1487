"""kueue.x-k8s.io/v1beta1: the forms that differ from v1beta2, each with its `to_v1beta2`.

Only reading is offered: what this package writes is v1beta2. A kind that is not here reads the same
in both versions, but for fields that v1beta2 drops anyway.
Source: LC-201 to LC-207.
"""

from __future__ import annotations

from typing import ClassVar

import msgspec

from kueue_fast.api import kueue, kueue_checks, topology_assignment
from kueue_fast.api.meta import Condition, Int32, KubernetesObject, LabelSelector, QuantityValue, Wire

V1BETA1 = "kueue.x-k8s.io/v1beta1"

# Deprecated fungibility values and what each means in v1beta2 (LC-201).
_WHEN_CAN_BORROW = {"Borrow": "MayStopSearch"}
_WHEN_CAN_PREEMPT = {"Preempt": "MayStopSearch"}

_PRIORITY_CLASS_SOURCES = {
    "kueue.x-k8s.io/workloadpriorityclass": ("kueue.x-k8s.io", "WorkloadPriorityClass"),
    "scheduling.k8s.io/priorityclass": ("scheduling.k8s.io", "PriorityClass"),
}


class ClusterQueueSpec(Wire, kw_only=True):
    resource_groups: list[kueue.ResourceGroup] | None = None
    cohort: str | None = None
    queueing_strategy: str | None = None
    namespace_selector: LabelSelector | None = None
    flavor_fungibility: kueue.FlavorFungibility | None = None
    preemption: kueue.ClusterQueuePreemption | None = None
    admission_checks: list[str] | None = None
    admission_checks_strategy: kueue.AdmissionChecksStrategy | None = None
    stop_policy: str | None = None
    fair_sharing: kueue.FairSharing | None = None
    admission_scope: kueue.AdmissionScope | None = None

    def to_v1beta2(self) -> kueue.ClusterQueueSpec:
        """The same in v1beta2."""
        strategy = self.admission_checks_strategy
        if self.admission_checks:
            # Names win over a strategy given beside them (LC-207).
            strategy = kueue.AdmissionChecksStrategy(
                admission_checks=[
                    kueue.AdmissionCheckStrategyRule(name=name) for name in self.admission_checks
                ]
            )
        return kueue.ClusterQueueSpec(
            resource_groups=self.resource_groups,
            cohort_name=self.cohort,
            queueing_strategy=self.queueing_strategy,
            namespace_selector=self.namespace_selector,
            flavor_fungibility=_fungibility(self.flavor_fungibility),
            preemption=self.preemption,
            admission_checks_strategy=strategy,
            stop_policy=self.stop_policy,
            fair_sharing=self.fair_sharing,
            admission_scope=self.admission_scope,
        )


def _fungibility(old: kueue.FlavorFungibility | None) -> kueue.FlavorFungibility | None:
    if old is None:
        return None
    borrow, preempt = old.when_can_borrow, old.when_can_preempt
    return kueue.FlavorFungibility(
        when_can_borrow=_WHEN_CAN_BORROW.get(borrow, borrow) if borrow else borrow,
        when_can_preempt=_WHEN_CAN_PREEMPT.get(preempt, preempt) if preempt else preempt,
        preference=old.preference,
    )


class ClusterQueue(KubernetesObject, kw_only=True):
    API_VERSION: ClassVar[str] = V1BETA1
    KIND: ClassVar[str] = "ClusterQueue"

    spec: ClusterQueueSpec | None = None
    status: kueue.ClusterQueueStatus | None = None

    def to_v1beta2(self) -> kueue.ClusterQueue:
        """The same in v1beta2."""
        return kueue.ClusterQueue(
            metadata=self.metadata,
            spec=self.spec.to_v1beta2() if self.spec else None,
            status=self.status,
        )


class LocalQueueStatus(Wire, kw_only=True):
    conditions: list[Condition] | None = None
    pending_workloads: Int32 | None = None
    reserving_workloads: Int32 | None = None
    admitted_workloads: Int32 | None = None
    flavors_reservation: list[kueue.LocalQueueFlavorUsage] | None = None
    flavor_usage: list[kueue.LocalQueueFlavorUsage] | None = None
    fair_sharing: kueue.LocalQueueFairSharingStatus | None = None

    def to_v1beta2(self) -> kueue.LocalQueueStatus:
        """The same in v1beta2."""
        return kueue.LocalQueueStatus(
            conditions=self.conditions,
            pending_workloads=self.pending_workloads,
            reserving_workloads=self.reserving_workloads,
            admitted_workloads=self.admitted_workloads,
            flavors_reservation=self.flavors_reservation,
            flavors_usage=self.flavor_usage,
            fair_sharing=self.fair_sharing,
        )


class LocalQueue(KubernetesObject, kw_only=True):
    API_VERSION: ClassVar[str] = V1BETA1
    KIND: ClassVar[str] = "LocalQueue"
    NAMESPACED: ClassVar[bool] = True

    spec: kueue.LocalQueueSpec | None = None
    status: LocalQueueStatus | None = None

    def to_v1beta2(self) -> kueue.LocalQueue:
        """The same in v1beta2."""
        return kueue.LocalQueue(
            metadata=self.metadata,
            spec=self.spec,
            status=self.status.to_v1beta2() if self.status else None,
        )


class WorkloadSpec(Wire, kw_only=True):
    pod_sets: list[kueue.PodSet] | None = None
    queue_name: str | None = None
    priority_class_name: str | None = None
    priority_class_source: str | None = None
    priority: Int32 | None = None
    active: bool | None = None
    maximum_execution_time_seconds: Int32 | None = None

    def to_v1beta2(self) -> kueue.WorkloadSpec:
        """The same in v1beta2."""
        reference = None
        source = _PRIORITY_CLASS_SOURCES.get(self.priority_class_source or "")
        if source is not None:
            group, kind = source
            reference = kueue.PriorityClassRef(group=group, kind=kind, name=self.priority_class_name or "")
        for pod_set in self.pod_sets or ():
            if pod_set.topology_request is not None:
                # v1beta1 has no such field, so that there it would be pruned (LC-203).
                pod_set.topology_request.podset_slice_required_topology_constraints = None
        return kueue.WorkloadSpec(
            pod_sets=self.pod_sets,
            queue_name=self.queue_name,
            priority_class_ref=reference,
            priority=self.priority,
            active=self.active,
            maximum_execution_time_seconds=self.maximum_execution_time_seconds,
        )


class TopologyDomainAssignment(Wire, kw_only=True):
    values: list[str]
    count: Int32


class TopologyAssignment(Wire, kw_only=True):
    levels: list[str]
    domains: list[TopologyDomainAssignment]


def to_slices(assignment: TopologyAssignment) -> bytes:
    """JSON text of the v1beta2 form, domains in their order. Source: LC-204, TP-206.

    Raises ValueError if a domain has not one value a level: v1beta2 cannot say that.
    """
    domains = [(tuple(domain.values), domain.count) for domain in assignment.domains]
    return topology_assignment.encode(assignment.levels, domains)


class PodSetAssignment(Wire, kw_only=True):
    name: str = "main"
    flavors: dict[str, str] | None = None
    resource_usage: dict[str, QuantityValue] | None = None
    count: Int32 | None = None
    topology_assignment: TopologyAssignment | None = None
    delayed_topology_request: str | None = None

    def to_v1beta2(self) -> kueue.PodSetAssignment:
        """The same in v1beta2."""
        topology = msgspec.Raw()
        if self.topology_assignment is not None:
            topology = msgspec.Raw(to_slices(self.topology_assignment))
        return kueue.PodSetAssignment(
            name=self.name,
            flavors=self.flavors,
            resource_usage=self.resource_usage,
            count=self.count,
            topology_assignment=topology,
            delayed_topology_request=self.delayed_topology_request,
        )


class Admission(Wire, kw_only=True):
    cluster_queue: str
    pod_set_assignments: list[PodSetAssignment] | None = None

    def to_v1beta2(self) -> kueue.Admission:
        """The same in v1beta2."""
        assignments = self.pod_set_assignments
        return kueue.Admission(
            cluster_queue=self.cluster_queue,
            pod_set_assignments=None
            if assignments is None
            else [assignment.to_v1beta2() for assignment in assignments],
        )


class WorkloadStatus(Wire, kw_only=True):
    conditions: list[Condition] | None = None
    admission: Admission | None = None
    requeue_state: kueue.RequeueState | None = None
    reclaimable_pods: list[kueue.ReclaimablePod] | None = None
    admission_checks: list[kueue.AdmissionCheckState] | None = None
    resource_requests: list[kueue.PodSetRequest] | None = None
    # The name has this spelling in v1beta1.
    accumulated_past_exexcution_time_seconds: Int32 | None = None
    scheduling_stats: kueue.SchedulingStats | None = None
    nominated_cluster_names: list[str] | None = None
    cluster_name: str | None = None
    unhealthy_nodes: list[kueue.UnhealthyNode] | None = None

    def to_v1beta2(self) -> kueue.WorkloadStatus:
        """The same in v1beta2."""
        return kueue.WorkloadStatus(
            conditions=self.conditions,
            admission=self.admission.to_v1beta2() if self.admission else None,
            requeue_state=self.requeue_state,
            reclaimable_pods=self.reclaimable_pods,
            admission_checks=self.admission_checks,
            resource_requests=self.resource_requests,
            accumulated_past_execution_time_seconds=self.accumulated_past_exexcution_time_seconds,
            scheduling_stats=self.scheduling_stats,
            nominated_cluster_names=self.nominated_cluster_names,
            cluster_name=self.cluster_name,
            unhealthy_nodes=self.unhealthy_nodes,
        )


class Workload(KubernetesObject, kw_only=True):
    API_VERSION: ClassVar[str] = V1BETA1
    KIND: ClassVar[str] = "Workload"
    NAMESPACED: ClassVar[bool] = True

    spec: WorkloadSpec
    status: WorkloadStatus | None = None

    def to_v1beta2(self) -> kueue.Workload:
        """The same in v1beta2."""
        return kueue.Workload(
            metadata=self.metadata,
            spec=self.spec.to_v1beta2(),
            status=self.status.to_v1beta2() if self.status else None,
        )


class MultiKueueClusterSpec(Wire, kw_only=True):
    kube_config: kueue_checks.KubeConfig | None = None
    cluster_profile_ref: kueue_checks.ClusterProfileReference | None = None

    def to_v1beta2(self) -> kueue_checks.MultiKueueClusterSpec:
        """The same in v1beta2."""
        config = self.kube_config if self.kube_config and self.kube_config.location else None
        source = None
        if config is not None or self.cluster_profile_ref is not None:
            source = kueue_checks.ClusterSource(
                kube_config=config, cluster_profile_ref=self.cluster_profile_ref
            )
        return kueue_checks.MultiKueueClusterSpec(cluster_source=source)


class MultiKueueCluster(KubernetesObject, kw_only=True):
    API_VERSION: ClassVar[str] = V1BETA1
    KIND: ClassVar[str] = "MultiKueueCluster"

    spec: MultiKueueClusterSpec | None = None
    status: kueue_checks.MultiKueueClusterStatus | None = None

    def to_v1beta2(self) -> kueue_checks.MultiKueueCluster:
        """The same in v1beta2."""
        return kueue_checks.MultiKueueCluster(
            metadata=self.metadata,
            spec=self.spec.to_v1beta2() if self.spec else None,
            status=self.status,
        )


CONVERTED = (ClusterQueue, LocalQueue, Workload, MultiKueueCluster)
"""The kinds whose v1beta1 form is a class of its own."""
