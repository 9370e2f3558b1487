"""Whether a job belongs to another one that Kueue manages: the way up its controllers. Source: JS-041, JS-042."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from kueue_fast.api.meta import ObjectMeta, OwnerReference
from kueue_fast.errors import KueueFastError
from kueue_fast.jobs.registry import Registry
from kueue_fast.jobs.settings import JobSettings
from kueue_fast.jobs.workload import is_managed

__all__ = [
    "CHAIN_LIMIT",
    "AncestorError",
    "Ancestors",
    "controller_of",
    "managed_ancestor",
    "owner_is_managed",
]

CHAIN_LIMIT: Final = 10
"""Objects on the way up; more are an error, told as event `JobNestingTooDeep`."""


class AncestorError(KueueFastError):
    """The way up does not end, is too long, or leads to an object that is not there. The last is tried again.

    `too_deep`: whether it is too long; `missing`: whether an object is not there.
    """

    def __init__(self, message: str, *, too_deep: bool = False, missing: bool = False) -> None:
        super().__init__(message)
        self.too_deep = too_deep
        self.missing = missing


class Ancestors:
    """Finds the topmost managed job above an object; `get(kind, namespace, name)` gives an object, or None."""

    def __init__(
        self, get: Callable[[str, str | None, str], Any | None], registry: Registry, settings: JobSettings
    ) -> None:
        self._get = get
        self._registry = registry
        self._settings = settings

    def of(self, metadata: ObjectMeta) -> ObjectMeta | None:
        """Metadata of that job, None if there is none. Raises AncestorError."""
        if not metadata.owner_references:
            return None
        found = managed_ancestor(metadata, self._registry, self._settings, self._read)
        return None if found is None else found[1]

    def _read(self, owner: OwnerReference, namespace: str) -> ObjectMeta | None:
        found = self._get(owner.kind, namespace, owner.name)
        return None if found is None else found.metadata


def controller_of(metadata: ObjectMeta) -> OwnerReference | None:
    """The owner that controls an object."""
    return next((owner for owner in metadata.owner_references or () if owner.controller), None)


def owner_is_managed(metadata: ObjectMeta, registry: Registry) -> bool:
    """Whether the direct owner is of a kind that Kueue manages, with a queue or without. Source: JS-047."""
    owner = controller_of(metadata)
    return owner is not None and registry.manages(owner)


def managed_ancestor(
    metadata: ObjectMeta,
    registry: Registry,
    settings: JobSettings,
    read: Callable[[OwnerReference, str], ObjectMeta | None],
) -> tuple[OwnerReference, ObjectMeta] | None:
    """The topmost job above this one that Kueue manages, None if there is none.

    `read` gives the metadata of an owner in a namespace. Raises AncestorError.
    """
    topmost: tuple[OwnerReference, ObjectMeta] | None = None
    current = metadata
    seen: set[str] = set()
    while True:
        if (current.uid or "") in seen:
            raise AncestorError("cyclic ownership")
        seen.add(current.uid or "")
        owner = controller_of(current)
        if owner is None or not registry.known(owner):
            return topmost
        parent = read(owner, metadata.namespace or "")
        if parent is None:
            raise AncestorError(f"workload owner not found: {owner.kind} {owner.name}", missing=True)
        if (parent.uid or "") != owner.uid:
            return topmost
        if registry.manages(owner) and is_managed(parent, settings):
            topmost = (owner, parent)
        current = parent
        if len(seen) > CHAIN_LIMIT:
            raise AncestorError(f"the chain of owners has more than {CHAIN_LIMIT} objects", too_deep=True)
