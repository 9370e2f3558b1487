"""How many pods and slices fit in each leaf and domain.

Source: TP-403, TP-404, TP-701 to TP-710, TP-804.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from tests.oracle.topology_model import Assumed, Flavor, Leaf, Request, Unplaceable, Values
from tests.oracle.topology_usage import PODS, pods_that_fit, remaining, take, with_one_pod


@dataclass(eq=False)
class Domain:
    """A domain with its counters; `pods` becomes its share once pods are given to it."""

    values: Values
    children: list["Domain"] = field(default_factory=list)
    leaf: Leaf | None = None
    pods: int = 0  # P
    pods_beside_leader: int = 0  # PL
    slices: int = 0  # S
    slices_beside_leader: int = 0  # SL
    leaders: int = 0
    affinity: int = 0

    def copy(self) -> "Domain":
        """Of the whole subtree."""
        twin = Domain(**self.__dict__)
        twin.children = [child.copy() for child in self.children]
        return twin

    def subtree(self) -> Iterator["Domain"]:
        yield self
        for child in self.children:
            yield from child.subtree()


@dataclass(frozen=True)
class Parameters:
    """What a request asks, as numbers of the flavor's levels. Source: TP-708, TP-802 to TP-804."""

    level: int
    slice_level: int
    slice_size: int
    inner: Mapping[int, int]  # [level below the slice level] size of the groups there
    count: int
    leaders: int
    required: bool
    unconstrained: bool

    @property
    def slices(self) -> int:
        return self.count // self.slice_size

    @classmethod
    def of(cls, flavor: Flavor, request: Request, leaders: int) -> "Parameters":
        """Raises Unplaceable in the order in which the rules are checked."""
        levels = flavor.levels
        size = 1
        if request.slices:
            size = request.slices[0][1] or 0
            if size <= 0:
                raise Unplaceable("SLICE_SIZE_MISSING")
        key = request.level_key(levels)
        if key is None:
            raise Unplaceable("LEVEL_MISSING")
        if key not in levels:
            raise Unplaceable("LEVEL_UNKNOWN", key)
        slice_key = request.slices[0][0] if request.slices else levels[-1]
        if slice_key not in levels:
            raise Unplaceable("SLICE_LEVEL_UNKNOWN", slice_key)
        level, slice_level = levels.index(key), levels.index(slice_key)
        if level > slice_level:
            raise Unplaceable("SLICE_ABOVE_MAIN", slice_key, key)
        return cls(
            level=level,
            slice_level=slice_level,
            slice_size=size,
            inner=_inner_sizes(levels, request, slice_level, size),
            count=request.count,
            leaders=leaders,
            required=request.required is not None,
            unconstrained=request.is_unconstrained,
        )


def _inner_sizes(levels: Values, request: Request, slice_level: int, slice_size: int) -> dict[int, int]:
    """Source: TP-804."""
    sizes: dict[int, int] = {}
    above, size_above = slice_level, slice_size
    for key, given in request.slices[1:]:
        size = given or 0
        if key not in levels:
            raise Unplaceable("LAYER_UNKNOWN", key)
        level = levels.index(key)
        if level <= above:
            raise Unplaceable("LAYER_NOT_LOWER", key, levels[above])
        # Upstream's API lets no size below 1 in.
        if size <= 0 or size_above % size != 0:
            raise Unplaceable("LAYER_NOT_DIVIDING", size, size_above)
        for below in range(above + 1, level + 1):
            sizes[below] = size
        above, size_above = level, size
    return sizes


class Tree:
    """The domains of a flavor, of each level in order of their values. Source: TP-403, TP-404, TP-407."""

    def __init__(self, flavor: Flavor) -> None:
        self.flavor = flavor
        by_level: list[dict[Values, Domain]] = [{} for _ in flavor.levels]
        for leaf in sorted(flavor.leaves, key=lambda leaf: leaf.values):
            for level in range(len(flavor.levels)):
                values = leaf.values[: level + 1]
                if values not in by_level[level]:
                    domain = by_level[level][values] = Domain(values)
                    if level > 0:
                        by_level[level - 1][values[:-1]].children.append(domain)
            by_level[-1][leaf.values].leaf = leaf
        self.levels = [list(domains.values()) for domains in by_level]

    def identity(self, domain: Domain) -> str:
        """Source: TP-403."""
        return ",".join(self.flavor.written(domain.values) if domain.leaf is not None else domain.values)


@dataclass
class Counter:
    """One pass over a tree for one request; `exclusions` collects why leaves take no pod."""

    tree: Tree
    parameters: Parameters
    workers: Request
    leader: Request | None
    assumed: Assumed
    empty: bool
    within: str = ""  # joined values of the domain a replacement must stay in (TP-704)
    exclusions: dict[str, int] = field(default_factory=dict)

    def count(self) -> None:
        for leaf in self.tree.levels[-1]:
            self._count_leaf(leaf)
        for root in self.tree.levels[0]:
            roll_up(root, 0, self.parameters, self.parameters.inner)

    def _count_leaf(self, domain: Domain) -> None:
        assert domain.leaf is not None
        leaf, flavor = domain.leaf, self.tree.flavor
        row = self.workers.filter
        assert row is not None
        if flavor.by_host:
            excluded = leaf.excluded.get(row)
            if excluded is not None:
                return self._exclude(excluded)
            domain.affinity = leaf.affinity.get(row, 0)
        if not _belongs(leaf.values, self.within):
            return self._exclude("topologyDomain")
        room = remaining(leaf, empty=self.empty)
        take(room, self.assumed.get(flavor.written(leaf.values), {}))
        one_pod = with_one_pod(self.workers.requests)
        domain.pods, limiting = pods_that_fit(one_pod, room)
        if domain.pods == 0:
            self._exclude(f'resource "{limiting}"')
        if self.leader is not None:
            leader_pod = with_one_pod(self.leader.requests)
            if pods_that_fit(leader_pod, room)[0] > 0:
                domain.leaders = 1
                take(room, leader_pod)
        domain.pods_beside_leader = pods_that_fit(one_pod, room)[0]

    def _exclude(self, key: str) -> None:
        self.exclusions[key] = self.exclusions.get(key, 0) + 1


def _belongs(values: Values, within: str) -> bool:
    """Source: TP-704."""
    joined = ",".join(values)
    return within in ("", joined) or joined.startswith(within + ",")


def roll_up(domain: Domain, level: int, parameters: Parameters, inner: Mapping[int, int]) -> None:
    """Counters of a domain from those of its leaves. Source: TP-709."""
    at_slice_level = level == parameters.slice_level
    if not domain.children:
        if at_slice_level:
            domain.slices = domain.pods // parameters.slice_size
            domain.slices_beside_leader = domain.pods_beside_leader // parameters.slice_size
        return
    for child in domain.children:
        roll_up(child, level + 1, parameters, inner)
    group = inner.get(level + 1, 1)

    def whole(pods: int) -> int:
        return pods // group * group

    hosts = [child for child in domain.children if child.leaders > 0 or parameters.leaders == 0]
    domain.pods = sum(whole(child.pods) for child in domain.children)
    slices = sum(child.slices for child in domain.children)
    domain.pods_beside_leader = slices_beside_leader = 0
    if hosts:
        domain.pods_beside_leader = domain.pods - min(
            whole(child.pods) - whole(child.pods_beside_leader) for child in hosts
        )
        slices_beside_leader = slices - min(child.slices - child.slices_beside_leader for child in hosts)
    domain.leaders = max(child.leaders for child in domain.children)
    domain.affinity = sum(child.affinity for child in domain.children)
    if at_slice_level:
        slices = domain.pods // parameters.slice_size
        slices_beside_leader = domain.pods_beside_leader // parameters.slice_size
    domain.slices = slices
    domain.slices_beside_leader = slices_beside_leader


__all__ = ["PODS", "Counter", "Domain", "Parameters", "Tree", "roll_up"]
