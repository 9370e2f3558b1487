"""Words of events."""

import pytest

from kueue_fast.lifecycle import events

SECOND = 10**9
ROUNDED = {
    "nothing": (0, 0),
    "below the half": (SECOND * 3 // 2 - 1, 1),
    "the half goes to the even neighbour above": (SECOND * 3 // 2, 2),
    "the half goes to the even neighbour below": (SECOND * 5 // 2, 2),
    "above the half": (SECOND * 5 // 2 + 1, 3),
}


@pytest.mark.parametrize("case", ROUNDED)
def test_seconds_are_rounded_as_go_prints_them(case: str) -> None:
    duration, want = ROUNDED[case]
    assert events.seconds(duration) == want


def test_events_of_an_admission_carry_queue_and_wait() -> None:
    reserved = events.quota_reserved("ns", "w", "cq", 61 * SECOND, 5)
    assert (reserved.type, reserved.reason, reserved.kind) == ("Normal", "QuotaReserved", "Workload")
    assert reserved.message == "Quota reserved in ClusterQueue cq, wait time since queued was 61s"
    borrowing = events.quota_reserved("ns", "w", "cq", 0, 5, considered="main: spot(Fit;borrow=1)")
    assert borrowing.message.endswith("queued was 0s; Flavors considered: main: spot(Fit;borrow=1)")
    got = events.admitted("ns", "w", "cq", 0, 5)
    assert got.message == "Admitted by ClusterQueue cq, wait time since reservation was 0s"


def test_events_of_a_job_are_those_of_the_documents() -> None:
    assert events.created_workload("Job", "ns", "j", "ns/job-j-12345", 5).message == (
        "Created Workload: ns/job-j-12345"
    )
    assert events.started("Job", "ns", "j", "cq", 5).message == "Admitted by clusterQueue cq"


def test_a_failed_try_is_a_warning_with_a_message_cut_to_size() -> None:
    got = events.pending("ns", "w", "ä" * 2000, 5)
    assert (got.type, got.reason) == ("Warning", "Pending")
    assert len(got.message.encode()) <= 1024 + 2
    assert got.message.endswith(" ...")
