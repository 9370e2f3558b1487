"""The ledger of admission fair sharing: decay, penalties, weighted use. Source: QC-14, QC-81..87."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

from kueue_fast.model.usage_ledger import (
    SECOND,
    Entry,
    Nanos,
    Remembered,
    alpha,
    decayed,
    format_nanos,
    scaled,
    seconds,
    to_nanos,
)

CPU = 10**9  # nanos of one
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
WEEK = 168 * HOUR
GPU = "example.com/gpu"


def cpus(amount: int) -> Nanos:
    return {"cpu": amount * CPU}


ALPHA = {
    "after one half life": (5 * MINUTE, 5 * MINUTE, 0.5),
    "after two": (10 * MINUTE, 5 * MINUTE, 0.75),
    "after half of one": (5 * MINUTE, 10 * MINUTE, 1 - math.sqrt(0.5)),
    "at once": (0, MINUTE, 0.0),
    "without a half life": (MINUTE, 0, 0.0),
    "after very long": (10**6 * HOUR, SECOND, 1.0),
}


@pytest.mark.parametrize("case", ALPHA.values(), ids=ALPHA)
def test_the_weight_of_what_is_new(case: tuple[int, int, float]) -> None:
    elapsed, half_life, want = case
    assert alpha(elapsed, half_life) == want


def test_seconds_are_whole_ones_and_the_rest() -> None:
    assert [seconds(each) for each in (0, 1, 1_500_000_000, WEEK)] == [0.0, 1e-9, 1.5, 604800.0]


SCALED = {
    "the shortest decimal of the factor counts, not its exact value": (3 * CPU, 0.1, 300_000_000),
    "what is beyond nine places is cut off": (1, 0.9, 0),
    "toward zero": (-10, 0.19, -1),
    "by nothing": (5 * CPU, 0.0, 0),
    "by one": (5 * CPU + 1, 1.0, 5 * CPU + 1),
    "by a factor with an exponent": (CPU, 1e-07, 100),
    "far beyond int64": (2**46 * CPU, 0.5, 2**45 * CPU),
}


@pytest.mark.parametrize("case", SCALED.values(), ids=SCALED)
def test_an_amount_is_scaled(case: tuple[int, float, int]) -> None:
    amount, factor, want = case
    assert scaled({"cpu": amount}, factor) == {"cpu": want}


DECAY: dict[str, Any] = {
    "the past and the present, half each, after one half life": {
        "consumed": cpus(8), "admitted": cpus(4), "half_life": 5 * MINUTE, "want": cpus(6),
    },
    "every resource by itself": {
        "consumed": {"cpu": 8 * CPU, GPU: 16 * CPU}, "admitted": {"cpu": 4 * CPU, GPU: 4 * CPU},
        "half_life": 5 * MINUTE, "want": {"cpu": 6 * CPU, GPU: 10 * CPU},
    },
    "a half life of two intervals": {
        "consumed": cpus(8), "admitted": cpus(4), "half_life": 10 * MINUTE, "want": {"cpu": 6_828_427_124},
    },
    "a long half life without present use": {
        "consumed": cpus(8), "admitted": {}, "half_life": 24 * HOUR, "want": {"cpu": 7_980_769_063},
    },
    "a resource that is new": {
        "consumed": {}, "admitted": cpus(4), "half_life": 5 * MINUTE, "want": cpus(2),
    },
    "time that goes back counts as none": {
        "consumed": cpus(8), "admitted": cpus(4), "elapsed": -5 * MINUTE, "half_life": MINUTE, "want": cpus(8),
    },
    "without a half life the past stays": {
        "consumed": cpus(8), "admitted": cpus(4), "half_life": 0, "want": cpus(8),
    },
}  # fmt: skip


@pytest.mark.parametrize("case", DECAY.values(), ids=DECAY)
def test_consumption_decays(case: Any) -> None:
    got = decayed(case["consumed"], case["admitted"], case.get("elapsed", 5 * MINUTE), case["half_life"])
    assert {name: amount for name, amount in got.items() if amount} == case["want"]


def test_amounts_below_a_milli_accumulate() -> None:
    consumed: Nanos = {}
    seen = []
    for _ in range(3):
        consumed = decayed(consumed, {"cpu": 2 * CPU, GPU: CPU}, 5 * MINUTE, WEEK)
        seen.append((consumed["cpu"], consumed[GPU]))
    assert seen == sorted(set(seen))
    assert 0 < seen[0][1] < 1_000_000


def test_constant_use_is_half_remembered_after_a_week_of_samples_and_never_exceeded() -> None:
    consumed: Nanos = {}
    for half_lives in (1, 2, 3):
        for _ in range(2016):  # 168 h in steps of 5 min
            consumed = decayed(consumed, cpus(2), 5 * MINUTE, WEEK)
        assert consumed["cpu"] == pytest.approx(2 * CPU * (1 - 0.5**half_lives), abs=1_000_000)
        assert consumed["cpu"] < 2 * CPU


def test_a_decaying_amount_ends_at_zero() -> None:
    consumed = {"cpu": 5}
    for _ in range(5):
        consumed = decayed(consumed, {}, 5 * MINUTE, WEEK)
    assert consumed == {"cpu": 0}


@pytest.mark.parametrize("bytes_", [16 << 30, 1 << 40, 64 << 40], ids=["16Gi", "1Ti", "64Ti"])
def test_large_amounts_do_not_overflow(bytes_: int) -> None:
    got = decayed({}, {"memory": to_nanos("memory", bytes_)}, 5 * MINUTE, WEEK)["memory"]
    assert got == pytest.approx(bytes_ * CPU * math.log(2) / 2016, rel=1e-3)


def test_kernel_units_as_nanos() -> None:
    assert (to_nanos("cpu", 1500), to_nanos("memory", 3)) == (1_500_000_000, 3_000_000_000)


WRITTEN = {0: "0", 1: "1n", 1500: "1500n", 10**6: "1m", 1_500_000_000: "1500m", CPU: "1", 2**30 * CPU: "1073741824",
           4000 * CPU: "4k", -2 * CPU: "-2", 10**30: "1000E", 6_828_427_124: "6828427124n"}  # fmt: skip


def test_amounts_are_written_as_upstream_writes_them() -> None:
    assert {amount: format_nanos(amount) for amount in WRITTEN} == WRITTEN


# --- penalties

Step = Callable[[Entry], Any]


def push(workload: str, amounts: Nanos) -> Step:
    return lambda entry: entry.charge(workload, amounts)


def take(workload: str) -> Step:
    return lambda entry: entry.drop(workload)


PENALTIES: dict[str, tuple[list[Step], Nanos]] = {
    "those of two workloads add": ([push("a", cpus(2)), push("b", cpus(3))], cpus(5)),
    "two of one workload do not": ([push("a", cpus(2)), push("a", cpus(2))], cpus(2)),
    "the last one of a workload counts": ([push("a", cpus(2)), push("a", cpus(3))], cpus(3)),
    "dropped is the one that took the other's place": ([push("a", cpus(2)), push("a", cpus(3)), take("a")], {}),
    "only its own is dropped": ([push("a", cpus(2)), push("b", cpus(3)), take("a")], cpus(3)),
    "dropping twice drops once": ([push("a", cpus(2)), push("b", cpus(3)), take("a"), take("a")], cpus(3)),
    "dropping without a record leaves nothing": ([take("a")], {}),
    "a workload cannot drop another one's resources": (
        [push("a", cpus(2)), push("b", {"memory": CPU}), take("a")], {"memory": CPU},
    ),
    "a penalty of nothing is none": ([push("a", cpus(0))], {}),
}  # fmt: skip


@pytest.mark.parametrize("case", PENALTIES.values(), ids=PENALTIES)
def test_pending_penalties(case: tuple[list[Step], Nanos]) -> None:
    steps, want = case
    entry = Entry(0)
    for step in steps:
        step(entry)
    assert entry.pending == want


def test_a_drop_tells_what_was_charged() -> None:
    entry = Entry(0)
    entry.charge("a", cpus(2))
    assert (entry.drop("b"), entry.drop("a"), entry.drop("a")) == ({}, cpus(2), {})


def test_a_charge_leaves_the_clock_alone() -> None:
    entry = Entry(7)
    entry.charge("a", cpus(2))
    assert (entry.last_update_ns, entry.status_accounted) == (7, False)


SETTLED: dict[str, Any] = {
    "with the penalty": {"at": 0, "want": cpus(10), "clock": 0},
    "after decay": {"at": 5 * MINUTE, "admitted": cpus(4), "want": cpus(8), "clock": 5 * MINUTE},
    "without a record": {"workload": "b", "at": 0, "want": cpus(8), "clock": 0},
    "of an entry from the future, whose clock stays": {
        "at": -5 * MINUTE,
        "admitted": cpus(4),
        "want": cpus(10),
        "clock": 0,
    },
}


@pytest.mark.parametrize("case", SETTLED.values(), ids=SETTLED)
def test_a_penalty_is_settled(case: Any) -> None:
    """8 cpus were consumed, `a` was charged 2; the half life is 5 minutes."""
    entry = Entry(0)
    entry.consumed = cpus(8)
    entry.charge("a", cpus(2))
    workload = case.get("workload", "a")
    entry.settle(workload, case.get("admitted", {}), case["at"], 5 * MINUTE)
    assert (entry.consumed, entry.last_update_ns) == (case["want"], case["clock"])
    assert entry.pending == ({} if workload == "a" else cpus(2))


def test_settling_twice_settles_once() -> None:
    entry = Entry(0)
    entry.charge("a", cpus(2))
    entry.settle("a", {}, 0, MINUTE)
    entry.settle("a", {}, 0, MINUTE)
    assert entry.consumed == cpus(2)


def test_a_sample_leaves_penalties_pending() -> None:
    entry = Entry(0)
    entry.consumed = cpus(8)
    entry.charge("a", cpus(2))
    entry.sample(cpus(4), 5 * MINUTE, 5 * MINUTE)
    assert (entry.consumed, entry.pending, entry.last_update_ns) == (cpus(6), cpus(2), 5 * MINUTE)


def test_without_a_half_life_a_sample_forgets() -> None:
    entry = Entry(0)
    entry.consumed = cpus(8)
    entry.sample(cpus(4), MINUTE, 0)
    assert (entry.consumed, entry.last_update_ns) == ({}, MINUTE)


# --- statuses


def test_a_status_is_added_once() -> None:
    entry = Entry(0)
    entry.consumed = cpus(2)
    entry.remember(Remembered({"cpu": "8"}))
    entry.remember(Remembered({"cpu": "8"}))
    assert (entry.consumed, entry.status_accounted) == (cpus(10), True)


def test_no_status_accounts_for_it_too() -> None:
    entry = Entry(0)
    entry.remember(None)
    entry.remember(Remembered({"cpu": "8"}))
    assert entry.consumed == {}


# The double of 300m is 0.3; that of the same amount with nine places is the next one.
DOUBLES: dict[str, tuple[list[Step], list[Step], float]] = {
    "as the status wrote it": ([], [], 0.3),
    "beside another resource": ([lambda entry: entry.consumed.update(memory=0)], [], 0.3),
    "added to what was consumed": ([lambda entry: entry.consumed.update(cpu=0)], [], 0.3 + 2**-54),
    "with a pending penalty": ([], [push("a", {"cpu": 1})], 0.300000001),
    "with a penalty of another resource": ([], [push("a", {"memory": 1})], 0.3 + 1e-9),
    "after a sample": ([], [lambda entry: entry.sample({}, 0, MINUTE)], 0.3 + 2**-54),
    "after a settlement": ([], [lambda entry: entry.settle("a", {}, 0, MINUTE)], 0.3 + 2**-54),
}


@pytest.mark.parametrize("case", DOUBLES.values(), ids=DOUBLES)
def test_the_double_of_what_a_status_remembers(case: tuple[list[Step], list[Step], float]) -> None:
    before, after, want = case
    entry = Entry(0)
    for step in before:
        step(entry)
    entry.remember(Remembered({"cpu": "300m"}))
    for step in after:
        step(entry)
    assert entry.usage(1, {}) == want


# --- use

USE: dict[str, Any] = {
    "one resource": {"consumed": {GPU: 2 * CPU}, "want": 2.0},
    "by its weight": {"consumed": {GPU: 2 * CPU}, "weights": {GPU: 3.0}, "want": 6.0},
    "a resource without a weight weighs 1": {
        "consumed": {"cpu": 4 * CPU, GPU: 2 * CPU}, "weights": {GPU: 5.0}, "want": 14.0,
    },
    "a resource of weight 0 counts for nothing": {"consumed": {GPU: 10 * CPU}, "weights": {GPU: 0.0}, "want": 0.0},
    "a penalty": {"penalty": {GPU: 3 * CPU}, "want": 3.0},
    "both, shared out by the queue's weight": {
        "consumed": {GPU: 2 * CPU}, "penalty": {GPU: CPU}, "weights": {GPU: 4.0}, "weight": 2, "want": 6.0,
    },
    "nothing": {"want": 0.0},
    "weight 0 without use": {"weight": 0, "want": math.inf},
    "weight 0 with use": {"consumed": cpus(4), "weight": 0, "want": math.inf},
    "a negative weight": {"consumed": cpus(4), "weight": -1, "want": math.inf},
    "resources are summed in order of their names": {
        "consumed": {"c": 3 * CPU // 10, "b": 2 * CPU // 10, "a": CPU // 10}, "want": (0.1 + 0.2) + 300000000 * 1e-9,
    },
}  # fmt: skip


@pytest.mark.parametrize("case", USE.values(), ids=USE)
def test_the_weighted_use(case: Any) -> None:
    entry = Entry(0)
    entry.consumed = case.get("consumed", {})
    entry.charge("a", case.get("penalty", {}))
    assert entry.usage(case.get("weight", 1), case.get("weights", {})) == case["want"]
