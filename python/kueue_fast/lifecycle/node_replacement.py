"""What a second pass leaves behind: what is announced, and the end of a Workload whose node cannot be replaced.

Source: TP-1509, TP-1510, TP-1604.
"""

from __future__ import annotations

from typing import NamedTuple

from kueue_fast.api.kueue import Workload
from kueue_fast.lifecycle import events
from kueue_fast.lifecycle.events import Event
from kueue_fast.lifecycle.eviction import BY_NODE_FAILURES, evicted
from kueue_fast.model import conditions
from kueue_fast.model.second_pass import no_replacement_message

__all__ = ["Announced", "announced", "not_replaced"]


class Announced(NamedTuple):
    """Which of the events, and of the counts that go with them, an admission makes."""

    quota_reserved: bool
    admitted: bool


def announced(before: Workload, after: Workload) -> Announced:
    """What is told of an admission that turned `before` into `after`: only what is new.

    Quota that was held before is not told again, nor an admission that only replaced a node.

    Source: TP-1510, QC-144.
    """
    held = before.status is not None and conditions.is_true(
        before.status.conditions, conditions.QUOTA_RESERVED
    )
    replaced = before.status is not None and bool(before.status.unhealthy_nodes)
    runs = after.status is not None and conditions.is_true(after.status.conditions, conditions.ADMITTED)
    return Announced(quota_reserved=not held, admitted=runs and not replaced)


def not_replaced(workload: Workload, now_ns: int) -> tuple[Workload, Event]:
    """The Workload told to stop since no other node was found for a failed one, and the event of it.

    That is the end at the first try with the gate TASFailedNodeReplacementFailFast; without it one tries again.

    Source: TP-1509.
    """
    message = no_replacement_message(workload)
    namespace, name = workload.metadata.namespace or "", workload.metadata.name
    return (
        evicted(workload, BY_NODE_FAILURES, message, now_ns),
        events.evicted(namespace, name, BY_NODE_FAILURES, message, now_ns),
    )
