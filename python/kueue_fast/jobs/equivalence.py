"""Whether a Workload still says what its job says. Source: JS-131..133."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

import msgspec

from kueue_fast.api.kueue import PodSet, Workload
from kueue_fast.api.meta import ObjectMeta
from kueue_fast.jobs import pod_set_info
from kueue_fast.jobs.pod_set_info import StartError, decode
from kueue_fast.jobs.reconciler import View
from kueue_fast.jobs.workload import max_execution_time
from kueue_fast.model import conditions
from kueue_fast.model.quantities import as_fraction

__all__ = ["equivalent", "running_pod_sets", "same_pod_sets"]

QUANTITIES: Final = ("requests", "limits")
EMPTY: Final[tuple[Any, ...]] = (None, "", [], {})


def equivalent(
    metadata: ObjectMeta, workload: Workload, view: View, pod_sets: Sequence[PodSet], *, held: bool
) -> bool:
    """Whether the Workload is the job's, with the same limit on its time and the same pods.

    `metadata` and `pod_sets` are the job's. Those of a job that runs have what its admission added; one that is `held`
    may have them as they were before. A Workload without controller is nobody's (JS-592).
    """
    owner = next((each for each in workload.metadata.owner_references or () if each.controller), None)
    if owner is None or owner.name != metadata.name:
        return False
    if view.settings.finish_orphaned and owner.uid != (metadata.uid or ""):
        return False
    if workload.spec.maximum_execution_time_seconds != max_execution_time(metadata):
        return False
    if not view.settings.partial_admission:
        pod_sets = [msgspec.structs.replace(each, min_count=None) for each in pod_sets]
    status = workload.status
    admitted = status is not None and conditions.is_true(status.conditions, conditions.ADMITTED)
    own = workload.spec.pod_sets or []
    if admitted and not _in_part(own, view):
        # An admission adds to other parts of a pod than those that are compared then.
        return same_pod_sets(pod_sets, own, tolerations=False)
    running = running_pod_sets(workload, view)
    if running is None:
        return same_pod_sets(pod_sets, own, tolerations=not admitted)
    return same_pod_sets(pod_sets, running, tolerations=not admitted) or (
        held and same_pod_sets(pod_sets, own, tolerations=not admitted)
    )


def running_pod_sets(workload: Workload, view: View) -> list[PodSet] | None:
    """Pod sets of a Workload with what its admission adds, None without reservation or if that cannot be told.

    Source: JS-133.
    """
    status = workload.status
    if status is None or not conditions.is_true(status.conditions, conditions.QUOTA_RESERVED):
        return None
    try:
        infos = {each.name: each for each in pod_set_info.from_status(workload, view.flavor, view.settings)}
        merged = []
        own = workload.spec.pod_sets or ()
        partial = _in_part(own, view)
        for pod_set in own:
            info = infos[pod_set.name]
            template = pod_set_info.merge_template(pod_set.template, info)
            count = info.count if partial and pod_set.min_count is not None else pod_set.count
            merged.append(msgspec.structs.replace(pod_set, template=template, count=count))
    except (StartError, LookupError):
        return None
    return merged


def _in_part(pod_sets: Iterable[PodSet], view: View) -> bool:
    """Whether an admission may have given fewer pods than the counts of the pod sets."""
    return view.settings.partial_admission and any(
        each.min_count is not None and each.min_count < each.count for each in pod_sets
    )


def same_pod_sets(mine: Sequence[PodSet], theirs: Sequence[PodSet], *, tolerations: bool) -> bool:
    """Whether pod sets ask for the same pods, one by one: counts, containers, and `tolerations` where they count.

    Names, labels, node selectors, priorities and topologies are not looked at. Source: JS-132.
    """
    return len(mine) == len(theirs) and all(
        one.count == other.count
        and one.min_count == other.min_count
        and _same_pods(one, other, tolerations=tolerations)
        for one, other in zip(mine, theirs, strict=True)
    )


def _same_pods(one: PodSet, other: PodSet, *, tolerations: bool) -> bool:
    mine, theirs = bytes(one.template.spec), bytes(other.template.spec)
    return mine == theirs or _compared(mine, tolerations) == _compared(theirs, tolerations)


# A job is looked at again and again, with the same templates.
@lru_cache(maxsize=4096)
def _compared(spec: bytes, tolerations: bool) -> list[Any]:
    """Of a pod's spec, what is compared."""
    found = decode(msgspec.Raw(spec))
    parts = ("containers", "initContainers", *(("tolerations",) if tolerations else ()))
    return [_canonical(found.get(part)) for part in parts]


def _canonical(value: Any) -> Any:
    """A value in which nothing is left that means nothing; quantities as numbers."""
    if isinstance(value, Mapping):
        kept = {}
        for key, each in value.items():
            if key in QUANTITIES and isinstance(each, Mapping):
                kept[key] = {name: _amount(amount) for name, amount in each.items()}
            else:
                kept[key] = _canonical(each)
        return {key: each for key, each in kept.items() if each not in EMPTY} or None
    if isinstance(value, Iterable) and not isinstance(value, str):
        return [_canonical(each) for each in value] or None
    return value


def _amount(value: Any) -> Any:
    try:
        return as_fraction(value)
    except (TypeError, ValueError):
        return value
