"""In which order the entries of a cycle are looked at under fair sharing. Source: QC-109 to QC-114."""

from collections.abc import Iterator, Sequence
from typing import Protocol, TypeAlias, TypeVar

from tests.oracle.assignment import Assignment
from tests.oracle.cluster import Cluster, ClusterQueue
from tests.oracle.forest import Node
from tests.oracle.shares import Share, dominant_share
from tests.oracle.workloads import Workload


class Competitor(Protocol):
    """The part of an entry that counts here."""

    workload: Workload
    cluster_queue: ClusterQueue
    is_preemptor: bool
    assignment: Assignment


C = TypeVar("C", bound=Competitor)
Standing: TypeAlias = tuple[bool, bool, tuple[bool, float], int, int, str]


class Tournament:
    """Asks for the next entry only when the one before was processed: its usage counts from then on."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.settings = cluster.settings

    def order(self, entries: Sequence[C]) -> Iterator[C]:
        """One tree after the other, by the first entry of each. Source: QC-110."""
        left = {entry.cluster_queue.name: entry for entry in entries}
        while left:
            first = next(iter(left.values()))
            root = first.cluster_queue.node.root
            winner = first if root is first.cluster_queue.node else self._winner(root, left)
            assert winner is not None
            del left[winner.cluster_queue.name]
            yield winner

    def _winner(self, cohort: Node, left: dict[str, C]) -> C | None:
        """Source: QC-112."""
        candidates = [
            left.get(child.name) if child.is_cluster_queue else self._winner(child, left)
            for child in cohort.children
        ]
        return min(
            (candidate for candidate in candidates if candidate is not None),
            key=lambda candidate: self._standing(candidate, cohort),
            default=None,
        )

    def _standing(self, entry: Competitor, cohort: Node) -> Standing:
        """What decides among the members of a cohort; less wins."""
        share = self._share_below(entry, cohort)
        wanted = [fr for fr, amount in entry.assignment.usage.items() if amount > 0]
        borrows = self.settings.enabled("FairSharingPrioritizeNonBorrowing") and share.borrows_on(wanted)
        first = self.settings.enabled("PrioritizePreemptorWorkloads") and entry.is_preemptor
        by_priority = self.settings.enabled("PrioritySortingWithinCohort")
        priority = entry.workload.priority(self.settings) if by_priority else 0
        time = entry.workload.queue_time(self.settings)
        return not first, borrows, share.order, -priority, time, entry.workload.uid

    def _share_below(self, entry: Competitor, cohort: Node) -> Share:
        """Share of the cohort's member that the entry comes from, as if the entry were admitted. Source: QC-111."""
        node = entry.cluster_queue.node
        member = next(step for step in node.path() if step.parent is cohort)
        with node.what_if():
            for fr, amount in entry.assignment.usage.items():
                node.add_usage(fr, amount)
            return dominant_share(member)
