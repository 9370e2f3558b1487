"""Requests to look at parked workloads again: one a tree, due a second after the first. Source: QC-31..38."""

from __future__ import annotations

from typing import Any

import pytest

from kueue_fast import Engine
from tests.arrays import objects as o

QUOTA = {"spot": [o.quota("cpu", 4)]}


def cluster(*extra: Any) -> Engine:
    """Queues `a` and `b` in cohort `team`, `c` alone; each has a workload that is parked. No request is open."""
    engine = o.feed(Engine(), o.namespace(), o.flavor("spot"))
    for name, cohort in (("a", "team"), ("b", "team"), ("c", None)):
        o.feed(
            engine,
            o.cluster_queue(name, o.group(**QUOTA), cohort=cohort),
            o.local_queue(name, name),
            o.workload(f"parked-{name}", name, o.pod_set(cpu=99)),
        )
    o.feed(engine, o.local_queue("held", "c"), *extra)
    engine.flush(o.START, all=True)
    o.cycle(engine)
    assert engine.next_flush() is None
    assert parked(engine) == ["a", "b", "c"]
    return engine


def parked(engine: Engine) -> list[str]:
    return sorted(
        name for name, state in engine.queue_state().items() if f"default/parked-{name}" in state.parked
    )


def at(seconds: float) -> int:
    return o.START + int(seconds * o.SECOND)


def changed(name: str, cpu: int = 5, cohort: str | None = None) -> Any:
    return o.cluster_queue(name, o.group(spot=[o.quota("cpu", cpu)]), cohort=cohort)


def test_a_request_is_due_a_second_after_the_first() -> None:
    engine = cluster()
    o.feed(engine, changed("c"), at=10)
    o.feed(engine, changed("c", 6), at=10.5)  # absorbed, and postpones nothing
    assert engine.next_flush() == at(11)
    assert engine.flush(at(11) - 1) == 0
    assert (engine.flush(at(11)), parked(engine)) == (1, ["a", "b"])
    assert engine.next_flush() is None
    assert engine.flush(at(99)) == 0


def test_one_request_a_tree() -> None:
    engine = cluster()
    o.feed(engine, changed("a", cohort="team"), at=10)
    o.feed(engine, changed("b", cohort="team"), at=10.5)
    assert engine.next_flush() == at(11)
    assert (engine.flush(at(11)), parked(engine)) == (2, ["c"])
    assert engine.next_flush() is None


def test_trees_are_due_one_by_one() -> None:
    engine = cluster()
    o.feed(engine, changed("a", cohort="team"), at=10)
    o.feed(engine, changed("c"), at=10.5)
    assert engine.flush(at(11)) == 2
    assert engine.next_flush() == at(11.5)
    assert engine.flush(at(11.5)) == 1


def test_all_of_them_need_not_wait() -> None:
    engine = cluster()
    o.feed(engine, changed("a", cohort="team"), changed("c"), at=10)
    assert (engine.flush(at(10), all=True), parked(engine)) == (3, [])


def test_retry_all_asks_for_every_queue() -> None:
    engine = cluster()
    engine.flush(at(20))
    engine.retry_all()
    assert engine.next_flush() == at(21)
    assert engine.flush(at(21)) == 3


@pytest.mark.parametrize(("queue", "want"), [("c", 1), ("none", 0)])
def test_one_queue_is_asked_for_by_name(queue: str, want: int) -> None:
    engine = cluster()
    engine.flush(at(20))
    engine.retry_queues([queue])
    assert engine.flush(at(21)) == want


HELD = o.reserved(
    o.workload_json("held", "held", o.pod_set(cpu=1)), "c", ("main", 1, {"cpu": "spot"}, {"cpu": "1"})
)
GONE = {**HELD, "status": {"conditions": [o.condition("QuotaReserved", "False", "Pending")]}}

# An event, and the queues whose parked workloads are looked at again (QC-34).
EVENTS: dict[str, tuple[Any, list[str]]] = {
    "a ClusterQueue changed": (lambda engine: o.feed(engine, changed("c")), ["c"]),
    "a ClusterQueue did not change": (
        lambda engine: o.feed(engine, o.cluster_queue("c", o.group(**QUOTA))),
        [],
    ),
    "a ClusterQueue joined a cohort": (
        lambda engine: o.feed(engine, changed("c", 4, "team")),
        ["a", "b", "c"],
    ),
    "a ClusterQueue left its cohort: the others of it wait on (QC-33)": (
        lambda engine: o.feed(engine, changed("b")),
        ["b"],
    ),
    "a Cohort came": (lambda engine: o.feed(engine, o.cohort("team")), ["a", "b"]),
    "a Cohort that nobody had described went (QC-33)": (
        lambda engine: engine.delete("Cohort", "", "team"),
        [],
    ),
    "a parent Cohort came": (lambda engine: o.feed(engine, o.cohort("team", parent="top")), ["a", "b"]),
    "another Cohort came": (lambda engine: o.feed(engine, o.cohort("other")), []),
    "a reserved workload was deleted": (lambda engine: engine.delete("Workload", "default", "held"), ["c"]),
    "a reserved workload finished": (lambda engine: o.feed(engine, o.finished(HELD)), ["c"]),
    "a reserved workload finished while its LocalQueue was held (QC-35)": (
        lambda engine: o.feed(engine, o.local_queue("held", "c", stop="Hold"), o.finished(HELD)),
        ["c"],
    ),
    "a reserved workload finished after its LocalQueue went (QC-35)": (
        lambda engine: (engine.delete("LocalQueue", "default", "held"), o.feed(engine, o.finished(HELD))),
        ["c"],
    ),
    "a reserved workload finished after its LocalQueue led elsewhere (QC-35)": (
        lambda engine: o.feed(engine, o.local_queue("held", "a"), o.finished(HELD)),
        ["a", "b", "c"],
    ),
    "a reserved workload was evicted": (lambda engine: o.feed(engine, GONE), ["c"]),
    "a reserved workload was deactivated": (
        lambda engine: o.feed(engine, {**HELD, "spec": {**HELD["spec"], "active": False}}),
        ["c"],
    ),
    "a reserved workload gave pods back": (
        lambda engine: o.feed(
            engine, {**HELD, "status": {**HELD["status"], "reclaimablePods": [{"name": "main", "count": 1}]}}
        ),
        ["c"],
    ),
    "a reserved workload is as it was": (lambda engine: o.feed(engine, HELD), []),
    "a workload came": (lambda engine: o.feed(engine, o.workload("new", "c", o.pod_set(cpu=1))), []),
    "a flavor's labels changed": (
        lambda engine: o.feed(engine, o.flavor("spot", nodeLabels={"a": "b"})),
        ["a", "b", "c"],
    ),
    "a flavor that nobody uses changed": (
        lambda engine: o.feed(engine, o.flavor("other", nodeLabels={"a": "b"})),
        [],
    ),
    "a flavor did not change": (lambda engine: o.feed(engine, o.flavor("spot")), []),
    "a flavor went and came back": (
        lambda engine: (engine.delete("ResourceFlavor", "", "spot"), o.feed(engine, o.flavor("spot"))),
        ["a", "b", "c"],
    ),
    "a namespace's labels changed, which no selector asks for": (
        lambda engine: o.feed(engine, o.namespace(team="a")),
        [],
    ),
    "a namespace went and came back": (
        lambda engine: (engine.delete("Namespace", "", "default"), o.feed(engine, o.namespace())),
        ["a", "b", "c"],
    ),
    "an AdmissionCheck that nobody names came": (lambda engine: o.feed(engine, o.check("k")), []),
}


@pytest.mark.parametrize("case", EVENTS.values(), ids=EVENTS)
def test_what_asks_for_another_look(case: tuple[Any, list[str]]) -> None:
    event, want = case
    engine = cluster(HELD)
    event(engine)
    engine.flush(at(60))
    assert sorted({"a", "b", "c"} - set(parked(engine))) == want


def test_a_check_that_becomes_active_wakes_its_queue() -> None:
    engine = cluster()
    rules = {"admissionChecksStrategy": {"admissionChecks": [{"name": "k"}]}}
    o.feed(engine, o.cluster_queue("c", o.group(**QUOTA), **rules), at=10)
    engine.flush(at(20))
    o.cycle(engine, 20)  # c is inactive: its head stays in the heap
    assert engine.queue_state()["c"].active == ["default/parked-c"]
    o.feed(engine, o.check("k", active="False"), at=30)
    assert engine.next_flush() is None
    o.feed(engine, o.check("k"), at=40)
    assert engine.next_flush() == at(41)


def test_a_request_for_a_queue_that_is_gone_means_nothing() -> None:
    engine = cluster()
    o.feed(engine, changed("c"), at=10)
    engine.delete("ClusterQueue", "", "c")
    o.feed(engine, o.cluster_queue("d", o.group(**QUOTA)), at=10.9)  # may get the row of c
    assert engine.next_flush() == at(11.9)
    assert engine.flush(at(99)) == 0
