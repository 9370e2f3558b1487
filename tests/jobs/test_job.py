"""The batch/v1 Job integration: its Workload, and its end."""

from typing import Any

import msgspec
import pytest

from kueue_fast.api.encode import encode
from kueue_fast.errors import InputError
from kueue_fast.jobs import pod_set_info, reconciler
from kueue_fast.jobs.defaults import defaulted
from kueue_fast.jobs.names import workload_name
from kueue_fast.jobs.settings import JobSettings
from tests.jobs.makers import (
    BATCH,
    MIN,
    NOW,
    POD,
    QUEUE,
    SYNC,
    View,
    admitted,
    job,
    made_workload,
    step,
)

# ---- names ----

NAMES: dict[str, tuple[str, dict[str, Any], str]] = {
    "upstream's vector": ("name", {}, "job-name-ef3a1"),
    "upstream's vector of a generation": ("name", {"extra": "1"}, "job-name-2514c"),
}


@pytest.mark.parametrize("case", NAMES)
def test_workload_names(case: str) -> None:
    name, options, want = NAMES[case]
    assert workload_name(name, "uid", "batch", "Job", **options) == want


@pytest.mark.parametrize(("short", "want_length"), [(False, 253), (True, 63)])
def test_long_names_are_cut_before_the_hash(short: bool, want_length: int) -> None:
    got = workload_name("n" * 300, "uid", "batch", "Job", short=short)
    assert len(got) == want_length
    assert got.startswith("job-nnn")
    assert got[-6] == "-"


# ---- the Workload of a job ----


def test_a_suspended_job_gets_its_workload() -> None:
    action = step(
        job(
            labels={**QUEUE, "kueue.x-k8s.io/max-exec-time-seconds": "60", "team": "a", "other": "b"},
            annotations={
                "provreq.kueue.x-k8s.io/x": "1",
                "kueue.x-k8s.io/admission-gated-by": "gate",
                "other": "c",
            },
        ),
        None,
        View(JobSettings(label_keys_to_copy=("team",))),
    )
    assert action.event.message == "Created Workload: ns/job-name-ef3a1"
    got = msgspec.json.decode(encode(action.workload))
    assert (got.pop("apiVersion"), got.pop("kind")) == ("kueue.x-k8s.io/v1beta2", "Workload")
    template = got["spec"]["podSets"][0].pop("template")
    assert template["spec"] == POD
    assert got == {
        "metadata": {
            "name": "job-name-ef3a1",
            "namespace": "ns",
            "labels": {"team": "a", "kueue.x-k8s.io/job-uid": "uid"},
            "annotations": {
                "provreq.kueue.x-k8s.io/x": "1",
                "kueue.x-k8s.io/admission-gated-by": "gate",
            },
            "finalizers": ["kueue.x-k8s.io/resource-in-use"],
            "ownerReferences": [
                {
                    "apiVersion": "batch/v1",
                    "kind": "Job",
                    "name": "name",
                    "uid": "uid",
                    "controller": True,
                    "blockOwnerDeletion": True,
                }
            ],
        },
        "spec": {
            # Its name is the default, main. Any Job says how its pods are numbered.
            "podSets": [
                {"count": 3, "topologyRequest": {"podIndexLabel": "batch.kubernetes.io/job-completion-index"}}
            ],
            "queueName": "lq",
            "priority": 0,
            "maximumExecutionTimeSeconds": 60,
        },
    }


def test_a_uid_that_is_no_label_value_is_left_out() -> None:
    long = job()
    long.metadata.uid = "u" * 64
    assert made_workload(long).metadata.labels is None


COUNTS: dict[str, tuple[dict[str, Any], dict[str, str], int, int | None]] = {
    "parallelism": ({"parallelism": 3}, {}, 3, None),
    "nothing said is one pod": ({"parallelism": None}, {}, 1, None),
    "fewer completions than parallelism": ({"parallelism": 5, "completions": 2}, {}, 2, None),
    "more completions than parallelism": ({"parallelism": 2, "completions": 5}, {}, 2, None),
    "no pods": ({"parallelism": 0}, {}, 0, None),
    "a minimum": ({"parallelism": 5}, {MIN: "2"}, 5, 2),
    "a minimum of more digits than Python reads": ({"parallelism": 5}, {MIN: "9" * 5000}, 5, None),
    "a minimum that is no number": ({"parallelism": 5}, {MIN: "2 "}, 5, None),
}


@pytest.mark.parametrize("case", COUNTS)
def test_pod_set_counts(case: str) -> None:
    spec, annotations, want_count, want_min = COUNTS[case]
    (got,) = BATCH.pod_sets(job(spec, annotations=annotations), JobSettings())
    assert (got.name, got.count, got.min_count) == ("main", want_count, want_min)


def test_partial_admission_switched_off_drops_the_minimum() -> None:
    (got,) = BATCH.pod_sets(job(annotations={MIN: "1"}), JobSettings(partial_admission=False))
    assert got.min_count is None


def test_labels_of_the_job_controller_do_not_reach_the_workload() -> None:
    labels = {
        "job-name": "x",
        "controller-uid": "x",
        "batch.kubernetes.io/controller-uid": "x",
        "batch.kubernetes.io/job-name": "kept",
        "app": "kept",
    }
    (got,) = BATCH.pod_sets(job(template={"labels": labels}), JobSettings())
    assert pod_set_info.decode(got.template.metadata)["labels"] == {
        "batch.kubernetes.io/job-name": "kept",
        "app": "kept",
    }


def test_each_variable_stands_once_first_place_last_value() -> None:
    env = [{"name": "a", "value": "1"}, {"name": "b", "value": "2"}, {"name": "a", "value": "3"}]
    pod = {"containers": [{"name": "c", "env": env}], "initContainers": [{"name": "i", "env": env}]}
    (got,) = BATCH.pod_sets(job(pod=pod), JobSettings())
    want = [{"name": "a", "value": "3"}, {"name": "b", "value": "2"}]
    opened = pod_set_info.decode(got.template.spec)
    assert opened["containers"][0]["env"] == opened["initContainers"][0]["env"] == want


def test_a_template_that_needs_no_change_keeps_its_text() -> None:
    a_job = job(pod={**POD, "unknownField": {"z": 1, "a": 2}})
    (got,) = BATCH.pod_sets(a_job, JobSettings())
    assert bytes(got.template.spec) == bytes(a_job.spec.template.spec)


PRIORITIES: dict[str, tuple[dict[str, str], dict[str, Any], int, str | None]] = {
    "no class": ({}, {}, 0, None),
    "by label": ({"kueue.x-k8s.io/priority-class": "high"}, {}, 1000, "WorkloadPriorityClass"),
    "by the pods": ({}, {"priorityClassName": "pods"}, 7, "PriorityClass"),
    "the label wins": (
        {"kueue.x-k8s.io/priority-class": "high"},
        {"priorityClassName": "pods"},
        1000,
        "WorkloadPriorityClass",
    ),
}


@pytest.mark.parametrize("case", PRIORITIES)
def test_priority(case: str) -> None:
    labels, pod, want_value, want_kind = PRIORITIES[case]
    spec = made_workload(job(labels={**QUEUE, **labels}, pod={**POD, **pod})).spec
    assert spec.priority == want_value
    assert (spec.priority_class_ref.kind if spec.priority_class_ref else None) == want_kind


def test_a_priority_class_that_does_not_exist_is_an_error() -> None:
    with pytest.raises(InputError, match="WorkloadPriorityClass 'none' not found"):
        step(job(labels={**QUEUE, "kueue.x-k8s.io/priority-class": "none"}), None)


MAX_EXEC: dict[str, tuple[str, int | None]] = {
    "a number": ("60", 60),
    "zero": ("0", None),
    "negative": ("-5", None),
    "more than 32 bits": ("3000000000", None),
    "no number": ("1h", None),
}


@pytest.mark.parametrize("case", MAX_EXEC)
def test_maximum_execution_time(case: str) -> None:
    text, want = MAX_EXEC[case]
    labels = {**QUEUE, "kueue.x-k8s.io/max-exec-time-seconds": text}
    assert made_workload(job(labels=labels)).spec.maximum_execution_time_seconds == want


# ---- validation ----

VALIDATION: dict[str, tuple[dict[str, str], dict[str, Any], list[str]]] = {
    "no annotations": ({}, {}, []),
    "a good minimum": ({MIN: "2"}, {}, []),
    "a minimum that is no number": ({MIN: "x"}, {}, [f"metadata.annotations[{MIN}]"]),
    "a minimum of zero": ({MIN: "0"}, {}, [f"metadata.annotations[{MIN}]"]),
    "a minimum that is not below the count": ({MIN: "3"}, {}, [f"metadata.annotations[{MIN}]"]),
    "partial and elastic": (
        {MIN: "2", "kueue.x-k8s.io/elastic-job": "true"},
        {},
        [f"metadata.annotations[{MIN}]"],
    ),
    "completions follow an indexed job": (
        {SYNC: "true"},
        {"completionMode": "Indexed", "completions": 3},
        [],
    ),
    "completions cannot follow a plain job": (
        {SYNC: "true"},
        {"completions": 3},
        [f"metadata.annotations[{SYNC}]"],
    ),
    "completions differ": (
        {SYNC: "true"},
        {"completionMode": "Indexed", "completions": 4},
        ["spec.completions"],
    ),
    "neither true nor false": ({SYNC: "yes"}, {}, [f"metadata.annotations[{SYNC}]"]),
    "false": ({SYNC: "false"}, {}, []),
}


@pytest.mark.parametrize("case", VALIDATION)
def test_validation(case: str) -> None:
    annotations, spec, want = VALIDATION[case]
    assert [error.path for error in BATCH.validate(job(spec, annotations=annotations), JobSettings())] == want


# ---- the end ----

ENDS: dict[str, tuple[list[dict[str, Any]], tuple[str, str] | None]] = {
    "running": ([{"type": "Suspended", "status": "False"}], None),
    "complete": ([{"type": "Complete", "status": "True", "message": "done"}], ("Succeeded", "done")),
    "failed": ([{"type": "Failed", "status": "True", "message": "broken"}], ("Failed", "broken")),
    "not failed after all": ([{"type": "Failed", "status": "False"}], None),
    "the first in the list counts": (
        [{"type": "Failed", "status": "True", "message": "a"}, {"type": "Complete", "status": "True"}],
        ("Failed", "a"),
    ),
}


@pytest.mark.parametrize("case", ENDS)
def test_the_end_of_a_job_is_the_end_of_its_workload(case: str) -> None:
    conditions, want = ENDS[case]
    workload = admitted(made_workload(job()))
    action = step(job({"suspend": False}, status={"conditions": conditions, "active": 3}), workload)
    if want is None:
        assert action is None
        return
    assert action.event.message == "Workload 'ns/job-name-ef3a1' is declared finished"
    finished = action.workload.status.conditions[-1]
    assert (finished.type, finished.reason, finished.message) == ("Finished", *want)


def test_a_finished_workload_loses_its_finalizer_once() -> None:
    a_job = job({"suspend": False}, status={"conditions": [{"type": "Complete", "status": "True"}]})
    workload = admitted(made_workload(job()))
    finished = step(a_job, workload).workload
    action = step(a_job, finished)
    assert isinstance(action, reconciler.UpdateWorkload)
    assert action.workload.metadata.finalizers is None
    assert action.event is None
    assert step(a_job, action.workload) is None


@pytest.mark.parametrize("gate", [True, False])
def test_the_workload_of_a_job_that_is_gone_ends_by_its_gate_and_is_let_go(gate: bool) -> None:
    settings = JobSettings(finish_orphaned=gate)
    workload = admitted(made_workload(job()))
    if gate:
        action = reconciler.finalize(workload, settings, NOW)
        assert isinstance(action, reconciler.UpdateWorkloadStatus)
        workload = action.workload
        assert workload.status is not None
        assert (workload.status.conditions or ())[-1].reason == "OwnerNotFound"
    action = reconciler.finalize(workload, settings, NOW)
    assert isinstance(action, reconciler.UpdateWorkload)
    assert action.workload.metadata.finalizers is None
    assert reconciler.finalize(action.workload, settings, NOW) is None


def test_a_finished_job_without_workload_gets_none() -> None:
    assert step(job(status={"conditions": [{"type": "Complete", "status": "True"}]}), None) is None


RECLAIM: dict[str, tuple[dict[str, Any], dict[str, Any], int]] = {
    "nothing done": ({"parallelism": 3, "completions": 6}, {}, 0),
    "the rest still fills every slot": ({"parallelism": 3, "completions": 6}, {"succeeded": 3}, 0),
    "two of six left for three slots": ({"parallelism": 3, "completions": 6}, {"succeeded": 4}, 1),
    "completions follow parallelism": ({"parallelism": 3}, {"succeeded": 1}, 1),
    "a single pod has nothing to give": ({"parallelism": 1}, {"succeeded": 1}, 0),
    "indexes that are done or failed for good": (
        {"parallelism": 4, "completions": 4, "completionMode": "Indexed"},
        {"completedIndexes": "0-1", "failedIndexes": "1,3", "succeeded": 9},
        3,
    ),
    "malformed, descending and late indexes count nothing": (
        {"parallelism": 4, "completions": 4, "completionMode": "Indexed"},
        {"completedIndexes": "x,3-2,1-y,,7-9,2"},
        1,
    ),
    "indexes of more digits than Python reads": (
        {"parallelism": 4, "completions": 4, "completionMode": "Indexed"},
        {"completedIndexes": "9" * 5000 + ",0-" + "9" * 5000 + ",2"},
        1,
    ),
    "counters of an indexed job do not count": (
        {"parallelism": 4, "completions": 4, "completionMode": "Indexed"},
        {"succeeded": 3},
        0,
    ),
}


@pytest.mark.parametrize("case", RECLAIM)
def test_reclaimable_pods(case: str) -> None:
    spec, status, want = RECLAIM[case]
    got = BATCH.reclaimable_pods(job(spec, status=status))
    assert [(each.name, each.count) for each in got or ()] == ([("main", want)] if want else [])


def test_reclaimable_pods_are_written_once() -> None:
    workload = admitted(made_workload(job()))
    running = job({"suspend": False}, status={"succeeded": 1, "active": 2})
    action = step(running, workload)
    assert isinstance(action, reconciler.UpdateWorkloadStatus)
    assert action.workload.status is not None
    assert [each.count for each in action.workload.status.reclaimable_pods or ()] == [1]
    assert step(running, action.workload) is None
    assert step(running, workload, View(JobSettings(reclaimable_pods=False))) is None


READY: dict[str, tuple[dict[str, Any] | None, bool]] = {
    "no status": (None, False),
    "some are ready": ({"ready": 2}, False),
    "ready and succeeded together": ({"ready": 1, "succeeded": 2}, True),
    "just succeeded ones count": (
        {"ready": 1, "uncountedTerminatedPods": {"succeeded": ["a", "b"]}},
        True,
    ),
}


@pytest.mark.parametrize("case", READY)
def test_pods_ready(case: str) -> None:
    status, want = READY[case]
    assert BATCH.pods_ready(job(status=status)) == want


# ---- queues and defaults ----


def test_a_new_queue_name_is_followed_until_quota_is_reserved() -> None:
    workload = made_workload(job())
    moved = job(labels={"kueue.x-k8s.io/queue-name": "other"})
    action = step(moved, workload)
    assert isinstance(action, reconciler.UpdateWorkload)
    assert action.workload.spec.queue_name == "other"
    reserved = admitted(workload, conditions=[{"type": "QuotaReserved", "status": "True"}])
    assert step(moved, reserved) is None


def test_a_job_without_queue_name_is_not_managed_unless_the_configuration_says_so() -> None:
    assert step(job(labels={}), None) is None
    view = View(JobSettings(manage_jobs_without_queue_name=True))
    assert made_workload(job(labels={}), view).spec.queue_name is None


DEFAULTS: dict[str, tuple[dict[str, str], bool, bool, bool | None, str | None]] = {
    "a queue name": (QUEUE, False, False, True, "lq"),
    "a queue name of its own before the default": (QUEUE, True, False, True, "lq"),
    "the default queue": ({}, True, False, True, "default"),
    "no queue": ({}, False, False, None, None),
    "no queue, but all jobs are managed": ({}, False, True, True, None),
}


@pytest.mark.parametrize("case", DEFAULTS)
def test_what_the_webhook_writes(case: str) -> None:
    labels, default_exists, manage_all, want_suspend, want_queue = DEFAULTS[case]
    settings = JobSettings(manage_jobs_without_queue_name=manage_all)
    got = defaulted(job({"suspend": None}, labels=labels), BATCH, settings, default_exists)
    assert got.spec.suspend == want_suspend
    assert (got.metadata.labels or {}).get("kueue.x-k8s.io/queue-name") == want_queue


# ---- updates ----

UPDATES: dict[
    str, tuple[tuple[dict[str, Any], dict[str, str]], tuple[dict[str, Any], dict[str, str]], list[str]]
] = {
    "more pods of a held job": (
        ({"suspend": True}, {MIN: "1"}),
        ({"suspend": True, "parallelism": 5}, {MIN: "1"}),
        [],
    ),
    "more pods of a running job": (
        ({"suspend": False}, {MIN: "1"}),
        ({"suspend": False, "parallelism": 5}, {MIN: "1"}),
        ["spec.parallelism"],
    ),
    "a minimum that is wrong already": (({}, {MIN: "9"}), ({}, {MIN: "9"}), []),
    "a minimum that becomes wrong": (({}, {MIN: "2"}), ({}, {MIN: "9"}), [f"metadata.annotations[{MIN}]"]),
    "completions that stop following a held job": (({}, {SYNC: "true"}), ({}, {SYNC: "false"}), []),
    "completions that stop following a running job": (
        ({"suspend": False}, {SYNC: "true"}),
        ({"suspend": False}, {SYNC: "false"}),
        [f"metadata.annotations[{SYNC}]"],
    ),
    "a queue that is wrong": (({}, {}), ({"queue": "Q"}, {}), [f"metadata.labels[{next(iter(QUEUE))}]"]),
}


@pytest.mark.parametrize("case", UPDATES)
def test_updates(case: str) -> None:
    old, new, want = UPDATES[case]
    made = []
    for spec, annotations in (old, new):
        queue = {**QUEUE, next(iter(QUEUE)): spec.get("queue", "lq")}
        spec = {key: value for key, value in spec.items() if key != "queue"}
        made.append(job(spec, labels=queue, annotations=annotations))
    got = BATCH.validate_update(*made, JobSettings(), False)
    assert [error.path for error in got] == want
