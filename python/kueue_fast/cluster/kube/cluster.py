"""A live cluster as the rest of the program sees it: watched kinds in a cache, and a writer."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from kueue_fast.api.decode import decode
from kueue_fast.cluster.changes import Key
from kueue_fast.cluster.kube.cache import ObjectCache
from kueue_fast.cluster.kube.reflector import Reflector, Report
from kueue_fast.cluster.kube.resources import RESOURCES
from kueue_fast.cluster.kube.transport import Connection
from kueue_fast.errors import InputError

__all__ = ["KubeCluster"]


class KubeCluster(ObjectCache):
    """Reads as the embedded cluster does; `kinds` and `optional` kinds are watched once `run` is called.

    An optional kind need not be installed: until it is, there are no objects of it.
    """

    def __init__(
        self,
        connection: Connection,
        kinds: Iterable[str],
        report: Report | None = None,
        *,
        optional: Iterable[str] = (),
    ) -> None:
        super().__init__()
        self._optional = frozenset(optional)
        self.reflectors = {
            kind: Reflector(connection, RESOURCES[kind], self, report=report)
            for kind in (*kinds, *self._optional)
        }

    async def run(self) -> None:
        """Keep all kinds up to date, until this is cancelled or a listener raises."""
        async with asyncio.TaskGroup() as group:
            for reflector in self.reflectors.values():
                group.create_task(reflector.run())

    def take_answer(self, key: Key, body: bytes) -> None:
        """The answer to a write of ours to an object of a kind that is watched; of others nothing is kept."""
        if key[0] not in self.reflectors or self.get(*key) is None:
            return
        try:
            self.answered(decode(body))
        except InputError:
            # The watch reports what cannot be read.
            return

    def knows(self, kind: str) -> bool:
        """Whether what is not found of a kind is not there: it has been listed at least once."""
        return self.reflectors[kind].synced.is_set()

    async def synced(self, timeout_s: float) -> None:
        """Return when each kind has been listed once, or is optional and not served.

        Raises TimeoutError naming those that were not, and why.
        """
        waiting = [
            asyncio.ensure_future((each.answered if kind in self._optional else each.synced).wait())
            for kind, each in self.reflectors.items()
        ]
        try:
            _, late = await asyncio.wait(waiting, timeout=timeout_s)
        finally:
            for each in waiting:
                each.cancel()
        if late:
            missing = [
                f"{kind} ({reflector.last_error or 'no answer yet'})"
                for kind, reflector in self.reflectors.items()
                if not reflector.synced.is_set()
                and not (kind in self._optional and reflector.answered.is_set())
            ]
            raise TimeoutError(f"not listed after {timeout_s:g} s: {', '.join(missing)}")
