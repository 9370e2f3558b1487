"""Words for what turns out to be wrong with the input while a simulation runs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kueue_fast.errors import InputError
from kueue_fast.jobs.ancestors import controller_of
from kueue_fast.sim.manifest import Manifest, describe

__all__ = ["name_taken", "placed"]


def placed(error: InputError, manifests: Iterable[Manifest]) -> InputError:
    """The error with the place of the manifest whose object it names."""
    places = (each.place for each in manifests if describe(each.object) == error.object)
    return error if error.file else error.located(file=next(places, None))


def name_taken(manifest: Manifest, there: Any) -> InputError:
    """An object of the input whose name another one has, of the input or made in the run."""
    owner = None if there is None else controller_of(there.metadata)
    expected = "each object once"
    if owner is not None:
        expected = f"another name: {owner.kind} {owner.name} made one of this name"
    obj = manifest.object
    return InputError("is already defined", object=describe(obj), file=manifest.place, expected=expected)
