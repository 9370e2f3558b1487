"""Who needs the second pass, and when it comes."""

from typing import Any

import pytest

from kueue_fast.api.kueue import Workload
from kueue_fast.model.placements import placements
from kueue_fast.model.second_pass import SecondPass, SecondPassQueue, loses_node, needs_second_pass, wait_ns
from tests.placed import HOSTNAME, assignment, on_hosts, placed

SECOND = 1_000_000_000
RESERVED = ("QuotaReserved",)
PENDING = assignment("main", (), delayedTopologyRequest="Pending")
READY_CHECK = {"name": "check", "state": "Ready"}
PENDING_CHECK = {"name": "other", "state": "Pending"}


def delayed(
    *assignments: dict[str, Any], checks: Any = (READY_CHECK,), conditions: Any = RESERVED
) -> Workload:
    return placed(*(assignments or (PENDING,)), conditions=conditions, admissionChecks=list(checks))


def on_failed(*hosts: str, conditions: Any = ("QuotaReserved", "Admitted"), failed: str = "x1") -> Workload:
    return placed(on_hosts(*hosts), conditions=conditions, unhealthyNodes=[{"name": failed}])


NEEDED: dict[str, tuple[Workload, bool]] = {
    "all checks are ready": (delayed(), True),
    "one check is not": (delayed(checks=(READY_CHECK, PENDING_CHECK)), False),
    "no checks": (delayed(checks=()), False),
    "another pod set has its places": (
        delayed(on_hosts("x1"), assignment("other", (), delayedTopologyRequest="Pending")),
        True,
    ),
    "the places have been given": (
        delayed(assignment("main", (HOSTNAME,), (("x1",), 1), delayedTopologyRequest="Pending")),
        False,
    ),
    "the places are said to be given elsewhere": (
        delayed(assignment("main", (), delayedTopologyRequest="Ready")),
        False,
    ),
    "nothing was put off": (delayed(assignment("main", ())), False),
    "admitted all the same": (delayed(conditions=("QuotaReserved", "Admitted")), False),
    "no quota": (delayed(conditions=()), False),
    "told to stop": (delayed(conditions=("QuotaReserved", "Evicted")), False),
    "finished": (delayed(conditions=("QuotaReserved", "Finished")), False),
    "a node of it failed": (on_failed("x1", "x2"), True),
    "a node of another failed": (on_failed("x2"), False),
    "a node failed, and it is told to stop": (
        on_failed("x1", conditions=("QuotaReserved", "Admitted", "Evicted")),
        False,
    ),
    "a node failed before it was admitted": (on_failed("x1", conditions=RESERVED), False),
    "a rack has the name of a node that failed": (
        placed(assignment("main", ("rack",), (("x1",), 1)), unhealthyNodes=[{"name": "x1"}]),
        True,
    ),
    "no node failed": (placed(on_hosts("x1")), False),
    "no admission": (placed(conditions=()), False),
}


@pytest.mark.parametrize("case", NEEDED)
def test_who_needs_it(case: str) -> None:
    workload, want = NEEDED[case]
    assert needs_second_pass(workload, placements(workload)) is want


def test_only_what_is_admitted_loses_a_node() -> None:
    for workload, want in ((on_failed("x1"), True), (on_failed("x1", conditions=RESERVED), False)):
        assert loses_node(workload, placements(workload)) is want


def test_a_workload_without_status() -> None:
    workload = placed()
    workload.status = None
    assert not needs_second_pass(workload, {})


def test_waits_double() -> None:
    seconds = [wait_ns(iteration) // SECOND for iteration in (1, 2, 3, 4, 5, 6, 7, 100)]
    assert seconds == [1, 2, 4, 8, 16, 30, 30, 30]


def anyone(_key: str) -> bool:
    return True


def test_from_waiting_to_the_cycle() -> None:
    queue = SecondPassQueue()
    assert queue.offer("ns/w", True, 0, 5 * SECOND)
    assert queue.next_ns() == 6 * SECOND
    queue.advance(6 * SECOND - 1, anyone)
    assert not queue
    assert queue.take() == []
    queue.advance(6 * SECOND, anyone)
    assert queue
    assert queue.next_ns() is None
    assert queue.take() == [SecondPass("ns/w", 1)]
    assert queue.take() == []


def test_attempts_that_fail_come_later_and_later() -> None:
    queue = SecondPassQueue()
    now, at = 0, []
    queue.offer("ns/w", True, 0, now)
    for _ in range(4):
        now = queue.next_ns() or 0
        at.append(now // SECOND)
        queue.advance(now, anyone)
        (taken,) = queue.take()
        assert queue.offer("ns/w", True, taken.iteration, now)
    assert at == [1, 3, 7, 15]


def test_an_event_while_one_waits_changes_nothing() -> None:
    queue = SecondPassQueue()
    queue.offer("ns/w", True, 3, 0)
    assert not queue.offer("ns/w", True, 0, SECOND)
    assert queue.next_ns() == 8 * SECOND
    # What failed while an event had it wait is not asked for twice either.
    assert not queue.offer("ns/w", True, 4, SECOND)
    assert queue.is_waiting("ns/w")


def test_an_event_while_one_is_ready_has_it_wait_as_well() -> None:
    queue = SecondPassQueue()
    queue.offer("ns/w", True, 0, 0)
    queue.advance(SECOND, anyone)
    assert not queue.is_waiting("ns/w")
    assert queue.offer("ns/w", True, 0, SECOND)
    assert queue.take() == [SecondPass("ns/w", 1)]
    assert queue.is_waiting("ns/w")


def test_what_is_not_needed_any_more() -> None:
    queue = SecondPassQueue()
    queue.offer("ns/w", True, 0, 0)
    # An event does not cut the first wait short: the need may come back before it is over.
    assert not queue.offer("ns/w", False, 0, 0)
    assert queue.is_waiting("ns/w")
    assert not queue.offer("ns/w", False, 1, 0)
    assert not queue.is_waiting("ns/w")


def test_the_need_is_looked_at_when_the_time_comes() -> None:
    queue = SecondPassQueue()
    queue.offer("ns/a", True, 0, 0)
    queue.offer("ns/b", True, 0, 0)
    queue.advance(SECOND, lambda key: key == "ns/b")
    assert queue.take() == [SecondPass("ns/b", 1)]
    assert queue.next_ns() is None


def test_what_is_gone_is_forgotten_in_every_state() -> None:
    queue = SecondPassQueue()
    queue.offer("ns/ready", True, 0, 0)
    queue.advance(SECOND, anyone)
    queue.offer("ns/waiting", True, 0, 0)
    queue.forget("ns/ready")
    queue.forget("ns/waiting")
    queue.forget("ns/unknown")
    queue.advance(SECOND, anyone)
    assert queue.take() == []


def test_what_is_withdrawn_and_queued_again_waits_anew() -> None:
    queue = SecondPassQueue()
    queue.offer("ns/w", True, 0, 0)
    queue.forget("ns/w")
    queue.offer("ns/w", True, 0, SECOND // 2)
    queue.advance(SECOND, anyone)
    assert queue.take() == []
    queue.advance(SECOND * 3 // 2, anyone)
    assert queue.take() == [SecondPass("ns/w", 1)]


def test_they_come_by_key() -> None:
    queue = SecondPassQueue()
    for key in ("b/a", "a/b", "a/a"):
        queue.offer(key, True, 0, 0)
    queue.advance(SECOND, anyone)
    assert [each.key for each in queue.take()] == ["a/a", "a/b", "b/a"]
