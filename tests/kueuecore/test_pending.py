"""Heaps and parked sets of the ClusterQueues. Source: QC-11, QC-20, QC-27..29, QC-37, QC-46, QC-47."""

from __future__ import annotations

import random

import pytest

from kueuecore import Forest, Pending, Workloads
from tests.kueuecore.kernel import HEAP, MATCHES, NOWHERE, PARKED, World
from tests.kueuecore.pending_model import FITS, LATER, NEVER


def heads(world: World, count: int) -> list[int]:
    """The order in which workloads that ask for nothing are admitted, one a cycle."""
    return [row for _ in range(count) for row in world.admitted()]


def test_pops_follow_priority_then_time_then_uid() -> None:
    rng = random.Random(1)
    world = World()
    facts = {}
    for row in range(300):
        facts[row] = (
            rng.randrange(3),
            rng.randrange(4),
            f"{rng.randrange(20):02d}-{row:03d}"[: rng.randrange(3, 7)] + f"{row}",
        )
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


# --- put on create and update (QC-20, QC-26, QC-27)

PUTS = {
    "a new one goes to the heap": ({}, 0, HEAP),
    "a new one before requeueAt is parked": ({"requeue_at": 100}, 99, PARKED),
    "a new one at requeueAt goes to the heap": ({"requeue_at": 100}, 100, HEAP),
    "a new one with Requeued=False is parked": ({"blocked": True}, 0, PARKED),
    "Requeued=False weighs more than a requeueAt that is over": (
        {"blocked": True, "requeue_at": 1},
        9,
        PARKED,
    ),
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
    "parked rows of no queue": (
        lambda _, pending: pending.parked_rows(99),
        "queue 99: expected a forest row",
    ),
    "length of no queue": (lambda _, pending: pending.heap_length(-2), "queue -2: expected a forest row"),
}


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


def test_goes_before_is_the_order_of_the_heap() -> None:
    rng = random.Random(2)
    world = World()
    rows = range(40)
    for row in rows:
        world.write(
            row, priority=rng.randrange(3), timestamp=rng.randrange(3), uid=f"{rng.randrange(1000)}-{row}"
        )
        world.pending.put(row, 0)
    before = {row: sum(world.pending.goes_before(0, other, row) for other in rows) for row in rows}
    assert heads(world, 40) == sorted(rows, key=before.__getitem__)
    assert not world.pending.goes_before(0, 1, 1)


def test_goes_before_refuses_what_is_no_row() -> None:
    world = World()
    world.write(0)
    for queue, a, b in ((-1, 0, 0), (0, -1, 0), (0, 0, 10**6)):
        with pytest.raises(ValueError, match="row from 0"):
            world.pending.goes_before(queue, a, b)
