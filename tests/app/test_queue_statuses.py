"""Which statuses of queues are due, and how many are written at once."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from kueue_fast.app.queue_statuses import QueueStatusController, due_statuses
from kueue_fast.cluster.changes import Key
from kueue_fast.cluster.errors import ClusterError
from kueue_fast.cluster.kube.writer import Write
from kueue_fast.engine import Engine
from tests.app.queue_world import FAIR, NOW, world
from tests.arrays import objects as o


def test_statuses_that_are_due_and_then_are_not() -> None:
    engine, cache = world(config=FAIR)
    due = due_statuses(engine.queue_numbers(), cache, NOW, fair_sharing=True)
    got = {new.metadata.name: new.status for _, new in due}
    assert set(got) == {"q", "lq", "root", "team"}
    queue = got["q"]
    assert (queue.pending_workloads, queue.reserving_workloads, queue.admitted_workloads) == (1, 2, 2)
    assert queue.flavors_usage[0].resources[0].total == "3"
    assert queue.fair_sharing.weighted_share == 0
    assert (got["lq"].pending_workloads, got["lq"].conditions[0].reason) == (1, "Ready")
    assert got["team"].fair_sharing.weighted_share == 0
    for number, (_, new) in enumerate(due):
        metadata = msgspec.structs.replace(new.metadata, resource_version=f"later-{number}")
        cache.put(msgspec.structs.replace(new, metadata=metadata))
    assert due_statuses(engine.queue_numbers(), cache, NOW, fair_sharing=True) == []


def test_a_cluster_queue_that_is_deleted_says_so() -> None:
    engine, cache = world()
    queue = msgspec.structs.replace(cache.get("ClusterQueue", None, "q"))
    deleted = msgspec.structs.replace(
        queue.metadata, deletion_timestamp="2026-01-01T00:00:00Z", resource_version="later"
    )
    cache.put(msgspec.structs.replace(queue, metadata=deleted))
    due = due_statuses(engine.queue_numbers(), cache, NOW, fair_sharing=False)
    reasons = {new.metadata.name: new.status.conditions[0].reason for _, new in due}
    assert reasons == {"q": "Terminating", "lq": "ClusterQueueIsInactive"}


def test_what_the_engine_does_not_know_is_left_alone() -> None:
    _, cache = world()
    assert due_statuses(Engine().queue_numbers(), cache, NOW, fair_sharing=False) == []


# --- writing


class Answers:
    """Takes writes, and answers when the test says so."""

    def __init__(self) -> None:
        self.open: dict[Key, asyncio.Future[bytes | None]] = {}

    def submit(self, write: Write) -> asyncio.Future[bytes | None]:
        assert write.key not in self.open
        self.open[write.key] = asyncio.get_running_loop().create_future()
        return self.open[write.key]

    @property
    def names(self) -> list[str]:
        return [name for _, _, name in self.open]

    async def answer(self, name: str, error: Exception | None = None) -> None:
        key = next(key for key in self.open if key[2] == name)
        future = self.open.pop(key)
        if error is None:
            future.set_result(b"{}")
        else:
            future.set_exception(error)
        # Its callbacks run in the next turn of the loop.
        await asyncio.sleep(0)


def scene(workers: dict[str, int]) -> tuple[QueueStatusController, Answers, Engine]:
    """ClusterQueues `q`, `q1`, `q2`, LocalQueue `lq`, all without a status."""
    group = o.group(spot=[o.quota("cpu", 4)])
    engine, cache = world(o.cluster_queue("q1", group), o.cluster_queue("q2", group))
    answers = Answers()

    async def ask() -> Any:
        return engine.queue_numbers()

    controller = QueueStatusController(
        cache,  # type: ignore[arg-type]
        answers,  # type: ignore[arg-type]
        ask,
        lambda: NOW,
        fair_sharing=False,
        workers=workers,
    )
    return controller, answers, engine


@pytest.mark.parametrize(
    ("workers", "want"),
    [
        ({}, ["q", "lq"]),
        ({"ClusterQueue.kueue.x-k8s.io": 2}, ["q", "q1", "lq"]),
        ({"ClusterQueue.kueue.x-k8s.io": 0, "LocalQueue.kueue.x-k8s.io": 5}, ["q", "lq"]),
        ({"ClusterQueue": 5}, ["q", "lq"]),
    ],
)
async def test_as_many_at_once_as_a_kind_has_workers(workers: dict[str, int], want: list[str]) -> None:
    controller, answers, engine = scene(workers)
    controller.write(engine.queue_numbers())
    assert answers.names == want
    controller.write(engine.queue_numbers())
    assert answers.names == want


async def test_what_was_written_longest_ago_comes_first() -> None:
    controller, answers, engine = scene({})
    controller.write(engine.queue_numbers())
    await answers.answer("q")
    assert answers.names == ["lq", "q1"]
    # The cache does not show it yet, so that `q` is due again.
    controller.write(engine.queue_numbers())
    await answers.answer("q1")
    await answers.answer("q2")
    assert answers.names == ["lq", "q"]


async def test_what_could_not_be_written_waits_and_the_others_go_on() -> None:
    controller, answers, engine = scene({})
    controller.write(engine.queue_numbers())
    await answers.answer("q", ClusterError("no"))
    controller.write(engine.queue_numbers())
    await answers.answer("q1")
    await answers.answer("q2")
    controller.write(engine.queue_numbers())
    assert answers.names == ["lq", "q1"]


async def test_a_share_is_written_when_its_queue_is_looked_at() -> None:
    """Other quota in the tree changes the share of a queue, and no event of the queue tells."""
    engine, cache = world(config=FAIR)
    [(_, stale)] = [
        pair
        for pair in due_statuses(engine.queue_numbers(), cache, NOW, fair_sharing=True)
        if pair[0].metadata.name == "q"
    ]
    share = msgspec.structs.replace(stale.status.fair_sharing, weighted_share=7)
    status = msgspec.structs.replace(stale.status, fair_sharing=share)
    metadata = msgspec.structs.replace(stale.metadata, resource_version="later")
    cache.put(msgspec.structs.replace(stale, metadata=metadata, status=status))

    def due(look_at: set[Key]) -> list[str]:
        found = due_statuses(engine.queue_numbers(), cache, NOW, fair_sharing=True, look_at=look_at)
        return [new.metadata.name for _, new in found]

    assert due(set()) == ["lq"]
    assert due({("ClusterQueue", "", "q"), ("Cohort", "", "team")}) == ["q", "lq", "team"]
