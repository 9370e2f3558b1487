"""Past use of LocalQueues under admission fair sharing, written into their statuses. Source: QC-87."""

from __future__ import annotations

from kueue_fast.api.kueue import LocalQueue
from kueue_fast.cluster.memory import MemoryCluster
from kueue_fast.engine import Engine
from kueue_fast.lifecycle.past_use import with_past_use

__all__ = ["sample"]


def sample(cluster: MemoryCluster, engine: Engine, now_ns: int) -> None:
    """Bring the past use of LocalQueues up to date where that is due, and write it into their statuses."""
    due = engine.next_sample()
    if due is None or due > now_ns:
        return
    for use in engine.sample(now_ns):
        queue: LocalQueue | None = cluster.get(LocalQueue.KIND, use.namespace, use.name)
        if queue is not None:
            cluster.update_status(with_past_use(queue, use))
