"""How far a ClusterQueue or a cohort is above what is its own, in doubles that must be upstream's to the last bit.

Source: QP-331 to QP-335.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from tests.oracle.amounts import add, subtract
from tests.oracle.forest import FlavorResource, Node


@dataclass(frozen=True)
class Share:
    ratio: float
    weight: float
    borrowed: frozenset[FlavorResource]

    @property
    def borrows(self) -> bool:
        """Also where the ratio is 0, since its parent can lend nothing of it. Source: QP-335."""
        return bool(self.borrowed)

    @property
    def weighted(self) -> float:
        """Source: QP-333."""
        if self.ratio == 0:
            return 0.0
        return self.ratio / self.weight if self.weight else math.inf

    @property
    def order(self) -> tuple[bool, float]:
        """The lower, the more deserving. Source: QP-334."""
        unbounded = self.weight == 0 and self.ratio != 0
        return unbounded, self.ratio if unbounded else self.weighted

    def borrows_on(self, frs: Iterable[FlavorResource]) -> bool:
        """Source: QP-335."""
        return not self.borrowed.isdisjoint(frs)


def dominant_share(node: Node) -> Share:
    """The share of a node with the usage it has now. Source: QP-331."""
    if node.parent is None:
        return Share(0.0, node.weight, frozenset())
    above = {fr: subtract(node.usage.get(fr, 0), own) for fr, own in node.subtree.items()}
    borrowed = {fr: amount for fr, amount in above.items() if amount > 0}
    by_resource: dict[str, int] = {}
    for (_, resource), amount in borrowed.items():
        by_resource[resource] = add(by_resource.get(resource, 0), amount)
    ratios = [0.0]
    for resource, amount in by_resource.items():
        lendable = lendable_of(node.parent, resource)
        if lendable > 0:
            ratios.append(float(amount) * 1000.0 / float(lendable))
    return Share(max(ratios), node.weight, frozenset(borrowed))


def lendable_of(cohort: Node, resource: str) -> int:
    """What the members of a cohort could use of a resource, all flavors together. Source: QP-332."""
    total = 0
    for fr in cohort.root.subtree:
        if fr[1] == resource:
            total = add(total, cohort.potential(fr))
    return total
