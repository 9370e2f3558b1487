"""Entry penalties: charged when assumed, kept, settled or void. Source: QC-83, QC-85, QC-86."""

from __future__ import annotations

from typing import Any

import pytest

from kueue_fast import Engine
from tests.arrays import objects as o
from tests.engine.small_cluster import waits
from tests.engine.usage_based import A1, charged, consumed, evict, heads, local, queue, show, started


def _who_is_next(engine: Engine) -> str:
    """Whose workload would come first: that of `a` if its LocalQueue owes nothing, since it is older."""
    o.feed(engine, waits("older", "a", 9), waits("newer", "b", 9, created=1))
    one = o.cycle(engine)
    rows = [*one.admitted, *one.requeued]
    return str(rows[0].workload.partition("/")[2])


def show_fewer(engine: Engine, admission: Any, **spec: Any) -> Engine:
    """The cluster shows the reservation of `a1` without its pod."""
    made = o.observed(A1, admission, admitted=False)
    made["status"]["reclaimablePods"] = [{"name": "main", "count": 1}]
    return o.feed(engine, {**made, "spec": {**made["spec"], **spec}})


FATES: dict[str, Any] = {
    "assumed": (lambda engine, admission: None, "newer"),
    "reserved": (show, "newer"),
    "the admission could not be written": (lambda engine, _: engine.forget("default/a1"), "older"),
    "deleted": (lambda engine, _: engine.delete("Workload", "default", "a1"), "older"),
    "finished before it was admitted": (lambda engine, _: o.feed(engine, o.finished(A1)), "older"),
    "evicted, and waiting in the same LocalQueue": (lambda e, a: evict(e, a), "newer"),
    "evicted, and moved in the same event": (lambda e, a: evict(e, a, queueName="elsewhere"), "older"),
    "evicted, then moved": (
        lambda e, a: [evict(e, a), o.feed(e, {**A1, "spec": {**A1["spec"], "queueName": "elsewhere"}})], "older",
    ),
    "moved, with fewer pods": (lambda e, a: [show(e, a), show_fewer(e, a, queueName="elsewhere")], "older"),
    "evicted, then reserved in another LocalQueue": (
        lambda e, a: [evict(e, a), show(e, a, queueName="elsewhere")], "older",
    ),
    "moved while it holds its reservation": (lambda e, a: show(e, a, queueName="elsewhere"), "older"),
    "deactivated, the reservation gone": (lambda e, a: evict(e, a, active=False), "older"),
    "deactivated while it holds its reservation": (lambda e, a: show(e, a, active=False), "newer"),
    "deactivated with its reservation, which goes later": (
        lambda e, a: (show(e, a, active=False), evict(e, a, active=False)), "older",
    ),
    "deactivated and admitted in one event": (lambda e, a: show(e, a, admitted=True, active=False), "newer"),
    "settled": (lambda e, a: show(e, a, admitted=True), "newer"),
    "its LocalQueue is gone and came back": (
        lambda e, a: (show(e, a), e.delete("LocalQueue", "default", "a"), o.feed(e, local("a"))), "older",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", FATES.values(), ids=FATES)
def test_the_fate_of_a_penalty(case: Any) -> None:
    event, want = case
    engine, admission = charged()
    event(engine, admission)
    assert _who_is_next(engine) == want


def test_a_penalty_counts_from_the_next_cycle_on() -> None:
    workloads = [waits("a1", "a"), waits("a2", "a", created=1), waits("b", "b", created=2)]
    engine = started(queue(9), local("a"), local("b"), *workloads)
    assert heads(engine) == ["a1", "b", "a2"]


def test_without_a_half_life_there_is_no_penalty() -> None:
    workloads = [waits("a1", "a"), waits("a2", "a", created=1), waits("b", "b", created=2)]
    engine = started(queue(9), local("a"), local("b"), *workloads, sharing={"usageSamplingInterval": "5m"})
    assert heads(engine) == ["a1", "a2", "b"]


def test_no_penalty_outside_the_mode() -> None:
    """`q` orders by use, `other` does not: what its workloads are charged would never be settled."""
    engine = started(
        queue(), queue(9, "other", scope=None), local("a"), local("b"), local("free", target="other"),
        waits("w", "free"),
    )  # fmt: skip
    assert o.admitted_names(o.cycle(engine)) == ["w"]
    o.feed(engine, local("free"), *[waits("x", "free"), waits("y", "a", created=1)])
    assert heads(engine) == ["x", "y"]


AMOUNTS: dict[str, Any] = {
    "half of the request": {"ask": o.pod_set(2, cpu=2), "quota": 4, "want": {"cpu": "1"}},
    "the full request under partial admission": {
        "ask": o.pod_set(4, minimum=1, cpu=2), "quota": 4, "want": {"cpu": "2"},
    },
    "only declared resources where others are ignored": {
        "ask": o.pod_set(cpu=4, gpu=8), "quota": 4, "resources": {"quotaCheckStrategy": "IgnoreUndeclared"},
        "want": {"cpu": "1"},
    },
}  # fmt: skip


@pytest.mark.parametrize("case", AMOUNTS.values(), ids=AMOUNTS)
def test_what_is_charged(case: Any) -> None:
    """The workload settles at once and ends; five minutes later half of the penalty is remembered."""
    made = o.workload_json("w", "a", case["ask"])
    more = {"resources": case["resources"]} if "resources" in case else {}
    engine = started(queue(case["quota"]), local("a"), made, **more)
    engine.sample(o.START)
    admission = o.cycle(engine).admitted[0]
    o.feed(engine, o.observed(made, admission))
    o.feed(engine, o.finished(made))
    assert consumed(engine, 5 * 60) == {"a": case["want"]}


def test_what_is_charged_again_is_not_added() -> None:
    """Admitted, evicted, admitted again: the second penalty takes the place of the first, and is settled once."""
    engine, admission = charged()
    evict(engine, admission)
    again = o.cycle(engine).admitted[0]
    show(engine, again, admitted=True)
    o.feed(engine, o.finished(A1))
    assert consumed(engine, 0) == {"a": {}, "b": {}}  # the first contacts
    assert consumed(engine, 5 * 60) == {"a": {"cpu": "1"}, "b": {}}
