"""Jobs that belong to a managed job."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from kueue_fast.api.kueue import Workload
from kueue_fast.jobs.children import hold_child, must_be_held
from tests.jobs.makers import BATCH, NOW, job


def workload(*true: str, created: str = "2026-01-01T00:00:00Z", uid: str = "u") -> Workload:
    made = {
        "metadata": {"name": "w", "creationTimestamp": created, "uid": uid},
        "spec": {},
        "status": {"conditions": [{"type": type_, "status": "True"} for type_ in true]},
    }
    return msgspec.json.decode(msgspec.json.encode(made), type=Workload)


LATER = "2026-01-01T00:00:01Z"
HELD: dict[str, tuple[list[Workload], bool, bool]] = {
    "no Workload": ([], True, True),
    "admitted": ([workload("QuotaReserved", "Admitted")], False, False),
    "reserved": ([workload("QuotaReserved")], True, False),
    "evicted": ([workload("QuotaReserved", "Admitted", "Evicted")], False, True),
    "finished": ([workload("Admitted", "Finished")], True, True),
    "the newest counts": ([workload(created=LATER), workload("Admitted")], True, False),
    "of one second the last by UID counts": ([workload("Admitted", uid="a"), workload(uid="b")], True, False),
    "the newest that has not ended counts": (
        [workload("Admitted"), workload("Finished", created=LATER)],
        False,
        False,
    ),
}


@pytest.mark.parametrize("case", HELD)
def test_when_children_must_be_held(case: str) -> None:
    workloads, want, want_elastic = HELD[case]
    assert must_be_held(workloads, elastic=False) is want
    assert must_be_held(workloads, elastic=True) is want_elastic


DONE = {"conditions": [{"type": "Complete", "status": "True"}]}
CHILDREN: dict[str, tuple[dict[str, Any], dict[str, Any] | None, bool]] = {
    "one that runs": ({"suspend": False}, None, True),
    "one that is held": ({"suspend": True}, None, False),
    "one that has ended": ({"suspend": False}, DONE, False),
}


@pytest.mark.parametrize("case", CHILDREN)
def test_children_are_held(case: str) -> None:
    spec, status, want = CHILDREN[case]
    child = job(spec, status=status)
    action = hold_child(child, BATCH, [], NOW)
    assert (action is not None) is want
    if action is not None:
        assert action.job.spec.suspend
        assert action.event is not None
        assert (action.event.kind, action.event.reason) == ("Job", "Suspended")
    assert hold_child(child, BATCH, [workload("Admitted")], NOW) is None
