"""Numbers about a topology at a moment: use by level, and how far free capacity is in pieces.

docs/simulation-topology.md defines each number for users.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from kueue_fast.sim.topology_result import (
    Amounts,
    Gang,
    GangFit,
    GangRow,
    LevelRow,
    TopologyLeaf,
    TopologyMoment,
)

__all__ = ["MOST_GANGS", "measure", "room_for"]

MOST_GANGS: Final = 10
PODS: Final = "pods"
CPU: Final = "cpu"


def measure(
    time_ns: int, levels: Sequence[str], leaves: Sequence[TopologyLeaf], gangs: Iterable[Gang]
) -> TopologyMoment:
    """The moment with its numbers. Leaves come in the order of their values.

    The `MOST_GANGS` largest gangs are kept, the largest first: those whose pods together take the largest share of
    the whole capacity of any resource. Of gangs that ask for the same, the first counts.
    """
    capacity: dict[str, int] = {}
    used: dict[str, int] = {}
    for leaf in leaves:
        for name, amount in leaf.capacity.items():
            capacity[name] = capacity.get(name, 0) + amount
            used[name] = used.get(name, 0) + leaf.used(name)
    largest = _largest(gangs, capacity)
    names = sorted(name for name in capacity if capacity[name] > 0)
    most = max(names, key=lambda name: (used[name] / capacity[name], name == CPU), default=CPU)
    if not used.get(most) and largest:
        most = _resource(largest[0], capacity)
    domains = [_domains(leaves, depth) for depth in range(1, len(levels) + 1)]
    return TopologyMoment(
        time_ns=time_ns,
        leaves=leaves,
        resource=most,
        levels=[
            _level(level, of_level, most, largest[0].request if largest else None)
            for level, of_level in zip(levels, domains, strict=True)
        ],
        gangs=[_gang(gang, levels, domains, capacity) for gang in largest],
    )


def room_for(leaf: TopologyLeaf, request: Amounts) -> int:
    """How many pods of a request fit into what is free of a leaf."""
    return min(
        (leaf.free(name) // amount for name, amount in request.items() if amount > 0),
        default=0,
    )


def _largest(gangs: Iterable[Gang], capacity: Amounts) -> list[Gang]:
    distinct: dict[tuple[int, tuple[tuple[str, int], ...]], Gang] = {}
    for gang in gangs:
        distinct.setdefault((gang.pods, tuple(sorted(gang.request.items()))), gang)
    ordered = sorted(
        distinct.values(),
        key=lambda gang: (-gang.pods * _share(gang, capacity), -gang.pods, gang.workload, gang.pod_set),
    )
    return ordered[:MOST_GANGS]


def _share(gang: Gang, capacity: Amounts) -> float:
    """The largest share of the whole capacity of a resource that one pod takes."""
    return max(
        (amount / capacity[name] for name, amount in gang.request.items() if capacity.get(name, 0) > 0),
        default=0.0,
    )


def _resource(gang: Gang, capacity: Amounts) -> str:
    """The resource of which a pod takes the largest share; on equal shares not `pods`, then the first by name."""
    names = sorted(name for name in gang.request if capacity.get(name, 0) > 0)
    return max(names, key=lambda name: (gang.request[name] / capacity[name], name != PODS), default=PODS)


def _domains(leaves: Sequence[TopologyLeaf], depth: int) -> list[tuple[tuple[str, ...], list[TopologyLeaf]]]:
    """Domains of a level, with the leaves in each."""
    found: dict[tuple[str, ...], list[TopologyLeaf]] = {}
    for leaf in leaves:
        found.setdefault(leaf.values[:depth], []).append(leaf)
    return list(found.items())


def _level(
    level: str,
    domains: Sequence[tuple[tuple[str, ...], list[TopologyLeaf]]],
    resource: str,
    request: Amounts | None,
) -> LevelRow:
    shares = list(_used_shares(domains, resource))
    full = None
    if request is not None:
        full = sum(not any(room_for(leaf, request) for leaf in leaves) for _, leaves in domains)
    return LevelRow(
        level=level,
        domains=len(domains),
        empty=sum(not any(leaf.occupants or leaf.other for leaf in leaves) for _, leaves in domains),
        full=full,
        least_used=min(shares, default=None),
        most_used=max(shares, default=None),
    )


def _used_shares(
    domains: Sequence[tuple[tuple[str, ...], list[TopologyLeaf]]], resource: str
) -> Iterator[float]:
    for _, leaves in domains:
        capacity = sum(leaf.capacity.get(resource, 0) for leaf in leaves)
        if capacity > 0:
            yield sum(leaf.used(resource) for leaf in leaves) / capacity


def _gang(
    gang: Gang,
    levels: Sequence[str],
    domains: Sequence[list[tuple[tuple[str, ...], list[TopologyLeaf]]]],
    capacity: Amounts,
) -> GangRow:
    resource = _resource(gang, capacity)
    fits = []
    for level, of_level in zip(levels, domains, strict=True):
        best = gangs = free = 0
        where: tuple[str, ...] | None = None
        for values, leaves in of_level:
            room = sum(room_for(leaf, gang.request) for leaf in leaves)
            if where is None or room > best:
                best, where = room, values
            gangs += room // gang.pods
            free += sum(leaf.free(resource) for leaf in leaves)
        usable = gangs * gang.pods * gang.request.get(resource, 0)
        fits.append(GangFit(level, best, where or (), gangs, 1 - usable / free if free > 0 else None))
    return GangRow(gang, resource, tuple(fits))
