"""The objects that are known, by kind, by uid and by owner: what the embedded cluster and a live one let others read.

Objects are values: whoever changes one makes a copy, so that a reader may keep what it was given.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kueue_fast.cluster.changes import Key

__all__ = ["ObjectIndex"]


class ObjectIndex:
    """Objects by kind in the order in which they came, with their owners."""

    def __init__(self) -> None:
        self._objects: dict[str, dict[Key, Any]] = {}
        self._by_uid: dict[str, Key] = {}
        self._dependents: dict[str, dict[Key, None]] = {}

    def get(self, kind: str, namespace: str | None, name: str) -> Any | None:
        """The object, or None."""
        objects = self._objects.get(kind)
        return None if objects is None else objects.get((kind, namespace or "", name))

    def is_outdated(self, obj: Any) -> bool:
        """Whether the object has changed since, and is still there: a watch brings the change."""
        current = self.get(obj.KIND, obj.metadata.namespace, obj.metadata.name)
        return current is not None and current.metadata.resource_version != obj.metadata.resource_version

    def by_uid(self, uid: str) -> Any | None:
        """The object that carries this uid, or None."""
        key = self._by_uid.get(uid)
        return None if key is None else self._objects[key[0]][key]

    def list(self, kind: str, namespace: str | None = None) -> Iterator[Any]:
        """Objects of a kind in the order of creation, of one namespace when it is given."""
        for key, obj in self._objects.get(kind, {}).items():
            if namespace is None or key[1] == namespace:
                yield obj

    def kinds(self) -> tuple[str, ...]:
        """Kinds of which there is, or was, an object, in the order in which the first one came."""
        return tuple(self._objects)

    def count(self, kind: str) -> int:
        """Number of objects of a kind."""
        return len(self._objects.get(kind, ()))

    def dependents(self, uid: str, kind: str | None = None) -> Iterator[Any]:
        """Objects with an owner reference to `uid`, in the order in which they came to have it; of a kind if given."""
        for key in self._dependents.get(uid, ()):
            if kind is None or key[0] == kind:
                yield self._objects[key[0]][key]

    def _put(self, key: Key, old: Any | None, new: Any) -> None:
        """Keep `new`, in the place of `old` when there is one."""
        if old is None or old.metadata.owner_references != new.metadata.owner_references:
            if old is not None:
                self._unlink(key, old)
            for owner in new.metadata.owner_references or ():
                self._dependents.setdefault(owner.uid, {})[key] = None
        if old is not None and old.metadata.uid != new.metadata.uid:
            self._forget_uid(key, old)
        self._objects.setdefault(key[0], {})[key] = new
        self._by_uid[new.metadata.uid] = key

    def _drop(self, key: Key, obj: Any) -> None:
        """Forget an object that is kept."""
        del self._objects[key[0]][key]
        self._forget_uid(key, obj)
        self._unlink(key, obj)

    def _forget_uid(self, key: Key, obj: Any) -> None:
        if self._by_uid.get(obj.metadata.uid) == key:
            del self._by_uid[obj.metadata.uid]

    def _unlink(self, key: Key, obj: Any) -> None:
        for owner in obj.metadata.owner_references or ():
            followers = self._dependents.get(owner.uid)
            if followers is not None:
                followers.pop(key, None)
                if not followers:
                    del self._dependents[owner.uid]
