"""Who needs the second pass, and how long it waits."""

from typing import Any

import pytest

from kueue_fast.api.kueue import Workload
from kueue_fast.model.placements import placements
from kueue_fast.model.second_pass import needs_second_pass, wait_ns
from tests.placed import HOSTNAME, assignment, on_hosts, placed

SECOND = 1_000_000_000
RESERVED = ("QuotaReserved",)
PENDING = assignment("main", (), delayedTopologyRequest="Pending")
READY_CHECK = {"name": "check", "state": "Ready"}
PENDING_CHECK = {"name": "other", "state": "Pending"}


def delayed(
    *assignments: dict[str, Any], checks: Any = (READY_CHECK,), conditions: Any = RESERVED
) -> Workload:
    return placed(*(assignments or (PENDING,)), conditions=conditions, admissionChecks=list(checks))


def on_failed(*hosts: str, conditions: Any = ("QuotaReserved", "Admitted"), failed: str = "x1") -> Workload:
    return placed(on_hosts(*hosts), conditions=conditions, unhealthyNodes=[{"name": failed}])


NEEDED: dict[str, tuple[Workload, bool]] = {
    "all checks are ready": (delayed(), True),
    "one check is not": (delayed(checks=(READY_CHECK, PENDING_CHECK)), False),
    "no checks": (delayed(checks=()), False),
    "another pod set has its places": (
        delayed(on_hosts("x1"), assignment("other", (), delayedTopologyRequest="Pending")),
        True,
    ),
    "the places have been given": (
        delayed(assignment("main", (HOSTNAME,), (("x1",), 1), delayedTopologyRequest="Pending")),
        False,
    ),
    "the places are said to be given elsewhere": (
        delayed(assignment("main", (), delayedTopologyRequest="Ready")),
        False,
    ),
    "nothing was put off": (delayed(assignment("main", ())), False),
    "admitted all the same": (delayed(conditions=("QuotaReserved", "Admitted")), False),
    "no quota": (delayed(conditions=()), False),
    "told to stop": (delayed(conditions=("QuotaReserved", "Evicted")), False),
    "finished": (delayed(conditions=("QuotaReserved", "Finished")), False),
    "a node of it failed": (on_failed("x1", "x2"), True),
    "a node of another failed": (on_failed("x2"), False),
    "a node failed, and it is told to stop": (
        on_failed("x1", conditions=("QuotaReserved", "Admitted", "Evicted")),
        False,
    ),
    "a node failed before it was admitted": (on_failed("x1", conditions=RESERVED), False),
    "a rack has the name of a node that failed": (
        placed(assignment("main", ("rack",), (("x1",), 1)), unhealthyNodes=[{"name": "x1"}]),
        True,
    ),
    "no node failed": (placed(on_hosts("x1")), False),
    "no admission": (placed(conditions=()), False),
}


@pytest.mark.parametrize("case", NEEDED)
def test_who_needs_it(case: str) -> None:
    workload, want = NEEDED[case]
    assert needs_second_pass(workload, placements(workload)) is want


def test_a_workload_without_status() -> None:
    workload = placed()
    workload.status = None
    assert not needs_second_pass(workload, {})


def test_waits_double() -> None:
    seconds = [wait_ns(iteration) // SECOND for iteration in (1, 2, 3, 4, 5, 6, 7, 100)]
    assert seconds == [1, 2, 4, 8, 16, 30, 30, 30]
