"""What watches report, the same from the embedded cluster and from a live one."""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

__all__ = ["Change", "Key", "Listener", "WatchEvent", "describe", "key_of"]

# (kind, namespace or "", name)
Key: TypeAlias = tuple[str, str, str]


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
