"""Saturating arithmetic with Unlimited, seen through the forest. Source: QP-105, QP-106."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from kueuecore import Forest, Journal
from tests.oracle import amounts
from tests.oracle.amounts import MAX, MIN, UNLIMITED
from tests.oracle.strategies import any_amounts


def added(a: int, b: int) -> int:
    """a + b: usage of a root after booking."""
    forest = Forest()
    forest.reserve(1, 1)
    forest.reserve_resources(1)
    forest.usage[0, 0] = a
    forest.change_usage(0, 0, b, Journal())
    return forest.usage[0, 0]


def subtracted(a: int, b: int) -> int:
    """a - b: what is left of a root's quota."""
    forest = Forest()
    forest.reserve(1, 1)
    forest.reserve_resources(1)
    forest.nominal[0, 0] = a
    forest.has_quota[0, 0] = 1
    forest.recompute(np.zeros(1, np.int32))
    forest.usage[0, 0] = b
    return forest.find_available(0, 0)


def removed(a: int, b: int) -> int:
    """a - b: usage of a root after removing."""
    forest = Forest()
    forest.reserve(1, 1)
    forest.reserve_resources(1)
    forest.usage[0, 0] = a
    forest.change_usage(0, 0, b, Journal(), remove=True)
    return forest.usage[0, 0]


ADDED = {
    "bounded and bounded": (3, 4, 7),
    "bounded and Unlimited": (5, UNLIMITED, UNLIMITED),
    "Unlimited and a negative amount": (UNLIMITED, -1, UNLIMITED),
    "Unlimited and the lowest amount": (UNLIMITED, MIN, UNLIMITED),
    "overflow becomes Unlimited": (MAX - 5, 100, UNLIMITED),
    "just below Unlimited": (MAX - 5, 4, MAX - 1),
    "underflow stays at the lowest": (MIN + 1, -5, MIN),
}

SUBTRACTED = {
    "Unlimited less Unlimited": (UNLIMITED, UNLIMITED, 0),
    "Unlimited less bounded": (UNLIMITED, 7, UNLIMITED),
    "bounded less Unlimited": (7, UNLIMITED, MIN),
    "the lowest less Unlimited": (MIN, UNLIMITED, MIN),
    "underflow stays at the lowest": (MIN + 1, 5, MIN),
    "bounded less the lowest overflows": (1, MIN, MAX),
    "below zero": (3, 5, -2),
}


@pytest.mark.parametrize(("a", "b", "want"), ADDED.values(), ids=ADDED)
def test_add(a: int, b: int, want: int) -> None:
    assert added(a, b) == want


@pytest.mark.parametrize(("a", "b", "want"), SUBTRACTED.values(), ids=SUBTRACTED)
def test_subtract(a: int, b: int, want: int) -> None:
    assert (subtracted(a, b), removed(a, b)) == (want, want)


@given(any_amounts(), any_amounts())
def test_all_amounts_as_the_oracle(a: int, b: int) -> None:
    assert added(a, b) == amounts.add(a, b)
    assert subtracted(a, b) == removed(a, b) == amounts.subtract(a, b)


def test_unlimited_is_the_largest_int64() -> None:
    assert Forest().unlimited == UNLIMITED
