"""Which domains come first, which is the tightest that suffices, and how pods are dealt out over a list of them.

Source: TP-805 to TP-807, TP-810.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tests.oracle.topology_counts import Domain
from tests.oracle.topology_model import Gates


class RanDry(Exception):
    """Pods or leaders are left when the list is at its end."""


@dataclass(frozen=True)
class Choice:
    """The profile of a request: LeastFree if `least_free`, else BestFit. Source: TP-102, TP-801."""

    least_free: bool
    prefers_affinity: bool

    @classmethod
    def of(cls, gates: Gates, *, unconstrained: bool) -> "Choice":
        return cls(unconstrained and gates.mixed_profile, gates.prefers_affinity)

    @property
    def best_fit(self) -> bool:
        return not self.least_free

    def ordered(self, domains: Sequence[Domain]) -> list[Domain]:
        """ORD of TP-805."""

        def key(domain: Domain) -> tuple[Any, ...]:
            return (
                -domain.affinity if self.prefers_affinity else 0,
                domain.slices if self.least_free else -domain.slices,
                domain.pods,
                domain.values,
            )

        return sorted(domains, key=key)

    def ordered_for_leader(self, domains: Sequence[Domain]) -> list[Domain]:
        """ORDL of TP-805."""

        def key(domain: Domain) -> tuple[Any, ...]:
            slices = domain.slices_beside_leader
            return (
                -domain.leaders,
                -domain.affinity if self.prefers_affinity else 0,
                slices if self.least_free else -slices,
                domain.pods_beside_leader,
                domain.values,
            )

        return sorted(domains, key=key)

    def tightest(
        self, domains: Sequence[Domain], needed: int, leaders: int, *, by_slices: bool = True
    ) -> Domain:
        """The first of those with the smallest count that suffices, else the first of all. Source: TP-806."""
        candidates = list(domains)
        if self.prefers_affinity:
            candidates = []
            for domain in domains:
                if domain.affinity != domains[0].affinity:
                    break
                candidates.append(domain)
        best = None
        for domain in candidates:
            count = room(domain, beside_leader=leaders > 0, by_slices=by_slices)
            if domain.leaders < leaders or count < needed:
                continue
            if best is None or count < room(best, beside_leader=leaders > 0, by_slices=by_slices):
                best = domain
        return candidates[0] if best is None else best

    def dealt(
        self, domains: Sequence[Domain], count: int, leaders: int, unit: int, *, by_slices: bool
    ) -> list[Domain]:
        """The domains that take `count` pods and the leaders, each with its share. Source: TP-810.

        Raises RanDry if the domains have no room for all.
        """
        domains = leader_first(domains, count, leaders, unit, by_slices=by_slices)
        if not by_slices:
            unit = 1
        left = count // unit
        taken: list[Domain] = []
        for number, domain in enumerate(domains):
            rest = domains[number:]
            beside = room(domain, beside_leader=leaders > 0, by_slices=by_slices)
            if self.best_fit and beside >= left and (leaders == 0 or domain.leaders >= leaders):
                domain = self.tightest(rest, left, leaders, by_slices=by_slices)
            beside = room(domain, beside_leader=leaders > 0, by_slices=by_slices)
            taken.append(domain)
            if leaders == 0:
                domain.leaders = 0
            share = min(beside, left)
            last = beside >= left and domain.leaders >= leaders
            domain.leaders = min(domain.leaders, leaders)
            domain.pods = share * unit
            if by_slices and (leaders > 0 or last):
                domain.slices = share
            if leaders > 0 and not last:
                domain.slices_beside_leader = share if by_slices else domain.slices_beside_leader
                domain.pods_beside_leader = domain.pods_beside_leader if by_slices else share
            if last:
                return taken
            leaders -= domain.leaders
            left -= share
        raise RanDry


def room(domain: Domain, *, beside_leader: bool, by_slices: bool) -> int:
    if by_slices:
        return domain.slices_beside_leader if beside_leader else domain.slices
    return domain.pods_beside_leader if beside_leader else domain.pods


def leader_first(
    domains: Sequence[Domain], count: int, leaders: int, unit: int, *, by_slices: bool
) -> list[Domain]:
    """With the first domain in front that can host the leader and leaves room enough. Source: TP-807."""
    if leaders == 0 or len(domains) < 2:
        return list(domains)
    needed = count // unit if by_slices else count
    available = sum(room(domain, beside_leader=False, by_slices=by_slices) for domain in domains)
    for domain in domains:
        price = room(domain, beside_leader=False, by_slices=by_slices) - room(
            domain, beside_leader=True, by_slices=by_slices
        )
        if domain.leaders >= leaders and available - price >= needed:
            return [domain, *(other for other in domains if other is not domain)]
    return list(domains)
