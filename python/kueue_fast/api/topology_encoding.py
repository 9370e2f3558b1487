"""How the domains of a TopologyAssignment are cut into slices, and the JSON text of them.

Domains arrive as columns, one for each level, so that the work for each name stays inside built-in functions: an
assignment can have tens of thousands of domains. Source: TP-1701 to TP-1704.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any, TypeAlias

import msgspec

HOSTNAME = "kubernetes.io/hostname"
MOST_DOMAINS_IN_SLICE = 100_000
_MOST_SLICES = 1000

Columns: TypeAlias = Sequence[Sequence[str]]
"""[level][domain] value."""

_encode = msgspec.json.Encoder().encode


def encode_columns(
    levels: Sequence[str], columns: Columns, counts: Sequence[int], *, by_hostname_prefix: bool
) -> bytes:
    """JSON text of a v1beta2 TopologyAssignment; `counts` are the pods of each domain.

    With the gate TASAssignmentsEncodingByHostnamePrefix, neighbours whose host names begin alike make a slice, unless
    a single slice is shorter. Source: TP-1702 to TP-1704.
    """
    length = len(counts)
    if not length:
        return _text(levels, [])
    if not by_hostname_prefix:
        return _text(levels, [_slice(columns, counts, 0, length)])
    lengths = [length]
    if length > 1 and levels and levels[-1] == HOSTNAME:
        lengths = _run_lengths(columns[-1])
    slices = []
    start = 0
    for run in lengths:
        for first in range(start, start + run, MOST_DOMAINS_IN_SLICE):
            end = min(first + MOST_DOMAINS_IN_SLICE, start + run)
            slices.append(_slice(columns, counts, first, end))
        start += run
    by_prefix = _text(levels, slices)
    if len(slices) == 1 or length > MOST_DOMAINS_IN_SLICE:
        return by_prefix
    single = _text(levels, [_slice(columns, counts, 0, length)])
    return single if len(single) < len(by_prefix) else by_prefix


def _text(levels: Sequence[str], slices: list[dict[str, Any]]) -> bytes:
    return _encode({"levels": levels, "slices": slices})


def _slice(columns: Columns, counts: Sequence[int], start: int, end: int) -> dict[str, Any]:
    """One slice, as short as it can be. Source: TP-1701."""
    own = counts[start:end]
    same = own.count(own[0]) == len(own)
    return {
        "domainCount": end - start,
        "valuesPerLevel": [_level(column[start:end]) for column in columns],
        "podCounts": {"universal": own[0]} if same else {"individual": own},
    }


def _level(values: Sequence[str]) -> dict[str, Any]:
    """Values of one level: what they share once, and the rest of each. Source: TP-1701."""
    least, most = min(values), max(values)
    if least == most:
        return {"universal": least}
    # What the first and the last in order share, all between share.
    prefix = _common_prefix(least, most)
    suffix = _common_suffix(values)
    shortest = min(map(len, values))
    if len(prefix) + len(suffix) > shortest:
        prefix = prefix[: shortest - len(suffix)]
    start, cut = len(prefix), len(suffix)
    individual: dict[str, Any] = {}
    if prefix:
        individual["prefix"] = prefix
    if suffix:
        individual["suffix"] = suffix
        individual["roots"] = [value[start : len(value) - cut] for value in values]
    else:
        individual["roots"] = [value[start:] for value in values] if prefix else values
    return {"individual": individual}


def _common_prefix(first: str, second: str) -> str:
    for place, (one, other) in enumerate(zip(first, second, strict=False)):
        if one != other:
            return first[:place]
    return min(first, second, key=len)


def _common_suffix(values: Sequence[str]) -> str:
    suffix = values[0]
    for value in values:
        if not value.endswith(suffix):
            suffix = _common_prefix(value[::-1], suffix[::-1])[::-1]
            if not suffix:
                break
    return suffix


def _run_lengths(names: Sequence[str]) -> list[int]:
    """Lengths of the runs of neighbours whose host names have the same key.

    Candidates for the key of a name are its beginnings that end in a dash and leave something over. All of them are
    beginnings of the longest one, which few names have to themselves, so counting goes over those. Source: TP-1703.
    """
    longest = [name[: name.rfind("-", 0, -1) + 1] for name in names]
    runs = [(key, len(list(run))) for key, run in groupby(longest)]
    candidates: dict[str, list[str]] = {}
    uses: Counter[str] = Counter()
    for key, length in runs:
        found = candidates.get(key)
        if found is None:
            found = candidates[key] = [key[:end] for end in range(1, len(key) + 1) if key[end - 1] == "-"]
        for candidate in found:
            uses[candidate] += length
    deepest = max(map(len, candidates.values()))
    reusable = {
        key: [depth for depth, candidate in enumerate(found, 1) if uses[candidate] > 1]
        for key, found in candidates.items()
    }
    for depth in range(deepest, 0, -1):
        keys = {
            key: candidates[key][max(fitting) - 1] if (fitting := [d for d in depths if d <= depth]) else ""
            for key, depths in reusable.items()
        }
        lengths = _merge(runs, keys)
        if sum(-(-length // MOST_DOMAINS_IN_SLICE) for length in lengths) <= _MOST_SLICES:
            return lengths
    return [len(names)]


def _merge(runs: Sequence[tuple[str, int]], keys: Mapping[str, str]) -> list[int]:
    """Lengths after neighbours with the same key have become one run."""
    lengths: list[int] = []
    last: str | None = None
    for name, length in runs:
        key = keys[name]
        if key == last:
            lengths[-1] += length
        else:
            lengths.append(length)
            last = key
    return lengths
