"""What is known of a live cluster: objects as the watches brought them, and listeners that hear of every change.

Reading is as on the embedded cluster. What we write ourselves is taken from the server's answer, which comes before the
watch tells it: whoever writes next starts from that, not from an object that is outdated already.
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
        # Resource versions of answers that the watch has not come to yet.
        self._ahead: dict[Key, int] = {}

    def watch(self, kind: str | None, listener: Listener) -> None:
        """Call `listener` for every later change of `kind` (None: of any kind), in the order of registration.

        It is called from the event loop's thread, in the order of the API server, and has to be quick.
        """
        self._listeners.append((kind, listener))

    def put(self, obj: Any) -> None:
        """An object as a watch brought it. One with another uid is another object: the old one is gone first."""
        key = key_of(obj)
        ahead = self._ahead.get(key)
        if ahead is not None:
            version = _number(obj.metadata.resource_version)
            if version is not None and version < ahead:
                return
            del self._ahead[key]
        old = self._objects.get(key[0], {}).get(key)
        if old is not None and old.metadata.uid != obj.metadata.uid:
            self.remove(key)
            old = None
        if old is not None and old.metadata.resource_version == obj.metadata.resource_version:
            return
        self._put(key, old, obj)
        change = Change.ADDED if old is None else Change.MODIFIED
        self._emit(WatchEvent(change, obj, old))

    def answered(self, obj: Any) -> None:
        """An object as the server gave it back after a write of ours.

        Passed over if the watch brought something newer, or that it is gone: only the watch lets an object begin. So is
        a version that cannot be compared.
        """
        key = key_of(obj)
        old = self._objects.get(key[0], {}).get(key)
        if old is None or old.metadata.uid != obj.metadata.uid:
            return
        known, version = (_number(each.metadata.resource_version) for each in (old, obj))
        if known is None or version is None or version <= known:
            return
        self.put(obj)
        self._ahead[key] = version

    def remove(self, key: Key, last: Any | None = None) -> None:
        """An object is gone; `last` is its last state where the watch told it. Nothing happens if it is not known."""
        self._ahead.pop(key, None)
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
        for key, obj in listed.items():
            # A list is the truth even where it goes back, as after a backup was restored.
            self._ahead.pop(key, None)
            self.put(obj)

    def _emit(self, event: WatchEvent) -> None:
        kind = event.object.KIND
        for wanted, listener in self._listeners:
            if wanted is None or wanted == kind:
                listener(event)


def _number(version: str | None) -> int | None:
    """A resource version as a number, by which those of one kind can be compared; None if it is none."""
    return int(version) if version is not None and version.isdecimal() else None
