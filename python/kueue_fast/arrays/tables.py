"""The kernel's tables of one cluster, and the names of their rows and columns."""

from __future__ import annotations

import numpy as np
from kueuecore._topology import Topologies

from kueue_fast.arrays.names import Names
from kueue_fast.model.requests import resource_order
from kueuecore import Flavors, Forest, Pending, Scheduler, Workloads

NONE = -1
PODS = "pods"

Node = tuple[str, str]
"""Kind (`ClusterQueue` or `Cohort`) and name of a row of the forest."""


class Tables:
    """Kernel tables and interned names; grows the tables when a name is new."""

    def __init__(self, *, hashing: bool = True) -> None:
        self.forest = Forest()
        self.flavors = Flavors()
        self.workloads = Workloads()
        self.pending = Pending(self.workloads, hashing)
        self.topologies = Topologies()
        self.scheduler = Scheduler(self.forest, self.flavors, self.workloads, self.pending)
        self.nodes: Names[Node] = Names()
        self.resource_names: Names[str] = Names()
        self.flavor_names: Names[str] = Names()
        self.namespaces: Names[str] = Names()
        self.pod_set_names: Names[str] = Names()
        self.columns: Names[tuple[int, int]] = Names()
        self.eligibility_classes = 0
        # slots without a name of their own carry `pods`: its row is 0, the kernel relies on it
        self.flavors.pods_resource = self.topologies.pods_resource = self.resource(PODS)

    def node(self, kind: str, name: str) -> int:
        """Forest row of a ClusterQueue or cohort, a new one if it has none."""
        known = len(self.nodes)
        row = self.nodes.intern((kind, name))
        if len(self.nodes) > known:
            self.forest.reserve(len(self.nodes), len(self.columns))
            self.pending.reserve(len(self.nodes), len(self.namespaces))
            self._reserve_flavors()
        return row

    def forget_node(self, kind: str, name: str) -> None:
        """Free a row of the forest. Raises KeyError if there is none."""
        self.forest.clear_row(self.nodes.forget((kind, name)))

    def resource(self, name: str) -> int:
        """Index of a resource; ranks say in which order requests are looked at (QP-107), or limit first (TP-705)."""
        known = len(self.resource_names)
        index = self.resource_names.intern(name)
        if len(self.resource_names) > known:
            self._reserve_flavors()
            by_hash = sorted(self.resource_names.items(), key=lambda item: resource_order(item[0]))
            ranks = np.zeros(max(len(by_hash), self.flavors.resource_rank.shape[0]), np.int32)
            for rank, (_, resource) in enumerate(by_hash):
                ranks[resource] = rank
            self.flavors.resource_rank = ranks
            self.forest.reserve_resources(len(by_hash))
            self.topologies.reserve_width(len(by_hash))
            by_name = sorted(self.resource_names.items(), key=lambda item: item[0].encode())
            ranks = np.zeros(len(by_name), np.int32)
            ranks[[resource for _, resource in by_name]] = np.arange(len(by_name))
            self.topologies.resource_rank = ranks
        return index

    def flavor(self, name: str) -> int:
        """Index of a flavor name, whether or not a ResourceFlavor of that name exists."""
        known = len(self.flavor_names)
        index = self.flavor_names.intern(name)
        if len(self.flavor_names) > known:
            self._reserve_flavors()
        return index

    def namespace(self, name: str) -> int:
        """Index of a namespace name, whether or not a Namespace of that name exists."""
        known = len(self.namespaces)
        index = self.namespaces.intern(name)
        if len(self.namespaces) > known:
            self.pending.reserve(len(self.nodes), len(self.namespaces))
        return index

    def column(self, flavor: int, resource: int) -> int:
        """Forest column of a flavor-resource pair."""
        known = len(self.columns)
        column = self.columns.intern((flavor, resource))
        if len(self.columns) > known:
            self.forest.reserve(len(self.nodes), len(self.columns))
            self.flavors.column[flavor, resource] = column
            self.forest.column_resource[column] = resource
        return column

    def eligibility_class(self) -> int:
        """A new row of Flavors.eligible."""
        row = self.eligibility_classes
        self.eligibility_classes += 1
        self._reserve_flavors()
        return row

    def _reserve_flavors(self) -> None:
        self.flavors.reserve(
            len(self.nodes), len(self.flavor_names), len(self.resource_names), self.eligibility_classes
        )
