"""Statuses of Workloads are made from the newest object, also where a write is on its way. Source: QC-146."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from kueue_fast.api.decode import decode_object
from kueue_fast.api.kueue import Workload, WorkloadStatus
from kueue_fast.api.meta import Condition
from kueue_fast.app.statuses import StatusWriter
from kueue_fast.cluster.kube.writer import Writer

pytestmark = pytest.mark.live

KUEUE = "kueue.x-k8s.io/v1beta2"


def evicted(workload: Workload, status: str) -> Workload:
    condition = Condition(
        type="Evicted", status=status, reason="R", message="", last_transition_time="2026-01-01T00:00:00Z"
    )
    return msgspec.structs.replace(workload, status=WorkloadStatus(conditions=[condition]))


def is_evicted(workload: Workload) -> bool:
    found = workload.status.conditions if workload.status is not None else None
    return bool(found) and found[0].status == "True"


async def test_who_was_admitted_a_moment_ago_can_be_evicted(world: Any) -> None:
    """The Workload that is known is evicted still; the write of its admission is on its way."""
    made = decode_object(await world.call(world.client.create, world.workload("w")))
    async with world.connection() as connection:
        statuses = StatusWriter(None, Writer(connection))  # type: ignore[arg-type]
        known = evicted(made, "True")
        done: asyncio.Queue[str] = asyncio.Queue()

        def evict(current: Workload) -> Workload | None:
            return None if is_evicted(current) else evicted(current, "True")

        def tell(what: str) -> Any:
            return lambda *_: done.put_nowait(what)

        statuses.write(known, lambda current: evicted(current, "False"), tell("admitted"), tell("not"))
        statuses.write(known, evict, tell("evicted"), tell("not evicted"))
        # Now it is, and there is nothing to do.
        statuses.write(known, evict, tell("again"), tell("not again"))
        assert [await done.get() for _ in range(3)] == ["admitted", "evicted", "not again"]
        statuses.write(known, evict, tell("again"), tell("nothing on its way"))
        assert await done.get() == "nothing on its way"
    found = await world.call(world.client.get, KUEUE, "Workload", "w", world.namespace)
    assert found["status"]["conditions"][0]["status"] == "True"
