"""From Nodes, Topologies, flavors and pods of others to the kernel's trees; from pods and filters to its rows.

Changes are collected and written by `refresh`, which the engine calls before each cycle: what comes in bulk is built in
bulk, and what changes nothing costs nothing. Source: TP-401 to TP-408, TP-501, TP-505, TP-508, TP-509, TP-702.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from kueue_fast.api.core import Node, Pod, PodSpec
from kueue_fast.api.kueue import ResourceFlavorSpec, TopologySpec
from kueue_fast.api.topology_assignment import Domain
from kueue_fast.api.topology_encoding import HOSTNAME
from kueue_fast.arrays.names import Names
from kueue_fast.arrays.node_classes import ALL_PASS, NodeClasses
from kueue_fast.arrays.node_store import Change, NodeFacts, NodeStore
from kueue_fast.arrays.places import Places
from kueue_fast.arrays.pod_rows import PodRows
from kueue_fast.arrays.tables import NONE, Tables
from kueue_fast.arrays.topology_tree import Path, Sources, TopologyTree, TreeSpec, domain_id
from kueue_fast.model.node_filter import NO_UPDATES, NodeFilterError, Updates, node_filter
from kueue_fast.model.other_pods import pod_amounts
from kueue_fast.model.topology_messages import TOPOLOGY_DOMAIN, resource_key

_encode = msgspec.json.Encoder(order="deterministic").encode

BY_RESOURCE, OUTSIDE_DOMAIN = -1, -2
"""Kinds of exclusion that are no codes of `match`, as kueuecore's reasons have them."""


class TopologyRows:
    """Keeps `tables.topologies` in step with the objects.

    `overlapping` and `prefers_affinity` are the gates TASHandleOverlappingFlavors and TASRespectNodeAffinityPreferred.
    """

    def __init__(self, tables: Tables, *, overlapping: bool = True, prefers_affinity: bool = False) -> None:
        self._tables = tables
        self._overlapping = overlapping
        self._prefers_affinity = prefers_affinity
        self._nodes = NodeStore()
        self._pods = PodRows(tables)
        kernel = tables.topologies
        classes = NodeClasses(kernel, self._nodes.taint_lists)
        self._sources = Sources(kernel, self._nodes, Places(kernel), classes, {})
        self._levels: dict[str, Path] = {}  # of each Topology
        self._flavors: dict[str, ResourceFlavorSpec] = {}  # those with a topology
        self._trees: dict[str, TopologyTree] = {}
        self._stale: set[str] = set()  # flavors whose tree must be built
        self._ranks: list[str] = []
        self._keys: Names[str] = Names()
        self._filters: dict[bytes, int | str] = {}  # the row, or why there is none

    # Objects

    def set_topology(self, name: str, spec: TopologySpec | None) -> list[str]:
        """A Topology is there, or gone (None). Its levels stay what they were when it came. Source: TP-505.

        Returns the flavors whose tree came or went: places in it are new ones, so the caller books its workloads anew.
        """
        if spec is None:
            self._levels.pop(name, None)
        elif spec.levels:
            self._levels.setdefault(name, tuple(level.node_label for level in spec.levels))
        return [
            flavor
            for flavor, known in self._flavors.items()
            if known.topology_name == name and self._settle(flavor)
        ]

    def set_flavor(self, name: str, spec: ResourceFlavorSpec | None) -> list[str]:
        """A ResourceFlavor is there, or gone (None); what a tree needs of it stays as it came. Source: TP-505.

        Returns the flavor if its tree came or went, as `set_topology` does.
        """
        if spec is None or not spec.topology_name:
            self._flavors.pop(name, None)
        else:
            self._flavors.setdefault(name, spec)
        return [name] if self._settle(name) else []

    def set_node(self, node: Node) -> bool:
        """A Node was created or changed; returns whether anything that counts is other.

        Raises InputError for an allocatable that is no quantity.
        """
        return self._nodes.set_node(node)

    def delete_node(self, name: str) -> bool:
        """A Node is gone; returns whether it counted."""
        return self._nodes.delete_node(name)

    def set_pod(self, pod: Pod) -> str | None:
        """A pod was created or changed; the node on which it may have freed room, if so.

        Raises InputError for requests that are no quantities. Source: TP-508, TP-1904.
        """
        return self._nodes.set_pod(pod)

    def delete_pod(self, namespace: str, name: str) -> str | None:
        """A pod is gone; the node on which it freed room, if so. Source: TP-1904."""
        return self._nodes.delete_pod(namespace, name)

    # The kernel's tables

    def refresh(self) -> None:
        """Write all changes to the kernel; numbers of leaves are valid until the next call."""
        sources, nodes = self._sources, self._nodes
        self._learn_columns()
        current = [tree for flavor, tree in self._trees.items() if flavor not in self._stale]
        changes = nodes.take() if current else nodes.settle()
        touched = sources.classes.touched(nodes.facts)
        if current:
            changes += [Change(name, nodes.facts[name], nodes.facts[name]) for name in touched]
        if changes:
            self._stale.update(tree.flavor for tree in current if not tree.apply(sources, changes))
        if self._stale:
            stale, self._stale = self._stale, set()
            self._build(sorted(stale))
        sources.classes.fill()

    def rebuild(self, flavor: str) -> None:
        """Build the tree of a flavor anew at the next refresh."""
        if flavor in self._trees:
            self._stale.add(flavor)

    # Rows for workloads

    def pods_row(self, pod: PodSpec) -> int:
        """The row of the pod table for pods of this spec. Raises InputError for a bad quantity. Source: TP-501."""
        return self._pods.row(pod_amounts(pod))

    def filter_row(self, pod: PodSpec, flavor: str, updates: Updates = NO_UPDATES) -> int:
        """The row of `match` for pods of this spec in a flavor with a tree; -1 if their demands cannot be read.

        `updates` come from `merge_updates`. A new row is written by the next refresh. Source: TP-702.
        """
        found = self._filter(pod, flavor, updates)
        return found if isinstance(found, int) else NONE

    def why_no_filter(self, pod: PodSpec, flavor: str, updates: Updates = NO_UPDATES) -> str:
        """Upstream's words for why `filter_row` has none."""
        found = self._filter(pod, flavor, updates)
        return found if isinstance(found, str) else ""

    def place(self, flavor: str, values: Sequence[str]) -> int:
        """The number of a domain, by its values in a TopologyAssignment, in the space of a flavor's tree.

        Any values have one, be there such a leaf or not; -1 if the flavor has no tree. Source: TP-403, TP-509.
        """
        tree = self._trees.get(flavor)
        return NONE if tree is None else self._sources.places.intern(tree.space, domain_id(values))

    def places(self, flavor: str, domains: Iterable[Domain]) -> NDArray[np.int32]:
        """int32 [domain]: `place` of each domain of an assignment, for a flavor with a tree."""
        ids = [domain_id(values) for values, _ in domains]
        return self._sources.places.intern_all(self._trees[flavor].space, ids)

    def place_value(self, place: int) -> str:
        """The first value of a domain, which is the host name in hostname topologies."""
        return self._sources.places.id_of(place).partition(",")[0]

    def level_key(self, label: str) -> int:
        """The number of a level's label."""
        return self._keys.intern(label)

    def level_label(self, key: int) -> str:
        """The label of a level's number."""
        return self._keys[key]

    # What decisions are made of

    def exists(self, flavor: str) -> bool:
        """Whether a flavor has a tree: it names a Topology, and that is there. Source: TP-505."""
        return flavor in self._trees

    def flavors(self) -> list[str]:
        """The flavors with a tree, in order of their names. Source: TP-1101."""
        return sorted(self._trees)

    def topology_of(self, flavor: str) -> str:
        """The name of the Topology of a flavor with a tree."""
        return self._trees[flavor].spec.topology

    def levels_of(self, flavor: str) -> Path:
        """The levels of a flavor's tree, from the top."""
        return self._trees[flavor].spec.levels

    def assignment_levels(self, flavor: str) -> Path:
        """The levels that an assignment writes: only the hostname if a leaf is a host. Source: TP-812."""
        spec = self._trees[flavor].spec
        return (HOSTNAME,) if spec.by_host else spec.levels

    def values(self, place: int) -> Path:
        """The values of a place as an assignment writes them."""
        return tuple(self._sources.places.id_of(place).split(","))

    def levels(self, flavor: int) -> Path:
        """`assignment_levels` by the flavor's number."""
        return self.assignment_levels(self._tables.flavor_names[flavor])

    def values_of(self, flavor: str, leaf: int) -> Path:
        """The values of a leaf as an assignment writes them. Source: TP-812."""
        tree = self._trees[flavor]
        path = tree.paths[leaf]
        return path[-1:] if tree.spec.by_host else path

    def domains_of(self, flavor: str, leaves: Iterable[int], counts: Iterable[int]) -> list[Domain]:
        """The domains of an assignment, by leaves and the pods in each. Source: TP-812."""
        tree = self._trees[flavor]
        paths = tree.paths
        if tree.spec.by_host:
            return [(paths[leaf][-1:], count) for leaf, count in zip(leaves, counts, strict=True)]
        return [(paths[leaf], count) for leaf, count in zip(leaves, counts, strict=True)]

    def exclusions(self, excluded: Sequence[int], codes: int) -> dict[str, int]:
        """Leaves by the key under which the message counts them.

        `excluded` is the kernel's: by code of `match` (the first `codes` entries), by limiting resource, and last by
        the restriction to a domain. Source: TP-1001.
        """
        found: dict[str, int] = {}
        for entry, count in enumerate(excluded):
            if not count:
                continue
            if entry < codes:
                key = self.exclusion_key(entry, "")
            elif entry < len(excluded) - 1:
                key = self.exclusion_key(BY_RESOURCE, self._tables.resource_names[entry - codes])
            else:
                key = self.exclusion_key(OUTSIDE_DOMAIN, "")
            found[key] = int(count)
        return found

    def exclusion_key(self, exclusion: int, resource: str) -> str:
        """The key under which the message counts leaves that one kind of exclusion took.

        `exclusion`: a code of `match`, -1 for the limiting `resource`, -2 for the restriction to a domain.
        """
        if exclusion >= 0:
            return self._sources.classes.exclusion_key(exclusion)
        return resource_key(resource) if exclusion == BY_RESOURCE else TOPOLOGY_DOMAIN

    def matching_flavors(self, labels: dict[str, str]) -> list[str]:
        """The flavors to whose trees a node with these labels belongs, ready or not. Source: TP-1903."""
        return [flavor for flavor, tree in self._trees.items() if tree.is_member(labels)]

    def _settle(self, flavor: str) -> bool:
        """Make or drop the tree of a flavor; whether that changed anything."""
        spec = self._flavors.get(flavor)
        levels = self._levels.get(spec.topology_name or "") if spec is not None else None
        if spec is None or levels is None:
            if self._trees.pop(flavor, None) is None:
                return False
            self._stale.discard(flavor)
            self._sources.kernel.drop(self._tables.flavor(flavor))
        elif flavor in self._trees:
            return False
        else:
            told = TreeSpec(spec.topology_name or "", levels, spec.node_labels or {}, spec.tolerations or ())
            keys = [self._keys.intern(level) for level in levels]
            row = self._tables.flavor(flavor)
            self._trees[flavor] = TopologyTree(row, flavor, told, keys, self._overlapping)
            self._stale.add(flavor)
        self._rank()
        return True

    def _rank(self) -> None:
        """Flavors are looked at in the order of their names. Source: TP-1101."""
        self._ranks = self.flavors()
        for rank, flavor in enumerate(self._ranks):
            if flavor not in self._stale:
                self._sources.kernel.set_rank(self._trees[flavor].row, rank)

    def _learn_columns(self) -> None:
        """New resources get columns; trees are built anew if nodes have anything to say of them."""
        columns = self._sources.columns
        if len(columns) == len(self._tables.resource_names):
            return
        for name, column in self._tables.resource_names.items():
            if name not in columns:
                columns[name] = column
                if name in self._nodes.offered:
                    self._stale.update(self._trees)

    def _build(self, flavors: Iterable[str]) -> None:
        """Build trees, in one walk over all nodes."""
        trees = [(self._trees[flavor], self._ranks.index(flavor)) for flavor in flavors]
        members: list[tuple[list[str], list[NodeFacts]]] = [([], []) for _ in trees]
        keys = tuple({key for tree, _ in trees for key in tree.spec.node_labels})
        # Nodes with the same values for all labels of flavors belong to the same flavors.
        gathered: dict[tuple[str, ...], list[tuple[list[str], list[NodeFacts]]]] = {}
        for name, facts in self._nodes.facts.items():
            get = facts.labels.get
            values = tuple([get(key, "") for key in keys])
            groups = gathered.get(values)
            if groups is None:
                told = dict(zip(keys, values, strict=True))
                groups = gathered[values] = [
                    group
                    for group, (tree, _) in zip(members, trees, strict=True)
                    if all(told[key] == value for key, value in tree.spec.node_labels.items())
                ]
            for names, each in groups:
                names.append(name)
                each.append(facts)
        for (tree, rank), (names, each) in zip(trees, members, strict=True):
            tree.build(self._sources, rank, names, each)

    def _filter(self, pod: PodSpec, flavor: str, updates: Updates) -> int | str:
        spec = self._trees[flavor].spec
        key = _encode(
            (pod.node_selector, pod.affinity, pod.tolerations, spec.tolerations, updates, spec.by_host)
        )
        found = self._filters.get(key)
        if found is None:
            try:
                asked = node_filter(
                    pod,
                    spec.tolerations,
                    updates,
                    by_host=spec.by_host,
                    prefers_affinity=self._prefers_affinity,
                )
            except NodeFilterError as error:
                found = str(error)
            else:
                found = self._sources.classes.add_filter(asked) if spec.by_host else ALL_PASS
            self._filters[key] = found
        return found
