"""The virtual clock: order, and entries that were cancelled."""

import pytest

from kueue_fast.sim.clock import VirtualClock


def test_entries_happen_by_time_then_by_order() -> None:
    clock, got = VirtualClock(0), list[str]()
    for at, name in ((5, "b"), (3, "a"), (5, "c"), (-1, "now")):
        clock.schedule(at, got.append, name)
    assert clock.next_time() == 0
    clock.advance(5)
    assert clock.run_due() == 4
    assert got == ["now", "a", "b", "c"]
    with pytest.raises(ValueError, match="cannot go back"):
        clock.advance(4)


def test_what_is_cancelled_neither_happens_nor_is_waited_for() -> None:
    clock, got = VirtualClock(0), list[str]()
    first, second = clock.schedule(1, got.append, "a"), clock.schedule(2, got.append, "b")
    clock.cancel(first)
    clock.cancel(first)
    assert (len(clock), clock.next_time()) == (1, 2)
    clock.advance(2)
    assert clock.run_due() == 1
    clock.cancel(second)
    assert (got, clock.next_time(), len(clock)) == (["b"], None, 0)
