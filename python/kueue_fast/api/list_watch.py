"""Answers of an API server to LIST and WATCH: typed objects, and apart from them what cannot be read.

One object that makes no sense must not hide the others: it comes out with the error that says why, and with enough of
its identity to tell which one it was.
"""

from __future__ import annotations

from typing import Any, Generic, NamedTuple, TypeVar

import msgspec

from kueue_fast.api.decode import KINDS, decode_item, finish
from kueue_fast.api.meta import KubernetesObject
from kueue_fast.errors import InputError

__all__ = ["Bookmark", "Changed", "Failed", "Page", "Undecodable", "WatchMessage", "read_event", "read_page"]

T = TypeVar("T")


class Undecodable(NamedTuple):
    """An object that cannot be read, and why; what is not known of it is ""."""

    namespace: str
    name: str
    resource_version: str
    error: InputError


class Page(NamedTuple):
    """A page of a list. `continue_token` is None on the last one; `resource_version` is the list's."""

    objects: list[KubernetesObject]
    undecodable: list[Undecodable]
    resource_version: str
    continue_token: str | None


class Changed(NamedTuple):
    """ADDED, MODIFIED or DELETED, with the object, or with why it cannot be read."""

    type: str
    object: KubernetesObject | Undecodable


class Bookmark(NamedTuple):
    """Everything up to this version was delivered."""

    resource_version: str


class Failed(NamedTuple):
    """The watch is over; `status` is the JSON text of a metav1.Status that says why."""

    status: bytes


WatchMessage = Changed | Bookmark | Failed


class _ListMeta(msgspec.Struct, rename={"resource_version": "resourceVersion", "continue_token": "continue"}):
    resource_version: str = ""
    continue_token: str | None = None


class _Page(msgspec.Struct, Generic[T]):
    metadata: _ListMeta
    items: list[T] | None = None


class _Event(msgspec.Struct):
    type: str
    object: msgspec.Raw


class _Identity(msgspec.Struct):
    metadata: Any = None


_decode_event = msgspec.json.Decoder(_Event).decode
_decode_identity = msgspec.json.Decoder(_Identity).decode
_decode_raw_page = msgspec.json.Decoder(_Page[msgspec.Raw]).decode
_typed_pages: dict[tuple[str, str], msgspec.json.Decoder[Any]] = {}


def read_page(data: bytes, api_version: str, kind: str) -> Page:
    """A page of objects of one kind, in that version.

    Raises InputError if it is no list at all, KeyError for a kind that is not known.
    """
    cls = KINDS[api_version, kind]
    if not hasattr(cls, "to_v1beta2"):
        decoder = _typed_pages.get((api_version, kind))
        if decoder is None:
            decoder = _typed_pages[api_version, kind] = msgspec.json.Decoder(_Page[cls])  # type: ignore[valid-type]
        try:
            page = decoder.decode(data)
            objects = [finish(item, cls.NAMESPACED) for item in page.items or ()]
        except (msgspec.MsgspecError, InputError, RecursionError, ValueError, OverflowError):
            pass  # One by one, as below, the others can be read.
        else:
            return Page(objects, [], page.metadata.resource_version, page.metadata.continue_token or None)
    try:
        raw = _decode_raw_page(data)
    except msgspec.MsgspecError as error:
        raise InputError(str(error), object=f"{kind}List", expected="a list of the API server") from None
    objects, undecodable = [], []
    for item in raw.items or ():
        found = _read(bytes(item), api_version, kind)
        if isinstance(found, Undecodable):
            undecodable.append(found)
        else:
            objects.append(found)
    return Page(objects, undecodable, raw.metadata.resource_version, raw.metadata.continue_token or None)


def read_event(line: bytes, api_version: str, kind: str) -> WatchMessage:
    """One line of a watch. A type that is not known counts as a bookmark: its object is not of interest.

    Raises InputError if the line is no event at all.
    """
    try:
        event = _decode_event(line)
    except msgspec.MsgspecError as error:
        raise InputError(str(error), object=f"watch of {kind}", expected="an event") from None
    text = bytes(event.object)
    match event.type:
        case "ADDED" | "MODIFIED" | "DELETED":
            return Changed(event.type, _read(text, api_version, kind))
        case "ERROR":
            return Failed(text)
        case _:
            return Bookmark(_identity(text)[2])


def _read(text: bytes, api_version: str, kind: str) -> KubernetesObject | Undecodable:
    try:
        return decode_item(text, api_version, kind)
    except InputError as error:
        return Undecodable(*_identity(text), error)


def _identity(text: bytes) -> tuple[str, str, str]:
    """Namespace, name and resourceVersion, as far as they can be read."""
    try:
        found = _decode_identity(text).metadata
    except (msgspec.MsgspecError, RecursionError, ValueError):
        return "", "", ""
    metadata = found if isinstance(found, dict) else {}
    values = (metadata.get(field) for field in ("namespace", "name", "resourceVersion"))
    namespace, name, version = (value if isinstance(value, str) else "" for value in values)
    return namespace, name, version
