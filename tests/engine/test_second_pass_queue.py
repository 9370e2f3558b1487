"""When workloads that need other places come to a cycle."""

from kueue_fast.api.kueue import Workload
from kueue_fast.engine.second_pass import SecondPassQueue
from tests.placed import on_hosts, placed

SECOND = 1_000_000_000


def failing() -> Workload:
    return placed(on_hosts("x1"), unhealthyNodes=[{"name": "x1"}])


def healthy() -> Workload:
    return placed(on_hosts("x1"))


def keys(queue: SecondPassQueue) -> list[tuple[str, int]]:
    return [(key, waiting.iteration) for key, waiting in queue.take()]


def test_from_waiting_to_the_cycle() -> None:
    queue = SecondPassQueue()
    assert queue.offer("ns/w", failing(), 0, 5 * SECOND)
    assert queue.next_due() == 6 * SECOND
    assert not queue.advance(6 * SECOND - 1)
    assert keys(queue) == []
    assert queue.advance(6 * SECOND)
    assert queue.next_due() is None
    assert keys(queue) == [("ns/w", 1)]
    assert keys(queue) == []


def test_attempts_that_fail_come_later_and_later() -> None:
    queue = SecondPassQueue()
    now, at = 0, []
    queue.offer("ns/w", failing(), 0, now)
    for _ in range(4):
        now = queue.next_due() or 0
        at.append(now // SECOND)
        queue.advance(now)
        ((_, waiting),) = queue.take()
        assert queue.offer("ns/w", waiting.workload, waiting.iteration, now)
    assert at == [1, 3, 7, 15]


def test_an_event_while_one_waits_changes_nothing() -> None:
    queue = SecondPassQueue()
    queue.offer("ns/w", failing(), 3, 0)
    assert not queue.offer("ns/w", failing(), 0, SECOND)
    assert queue.next_due() == 8 * SECOND
    # What failed while an event had it wait is not asked for twice either.
    assert not queue.offer("ns/w", failing(), 4, SECOND)


def test_it_comes_as_it_was_when_it_was_queued() -> None:
    """Upstream keeps the object of the first event: a second node that fails meanwhile is not seen."""
    queue = SecondPassQueue()
    first = failing()
    queue.offer("ns/w", first, 0, 0)
    queue.offer("ns/w", failing(), 0, 0)
    queue.advance(SECOND)
    ((_, waiting),) = queue.take()
    assert waiting.workload is first


def test_an_event_while_one_is_ready_has_it_wait_as_well() -> None:
    queue = SecondPassQueue()
    queue.offer("ns/w", failing(), 0, 0)
    queue.advance(SECOND)
    assert queue.offer("ns/w", failing(), 0, SECOND)
    assert keys(queue) == [("ns/w", 1)]
    assert queue.next_due() == 2 * SECOND


def test_what_is_not_needed_any_more() -> None:
    queue = SecondPassQueue()
    queue.offer("ns/w", failing(), 0, 0)
    # An event does not cut the first wait short: the need may come back before it is over.
    assert not queue.offer("ns/w", healthy(), 0, 0)
    assert queue.next_due() == SECOND
    assert not queue.offer("ns/w", healthy(), 1, 0)
    assert queue.next_due() is None


def test_what_is_gone_is_forgotten_in_every_state() -> None:
    queue = SecondPassQueue()
    queue.offer("ns/ready", failing(), 0, 0)
    queue.advance(SECOND)
    queue.offer("ns/waiting", failing(), 0, 0)
    for key in ("ns/ready", "ns/waiting", "ns/unknown"):
        queue.forget(key)
    assert not queue.advance(SECOND)
    assert keys(queue) == []


def test_what_is_withdrawn_and_queued_again_waits_anew() -> None:
    queue = SecondPassQueue()
    queue.offer("ns/w", failing(), 0, 0)
    queue.forget("ns/w")
    queue.offer("ns/w", failing(), 0, SECOND // 2)
    assert not queue.advance(SECOND)
    assert queue.advance(SECOND * 3 // 2)
    assert keys(queue) == [("ns/w", 1)]


def test_they_come_by_key() -> None:
    queue = SecondPassQueue()
    for key in ("b/a", "a/b", "a/a"):
        queue.offer(key, failing(), 0, 0)
    queue.advance(SECOND)
    assert [key for key, _ in keys(queue)] == ["a/a", "a/b", "b/a"]
