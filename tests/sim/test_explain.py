"""Whom `explain` finds, what it refuses, and its document."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from kueue_fast.errors import InputError
from kueue_fast.sim import explanation
from kueue_fast.sim.explain import read_target
from kueue_fast.sim.explanation import SCHEMA, Document, to_json
from tests.sim.explaining import explained, text
from tests.sim.world import cohort, job, one_queue, workload

EXPECTED = "(expected KIND/NAMESPACE/NAME, such as Job/team-a/train or rayjob/team-a/tune)"


@pytest.mark.parametrize("written", ["Job/ns/a", "job/ns/a", "JOBS/ns/a"])
def test_a_kind_may_be_written_in_any_case_and_as_a_plural(written: str) -> None:
    assert str(read_target(written)) == "Job/ns/a"


BAD_TARGETS = {
    "no kind": ("ns/a", "'ns/a' names no object"),
    "no name": ("Job/ns/", "'Job/ns/' names no object"),
    "too much": ("Job/ns/a/b", "'Job/ns/a/b' names no object"),
}


@pytest.mark.parametrize("name", BAD_TARGETS)
def test_what_names_no_object(name: str) -> None:
    written, want = BAD_TARGETS[name]
    with pytest.raises(InputError) as caught:
        read_target(written)
    assert str(caught.value) == f"{want} {EXPECTED}"


UNKNOWN = {
    "a name that is like another one": ("Job/ns/trian", "Job/ns/train"),
    "the same name of another kind and namespace": ("Job/elsewhere/alone", "Workload/ns/alone"),
    "nothing is like it": (
        "Workload/zz/qqqqqqqq",
        "one of Job/ns/train, Workload/ns/alone, Workload/ns/job-train-dc585",
    ),
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_an_unknown_object_is_told_with_names_that_are_like_it(name: str) -> None:
    written, want = UNKNOWN[name]
    with pytest.raises(InputError) as caught:
        explained(written, *one_queue(), job("train"), workload("alone"))
    assert str(caught.value) == f"{written} is not in the input (expected {want})"


def test_where_there_is_nothing_to_explain() -> None:
    with pytest.raises(InputError, match="a job, pod or Workload, of which there is none"):
        explained("Job/ns/a", cohort("all"))


def ended(name: str) -> dict[str, Any]:
    done = [{"type": "Complete", "status": "True"}]
    return {**job(name), "status": {"conditions": done, "completionTime": "2026-01-01T00:00:00Z"}}


WITHOUT_WORKLOAD = {
    "a job that comes later": (
        job("a", arrival="5m"),
        ("NotCreated", "It is not there yet: it arrives 5m0s after the start."),
    ),
    "a workload that comes at a time": (
        workload("a", arrival="2026-01-01T00:05:00Z"),
        ("NotCreated", "It is not there yet: it arrives 5m0s after the start."),
    ),
    "a job without a queue": (
        job("a", queue=None),
        ("OutsideKueue", "It names no LocalQueue: it runs outside Kueue and takes no quota."),
    ),
    "a job that had ended before": (ended("a"), ("NoWorkload", "Kueue has made no Workload for it.")),
}


@pytest.mark.parametrize("name", WITHOUT_WORKLOAD)
def test_an_object_without_a_workload(name: str) -> None:
    made, want = WITHOUT_WORKLOAD[name]
    document = explained(f"{made['kind']}/ns/a", *one_queue(), made, at=1)
    assert (document.state, document.message) == want
    assert document.workloads == []
    assert f"\n  {document.message}\n" in text(f"{made['kind']}/ns/a", *one_queue(), made, at=1)


def test_a_moment_sees_what_happens_at_it() -> None:
    objects = (*one_queue(), workload("w", arrival="1m"))
    assert explained("Workload/ns/w", *objects, at=1).workloads[0].state == "Running"
    assert explained("Workload/ns/w", *objects, at=2).workloads[0].state == "Finished"


def test_only_the_moment_at_which_nothing_is_left_ends_the_run() -> None:
    objects = (*one_queue(), workload("w", run_time="5m"))
    early, late = explained("Workload/ns/w", *objects, at=1), explained("Workload/ns/w", *objects)
    assert (early.time, early.end_of_run) == (60, False)
    assert (late.time, late.end_of_run) == (301, True)


WANT_DOCUMENT: dict[str, Any] = {
    "schema": SCHEMA,
    "start": "2026-01-01T00:00:00Z",
    "time": 60.0,
    "endOfRun": True,
    "object": {"kind": "Workload", "namespace": "ns", "name": "w"},
    "state": "Found",
    "message": "",
    "ancestor": None,
    "workloads": [
        {
            "namespace": "ns",
            "name": "w",
            "owner": None,
            "replaces": None,
            "sizes": None,
            "state": "Pending",
            "priority": 0,
            "priorityClass": None,
            "arrived": 0.0,
            "waitingSince": 0.0,
            "queue": {
                "localQueue": "lq",
                "clusterQueue": "cq",
                "cohorts": [],
                "strategy": "BestEffortFIFO",
                "byUsage": False,
                "place": "Parked",
                "position": None,
                "ahead": [],
                "queued": 0,
                "parked": 1,
                "fairSharing": None,
            },
            "blockers": [],
            "backoff": None,
            "look": {"time": 1.0, "cycle": 2, "outcome": "NoFit"},
            "like": None,
            "podSets": [{"name": "main", "count": 1, "minCount": None, "requests": {"cpu": "9"}}],
            "flavors": [
                {
                    "podSet": "main",
                    "flavor": "default",
                    "resource": "cpu",
                    "requested": "9",
                    "nominalQuota": "4",
                    "borrowingLimit": None,
                    "reserved": "0",
                    "borrowed": "0",
                    "available": "4",
                    "most": "4",
                    "reason": "ExceedsMaximum",
                    "missing": "5",
                }
            ],
            "topology": [],
            "preemption": {
                "withinClusterQueue": "Never",
                "reclaimWithinCohort": "Never",
                "borrowWithinCohort": "Never",
                "maxPriorityThreshold": None,
                "result": "None was considered: more is asked for than there could ever be.",
                "holders": [],
                "waitsFor": [],
            },
            "admission": None,
            "evicting": None,
            "preempted": [],
            "preemptedBy": [],
            "evictions": [],
        }
    ],
}
WORDS = (
    "insufficient quota for cpu in flavor default, previously considered podsets requests (0) "
    "+ current podset request (9) > maximum capacity (4)"
)


def test_the_json_document() -> None:
    objects = (*one_queue(), workload("w", cpu=9))
    written = to_json(explained("Workload/ns/w", *objects, at=1))
    document = json.loads(written)
    [found] = document["workloads"]
    assert found["flavors"][0].pop("message") == WORDS
    assert found["look"].pop("message") == f"couldn't assign flavors to pod set main: {WORDS}"
    assert found.pop("summary") == f"Pending: couldn't assign flavors to pod set main: {WORDS}"
    assert document == WANT_DOCUMENT
    assert to_json(explained("Workload/ns/w", *objects, at=1)) == written


def test_every_field_is_documented() -> None:
    text = (Path(__file__).parents[2] / "docs" / "explain.md").read_text()
    described = set(re.findall(r"\w+", text.partition("`explain --json`")[2]))
    parts = [part for part in vars(explanation).values() if isinstance(part, type(Document))]
    names = {name for part in parts for name in part.__struct_encode_fields__}
    assert len(parts) > 20
    assert names - described == set()
