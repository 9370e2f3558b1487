"""The annotation with slices in slices: JSON text, read as upstream's reader takes it.

Source: TP-305, TP-314.
"""

from __future__ import annotations

import json
from typing import Any, Final, NoReturn

from kueue_fast.api.kueue import PodsetSliceRequiredTopologyConstraint

__all__ = ["LAYER_COUNT", "MOST_LAYERS", "parse_constraints"]

MOST_LAYERS: Final = 3
LAYER_COUNT: Final = f"topology constraints must contain between 1 and {MOST_LAYERS} entries"
_LEAST_INT32: Final = -(2**31)
_MOST_INT32: Final = 2**31 - 1


def parse_constraints(text: str) -> list[PodsetSliceRequiredTopologyConstraint]:
    """Layers from the outermost in, unchecked: `null` is an empty list, what is absent or `null` is empty or 0.

    Names of fields match whatever their case, unknown ones are passed over. Raises ValueError, in words, for what
    is no JSON list of objects with a text `topology` and a 32-bit whole `size`.
    """
    try:
        found = json.loads(text, object_pairs_hook=_Fields, parse_constant=_no_json)
    except RecursionError:
        raise ValueError("nested too deep") from None
    if found is None:
        return []
    if not isinstance(found, list):
        raise ValueError(f"found {_kind(found)} where a list belongs")
    return [_constraint(entry, number) for number, entry in enumerate(found)]


class _Fields:
    """Fields of a JSON object in order, one name perhaps more than once."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        self.pairs = pairs


def _constraint(entry: object, number: int) -> PodsetSliceRequiredTopologyConstraint:
    constraint = PodsetSliceRequiredTopologyConstraint(topology="", size=0)
    if entry is None:
        return constraint
    if not isinstance(entry, _Fields):
        raise ValueError(f"[{number}]: found {_kind(entry)} where an object belongs")
    for name, value in entry.pairs:
        if value is None:
            continue
        match name.lower():
            case "topology":
                if not isinstance(value, str):
                    raise ValueError(f"[{number}].topology: found {_kind(value)} where a text belongs")
                constraint.topology = value
            case "size":
                if type(value) is not int or not _LEAST_INT32 <= value <= _MOST_INT32:
                    raise ValueError(f"[{number}].size: found {_kind(value)} where a 32-bit integer belongs")
                constraint.size = value
    return constraint


def _no_json(word: str) -> NoReturn:
    raise ValueError(f"{word} is no JSON")


def _kind(value: object) -> str:
    match value:
        case _Fields():
            return "an object"
        case list():
            return "a list"
        case str():
            return "a text"
        case bool():
            return "a boolean"
        case int():
            return "a number"
        case float():
            return "a fraction"
    return "null"
