"""Where a head goes that was not admitted, and who is parked with it. Source: QC-20..30, QC-37, QC-43, QC-46, QC-47."""

from __future__ import annotations

from typing import Any

import pytest

from kueue_fast import Engine
from tests.arrays.objects import START, local_queue, namespace
from tests.engine.small_cluster import (
    Json,
    add,
    cycle,
    held,
    outcomes,
    pod_set,
    queue,
    quotas,
    started,
    waits,
    workload_json,
)

CLASS = 5
"""What the workloads of the class ask for; the queue `q` has 4 cpu."""

BACKOFF = {"requeueState": {"count": 1, "requeueAt": "2026-01-01T00:01:00Z"}}


def places(engine: Engine, name: str = "q") -> tuple[list[str], list[str]]:
    """Names in the heap, and of the parked."""
    state = engine.queue_state()[name]
    return tuple([key.partition("/")[2] for key in keys] for keys in (state.active, state.parked))  # type: ignore[return-value]


def parked_class(*more: Any, gates: dict[str, bool] | None = None, **spec: Any) -> Engine:
    """`a`, `b` and `c` are of one class that does not fit; a cycle looked at `a`."""
    engine = started(
        queue("q", 4, None, **spec), *(waits(name, "q", CLASS) for name in "abc"), *more, gates=gates
    )
    assert outcomes(cycle(engine)) == {"a": "NoFit"}
    return engine


# Who is parked after the first cycle, apart from `a`.
SAME_CLASS = {
    "the same requests": {"more": [], "want": "bc"},
    "without the gate the head alone": {"more": [], "gates": {"SchedulingEquivalenceHashing": False}, "want": ""},
    "another name, age and LocalQueue do not matter": {
        "more": [local_queue("q2", "q"), waits("d", "q2", CLASS, created=9)], "want": "bcd",
    },
    "labels and annotations do not matter": {
        "more": [waits("d", "q", CLASS, metadata={"labels": {"x": "y"}, "annotations": {"x": "y"}})], "want": "bcd",
    },
    "another namespace does not matter": {
        "more": [
            namespace("far"), local_queue("q", "q", in_namespace="far"), waits("d", "q", CLASS, in_namespace="far"),
        ],
        "want": "bcd",
    },
    "the same amount written otherwise": {
        "more": [workload_json("d", "q", pod_set(cpu="5000m"))], "want": "bcd",
    },
    "another amount is another class": {"more": [waits("d", "q", CLASS + 1)], "want": "bc"},
    "another priority is another class": {"more": [waits("d", "q", CLASS, priority=-1)], "want": "bc"},
    "another count is another class": {"more": [workload_json("d", "q", pod_set(2, cpu=CLASS))], "want": "bc"},
    "a minimal count is another class": {
        "more": [workload_json("d", "q", pod_set(1, minimum=1, cpu=CLASS))], "want": "bc",
    },
    "another node selector is another class": {
        "more": [workload_json("d", "q", pod_set(cpu=CLASS, pod={"nodeSelector": {"a": "b"}}))], "want": "bc",
    },
    "another pod set name is another class": {
        "more": [workload_json("d", "q", pod_set(name="other", cpu=CLASS))], "want": "bc",
    },
}  # fmt: skip


@pytest.mark.parametrize("case", SAME_CLASS.values(), ids=SAME_CLASS)
def test_a_class_is(case: Json) -> None:
    engine = parked_class(*case["more"], gates=case.get("gates"))
    assert places(engine)[1] == ["a", *case["want"]]


def test_strict_fifo_parks_no_class() -> None:
    assert places(parked_class(queueingStrategy="StrictFIFO")) == (["a", "b", "c"], [])


def test_strict_fifo_parks_no_class_with_a_head_in_backoff() -> None:
    """A resumed LocalQueue brings `a` into the heap in spite of its backoff, so that it is a head once."""
    engine = started(
        queue("q", 4, None, queueingStrategy="StrictFIFO"), waits("a", "q", CLASS, status=BACKOFF)
    )
    add(engine, local_queue("q", "q", stop="Hold"), local_queue("q", "q"), waits("b", "q", CLASS, created=9))
    assert outcomes(cycle(engine)) == {"a": "NoFit"}
    assert places(engine) == (["b"], ["a"])


def test_an_update_that_changes_nothing_leaves_it_parked_without_a_class() -> None:
    engine = parked_class(gates={"SchedulingEquivalenceHashing": False})
    add(engine, waits("a", "q", CLASS))
    assert places(engine) == (["b", "c"], ["a"])
    add(engine, waits("a", "q", CLASS, metadata={"generation": 2}))
    assert places(engine) == (["a", "b", "c"], [])


def test_a_class_is_parked_in_its_queue_only() -> None:
    engine = started(
        queue("p", 9, None), queue("q", 4, None), waits("a", "q", CLASS), waits("b", "q", CLASS),
        *(waits(f"p{i}", "p", CLASS) for i in (1, 2, 3)),
    )  # fmt: skip
    assert outcomes(cycle(engine)) == {"p1": "Admitted", "a": "NoFit"}
    assert (places(engine, "p"), places(engine, "q")) == ((["p2", "p3"], []), ([], ["a", "b"]))


# Outcomes of the head `a` for which `b`, of the same class, is parked too.
REASONS = {
    "no flavor fits": {"objects": [queue("q", 4, None)], "want": ("NoFit", [])},
    "there are no victims": {
        "objects": [queue("q", 5, None, within="LowerPriority"), held("x", "q", 1)], "want": ("NoCandidates", []),
    },
    "its namespace does not match": {
        "objects": [queue("q", 4, None, namespaceSelector={"matchLabels": {"no": "one"}})],
        "want": ("NamespaceMismatch", ["b"]),
    },
    "its checks failed": {
        "objects": [queue("q", 4, None)],
        "status": {"admissionChecks": [{"name": "c", "state": "Retry", "message": "", "lastTransitionTime": None}]},
        "want": ("FailedChecks", ["b"]),
    },
    "victims are being evicted": {
        "objects": [queue("q", 5, None, within="LowerPriority"), held("x", "q", 1, priority=-1)],
        "want": ("Preempting", ["a", "b"]),
    },
    "a preemption gate is closed": {
        "objects": [queue("q", 5, None, within="LowerPriority"), held("x", "q", 1, priority=-1)],
        "spec": {"preemptionGates": [{"name": "g"}]}, "gates": {"ConcurrentAdmission": True}, "want": ("Gated", ["b"]),
    },
}  # fmt: skip


@pytest.mark.parametrize("case", REASONS.values(), ids=REASONS)
def test_a_class_is_parked_if(case: Json) -> None:
    status = {"status": case["status"]} if "status" in case else {}
    engine = started(
        *case["objects"], waits("a", "q", CLASS, **status, **case.get("spec", {})), waits("b", "q", CLASS),
        gates=case.get("gates"),
    )  # fmt: skip
    assert outcomes(cycle(engine)) == {"a": case["want"][0]}
    assert places(engine)[0] == case["want"][1]


# What happens to a workload of the parked class, or to the class, afterwards; who is in the heap then.
AFTERWARDS = {
    "a new one of the class is parked": {"then": [waits("d", "q", CLASS)], "want": ([], "abcd")},
    "a new one of another class is not": {"then": [waits("d", "q", 1)], "want": (["d"], "abc")},
    "one that joins another class is not": {"then": [waits("b", "q", 1)], "want": (["b"], "ac")},
    "one of another class that joins it is parked once it is parked": {
        "before": [waits("d", "q", CLASS + 1)], "park": True, "then": [waits("d", "q", CLASS)], "want": ([], "abcd"),
    },
    "one that is in the heap joins it and stays there": {
        "before": [waits("d", "q", CLASS + 1)], "then": [waits("d", "q", CLASS)], "want": (["d"], "abc"),
    },
    "an update that changes nothing leaves it parked": {"then": [waits("b", "q", CLASS)], "want": ([], "abc")},
    "a new generation of the class is parked again": {
        "then": [waits("b", "q", CLASS, metadata={"generation": 2})], "want": ([], "abc"),
    },
    "a flush moves all back": {"flush": True, "then": [], "want": (["a", "b", "c"], "")},
    "a flush forgets the class": {"flush": True, "then": [waits("d", "q", CLASS)], "want": (["a", "b", "c", "d"], "")},
    "a flush that moves nobody forgets it too": {
        "delete": "abc", "flush": True, "then": [waits("d", "q", CLASS)], "want": (["d"], ""),
    },
    "without a flush the class outlives its workloads": {
        "delete": "abc", "then": [waits("d", "q", CLASS)], "want": ([], "d"),
    },
    "a LocalQueue that is resumed does not look at classes": {
        "then": [local_queue("q", "q", stop="Hold"), local_queue("q", "q")], "want": (["a", "b", "c"], ""),
    },
}  # fmt: skip


@pytest.mark.parametrize("case", AFTERWARDS.values(), ids=AFTERWARDS)
def test_afterwards(case: Json) -> None:
    engine = parked_class()
    add(engine, *case.get("before", []))
    if case.get("park"):
        cycle(engine)
    for name in case.get("delete", ""):
        engine.delete("Workload", "default", name)
    if case.get("flush"):
        add(engine, queue("q", 4, None, within="LowerPriority")[0])  # asks for a flush
        engine.flush(START, all=True)
    add(engine, *case["then"])
    assert places(engine) == (case["want"][0], list(case["want"][1]))


def test_without_the_gate_a_new_one_is_tried() -> None:
    engine = parked_class(gates={"SchedulingEquivalenceHashing": False})
    add(engine, waits("d", "q", CLASS, created=0))
    assert places(engine) == (["b", "c", "d"], ["a"])


# A flush between two cycles says nothing of the next head (QC-24): what is popped after it is parked as ever. Upstream
# keeps a head in the heap if a flush came while it was being scheduled; here nothing comes between.
@pytest.mark.parametrize("flushes", [0, 1, 3])
def test_a_flush_before_a_cycle_does_not_keep_its_head_in_the_heap(flushes: int) -> None:
    engine = started(queue("q", 4, None), waits("a", "q", CLASS))
    for _ in range(flushes):
        engine.retry_all()
        engine.flush(START, all=True)
    assert outcomes(cycle(engine)) == {"a": "NoFit"}
    assert places(engine) == ([], ["a"])
    for _ in range(flushes):
        engine.retry_all()
        engine.flush(START, all=True)
        assert outcomes(cycle(engine)) == {"a": "NoFit"}
        assert places(engine) == ([], ["a"])


def test_pops_of_an_empty_heap_leave_no_credit() -> None:
    engine = started(queue("q", 4, None), queue("other", 9, None))
    for number in range(3):
        engine.retry_all()
        engine.flush(START, all=True)
        add(engine, waits(f"o{number}", "other", 1))
        cycle(engine)
    add(engine, waits("a", "q", CLASS))
    cycle(engine)
    assert places(engine) == ([], ["a"])


# Backoff: whom a flush and a requeue leave parked (QC-26, QC-30).
@pytest.mark.parametrize(("at", "want"), [(59, ([], ["a"])), (60, (["a"], []))])
def test_a_flush_leaves_who_waits_for_a_time(at: int, want: tuple[list[str], list[str]]) -> None:
    engine = started(queue("q", 4, None), waits("a", "q", 1, status=BACKOFF))
    assert places(engine) == ([], ["a"])
    engine.retry_all()
    engine.flush(START + at * 10**9, all=True)
    assert places(engine) == want


def test_a_class_with_two_resources_is_one_class() -> None:
    both = quotas({"one": {"cpu": 4, "memory": 4}})
    engine = started(
        queue("q", 0, None, both), *(waits(name, "q", {"cpu": 1, "memory": 9}) for name in "ab"),
        waits("c", "q", {"memory": 9, "cpu": 1}), waits("d", "q", {"memory": 8, "cpu": 1}),
    )  # fmt: skip
    cycle(engine)
    assert places(engine) == (["d"], ["a", "b", "c"])
