"""The engine's thread, without a cluster. Source: QC-89, QC-132."""

from __future__ import annotations

import asyncio

from kueue_fast.app.scheduler import CycleResult, SchedulerThread
from kueue_fast.cluster.changes import Change, WatchEvent
from kueue_fast.engine import Engine
from tests.arrays import objects as o


def fail(error: BaseException) -> None:
    raise error


async def test_no_cycle_runs_between_admissions_and_their_release() -> None:
    scheduler = SchedulerThread(Engine(), fail, now=lambda: o.START)
    scheduler.hold_after_admissions()
    results: asyncio.Queue[CycleResult] = asyncio.Queue()
    objects = [
        o.namespace(),
        o.flavor("f"),
        o.cluster_queue("q", o.group(f=[o.quota("cpu", 10)])),
        o.local_queue("lq", "q"),
        *(o.workload(name, "lq", o.pod_set()) for name in ("first", "second")),
    ]
    for obj in objects:
        scheduler.feed(WatchEvent(Change.ADDED, obj, None))
    scheduler.start(results.put_nowait)
    try:
        first = await results.get()
        # What it answers shows that it goes on, but for cycles.
        for _ in range(3):
            assert await scheduler.ask(lambda engine: engine.has_heads(o.START))
        assert results.empty()
        scheduler.release()
        second = await results.get()
    finally:
        await scheduler.stop()
    admitted = [one.workload for each in (first, second) for one in each.cycle.admitted]
    assert sorted(admitted) == ["default/first", "default/second"]
