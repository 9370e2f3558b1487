"""The embedded cluster: objects, versions, watches and garbage collection in memory.

It keeps what Kueue relies on from an API server and no more: uids and resource versions, a generation that
counts spec changes, the status subresource, finalizers, deletion of dependents by owner reference, and watches
that deliver every change once, in order. Objects are treated as values: whoever changes one makes a copy, so
that a listener may keep what it was given.

Everything is deterministic: uids and resource versions are counters, times come from the clock that is passed in.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import msgspec

from kueue_fast.api.meta import ObjectMeta
from kueue_fast.cluster.changes import Change, Key, Listener, WatchEvent, describe, key_of
from kueue_fast.cluster.errors import AlreadyExistsError, ClusterError, ConflictError, NotFoundError
from kueue_fast.cluster.index import ObjectIndex
from kueue_fast.model import times

__all__ = [
    "AlreadyExistsError",
    "Change",
    "ClusterError",
    "ConflictError",
    "MemoryCluster",
    "NotFoundError",
    "WatchEvent",
    "key_of",
]

NANOSECONDS = 1_000_000_000


class MemoryCluster(ObjectIndex):
    """An in-memory API server on a virtual clock.

    `now` returns the time in nanoseconds since 1970. creationTimestamp and deletionTimestamp are cut to whole
    seconds, as in Kubernetes, where the order of what was created within one second is decided by other keys;
    the uids that are given out here ascend, so that this order is the order of creation.
    """

    def __init__(self, now: Callable[[], int]) -> None:
        super().__init__()
        self._now = now
        self._listeners: list[tuple[str | None, Listener]] = []
        # Those of a kind, once it was asked for: most listeners are for another kind than the event at hand.
        self._heard_by: dict[str, tuple[Listener, ...]] = {}
        self._outbox: deque[WatchEvent] = deque()
        self._delivering = False
        self._uids = 0
        self._resource_version = 0

    def watch(self, kind: str | None, listener: Listener) -> None:
        """Call `listener` for every later change of `kind` (None: of any kind), in the order of registration.

        A listener may write to the cluster; what follows from it is delivered after the event at hand.
        """
        self._listeners.append((kind, listener))
        self._heard_by.clear()

    def relist(self, kind: str, listener: Listener) -> None:
        """Call `listener` for every object of a kind as for a new one, in the order of creation.

        So hears one who has just begun to watch, or has forgotten what it heard.
        """
        for obj in list(self.list(kind)):
            listener(WatchEvent(Change.ADDED, obj, None))

    def create(self, obj: Any) -> Any:
        """Store a new object and return it with uid, resourceVersion, generation and creationTimestamp.

        A uid, generation or creationTimestamp that the object brings along is kept, and so is its status: manifests
        taken from a live cluster keep their order and their state.

        Raises AlreadyExistsError.
        """
        key = key_of(obj)
        objects = self._objects.setdefault(key[0], {})
        if key in objects:
            raise AlreadyExistsError(f"{describe(key)} already exists")
        metadata: ObjectMeta = obj.metadata
        self._resource_version += 1
        uid = metadata.uid
        if not uid:
            self._uids += 1
            uid = f"{self._uids:08x}-0000-4000-8000-{self._uids:012x}"
        stored = msgspec.structs.replace(
            obj,
            metadata=msgspec.structs.replace(
                metadata,
                uid=uid,
                resource_version=str(self._resource_version),
                generation=metadata.generation or 1,
                creation_timestamp=metadata.creation_timestamp or self._timestamp(),
            ),
        )
        self._put(key, None, stored)
        self._emit(WatchEvent(Change.ADDED, stored, None))
        return stored

    def update(self, obj: Any) -> Any:
        """Replace everything but the status; a change outside metadata raises the generation by one.

        Nothing happens when nothing differs. An object under deletion whose last finalizer goes is removed.

        Raises NotFoundError, and ConflictError when `obj` carries an older resourceVersion.
        """
        key, old = self._current(obj)
        changes: dict[str, Any] = {"metadata": old.metadata}
        if hasattr(old, "status"):
            changes["status"] = old.status
        spec_changed = msgspec.structs.replace(obj, **changes) != old
        wanted: ObjectMeta = obj.metadata
        metadata = msgspec.structs.replace(
            old.metadata,
            labels=wanted.labels,
            annotations=wanted.annotations,
            owner_references=wanted.owner_references,
            finalizers=wanted.finalizers,
        )
        if not spec_changed and metadata == old.metadata:
            return old
        if spec_changed:
            metadata.generation = (old.metadata.generation or 1) + 1
        changes["metadata"] = metadata
        return self._replace(key, old, msgspec.structs.replace(obj, **changes))

    def update_status(self, obj: Any) -> Any:
        """Replace the status only. Nothing happens when it is the same.

        Raises NotFoundError, and ConflictError when `obj` carries an older resourceVersion.
        """
        key, old = self._current(obj)
        if obj.status == old.status:
            return old
        return self._replace(
            key,
            old,
            msgspec.structs.replace(old, status=obj.status, metadata=msgspec.structs.replace(old.metadata)),
        )

    def delete(self, kind: str, namespace: str | None, name: str) -> None:
        """Delete an object, or mark it as being deleted while it has finalizers; dependents without another
        owner follow.

        Raises NotFoundError.
        """
        key = (kind, namespace or "", name)
        old = self._objects.get(kind, {}).get(key)
        if old is None:
            raise NotFoundError(f"{describe(key)} does not exist")
        if not old.metadata.finalizers:
            self._remove(key, old)
        elif not old.metadata.deletion_timestamp:
            metadata = msgspec.structs.replace(old.metadata, deletion_timestamp=self._timestamp())
            self._replace(key, old, msgspec.structs.replace(old, metadata=metadata))

    @contextmanager
    def together(self) -> Iterator[None]:
        """Writes made inside are all stored before anybody hears of the first one."""
        if self._delivering:
            yield
            return
        self._delivering = True
        try:
            yield
        except BaseException:
            self._outbox.clear()
            raise
        finally:
            self._delivering = False
        self._deliver()

    def _timestamp(self) -> str:
        now = self._now()
        return times.format(now - now % NANOSECONDS)

    def _current(self, obj: Any) -> tuple[Key, Any]:
        key = key_of(obj)
        old = self._objects.get(key[0], {}).get(key)
        if old is None:
            raise NotFoundError(f"{describe(key)} does not exist")
        seen = obj.metadata.resource_version
        if seen and seen != old.metadata.resource_version:
            raise ConflictError(
                f"{describe(key)} was changed since version {seen} was read; read it again and retry"
            )
        return key, old

    def _replace(self, key: Key, old: Any, new: Any) -> Any:
        """Store `new`, whose metadata belongs to it alone, under the next version."""
        self._resource_version += 1
        new.metadata.resource_version = str(self._resource_version)
        self._put(key, old, new)
        if new.metadata.deletion_timestamp and not new.metadata.finalizers:
            self._remove(key, new)
        else:
            self._emit(WatchEvent(Change.MODIFIED, new, old))
        return new

    def _remove(self, key: Key, obj: Any) -> None:
        self._drop(key, obj)
        uid = obj.metadata.uid
        self._resource_version += 1
        self._emit(WatchEvent(Change.DELETED, obj, None))
        # The index keeps what stays for its finalizers, so that whoever has to remove them finds it.
        for dependent in list(self._dependents.get(uid, ())):
            follower = self._objects.get(dependent[0], {}).get(dependent)
            if follower is None:
                continue
            owners = follower.metadata.owner_references or ()
            # Kubernetes keeps an object as long as one of its owners exists.
            if not any(owner.uid in self._by_uid for owner in owners):
                self.delete(*dependent)

    def _listeners_of(self, kind: str) -> tuple[Listener, ...]:
        heard = self._heard_by.get(kind)
        if heard is None:
            heard = tuple(
                listener for wanted, listener in self._listeners if wanted is None or wanted == kind
            )
            self._heard_by[kind] = heard
        return heard

    def _emit(self, event: WatchEvent) -> None:
        self._outbox.append(event)
        if not self._delivering:
            self._deliver()

    def _deliver(self) -> None:
        self._delivering = True
        try:
            while self._outbox:
                event = self._outbox.popleft()
                for listener in self._listeners_of(event.object.KIND):
                    listener(event)
        finally:
            # A listener that failed ends the run; what it left behind must not come out at the next write.
            self._delivering = False
            self._outbox.clear()
