"""The tree of one flavor: which domain is where, built whole or changed leaf by leaf. Source: TP-402 to TP-404."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from itertools import compress
from operator import itemgetter, ne
from typing import NamedTuple, TypeAlias

import numpy as np
from kueuecore._topology import Topologies
from numpy.typing import NDArray

from kueue_fast.api.core import Toleration
from kueue_fast.api.topology_encoding import HOSTNAME
from kueue_fast.arrays.node_classes import NodeClasses
from kueue_fast.arrays.node_store import Change, NodeFacts, NodeStore
from kueue_fast.arrays.places import SHARED_HOSTS, Places
from kueue_fast.model.topology_nodes import belongs

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


_Leaf: TypeAlias = tuple[Path, tuple[str, ...]]
"""Path of a leaf, () before it is written, and the names of its nodes, sorted. Plain, as there are so many."""


def domain_id(values: Sequence[str]) -> str:
    """The identity of a domain of a TopologyAssignment among those of its space. Source: TP-403."""
    return ",".join(values)


class TopologyTree:
    """Domains of one flavor, and the kernel's tree of them.

    A leaf has the path of its node with the lowest name; in a hostname topology the host name alone is its identity.
    A leaf that loses its last node keeps its number until the tree is built again.
    """

    def __init__(
        self, row: int, flavor: str, spec: TreeSpec, level_keys: Sequence[int], overlapping: bool
    ) -> None:
        self.row = row
        self.flavor = flavor
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

    def build(self, sources: Sources, rank: int, names: Sequence[str], facts: Sequence[NodeFacts]) -> None:
        """Replace the kernel's tree. The nodes have the flavor's labels, but perhaps not all levels."""
        names, facts, paths = self._members(names, facts)
        ids = self._ids(paths)
        if self.spec.by_host and len(set(ids)) < len(ids):
            self._share_paths(names, ids, paths)
        # Values hold no NUL, so the order of the joined texts is that of the values.
        keys: Sequence[object] = list(map("\0".join, paths))
        if len(set(keys)) < len(keys):
            keys = list(zip(keys, names, strict=True))
        order = sorted(range(len(keys)), key=keys.__getitem__)  # type: ignore[arg-type]
        names = [names[place] for place in order]
        facts = [facts[place] for place in order]
        paths = [paths[place] for place in order]
        starts, parents = self._number(paths)
        heads = starts.tolist()
        groups: Sequence[tuple[str, ...]]
        if len(heads) == len(names):
            groups = list(zip(names, strict=True))
        else:
            groups = [
                tuple(names[start:end]) for start, end in zip(heads, [*heads[1:], len(names)], strict=True)
            ]
        self.paths = [paths[start] for start in heads]
        ids = self._ids(self.paths)
        self._leaves = dict(zip(ids, zip(self.paths, groups, strict=True), strict=True))
        self._dead = {}
        classes = np.zeros(len(heads), np.int32)
        if self.spec.by_host:
            sources.classes.classes_of(
                [facts[start] for start in heads], [names[start] for start in heads], classes
            )
        sources.kernel.build(
            self.row,
            rank,
            self.spec.by_host,
            self._level_keys,
            parents,
            sources.places.intern_all(self.space, ids),
            classes,
            np.diff(starts, append=len(names)).astype(np.int32),
            sources.nodes.rooms(names, facts, starts, sources.columns, sources.kernel.width),
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

    def _members(
        self, names: Sequence[str], facts: Sequence[NodeFacts]
    ) -> tuple[Sequence[str], Sequence[NodeFacts], list[Path]]:
        """Those of the nodes that have all levels, and the path of each."""
        levels = self.spec.levels
        labels = [each.labels for each in facts]
        try:
            columns = [[each[level] for each in labels] for level in levels]
        except KeyError:
            have = [all(level in each for level in levels) for each in labels]
            return self._members(list(compress(names, have)), list(compress(facts, have)))
        return names, facts, list(zip(*columns, strict=True))

    def _ids(self, paths: Sequence[Path]) -> list[str]:
        return [path[-1] for path in paths] if self.spec.by_host else list(map(domain_id, paths))

    def _share_paths(self, names: Sequence[str], ids: Sequence[str], paths: list[Path]) -> None:
        """Nodes with one host name take the path of the one with the lowest name. Source: TP-408."""
        first: dict[str, Path] = {}
        for place in sorted(range(len(names)), key=names.__getitem__):
            paths[place] = first.setdefault(ids[place], paths[place])

    def _number(self, paths: Sequence[Path]) -> tuple[NDArray[np.intp], list[NDArray[np.int32]]]:
        """From the sorted paths of all nodes: where each leaf begins, and [level] int32 [domain] the domain above."""
        count = len(paths)
        begins = np.zeros(count, bool)
        begins[:1] = True
        number = np.full(count, -1, np.int32)
        self._domains = []
        parents = []
        starts = np.zeros(0, np.intp)
        for level in range(len(self.spec.levels)):
            column = [path[level] for path in paths]
            begins[1:] |= np.fromiter(map(ne, column[1:], column), bool, max(count - 1, 0))
            starts = np.flatnonzero(begins)
            parents.append(number[starts])
            number = np.cumsum(begins, dtype=np.int32) - 1
            if level < len(self.spec.levels) - 1:
                self._domains.append([paths[start][: level + 1] for start in starts.tolist()])
        return starts, parents

    def _id_of(self, facts: NodeFacts | None) -> str | None:
        if facts is None or not self.is_member(facts.labels):
            return None
        path = self._path(facts.labels)
        return path[-1] if self.spec.by_host else domain_id(path)

    def _leave(self, domain: str, name: str) -> None:
        path, names = self._leaves[domain]
        self._leaves[domain] = path, tuple(each for each in names if each != name)

    def _enter(self, domain: str, name: str) -> None:
        path, names = self._leaves.get(domain, ((), ()))
        self._leaves[domain] = path, tuple(sorted((*names, name)))

    def _write(self, sources: Sources, domain: str) -> bool:
        """Bring one leaf of the kernel's tree up to date; False if its place stands at another path there."""
        written, names = self._leaves[domain]
        kernel = sources.kernel
        if not names:
            del self._leaves[domain]
            if written:
                kernel.write_leaf(self.row, self._index(written), 0, 0, np.zeros(kernel.width, np.int64))
                self._dead[domain] = written
            return True
        facts = sources.nodes.facts[names[0]]
        path = self._path(facts.labels)
        known = written or self._dead.get(domain)
        if known and known != path:
            return False
        node_class = sources.classes.class_of(facts, names[0]) if self.spec.by_host else 0
        room = sources.nodes.room(names, sources.columns, kernel.width)
        self._leaves[domain] = path, names
        index = self._index(path)
        if known:
            self._dead.pop(domain, None)
            kernel.write_leaf(self.row, index, node_class, len(names), room)
        else:
            place = sources.places.intern(self.space, domain)
            positions, new_from = self._make_way(path, index)
            kernel.insert_leaf(self.row, positions, new_from, place, node_class, len(names), room)
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
