"""The second pass on a Workload's status: placed, not placed, evicted."""

from typing import Any

import msgspec
import pytest

from kueue_fast.api import topology_assignment
from kueue_fast.api.kueue import Workload
from kueue_fast.lifecycle import events
from kueue_fast.lifecycle.admission import PodSetTopology, admitted
from kueue_fast.lifecycle.node_replacement import Announced, announced, not_replaced
from kueue_fast.lifecycle.status import sync_admitted, writable_status
from tests.lifecycle.test_admission import Decision, PodSetDecision
from tests.placed import HOSTNAME, NOW, assignment, on_hosts, placed

MAIN = PodSetDecision("main", 2, {"cpu": "flavor"}, {"cpu": 2000})
OTHER = PodSetDecision("other", 1, {"cpu": "flavor"}, {"cpu": 1000})
READY_CHECK = {"name": "check", "state": "Ready"}
MINUTE = 60_000_000_000


def places(*hosts: str) -> bytes:
    return topology_assignment.encode((HOSTNAME,), [((host,), 1) for host in hosts])


def status_of(workload: Workload) -> dict[str, Any]:
    return msgspec.json.decode(msgspec.json.encode(workload.status))


def condition(workload: Workload, kind: str) -> tuple[str, str, str | None]:
    assert workload.status is not None
    found = next(each for each in workload.status.conditions or () if each.type == kind)
    return found.status, found.reason, found.last_transition_time


def test_another_node_takes_the_place_of_the_failed_one() -> None:
    before = placed(on_hosts("x1", "x2"), unhealthyNodes=[{"name": "x1"}])
    topologies = {"main": PodSetTopology(places("x2", "x3"))}
    after = admitted(before, Decision("cq", (MAIN,)), NOW + MINUTE, topologies=topologies)
    status = status_of(after)
    assert "unhealthyNodes" not in status
    (given,) = status["admission"]["podSetAssignments"]
    assert given["topologyAssignment"] == msgspec.json.decode(places("x2", "x3"))
    assert "delayedTopologyRequest" not in given
    # It goes on running: neither condition is new.
    assert condition(after, "Admitted")[::2] == ("True", "2026-01-01T01:00:00Z")
    assert condition(after, "QuotaReserved")[::2] == ("True", "2026-01-01T01:00:00Z")
    assert announced(before, after) == Announced(quota_reserved=False, admitted=False)
    assert before.status is not None
    assert [each.name for each in before.status.unhealthy_nodes or ()] == ["x1"]


def test_places_that_were_put_off_hold_the_admission_back() -> None:
    before = placed(conditions=())
    topologies = {"main": PodSetTopology(delayed="Pending"), "other": PodSetTopology(places("x1"))}
    reserved = admitted(before, Decision("cq", (MAIN, OTHER)), NOW, topologies=topologies)
    first, second = status_of(reserved)["admission"]["podSetAssignments"]
    assert "topologyAssignment" not in first
    assert first["delayedTopologyRequest"] == "Pending"
    assert "delayedTopologyRequest" not in second
    assert announced(before, reserved) == Announced(quota_reserved=True, admitted=False)

    topologies = {
        "main": PodSetTopology(places("x2", "x3"), "Pending"),
        "other": PodSetTopology(places("x1")),
    }
    after = admitted(reserved, Decision("cq", (MAIN, OTHER)), NOW + MINUTE, topologies=topologies)
    first, _ = status_of(after)["admission"]["podSetAssignments"]
    assert first["delayedTopologyRequest"] == "Ready"
    assert condition(after, "Admitted") == ("True", "Admitted", "2026-01-01T01:01:00Z")
    assert condition(after, "QuotaReserved")[::2] == ("True", "2026-01-01T01:00:00Z")
    assert announced(reserved, after) == Announced(quota_reserved=False, admitted=True)


def test_a_workload_that_runs_does_not_run_while_places_are_put_off() -> None:
    waiting = assignment("main", (), delayedTopologyRequest="Pending")
    workload = placed(waiting, admissionChecks=[READY_CHECK])
    status = writable_status(workload)
    assert sync_admitted(workload, status, NOW + MINUTE)
    found = next(each for each in status.conditions or () if each.type == "Admitted")
    assert (found.status, found.reason) == ("False", "PendingDelayedTopologyRequests")
    assert found.message == "There are pending delayed topology requests"
    assert status.accumulated_past_execution_time_seconds == 60


def test_checks_come_before_places() -> None:
    waiting = assignment("main", (), delayedTopologyRequest="Pending")
    workload = placed(waiting, admissionChecks=[{"name": "check", "state": "Pending"}])
    status = writable_status(workload)
    assert sync_admitted(workload, status, NOW)
    found = next(each for each in status.conditions or () if each.type == "Admitted")
    assert found.reason == "UnsatisfiedChecks"


def test_places_ready_elsewhere_hold_nothing_back() -> None:
    waiting = assignment("main", (), delayedTopologyRequest="Ready")
    workload = placed(waiting, conditions=("QuotaReserved",), admissionChecks=[READY_CHECK])
    status = writable_status(workload)
    assert sync_admitted(workload, status, NOW)
    assert next(each for each in status.conditions or () if each.type == "Admitted").status == "True"


FRESH: dict[str, tuple[tuple[str, ...], tuple[str, ...], Announced]] = {
    "everything at once": ((), ("QuotaReserved", "Admitted"), Announced(True, True)),
    "quota alone": ((), ("QuotaReserved",), Announced(True, False)),
    "admission later": (("QuotaReserved",), ("QuotaReserved", "Admitted"), Announced(False, True)),
}


@pytest.mark.parametrize("case", FRESH)
def test_what_is_announced(case: str) -> None:
    before, after, want = FRESH[case]
    assert announced(placed(conditions=before), placed(on_hosts("x1"), conditions=after)) == want


def test_without_another_node_it_is_evicted() -> None:
    before = placed(on_hosts("x1", "x2"), unhealthyNodes=[{"name": "x1"}, {"name": "x2"}])
    after, event = not_replaced(before, NOW)
    want = "Workload was evicted as there was no replacement for unhealthy node(s): x1,x2"
    assert after.status is not None
    assert after.status.unhealthy_nodes is None
    assert after.status.admission is not None
    evicted = next(each for each in after.status.conditions or () if each.type == "Evicted")
    assert (evicted.status, evicted.reason, evicted.message) == ("True", "NodeFailures", want)
    assert (event.type, event.reason, event.message) == ("Normal", "EvictedDueToNodeFailures", want)


def test_a_second_pass_that_fails_is_told() -> None:
    event = events.second_pass_failed("ns", "w", "no room", NOW)
    assert (event.type, event.reason, event.kind, event.message) == (
        "Warning",
        "SecondPassFailed",
        "Workload",
        "no room",
    )
