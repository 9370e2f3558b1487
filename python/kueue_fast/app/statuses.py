"""Writes Workload statuses: made from the newest object that is known, and again from a newer one after a conflict."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Callable
from typing import TypeAlias

from kueue_fast.api.decode import decode
from kueue_fast.api.kueue import Workload
from kueue_fast.cluster.changes import key_of
from kueue_fast.cluster.kube import workload_status
from kueue_fast.cluster.kube.cluster import KubeCluster
from kueue_fast.cluster.kube.writer import Write, Writer
from kueue_fast.lifecycle.finish import is_finished

__all__ = ["StatusWriter"]

Build: TypeAlias = Callable[[Workload], Workload | None]


class StatusWriter:
    """One way for all statuses of Workloads, by the admission's field manager."""

    def __init__(self, cluster: KubeCluster, writer: Writer) -> None:
        self._cluster = cluster
        self._writer = writer

    def find(self, key: str) -> Workload | None:
        """A Workload by `namespace/name`."""
        namespace, _, name = key.partition("/")
        found: Workload | None = self._cluster.get(Workload.KIND, namespace, name)
        return found

    def write(self, workload: Workload, build: Build) -> asyncio.Future[bytes | None] | None:
        """Write what `build` makes of the Workload, if that is anything.

        The future gives None if after a conflict there was nothing left to write: the Workload is another one, has
        ended, or is where it should be. None is returned when that is so from the beginning.
        """
        changed = build(workload)
        return None if changed is None else self._writer.submit(self._write(workload, changed, build))

    def _write(self, workload: Workload, changed: Workload, build: Build) -> Write:
        def rebuild(newest: bytes) -> Write | None:
            current = decode(newest)
            assert isinstance(current, Workload)
            if current.metadata.uid != workload.metadata.uid or is_finished(current):
                return None
            again = build(current)
            return None if again is None else self._write(current, again, build)

        assert key_of(changed) == key_of(workload)
        return dataclasses.replace(workload_status.admission(changed), rebuild=rebuild)
