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
from kueue_fast.cluster.kube.resources import RESOURCES
from kueue_fast.cluster.kube.writer import Verb, Write, Writer
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

    def write(
        self,
        workload: Workload,
        build: Build,
        written: Callable[[Workload], object] = lambda after: None,
        failed: Callable[[], None] = lambda: None,
    ) -> None:
        """Write what `build` makes of the Workload; `written` is called with it as it is then.

        Where it finds nothing to do while a write of the Workload is not done yet, it is asked again after that write:
        a victim may have been admitted a moment ago, and look as if it were evicted still.

        `failed` is called when it could not be written, or there was nothing to write: from the beginning, or after a
        conflict, since the Workload is another one by now, has ended, or is where it should be.
        """
        changed = build(workload)
        if changed is None and not self._writer.is_writing(key_of(workload)):
            return failed()

        def done(answer: asyncio.Future[bytes | None]) -> None:
            body = None if answer.cancelled() or answer.exception() is not None else answer.result()
            if body is None:
                return failed()
            after = decode(body)
            assert isinstance(after, Workload)
            written(after)

        self._writer.submit(self._write(workload, changed, build)).add_done_callback(done)

    def _write(self, workload: Workload, changed: Workload | None, build: Build) -> Write:
        def rebuild(newest: bytes) -> Write | None:
            current = decode(newest)
            assert isinstance(current, Workload)
            if current.metadata.uid != workload.metadata.uid or is_finished(current):
                return None
            again = build(current)
            return None if again is None else self._write(current, again, build)

        if changed is None:
            # Made from the newest object alone.
            metadata = workload.metadata
            return Write(
                RESOURCES[Workload.KIND],
                metadata.namespace,
                metadata.name,
                Verb.REPLACE,
                subresource="status",
                rebuild=rebuild,
            )
        assert key_of(changed) == key_of(workload)
        return dataclasses.replace(workload_status.admission(changed), rebuild=rebuild)
