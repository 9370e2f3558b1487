"""The slices of one elastic job: which of its Workloads counts, which one has to grow or shrink, which ones end.

A slice is a Workload that asks for the whole job at one size. At most two should live: one that holds quota, and the
one that is to take its place. Nothing here depends on the kind of job: pod sets come in as counts by name.

Source: JS-460..466, JS-480, JS-481, JS-496.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

import msgspec

from kueue_fast.api.kueue import PodSet, Workload
from kueue_fast.lifecycle import eviction, finish
from kueue_fast.lifecycle.status import with_status, writable_status
from kueue_fast.model import conditions, times
from kueue_fast.model.elastic import REPLACEMENT_FOR

__all__ = [
    "OUT_OF_SYNC",
    "SLICE_REPLACED",
    "Choice",
    "Ending",
    "active_slice",
    "choose",
    "key_of",
    "live_slices",
    "normalized",
    "pod_counts",
    "replaced",
    "replacement_for",
    "replacement_message",
    "scaled_down",
    "with_cluster_of",
    "with_counts",
]

SLICE_REPLACED: Final = "WorkloadSliceReplaced"
OUT_OF_SYNC: Final = "OutOfSync"
JOB_UID_LABEL: Final = "kueue.x-k8s.io/job-uid"


class Ending(NamedTuple):
    """A slice that has to be finished, with reason and message of its condition."""

    workload: Workload
    reason: str
    message: str


class Choice(NamedTuple):
    """The slice that stands for the job now.

    `workload` is None when a slice has to be made. `compatible` is False when the pod sets of the job have other names
    than those of the slice: then the job is compared with its Workload as a job that is not elastic. `resized`: the
    counts of `workload` were changed and are to be written. `ended` are slices to finish first.
    """

    workload: Workload | None
    compatible: bool = True
    resized: bool = False
    ended: tuple[Ending, ...] = ()


class Normalized(NamedTuple):
    """The slice that counts, the one that holds the quota until then, and those that end."""

    selected: Workload | None
    holding: Workload | None
    ended: tuple[Ending, ...]


def key_of(workload: Workload) -> str:
    """`namespace/name`."""
    return f"{workload.metadata.namespace or ''}/{workload.metadata.name}"


def replacement_for(workload: Workload) -> str | None:
    """Key of the slice whose place this one takes, None for a slice that takes none. Source: JS-464."""
    return (workload.metadata.annotations or {}).get(REPLACEMENT_FOR)


def pod_counts(pod_sets: Iterable[PodSet] | None) -> dict[str, int]:
    """Pods by name of the pod set."""
    return {pod_set.name: pod_set.count for pod_set in pod_sets or ()}


def scaled_down(old: Mapping[str, int], new: Mapping[str, int]) -> bool:
    """Whether some pod set has fewer pods and none has more; names on one side only do not count. Source: JS-463."""
    common = old.keys() & new.keys()
    return any(new[name] < old[name] for name in common) and all(new[name] <= old[name] for name in common)


def with_counts(workload: Workload, counts: Mapping[str, int]) -> Workload:
    """The slice with these pods in its spec; what its admission says stays. Source: JS-480, JS-500."""
    pod_sets = [
        msgspec.structs.replace(pod_set, count=counts.get(pod_set.name, pod_set.count))
        for pod_set in workload.spec.pod_sets or ()
    ]
    return msgspec.structs.replace(
        workload, spec=msgspec.structs.replace(workload.spec, pod_sets=pod_sets or None)
    )


def live_slices(workloads: Iterable[Workload]) -> list[Workload]:
    """Workloads of a job that have not ended, the oldest first; uids decide within a second. Source: JS-461."""
    return sorted((each for each in workloads if not finish.is_finished(each)), key=_age)


def active_slice(live: Sequence[Workload]) -> Workload | None:
    """The newest slice with a reservation that is not on its way out; `live` is sorted. Source: JS-462."""
    return next(
        (each for each in reversed(live) if _is_reserved(each) and not eviction.is_evicted(each)), None
    )


def choose(counts: Mapping[str, int], live: Sequence[Workload]) -> Choice:
    """Which slice stands for a job of these pods; `live` comes from `live_slices`.

    A slice without reservation follows every change in place, one with a reservation only downwards: when something
    grows a new slice is to be made, which takes its place. Source: JS-480.
    """
    if not live:
        return Choice(None)
    ended: tuple[Ending, ...] = ()
    workload: Workload | None = live[0]
    if len(live) > 1:
        workload, _, ended = normalized(live)
    if workload is None:
        return Choice(None, ended=ended)
    present = pod_counts(workload.spec.pod_sets)
    if present.keys() != counts.keys():
        return Choice(None, compatible=False, ended=ended)
    if present == counts:
        return Choice(workload, ended=ended)
    if not _is_reserved(workload) or scaled_down(present, counts):
        return Choice(with_counts(workload, counts), resized=True, ended=ended)
    return Choice(None, ended=ended)


def normalized(live: Sequence[Workload]) -> Normalized:
    """Of several slices the one that holds the quota and the one that waits to replace it; all others end.

    Without one that holds quota the newest that is not evicted stays. Source: JS-481.
    """
    replacements: dict[str, Workload] = {}
    for workload in live:
        old = replacement_for(workload)
        if old is None or eviction.is_evicted(workload):
            continue
        known = replacements.get(old)
        if known is None or (_is_reserved(workload) and not _is_reserved(known)):
            replacements[old] = workload
    holding = pending = newest = None
    for workload in live:
        if eviction.is_evicted(workload):
            continue
        newest = workload
        newer = replacements.get(key_of(workload))
        if _is_reserved(workload) and (newer is None or not _is_reserved(newer)):
            holding, pending = workload, newer
    selected = pending or holding or newest
    ended = tuple(
        _ending(workload, key_of(workload) in replacements)
        for workload in live
        if workload is not selected and workload is not holding
    )
    return Normalized(selected, holding, ended)


def replaced(old: Workload, new: Workload, now_ns: int) -> Workload | None:
    """The slice whose place `new` took when it was admitted, finished; None if it has ended already. Source: JS-496."""
    return finish.finished(old, SLICE_REPLACED, replacement_message(new), now_ns)


def replacement_message(new: Workload) -> str:
    """Why a slice ended, in the words that tools read UIDs from. Source: JS-496."""
    job = (new.metadata.labels or {}).get(JOB_UID_LABEL, "")
    return (
        f"Replaced to accommodate a workload (UID: {new.metadata.uid or ''}, JobUID: {job}) "
        "due to workload slice aggregation"
    )


def with_cluster_of(new: Workload, old: Workload) -> Workload:
    """A slice about to be admitted, in the cluster in which MultiKueue runs the one whose place it takes.

    Source: JS-496.
    """
    cluster = old.status.cluster_name if old.status is not None else None
    if cluster == (new.status.cluster_name if new.status is not None else None):
        return new
    return with_status(new, msgspec.structs.replace(writable_status(new), cluster_name=cluster))


def _ending(workload: Workload, has_replacement: bool) -> Ending:
    if has_replacement:
        return Ending(workload, SLICE_REPLACED, "Replaced to accommodate a new workload slice")
    return Ending(workload, OUT_OF_SYNC, "The workload slice is out of sync with its parent job")


def _is_reserved(workload: Workload) -> bool:
    known = workload.status.conditions if workload.status is not None else None
    return conditions.is_true(known, conditions.QUOTA_RESERVED)


def _age(workload: Workload) -> tuple[int, str]:
    created = workload.metadata.creation_timestamp
    return (times.parse(created) if created else 0), workload.metadata.uid or ""
