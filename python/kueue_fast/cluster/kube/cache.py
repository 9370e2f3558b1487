"""What is known of a live cluster: objects as the watches brought them, and listeners that hear of every change.

Reading is as on the embedded cluster. Nothing else writes here: what we decided comes back through the watches.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from kueue_fast.cluster.changes import Change, Key, Listener, WatchEvent, key_of
from kueue_fast.cluster.index import ObjectIndex

__all__ = ["ObjectCache"]


class ObjectCache(ObjectIndex):
    """Objects by kind, namespace and name, each as new as its kind's watch."""

    def __init__(self) -> None:
        super().__init__()
        self._listeners: list[tuple[str | None, Listener]] = []

    def watch(self, kind: str | None, listener: Listener) -> None:
        """Call `listener` for every later change of `kind` (None: of any kind), in the order of registration.

        It is called from the event loop's thread, in the order of the API server, and has to be quick.
        """
        self._listeners.append((kind, listener))

    def put(self, obj: Any) -> None:
        """An object as a watch brought it. One with another uid is another object: the old one is gone first."""
        key = key_of(obj)
        old = self._objects.get(key[0], {}).get(key)
        if old is not None and old.metadata.uid != obj.metadata.uid:
            self.remove(key)
            old = None
        if old is not None and old.metadata.resource_version == obj.metadata.resource_version:
            return
        self._put(key, old, obj)
        change = Change.ADDED if old is None else Change.MODIFIED
        self._emit(WatchEvent(change, obj, old))

    def remove(self, key: Key, last: Any | None = None) -> None:
        """An object is gone; `last` is its last state where the watch told it. Nothing happens if it is not known."""
        old = self._objects.get(key[0], {}).get(key)
        if old is None:
            return
        self._drop(key, old)
        self._emit(WatchEvent(Change.DELETED, old if last is None else last, None))

    def replace(self, kind: str, objects: Iterable[Any], unread: Collection[Key] = ()) -> None:
        """All objects of a kind as a list brought them: what is missing is gone, but for what could not be read."""
        listed = {key_of(obj): obj for obj in objects}
        for key in [key for key in self._objects.get(kind, ()) if key not in listed and key not in unread]:
            self.remove(key)
        for obj in listed.values():
            self.put(obj)

    def _emit(self, event: WatchEvent) -> None:
        kind = event.object.KIND
        for wanted, listener in self._listeners:
            if wanted is None or wanted == kind:
                listener(event)
