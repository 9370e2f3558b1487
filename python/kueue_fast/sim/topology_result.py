"""What a run leaves of topologies: who sits where at a moment, and numbers about it.

Amounts are in the kernel's units, times in nanoseconds since 1970. A leaf is a domain of the lowest level: a node, if
that level is the host name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

__all__ = [
    "Amounts",
    "Gang",
    "GangFit",
    "GangRow",
    "LevelRow",
    "Occupant",
    "TopologyLeaf",
    "TopologyMoment",
    "TopologyRow",
]

Amounts: TypeAlias = Mapping[str, int]
"""By resource name, `pods` among them."""


class Gang(NamedTuple):
    """A pod set that asks for a topology: so many pods of one request. `workload` is `namespace/name`."""

    workload: str
    pod_set: str
    pods: int
    request: Amounts


class Occupant(NamedTuple):
    """Pods of a workload in a leaf; `amounts` is what they take together."""

    workload: str
    pods: int
    amounts: Amounts


@dataclass(slots=True)
class TopologyLeaf:
    """A domain of the lowest level. `capacity` counts nodes that take pods, `nodes` and `ready` all and those.

    `other` is what pods take that Kueue did not place by topology.
    """

    values: tuple[str, ...]
    capacity: dict[str, int] = field(default_factory=dict)
    nodes: int = 0
    ready: int = 0
    occupants: list[Occupant] = field(default_factory=list)
    other: dict[str, int] = field(default_factory=dict)

    def used(self, resource: str) -> int:
        """What is taken of a resource."""
        placed = sum(each.amounts.get(resource, 0) for each in self.occupants)
        return placed + self.other.get(resource, 0)

    def free(self, resource: str) -> int:
        """What is left of a resource; never less than 0."""
        return max(self.capacity.get(resource, 0) - self.used(resource), 0)


class LevelRow(NamedTuple):
    """One level: how many domains, how many of them without any pod, and how many without room for one of the gang.

    `full` is None where no gang is known. Shares are those of the moment's `resource` that is used in the domain of
    this level that is used least and most; None without capacity.
    """

    level: str
    domains: int
    empty: int
    full: int | None
    least_used: float | None
    most_used: float | None


class GangFit(NamedTuple):
    """What of a gang would fit into what is free, if it had to stand in one domain of the level.

    `largest` is the number of its pods that the best domain, the first of them, holds; `gangs` how many whole gangs
    all domains hold; `unusable` the share of the free capacity of the gang's resource that is left then, None where
    nothing is free.
    """

    level: str
    largest: int
    domain: tuple[str, ...]
    gangs: int
    unusable: float | None


class GangRow(NamedTuple):
    """A gang, the resource of which it takes most, and how it fits, level by level."""

    gang: Gang
    resource: str
    fits: tuple[GangFit, ...]


@dataclass(slots=True)
class TopologyMoment:
    """A topology at one moment; `resource` is the one that is used most."""

    time_ns: int
    leaves: Sequence[TopologyLeaf]
    resource: str
    levels: list[LevelRow]
    gangs: list[GangRow]

    def total(self, resource: str) -> tuple[int, int, int]:
        """Capacity, what placed pods take, and what other pods take, over all leaves."""
        placed = other = capacity = 0
        for leaf in self.leaves:
            capacity += leaf.capacity.get(resource, 0)
            other += leaf.other.get(resource, 0)
            placed += sum(each.amounts.get(resource, 0) for each in leaf.occupants)
        return capacity, placed, other

    @property
    def pods(self) -> int:
        """Pods that were placed."""
        return sum(each.pods for leaf in self.leaves for each in leaf.occupants)

    @property
    def workloads(self) -> list[str]:
        """Workloads that have pods here, in the order of the leaves."""
        return list(dict.fromkeys(each.workload for leaf in self.leaves for each in leaf.occupants))


@dataclass(slots=True)
class TopologyRow:
    """The nodes of one ResourceFlavor with a Topology, at the end of the run and when they were used most.

    `peak` is None if nothing was ever placed.
    """

    flavor: str
    topology: str
    levels: tuple[str, ...]
    end: TopologyMoment
    peak: TopologyMoment | None

    @property
    def resources(self) -> list[str]:
        """Names of the resources that the nodes have, `pods` last."""
        names = {name for leaf in self.end.leaves for name in leaf.capacity}
        return [*sorted(names - {"pods"}), "pods"]
