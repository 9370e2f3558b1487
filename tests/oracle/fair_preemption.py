"""Whom a workload may push out under fair sharing. Source: QP-720 to QP-738."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from tests.oracle.cluster import Cluster, ClusterQueue
from tests.oracle.forest import FlavorResource, Node
from tests.oracle.preemption_common import Target, allowed, candidate_order, fill_back, fits
from tests.oracle.settings import FINAL_SHARE
from tests.oracle.shares import Share, dominant_share
from tests.oracle.workloads import Workload

OWN = "InClusterQueue"
RECLAMATION = "InCohortReclamation"
FAIR_SHARING = "InCohortFairSharing"


class Candidates:
    """Candidates by ClusterQueue, each list in order, and which nodes have nothing to give any more."""

    def __init__(self, candidates: Iterable[Workload]) -> None:
        self.lists: dict[str, list[Workload]] = {}
        for candidate in candidates:
            assert candidate.admission is not None
            self.lists.setdefault(candidate.admission.cluster_queue, []).append(candidate)
        self.pruned: set[Node] = set()

    def of(self, node: Node) -> list[Workload]:
        return self.lists.get(node.name, [])


class FairSearch:
    """One search. The cluster is as it was when `run` has returned."""

    def __init__(
        self,
        cluster: Cluster,
        workload: Workload,
        cluster_queue: ClusterQueue,
        short: Sequence[FlavorResource],
        needed: Mapping[FlavorResource, int],
    ) -> None:
        self.cluster = cluster
        self.settings = cluster.settings
        self.workload = workload
        self.cluster_queue = cluster_queue
        self.node = cluster_queue.node
        self.ancestors = list(self.node.path())[1:]
        self.short = short
        self.needed = needed
        self.taken: list[Target] = []

    def run(self) -> list[Target]:
        """Source: QP-722, QP-737, QP-738."""
        candidates = sorted(self._candidates(), key=self._order)
        if not candidates:
            return []
        with self.cluster.what_if():
            for fr, amount in self.needed.items():
                self.node.add_usage(fr, amount)
            retry: list[Workload] = []
            found = self._first_strategy(Candidates(candidates), retry)
            if not found and len(self.settings.strategies) > 1:
                found = self._second_strategy(Candidates(retry))
            if not found:
                return []
            for fr, amount in self.needed.items():
                self.node.remove_usage(fr, amount)
            fill_back(self.cluster, self.taken, self._fits)
            return self.taken

    def _candidates(self) -> Iterator[Workload]:
        """Source: QP-721."""
        queue = self.cluster_queue
        if queue.within_cluster_queue != "Never":
            yield from allowed(self.settings, self.workload, queue, self.short, queue.within_cluster_queue)
        if self.node.parent is None or queue.reclaim_within_cohort == "Never":
            return
        for other in self.cluster.tree(self.node):
            borrows = any(other.node.borrows_with(fr, 0) for fr in self.short)
            if other is not queue and other.node.active and borrows:
                yield from allowed(
                    self.settings, self.workload, other, self.short, queue.reclaim_within_cohort
                )

    def _order(self, candidate: Workload) -> tuple[bool, bool, int, int, str]:
        return candidate_order(self.settings, self.cluster_queue, candidate)

    # --- strategies

    def _first_strategy(self, candidates: Candidates, retry: list[Workload]) -> bool:
        """Whether the workload fits in the end; who did not pass is added to `retry`. Source: QP-731 to QP-736."""
        entitled = self.settings.enabled("FairSharingPreemptWithinNominal") and not any(
            self.node.borrows_with(fr, 0) for fr in self.short
        )
        while (node := self._next_node(candidates)) is not None:
            waiting = candidates.of(node)
            if node is self.node or entitled:
                if self._take(waiting.pop(0), OWN if node is self.node else RECLAMATION):
                    return True
                continue
            mine, theirs = self._sides(node)
            while waiting:
                candidate = waiting.pop(0)
                if not self._passes(dominant_share(mine), theirs, node, candidate):
                    retry.append(candidate)
                    continue
                if self._take(candidate, FAIR_SHARING):
                    return True
                break
        return False

    def _passes(self, mine: Share, theirs: Node, node: Node, candidate: Workload) -> bool:
        """Source: QP-720, QP-736."""
        if self.settings.strategies[0] != FINAL_SHARE:
            return mine.order < dominant_share(theirs).order
        assert candidate.admission is not None
        with node.what_if():
            for fr, amount in candidate.admission.usage.items():
                node.remove_usage(fr, amount)
            return mine.order <= dominant_share(theirs).order

    def _second_strategy(self, candidates: Candidates) -> bool:
        """At most one more from each ClusterQueue. Source: QP-737."""
        while (node := self._next_node(candidates)) is not None:
            # never the own ClusterQueue: nothing of it is left to retry
            mine, theirs = self._sides(node)
            candidate = candidates.of(node).pop(0)
            passes = dominant_share(mine).order < dominant_share(theirs).order
            if passes and self._take(candidate, FAIR_SHARING):
                return True
            candidates.pruned.add(node)
        return False

    def _take(self, candidate: Workload, reason: str) -> bool:
        """Whether the workload fits now."""
        self.cluster.let_go(candidate)
        self.taken.append(Target(candidate, reason))
        with self.node.what_if():
            for fr, amount in self.needed.items():
                self.node.remove_usage(fr, amount)
            return self._fits()

    def _fits(self) -> bool:
        return fits(self.cluster_queue, self.needed, may_borrow=True)

    def _sides(self, node: Node) -> tuple[Node, Node]:
        """The preemptor's and the candidate's side, just below the cohort that both are in. Source: QP-734."""
        common = next(cohort for cohort in node.path() if cohort in self.ancestors)
        mine = next(step for step in self.node.path() if step.parent is common)
        theirs = next(step for step in node.path() if step.parent is common)
        return mine, theirs

    # --- whose turn it is

    def _next_node(self, candidates: Candidates) -> Node | None:
        """The ClusterQueue to take from next, None at the end. Source: QP-723."""
        root = self.node.root
        if root is self.node:
            return root if candidates.of(root) and root not in candidates.pruned else None
        while root not in candidates.pruned:
            found = self._descend(root, candidates)
            if found is not None:
                return found
        return None

    def _descend(self, cohort: Node, candidates: Candidates) -> Node | None:
        """The ClusterQueue with the highest share on the way down; None if only nodes were pruned."""
        queues: list[tuple[Share, Node]] = []
        cohorts: list[tuple[Share, Node]] = []
        for child in cohort.children:
            if child in candidates.pruned or not child.active:
                continue
            share = dominant_share(child)
            if child.is_cluster_queue:
                exhausted = not candidates.of(child) or not (share.borrows or child is self.node)
            else:
                exhausted = not (share.borrows or child in self.ancestors)
            if exhausted:
                candidates.pruned.add(child)
            else:
                (queues if child.is_cluster_queue else cohorts).append((share, child))
        if not queues and not cohorts:
            candidates.pruned.add(cohort)
            return None
        highest = max(share.order for share, _ in queues + cohorts)
        # among equals cohorts come first, the smallest name of them; else the queue of the first candidate
        first = sorted(
            (node for share, node in cohorts if share.order == highest), key=lambda node: node.name
        )
        if first:
            return self._descend(first[0], candidates)
        return min(
            (node for share, node in queues if share.order == highest),
            key=lambda node: self._order(candidates.of(node)[0]),
        )
