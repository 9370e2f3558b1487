"""What classical preemption and fair sharing have in common. Source: QP-601 to QP-642."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tests.oracle.cluster import Cluster, ClusterQueue
from tests.oracle.forest import FlavorResource
from tests.oracle.settings import Settings
from tests.oracle.workloads import SECOND, Workload

BUFFER = 5 * 60 * SECOND


@dataclass(frozen=True)
class Target:
    workload: Workload
    reason: str


def allowed(
    settings: Settings,
    workload: Workload,
    holder: ClusterQueue,
    short: Sequence[FlavorResource],
    policy: str,
) -> Iterator[Workload]:
    """Workloads of a ClusterQueue that use what is short and that the policy gives up. Source: QP-601, QP-610."""
    for held in holder.held.values():
        if held.uses(short) and policy_allows(settings, policy, workload, held):
            yield held


def policy_allows(settings: Settings, policy: str, workload: Workload, candidate: Workload) -> bool:
    """Source: QP-601."""
    if policy == "Any":
        return True
    mine, theirs = workload.priority(settings), candidate.priority(settings)
    if policy == "LowerPriority" or mine != theirs:
        return policy in ("LowerPriority", "LowerOrNewerEqualPriority") and mine > theirs
    newer_by = candidate.queue_time(settings) - workload.queue_time(settings)
    buffer = BUFFER if settings.enabled("SchedulerTimestampPreemptionBuffer") else 0
    return policy == "LowerOrNewerEqualPriority" and newer_by > buffer


def candidate_order(
    settings: Settings, cluster_queue: ClusterQueue, candidate: Workload
) -> tuple[bool, bool, int, int, str]:
    """Source: QP-611, without admission fair sharing."""
    assert candidate.admission is not None
    own = candidate.admission.cluster_queue == cluster_queue.name
    return (
        not candidate.evicted,
        own,
        candidate.priority(settings),
        -candidate.admission.reserved_at,
        candidate.uid,
    )


def fits(cluster_queue: ClusterQueue, needed: Mapping[FlavorResource, int], *, may_borrow: bool) -> bool:
    """Source: QP-633."""
    node = cluster_queue.node
    return all(
        (may_borrow or not node.borrows_with(fr, amount)) and amount <= max(0, node.available(fr))
        for fr, amount in needed.items()
    )


def fill_back(cluster: Cluster, taken: list[Target], still_fits: Callable[[], bool]) -> None:
    """Give back what was not needed; the last one taken never is. Source: QP-642."""
    for i in range(len(taken) - 2, -1, -1):
        workload = taken[i].workload
        cluster.hold(workload)
        if still_fits():
            taken[i] = taken[-1]
            taken.pop()
        else:
            cluster.let_go(workload)
