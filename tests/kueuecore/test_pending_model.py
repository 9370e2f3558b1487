"""A random sequence of operations on Pending, against plain Python."""

from __future__ import annotations

import random

import pytest

from tests.kueuecore.kernel import HEAP, NOWHERE, PARKED, World
from tests.kueuecore.pending_model import Item, Model


@pytest.mark.parametrize("seed", range(12))
def test_random_operations_as_a_plain_model(seed: int) -> None:
    rng = random.Random(seed)
    queues = 3
    world = World(queues, strict=[2])
    model = Model(queues, strict={2})
    for queue in range(queues):
        world.use(queue, 10)
    now = 0
    for _ in range(400):
        now += rng.randrange(3)
        action = rng.random()
        row = rng.randrange(40)
        item = model.items.get(row)
        if action < 0.55:
            kept = item is not None and item.place != NOWHERE and rng.random() < 0.5
            new = Item.random(rng, row, now, item.queue if kept and item else rng.randrange(queues))
            changed = item is None or not kept or rng.random() < 0.7
            if item is not None and not kept:
                world.pending.remove(row)
                model.remove(row)
                world.scheduler.release(row)
            world.write(
                row, new.queue, request=new.request, priority=new.priority, timestamp=new.timestamp,
                namespace=new.namespace, shape=new.shape, requeue_at=new.requeue_at, blocked=new.blocked,
                checks_failed=new.checks_failed,
            )  # fmt: skip
            if item is None or item.place == NOWHERE or rng.random() < 0.9:
                assert world.pending.put(row, now, changed) is model.put(new, now, changed)
            else:
                world.pending.remove(row)
                model.remove(row)
                assert world.pending.put_back(row) is model.put_back(new)
        elif action < 0.65:
            if item is not None:
                world.pending.remove(row)
                model.remove(row)
        elif action < 0.72:
            queue = rng.randrange(queues)
            assert world.pending.flush(queue, now) == model.flush(queue, now)
        elif action < 0.74:
            queue = rng.randrange(queues)
            assert sorted(world.pending.close_queue(queue)) == model.close(queue)
        else:
            world.scheduler.run(now)
            admitted = {row for row, *_ in world.scheduler.admissions()}
            refused = {row: outcome for row, _, outcome, *_ in world.scheduler.refusals()}
            assert (admitted, refused) == model.cycle(now)
        for row, item in model.items.items():
            assert world.pending.place_of(row) == item.place, (row, item)
        for queue in range(queues):
            assert sorted(world.pending.heap_rows(queue)) == model.rows(queue, HEAP)
            assert sorted(world.pending.parked_rows(queue)) == model.rows(queue, PARKED)
