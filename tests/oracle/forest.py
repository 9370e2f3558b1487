"""The quota tree: ClusterQueues and cohorts, computed from the definitions and never from what was computed before.

Source: QP-201, QP-300 to QP-312, QP-321, QP-322.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeAlias

from tests.oracle.amounts import add, subtract

FlavorResource: TypeAlias = tuple[str, str]
Quantities: TypeAlias = dict[FlavorResource, int]


@dataclass(frozen=True)
class Quotas:
    """What a spec says, in units; a flavor-resource without a limit is missing in that limit's map."""

    nominal: Mapping[FlavorResource, int] = field(default_factory=dict)
    borrowing_limit: Mapping[FlavorResource, int] = field(default_factory=dict)
    lending_limit: Mapping[FlavorResource, int] = field(default_factory=dict)


class Node:
    """A ClusterQueue or a cohort."""

    def __init__(self, name: str, *, is_cluster_queue: bool) -> None:
        self.name = name
        self.is_cluster_queue = is_cluster_queue
        self.quotas = Quotas()
        self.parent: Node | None = None
        self.children: list[Node] = []
        # An inactive ClusterQueue keeps its quota and usage but is not in the scheduler's snapshot (QP-232).
        self.active = True
        self.weight = 1.0  # for fair sharing (QP-301)
        self.subtree: Quantities = {}
        self.usage: Quantities = {}

    def path(self) -> Iterator["Node"]:
        """This node, its parent, and so on to the root."""
        node: Node | None = self
        while node is not None:
            yield node
            node = node.parent

    @property
    def root(self) -> "Node":
        return list(self.path())[-1]

    def nominal(self, fr: FlavorResource) -> int:
        return self.quotas.nominal.get(fr, 0)

    def local_quota(self, fr: FlavorResource) -> int:
        """What is never lent. Source: QP-302."""
        limit = self.quotas.lending_limit.get(fr)
        return 0 if limit is None else max(0, subtract(self.subtree.get(fr, 0), limit))

    def local_available(self, fr: FlavorResource) -> int:
        """Source: QP-304."""
        return max(0, subtract(self.local_quota(fr), self.usage.get(fr, 0)))

    def available(self, fr: FlavorResource) -> int:
        """What is left for this node, below 0 after overadmission. Source: QP-305."""
        subtree, used = self.subtree.get(fr, 0), self.usage.get(fr, 0)
        if self.parent is None:
            return subtract(subtree, used)
        from_parent = self.parent.available(fr)
        limit = self.quotas.borrowing_limit.get(fr)
        if limit is not None:
            local = self.local_quota(fr)
            shared_and_unused = subtract(subtract(subtree, local), max(0, subtract(used, local)))
            from_parent = min(from_parent, add(shared_and_unused, limit))
        return add(self.local_available(fr), from_parent)

    def potential(self, fr: FlavorResource) -> int:
        """What this node could use if nothing were in use. Source: QP-309."""
        subtree = self.subtree.get(fr, 0)
        if self.parent is None:
            return subtree
        potential = add(self.local_quota(fr), self.parent.potential(fr))
        limit = self.quotas.borrowing_limit.get(fr)
        return potential if limit is None else min(add(subtree, limit), potential)

    def add_usage(self, fr: FlavorResource, amount: int) -> None:
        """Source: QP-306."""
        local = self.local_available(fr)
        self.usage[fr] = add(self.usage.get(fr, 0), amount)
        if self.parent is not None and amount > local:
            self.parent.add_usage(fr, subtract(amount, local))

    def remove_usage(self, fr: FlavorResource, amount: int) -> None:
        """Source: QP-307."""
        stored_in_parent = subtract(self.usage.get(fr, 0), self.local_quota(fr))
        self.usage[fr] = subtract(self.usage.get(fr, 0), amount)
        if self.parent is not None and stored_in_parent > 0:
            self.parent.remove_usage(fr, min(amount, stored_in_parent))

    @contextmanager
    def what_if(self) -> Iterator[None]:
        """Whatever is added and removed here inside, all is as before at the end."""
        before = [(node, dict(node.usage)) for node in self.path()]
        try:
            yield
        finally:
            for node, usage in before:
                node.usage = usage

    def borrows_with(self, fr: FlavorResource, amount: int) -> bool:
        """Whether it would use more than its own. Source: QP-312."""
        own = self.nominal(fr) if self.is_cluster_queue else self.subtree.get(fr, 0)
        return own < add(self.usage.get(fr, 0), amount)

    def within_nominal(self, frs: Iterable[FlavorResource]) -> bool:
        """Source: QP-311."""
        return all(self.subtree.get(fr, 0) >= self.usage.get(fr, 0) for fr in frs)

    def fits_in_quota(self, requests: Mapping[FlavorResource, int]) -> tuple[bool, Quantities]:
        """Whether the requests fit in the node's own quota, and what the parent is asked for. Source: QP-310."""
        fits = all(
            self.subtree.get(fr, 0) >= add(self.usage.get(fr, 0), amount) for fr, amount in requests.items()
        )
        return fits, {
            fr: max(0, subtract(amount, self.local_available(fr))) for fr, amount in requests.items()
        }

    def height(self) -> int:
        """Source: QP-321. Children outside the snapshot do not count."""
        if self.is_cluster_queue:
            return 0
        children = [child for child in self.children if child.active]
        return 1 + max((child.height() for child in children), default=-1)

    def lowest_subtree(self, fr: FlavorResource, amount: int) -> tuple[int, bool]:
        """Height of the smallest subtree that can hold the amount, and whether that is less than the tree.

        Source: QP-322.
        """
        if self.parent is None or not self.borrows_with(fr, amount):
            return 0, self.parent is not None
        rest = subtract(amount, self.local_available(fr))
        for cohort in self.parent.path():
            if not cohort.borrows_with(fr, rest):
                return cohort.height(), cohort.parent is not None
            rest = subtract(rest, cohort.local_available(fr))
        return self.root.height(), False


class Forest:
    """All trees. A cohort exists when it is set or when somebody names it as parent; call `recompute` after changes.

    ClusterQueues and cohorts have names of their own. Usage is kept for ClusterQueues and computed for cohorts.
    """

    def __init__(self) -> None:
        self.cluster_queues: dict[str, Node] = {}
        self.cohorts: dict[str, Node] = {}
        self._cohort_of: dict[str, str | None] = {}
        self._explicit: dict[str, tuple[str | None, Quotas, float]] = {}

    def set_cluster_queue(
        self,
        name: str,
        cohort: str | None = None,
        quotas: Quotas = Quotas(),
        usage: Quantities | None = None,
        weight: float = 1.0,
    ) -> Node:
        node = self.cluster_queues.setdefault(name, Node(name, is_cluster_queue=True))
        node.quotas = quotas
        node.weight = weight
        if usage is not None:
            node.usage = dict(usage)
        self._cohort_of[name] = cohort or None
        return node

    def set_cohort(
        self, name: str, parent: str | None = None, quotas: Quotas = Quotas(), weight: float = 1.0
    ) -> None:
        self._explicit[name] = (parent or None, quotas, weight)

    def is_explicit(self, cohort: str) -> bool:
        return cohort in self._explicit

    def recompute(self) -> None:
        """Link nodes, then compute subtree quotas and the cohorts' usage bottom-up. Source: QP-300, QP-303.

        Raises ValueError if a cohort is its own ancestor.
        """
        self.cohorts = {}
        for node in self.cluster_queues.values():
            self._link(node, self._cohort_of[node.name])
        for name, (parent, quotas, weight) in self._explicit.items():
            cohort = self._cohort(name)
            cohort.quotas = quotas
            cohort.weight = weight
            self._link(cohort, parent)
        self._refuse_cycles()
        for node in [*self.cohorts.values(), *self.cluster_queues.values()]:
            if node.parent is None:
                self._compute(node)

    def _cohort(self, name: str) -> Node:
        return self.cohorts.setdefault(name, Node(name, is_cluster_queue=False))

    def _link(self, node: Node, parent: str | None) -> None:
        node.parent = self._cohort(parent) if parent else None
        if node.parent is not None:
            node.parent.children.append(node)

    def _compute(self, node: Node) -> None:
        node.subtree = dict(node.quotas.nominal)
        if node.is_cluster_queue:
            return
        node.usage = {}
        for child in node.children:
            self._compute(child)
            for fr, quota in child.subtree.items():
                node.subtree[fr] = add(node.subtree.get(fr, 0), subtract(quota, child.local_quota(fr)))
            for fr, used in child.usage.items():
                node.usage[fr] = add(node.usage.get(fr, 0), max(0, subtract(used, child.local_quota(fr))))

    def _refuse_cycles(self) -> None:
        for cohort in self.cohorts.values():
            seen, node = {cohort.name}, cohort.parent
            while node is not None:
                if node.name in seen:
                    raise ValueError(f"cohort {cohort.name} is in or below a cycle")
                seen.add(node.name)
                node = node.parent

    @contextmanager
    def what_if(self) -> Iterator[None]:
        """Usage as it was comes back at the end, whatever was added and removed. Source: QP-909."""
        nodes = [*self.cluster_queues.values(), *self.cohorts.values()]
        before = [dict(node.usage) for node in nodes]
        try:
            yield
        finally:
            for node, usage in zip(nodes, before, strict=True):
                node.usage = usage
