"""What the webhook refuses of a change of a Workload with a reservation, and what slices of elastic jobs may do.

Source: JS-501, JS-502, JS-505.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from kueue_fast.api.kueue import PodSet, ReclaimablePod, Workload
from kueue_fast.model import conditions
from kueue_fast.model.elastic import REPLACEMENT_FOR, is_elastic
from kueue_fast.model.validation.field_error import FieldError, invalid, required

__all__ = ["validate_slice_update"]

IMMUTABLE = "field is immutable"


def validate_slice_update(old: Workload, new: Workload, *, slices: bool) -> Iterator[FieldError]:
    """What is wrong with a change of pod sets, cluster and reclaimable pods; `slices` is ElasticJobsViaWorkloadSlices.

    Any Workload may get fewer pods while the gate is on, not only one of an elastic job.
    """
    if _is_reserved(old):
        yield from _pod_sets(old.spec.pod_sets or (), new.spec.pod_sets or (), slices)
        if _is_reserved(new):
            yield from _reclaimable(old, new, slices)
    yield from _cluster_name(old, new, slices)


def _pod_sets(old: Sequence[PodSet], new: Sequence[PodSet], slices: bool) -> Iterator[FieldError]:
    path = "spec.podSets"
    if len(old) != len(new):
        yield invalid(path, [each.name for each in new], IMMUTABLE)
        return
    for index, (before, after) in enumerate(zip(old, new, strict=True)):
        compared = after
        if slices and after.count < before.count:
            compared = msgspec.structs.replace(after, count=before.count)
        if msgspec.json.encode(compared) != msgspec.json.encode(before):
            yield invalid(f"{path}.{index}", {"name": after.name, "count": after.count}, IMMUTABLE)


def _cluster_name(old: Workload, new: Workload, slices: bool) -> Iterator[FieldError]:
    if slices and REPLACEMENT_FOR in (new.metadata.annotations or {}):
        return
    before = old.status.cluster_name if old.status is not None else None
    after = new.status.cluster_name if new.status is not None else None
    nominated = (old.status.nominated_cluster_names if old.status is not None else None) or ()
    if before is None and after is not None and after not in nominated:
        message = "when setting clusterName it must be one of the nominatedClusterNames"
        yield invalid("status.clusterName", after, message)


def _reclaimable(old: Workload, new: Workload, slices: bool) -> Iterator[FieldError]:
    """Pods that are given back stay so, unless their pod set has become smaller than it was admitted."""
    path = "status.reclaimablePods"
    after = {pod.name: pod.count for pod in _given_back(new)}
    shrunk = _shrunk(new, slices)
    for pod in _given_back(old):
        if pod.name in shrunk:
            continue
        count = after.get(pod.name)
        if count is None:
            yield required(f"{path}[{pod.name}]", "cannot be removed")
        elif count < pod.count:
            yield invalid(f"{path}[{pod.name}].count", count, f"cannot be less than {pod.count}")


def _given_back(workload: Workload) -> Sequence[ReclaimablePod]:
    return (workload.status.reclaimable_pods if workload.status is not None else None) or ()


def _shrunk(workload: Workload, slices: bool) -> set[str]:
    """Names of the pod sets of a slice that have fewer pods than they were admitted with."""
    admission = workload.status.admission if workload.status is not None else None
    if admission is None or not is_elastic(workload.metadata.annotations, slices=slices):
        return set()
    counts = {pod_set.name: pod_set.count for pod_set in workload.spec.pod_sets or ()}
    return {
        each.name
        for each in admission.pod_set_assignments or ()
        if each.count is not None and each.count > counts.get(each.name, 0)
    }


def _is_reserved(workload: Workload) -> bool:
    return workload.status is not None and conditions.is_true(
        workload.status.conditions, conditions.QUOTA_RESERVED
    )
