"""Heaps and parked sets. Pops and requeues go through cycles of a hand-made Scheduler. Source: QC-11, QC-20..30, QC-37, QC-46."""

from __future__ import annotations

import random

import numpy as np
import pytest

from kueuecore import Forest, Pending, Workloads
from tests.kueuecore.kernel import HEAP, MATCHES, NOWHERE, PARKED, World
from tests.kueuecore.pending_model import Item, Model

FITS, LATER, NEVER = range(3)  # request classes of World: 0, 5 and 100 cpu of 10


def heads(world: World, count: int) -> list[int]:
    """The order in which workloads that ask for nothing are admitted, one a cycle."""
    return [row for _ in range(count) for row in world.admitted()]


def test_pops_follow_priority_then_time_then_uid() -> None:
    rng = random.Random(1)
    world = World()
    facts = {}
    for row in range(300):
        facts[row] = (rng.randrange(3), rng.randrange(4), f"{rng.randrange(20):02d}-{row:03d}"[: rng.randrange(3, 7)] + f"{row}")
        priority, timestamp, uid = facts[row]
        world.write(row, priority=priority, timestamp=timestamp, uid=uid)
        assert world.pending.put(row, 0) is True
    want = sorted(facts, key=lambda row: (-facts[row][0], facts[row][1], facts[row][2].encode()))
    assert heads(world, 300) == want


EXTREMES = {
    "the highest and the lowest priority": ([{"priority": -(2**63)}, {"priority": 2**63 - 1}], [1, 0]),
    "times around 0": ([{"timestamp": 0}, {"timestamp": -1}, {"timestamp": 2**63 - 1}], [1, 0, 2]),
    "uids compare by bytes, not by letters": ([{"uid": "é"}, {"uid": "z"}, {"uid": "Z"}], [2, 1, 0]),
    "a uid that another begins with comes first": ([{"uid": "ab"}, {"uid": "a"}], [1, 0]),
    "priority before time": ([{"timestamp": 1}, {"timestamp": 2, "priority": 1}], [1, 0]),
}


@pytest.mark.parametrize("case", EXTREMES.values(), ids=EXTREMES)
def test_order_at_the_edges(case: tuple[list[dict], list[int]]) -> None:
    facts, want = case
    world = World()
    for row, one in enumerate(facts):
        world.write(row, **one)
        world.pending.put(row, 0)
    assert heads(world, len(facts)) == want


def test_an_update_in_the_heap_finds_its_new_place() -> None:
    world = World()
    for row in range(50):
        world.write(row, timestamp=row)
        world.pending.put(row, 0)
    world.write(49, timestamp=49, priority=1)
    world.pending.put(49, 0)
    world.write(0, timestamp=100)
    world.pending.put(0, 0, False)  # whether or not something relevant changed (QC-20 step 6)
    assert heads(world, 50) == [49, *range(1, 49), 0]


def test_removed_workloads_are_not_popped() -> None:
    world = World()
    for row in range(40):
        world.write(row, timestamp=row)
        world.pending.put(row, 0)
    for row in (0, 7, 39, 20):
        world.pending.remove(row)
        world.pending.remove(row)  # a second time changes nothing
    assert heads(world, 40) == [row for row in range(40) if row not in (0, 7, 39, 20)]


# --- where a head goes (QC-30)

# What makes a head fail, the requeue reason that it gets (kueuecore's Requeue), and where it goes: StrictFIFO, BestEffortFIFO.
DESTINATIONS = {
    "NoFit": ({"request": NEVER}, 3, HEAP, PARKED),
    "PreemptionNoCandidates": ({"request": LATER}, 4, HEAP, PARKED),
    "NamespaceMismatch": ({"namespace": 1}, 2, PARKED, PARKED),
    "generic: the namespace is missing": ({"namespace": 2}, 0, HEAP, PARKED),
    "generic: a check failed": ({"checks_failed": True}, 0, HEAP, PARKED),
    "generic: invalid requests": ({"invalid": True}, 0, HEAP, PARKED),
}


@pytest.mark.parametrize("strict", [True, False], ids=["StrictFIFO", "BestEffortFIFO"])
@pytest.mark.parametrize("case", DESTINATIONS.values(), ids=DESTINATIONS)
def test_where_a_head_goes(case: tuple[dict, int, int, int], strict: bool) -> None:
    facts, want_reason, want_strict, want_best_effort = case
    world = World(strict=[0] if strict else [])
    world.use(0, 10)
    world.write(0, **facts)
    world.pending.put(0, 0)
    assert world.refused()[0][1] == want_reason
    assert world.pending.place_of(0) == (want_strict if strict else want_best_effort)


@pytest.mark.parametrize("strict", [True, False], ids=["StrictFIFO", "BestEffortFIFO"])
def test_a_head_whose_quota_went_to_another_stays_in_the_heap(strict: bool) -> None:
    world = World(2, strict=[0, 1] if strict else [], cohort=True, nominal=4, requests=(0, 8))
    world.write(0, 0, request=1, priority=1)
    world.write(1, 1, request=1)
    world.pending.put(0, 0)
    world.pending.put(1, 0)
    assert world.refused() == {1: (3, 1)}  # no longer fits, FailedAfterNomination
    assert world.places(0, 1) == [NOWHERE, HEAP]


@pytest.mark.parametrize("strict", [True, False], ids=["StrictFIFO", "BestEffortFIFO"])
@pytest.mark.parametrize("backoff", [{"requeue_at": 100}, {"blocked": True}], ids=["requeueAt", "Requeued=False"])
def test_a_head_in_backoff_is_parked_whatever_the_reason(strict: bool, backoff: dict) -> None:
    """It was in the heap already when the backoff began."""
    world = World(strict=[0] if strict else [])
    world.write(0, request=NEVER)
    world.pending.put(0, 0)
    world.write(0, request=NEVER, **backoff)
    world.pending.put(0, 50)
    assert world.pending.place_of(0) == HEAP
    world.refused(50)
    assert world.pending.place_of(0) == PARKED


def test_a_head_with_flavors_left_to_try_stays_in_the_heap() -> None:
    """Its first pod set stopped at the first of two flavors, so the next cycle goes on after it (QC-40)."""
    world = World(flavors=2)
    world.workloads.reserve(pod_sets=5, slots=2)
    world.workloads.write_pod_set(3, 0, FITS, 0, 0, 1, 1, -1, 0, 1)
    world.workloads.write_pod_set(4, 0, NEVER, 0, 1, 1, 1, -1, 1, 1)
    world.workloads.reserve(rows=1)
    world.workloads.write(0, 0, 0, 0, -1, 0, 0, 0, False, False, False, b"uid", 3, 2, 0, False)
    world.pending.put(0, 0)
    assert world.refused() == {0: (1, 3)}
    assert world.pending.place_of(0) == HEAP
    assert [tried for _, tried, *_ in world.workloads.slots_of(0)] == [0, -2]


def test_a_head_of_a_queue_outside_the_snapshot_is_refused_as_inactive() -> None:
    world = World()
    world.forest.in_snapshot[0] = 0
    world.write(0)
    world.pending.put(0, 0)
    assert world.refused() == {0: (8, 0)}
    assert world.pending.place_of(0) == PARKED


def test_queues_that_are_not_asked_are_not_popped() -> None:
    world = World(2)
    world.scheduler.queue_order = np.array([1], np.int32)
    for row, queue in enumerate((0, 1)):
        world.write(row, queue)
        world.pending.put(row, 0)
    assert world.admitted() == [1]
    assert world.places(0, 1) == [HEAP, NOWHERE]


# --- put on create and update (QC-20, QC-26, QC-27)

PUTS = {
    "a new one goes to the heap": ({}, 0, HEAP),
    "a new one before requeueAt is parked": ({"requeue_at": 100}, 99, PARKED),
    "a new one at requeueAt goes to the heap": ({"requeue_at": 100}, 100, HEAP),
    "a new one with Requeued=False is parked": ({"blocked": True}, 0, PARKED),
    "Requeued=False weighs more than a requeueAt that is over": ({"blocked": True, "requeue_at": 1}, 9, PARKED),
}


@pytest.mark.parametrize("case", PUTS.values(), ids=PUTS)
def test_put_of_a_new_workload(case: tuple[dict, int, int]) -> None:
    facts, now, want = case
    world = World()
    world.write(0, **facts)
    assert world.pending.put(0, now) is (want == HEAP)
    assert world.pending.place_of(0) == want


UPDATES_OF_A_PARKED_ONE = {
    "nothing relevant changed": ({}, False, PARKED),
    "something relevant changed": ({}, True, HEAP),
    "it changed, and a backoff began": ({"requeue_at": 100}, True, PARKED),
    "its backoff ended, which is a change": ({"requeue_at": 40}, True, HEAP),
}


@pytest.mark.parametrize("case", UPDATES_OF_A_PARKED_ONE.values(), ids=UPDATES_OF_A_PARKED_ONE)
def test_put_of_a_parked_workload(case: tuple[dict, bool, int]) -> None:
    facts, changed, want = case
    world = World()
    world.write(0, request=NEVER)
    world.pending.put(0, 0)
    world.refused()
    assert world.pending.place_of(0) == PARKED
    world.write(0, request=NEVER, keep=True, **facts)
    assert world.pending.put(0, 50, changed) is (want == HEAP)
    assert world.pending.place_of(0) == want
    assert world.pending.heap_length(0) + world.pending.parked_length(0) == 1


def test_put_back_looks_at_neither_backoff_nor_class_and_moves_nothing_that_waits() -> None:
    """QC-29: what a LocalQueue or ClusterQueue that came back brings along."""
    world = World()
    world.write(0, request=NEVER, shape=7)
    world.pending.put(0, 0)
    world.refused()
    assert world.pending.put_back(0) is False
    for row, facts in ((1, {"requeue_at": 100}), (2, {"shape": 7}), (3, {"blocked": True})):
        world.write(row, **facts)
        assert world.pending.put_back(row) is True
    assert world.places(0, 1, 2, 3) == [PARKED, HEAP, HEAP, HEAP]


# --- classes of scheduling equivalence (QC-46, QC-47)


def class_world(*, strict: bool = False, hashing: bool = True, head: dict | None = None) -> World:
    """After a cycle whose head, of class 7, was refused; rows 1 to 3 wait behind it: classes 7, 8 and none."""
    world = World(2, strict=[0] if strict else [], hashing=hashing)
    for row, shape in enumerate((7, 7, 8, -1)):
        world.write(row, request=NEVER, shape=shape, timestamp=row, **((head or {}) if row == 0 else {}))
        world.pending.put(row, 0)
    world.refused()
    return world


CLASSES = {
    "a head without a fit takes its class along": ({}, [PARKED, PARKED, HEAP, HEAP]),
    "not in StrictFIFO": ({"strict": True}, [HEAP, HEAP, HEAP, HEAP]),
    "not without the gate": ({"hashing": False}, [PARKED, HEAP, HEAP, HEAP]),
    "not for another reason": ({"head": {"checks_failed": True}}, [PARKED, HEAP, HEAP, HEAP]),
    "not for a namespace mismatch": ({"head": {"namespace": 1}}, [PARKED, HEAP, HEAP, HEAP]),
}


@pytest.mark.parametrize("case", CLASSES.values(), ids=CLASSES)
def test_bulk_move(case: tuple[dict, list[int]]) -> None:
    options, want = case
    assert class_world(**options).places(0, 1, 2, 3) == want


def test_a_head_without_candidates_takes_its_class_along() -> None:
    world = World()
    world.use(0, 10)
    for row in range(2):
        world.write(row, request=LATER, shape=7)
        world.pending.put(row, 0)
    world.refused()
    assert world.places(0, 1) == [PARKED, PARKED]


NEWCOMERS = {
    "of the class": ({"shape": 7}, 0, PARKED),
    "of the class, in another queue": ({"shape": 7}, 1, HEAP),
    "of another class": ({"shape": 9}, 0, HEAP),
    "of an unknown class": ({"shape": -1}, 0, HEAP),
}


@pytest.mark.parametrize("case", NEWCOMERS.values(), ids=NEWCOMERS)
def test_newcomers_after_a_bulk_move(case: tuple[dict, int, int]) -> None:
    facts, queue, want = case
    world = class_world()
    world.write(4, queue, **facts)
    world.pending.put(4, 0)
    assert world.pending.place_of(4) == want


def test_a_workload_that_changes_into_a_parked_class_is_parked() -> None:
    world = class_world()
    world.write(0, request=NEVER, shape=8)
    world.pending.put(0, 0)
    assert world.pending.place_of(0) == HEAP
    world.write(0, request=NEVER, shape=7)
    world.pending.put(0, 0)
    assert world.pending.place_of(0) == HEAP  # in the heap it stays there (QC-20 step 5)
    world.pending.remove(0)
    world.pending.put(0, 0)
    assert world.pending.place_of(0) == PARKED


def test_a_flush_forgets_the_parked_classes_of_its_queue_even_if_it_moves_nothing() -> None:
    world = class_world()
    for row in (0, 1):
        world.pending.remove(row)
    assert world.pending.flush(0, 0) == 0
    world.write(4, shape=7)
    world.pending.put(4, 0)
    assert world.pending.place_of(4) == HEAP


def test_many_classes_are_kept_apart() -> None:
    """The table of classes grows several times, and forgets those that a flush made meaningless."""
    world = World(2)
    for shape in range(300):
        world.write(shape, request=NEVER, shape=shape, timestamp=shape)
        world.pending.put(shape, 0)
    for _ in range(300):
        world.refused()
    assert world.pending.parked_length(0) == 300
    world.pending.flush(0, 0)
    for _ in range(10):
        world.refused()
    for shape in range(300):
        world.write(300 + shape, shape=shape)
        world.pending.put(300 + shape, 0)
    assert [world.pending.place_of(300 + shape) for shape in range(300)] == [PARKED] * 10 + [HEAP] * 290


# --- flush (QC-37)


def test_a_flush_moves_what_its_namespace_and_backoff_allow() -> None:
    world = World(2)
    cases = [
        ({"request": NEVER}, HEAP),
        ({"namespace": 1}, PARKED),  # mismatch
        ({"namespace": 2}, PARKED),  # missing
        ({"requeue_at": 10}, HEAP),  # over by then
        ({"requeue_at": 11}, PARKED),
        ({"blocked": True}, PARKED),
    ]
    for row, (facts, _) in enumerate(cases):
        world.write(row, **facts)
        world.pending.put(row, 0)
    world.write(6, 1, request=NEVER)
    world.pending.put(6, 0)
    for _ in range(3):
        world.refused()
    assert world.places(*range(7)) == [PARKED] * 7
    assert world.pending.flush(0, 10) == 2
    assert world.places(*range(6)) == [want for _, want in cases]
    assert world.pending.place_of(6) == PARKED  # of another queue
    assert sorted(world.pending.heap_rows(0) + world.pending.parked_rows(0)) == [0, 1, 2, 3, 4, 5]


def test_close_queue_leaves_nothing_behind() -> None:
    world = World(2)
    for row in range(4):
        world.write(row, request=NEVER, shape=row % 2)
        world.pending.put(row, 0)
    world.write(4, 1)
    world.pending.put(4, 0)
    world.refused()
    assert sorted(world.pending.close_queue(0)) == [0, 1, 2, 3]
    assert world.places(0, 1, 2, 3) == [NOWHERE] * 4
    assert (world.pending.heap_length(0), world.pending.parked_length(0)) == (0, 0)
    assert world.pending.heap_length(1) == 0  # admitted in the cycle
    world.write(5, shape=0)
    world.pending.put(5, 0)
    assert world.pending.place_of(5) == HEAP  # the class that was parked is forgotten too


# --- a random sequence of operations against plain Python


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
            admitted = {row for row, _, _ in world.scheduler.admissions()}
            refused = {row: outcome for row, _, outcome, *_ in world.scheduler.refusals()}
            assert (admitted, refused) == model.cycle(now)
        for row, item in model.items.items():
            assert world.pending.place_of(row) == item.place, (row, item)
        for queue in range(queues):
            assert sorted(world.pending.heap_rows(queue)) == model.rows(queue, HEAP)
            assert sorted(world.pending.parked_rows(queue)) == model.rows(queue, PARKED)


# --- calls that make no sense


def tables() -> tuple[Workloads, Pending]:
    workloads = Workloads()
    workloads.reserve(rows=2)
    pending = Pending(workloads)
    pending.reserve(3, 1)
    return workloads, pending


BAD_CALLS = {
    "put of no row": (lambda _, pending: pending.put(2, 0), "workload 2: expected a row from 0 to 1"),
    "put without a queue": (lambda _, pending: pending.put(0, 0), "queue -1: expected a forest row"),
    "put_back of no row": (lambda _, pending: pending.put_back(-1), "workload -1: expected a row"),
    "put_back without a queue": (lambda _, pending: pending.put_back(0), "queue -1: expected a forest row"),
    "remove of no row": (lambda _, pending: pending.remove(5), "workload 5: expected a row"),
    "place of no row": (lambda _, pending: pending.place_of(-3), "workload -3: expected a row"),
    "flush of no queue": (lambda _, pending: pending.flush(99, 0), "queue 99: expected a forest row"),
    "close of no queue": (lambda _, pending: pending.close_queue(-1), "queue -1: expected a forest row"),
    "rows of no queue": (lambda _, pending: pending.heap_rows(99), "queue 99: expected a forest row"),
    "parked rows of no queue": (lambda _, pending: pending.parked_rows(99), "queue 99: expected a forest row"),
    "length of no queue": (lambda _, pending: pending.heap_length(-2), "queue -2: expected a forest row"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD_CALLS.values(), ids=BAD_CALLS)
def test_a_bad_call_is_a_value_error(case: tuple) -> None:
    call, want = case
    with pytest.raises(ValueError, match=want):
        call(*tables())


def test_growing_keeps_what_waits() -> None:
    world = World(2)
    for row in range(20):
        world.write(row, row % 2, timestamp=row, request=NEVER if row < 2 else FITS)
        world.pending.put(row, 0)
    world.refused()
    before = [(world.pending.heap_rows(queue), world.pending.parked_rows(queue)) for queue in range(2)]
    world.pending.reserve(200, 50)
    assert [(world.pending.heap_rows(q), world.pending.parked_rows(q)) for q in range(2)] == before
    assert world.pending.namespace_match[0, 0] == MATCHES
    assert world.pending.namespace_match[0, 49] == 0
    assert world.pending.flush(0, 0) == 1


def test_a_queued_row_is_not_cleared() -> None:
    world = World()
    world.write(0)
    world.pending.put(0, 0)
    with pytest.raises(ValueError, match="workload 0 is still queued"):
        world.workloads.clear_row(0)
    world.pending.remove(0)
    world.workloads.clear_row(0)
    assert world.workloads.queue[0] == -1


def test_a_forest_without_rows_has_no_queues() -> None:
    pending = Pending(Workloads())
    assert Forest().nodes == 0
    with pytest.raises(ValueError, match="queue 0"):
        pending.heap_rows(0)
