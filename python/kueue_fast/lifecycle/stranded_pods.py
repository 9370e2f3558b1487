"""Pods that were sent to a node where they will never start: they fail, so that others are made.

Source: TP-1406, TP-1407.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import msgspec

from kueue_fast.api.core import Pod, PodStatus
from kueue_fast.api.meta import Condition
from kueue_fast.lifecycle import events
from kueue_fast.lifecycle.events import Event
from kueue_fast.lifecycle.pods import FAILED, has_gate, is_terminal
from kueue_fast.lifecycle.status import TRUE, timestamp

__all__ = ["TerminatePod", "is_progressing", "is_stranded", "terminated"]

PENDING: Final = "Pending"
TERMINATED: Final = "TerminatedByKueue"
REASON: Final = "UnschedulableOnAssignedNode"
MESSAGE: Final = "Pod terminated by Kueue NodeController due to node taint"


class TerminatePod(NamedTuple):
    """Write phase and conditions of the pod's status, then record the event; a pod that is gone needs neither."""

    pod: Pod
    event: Event


def is_progressing(pod: Pod, node: str) -> bool:
    """Whether a pod goes on on this node: scheduled there, not told to go, not at its end. Source: TP-1406."""
    return pod.spec.node_name == node and pod.metadata.deletion_timestamp is None and not is_terminal(pod)


def is_stranded(pod: Pod) -> bool:
    """Whether a pod that asks for a failed node waits for it: let go by Kueue and not scheduled. Source: TP-1407."""
    return (
        not pod.spec.node_name
        and pod.status is not None
        and pod.status.phase == PENDING
        and not has_gate(pod)
    )


def terminated(pod: Pod, now_ns: int) -> TerminatePod:
    """The pod failed by Kueue, with why. Source: TP-1407."""
    status = pod.status or PodStatus()
    condition = Condition(
        type=TERMINATED,
        status=TRUE,
        reason=REASON,
        message=MESSAGE,
        last_transition_time=timestamp(now_ns),
    )
    status = msgspec.structs.replace(status, phase=FAILED, conditions=[*(status.conditions or ()), condition])
    namespace, name = pod.metadata.namespace or "", pod.metadata.name
    return TerminatePod(
        msgspec.structs.replace(pod, status=status),
        events.terminated_pod(namespace, name, MESSAGE, now_ns),
    )
