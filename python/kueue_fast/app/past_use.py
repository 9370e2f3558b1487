"""Writes what LocalQueues used into their statuses: whoever leads next goes on from there.

Source: QC-87.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from kueue_fast.api.decode import decode
from kueue_fast.api.kueue import LocalQueue
from kueue_fast.cluster.kube import patches
from kueue_fast.cluster.kube.cluster import KubeCluster
from kueue_fast.cluster.kube.writer import Write, Writer
from kueue_fast.engine.admission_fair_sharing import LocalQueueUse
from kueue_fast.lifecycle.past_use import with_past_use

__all__ = ["PastUseWriter"]


class PastUseWriter:
    """Writes the samples that the engine takes; after a conflict into the newer LocalQueue."""

    def __init__(self, cluster: KubeCluster, writer: Writer) -> None:
        self._cluster = cluster
        self._writer = writer

    def on_sample(self, uses: Sequence[LocalQueueUse]) -> None:
        """Some LocalQueues were brought up to date."""
        for use in uses:
            queue: LocalQueue | None = self._cluster.get(LocalQueue.KIND, use.namespace, use.name)
            write = None if queue is None else _write(queue, use)
            if write is not None:
                self._writer.submit(write)


def _write(queue: LocalQueue, use: LocalQueueUse) -> Write | None:
    def rebuild(newest: bytes) -> Write | None:
        current = decode(newest)
        assert isinstance(current, LocalQueue)
        return _write(current, use) if current.metadata.uid == queue.metadata.uid else None

    write = patches.update_status(queue, with_past_use(queue, use))
    return None if write is None else dataclasses.replace(write, rebuild=rebuild)
