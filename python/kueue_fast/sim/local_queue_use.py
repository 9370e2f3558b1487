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
from kueue_fast.cluster.memory import MemoryCluster
from kueue_fast.engine import Engine
from kueue_fast.engine.admission_fair_sharing import LocalQueueUse
from kueue_fast.model import times

__all__ = ["sample"]


def sample(cluster: MemoryCluster, engine: Engine, now_ns: int) -> None:
    """Bring the past use of LocalQueues up to date where that is due, and write it into their statuses."""
    due = engine.next_sample()
    if due is not None and due <= now_ns:
        for use in engine.sample(now_ns):
            _write(cluster, use)


def _write(cluster: MemoryCluster, use: LocalQueueUse) -> None:
    queue: LocalQueue | None = cluster.get(LocalQueue.KIND, use.namespace, use.name)
    if queue is None:
        return
    status = queue.status or LocalQueueStatus()
    consumed: dict[str, QuantityValue] = {**use.quantities()}
    written = LocalQueueAdmissionFairSharingStatus(
        consumed_resources=consumed, last_update=times.format(use.last_update_ns)
    )
    shown = msgspec.structs.replace(
        status.fair_sharing or LocalQueueFairSharingStatus(), admission_fair_sharing_status=written
    )
    cluster.update_status(
        msgspec.structs.replace(queue, status=msgspec.structs.replace(status, fair_sharing=shown))
    )
