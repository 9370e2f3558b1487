"""The tree of one flavor: which domain is where, built whole or changed leaf by leaf. Source: TP-402, TP-403, TP-404."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import itemgetter
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from kueue_fast.api.core import Toleration
from kueue_fast.api.topology_encoding import HOSTNAME
from kueue_fast.arrays.node_classes import NodeClasses
from kueue_fast.arrays.node_store import Change, NodeFacts, NodeStore
from kueue_fast.arrays.places import SHARED_HOSTS, Places
from kueue_fast.model.topology_nodes import belongs
from kueuecore import Topologies

Path: TypeAlias = tuple[str, ...]
"""Values of a domain, from the top level to its own."""

# More changes than this part of a tree, and building it anew is quicker.
_LARGE_PART = 8
_FEW = 64


class TreeSpec(NamedTuple):
    """What a flavor and its Topology say, as they were when the tree came up. Source: TP-505."""

    topology: str
    levels: Path
    node_labels: Mapping[str, str]
    tolerations: Sequence[Toleration]

    @property
    def by_host(self) -> bool:
        """Whether a leaf is a host."""
        return self.levels[-1] == HOSTNAME


class Sources(NamedTuple):
    """What all trees read and write."""

    kernel: Topologies
    nodes: NodeStore
    places: Places
    classes: NodeClasses
    columns: dict[str, int]
    """Resource -> column of a row."""


class _Leaf(NamedTuple):
    path: Path
    names: tuple[str, ...]  # of its nodes, sorted


def domain_id(values: Sequence[str]) -> str:
    """The identity of a domain of a TopologyAssignment among those of its space. Source: TP-403."""
    return ",".join(values)


class TopologyTree:
    """Domains of one flavor, and the kernel's tree of them.

    A leaf has the path of its node with the lowest name; in a hostname topology the host name alone is its identity.
    A leaf that loses its last node keeps its number until the tree is built again.
    """

    def __init__(self, row: int, flavor: str, spec: TreeSpec, level_keys: Sequence[int], overlapping: bool) -> None:
        self.row = row
        self.spec = spec
        self.space = SHARED_HOSTS if spec.by_host and overlapping else f"flavor/{flavor}"
        self.paths: list[Path] = []
        """[leaf] its values from the top; sorted, so that the number of a leaf is its order."""
        self._level_keys = np.array(level_keys, np.int32)
        self._domains: list[list[Path]] = []  # [level above the leaves][domain], sorted
        self._leaves: dict[str, _Leaf] = {}  # by id; those with nodes
        self._dead: dict[str, Path] = {}  # leaves without nodes, which keep their place in the kernel's tree
        self._path = _path_getter(spec.levels)

    def is_member(self, labels: Mapping[str, str]) -> bool:
        """Whether a node with these labels is in the tree. Source: TP-402."""
        return belongs(labels, self.spec.node_labels, self.spec.levels)

    def build(self, sources: Sources, rank: int, names: Sequence[str]) -> None:
        """Replace the kernel's tree by one of these nodes; they have the flavor's labels, but perhaps not all levels."""
        by_host = self.spec.by_host
        names, paths = self._members(sources.nodes.facts, names)
        ids = self._ids(paths)
        if by_host and len(set(ids)) < len(ids):
            self._share_paths(names, ids, paths)
        keys = ["\0".join(path) for path in paths]
        several = len(set(keys)) < len(keys)
        # Values hold no NUL, so the order of the joined texts is that of the values.
        sorting: Sequence[object] = list(zip(keys, names, strict=True)) if several else keys
        order = sorted(range(len(keys)), key=sorting.__getitem__)  # type: ignore[arg-type]
        names = [names[place] for place in order]
        paths = [paths[place] for place in order]
        ids = [ids[place] for place in order]
        if several:
            starts = np.array(
                [place for place in range(len(paths)) if place == 0 or paths[place] != paths[place - 1]], np.intp
            )
            ends = [*starts.tolist()[1:], len(names)]
            groups = [tuple(names[start:end]) for start, end in zip(starts.tolist(), ends, strict=True)]
            paths = [paths[start] for start in starts.tolist()]
            ids = [ids[start] for start in starts.tolist()]
        else:
            starts = np.arange(len(names))
            groups = list(zip(names, strict=True))
        self.paths = paths
        self._leaves = dict(zip(ids, map(_Leaf, paths, groups), strict=True))
        self._dead = {}
        width = sources.kernel.width
        sources.kernel.build(
            self.row,
            rank,
            by_host,
            self._level_keys,
            self._parents(),
            sources.places.intern_all(self.space, ids),
            self._classes(sources, groups),
            np.diff(starts, append=len(names)).astype(np.int32),
            sources.nodes.rooms(names, starts, sources.columns, width),
        )

    def apply(self, sources: Sources, changes: Sequence[Change]) -> bool:
        """Write what changed, leaf by leaf; False if the tree must be built anew instead."""
        limit = max(_FEW, len(self.paths) // _LARGE_PART)
        touched: dict[str, None] = {}
        for change in changes:
            before, after = self._id_of(change.before), self._id_of(change.after)
            if before is not None:
                touched[before] = None
                if before != after:
                    self._leave(before, change.name)
            if after is not None:
                touched[after] = None
                if before != after:
                    self._enter(after, change.name)
        if len(touched) > limit:
            return False
        return all(self._write(sources, domain) for domain in touched) and len(self._dead) <= max(
            _FEW, len(self._leaves)
        )

    def _members(self, facts: Mapping[str, NodeFacts], names: Sequence[str]) -> tuple[Sequence[str], list[Path]]:
        """Those of the nodes that have all levels, and the path of each."""
        path = self._path
        try:
            return names, [path(facts[name].labels) for name in names]
        except KeyError:
            levels = self.spec.levels
            names = [name for name in names if all(level in facts[name].labels for level in levels)]
            return names, [path(facts[name].labels) for name in names]

    def _ids(self, paths: Sequence[Path]) -> list[str]:
        return [path[-1] for path in paths] if self.spec.by_host else list(map(domain_id, paths))

    def _share_paths(self, names: Sequence[str], ids: Sequence[str], paths: list[Path]) -> None:
        """Nodes with one host name take the path of the one with the lowest name. Source: TP-408."""
        first: dict[str, Path] = {}
        for place in sorted(range(len(names)), key=names.__getitem__):
            paths[place] = first.setdefault(ids[place], paths[place])

    def _parents(self) -> list[NDArray[np.int32]]:
        """[level] int32 [domain]: the domain above each; from the sorted paths of the leaves."""
        domains: list[list[Path]] = []
        below: Iterable[Path] = self.paths
        for depth in range(len(self.spec.levels) - 1, 0, -1):
            below = dict.fromkeys(path[:depth] for path in below)
            domains.insert(0, list(below))
        self._domains = domains
        levels = [*domains, self.paths]
        parents = [np.full(len(levels[0]), -1, np.int32)]
        for above, level in zip(levels, levels[1:], strict=False):
            number = dict(zip(above, range(len(above)), strict=True))
            parents.append(np.fromiter([number[path[:-1]] for path in level], np.int32, len(level)))
        return parents

    def _classes(self, sources: Sources, groups: Sequence[tuple[str, ...]]) -> NDArray[np.int32]:
        """int32 [leaf]: the class of the node that stands for it; 0 where leaves are no nodes. Source: TP-406."""
        if not self.spec.by_host:
            return np.zeros(len(groups), np.int32)
        class_of, facts = sources.classes.class_of, sources.nodes.facts
        return np.fromiter([class_of(facts[names[0]], names[0]) for names in groups], np.int32, len(groups))

    def _id_of(self, facts: NodeFacts | None) -> str | None:
        if facts is None or not self.is_member(facts.labels):
            return None
        path = self._path(facts.labels)
        return path[-1] if self.spec.by_host else domain_id(path)

    def _leave(self, domain: str, name: str) -> None:
        leaf = self._leaves[domain]
        self._leaves[domain] = leaf._replace(names=tuple(each for each in leaf.names if each != name))

    def _enter(self, domain: str, name: str) -> None:
        leaf = self._leaves.get(domain)
        if leaf is None:
            # The path is not looked at before `_write` has found the right one.
            self._leaves[domain] = _Leaf((), (name,))
        else:
            self._leaves[domain] = leaf._replace(names=tuple(sorted((*leaf.names, name))))

    def _write(self, sources: Sources, domain: str) -> bool:
        """Bring one leaf of the kernel's tree up to date; False if its place stands at another path there."""
        leaf = self._leaves[domain]
        kernel = sources.kernel
        if not leaf.names:
            del self._leaves[domain]
            if leaf.path:
                kernel.write_leaf(self.row, self._index(leaf.path), 0, 0, np.zeros(kernel.width, np.int64))
                self._dead[domain] = leaf.path
            return True
        facts = sources.nodes.facts[leaf.names[0]]
        path = self._path(facts.labels)
        known = leaf.path or self._dead.get(domain)
        if known and known != path:
            return False
        node_class = sources.classes.class_of(facts, leaf.names[0]) if self.spec.by_host else 0
        room = sources.nodes.room(leaf.names, sources.columns, kernel.width)
        self._leaves[domain] = leaf._replace(path=path)
        index = self._index(path)
        if known:
            self._dead.pop(domain, None)
            kernel.write_leaf(self.row, index, node_class, len(leaf.names), room)
        else:
            place = sources.places.intern(self.space, domain)
            positions, new_from = self._make_way(path, index)
            kernel.insert_leaf(self.row, positions, new_from, place, node_class, len(leaf.names), room)
        return True

    def _index(self, path: Path) -> int:
        return bisect_left(self.paths, path)

    def _make_way(self, path: Path, index: int) -> tuple[NDArray[np.int32], int]:
        """Insert the domains of a new leaf's path: their numbers, and the first level of which one is new."""
        positions = []
        new_from = len(path) - 1
        for level in range(len(path) - 2, -1, -1):
            domains = self._domains[level]
            prefix = path[: level + 1]
            place = bisect_left(domains, prefix)
            if place == len(domains) or domains[place] != prefix:
                domains.insert(place, prefix)
                new_from = level
            positions.append(place)
        self.paths.insert(index, path)
        return np.array([*reversed(positions), index], np.int32), new_from


def _path_getter(levels: Path) -> Callable[[Mapping[str, str]], Path]:
    """A function from labels to the values of these levels; KeyError for a level that is not there."""
    if len(levels) == 1:
        (only,) = levels
        return lambda labels: (labels[only],)
    return itemgetter(*levels)
