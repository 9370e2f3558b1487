"""Pods that an ungater lets go: written, and waited for until they are seen so.

Source: TP-1803, JS-512.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence, Set
from functools import partial

from kueue_fast.api.core import Pod
from kueue_fast.cluster.changes import Key, key_of
from kueue_fast.cluster.errors import ClusterError, NotFoundError
from kueue_fast.cluster.kube import patches
from kueue_fast.cluster.kube.cluster import KubeCluster
from kueue_fast.cluster.kube.writer import Writer
from kueue_fast.lifecycle.expectations import Expectations

__all__ = ["Releases"]


class Releases:
    """What was let go, by chain of slices. `again(key)` is called for a look whose write failed."""

    def __init__(self, cluster: KubeCluster, writer: Writer, again: Callable[[Key], None]) -> None:
        self._cluster = cluster
        self._writer = writer
        self._again = again
        self._expected = Expectations()

    def pending(self, chain: str) -> Set[str]:
        """UIDs of pods that have not been seen as they were written: nothing may be decided before they are."""
        return self._expected.pending(chain)

    def observed(self, chain: str, pod: Pod) -> None:
        """A pod was seen as it was written, or is gone."""
        self._expected.observed(chain, pod.metadata.uid or "")

    def write(self, key: Key, chain: str, pods: Sequence[Pod]) -> None:
        """Write the pods as a look at `key` wants them."""
        self._expected.expect(chain, [pod.metadata.uid or "" for pod in pods])
        for pod in pods:
            before = self._cluster.get(*key_of(pod))
            write = None if before is None else patches.update(before, pod)
            if write is None:
                self.observed(chain, pod)
            else:
                self._writer.submit(write).add_done_callback(partial(self._written, key, chain, pod))

    def _written(self, key: Key, chain: str, pod: Pod, done: asyncio.Future[bytes | None]) -> None:
        error = None if done.cancelled() else done.exception()
        if error is None:
            return
        if not isinstance(error, ClusterError):
            raise error
        # No event will tell of it.
        self.observed(chain, pod)
        if not isinstance(error, NotFoundError):
            self._again(key)
