"""The end of a Workload."""

import msgspec

from kueue_fast.api.kueue import Workload
from kueue_fast.lifecycle.finish import FAILED, SUCCEEDED, finished, is_finished
from kueue_fast.model import conditions, times

NOW = times.parse("2026-01-01T01:00:00Z")


def workload() -> Workload:
    made = {
        "metadata": {"name": "w", "generation": 2},
        "spec": {},
        "status": {
            "admission": {"clusterQueue": "cq"},
            "conditions": [
                {"type": "QuotaReserved", "status": "True"},
                {"type": "Admitted", "status": "True"},
            ],
        },
    }
    return msgspec.convert(made, Workload)


def test_a_finished_workload_keeps_reservation_and_admission() -> None:
    got = finished(workload(), SUCCEEDED, "all pods succeeded", NOW)
    assert got is not None
    assert is_finished(got)
    assert got.status is not None
    assert got.status.admission is not None
    assert conditions.is_true(got.status.conditions, conditions.ADMITTED)
    condition = conditions.find(got.status.conditions, conditions.FINISHED)
    assert condition is not None
    assert (condition.reason, condition.message) == ("Succeeded", "all pods succeeded")
    assert (condition.last_transition_time, condition.observed_generation) == ("2026-01-01T01:00:00Z", 2)


def test_the_first_end_counts() -> None:
    once = finished(workload(), FAILED, "first", NOW)
    assert once is not None
    assert finished(once, SUCCEEDED, "second", NOW) is None
