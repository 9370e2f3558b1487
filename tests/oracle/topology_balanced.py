"""Placement that spreads slices evenly over few domains, tried for preferred requests before the usual one.

Source: TP-901 to TP-910.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from tests.oracle.topology_choice import Choice
from tests.oracle.topology_counts import Domain, Parameters, Tree, roll_up

# Domains chosen, by (leaders left, pods left).
Chosen: TypeAlias = dict[tuple[int, int], list[Domain]]


@dataclass(frozen=True)
class Greedy:
    """What a greedy choice took. Source: TP-902."""

    domains: int
    last_with_leader: Domain | None
    last: Domain | None


class Balanced:
    """Works on copies of the counted domains, which the usual placement needs as they are."""

    def __init__(self, tree: Tree, parameters: Parameters, choice: Choice) -> None:
        self.tree = tree
        self.parameters = parameters
        self.choice = choice

    def fitting(self) -> tuple[int, list[Domain]] | None:
        """The level at which the pods are dealt out and the domains there, each with its share; None: not balanced.

        Source: TP-901, TP-907.
        """
        threshold, domains = self._best()
        if threshold <= 0:
            return None
        level = self.parameters.level
        if level < self.parameters.slice_level:
            chosen = self._optimal(domains, by_entropy=True)
            if chosen is None:
                return None
            domains = [child for domain in chosen for child in domain.children]
            level += 1
        shares = self._shares(domains, threshold)
        return None if shares is None else (level, shares)

    def _best(self) -> tuple[int, list[Domain]]:
        """The highest threshold and the pruned domains that reach it. Source: TP-903, TP-904."""
        parameters = self.parameters
        best, best_count, best_domains = 0, 0, []
        for siblings in self._candidates():
            greedy = self._greedy(self._lower(siblings))
            if greedy is None or greedy.domains == 0:
                # No whole slice: upstream divides by zero here.
                continue
            threshold = parameters.slices // greedy.domains
            if greedy.last_with_leader is not None:
                threshold = min(threshold, greedy.last_with_leader.slices_beside_leader)
            if greedy.last is not None:
                threshold = min(threshold, greedy.last.slices)
            reserved = threshold
            if parameters.leaders > 0 and greedy.last is not None:
                reserved = min(threshold, greedy.last.slices_beside_leader)
            if threshold < best:
                continue
            pruned = self._pruned(siblings, threshold)
            after = self._greedy(pruned)
            if after is None and reserved < threshold:
                if reserved <= 0 or reserved < best:
                    continue
                threshold = reserved
                pruned = self._pruned(siblings, threshold)
                after = self._greedy(pruned)
            if after is None:
                continue
            if threshold > best or (threshold == best and after.domains < best_count):
                best, best_count, best_domains = threshold, after.domains, pruned
        return best, best_domains

    def _candidates(self) -> list[list[Domain]]:
        if self.parameters.level == 0:
            return [self.tree.levels[0]]
        return [domain.children for domain in self.tree.levels[self.parameters.level - 1]]

    def _lower(self, domains: Sequence[Domain]) -> list[Domain]:
        if self.parameters.level < self.parameters.slice_level:
            return [child for domain in domains for child in domain.children]
        return list(domains)

    def _greedy(self, domains: Sequence[Domain]) -> Greedy | None:
        """Source: TP-902."""
        slices, leaders = self.parameters.slices, self.parameters.leaders
        count, last_with_leader, last = 0, None, None
        left = list(domains)
        if leaders > 0:
            left = self.choice.ordered_for_leader(left)
            while leaders > 0 and left and left[0].leaders > 0:
                last_with_leader = left.pop(0)
                count += 1
                leaders -= last_with_leader.leaders
                slices -= last_with_leader.slices_beside_leader
        if leaders > 0:
            return None
        for domain in self.choice.ordered(left):
            if slices <= 0 or domain.slices <= 0:
                break
            last = domain
            count += 1
            slices -= domain.slices
        return Greedy(count, last_with_leader, last) if slices <= 0 else None

    def _pruned(self, siblings: Sequence[Domain], threshold: int) -> list[Domain]:
        """Copies, without the domains that cannot take as much as the threshold. Source: TP-905."""
        copies = [domain.copy() for domain in siblings]
        for domain in copies:
            for child in domain.children:
                self._prune(child, threshold)
        for domain in copies:
            roll_up(domain, self.parameters.level, self.parameters, {})
            self._prune(domain, threshold)
        return copies

    def _prune(self, domain: Domain, threshold: int) -> None:
        nothing = domain.slices < threshold
        no_leader = (
            self.parameters.leaders > 0 and domain.leaders > 0 and domain.slices_beside_leader < threshold
        )
        if not (nothing or no_leader):
            return
        for inside in domain.subtree():
            inside.leaders = inside.pods_beside_leader = inside.slices_beside_leader = 0
            if nothing:
                inside.pods = inside.slices = 0

    def _optimal(self, domains: Sequence[Domain], *, by_entropy: bool) -> list[Domain] | None:
        """As few domains as greedy takes, with as little room as suffices. Source: TP-908."""
        greedy = self._greedy(domains)
        if greedy is None:
            return None
        parameters, most = self.parameters, greedy.domains
        chosen: list[Chosen] = [{} for _ in range(most + 1)]
        chosen[0][parameters.leaders, parameters.slices * parameters.slice_size] = []
        for domain in sorted(domains, key=_by_entropy if by_entropy else _by_values):
            for count in range(most, 0, -1):
                for leaders, pods in sorted(chosen[count - 1]):
                    if leaders <= 0 and pods <= 0:
                        continue
                    with_it = [*chosen[count - 1][leaders, pods], domain]
                    if leaders > 0 and domain.leaders > 0:
                        after = (leaders - domain.leaders, pods - domain.pods_beside_leader)
                        chosen[count].setdefault(after, with_it)
                    if domain.slices > 0:
                        chosen[count].setdefault((leaders, pods - domain.pods), with_it)
        enough = [pods for leaders, pods in chosen[most] if leaders == 0 and pods <= 0]
        return chosen[most][0, max(enough)] if enough else None

    def _shares(self, domains: Sequence[Domain], threshold: int) -> list[Domain] | None:
        """Every domain takes the threshold, the first ones what is left over. Source: TP-909."""
        parameters = self.parameters
        chosen = self._optimal(domains, by_entropy=False)
        if chosen is None or parameters.slices < len(chosen) * threshold:
            return None
        chosen = self.choice.ordered_for_leader(chosen)
        extra, leaders = parameters.slices - len(chosen) * threshold, parameters.leaders
        for domain in chosen:
            more, hosts = 0, 0
            if leaders > 0:
                more, hosts = min(domain.slices_beside_leader - threshold, extra), 1
            elif extra > 0:
                more = min(domain.slices - threshold, extra)
            leaders -= hosts
            extra -= more
            domain.leaders = hosts
            domain.slices = domain.slices_beside_leader = threshold + more
            domain.pods = domain.slices * parameters.slice_size
            domain.pods_beside_leader = domain.pods - hosts
        return None if extra > 0 or leaders > 0 else chosen


def _by_values(domain: Domain) -> tuple[str, ...]:
    return domain.values


def _by_entropy(domain: Domain) -> tuple[int, int, float, tuple[str, ...]]:
    return -domain.leaders, -domain.slices_beside_leader, -entropy(domain.children), domain.values


def entropy(domains: Sequence[Domain]) -> float:
    """How evenly pods would stand in the domains, in bits; summed in order of values. Source: TP-908."""
    total = sum(domain.pods for domain in domains)
    bits = 0.0
    for domain in domains:
        if domain.pods > 0:
            share = domain.pods / total
            bits += -share * math.log2(share)
    return bits
