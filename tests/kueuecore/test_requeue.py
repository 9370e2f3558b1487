"""Where a head of a cycle goes that was not admitted. Source: QC-22, QC-23, QC-26, QC-30, QC-40."""

from __future__ import annotations

import numpy as np
import pytest

from tests.kueuecore.kernel import HEAP, NOWHERE, PARKED, World
from tests.kueuecore.pending_model import FITS, LATER, NEVER

# What makes a head fail, the requeue reason that it gets (kueuecore's Requeue), and where it goes:
# in StrictFIFO, in BestEffortFIFO.
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
@pytest.mark.parametrize(
    "backoff", [{"requeue_at": 100}, {"blocked": True}], ids=["requeueAt", "Requeued=False"]
)
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
    world.workloads.write(0, 0, 0, 0, -1, 0, 0, 0, False, False, False, "uid", 3, 2, 0, False)
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
