"""Queue objects of kueue.x-k8s.io/v1beta2: flavors, queues, cohorts, priorities, topologies.

Workload stands in `kueue_workload.py`, what admission checks need in `kueue_checks.py`; both are
offered here too, so that a caller needs this module only.
Source: LC-109 to LC-116.
"""

from __future__ import annotations

from typing import ClassVar

import msgspec

from kueue_fast.api.core import Taint, Toleration
from kueue_fast.api.kueue_checks import (
    AdmissionCheck,
    AdmissionCheckParametersReference,
    AdmissionCheckSpec,
    AdmissionCheckStatus,
    MultiKueueCluster,
    MultiKueueConfig,
    ProvisioningRequestConfig,
)
from kueue_fast.api.kueue_workload import (
    V1BETA2,
    Admission,
    AdmissionCheckState,
    PodSet,
    PodSetAssignment,
    PodSetRequest,
    PodsetSliceRequiredTopologyConstraint,
    PodSetTopologyRequest,
    PodSetUpdate,
    PreemptionGate,
    PreemptionGateState,
    PriorityClassRef,
    ReclaimablePod,
    RequeueState,
    SchedulingStats,
    UnhealthyNode,
    Workload,
    WorkloadSchedulingStatsEviction,
    WorkloadSpec,
    WorkloadStatus,
)
from kueue_fast.api.meta import (
    Condition,
    Int32,
    Int64,
    KubernetesObject,
    LabelSelector,
    QuantityValue,
    Wire,
)


class ResourceFlavorSpec(Wire, kw_only=True):
    node_labels: dict[str, str] | None = None
    node_taints: list[Taint] | None = None
    tolerations: list[Toleration] | None = None
    topology_name: str | None = None


class ResourceFlavor(KubernetesObject, kw_only=True):
    API_VERSION: ClassVar[str] = V1BETA2
    KIND: ClassVar[str] = "ResourceFlavor"

    spec: ResourceFlavorSpec | None = None


class ResourceQuota(Wire, kw_only=True):
    """Quota of one resource in one flavor; an absent limit is no limit."""

    name: str
    nominal_quota: QuantityValue
    borrowing_limit: QuantityValue | None = None
    lending_limit: QuantityValue | None = None


class FlavorQuotas(Wire, kw_only=True):
    name: str
    resources: list[ResourceQuota] | None = None


class ResourceGroup(Wire, kw_only=True):
    """Resources that are always given from the same flavor, and the flavors in order of preference."""

    covered_resources: list[str] | None = None
    flavors: list[FlavorQuotas] | None = None


class FairSharing(Wire, kw_only=True):
    weight: QuantityValue | None = None


class FairSharingStatus(Wire, kw_only=True, omit_defaults=False):
    """The share; a CRD wants it written also when it is 0."""

    weighted_share: Int64 = 0


class FlavorFungibility(Wire, kw_only=True):
    when_can_borrow: str | None = None
    when_can_preempt: str | None = None
    preference: str | None = None


class BorrowWithinCohort(Wire, kw_only=True):
    policy: str | None = None
    max_priority_threshold: Int32 | None = None


class ClusterQueuePreemption(Wire, kw_only=True):
    reclaim_within_cohort: str | None = None
    within_cluster_queue: str | None = None
    borrow_within_cohort: BorrowWithinCohort | None = None


class AdmissionCheckStrategyRule(Wire, kw_only=True):
    """A check and the flavors that need it; no flavors means all."""

    name: str
    on_flavors: list[str] | None = None


class AdmissionChecksStrategy(Wire, kw_only=True):
    admission_checks: list[AdmissionCheckStrategyRule] | None = None


class AdmissionScope(Wire, kw_only=True):
    admission_mode: str | None = None


class ConcurrentAdmissionConstraints(Wire, kw_only=True):
    last_acceptable_flavor_name: str | None = None


class ConcurrentAdmissionMigration(Wire, kw_only=True):
    mode: str | None = None
    constraints: ConcurrentAdmissionConstraints | None = None


class ConcurrentAdmissionPolicy(Wire, kw_only=True):
    migration: ConcurrentAdmissionMigration | None = None


class ClusterQueueSpec(Wire, kw_only=True):
    resource_groups: list[ResourceGroup] | None = None
    cohort_name: str | None = None
    queueing_strategy: str | None = None
    namespace_selector: LabelSelector | None = None
    flavor_fungibility: FlavorFungibility | None = None
    preemption: ClusterQueuePreemption | None = None
    admission_checks_strategy: AdmissionChecksStrategy | None = None
    stop_policy: str | None = None
    fair_sharing: FairSharing | None = None
    admission_scope: AdmissionScope | None = None
    concurrent_admission_policy: ConcurrentAdmissionPolicy | None = None


class ResourceUsage(Wire, kw_only=True):
    name: str
    total: QuantityValue | None = None
    borrowed: QuantityValue | None = None


class FlavorUsage(Wire, kw_only=True):
    name: str
    resources: list[ResourceUsage] | None = None


class ClusterQueueStatus(Wire, kw_only=True):
    conditions: list[Condition] | None = None
    flavors_reservation: list[FlavorUsage] | None = None
    flavors_usage: list[FlavorUsage] | None = None
    pending_workloads: Int32 | None = None
    reserving_workloads: Int32 | None = None
    admitted_workloads: Int32 | None = None
    fair_sharing: FairSharingStatus | None = None


class ClusterQueue(KubernetesObject, kw_only=True):
    API_VERSION: ClassVar[str] = V1BETA2
    KIND: ClassVar[str] = "ClusterQueue"

    spec: ClusterQueueSpec | None = None
    status: ClusterQueueStatus | None = None


class CohortSpec(Wire, kw_only=True):
    parent_name: str | None = None
    resource_groups: list[ResourceGroup] | None = None
    fair_sharing: FairSharing | None = None


class CohortStatus(Wire, kw_only=True):
    fair_sharing: FairSharingStatus | None = None


class Cohort(KubernetesObject, kw_only=True):
    API_VERSION: ClassVar[str] = V1BETA2
    KIND: ClassVar[str] = "Cohort"

    spec: CohortSpec | None = None
    status: CohortStatus | None = None


class LocalQueueSpec(Wire, kw_only=True):
    cluster_queue: str | None = None
    stop_policy: str | None = None
    fair_sharing: FairSharing | None = None


class LocalQueueResourceUsage(Wire, kw_only=True):
    name: str
    total: QuantityValue | None = None


class LocalQueueFlavorUsage(Wire, kw_only=True):
    name: str
    resources: list[LocalQueueResourceUsage] | None = None


class LocalQueueAdmissionFairSharingStatus(Wire, kw_only=True):
    consumed_resources: dict[str, QuantityValue] | None = None
    last_update: str | None = None


class LocalQueueFairSharingStatus(Wire, kw_only=True):
    # A CRD wants it written also when it is 0: what a factory makes is no default that is left out.
    weighted_share: Int64 = msgspec.field(default_factory=int)
    admission_fair_sharing_status: LocalQueueAdmissionFairSharingStatus | None = None


class LocalQueueStatus(Wire, kw_only=True):
    conditions: list[Condition] | None = None
    pending_workloads: Int32 | None = None
    reserving_workloads: Int32 | None = None
    admitted_workloads: Int32 | None = None
    flavors_reservation: list[LocalQueueFlavorUsage] | None = None
    flavors_usage: list[LocalQueueFlavorUsage] | None = None
    fair_sharing: LocalQueueFairSharingStatus | None = None


class LocalQueue(KubernetesObject, kw_only=True):
    API_VERSION: ClassVar[str] = V1BETA2
    KIND: ClassVar[str] = "LocalQueue"
    NAMESPACED: ClassVar[bool] = True

    spec: LocalQueueSpec | None = None
    status: LocalQueueStatus | None = None


class WorkloadPriorityClass(KubernetesObject, kw_only=True):
    API_VERSION: ClassVar[str] = V1BETA2
    KIND: ClassVar[str] = "WorkloadPriorityClass"

    value: Int32
    description: str | None = None


class TopologyLevel(Wire, kw_only=True):
    node_label: str


class TopologySpec(Wire, kw_only=True):
    levels: list[TopologyLevel] | None = None


class Topology(KubernetesObject, kw_only=True):
    API_VERSION: ClassVar[str] = V1BETA2
    KIND: ClassVar[str] = "Topology"

    spec: TopologySpec | None = None


__all__ = [
    "V1BETA2",
    "Admission",
    "AdmissionCheck",
    "AdmissionCheckParametersReference",
    "AdmissionCheckSpec",
    "AdmissionCheckState",
    "AdmissionCheckStatus",
    "AdmissionCheckStrategyRule",
    "AdmissionChecksStrategy",
    "AdmissionScope",
    "BorrowWithinCohort",
    "ClusterQueue",
    "ClusterQueuePreemption",
    "ClusterQueueSpec",
    "ClusterQueueStatus",
    "Cohort",
    "CohortSpec",
    "CohortStatus",
    "ConcurrentAdmissionConstraints",
    "ConcurrentAdmissionMigration",
    "ConcurrentAdmissionPolicy",
    "FairSharing",
    "FairSharingStatus",
    "FlavorFungibility",
    "FlavorQuotas",
    "FlavorUsage",
    "LocalQueue",
    "LocalQueueAdmissionFairSharingStatus",
    "LocalQueueFairSharingStatus",
    "LocalQueueFlavorUsage",
    "LocalQueueResourceUsage",
    "LocalQueueSpec",
    "LocalQueueStatus",
    "MultiKueueCluster",
    "MultiKueueConfig",
    "PodSet",
    "PodSetAssignment",
    "PodSetRequest",
    "PodSetTopologyRequest",
    "PodSetUpdate",
    "PodsetSliceRequiredTopologyConstraint",
    "PreemptionGate",
    "PreemptionGateState",
    "PriorityClassRef",
    "ProvisioningRequestConfig",
    "ReclaimablePod",
    "RequeueState",
    "ResourceFlavor",
    "ResourceFlavorSpec",
    "ResourceGroup",
    "ResourceQuota",
    "ResourceUsage",
    "SchedulingStats",
    "Topology",
    "TopologyLevel",
    "TopologySpec",
    "UnhealthyNode",
    "Workload",
    "WorkloadPriorityClass",
    "WorkloadSchedulingStatsEviction",
    "WorkloadSpec",
    "WorkloadStatus",
]
