"""Random sequences of events over all kinds of jobs: rules that hold at every instant, rest, restarts, determinism.

KUEUE_FAST_BULK_CYCLES says how many sequences `-m bulk` plays. To look into one: `python -m tests.sim.sequences SEED`.

After a restart all that waits is looked at: what was parked, the batch of a second, scans of flavors that were under
way and admissions that wait for the pods of others live in memory alone, upstream too. So a run with restarts is to end
as the same run in which everybody is woken at those times.
"""

from __future__ import annotations

import multiprocessing
import os
from concurrent.futures import ProcessPoolExecutor

import pytest

from tests.sim.sequence_rules import check
from tests.sim.sequences import Drawn, Played, drawn, end_of

EVERYDAY = 60
CHUNK = 50


def play(seed: int) -> None:
    """Play a sequence with and without restarts. Raises AssertionError naming the seed."""
    try:
        compare(drawn(seed))
    except Exception as error:
        error.add_note(f"python -m tests.sim.sequences {seed}")
        raise


def compare(sequence: Drawn) -> None:
    plain = Played(sequence, check)
    plain.run()
    assert not plain.stopped, "it does not come to rest"
    assert plain.restless_ns is None
    want = end_of(plain)
    plain.restart()
    plain.run()
    assert end_of(plain) == want, "what waits at the end could have gone on"
    restarted = Played(sequence)
    for at in sequence.restarts:
        restarted.restart_at(at)
    restarted.run()
    found = end_of(restarted)
    if found != want:
        woken = Played(sequence)
        for at in sequence.restarts:
            woken.wake_at(at)
        woken.run()
        assert found == end_of(woken)


def play_some(first: int) -> None:
    for seed in range(first, first + CHUNK):
        play(seed)


@pytest.mark.parametrize("seed", range(EVERYDAY))
def test_what_holds_in_some_sequences(seed: int) -> None:
    play(seed)


@pytest.mark.bulk
def test_what_holds_in_many_sequences(bulk_cycles: int) -> None:
    # Each process plays for itself: nothing is shared, so order and number of them say nothing.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(min(os.cpu_count() or 1, 8), context) as pool:
        list(pool.map(play_some, range(0, bulk_cycles, CHUNK)))


def test_the_same_sequence_ends_the_same() -> None:
    for seed in range(5):
        ends = []
        for _ in range(2):
            played = Played(drawn(seed))
            played.run()
            ends.append(end_of(played))
        assert ends[0] == ends[1]
