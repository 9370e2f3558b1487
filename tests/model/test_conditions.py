"""What a Workload's conditions say."""

from typing import Any

import msgspec
import pytest

from kueue_fast.api.kueue import Workload
from kueue_fast.api.meta import Condition
from kueue_fast.model.conditions import (
    backoff_over,
    cut_condition_message,
    cut_event_message,
    effective_priority,
    find,
    has_closed_preemption_gate,
    held_back,
    is_active,
    is_admissible,
    is_on_hold,
    is_true,
    queue_timestamp,
    set_condition,
    workload_status,
)

CREATED = "2026-01-01T00:00:00Z"
LATER = "2026-01-01T00:01:00Z"
NOW = "2026-01-01T00:02:00Z"
CREATED_NS = 1_767_225_600 * 10**9
LATER_NS = CREATED_NS + 60 * 10**9


def condition(kind: str, status: str = "True", reason: str = "", **more: Any) -> dict[str, Any]:
    return {"type": kind, "status": status, "reason": reason, "lastTransitionTime": LATER, **more}


def workload(
    *conditions: dict[str, Any],
    spec: dict[str, Any] | None = None,
    status: dict[str, Any] | None = None,
    annotations: dict[str, str] | None = None,
    has_status: bool = True,
) -> Workload:
    made: dict[str, Any] = {
        "metadata": {"name": "w", "creationTimestamp": CREATED, "annotations": annotations},
        "spec": spec or {},
    }
    if has_status:
        made["status"] = {"conditions": list(conditions), **(status or {})}
    return msgspec.convert(made, Workload)


STATUSES: dict[str, tuple[list[dict[str, Any]], str]] = {
    "no conditions": ([], "pending"),
    "quota reserved": ([condition("QuotaReserved")], "quotaReserved"),
    "quota no longer reserved": ([condition("QuotaReserved", "False")], "pending"),
    "admitted": ([condition("QuotaReserved"), condition("Admitted")], "admitted"),
    "admission comes before reservation": (
        [condition("QuotaReserved", "False"), condition("Admitted")],
        "admitted",
    ),
    "finished comes first": ([condition("Admitted"), condition("Finished")], "finished"),
    "finished is not True": ([condition("Finished", "Unknown")], "pending"),
    "other conditions": ([condition("Evicted"), condition("PodsReady")], "pending"),
}


@pytest.mark.parametrize(("conditions", "want"), STATUSES.values(), ids=STATUSES)
def test_workload_status(conditions: list[dict[str, Any]], want: str) -> None:
    assert workload_status(workload(*conditions)) == want


def test_a_workload_without_status_is_pending_and_admissible() -> None:
    fresh = workload(has_status=False)
    assert workload_status(fresh) == "pending"
    assert is_admissible(fresh)
    assert is_active(fresh)
    assert not is_on_hold(fresh)
    assert backoff_over(fresh, 0)
    assert queue_timestamp(fresh) == CREATED_NS


GATED = {"kueue.x-k8s.io/admission-gated-by": "example.com/a"}

ADMISSIBLE: dict[str, tuple[Workload, bool]] = {
    "no conditions": (workload(), True),
    "active": (workload(spec={"active": True}), True),
    "inactive": (workload(spec={"active": False}), False),
    "finished": (workload(condition("Finished")), False),
    "quota reserved": (workload(condition("QuotaReserved")), False),
    "quota not reserved": (workload(condition("QuotaReserved", "False", "Pending")), True),
    "on hold": (workload(condition("QuotaReserved", "False", "OnHold")), False),
    "OnHold is a reason of False only": (workload(condition("QuotaReserved", "Unknown", "OnHold")), True),
    "waits for pods": (workload(condition("WaitingForReplacementPods")), False),
    "no longer waits for pods": (workload(condition("WaitingForReplacementPods", "False", "OnHold")), True),
    "gated": (workload(annotations=GATED), False),
    "gated by nobody": (workload(annotations={"kueue.x-k8s.io/admission-gated-by": ""}), True),
    "evicted": (workload(condition("Evicted"), condition("Requeued", "False")), True),
    "a later condition decides": (workload(condition("Evicted"), condition("Finished")), False),
}


@pytest.mark.parametrize(("given", "want"), ADMISSIBLE.values(), ids=ADMISSIBLE)
def test_is_admissible(given: Workload, want: bool) -> None:
    assert is_admissible(given) is want


def test_the_admission_gate_is_a_feature() -> None:
    assert is_admissible(workload(annotations=GATED), admission_gated_by=False)


HELD_BACK: dict[str, tuple[Workload, tuple[str, str] | None]] = {
    "nothing said": (workload(), None),
    "quota was given back on purpose": (
        workload(condition("QuotaReserved", "False", "OnHold")),
        ("OnHold", ""),
    ),
    "it waits for quota": (workload(condition("QuotaReserved", "False", "Pending")), None),
    "it holds quota": (workload(condition("QuotaReserved", "True", "OnHold")), None),
    "pods of its group lack": (
        workload(condition("WaitingForReplacementPods", "True", "PodsFailed")),
        ("WaitingForReplacementPods", ""),
    ),
    "the group is whole again": (
        workload(condition("WaitingForReplacementPods", "False", "PodsReady")),
        None,
    ),
}


@pytest.mark.parametrize(("given", "want"), HELD_BACK.values(), ids=HELD_BACK)
def test_what_a_job_holds_back(given: Workload, want: tuple[str, str] | None) -> None:
    assert held_back(given) == want


def test_on_hold() -> None:
    assert is_on_hold(workload(condition("QuotaReserved", "False", "OnHold")))
    assert not is_on_hold(workload(condition("QuotaReserved", "True", "OnHold")))
    assert not is_on_hold(workload(condition("QuotaReserved", "False", "Pending")))


def gates(*names: str, **states: str) -> Workload:
    return workload(
        spec={"preemptionGates": [{"name": name} for name in names]},
        status={"preemptionGates": [{"name": name, "position": at} for name, at in states.items()]},
    )


PREEMPTION_GATES: dict[str, tuple[Workload, bool]] = {
    "no gates": (workload(), False),
    "not in the status": (gates("a"), True),
    "no status": (workload(spec={"preemptionGates": [{"name": "a"}]}, has_status=False), True),
    "closed": (gates("a", a="Closed"), True),
    "open": (gates("a", a="Open"), False),
    "one of two closed": (gates("a", "b", a="Open", b="Closed"), True),
    "a state without a gate": (gates("a", a="Open", b="Closed"), False),
}


@pytest.mark.parametrize(("given", "want"), PREEMPTION_GATES.values(), ids=PREEMPTION_GATES)
def test_closed_preemption_gate(given: Workload, want: bool) -> None:
    assert has_closed_preemption_gate(given) is want


BACKOFFS: dict[str, tuple[Workload, int, bool]] = {
    "never evicted": (workload(), 0, True),
    "requeued": (workload(condition("Requeued")), 0, True),
    "not requeued": (workload(condition("Requeued", "False")), LATER_NS, False),
    "before the time": (workload(status={"requeueState": {"requeueAt": LATER}}), LATER_NS - 1, False),
    "at the time": (workload(status={"requeueState": {"requeueAt": LATER}}), LATER_NS, True),
    "without a time": (workload(status={"requeueState": {"count": 1}}), 0, True),
    "not requeued, though the time is over": (
        workload(condition("Requeued", "False"), status={"requeueState": {"requeueAt": CREATED}}),
        LATER_NS,
        False,
    ),
}


@pytest.mark.parametrize(("given", "now", "want"), BACKOFFS.values(), ids=BACKOFFS)
def test_backoff_over(given: Workload, now: int, want: bool) -> None:
    assert backoff_over(given, now) is want


TIMESTAMPS: dict[str, tuple[list[dict[str, Any]], dict[str, Any], int]] = {
    "created": ([], {}, CREATED_NS),
    "evicted as its pods were not ready": ([condition("Evicted", "True", "PodsReadyTimeout")], {}, LATER_NS),
    "the same, ordered by creation": (
        [condition("Evicted", "True", "PodsReadyTimeout")],
        {"requeuing_timestamp": "Creation"},
        CREATED_NS,
    ),
    "evicted by a check": ([condition("Evicted", "True", "AdmissionCheck")], {}, LATER_NS),
    "evicted by a check, ordered by creation": (
        [condition("Evicted", "True", "AdmissionCheck")],
        {"requeuing_timestamp": "Creation"},
        LATER_NS,
    ),
    "evicted by preemption keeps its place": (
        [condition("Evicted", "True", "Preempted"), condition("Preempted", "True", "InClusterQueue")],
        {"priority_sorting_within_cohort": False},
        CREATED_NS,
    ),
    "an eviction that is over": ([condition("Evicted", "False", "PodsReadyTimeout")], {}, CREATED_NS),
    "reclaimed from a borrower, without priority sorting": (
        [condition("Preempted", "True", "InCohortReclaimWhileBorrowing")],
        {"priority_sorting_within_cohort": False},
        LATER_NS + 10**6,
    ),
    "reclaimed from a borrower, with priority sorting": (
        [condition("Preempted", "True", "InCohortReclaimWhileBorrowing")],
        {},
        CREATED_NS,
    ),
    "a preemption that is over": (
        [condition("Preempted", "False", "InCohortReclaimWhileBorrowing")],
        {"priority_sorting_within_cohort": False},
        CREATED_NS,
    ),
    "the eviction comes before the preemption": (
        [
            condition("Preempted", "True", "InCohortReclaimWhileBorrowing"),
            condition("Evicted", "True", "AdmissionCheck", lastTransitionTime=CREATED),
        ],
        {"priority_sorting_within_cohort": False},
        CREATED_NS,
    ),
}


@pytest.mark.parametrize(("conditions", "options", "want"), TIMESTAMPS.values(), ids=TIMESTAMPS)
def test_queue_timestamp(conditions: list[dict[str, Any]], options: dict[str, Any], want: int) -> None:
    assert queue_timestamp(workload(*conditions), **options) == want


def test_a_workload_without_creation_time_comes_first() -> None:
    assert queue_timestamp(msgspec.convert({"metadata": {"name": "w"}, "spec": {}}, Workload)) == 0


def boosted(value: str) -> Workload:
    return workload(spec={"priority": 10}, annotations={"kueue.x-k8s.io/priority-boost": value})


PRIORITIES: dict[str, tuple[Workload, bool, int]] = {
    "unset": (workload(), True, 0),
    "set": (workload(spec={"priority": -7}), True, -7),
    "boost without the gate": (boosted("5"), False, 10),
    "boost": (boosted("5"), True, 15),
    "negative boost": (boosted("-25"), True, -15),
    "plus sign": (boosted("+5"), True, 15),
    "empty": (boosted(""), True, 10),
    "no number": (boosted("5x"), True, 10),
    "largest": (boosted("2147483647"), True, 2147483657),
    "beyond 32 bits": (boosted("2147483648"), True, 10),
    "other annotations": (workload(spec={"priority": 1}, annotations={"a": "b"}), True, 1),
}


@pytest.mark.parametrize(("given", "gate", "want"), PRIORITIES.values(), ids=PRIORITIES)
def test_effective_priority(given: Workload, gate: bool, want: int) -> None:
    assert effective_priority(given, priority_boost=gate) == want


def make(kind: str = "Admitted", status: str = "True", **more: Any) -> Condition:
    return Condition(type=kind, status=status, **more)


OLD: dict[str, Any] = {
    "reason": "R",
    "message": "m",
    "last_transition_time": CREATED,
    "observed_generation": 1,
}

SETS: dict[str, tuple[list[Condition], Condition, bool, list[Condition]]] = {
    "appended, at now": ([], make(), True, [make(last_transition_time=NOW)]),
    "appended, at its own time": (
        [make("Evicted")],
        make(last_transition_time=LATER),
        True,
        [make("Evicted"), make(last_transition_time=LATER)],
    ),
    "nothing changes": ([make(**OLD)], make(**{**OLD, "last_transition_time": LATER}), False, [make(**OLD)]),
    "another reason keeps the time": (
        [make(**OLD)],
        make(**{**OLD, "reason": "S", "last_transition_time": LATER}),
        True,
        [make(**{**OLD, "reason": "S"})],
    ),
    "another message keeps the time": (
        [make(**OLD)],
        make(**{**OLD, "message": "n", "last_transition_time": None}),
        True,
        [make(**{**OLD, "message": "n"})],
    ),
    "another generation keeps the time": (
        [make(**OLD)],
        make(**{**OLD, "observed_generation": 2, "last_transition_time": LATER}),
        True,
        [make(**{**OLD, "observed_generation": 2})],
    ),
    "no generation is generation 0": (
        [make(reason="R", observed_generation=0)],
        make(reason="R"),
        False,
        [make(reason="R", observed_generation=0)],
    ),
    "another status takes its own time": (
        [make(**OLD)],
        make(status="False", last_transition_time=LATER),
        True,
        [make(status="False", last_transition_time=LATER)],
    ),
    "another status without a time takes now": (
        [make("Evicted"), make(**OLD)],
        make(status="False", reason="R"),
        True,
        [make("Evicted"), make(status="False", reason="R", last_transition_time=NOW)],
    ),
}


@pytest.mark.parametrize(("conditions", "new", "want_changed", "want"), SETS.values(), ids=SETS)
def test_set_condition(
    conditions: list[Condition], new: Condition, want_changed: bool, want: list[Condition]
) -> None:
    given = list(conditions)
    before = msgspec.json.encode(conditions)
    assert set_condition(given, new, NOW) is want_changed
    assert given == want
    # Whoever still holds the old entries sees what they saw.
    assert msgspec.json.encode(conditions) == before


def test_find_and_is_true() -> None:
    conditions = [make("A", "False"), make("B")]
    assert find(conditions, "B") is conditions[1]
    assert find(conditions, "C") is None
    assert find(None, "A") is None
    assert is_true(conditions, "B")
    assert not is_true(conditions, "A")
    assert not is_true(None, "A")


MESSAGES: dict[str, tuple[str, str]] = {
    "short": ("ab", "ab"),
    "just fits": ("x" * 1024, "x" * 1024),
    "one byte too long": ("x" * 1025, "x" * 1020 + " ..."),
    "counted in bytes": ("é" * 513, "é" * 510 + " ..."),
    "cut within a character": ("x" + "é" * 512, "x" + "é" * 509 + "\ufffd ..."),
}


@pytest.mark.parametrize(("message", "want"), MESSAGES.values(), ids=MESSAGES)
def test_event_messages_are_cut(message: str, want: str) -> None:
    assert cut_event_message(message) == want


def test_condition_messages_are_cut_later() -> None:
    assert cut_condition_message("x" * 32768) == "x" * 32768
    assert cut_condition_message("x" * 32769) == "x" * 32764 + " ..."
