"""What the webhooks say about elastic Jobs, to the letter. Source: JS-198, JS-208, JS-257, JS-261, TP-317."""

from __future__ import annotations

from typing import Any

import pytest

from kueue_fast.jobs.settings import JobSettings
from tests.jobs.elastic_makers import ELASTIC
from tests.jobs.kinds import told
from tests.jobs.makers import BATCH, MIN, job

ON, OFF = JobSettings(), JobSettings(elastic_jobs=False)
ELASTIC_PATH = "metadata.annotations[kueue.x-k8s.io/elastic-job]"


def topology(kind: str) -> dict[str, Any]:
    return {"template": {"annotations": {f"kueue.x-k8s.io/podset-{kind}-topology": "rack"}}}


CREATE: dict[str, tuple[dict[str, Any], JobSettings, list[str]]] = {
    "an elastic Job": ({"annotations": ELASTIC}, ON, []),
    "with partial admission": (
        {"annotations": {**ELASTIC, MIN: "2"}},
        ON,
        [
            f'metadata.annotations[{MIN}]: Invalid value: "2": '
            "partial admission and elastic job cannot be used together"
        ],
    ),
    "with a topology that is required": (
        {"annotations": ELASTIC, **topology("required")},
        ON,
        [
            "spec.template.metadata.annotations.kueue.x-k8s.io/podset-required-topology: Forbidden: "
            "required topology is not supported with elastic jobs"
        ],
    ),
    "with a topology that is preferred": (
        {"annotations": ELASTIC, **topology("preferred")},
        ON,
        [
            "spec.template.metadata.annotations.kueue.x-k8s.io/podset-preferred-topology: Forbidden: "
            "preferred topology is not supported with elastic jobs"
        ],
    ),
    "with a topology that is required, while elastic jobs are off": (
        {"annotations": ELASTIC, **topology("required")},
        OFF,
        [],
    ),
}


@pytest.mark.parametrize("case", CREATE)
def test_new_jobs(case: str) -> None:
    made, settings, want = CREATE[case]
    assert told(BATCH.validate(job(**made), settings)) == want


PARTIAL = {MIN: "1"}
UPDATE: dict[str, tuple[dict[str, Any], dict[str, Any], JobSettings, list[str]]] = {
    "another parallelism of an elastic Job that runs": (
        {"spec": {"parallelism": 2, "suspend": False}, "annotations": ELASTIC},
        {"spec": {"parallelism": 8, "suspend": False}, "annotations": ELASTIC},
        ON,
        [],
    ),
    "another parallelism under partial admission while it runs": (
        {"spec": {"parallelism": 2, "suspend": False}, "annotations": PARTIAL},
        {"spec": {"parallelism": 8, "suspend": False}, "annotations": PARTIAL},
        ON,
        [
            "spec.parallelism: Forbidden: "
            "cannot change when partial admission is enabled and the job is not suspended"
        ],
    ),
    "another parallelism under partial admission while it is held": (
        {"spec": {"parallelism": 2}, "annotations": PARTIAL},
        {"spec": {"parallelism": 8}, "annotations": PARTIAL},
        ON,
        [],
    ),
    "elastic from now on": (
        {},
        {"annotations": ELASTIC},
        ON,
        [f"{ELASTIC_PATH}: Invalid value: true: field is immutable"],
    ),
    "elastic no more": (
        {"annotations": ELASTIC},
        {},
        ON,
        [f"{ELASTIC_PATH}: Invalid value: false: field is immutable"],
    ),
    "the annotation comes while elastic jobs are off": ({}, {"annotations": ELASTIC}, OFF, []),
}


@pytest.mark.parametrize("case", UPDATE)
def test_changed_jobs(case: str) -> None:
    old, new, settings, want = UPDATE[case]
    assert told(BATCH.validate_update(job(**old), job(**new), settings, False)) == want
