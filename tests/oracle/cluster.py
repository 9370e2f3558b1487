"""What the scheduler's cache holds: ClusterQueues in their trees, flavors, checks, and which workloads hold quota.

Source: QP-201 to QP-236.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

from tests.oracle.amounts import quota_value, to_double
from tests.oracle.eligibility import selects
from tests.oracle.forest import Forest, Node, Quantities, Quotas
from tests.oracle.queues import PendingQueue
from tests.oracle.settings import Settings
from tests.oracle.workloads import Workload

Manifest: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True)
class ResourceGroup:
    resources: tuple[str, ...]
    flavors: tuple[str, ...]


def quotas_of(groups: Iterable[Manifest] | None) -> Quotas:
    nominal: Quantities = {}
    borrowing: Quantities = {}
    lending: Quantities = {}
    for group in groups or ():
        for flavor in group.get("flavors") or ():
            for resource in flavor.get("resources") or ():
                fr = flavor["name"], resource["name"]
                nominal[fr] = quota_value(resource["name"], resource.get("nominalQuota") or "0")
                for limits, field in ((borrowing, "borrowingLimit"), (lending, "lendingLimit")):
                    if resource.get(field) is not None:
                        limits[fr] = quota_value(resource["name"], resource[field])
    return Quotas(nominal, borrowing, lending)


def weight_of(spec: Manifest) -> float:
    """Fair sharing weight; 1 where none is given. Source: QP-301."""
    weight = (spec.get("fairSharing") or {}).get("weight")
    return 1.0 if weight is None else to_double(weight)


class ClusterQueue:
    """Source: QP-204 for what a missing field means."""

    def __init__(self, name: str, node: Node, settings: Settings) -> None:
        self.name = name
        self.node = node
        self.generation = 0
        self.held: dict[str, Workload] = {}
        self.pending = PendingQueue(settings)
        self.spec: Manifest = {}

    def configure(self, spec: Manifest) -> None:
        self.spec = spec
        self.groups = [
            ResourceGroup(tuple(g["coveredResources"]), tuple(f["name"] for f in g["flavors"]))
            for g in spec.get("resourceGroups") or ()
        ]
        fungibility = spec.get("flavorFungibility") or {}
        self.when_can_borrow = fungibility.get("whenCanBorrow") or "MayStopSearch"
        self.when_can_preempt = fungibility.get("whenCanPreempt") or "TryNextFlavor"
        self.preference = fungibility.get("preference")
        preemption = spec.get("preemption") or {"withinClusterQueue": "Never", "reclaimWithinCohort": "Never"}
        self.within_cluster_queue = preemption.get("withinClusterQueue", "")
        self.reclaim_within_cohort = preemption.get("reclaimWithinCohort", "")
        borrow = preemption.get("borrowWithinCohort")
        self.borrows_within_cohort = borrow is not None and borrow.get("policy", "") != "Never"
        self.max_priority_threshold: int | None = (borrow or {}).get("maxPriorityThreshold")
        self.pending.strict = spec.get("queueingStrategy") == "StrictFIFO"
        self.checks = (spec.get("admissionChecksStrategy") or {}).get("admissionChecks") or []

    def group_of(self, resource: str) -> ResourceGroup | None:
        return next((group for group in self.groups if resource in group.resources), None)

    def needs_checks(self, flavors: Iterable[str]) -> bool:
        """Whether an admission with these flavors waits for admission checks. Source: QC-137."""
        own = [flavor for group in self.groups for flavor in group.flavors]
        return any(set(check.get("onFlavors") or own) & set(flavors) for check in self.checks)


class Cluster:
    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.forest = Forest()
        self.cluster_queues: dict[str, ClusterQueue] = {}
        self.flavors: dict[str, Manifest] = {}
        self.checks: dict[str, bool] = {}  # name to: is active
        self.namespaces: dict[str, Mapping[str, str]] = {}  # name to labels
        self.runtime_classes: dict[str, Manifest] = {}
        self.limit_ranges: dict[str, list[Manifest]] = {}  # by namespace

    # --- definitions

    def set_cohort(self, name: str, spec: Manifest) -> None:
        before = self.tree(self.forest.cohorts[name]) if name in self.forest.cohorts else []
        self.forest.set_cohort(
            name, spec.get("parentName"), quotas_of(spec.get("resourceGroups")), weight_of(spec)
        )
        self.forest.recompute()
        self._advance([*before, *self.tree(self.forest.cohorts[name])])

    def set_cluster_queue(self, name: str, spec: Manifest) -> None:
        old = self.cluster_queues.get(name)
        before = self.tree(old.node) if old else []
        changed = old is None or self._advances(old, spec)
        node = self.forest.set_cluster_queue(
            name, spec.get("cohortName"), quotas_of(spec.get("resourceGroups")), weight=weight_of(spec)
        )
        cluster_queue = self.cluster_queues.setdefault(name, ClusterQueue(name, node, self.settings))
        cluster_queue.configure(spec)
        self.forest.recompute()
        if changed:
            self._advance([*before, *self.tree(cluster_queue.node)])
        self.refresh_activity()

    def _advances(self, cluster_queue: ClusterQueue, spec: Manifest) -> bool:
        """Whether the new spec advances the generation. Source: QP-202, QP-217."""
        parent = cluster_queue.node.parent
        only_child = (
            parent is not None and len(parent.children) == 1 and not self.forest.is_explicit(parent.name)
        )
        same_quotas = (cluster_queue.spec.get("resourceGroups") or []) == (spec.get("resourceGroups") or [])
        same_parent = (cluster_queue.spec.get("cohortName") or None) == (spec.get("cohortName") or None)
        return only_child or not same_quotas or not same_parent

    def tree(self, node: Node) -> list[ClusterQueue]:
        """The ClusterQueues of a node's tree."""
        root = node.root
        return [
            cluster_queue for cluster_queue in self.cluster_queues.values() if cluster_queue.node.root is root
        ]

    def _advance(self, cluster_queues: Iterable[ClusterQueue]) -> None:
        for cluster_queue in cluster_queues:
            cluster_queue.generation += 1

    def is_active(self, cluster_queue: ClusterQueue) -> bool:
        """Source: QP-205."""
        stopped = (cluster_queue.spec.get("stopPolicy") or "None") != "None"
        flavors = all(flavor in self.flavors for group in cluster_queue.groups for flavor in group.flavors)
        checks = all(self.checks.get(check["name"], False) for check in cluster_queue.checks)
        return not stopped and flavors and checks

    def refresh_activity(self) -> None:
        for cluster_queue in self.cluster_queues.values():
            cluster_queue.node.active = self.is_active(cluster_queue)

    def admits_namespace(self, cluster_queue: ClusterQueue, namespace: str) -> bool:
        labels = self.namespaces.get(namespace)
        return labels is not None and selects(cluster_queue.spec.get("namespaceSelector"), labels)

    # --- who holds quota

    def holder(self, workload: Workload) -> ClusterQueue:
        assert workload.admission is not None
        return self.cluster_queues[workload.admission.cluster_queue]

    def hold(self, workload: Workload) -> None:
        """Book an admitted workload. Source: QP-213."""
        cluster_queue = self.holder(workload)
        cluster_queue.held[workload.key] = workload
        self.add_usage(workload)

    def let_go(self, workload: Workload) -> None:
        cluster_queue = self.holder(workload)
        del cluster_queue.held[workload.key]
        self.remove_usage(workload)

    def add_usage(self, workload: Workload) -> None:
        assert workload.admission is not None
        for fr, amount in workload.admission.usage.items():
            self.holder(workload).node.add_usage(fr, amount)

    def remove_usage(self, workload: Workload) -> None:
        assert workload.admission is not None
        for fr, amount in workload.admission.usage.items():
            self.holder(workload).node.remove_usage(fr, amount)

    @contextmanager
    def what_if(self) -> Iterator[None]:
        """Whatever is held or booked inside, all is as before at the end. Source: QP-235."""
        before = {
            cluster_queue.name: dict(cluster_queue.held) for cluster_queue in self.cluster_queues.values()
        }
        try:
            with self.forest.what_if():
                yield
        finally:
            for name, held in before.items():
                self.cluster_queues[name].held = held
