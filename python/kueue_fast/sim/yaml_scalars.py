"""What a YAML scalar means to kubectl.

Kubernetes' tools resolve plain scalars by YAML 1.1 with exceptions, and these differ from PyYAML's:
`on`, `yes` and `y` are booleans and `017` is octal, but `1:30` and dates stay strings.
"""

from __future__ import annotations

import math
import re
from typing import Any, Final

NOT_JSON: Final = object()
"""Marks `.nan` and `.inf`: numbers to YAML, but not to JSON."""
MERGE: Final = object()
"""Marks a plain `<<`, the merge key."""

_WORDS: Final[dict[str, Any]] = {
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), False),
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **{sign + word: NOT_JSON for sign in ("", "+", "-") for word in (".inf", ".Inf", ".INF")},
    **dict.fromkeys((".nan", ".NaN", ".NAN"), NOT_JSON),
    "<<": MERGE,
}
_INTEGER: Final = re.compile(
    r"([-+]?)(?:0[xX]([0-9a-fA-F]+)|0[bB]([01]+)|0[oO]?([0-7]+)|(0|[1-9][0-9]*))", re.ASCII
)
_BASES: Final = (16, 2, 8, 10)
_FLOAT: Final = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", re.ASCII)
# A float64 has at most 309 digits before its point; longer texts are no numbers to anyone.
_LONGEST_NUMBER: Final = 400

_TAG_PREFIX: Final = "tag:yaml.org,2002:"
_TAG_TYPES: Final[dict[str, tuple[type, ...]]] = {
    "int": (int,),
    "float": (int, float),
    "bool": (bool,),
    "null": (type(None),),
}


def shortened(text: str, limit: int = 60) -> str:
    """`text` for a message: in one line, and never much longer than `limit` characters."""
    cut = text if len(text) <= limit else text[: limit - 3] + "..."
    return cut if cut.isprintable() else cut.encode("unicode_escape").decode("ascii")


def canonical_number(text: str) -> int | float | str:
    """A decimal number as Go's JSON encoder writes it: whole ones below 10^21 have no fraction.

    Gives `text` back where a float64 overflows.
    """
    number = float(text)
    if math.isinf(number):
        return text
    return int(number) if number.is_integer() and abs(number) < 1e21 else number


def resolve_plain(text: str) -> Any:
    """The value of a scalar without quotes and tag: bool, None, int, float, str, NOT_JSON or MERGE."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in "+-.0123456789" or len(text) > _LONGEST_NUMBER:
        return text
    plain = text if text[0] == "." else text.replace("_", "")
    integer = _INTEGER.fullmatch(plain)
    if integer is not None:
        sign, *groups = integer.groups()
        digits, base = next((group, base) for group, base in zip(groups, _BASES, strict=True) if group)
        number = -int(digits, base) if sign == "-" else int(digits, base)
        if -(2**63) <= number < 2**64:
            return number
    return canonical_number(plain) if _FLOAT.fullmatch(plain) else text


def resolve_tagged(tag: str, text: str) -> Any:
    """The value of a scalar with a tag.

    Raises:
        ValueError: the text is not of that type, or the tag has no meaning in a manifest.
    """
    name = tag.removeprefix(_TAG_PREFIX)
    if name in ("!", "str"):
        return text
    if not (tag.startswith(_TAG_PREFIX) and name in _TAG_TYPES):
        raise ValueError(f"the tag {shortened(tag)} has no meaning in a manifest")
    value = resolve_plain(text)
    types = _TAG_TYPES[name]
    if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
        raise ValueError(f'"{shortened(text)}" is not a value of the tag !!{name}')
    return value


def is_collection_tag(tag: str) -> bool:
    """Whether a mapping or a sequence may carry this tag."""
    return tag in ("!", _TAG_PREFIX + "map", _TAG_PREFIX + "seq")


def key_text(value: Any) -> str:
    """A mapping key as JSON has it: booleans and numbers become words.

    Raises:
        ValueError: null or a collection is the key.
    """
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)
    raise ValueError("a mapping key must be a text")
