"""Classes of nodes that no filter tells apart, and the matrix of filters and classes.

A class is its taints and what the filters so far look at in labels and name: the values that they name, and no others.
So a thousand host names make one class until a filter asks for one of them, which then becomes a class of its own.
Source: TP-702, TP-707.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

import numpy as np
from kueuecore._topology import Topologies
from numpy.typing import NDArray

from kueue_fast.api.core import Taint
from kueue_fast.arrays.names import Names
from kueue_fast.arrays.node_store import NodeFacts
from kueue_fast.model.node_filter import BY_AFFINITY, BY_SELECTOR, LooksAt, NodeFilter

Seen: TypeAlias = tuple[tuple[str, str], ...]
"""Pairs of a label and a value that filters look at, in the order in which they began to; "" is the node's name."""

_NAME: Final = ""
# Stands for every value that no filter names; no label and no node can have it.
_OTHER: Final = "\0"
ALL_PASS: Final = 0
"""The filter of trees whose leaves are no nodes: it excludes nothing."""


class NodeClasses:
    """Interns classes and filters, and fills what is new in the kernel's `match` and `score`."""

    def __init__(self, topologies: Topologies, taint_lists: Sequence[tuple[Taint, ...]]) -> None:
        self._topologies = topologies
        self._taint_lists = taint_lists
        self._classes: Names[tuple[int, Seen]] = Names()
        self._filters: list[NodeFilter | None] = [None]
        # Code 0 of `match` excludes nothing; the kernel's first two reasons have codes 1 and 2.
        self._exclusions: Names[str] = Names()
        self._exclusions.intern(BY_SELECTOR)
        self._exclusions.intern(BY_AFFINITY)
        # What filters look at. None in place of values: every value counts.
        self._values: dict[str, set[str] | None] = {}
        self._presence: set[str] = set()
        self._names: set[str] = set()
        # What they look at only since `touched` was last asked.
        self._new_values: dict[str, set[str] | None] = {}
        self._new_names: set[str] = set()
        self._filled = (0, 0)

    def class_of(self, facts: NodeFacts, name: str) -> int:
        """The class of a node."""
        seen = self._see(facts.labels, name) if self._values or self._names else ()
        return self._classes.intern((facts.taints, seen))

    def classes_of(self, facts: Sequence[NodeFacts], names: Sequence[str], into: NDArray[np.int32]) -> None:
        """The classes of many nodes, written into an array of their length."""
        if self._values or self._names:
            into[:] = [self.class_of(each, name) for each, name in zip(facts, names, strict=True)]
        else:
            taints = [each.taints for each in facts]
            classes = {number: self._classes.intern((number, ())) for number in set(taints)}
            into[:] = [classes[number] for number in taints]

    def add_filter(self, asked: NodeFilter) -> int:
        """A new row of `match`; `fill` writes it."""
        self._look(asked.looks_at())
        self._filters.append(asked)
        return len(self._filters) - 1

    def touched(self, nodes: Mapping[str, NodeFacts]) -> list[str]:
        """Nodes that may be in another class since filters were added; each is told once."""
        values, names = self._new_values, self._new_names
        self._new_values, self._new_names = {}, set()
        found = dict.fromkeys(name for name in names if name in nodes)
        for key, told in values.items():
            if told is None:
                found |= dict.fromkeys([name for name, facts in nodes.items() if key in facts.labels])
            else:
                found |= dict.fromkeys(
                    [name for name, facts in nodes.items() if facts.labels.get(key) in told]
                )
        return list(found)

    def fill(self) -> None:
        """Write the answers of new filters and for new classes."""
        filters, classes = len(self._filters), len(self._classes)
        old_filters, old_classes = self._filled
        if (filters, classes) == self._filled:
            return
        rows, columns = np.asarray(self._topologies.match).shape
        if filters > rows or classes > columns:
            self._topologies.grow_match(
                max(filters, 2 * rows if filters > rows else rows),
                max(classes, 2 * columns if classes > columns else columns),
            )
        match, score = np.asarray(self._topologies.match), np.asarray(self._topologies.score)
        for (taints, seen), node_class in self._classes.items():
            labels = dict(seen)
            name = labels.pop(_NAME, _OTHER)
            first = 0 if node_class >= old_classes else old_filters
            for row, asked in enumerate(self._filters[first:], first):
                if asked is None:
                    continue
                excluded = asked.exclusion(self._taint_lists[taints], labels, name)
                match[row, node_class] = 0 if excluded is None else 1 + self._exclusions.intern(excluded)
                if asked.preferred:
                    score[row, node_class] = asked.score(labels, name)
        self._filled = (filters, classes)

    def exclusion_key(self, code: int) -> str:
        """The key of the message for a code of `match` other than 0."""
        return self._exclusions[code - 1]

    def _see(self, labels: Mapping[str, str], name: str) -> Seen:
        seen: list[tuple[str, str]] = []
        for key, told in self._values.items():
            value = labels.get(key)
            if value is None:
                continue
            if told is None or value in told:
                seen.append((key, value))
            elif key in self._presence:
                seen.append((key, _OTHER))
        if name in self._names:
            seen.append((_NAME, name))
        return tuple(seen)

    def _look(self, at: LooksAt) -> None:
        for key in at.numbers:
            if self._values.get(key, ()) is not None:
                self._values[key] = self._new_values[key] = None
        for key, values in at.values.items():
            known = self._values.setdefault(key, set())
            new = set() if known is None else values - known
            if known is not None and new:
                known |= new
                told = self._new_values.setdefault(key, set())
                if told is not None:
                    told |= new
        for key in at.presence - self._presence:
            self._presence.add(key)
            self._values.setdefault(key, set())
            self._new_values[key] = None
        new_names = at.names - self._names
        self._names |= new_names
        self._new_names |= new_names
