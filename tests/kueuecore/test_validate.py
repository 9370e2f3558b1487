"""Scheduler.validate finds every index that a cycle would follow out of its table; writers refuse what does not fit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from kueuecore import Flavors, Forest, Pending, Scheduler, Workloads
from kueuecore._assign import Assigner
from tests.kueuecore.kernel import MATCHES, World


def good_world() -> World:
    """Two ClusterQueues in a cohort (row 2), two flavors, a pending and an admitted workload."""
    world = World(2, cohort=True, flavors=2)
    for row in range(2):
        world.write(row, row, request=row)
        world.pending.put(row, 0)
    world.scheduler.queue_order = np.array([0], np.int32)
    world.scheduler.run(0)
    world.scheduler.queue_order = np.array([0, 1], np.int32)
    return world


def test_a_good_table_passes() -> None:
    world = good_world()
    world.scheduler.validate()
    Scheduler(Forest(), Flavors(), workloads := Workloads(), Pending(workloads)).validate()


def put(table: str, name: str, cell: Any, value: int) -> Callable[[World], None]:
    def change(world: World) -> None:
        getattr(getattr(world, table), name)[cell] = value

    return change


def put_all(table: str, name: str, value: Any) -> Callable[[World], None]:
    return lambda world: setattr(getattr(world, table), name, value)


# What is done to a good world, and what the message must name.
BAD_TABLES = {
    "queue_order: a negative row": (
        put_all("scheduler", "queue_order", np.array([-1], np.int32)),
        "queue_order",
    ),
    "queue_order: no row": (put_all("scheduler", "queue_order", np.array([0, 3], np.int32)), "queue_order"),
    "queue_order: a row twice": (
        put_all("scheduler", "queue_order", np.array([1, 1], np.int32)),
        "queue_order: a row stands twice",
    ),
    "parent: no row": (put("forest", "parent", 0, 3), "parent"),
    "parent: less than none": (put("forest", "parent", 0, -2), "parent"),
    "column: no column": (put("flavors", "column", (0, 0), 2), "column"),
    "column: less than none": (put("flavors", "column", (0, 0), -2), "column"),
    "group_of: no group": (put("flavors", "group_of", (0, 0), 1), "group_of"),
    "group_of: less than none": (put("flavors", "group_of", (0, 0), -2), "group_of"),
    "group_of: too few rows": (
        put_all("flavors", "group_of", np.zeros((2, 1), np.int32)),
        "group_of: 2 rows",
    ),
    "group_flavors: no flavor": (put("flavors", "group_flavors", 1, 99), "group_flavors"),
    "group_flavors: negative": (put("flavors", "group_flavors", 0, -1), "group_flavors"),
    "group_length: beyond group_flavors": (put("flavors", "group_length", 0, 3), "group_length"),
    "group_length: negative": (put("flavors", "group_length", 0, -1), "group_length"),
    "group_start: negative": (put("flavors", "group_start", 0, -1), "group_start"),
    "group_start: another number of groups": (
        put_all("flavors", "group_start", np.zeros(2, np.int32)),
        "group_start",
    ),
    "resource_rank: too few": (put_all("flavors", "resource_rank", np.zeros(0, np.int32)), "resource_rank"),
    "threshold: too few rows": (put_all("flavors", "threshold", np.zeros(2, np.int64)), "threshold: 2 rows"),
    "eligible: too few flavors": (put_all("flavors", "eligible", np.ones((1, 1), np.uint8)), "eligible"),
    "queue: no row": (put("workloads", "queue", 0, 3), "queue"),
    "queue: less than none": (put("workloads", "queue", 0, -2), "queue"),
    "reserved_in: no row": (put("workloads", "reserved_in", 1, 3), "reserved_in"),
    "request_class: no class": (put("workloads", "request_class", 0, 999), "request_class"),
    "request_class: negative": (put("workloads", "request_class", 0, -1), "request_class"),
    "request_resource: no resource": (put("workloads", "request_resource", 0, 99), "request_resource"),
    "request_start: beyond the requests": (put("workloads", "request_start", 0, 999), "request_start"),
    "request_length: negative": (put("workloads", "request_length", 0, -1), "request_length"),
    "pod_set_start: beyond the pod sets": (put("workloads", "pod_set_start", 0, 999), "pod_set_start"),
    "pod_set_length: negative": (put("workloads", "pod_set_length", 0, -1), "pod_set_length"),
    "slot_start: negative": (put("workloads", "slot_start", 0, -1), "slot_start"),
    "slot_length: beyond the slots": (put("workloads", "slot_length", 0, 999), "slot_length"),
    "slot_flavor: no flavor": (put("workloads", "slot_flavor", 0, 99), "slot_flavor"),
    "slot_resource: no resource": (put("workloads", "slot_resource", 0, 99), "slot_resource"),
    "parent: a cycle of cohorts, in which a walk to the root never ends": (
        put("forest", "parent", 2, 2),
        "parent",
    ),
    "eligibility: no row of eligible": (put("workloads", "eligibility", 0, 9_999), "eligibility"),
    "namespace: no column of namespace_match": (put("workloads", "namespace", 0, 9_999), "namespace"),
    "pods_resource: no resource": (put_all("flavors", "pods_resource", 9_999), "pods_resource"),
    "column: none for a flavor and a resource of a group": (put("flavors", "column", (0, 0), -1), "column"),
    "pod_set_slot: outside the workload's slots": (
        put("workloads", "pod_set_slot", 0, 9_999),
        "pod_set_slot",
    ),
    "strict: too few rows": (put_all("pending", "strict", np.zeros(0, np.uint8)), "strict"),
    "namespace_match: too few rows": (
        put_all("pending", "namespace_match", np.zeros((1, 3), np.uint8)),
        "namespace_match",
    ),
    "next_when_borrowing: too few rows": (
        put_all("flavors", "next_when_borrowing", np.zeros(0, np.uint8)),
        "next_when_borrowing",
    ),
    "queue_order: a cohort": (put_all("scheduler", "queue_order", np.array([2], np.int32)), "queue_order"),
}


@pytest.mark.parametrize("case", BAD_TABLES.values(), ids=BAD_TABLES)
def test_a_bad_table_is_named(case: tuple[Callable[[World], None], str]) -> None:
    change, want = case
    world = good_world()
    change(world)
    with pytest.raises(ValueError, match=want):
        world.scheduler.validate()


def write(world: World, **facts: int | bytes | bool) -> None:
    given: dict[str, Any] = {
        "row": 0,
        "queue": 0,
        "local_queue": 0,
        "namespace": 0,
        "shape": -1,
        "priority": 0,
        "timestamp": 0,
        "requeue_at": 0,
        "requeue_blocked": False,
        "invalid": False,
        "checks_failed": False,
        "uid": "uid",
        "pod_set_start": 0,
        "pod_set_length": 1,
        "slot_start": 0,
        "keep_progress": False,
        **facts,
    }
    world.workloads.write(*given.values())


BAD_WRITES = {
    "a row that was never reserved": (
        lambda world: write(world, row=9_999),
        ValueError,
        "workload 9999: expected a row",
    ),
    "a negative row": (lambda world: write(world, row=-1), ValueError, "workload -1: expected a row"),
    "a uid that is too long": (
        lambda world: write(world, uid="x" * 37),
        ValueError,
        "uid: 37 bytes, expected at most 36",
    ),
    "no uid": (lambda world: write(world, uid=None), TypeError, "uid"),
    "pod sets outside their table": (
        lambda world: write(world, pod_set_length=9_999),
        ValueError,
        "pod sets reach outside",
    ),
    "a negative number of pod sets": (
        lambda world: write(world, pod_set_length=-1),
        ValueError,
        "pod sets reach outside",
    ),
    "a negative first pod set": (
        lambda world: write(world, pod_set_start=-1),
        ValueError,
        "pod sets reach outside",
    ),
    "slots outside their table": (
        lambda world: write(world, slot_start=9_999),
        ValueError,
        "slots reach outside",
    ),
    "a priority beyond int64": (lambda world: write(world, priority=2**63), OverflowError, "int"),
    "a slot outside its table": (
        lambda world: world.workloads.write_slot(9_999, 0, 0, 1),
        ValueError,
        "slot 9999",
    ),
    "a negative slot": (lambda world: world.workloads.write_slot(-1, 0, 0, 1), ValueError, "slot -1"),
    "a pod set outside its table": (
        lambda world: world.workloads.write_pod_set(9_999, 0, 0, 0, 0, 1, 1, -1, 0, 1),
        ValueError,
        "pod set 9999",
    ),
    "a pod set of no request class": (
        lambda world: world.workloads.write_pod_set(0, 0, 9_999, 0, 0, 1, 1, -1, 0, 1),
        ValueError,
        "request class 9999",
    ),
    "slots of no row": (lambda world: world.workloads.slots_of(9_999), ValueError, "workload 9999"),
    "progress of no row": (lambda world: world.workloads.forget_progress(-1), ValueError, "workload -1"),
    "clearing no row": (lambda world: world.workloads.clear_row(9_999), ValueError, "workload 9999"),
    "booking no row": (lambda world: world.scheduler.book(9_999, 0), ValueError, "workload 9999"),
    "booking in no queue": (lambda world: world.scheduler.book(1, 9_999), ValueError, "queue 9999"),
    "booking twice": (lambda world: world.scheduler.book(0, 1), ValueError, "workload 0 is booked already"),
    "releasing no row": (lambda world: world.scheduler.release(9_999), ValueError, "workload 9999"),
    "touching no queue": (lambda world: world.scheduler.touch(-1), ValueError, "queue -1"),
    "an array of another dtype": (
        put_all("workloads", "queue", np.zeros(4, np.int64)),
        ValueError,
        "Buffer dtype mismatch",
    ),
    "an array of two dimensions": (
        put_all("forest", "parent", np.zeros((2, 2), np.int32)),
        ValueError,
        "wrong number of dimensions",
    ),
    "an array with gaps": (
        put_all("forest", "parent", np.zeros(8, np.int32)[::2]),
        ValueError,
        "C.contiguous",
    ),
}


@pytest.mark.parametrize("case", BAD_WRITES.values(), ids=BAD_WRITES)
def test_a_bad_write_is_refused(case: tuple[Callable[[World], None], type[Exception], str]) -> None:
    call, kind, want = case
    world = good_world()
    assert world.workloads.reserved_in[0] == 0
    with pytest.raises(kind, match=want):
        call(world)


def test_a_negative_first_slot_is_refused() -> None:
    world = good_world()
    with pytest.raises(ValueError, match="slot_start"):
        write(world, slot_start=-1, pod_set_length=0)  # no pod sets, so that nothing is written there


def test_a_refused_write_of_slots_leaves_a_workload_without_slots_of_others() -> None:
    """The row is half written then, and must not keep a range that it does not own."""
    world = good_world()
    with pytest.raises(ValueError, match="slots reach outside"):
        write(world, slot_start=9_999)
    world.workloads.clear_row(0)
    world.workloads.reserved_in[0] = -1
    world.scheduler.validate()


def test_pending_must_be_made_for_the_same_workloads() -> None:
    with pytest.raises(ValueError, match="pending: expected to be made for the same workloads"):
        Scheduler(Forest(), Flavors(), Workloads(), Pending(Workloads()))


@pytest.mark.parametrize(
    "make",
    [
        lambda: Pending(None),
        lambda: Assigner(None),
        lambda: Scheduler(Forest(), None, Workloads(), Pending(Workloads())),
        lambda: Forest().recompute(None),
    ],
)
def test_nothing_is_made_of_none(make: Callable[[], object]) -> None:
    with pytest.raises(TypeError):
        make()


def test_growing_the_tables_keeps_what_was_written() -> None:
    world = good_world()
    names = [
        name
        for table in (
            Workloads.ROWS,
            Workloads.POD_SETS,
            Workloads.REQUEST_CLASSES,
            Workloads.REQUESTS,
            Workloads.SLOTS,
        )
        for name in table
    ]
    before = {name: np.asarray(getattr(world.workloads, name)).copy() for name in names}
    world.workloads.reserve(rows=500, pod_sets=300, slots=700, request_classes=90, requests=90, uid_width=80)
    for name, old in before.items():
        assert np.asarray(getattr(world.workloads, name))[: len(old)].tolist() == old.tolist(), name
    assert world.workloads.uid.shape[1] == 80
    assert world.workloads.queue[499] == world.workloads.reserved_in[499] == -1
    world.scheduler.validate()
    assert world.pending.place_of(499) == 0


def test_flavors_grow_with_what_they_hold() -> None:
    world = good_world()
    world.flavors.reserve(50, 9, 7, 5)
    flavors = world.flavors
    assert [flavors.column[0, 0], flavors.column[1, 0], flavors.column[8, 6]] == [0, 1, -1]
    assert [flavors.group_of[0, 0], flavors.group_of[49, 6]] == [0, -1]
    assert [flavors.eligible[0, 0], flavors.eligible[4, 8]] == [1, 0]
    assert flavors.next_when_preempting[0] == 1
    assert world.pending.namespace_match[0, 0] == MATCHES


def test_release_gives_the_quota_back_once() -> None:
    world = World()
    world.write(0, request=1)
    world.pending.put(0, 0)
    assert world.admitted() == [0]
    assert world.forest.usage[0, 0] == 5
    generation = world.forest.generation[0]
    world.scheduler.release(0)
    world.scheduler.release(0)
    assert (world.forest.usage[0, 0], world.workloads.reserved_in[0]) == (0, -1)
    assert world.forest.generation[0] == generation + 1  # QP-217


def test_book_adds_up_pod_sets_on_one_column() -> None:
    world = World()
    world.write(0, request=1)
    world.workloads.reserve(slots=40)
    world.workloads.slot_start[0], world.workloads.slot_length[0] = 30, 3
    world.workloads.write_slot(30, 0, 0, 3)
    world.workloads.write_slot(31, 0, -1, 8)  # a resource without a flavor
    world.workloads.write_slot(32, 0, 0, 4)
    world.scheduler.book(0, 0)
    assert world.forest.usage[0, 0] == 7
    assert world.workloads.slots_of(0) == [(0, -2, 0, 3), (0, -2, -1, 8), (0, -2, 0, 4)]
