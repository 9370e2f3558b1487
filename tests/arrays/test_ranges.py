"""Ranges of rows: never two owners of one row, and no row lost."""

import random

from kueue_fast.arrays.ranges import Ranges


def test_a_freed_range_is_given_out_again_to_one_of_its_length() -> None:
    ranges = Ranges()
    assert [ranges.take(3), ranges.take(2), ranges.end] == [0, 3, 5]
    ranges.give_back(0, 3)
    assert [ranges.take(2), ranges.take(3), ranges.end] == [5, 0, 7]


def test_an_empty_range_takes_no_rows() -> None:
    ranges = Ranges()
    assert [ranges.take(0), ranges.end] == [0, 0]
    ranges.give_back(0, 0)
    assert [ranges.take(0), ranges.take(1), ranges.end] == [0, 0, 1]


def test_random_ranges_never_overlap() -> None:
    rng = random.Random(3)
    ranges = Ranges()
    taken: dict[int, int] = {}
    for _ in range(2_000):
        if taken and rng.random() < 0.5:
            start = rng.choice(list(taken))
            ranges.give_back(start, taken.pop(start))
        else:
            length = rng.randrange(1, 5)
            start = ranges.take(length)
            rows = {row for first, many in taken.items() for row in range(first, first + many)}
            assert rows.isdisjoint(range(start, start + length))
            assert start + length <= ranges.end
            taken[start] = length
    most = sum(taken.values())
    assert ranges.end < 4 * most + 400
