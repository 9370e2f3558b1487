"""A TopologyAssignment between its v1beta2 JSON text and plain domains in order.

The text is compressed: domains stand in slices, and a slice says what its domains have in common once (the same value
or count, a prefix, a suffix). How domains are cut into slices is upstream's choice for an assignment that is written;
what is read may be cut in any way. Source: TP-205, TP-206, TP-1701 to TP-1705.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Annotated, NamedTuple, TypeAlias

import msgspec

from kueue_fast.api import topology_encoding
from kueue_fast.api.meta import Wire
from kueue_fast.errors import InputError

MOST_LEVELS = 16
MOST_SLICES = 1000

Domain: TypeAlias = tuple[tuple[str, ...], int]
"""Values, one for each level, and how many pods stand there."""


class TopologyAssignment(NamedTuple):
    """Where the pods of a pod set stand: level keys from the top, and the domains in the order of the pods' ranks."""

    levels: tuple[str, ...]
    domains: list[Domain]


_Name = Annotated[str, msgspec.Meta(max_length=63)]
_LevelKey = Annotated[str, msgspec.Meta(max_length=317)]
_Count = Annotated[int, msgspec.Meta(ge=1, le=2**31 - 1)]
_MOST_DOMAINS = topology_encoding.MOST_DOMAINS_IN_SLICE


class _Individual(Wire, kw_only=True):
    roots: Annotated[list[_Name], msgspec.Meta(min_length=1, max_length=_MOST_DOMAINS)]
    prefix: _Name | None = None
    suffix: _Name | None = None


class _Values(Wire, kw_only=True):
    universal: _Name | None = None
    individual: _Individual | None = None


class _Counts(Wire, kw_only=True):
    universal: _Count | None = None
    individual: Annotated[list[_Count], msgspec.Meta(min_length=1, max_length=_MOST_DOMAINS)] | None = None


class _Slice(Wire, kw_only=True):
    domain_count: _Count
    values_per_level: Annotated[list[_Values], msgspec.Meta(min_length=1, max_length=MOST_LEVELS)]
    pod_counts: _Counts


class _Assignment(Wire, kw_only=True):
    levels: Annotated[list[_LevelKey], msgspec.Meta(min_length=1, max_length=MOST_LEVELS)]
    # Upstream leaves the field out when it is empty.
    slices: Annotated[list[_Slice], msgspec.Meta(max_length=MOST_SLICES)] | None = None


_decode = msgspec.json.Decoder(_Assignment).decode
_AT_PATH = re.compile(r"(.*) - at `\$?(.*)`\Z", re.DOTALL)
# A few bytes of text can ask for two thousand million equal domains; no cluster has as many nodes as this.
_MOST_DOMAINS_IN_ALL = 1_000_000


def decode(data: bytes | msgspec.Raw, field: str = "$") -> TopologyAssignment:
    """The levels and domains in the JSON text of a v1beta2 TopologyAssignment, in order.

    `field` is the text's own path in its object, for errors. Raises InputError, with the path of the part, for what
    the API server would refuse: 1 to 16 levels, at most 1000 slices, each with a value for each level, exactly one of
    `universal` and `individual`, as many roots and counts as `domainCount`, counts of at least 1. Source: TP-1705.
    """
    try:
        assignment = _decode(data)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise _input_error(error, field) from None
    levels = tuple(assignment.levels)
    domains: list[Domain] = []
    for number, part in enumerate(assignment.slices or ()):
        at = f"{field}.slices[{number}]"
        if len(part.values_per_level) != len(levels):
            raise _wrong_length(f"{at}.valuesPerLevel", len(part.values_per_level), len(levels), "level")
        if len(domains) + part.domain_count > _MOST_DOMAINS_IN_ALL:
            raise InputError(
                "makes more domains than can be kept",
                field=f"{at}.domainCount",
                expected=f"at most {_MOST_DOMAINS_IN_ALL} domains in all",
            )
        columns = [
            _values(values, part.domain_count, f"{at}.valuesPerLevel[{level}]")
            for level, values in enumerate(part.values_per_level)
        ]
        counts = _counts(part.pod_counts, part.domain_count, f"{at}.podCounts")
        domains.extend(zip(zip(*columns, strict=True), counts, strict=True))
    return TopologyAssignment(levels, domains)


def encode(levels: Sequence[str], domains: Sequence[Domain], *, by_hostname_prefix: bool = True) -> bytes:
    """JSON text of the v1beta2 form, cut into slices as upstream cuts it.

    `by_hostname_prefix` is the gate TASAssignmentsEncodingByHostnamePrefix. Raises ValueError if a domain has not one
    value for each level. Source: TP-1701 to TP-1704.
    """
    depth = len(levels)
    for number, (values, _) in enumerate(domains):
        if len(values) != depth:
            raise ValueError(f"domains[{number}] has {len(values)} values for {depth} levels")
    columns = list(zip(*(values for values, _ in domains), strict=True))
    return topology_encoding.encode_columns(
        levels, columns, [count for _, count in domains], by_hostname_prefix=by_hostname_prefix
    )


def _values(values: _Values, length: int, field: str) -> Iterable[str]:
    individual = values.individual
    if (values.universal is None) == (individual is None):
        raise _not_one(field)
    if individual is None:
        return (values.universal or "",) * length
    roots = individual.roots
    if len(roots) != length:
        raise _wrong_length(f"{field}.individual.roots", len(roots), length, "domain")
    prefix, suffix = individual.prefix or "", individual.suffix or ""
    if suffix:
        return [prefix + root + suffix for root in roots]
    return [prefix + root for root in roots] if prefix else roots


def _counts(counts: _Counts, length: int, field: str) -> Iterable[int]:
    individual = counts.individual
    if (counts.universal is None) == (individual is None):
        raise _not_one(field)
    if individual is None:
        return (counts.universal or 0,) * length
    if len(individual) != length:
        raise _wrong_length(f"{field}.individual", len(individual), length, "domain")
    return individual


def _not_one(field: str) -> InputError:
    return InputError("has both or neither", field=field, expected="exactly one of universal and individual")


def _wrong_length(field: str, got: int, want: int, unit: str) -> InputError:
    return InputError(f"has {got} items", field=field, expected=f"{want}, one for each {unit}")


def _input_error(error: Exception, field: str) -> InputError:
    text = str(error)
    at = _AT_PATH.match(text)
    if at is not None:
        text, field = at.group(1), field + at.group(2)
    return InputError(text, field=field, expected="a TopologyAssignment of v1beta2")
