"""JobSets: their pod sets, their life, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from kueue_fast.jobs import pod_set_info
from kueue_fast.jobs.defaults import defaulted
from kueue_fast.jobs.job_set import JobSets
from kueue_fast.jobs.pod_set_info import StartError
from kueue_fast.jobs.settings import JobSettings
from tests.jobs.kinds import (
    ELASTIC,
    GROUP,
    PREBUILT,
    PREFERRED,
    QUEUE,
    REQUIRED,
    SLICE,
    SLICE_SIZE,
    amended,
    changed,
    made,
    paths,
    read,
    requests_of,
    same,
    shape,
    started,
    stopped,
)

KIND = JobSets()
DEFAULTS = JobSettings()
SET = read(f"""
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {{name: train, namespace: ns, uid: u, labels: {{{QUEUE}: lq}}}}
spec:
  suspend: true
  replicatedJobs:
  - name: Driver
    template:
      spec:
        template:
          spec: {{containers: [{{name: d, resources: {{requests: {{cpu: "1"}}}}}}]}}
  - name: workers
    replicas: 3
    template:
      spec:
        parallelism: 4
        completions: 2
        template:
          spec: {{containers: [{{name: w, resources: {{requests: {{cpu: "2"}}}}}}]}}
""")
WORKERS = "spec/replicatedJobs/1"


def test_a_pod_set_for_each_replicated_job() -> None:
    assert shape(KIND.pod_sets(SET, DEFAULTS)) == [
        ("driver", 1, {"d": {"cpu": "1"}}),
        ("workers", 6, {"w": {"cpu": "2"}}),
    ]


COUNTS: dict[str, tuple[dict[str, Any], int]] = {
    "fewer completions": ({}, 6),
    "more completions": ({"completions": 9}, 12),
    "parallelism only": ({"completions": None}, 12),
    "nothing said": ({"completions": None, "parallelism": None}, 3),
}


@pytest.mark.parametrize("case", COUNTS)
def test_counts(case: str) -> None:
    changes, want = COUNTS[case]
    job = amended(SET, {f"{WORKERS}/template/spec/{key}": value for key, value in changes.items()})
    assert KIND.pod_sets(job, DEFAULTS)[1].count == want


def test_each_job_is_a_sub_group() -> None:
    index = {
        "podIndexLabel": "batch.kubernetes.io/job-completion-index",
        "subGroupIndexLabel": "jobset.sigs.k8s.io/job-index",
    }
    metadata = {"annotations": {PREFERRED: "rack"}}
    job = changed(SET, f"{WORKERS}/template/spec/template/metadata", metadata)
    assert requests_of(KIND.pod_sets(job, DEFAULTS)) == [
        {**index, "subGroupCount": 1},
        {"preferred": "rack", **index, "subGroupCount": 3},
    ]


def test_start_and_stop() -> None:
    running, workload = started(SET, KIND)
    assert not KIND.suspended(running)
    for role in KIND.roles(running):
        assert pod_set_info.decode(role.template.spec)["nodeSelector"]["type"] == "spot"
    assert same(stopped(running, KIND, workload), SET)
    infos = pod_set_info.from_workload(workload)
    with pytest.raises(StartError, match="invalid podset infos: expecting 2 podset, got 1"):
        KIND.start(SET, infos[:1])
    held = KIND.stop(running, infos[:1]).job
    assert same(held, changed(running, "spec/suspend", True))


def test_new_ones_are_held() -> None:
    got = defaulted(changed(SET, "spec/suspend", None), KIND, DEFAULTS, False)
    assert same(got, SET)


def test_the_workloads_name_and_class() -> None:
    job = changed(
        SET,
        f"{WORKERS}/template/spec/template/spec",
        {"containers": [{"name": "w"}], "priorityClassName": "pods"},
    )
    workload = made(job, KIND)
    assert workload.metadata.name.startswith("jobset-train-")
    assert workload.spec.priority == 7


def statuses(*jobs: tuple[str, dict[str, int]]) -> dict[str, Any]:
    return {"replicatedJobsStatus": [{"name": name, **counts} for name, counts in jobs]}


DONE = {"type": "Completed", "status": "True", "message": "m"}
FAILED = {"type": "Failed", "status": "True", "message": "f"}
States = tuple[bool, bool, Any, list[tuple[str, int]]]
STATES: dict[str, tuple[dict[str, Any] | None, States]] = {
    "new": (None, (False, False, None, [])),
    "running": (
        statuses(("Driver", {"active": 1}), ("workers", {"ready": 3})),
        (True, False, None, []),
    ),
    "ready": (
        statuses(("Driver", {"active": 1, "ready": 1}), ("workers", {"ready": 2, "succeeded": 1})),
        (True, True, None, [("workers", 2)]),
    ),
    "partly done": (
        statuses(("Driver", {"succeeded": 1}), ("workers", {"succeeded": 2})),
        (False, False, None, [("driver", 1), ("workers", 4)]),
    ),
    "more done than there are": (statuses(("workers", {"succeeded": 4})), (False, True, None, [])),
    "completed": ({"conditions": [DONE]}, (False, False, ("m", True), [])),
    "failed": ({"conditions": [FAILED]}, (False, False, ("f", False), [])),
    "both": ({"conditions": [FAILED, DONE]}, (False, False, ("m", True), [])),
    "not any more": ({"conditions": [{**FAILED, "status": "False"}]}, (False, False, None, [])),
}


@pytest.mark.parametrize("case", STATES)
def test_states(case: str) -> None:
    status, want = STATES[case]
    job = changed(SET, "status", status)
    reclaimable = [(each.name, each.count) for each in KIND.reclaimable_pods(job) or ()]
    assert (KIND.active(job), KIND.pods_ready(job), KIND.finished(job), reclaimable) == want


AT = "spec.replicatedJobs[{}].template.spec.template.metadata.annotations"
REFUSED: dict[str, tuple[dict[int, dict[str, str]], list[str]]] = {
    "nothing wrong": ({}, []),
    "a group": ({0: {REQUIRED: "r", GROUP: "g"}, 1: {REQUIRED: "r", GROUP: "g"}}, []),
    "a group of one": ({1: {REQUIRED: "r", GROUP: "g"}}, [f"{AT.format(1)}[{GROUP}]"]),
    "slices beyond the pods": (
        {1: {REQUIRED: "r", SLICE: "s", SLICE_SIZE: "7"}},
        [f"{AT.format(1)}[{SLICE_SIZE}]"],
    ),
    "no label": (
        {0: {REQUIRED: "a b"}, 1: {PREFERRED: "a b"}},
        [f"{AT.format(0)}[{REQUIRED}]", f"{AT.format(1)}[{PREFERRED}]"],
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(case: str) -> None:
    templates, want = REFUSED[case]
    job = SET
    for number, asked in templates.items():
        path = f"spec/replicatedJobs/{number}/template/spec/template/metadata"
        job = changed(job, path, {"annotations": asked})
    assert paths(KIND.validate(job, DEFAULTS)) == want
    assert paths(KIND.validate_update(SET, job, DEFAULTS, False)) == want
    assert KIND.validate(job, JobSettings(topology_aware_scheduling=False)) == []


def test_metadata() -> None:
    elastic = changed(SET, "metadata/annotations", {ELASTIC: "true"})
    assert paths(KIND.validate(elastic, DEFAULTS)) == [f"metadata.annotations[{ELASTIC}]"]
    prebuilt = changed(SET, "metadata/annotations", {PREBUILT: "w"})
    assert KIND.validate(prebuilt, DEFAULTS) == []
    running = changed(SET, "spec/suspend", False)
    moved = changed(running, "metadata/labels", {QUEUE: "other"})
    assert paths(KIND.validate_update(running, moved, DEFAULTS, False)) == [f"metadata.labels[{QUEUE}]"]
