"""Interning of names: one index a name, indices of forgotten names are given out again."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar

Name = TypeVar("Name", bound=Hashable)


class Names(Generic[Name]):
    """A two-way table of names and small integers."""

    def __init__(self) -> None:
        self._index: dict[Name, int] = {}
        self._names: list[Name | None] = []
        self._free: list[int] = []

    def __len__(self) -> int:
        """Number of indices given out so far, free ones included."""
        return len(self._names)

    def __contains__(self, name: Name) -> bool:
        return name in self._index

    def __getitem__(self, index: int) -> Name:
        name = self._names[index]
        if name is None:
            raise KeyError(index)
        return name

    def find(self, name: Name) -> int | None:
        """The index of a name, or None."""
        return self._index.get(name)

    def intern(self, name: Name) -> int:
        """The index of a name, a new one if it has none."""
        index = self._index.get(name)
        if index is None:
            if self._free:
                index = self._free.pop()
                self._names[index] = name
            else:
                index = len(self._names)
                self._names.append(name)
            self._index[name] = index
        return index

    def forget(self, name: Name) -> int:
        """Give the index of a name back. Raises KeyError for an unknown one."""
        index = self._index.pop(name)
        self._names[index] = None
        self._free.append(index)
        return index

    def items(self) -> list[tuple[Name, int]]:
        """Names and indices, in order of the names' first use."""
        return list(self._index.items())
