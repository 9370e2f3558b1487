"""Which pods of a role stay when there are too many. Source: JS-352, JS-353."""

from __future__ import annotations

from collections.abc import Sequence

from kueue_fast.api.core import Pod
from kueue_fast.jobs import pod_names
from kueue_fast.jobs.pod_facts import (
    has_finalizer,
)
from kueue_fast.lifecycle.pods import has_gate
from kueue_fast.model import times

__all__ = ["keep_first_active", "keep_first_inactive", "last_active_time"]


def keep_first_active(pods: Sequence[Pod], count: int) -> tuple[list[Pod], list[Pod]]:
    """The `count` pods to keep of those that run or may run, and the others.

    Kept first: pods with finalizer, pods that are not gated, older pods. Few enough stay in their order.
    """
    if len(pods) <= count:
        return list(pods), []
    ordered = sorted(
        pods,
        key=lambda pod: (not has_finalizer(pod), has_gate(pod, pod_names.ADMISSION_GATE), _created(pod)),
    )
    return ordered[:count], ordered[count:]


def keep_first_inactive(pods: Sequence[Pod], count: int, now_ns: int) -> tuple[list[Pod], list[Pod]]:
    """The `count` pods to keep of those that will not run, and the others.

    Kept first: pods with finalizer, those that were active last, older pods.
    """
    if len(pods) <= count:
        return list(pods), []
    ordered = sorted(
        pods,
        key=lambda pod: (not has_finalizer(pod), -last_active_time(pod, now_ns), _created(pod)),
    )
    return ordered[:count], ordered[count:]


def last_active_time(pod: Pod, now_ns: int) -> int:
    """When the pod was last known to be active, in ns since 1970: until it failed, or was deleted; else now."""
    failed = now_ns
    for condition in (pod.status.conditions if pod.status is not None else None) or ():
        if condition.type == "ContainersReady":
            known = condition.status == "False" and condition.reason == "Failed"
            if known and condition.last_transition_time:
                failed = times.parse(condition.last_transition_time)
            break
    deleted = pod.metadata.deletion_timestamp
    return min(failed, times.parse(deleted) if deleted else now_ns)


def _created(pod: Pod) -> int:
    created = pod.metadata.creation_timestamp
    return times.parse(created) if created else 0
