"""The embedded cluster: objects, versions, watches and garbage collection in memory.

It keeps what Kueue relies on from an API server and no more: uids and resource versions, a generation that
counts spec changes, the status subresource, finalizers, deletion of dependents by owner reference, and watches
that deliver every change once, in order. Objects are treated as values: whoever changes one makes a copy, so
that a listener may keep what it was given.

Everything is deterministic: uids and resource versions are counters, times come from the clock that is passed in.
"""

from __future__ import annotations

import enum
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeAlias

import msgspec

from kueue_fast.api.meta import ObjectMeta
from kueue_fast.errors import KueueFastError
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

# (kind, namespace or "", name)
Key: TypeAlias = tuple[str, str, str]


class ClusterError(KueueFastError):
    """The cluster refused a request."""


class NotFoundError(ClusterError):
    """The object does not exist (404)."""


class AlreadyExistsError(ClusterError):
    """An object of that kind and name exists (409)."""


class ConflictError(ClusterError):
    """The object was changed by someone else in between (409)."""


class Change(enum.Enum):
    """What a watch reports, in the words of the Kubernetes API."""

    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"


class WatchEvent(NamedTuple):
    """One change: the object after it (for DELETED the last state) and, for MODIFIED, before it."""

    change: Change
    object: Any
    old: Any | None


Listener: TypeAlias = Callable[[WatchEvent], None]


def key_of(obj: Any) -> Key:
    """Key of an object: its kind, its namespace ("" when it has none) and its name."""
    metadata = obj.metadata
    return obj.KIND, metadata.namespace or "", metadata.name


def describe(key: Key) -> str:
    """`Kind namespace/name` for messages."""
    kind, namespace, name = key
    return f"{kind} {namespace}/{name}" if namespace else f"{kind} {name}"


class MemoryCluster:
    """An in-memory API server on a virtual clock.

    `now` returns the time in nanoseconds since 1970. creationTimestamp and deletionTimestamp are cut to whole
    seconds, as in Kubernetes, where the order of what was created within one second is decided by other keys;
    the uids that are given out here ascend, so that this order is the order of creation.
    """

    def __init__(self, now: Callable[[], int]) -> None:
        self._now = now
        self._objects: dict[str, dict[Key, Any]] = {}
        self._by_uid: dict[str, Key] = {}
        self._dependents: dict[str, dict[Key, None]] = {}
        self._listeners: list[tuple[str | None, Listener]] = []
        self._outbox: deque[WatchEvent] = deque()
        self._delivering = False
        self._uids = 0
        self._resource_version = 0

    def watch(self, kind: str | None, listener: Listener) -> None:
        """Call `listener` for every later change of `kind` (None: of any kind), in the order of registration.

        A listener may write to the cluster; what follows from it is delivered after the event at hand.
        """
        self._listeners.append((kind, listener))

    def relist(self, kind: str, listener: Listener) -> None:
        """Call `listener` for every object of a kind as for a new one, in the order of creation.

        So hears one who has just begun to watch, or has forgotten what it heard.
        """
        for obj in list(self.list(kind)):
            listener(WatchEvent(Change.ADDED, obj, None))

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

    def dependents(self, uid: str) -> Iterator[Any]:
        """Objects with an owner reference to `uid`, in the order in which they came to have it."""
        for key in self._dependents.get(uid, ()):
            yield self._objects[key[0]][key]

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
        objects[key] = stored
        self._by_uid[uid] = key
        self._link(key, stored)
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
        if new.metadata.owner_references != old.metadata.owner_references:
            self._unlink(key, old)
            self._link(key, new)
        self._objects[key[0]][key] = new
        if new.metadata.deletion_timestamp and not new.metadata.finalizers:
            self._remove(key, new)
        else:
            self._emit(WatchEvent(Change.MODIFIED, new, old))
        return new

    def _remove(self, key: Key, obj: Any) -> None:
        del self._objects[key[0]][key]
        uid = obj.metadata.uid
        self._by_uid.pop(uid, None)
        self._unlink(key, obj)
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

    def _link(self, key: Key, obj: Any) -> None:
        for owner in obj.metadata.owner_references or ():
            self._dependents.setdefault(owner.uid, {})[key] = None

    def _unlink(self, key: Key, obj: Any) -> None:
        for owner in obj.metadata.owner_references or ():
            followers = self._dependents.get(owner.uid)
            if followers is not None:
                followers.pop(key, None)
                if not followers:
                    del self._dependents[owner.uid]

    def _emit(self, event: WatchEvent) -> None:
        self._outbox.append(event)
        if not self._delivering:
            self._deliver()

    def _deliver(self) -> None:
        self._delivering = True
        try:
            while self._outbox:
                event = self._outbox.popleft()
                kind = event.object.KIND
                for wanted, listener in self._listeners:
                    if wanted is None or wanted == kind:
                        listener(event)
        finally:
            # A listener that failed ends the run; what it left behind must not come out at the next write.
            self._delivering = False
            self._outbox.clear()
