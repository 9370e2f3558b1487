"""What a cycle writes on a Workload."""

from typing import Any, NamedTuple

import msgspec
import pytest

from kueue_fast.api.kueue import Workload
from kueue_fast.lifecycle.admission import admitted, pending
from kueue_fast.lifecycle.status import Reasons
from kueue_fast.model import conditions, times

NOW = times.parse("2026-01-01T01:00:00Z") + 250_000_000
NOW_TEXT = "2026-01-01T01:00:00Z"
BEFORE = "2026-01-01T00:59:00Z"
GRANULAR = Reasons(granular=True)


class PodSetDecision(NamedTuple):
    name: str
    count: int
    flavors: dict[str, str]
    usage: dict[str, int]


class Decision(NamedTuple):
    cluster_queue: str
    pod_sets: tuple[PodSetDecision, ...]
    checks: tuple[str, ...] = ()


MAIN = PodSetDecision("main", 3, {"memory": "spot", "cpu": "spot"}, {"memory": 3 * 2**30, "cpu": 1500})


def workload(status: dict[str, Any] | None = None) -> Workload:
    made = {"metadata": {"name": "w", "namespace": "ns", "generation": 4}, "spec": {}, "status": status}
    return msgspec.convert(made, Workload)


def condition(kind: str, status: str = "True", reason: str = "R", message: str = "m") -> dict[str, Any]:
    return {
        "type": kind,
        "status": status,
        "reason": reason,
        "message": message,
        "lastTransitionTime": BEFORE,
    }


def check(name: str, state: str) -> dict[str, Any]:
    return {"name": name, "state": state, "lastTransitionTime": BEFORE}


def written(done: Workload | None) -> dict[str, Any]:
    assert done is not None
    status = msgspec.to_builtins(done.status)
    for each in status.get("conditions", ()):
        assert each.pop("observedGeneration", 4) == 4
    return status


def test_a_decision_becomes_admission_and_two_conditions() -> None:
    got = written(admitted(workload(), Decision("cq", (MAIN,)), NOW))
    assert got == {
        "admission": {
            "clusterQueue": "cq",
            "podSetAssignments": [
                {  # its name is the default, main
                    "flavors": {"cpu": "spot", "memory": "spot"},
                    "resourceUsage": {"cpu": "1500m", "memory": "3Gi"},
                    "count": 3,
                }
            ],
        },
        "conditions": [
            {
                "type": "QuotaReserved",
                "status": "True",
                "reason": "QuotaReserved",
                "message": "Quota reserved in ClusterQueue cq",
                "lastTransitionTime": NOW_TEXT,
            },
            {
                "type": "Admitted",
                "status": "True",
                "reason": "Admitted",
                "message": "The workload is admitted",
                "lastTransitionTime": NOW_TEXT,
            },
        ],
    }


CHECKS: dict[str, tuple[tuple[str, ...], list[dict[str, Any]], bool]] = {
    "no checks": ((), [], True),
    "required, not listed": (("a",), [], False),
    "required and pending": (("a",), [check("a", "Pending")], False),
    "required and ready": (("a",), [check("a", "Ready")], True),
    "one of two is listed": (("a", "b"), [check("a", "Ready")], False),
    "not required any more, but listed and pending": ((), [check("old", "Pending")], False),
    "not required any more, but ready": ((), [check("old", "Ready")], True),
}


@pytest.mark.parametrize("case", CHECKS)
def test_checks_decide_between_reserved_and_admitted(case: str) -> None:
    required, listed, want_admitted = CHECKS[case]
    got = admitted(workload({"admissionChecks": listed}), Decision("cq", (MAIN,), required), NOW)
    assert got.status is not None
    assert conditions.is_true(got.status.conditions, conditions.QUOTA_RESERVED)
    assert conditions.is_true(got.status.conditions, conditions.ADMITTED) == want_admitted


def test_a_reservation_ends_what_had_taken_the_quota_away() -> None:
    before = workload(
        {
            "conditions": [
                condition("Evicted", message="Preempted by another"),
                condition("Preempted", message="why"),
                condition("BlockedOnPreemptionGates", status="False", message="gone"),
                condition("Requeued", message="stays"),
            ],
            "requeueState": {"count": 2},
            "resourceRequests": [{"name": "main", "resources": {"cpu": "1"}}],
        }
    )
    got = written(admitted(before, Decision("cq", (MAIN,)), NOW))
    by_type = {each["type"]: each for each in got["conditions"]}
    for kind, want_message in (
        ("Evicted", "Previously: Preempted by another"),
        ("Preempted", "Previously: why"),
    ):
        assert by_type[kind]["status"] == "False"
        assert by_type[kind]["reason"] == "QuotaReserved"
        assert by_type[kind]["message"] == want_message
        assert by_type[kind]["lastTransitionTime"] == NOW_TEXT
    assert by_type["BlockedOnPreemptionGates"]["message"] == "gone"
    assert by_type["Requeued"]["status"] == "True"
    assert got["requeueState"] == {"count": 2}
    assert "resourceRequests" not in got


def test_the_workload_that_was_given_stays_as_it_was() -> None:
    before = workload({"conditions": [condition("Evicted")], "admissionChecks": [check("a", "Ready")]})
    copy = msgspec.json.encode(before)
    admitted(before, Decision("cq", (MAIN,)), NOW)
    pending(before, "no room", NOW)
    assert msgspec.json.encode(before) == copy


PENDING: dict[str, tuple[dict[str, Any] | None, Reasons, dict[str, str]]] = {
    "never tried before": (None, Reasons(), {"QuotaReserved": "False/Pending/no room"}),
    "other words before": (
        {"conditions": [condition("QuotaReserved", "False", "Pending", "other")]},
        Reasons(),
        {"QuotaReserved": "False/Pending/no room"},
    ),
    "a reservation that cannot be kept": (
        {
            "admission": {"clusterQueue": "cq"},
            "conditions": [condition("QuotaReserved"), condition("Admitted")],
        },
        Reasons(),
        {
            "QuotaReserved": "False/Pending/no room",
            "Admitted": "False/NoReservation/The workload has no reservation",
        },
    ),
    "checks not ready when the reservation goes": (
        {
            "conditions": [condition("QuotaReserved"), condition("Admitted")],
            "admissionChecks": [check("a", "Retry")],
        },
        Reasons(),
        {
            "QuotaReserved": "False/Pending/no room",
            "Admitted": "False/NoReservationUnsatisfiedChecks/"
            "The workload has no reservation and not all checks ready",
        },
    ),
    "granular reasons": (
        None,
        GRANULAR,
        {
            "QuotaReserved": "False/WaitingForQuota/no room",
            "Admitted": "False/NoReservation/The workload has no reservation",
        },
    ),
}


@pytest.mark.parametrize("case", PENDING)
def test_a_try_that_failed_says_why(case: str) -> None:
    before, reasons, want = PENDING[case]
    got = pending(workload(before), "no room", NOW, reason="WaitingForQuota", reasons=reasons)
    status = written(got)
    assert "admission" not in status
    assert {
        each["type"]: f"{each['status']}/{each['reason']}/{each['message']}" for each in status["conditions"]
    } == want


def test_the_same_words_again_write_nothing() -> None:
    once = pending(workload(), "no room", NOW)
    assert once is not None
    assert pending(once, "no room", NOW + 10**10) is None


def test_time_spent_admitted_is_added_up() -> None:
    before = workload(
        {
            "conditions": [condition("QuotaReserved"), condition("Admitted")],
            "accumulatedPastExecutionTimeSeconds": 7,
        }
    )
    assert written(pending(before, "no room", NOW))["accumulatedPastExecutionTimeSeconds"] == 7 + 60
