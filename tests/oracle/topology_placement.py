"""One placement: counts, the level at which the pods fit, and the way down to the leaves.

Source: TP-701, TP-808 to TP-812, TP-1001, TP-1002.
"""

from dataclasses import dataclass, field

from tests.oracle.topology_balanced import Balanced
from tests.oracle.topology_choice import Choice, RanDry, leader_first
from tests.oracle.topology_counts import Counter, Domain, Parameters, Tree
from tests.oracle.topology_model import Assignment, Assumed, Flavor, Gates, Request, Unplaceable


@dataclass
class Placement:
    """What the placements of one workload in one flavor share; `assumed` grows as pod sets find their places."""

    flavor: Flavor
    gates: Gates
    assumed: Assumed = field(default_factory=dict)
    empty: bool = False

    def find(
        self,
        workers: Request,
        leader: Request | None = None,
        *,
        count: int | None = None,
        within: str = "",
        empty: bool | None = None,
    ) -> dict[str, Assignment]:
        """The assignments of workers and leader, by pod set; nothing is assumed yet.

        `count` stands in for that of the workers. Raises Unplaceable.
        """
        parameters = Parameters.of(self.flavor, workers, 0 if leader is None else 1)
        if count is not None:
            parameters = Parameters(**{**parameters.__dict__, "count": count})
        if workers.filter is None:
            raise Unplaceable("INVALID_FILTER")
        counter = Counter(
            Tree(self.flavor),
            parameters,
            workers,
            leader,
            self.assumed,
            self.empty if empty is None else empty,
            within,
        )
        counter.count()
        found = Search(counter, self.gates).find()
        return self._written(found, workers, leader)

    def _written(
        self, domains: list[Domain], workers: Request, leader: Request | None
    ) -> dict[str, Assignment]:
        """Source: TP-812."""
        domains = sorted(domains, key=lambda domain: domain.values)
        written = {
            workers.pod_set: [
                (self.flavor.written(domain.values), domain.pods) for domain in domains if domain.pods > 0
            ]
        }
        if leader is not None:
            written[leader.pod_set] = [
                (self.flavor.written(domain.values), domain.leaders)
                for domain in domains
                if domain.leaders > 0
            ]
        return written


class Search:
    """Phase 2, on the counted domains of a tree."""

    def __init__(self, counter: Counter, gates: Gates) -> None:
        self.counter = counter
        self.tree = counter.tree
        self.parameters = counter.parameters
        self.gates = gates
        self.choice = Choice.of(gates, unconstrained=counter.parameters.unconstrained)
        self.leaf_level = len(self.tree.levels) - 1

    def find(self) -> list[Domain]:
        """The leaves taken, each with its share. Raises Unplaceable."""
        balanced = self._balanced()
        if balanced is not None:
            return balanced
        level, domains = self._fitting(self.parameters.level)
        try:
            return self._descend(level, domains, across_parents=True)
        except RanDry as left:
            raise AssertionError("counted room is not there") from left

    def _balanced(self) -> list[Domain] | None:
        """Source: TP-901, TP-910."""
        parameters = self.parameters
        if not self.gates.balanced or parameters.required or parameters.unconstrained:
            return None
        found = Balanced(self.tree, parameters, self.choice).fitting()
        if found is None:
            return None
        try:
            return self._descend(*found, across_parents=False)
        except RanDry:
            # Upstream loses the pods that are left; the project places them the usual way (TP-2008).
            return None

    def _fitting(self, level: int) -> tuple[int, list[Domain]]:
        """The level at which to place, and the domains there, one if one suffices. Source: TP-808."""
        parameters, choice = self.parameters, self.choice
        if not self.tree.levels[level]:
            raise Unplaceable("NO_DOMAINS", self.tree.flavor.levels[level])
        needed, leaders = parameters.slices, parameters.leaders
        domains = choice.ordered_for_leader(self.tree.levels[level])

        def suffices(domain: Domain) -> bool:
            return domain.slices_beside_leader >= needed and domain.leaders >= leaders

        top = domains[0]
        if choice.best_fit and suffices(top):
            top = choice.tightest(domains, needed, leaders)
        if choice.least_free:
            for domain in domains:
                count = domain.slices_beside_leader if leaders > 0 else domain.slices
                if domain.leaders >= leaders and count >= needed:
                    return level, [domain]
            if parameters.required:
                raise self._no_room(level, domains[-1].pods)
        if suffices(top):
            return level, [top]
        if parameters.required:
            if self.gates.prefers_affinity:
                for number, domain in enumerate(domains):
                    if number > 0 and suffices(domain):
                        return level, [choice.tightest(domains[number:], needed, leaders)]
            raise self._no_room(level, top.slices)
        if level > 0 and not parameters.unconstrained:
            return self._fitting(level - 1)
        return level, self._several(level, domains)

    def _several(self, level: int, domains: list[Domain]) -> list[Domain]:
        """Source: TP-808.7."""
        parameters, choice = self.parameters, self.choice
        slices, leaders = parameters.slices, parameters.leaders
        domains = leader_first(domains, parameters.count, leaders, parameters.slice_size, by_slices=True)
        taken: list[Domain] = []
        first = 0
        while leaders > 0 and first < len(domains) and domains[first].leaders > 0:
            domain = domains[first]
            if choice.best_fit and domain.slices_beside_leader >= slices:
                domain = choice.tightest(domains[first:], slices, leaders)
            taken.append(domain)
            leaders -= domain.leaders
            slices -= domain.slices_beside_leader
            first += 1
        if leaders > 0:
            raise self._no_room(level, parameters.leaders - leaders)
        rest = choice.ordered(domains[first:])
        for number, domain in enumerate(rest):
            if slices <= 0:
                break
            if choice.best_fit and domain.slices >= slices:
                domain = choice.tightest(rest[number:], slices, 0)
            taken.append(domain)
            slices -= domain.slices
        if slices > 0:
            raise self._no_room(level, parameters.slices - slices)
        return taken

    def _descend(self, level: int, domains: list[Domain], *, across_parents: bool) -> list[Domain]:
        """From the domains of a level to the leaves. Raises RanDry. Source: TP-811, TP-910."""
        parameters, choice = self.parameters, self.choice

        def deal(among: list[Domain]) -> list[Domain]:
            return choice.dealt(
                among, parameters.count, parameters.leaders, parameters.slice_size, by_slices=True
            )

        current = deal(domains)
        while across_parents and level < min(self.leaf_level, parameters.slice_level):
            children = [child for domain in current for child in domain.children]
            current = deal(choice.ordered(children))
            level += 1
        while level < self.leaf_level:
            if level < parameters.slice_level:
                unit = parameters.slice_size
            else:
                unit = parameters.inner.get(level + 1, 1)
            below: list[Domain] = []
            for domain in current:
                children = choice.ordered(domain.children)
                if unit > 1:
                    for child in children:
                        child.slices = child.pods // unit
                        child.slices_beside_leader = child.pods_beside_leader // unit
                below += choice.dealt(children, domain.pods, domain.leaders, unit, by_slices=unit > 1)
            current = below
            level += 1
        return current

    def _no_room(self, level: int, fitted: int) -> Unplaceable:
        """Source: TP-1001, TP-1002."""
        parameters = self.parameters
        return Unplaceable(
            "NOT_ENOUGH_ROOM",
            fitted=fitted,
            needed=parameters.slices,
            in_slices=parameters.slice_size != 1,
            nodes=len(self.tree.levels[-1]),
            exclusions=self.counter.exclusions,
            layers=self._layers(level) if parameters.inner else (),
        )

    def _layers(self, level: int) -> tuple[tuple[str, int, int], ...]:
        tree, levels = self.tree, self.tree.flavor.levels
        best = min(tree.levels[level], key=lambda domain: (-domain.slices, tree.identity(domain)))
        layers = []
        for key, size in self.counter.workers.slices:
            assert size is not None
            depth = levels.index(key) - level
            inside = [best]
            for _ in range(depth):
                inside = [child for domain in inside for child in domain.children]
            fitted = sum(domain.pods // size for domain in inside)
            layers.append((key, fitted, self.parameters.count // size))
        return tuple(layers)
