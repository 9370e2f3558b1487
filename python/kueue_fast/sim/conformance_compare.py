"""Where two replays of one scenario differ, in words.

Both sides have the form of a corpus scenario's `expect`: one mapping a step. Messages are for reading and
not compared, usage of pod sets is compared by value (`"1"`, `1` and `"1000m"` are equal), and the lists that
the corpus sorts are compared without order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, Final

from kueue_fast.model.quantities import as_fraction

__all__ = ["first_difference"]

_BY_WORKLOAD: Final = ("admitted", "preempted", "moved", "evicted")
_STATES: Final = {
    "active": "pending",
    "inadmissible": "parked",
    "usage": "usage",
    "weightedShare": "weighted share",
}
_TOPOLOGY: Final = {"levels": [], "topology": [], "delayedTopology": False}


def first_difference(want: Sequence[Mapping[str, Any]], got: Sequence[Mapping[str, Any]]) -> str | None:
    """The first difference with its step (and cycle) and both values, or None when there is none.

    Within a step its cycles come first, in order of time, then the queues and the usage that it ends with.
    """
    for number, (want_step, got_step) in enumerate(zip(want, got, strict=False), 1):
        difference = _step_difference(want_step, got_step)
        if difference:
            return f"step {number}{difference}"
    if len(want) != len(got):
        return f"want {_count(len(want), 'step')}, got {len(got)}"
    return None


def _step_difference(want: Mapping[str, Any], got: Mapping[str, Any]) -> str | None:
    want_cycles, got_cycles = want.get("cycles") or [], got.get("cycles") or []
    for number, (want_cycle, got_cycle) in enumerate(zip(want_cycles, got_cycles, strict=False), 1):
        difference = _cycle_difference(want_cycle, got_cycle)
        if difference:
            return f", cycle {number}: {difference}"
    if len(want_cycles) != len(got_cycles):
        longer = max(want_cycles, got_cycles, key=len)
        first = _summary(longer[min(len(want_cycles), len(got_cycles))])
        return (
            f": want {_count(len(want_cycles), 'cycle')}, got {len(got_cycles)}; "
            f"the first of the rest did: {first}"
        )
    for key, words in _STATES.items():
        want_queues, got_queues = want.get(key) or {}, got.get(key) or {}
        for queue in sorted(want_queues.keys() | got_queues.keys()):
            difference = _queue_difference(words, want_queues.get(queue), got_queues.get(queue))
            if difference:
                return f": ClusterQueue {queue}: {difference}"
    want_truncated, got_truncated = bool(want.get("truncated")), bool(got.get("truncated"))
    if want_truncated != got_truncated:
        return f": want truncated {want_truncated}, got {got_truncated}"
    return None


def _cycle_difference(want: Mapping[str, Any], got: Mapping[str, Any]) -> str | None:
    for key in _BY_WORKLOAD:
        want_by = {entry["workload"]: entry for entry in want.get(key) or ()}
        got_by = {entry["workload"]: entry for entry in got.get(key) or ()}
        for name in sorted(want_by.keys() | got_by.keys()):
            if name not in got_by:
                return f"want {key} {name}, got none"
            if name not in want_by:
                return f"got {key} {name}, want none"
            difference = _entry_difference(want_by[name], got_by[name])
            if difference:
                return f"{key} {name}: {difference}"
    want_replaced, got_replaced = sorted(want.get("replaced") or ()), sorted(got.get("replaced") or ())
    if want_replaced != got_replaced:
        return f"want replaced {_names(want_replaced)}, got {_names(got_replaced)}"
    return None


def _entry_difference(want: Mapping[str, Any], got: Mapping[str, Any]) -> str | None:
    for key in ("reason", "clusterQueue", "admitted"):
        if want.get(key) != got.get(key):
            return f"want {key} {want.get(key)}, got {got.get(key)}"
    want_sets, got_sets = want.get("podSets") or [], got.get("podSets") or []
    want_names, got_names = [p["name"] for p in want_sets], [p["name"] for p in got_sets]
    if want_names != got_names:
        return f"want pod sets {_names(want_names)}, got {_names(got_names)}"
    for want_set, got_set in zip(want_sets, got_sets, strict=True):
        difference = _pod_set_difference(want_set, got_set)
        if difference:
            return f"pod set {want_set['name']}: {difference}"
    return None


def _pod_set_difference(want: Mapping[str, Any], got: Mapping[str, Any]) -> str | None:
    if want.get("count") != got.get("count"):
        return f"want count {want.get('count')}, got {got.get('count')}"
    for key, words in (("flavors", "flavor"), ("usage", "usage")):
        want_map, got_map = want.get(key) or {}, got.get(key) or {}
        for resource in sorted(want_map.keys() | got_map.keys()):
            one, other = want_map.get(resource), got_map.get(resource)
            same = one == other if key == "flavors" else _amount(one) == _amount(other)
            if not same:
                return f"want {words} of {resource} {_value(one)}, got {_value(other)}"
    for key, empty in _TOPOLOGY.items():
        one, other = want.get(key) or empty, got.get(key) or empty
        if one != other:
            return f"want {key} {one}, got {other}"
    return None


def _queue_difference(words: str, want: Any, got: Any) -> str | None:
    """Of one ClusterQueue: the names that wait in it, what it uses, or its share."""
    if isinstance(want, Mapping) or isinstance(got, Mapping):
        want, got = want or {}, got or {}
        for pair in sorted(want.keys() | got.keys()):
            if want.get(pair, 0) != got.get(pair, 0):
                return f"want {words} of {pair} {want.get(pair, 0)}, got {got.get(pair, 0)}"
    elif isinstance(want, list) or isinstance(got, list):
        lacking, extra = Counter(want or ()), Counter(got or ())
        lacking, extra = lacking - extra, extra - lacking
        if lacking or extra:
            parts = [f"{words} lacks {_names(sorted(lacking))}"] if lacking else []
            parts += [f"{words} has {_names(sorted(extra))} besides"] if extra else []
            return ", ".join(parts)
    elif want != got:
        return f"want {words} {_value(want)}, got {_value(got)}"
    return None


def _amount(quantity: Any) -> Fraction | None:
    return None if quantity is None else as_fraction(quantity)


def _summary(cycle: Mapping[str, Any]) -> str:
    parts = []
    for key in (*_BY_WORKLOAD, "replaced"):
        entries = cycle.get(key) or ()
        if entries:
            names = [e if isinstance(e, str) else e["workload"] for e in entries]
            parts.append(f"{key} {_names(names)}")
    return ", ".join(parts) or "nothing"


def _names(names: Sequence[str], most: int = 5) -> str:
    text = ", ".join(names[:most]) or "none"
    return f"{text} and {len(names) - most} more" if len(names) > most else text


def _value(value: Any) -> str:
    return "none" if value is None else str(value)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")
