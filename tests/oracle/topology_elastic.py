"""An elastic workload keeps the places of the slice that it takes over from.

Source: TP-1301 to TP-1305.
"""

from tests.oracle.topology_model import Assignment, Request
from tests.oracle.topology_placement import Placement
from tests.oracle.topology_replacement import first_stale, merged
from tests.oracle.topology_usage import assume


def place_elastic(
    placement: Placement, workers: Request, leader: Request | None
) -> dict[str, Assignment] | None:
    """The assignments by pod set, already assumed; None: place as if nothing had been there. Raises Unplaceable."""
    assert workers.previous is not None
    flavor, assumed = placement.flavor, placement.assumed
    kept = [workers.previous]
    if leader is not None and leader.previous is not None:
        kept.append(leader.previous)
    if any(first_stale(flavor, assignment) is not None for assignment in kept):
        return None
    before = sum(count for _, count in workers.previous)
    if workers.count <= before:
        result = {workers.pod_set: _cut(workers.previous, workers.count)}
        assume(assumed, result[workers.pod_set], workers.requests)
        if leader is not None:
            if leader.previous is not None:
                result[leader.pod_set] = list(leader.previous)
            else:
                # Upstream crashes here: its leader has no assignment to keep.
                result.update(placement.find(leader))
            assume(assumed, result[leader.pod_set], leader.requests)
        return result
    assume(assumed, workers.previous, workers.requests)
    new_leader = leader
    if leader is not None and leader.previous is not None:
        assume(assumed, leader.previous, leader.requests)
        new_leader = None
    result = placement.find(workers, new_leader, count=workers.count - before)
    more = result[workers.pod_set]
    result[workers.pod_set] = merged(flavor, more, workers.previous)
    if leader is not None:
        if leader.previous is not None:
            result[leader.pod_set] = list(leader.previous)
        else:
            assume(assumed, result[leader.pod_set], leader.requests)
    assume(assumed, more, workers.requests)
    return result


def _cut(assignment: Assignment, count: int) -> Assignment:
    """The first `count` pods, in stored order. Source: TP-1304."""
    result: Assignment = []
    for values, pods in assignment:
        if count <= 0:
            break
        result.append((values, min(pods, count)))
        count -= min(pods, count)
    return result
