"""Whom a workload may push out: the search and what it is asked for. Source: QP-631, QP-632, QP-640, QP-641.

Classical preemption stands here too (QP-701 to QP-708), that of fair sharing in `fair_preemption`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto

from tests.oracle.amounts import add
from tests.oracle.assignment import Assignment, Grade, Outcome
from tests.oracle.cluster import Cluster, ClusterQueue
from tests.oracle.fair_preemption import FairSearch
from tests.oracle.forest import FlavorResource, Node, Quantities
from tests.oracle.preemption_common import Target, allowed, candidate_order, fill_back, fits
from tests.oracle.workloads import Workload


class Variant(Enum):
    """Why a candidate may be taken. Source: QP-703."""

    WITHIN_CLUSTER_QUEUE = auto()
    HIERARCHICAL_RECLAIM = auto()
    RECLAIM_WITHOUT_BORROWING = auto()
    RECLAIM_WHILE_BORROWING = auto()


# What the victim is told. Source: QP-704.
REASONS = {
    Variant.WITHIN_CLUSTER_QUEUE: "InClusterQueue",
    Variant.HIERARCHICAL_RECLAIM: "InCohortReclamation",
    Variant.RECLAIM_WITHOUT_BORROWING: "InCohortReclamation",
    Variant.RECLAIM_WHILE_BORROWING: "InCohortReclaimWhileBorrowing",
}


@dataclass(frozen=True)
class Candidate:
    workload: Workload
    variant: Variant
    common_ancestor: Node | None = None  # of the candidate and the preemptor


class Preemptor:
    """Searches targets on the cluster as it stands, and leaves it as it found it."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.settings = cluster.settings

    def targets(
        self, workload: Workload, cluster_queue: ClusterQueue, assignment: Assignment
    ) -> list[Target]:
        """Whom to evict for an assignment that is short of quota. Source: QP-631, QP-632."""
        needed: Quantities = {}
        for i, p in assignment.pod_sets.items():
            for resource, amount in workload.pod_sets[i].scaled(p.count).items():
                if amount and resource in p.flavors:
                    fr = p.flavors[resource].flavor, resource
                    needed[fr] = add(needed.get(fr, 0), amount)
        return self._search(workload, cluster_queue, assignment.short_of_quota(), needed)

    def simulate(
        self, workload: Workload, cluster_queue: ClusterQueue, fr: FlavorResource, amount: int
    ) -> Grade:
        """What preemption could do for one flavor-resource. Source: QP-640."""
        targets = self._search(workload, cluster_queue, [fr], {fr: amount})
        with self.cluster.what_if():
            for target in targets:
                self.cluster.remove_usage(target.workload)
            borrow, _ = cluster_queue.node.lowest_subtree(fr, amount)
        if not targets:
            return Grade(Outcome.NO_CANDIDATES, borrow)
        own = any(target.workload.key in cluster_queue.held for target in targets)
        return Grade(Outcome.PREEMPT if own else Outcome.RECLAIM, borrow)

    def _search(
        self,
        workload: Workload,
        cluster_queue: ClusterQueue,
        short: Sequence[FlavorResource],
        needed: Quantities,
    ) -> list[Target]:
        """Source: QP-641, QP-705, QP-706."""
        if not short:
            return []
        if self.settings.fair_sharing:
            return FairSearch(self.cluster, workload, cluster_queue, short, needed).run()
        own = self._own_candidates(workload, cluster_queue, short)
        hierarchy, priority = self._cohort_candidates(workload, cluster_queue, short, needed)
        lists = [
            sorted(candidates, key=lambda c: candidate_order(self.settings, cluster_queue, c.workload))
            for candidates in (hierarchy, priority, own)
        ]
        sequence = [
            c
            for evicted in (True, False)
            for candidates in lists
            for c in candidates
            if c.workload.evicted == evicted
        ]
        if not sequence:
            return []
        for may_borrow in self._attempts(cluster_queue, short, hierarchy, priority):
            targets = self._run(cluster_queue, sequence, short, needed, may_borrow)
            if targets:
                return targets
        return []

    def _attempts(
        self,
        cluster_queue: ClusterQueue,
        short: Sequence[FlavorResource],
        hierarchy: Sequence[Candidate],
        priority: Sequence[Candidate],
    ) -> list[bool]:
        """Source: QP-706."""
        node = cluster_queue.node
        above_nominal = any(node.usage.get(fr, 0) >= node.nominal(fr) for fr in short)
        if not (hierarchy or priority) or (not cluster_queue.borrows_within_cohort and above_nominal):
            return [True]
        if not cluster_queue.borrows_within_cohort and not hierarchy:
            return [False, True]
        return [True, False]

    # --- candidates

    def _own_candidates(
        self, workload: Workload, cluster_queue: ClusterQueue, short: Sequence[FlavorResource]
    ) -> list[Candidate]:
        """Source: QP-701."""
        policy = cluster_queue.within_cluster_queue
        return [
            Candidate(w, Variant.WITHIN_CLUSTER_QUEUE)
            for w in allowed(self.settings, workload, cluster_queue, short, policy)
        ]

    def _cohort_candidates(
        self,
        workload: Workload,
        cluster_queue: ClusterQueue,
        short: Sequence[FlavorResource],
        needed: Quantities,
    ) -> tuple[list[Candidate], list[Candidate]]:
        """Candidates where the preemptor's own subtree could hold the request, and all others. Source: QP-702."""
        hierarchy: list[Candidate] = []
        priority: list[Candidate] = []
        node = cluster_queue.node
        if node.parent is None or cluster_queue.reclaim_within_cohort == "Never":
            return hierarchy, priority
        has_advantage, rest = node.fits_in_quota(needed)
        visited = node
        for cohort in node.parent.path():
            for found in self._below(cohort, visited, short):
                policy = cluster_queue.reclaim_within_cohort
                for candidate in allowed(self.settings, workload, found, short, policy):
                    if has_advantage:
                        hierarchy.append(Candidate(candidate, Variant.HIERARCHICAL_RECLAIM, cohort))
                    else:
                        priority.append(
                            Candidate(candidate, self._variant(workload, cluster_queue, candidate), cohort)
                        )
            fits, rest = cohort.fits_in_quota(rest)
            has_advantage = has_advantage or fits
            visited = cohort
        return hierarchy, priority

    def _below(self, cohort: Node, visited: Node, short: Sequence[FlavorResource]) -> Iterator[ClusterQueue]:
        """ClusterQueues that use more than their own, in subtrees that do so too, but for the one visited before."""
        for child in cohort.children:
            if child is visited or not child.active or child.within_nominal(short):
                continue
            if child.is_cluster_queue:
                yield self.cluster.cluster_queues[child.name]
            else:
                yield from self._below(child, visited, short)

    def _variant(self, workload: Workload, cluster_queue: ClusterQueue, candidate: Workload) -> Variant:
        """Source: QP-703."""
        threshold = cluster_queue.max_priority_threshold
        priority = candidate.priority(self.settings)
        too_important = priority >= workload.priority(self.settings) or (
            threshold is not None and priority > threshold
        )
        if not cluster_queue.borrows_within_cohort or too_important:
            return Variant.RECLAIM_WITHOUT_BORROWING
        return Variant.RECLAIM_WHILE_BORROWING

    # --- one run

    def _run(
        self,
        cluster_queue: ClusterQueue,
        sequence: Sequence[Candidate],
        short: Sequence[FlavorResource],
        needed: Mapping[FlavorResource, int],
        may_borrow: bool,
    ) -> list[Target]:
        """Take candidates in turn until the workload fits, then give back what was not needed.

        Source: QP-633, QP-708.
        """

        def fits_now() -> bool:
            return fits(cluster_queue, needed, may_borrow=may_borrow)

        taken: list[Target] = []
        with self.cluster.what_if():
            for candidate in sequence:
                if not self._is_valid(cluster_queue, candidate, short, may_borrow):
                    continue
                self.cluster.let_go(candidate.workload)
                taken.append(Target(candidate.workload, REASONS[candidate.variant]))
                if fits_now():
                    fill_back(self.cluster, taken, fits_now)
                    return taken
        return []

    def _is_valid(
        self,
        cluster_queue: ClusterQueue,
        candidate: Candidate,
        short: Sequence[FlavorResource],
        may_borrow: bool,
    ) -> bool:
        """Source: QP-707."""
        holder = self.cluster.holder(candidate.workload)
        if holder is cluster_queue:
            return True
        if may_borrow and candidate.variant == Variant.RECLAIM_WITHOUT_BORROWING:
            return False
        for node in holder.node.path():
            if node is candidate.common_ancestor:
                break
            if node.within_nominal(short):
                return False
        return True
