"""What the engine knows of a cluster: kernel tables, and the objects behind their rows."""

from __future__ import annotations

from kueue_fast.api.configuration import Configuration, Resources
from kueue_fast.api.kueue import AdmissionCheck, AdmissionCheckStrategyRule, ClusterQueueSpec
from kueue_fast.api.meta import LabelSelector
from kueue_fast.arrays.decisions import DecisionReader
from kueue_fast.arrays.layouts import Layouts
from kueue_fast.arrays.names import Names
from kueue_fast.arrays.pod_topology import PodTopologyRows
from kueue_fast.arrays.quota_tree import QuotaTree
from kueue_fast.arrays.resource_groups import ResourceGroups
from kueue_fast.arrays.tables import NONE, Tables
from kueue_fast.arrays.templates import PodClasses
from kueue_fast.arrays.topology import TopologyRows
from kueue_fast.arrays.workloads import WorkloadRows
from kueue_fast.engine.activity import READY, Activity
from kueue_fast.engine.admission_fair_sharing import AdmissionFairness
from kueue_fast.engine.retries import Retries
from kueue_fast.model.features import FeatureGates

FINAL_SHARE = "LessThanOrEqualToFinalShare"
INITIAL_SHARE = "LessThanInitialShare"


class ClusterQueueEntry:
    """A ClusterQueue that exists."""

    __slots__ = ("activity", "name", "row", "rules", "spec")

    def __init__(self, name: str, row: int, spec: ClusterQueueSpec) -> None:
        self.name = name
        self.row = row
        self.spec = spec
        self.rules: list[AdmissionCheckStrategyRule] = []
        self.activity: Activity = READY

    @property
    def selector(self) -> LabelSelector | None:
        """Which namespaces may use it; None is none (QC-77)."""
        return self.spec.namespace_selector


class LocalQueueEntry:
    """A LocalQueue that exists; a held one is not in the queues (QC-8). `row`: forest row that it leads to, or NONE."""

    __slots__ = ("cluster_queue", "held", "namespace", "number", "row")

    def __init__(self, number: int, namespace: int, cluster_queue: str, held: bool) -> None:
        self.number = number
        self.namespace = namespace
        self.cluster_queue = cluster_queue
        self.held = held
        self.row = NONE


class State:
    """All that the event handlers and the cycle share."""

    def __init__(self, configuration: Configuration, gates: FeatureGates) -> None:
        self.configuration = configuration
        self.gates = gates
        resources = configuration.resources or Resources()
        self.tables = Tables(hashing=gates.enabled("SchedulingEquivalenceHashing"))
        self.tree = QuotaTree(self.tables)
        self.groups = ResourceGroups(self.tables)
        self.topology = TopologyRows(
            self.tables,
            overlapping=gates.enabled("TASHandleOverlappingFlavors"),
            prefers_affinity=gates.enabled("TASRespectNodeAffinityPreferred"),
        )
        self.pod_topology = PodTopologyRows(self.tables, self.topology)
        self.classes = PodClasses(self.tables, resources, self.pod_topology)
        self.layouts = Layouts(self.tables, self.classes, reclaimable_pods=gates.enabled("ReclaimablePods"))
        self.rows = WorkloadRows(self.tables, self.layouts)
        self.retries = Retries(self.tables, self.tree)
        self.reader = DecisionReader(self.tables, self.topology)
        self.cluster_queues: dict[str, ClusterQueueEntry] = {}
        self.by_row: dict[int, ClusterQueueEntry] = {}
        self.local_queues: dict[tuple[str, str], LocalQueueEntry] = {}
        # ClusterQueue name to the LocalQueues that name it
        self.leading: dict[str, dict[int, LocalQueueEntry]] = {}
        # ClusterQueue that is missing to workloads with a reservation in it
        self.unbooked: dict[str, set[str]] = {}
        self.local_queue_names: Names[tuple[str, str]] = Names()
        self.namespace_labels: dict[str, dict[str, str]] = {}
        self.checks: dict[str, AdmissionCheck] = {}
        # what scheduling equivalence sees, to the number of its class
        self.shapes: dict[tuple[bytes, int], int] = {}
        self.fairness: AdmissionFairness | None = None
        sharing = configuration.admission_fair_sharing
        if sharing is not None and gates.enabled("AdmissionFairSharing"):
            self.fairness = AdmissionFairness(sharing, self.tables)
        self.topology_aware = gates.enabled("TopologyAwareScheduling")
        # workloads whose places could not be booked while their flavors have no tree
        self.unplaced: set[str] = set()
        # Evicted workloads that wait out a backoff: in no queue upstream, so nobody counts them
        self.backing_off: set[str] = set()
        # Workloads that a cycle admitted and that stand before the others' pods: upstream has not assumed them yet
        self.standing: set[str] = set()
        self.now_ns = 0
        self.order_is_stale = True
        self._configure(resources)

    def _configure(self, resources: Resources) -> None:
        scheduler = self.tables.scheduler
        enabled = self.gates.enabled
        scheduler.preserve_scan_progress = enabled("FlavorFungibilityPreserveScanProgress")
        scheduler.sort_by_priority = enabled("PrioritySortingWithinCohort")
        scheduler.preemptors_first = enabled("PrioritizePreemptorWorkloads")
        scheduler.recompute_on_overlap = enabled("RecomputeAssignmentUponPreemptionTargetsOverlap")
        scheduler.preemption_gates = enabled("ConcurrentAdmission") or enabled(
            "MultiKueueOrchestratedPreemption"
        )
        scheduler.recompute_for_topology = enabled("TASRecomputeAssignmentWithinSchedulingCycle")
        scheduler.assigner.placing = enabled("TopologyAwareScheduling")
        scheduler.assigner.elastic_topology = enabled("ElasticJobsViaWorkloadSlicesWithTAS") and enabled(
            "ElasticJobsViaWorkloadSlices"
        )
        placer = scheduler.placer
        placer.mixed_profile = enabled("TASProfileMixed")
        placer.balanced = enabled("TASBalancedPlacement")
        placer.overlapping = enabled("TASHandleOverlappingFlavors")
        placer.prefers_affinity = enabled("TASRespectNodeAffinityPreferred")
        self._configure_preemption()
        scheduler.assigner.slices = enabled("ElasticJobsViaWorkloadSlices")
        scheduler.assigner.fungibility = enabled("FlavorFungibility")
        scheduler.assigner.partial_admission = enabled("PartialAdmission")
        scheduler.assigner.ignore_undeclared = (
            enabled("QuotaCheckStrategy") and resources.quota_check_strategy == "IgnoreUndeclared"
        )

    def _configure_preemption(self) -> None:
        preemptor, tournament = self.tables.scheduler.preemptor, self.tables.scheduler.tournament
        enabled = self.gates.enabled
        preemptor.candidates.timestamp_buffer = enabled("SchedulerTimestampPreemptionBuffer")
        preemptor.preempt_within_nominal = enabled("FairSharingPreemptWithinNominal")
        tournament.preemptors_first = enabled("PrioritizePreemptorWorkloads")
        tournament.non_borrowing_first = enabled("FairSharingPrioritizeNonBorrowing")
        tournament.by_priority = enabled("PrioritySortingWithinCohort")
        fair_sharing = self.configuration.fair_sharing
        preemptor.fair_sharing = fair_sharing is not None
        strategies = (fair_sharing.preemption_strategies if fair_sharing else None) or [
            FINAL_SHARE,
            INITIAL_SHARE,
        ]
        preemptor.final_share_first = strategies[0] == FINAL_SHARE
        preemptor.initial_share_second = len(strategies) > 1

    def retry_all(self) -> None:
        """Ask that the parked workloads of every ClusterQueue are looked at again."""
        self.retries.request_all((entry.row for entry in self.cluster_queues.values()), self.now_ns)

    def names_topology(self, flavor: str) -> bool:
        """Whether a ResourceFlavor exists and names a Topology."""
        known = self.classes.flavors.get(flavor)
        return known is not None and known.spec is not None and bool(known.spec.topology_name)

    def local_queue_number(self, namespace: str, name: str) -> int:
        """Number of a LocalQueue name, whether or not the LocalQueue exists."""
        known = len(self.local_queue_names)
        number = self.local_queue_names.intern((namespace, name))
        if self.fairness is not None and number == known:
            self.fairness.refresh(number)
        return number

    def lead(self, entry: LocalQueueEntry) -> None:
        """Find again where a LocalQueue leads, after it or its ClusterQueue came, changed or went."""
        queue = None if entry.held else self.cluster_queues.get(entry.cluster_queue)
        entry.row = NONE if queue is None else queue.row

    def queue_row(self, namespace: str, local_queue: str) -> int:
        """Forest row of the ClusterQueue that a LocalQueue leads to now, NONE if it leads nowhere."""
        entry = self.local_queues.get((namespace, local_queue))
        return NONE if entry is None else entry.row
