"""Statuses of LocalQueues under admission fair sharing: what they consumed, as of the last sample. Source: QC-87."""

from __future__ import annotations

import msgspec

from kueue_fast.api.kueue import (
    LocalQueue,
    LocalQueueAdmissionFairSharingStatus,
    LocalQueueFairSharingStatus,
    LocalQueueStatus,
)
from kueue_fast.api.meta import QuantityValue
from kueue_fast.engine.admission_fair_sharing import LocalQueueUse
from kueue_fast.model import times

__all__ = ["with_past_use"]


def with_past_use(queue: LocalQueue, use: LocalQueueUse) -> LocalQueue:
    """The LocalQueue whose status says so."""
    status = queue.status or LocalQueueStatus()
    consumed: dict[str, QuantityValue] = {**use.quantities()}
    written = LocalQueueAdmissionFairSharingStatus(
        consumed_resources=consumed, last_update=times.format(use.last_update_ns)
    )
    shown = msgspec.structs.replace(
        status.fair_sharing or LocalQueueFairSharingStatus(), admission_fair_sharing_status=written
    )
    return msgspec.structs.replace(queue, status=msgspec.structs.replace(status, fair_sharing=shown))
