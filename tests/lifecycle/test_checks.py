"""The list of admission checks on a Workload."""

from typing import Any

import msgspec
import pytest

from kueue_fast.api.kueue import ClusterQueue, Workload
from kueue_fast.lifecycle.checks import pending_checks, required_checks, synced_checks
from kueue_fast.model import times

NOW = times.parse("2026-01-01T01:00:00Z")
BEFORE = "2026-01-01T00:00:00Z"


def queue(flavors: list[str], rules: list[dict[str, Any]]) -> ClusterQueue:
    spec = {
        "resourceGroups": [{"coveredResources": ["cpu"], "flavors": [{"name": name} for name in flavors]}],
        "admissionChecksStrategy": {"admissionChecks": rules},
    }
    return msgspec.convert({"metadata": {"name": "cq"}, "spec": spec}, ClusterQueue)


def workload(flavors: dict[str, str] | None, checks: list[dict[str, Any]] | None = None) -> Workload:
    status: dict[str, Any] = {"admissionChecks": checks}
    if flavors is not None:
        status["admission"] = {"clusterQueue": "cq", "podSetAssignments": [{"flavors": flavors}]}
    return msgspec.convert({"metadata": {"name": "w"}, "spec": {}, "status": status}, Workload)


ALL, ON_A, ON_B, ON_X = (
    {"name": "all"},
    {"name": "a", "onFlavors": ["a"]},
    {"name": "b", "onFlavors": ["b"]},
    {"name": "x", "onFlavors": ["unknown"]},
)
REQUIRED: dict[str, tuple[list[str], list[dict[str, Any]], dict[str, str] | None, list[str]]] = {
    "no rules": (["a"], [], None, []),
    "before admission only what holds for every flavor": (["a", "b"], [ON_B, ALL, ON_A], None, ["all"]),
    "before admission a rule that names all flavors": (
        ["a"],
        [ON_A],
        None,
        ["a"],
    ),
    "after admission what meets an assigned flavor": (
        ["a", "b"],
        [ON_B, ALL, ON_A],
        {"cpu": "a"},
        ["a", "all"],
    ),
    "both flavors assigned": (["a", "b"], [ON_B, ON_A], {"cpu": "a", "gpu": "b"}, ["a", "b"]),
    "a flavor that the queue does not have applies to nobody": (["a"], [ON_X], {"cpu": "a"}, []),
    "no flavor assigned, nothing required": (["a"], [ALL], {}, []),
    "a queue without flavors asks for all before admission": ([], [ALL], None, ["all"]),
}


@pytest.mark.parametrize("case", REQUIRED)
def test_required_checks(case: str) -> None:
    flavors, rules, assigned, want = REQUIRED[case]
    assert required_checks(queue(flavors, rules), workload(assigned)) == want


READY_A = {"name": "a", "state": "Ready", "lastTransitionTime": BEFORE, "message": "fine", "retryCount": 2}
READY_B = {"name": "b", "state": "Ready", "lastTransitionTime": BEFORE, "message": ""}
PENDING_C = {"name": "c", "state": "Pending", "lastTransitionTime": "2026-01-01T01:00:00Z", "message": ""}
SYNC: dict[str, tuple[list[dict[str, Any]], list[str], list[dict[str, Any]] | None]] = {
    "nothing required, nothing listed": ([], [], None),
    "the list stands, in another order": ([READY_B, READY_A], ["a", "b"], None),
    "a new one is added as pending and sorted in": (
        [READY_B, READY_A],
        ["c", "b", "a"],
        [READY_A, READY_B, PENDING_C],
    ),
    "one that is not required goes, the rest keeps its data": ([READY_B, READY_A], ["a"], [READY_A]),
    "all go": ([READY_A], [], []),
}


@pytest.mark.parametrize("case", SYNC)
def test_synced_checks(case: str) -> None:
    listed, required, want = SYNC[case]
    got = synced_checks(workload(None, listed), required, NOW)
    if want is None:
        assert got is None
    else:
        assert got is not None
        assert got.status is not None
        assert msgspec.to_builtins(got.status.admission_checks or []) == want


def test_pending_checks_are_those_that_are_not_ready() -> None:
    retry = {"name": "r", "state": "Retry", "lastTransitionTime": BEFORE}
    got = pending_checks(workload(None, [READY_A, PENDING_C, retry]))
    assert [check.name for check in got] == ["c", "r"]
