"""Where the pods of a workload would stand, computed the slow and obvious way.

`place` is the entry point: it takes flavors with their leaves and the requests of one workload, and says the domains
of each pod set or why there are none. Nothing is cached and nothing is shared between two calls.

Source: TP-1101 to TP-1104, TP-2011.
"""

from collections.abc import Sequence

from tests.oracle.topology_elastic import place_elastic
from tests.oracle.topology_model import (
    Assignment,
    Assumed,
    Failure,
    Flavor,
    Gates,
    Request,
    Result,
    Unplaceable,
)
from tests.oracle.topology_placement import Placement
from tests.oracle.topology_replacement import replace_node
from tests.oracle.topology_usage import assume

DEFAULT_GATES = Gates()


def place(
    flavors: Sequence[Flavor], requests: Sequence[Request], *, empty: bool, gates: Gates = DEFAULT_GATES
) -> Result:
    """Place the requests of one workload, which stand in the order of its pod sets.

    `empty` leaves the usage of admitted workloads out. A pod set without assignment in the result either failed or
    was never reached; `failure` is that of the first failing pod set in order (TP-612).
    """
    result = Result()
    failures: dict[str, Failure] = {}
    shared: Assumed = {}
    for flavor in sorted(flavors, key=lambda flavor: flavor.name):
        own = [request for request in requests if request.flavor == flavor.name]
        assumed = shared if gates.overlapping and flavor.by_host else {}
        _place_in_flavor(Placement(flavor, gates, assumed, empty=empty), own, result, failures)
    result.failure = next(
        (failures[request.pod_set] for request in requests if request.pod_set in failures), None
    )
    return result


def _place_in_flavor(
    placement: Placement, requests: Sequence[Request], result: Result, failures: dict[str, Failure]
) -> None:
    """Group by group in order of first appearance, up to the first that fails. Source: TP-1101."""
    for group in _groups(requests):
        failing = group
        try:
            if any(request.unhealthy is not None for request in group):
                for request in group:
                    failing = [request]
                    _repair(placement, request, result)
                continue
            if len(group) > 2:
                raise Unplaceable("TOO_MANY_IN_GROUP")
            workers, leader = _workers_and_leader(group)
            if placement.gates.elastic and workers.previous is not None:
                failing = [workers]
                elastic = place_elastic(placement, workers, leader)
                if elastic is not None:
                    result.assignments.update(elastic)
                    continue
                failing = group
            found = placement.find(workers, leader)
        except Unplaceable as reason:
            for request in failing:
                failures[request.pod_set] = reason.failure(request)
            return
        for request in group:
            result.assignments[request.pod_set] = found[request.pod_set]
            assume(placement.assumed, found[request.pod_set], request.requests)


def _repair(placement: Placement, request: Request, result: Result) -> None:
    """Source: TP-1502, TP-1503."""
    if request.previous is None:
        return
    if request.keep:
        result.assignments[request.pod_set] = list(request.previous)
        return
    merged, new = replace_node(placement, request)
    result.assignments[request.pod_set] = merged
    assume(placement.assumed, new, request.requests)


def _groups(requests: Sequence[Request]) -> list[list[Request]]:
    groups: dict[tuple[str, object], list[Request]] = {}
    for number, request in enumerate(requests):
        key = ("alone", number) if request.group is None else ("group", request.group)
        groups.setdefault(key, []).append(request)
    return list(groups.values())


def _workers_and_leader(group: Sequence[Request]) -> tuple[Request, Request | None]:
    """The second is the leader, unless it has more pods than the first. Source: TP-1102."""
    if len(group) == 1:
        return group[0], None
    first, second = group
    return (second, first) if second.count > first.count else (first, second)


__all__ = ["Assignment", "Failure", "Flavor", "Gates", "Request", "Result", "place"]
