"""The batch/v1 Job integration: its Workload, start, stop and end."""

from typing import Any

import msgspec
import pytest

from kueue_fast.api.batch import Job
from kueue_fast.api.core import PriorityClass
from kueue_fast.api.encode import encode
from kueue_fast.api.kueue import ResourceFlavor, Workload, WorkloadPriorityClass, WorkloadStatus
from kueue_fast.errors import InputError
from kueue_fast.jobs import pod_set_info, reconciler
from kueue_fast.jobs.defaults import defaulted
from kueue_fast.jobs.job import BatchJob
from kueue_fast.jobs.names import workload_name
from kueue_fast.jobs.pod_set_info import StartError, from_status, from_workload
from kueue_fast.jobs.settings import JobSettings
from kueue_fast.model import times

BATCH = BatchJob()
NOW = times.parse("2026-01-01T01:00:00Z")
QUEUE = {"kueue.x-k8s.io/queue-name": "lq"}
MIN = "kueue.x-k8s.io/job-min-parallelism"
SYNC = "kueue.x-k8s.io/job-completions-equal-parallelism"
POD = {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}], "restartPolicy": "Never"}


def job(
    spec: dict[str, Any] | None = None,
    *,
    pod: dict[str, Any] | None = None,
    template: dict[str, Any] | None = None,
    labels: dict[str, str] | None = None,
    annotations: dict[str, str] | None = None,
    status: dict[str, Any] | None = None,
) -> Job:
    made = {
        "metadata": {
            "name": "name",
            "namespace": "ns",
            "uid": "uid",
            "labels": QUEUE if labels is None else labels,
            "annotations": annotations,
        },
        "spec": {
            "parallelism": 3,
            "suspend": True,
            "template": {"metadata": template or {}, "spec": pod or POD},
            **(spec or {}),
        },
        "status": status,
    }
    return msgspec.json.decode(msgspec.json.encode(made), type=Job)


def flavor(name: str) -> ResourceFlavor | None:
    specs: dict[str, dict[str, Any]] = {
        "spot": {
            "nodeLabels": {"type": "spot", "shared": "spot"},
            "tolerations": [{"key": "spot", "operator": "Exists"}],
        },
        "gpu": {"nodeLabels": {"gpu": "yes", "shared": "gpu"}},
    }
    if name not in specs:
        return None
    return msgspec.convert({"metadata": {"name": name}, "spec": specs[name]}, ResourceFlavor)


class View:
    """What the reconciler reads."""

    def __init__(self, settings: JobSettings | None = None) -> None:
        self.settings = settings or JobSettings()
        self.flavor = flavor
        high = msgspec.convert({"metadata": {"name": "high"}, "value": 1000}, WorkloadPriorityClass)
        pods = msgspec.convert({"metadata": {"name": "pods"}, "value": 7}, PriorityClass)
        self.workload_classes = {"high": high}
        self.pod_classes = {"pods": pods}


def step(a_job: Job, workload: Workload | None, view: View | None = None) -> Any:
    return reconciler.reconcile(a_job, BATCH, workload, view or View(), NOW)


def made_workload(a_job: Job, view: View | None = None) -> Workload:
    action = step(a_job, None, view)
    assert isinstance(action, reconciler.CreateWorkload)
    return action.workload


def admitted(workload: Workload, *, flavors: dict[str, str] | None = None, **more: Any) -> Workload:
    assignment = {"flavors": flavors or {"cpu": "spot"}, "count": more.pop("count", 3)}
    status = {
        "admission": {"clusterQueue": "cq", "podSetAssignments": [assignment]},
        "conditions": [
            {"type": "QuotaReserved", "status": "True"},
            {"type": "Admitted", "status": "True"},
        ],
        **more,
    }
    return msgspec.structs.replace(workload, status=msgspec.convert(status, WorkloadStatus))


def template_of(a_job: Job) -> dict[str, Any]:
    template = a_job.spec.template
    return {"metadata": pod_set_info.decode(template.metadata), "spec": pod_set_info.decode(template.spec)}


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
            "podSets": [{"count": 3}],  # its name is the default, main
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
    assert [error.path for error in BATCH.validate(job(spec, annotations=annotations))] == want


# ---- start ----


def test_an_admitted_job_starts_with_what_its_flavors_add() -> None:
    a_job = job(
        pod={
            **POD,
            "nodeSelector": {"zone": "z1"},
            "tolerations": [{"key": "mine", "operator": "Exists"}],
            "unknownField": 1,
        },
        template={"labels": {"app": "a"}},
    )
    action = step(a_job, admitted(made_workload(a_job), flavors={"cpu": "spot", "nvidia.com/gpu": "gpu"}))
    assert isinstance(action, reconciler.UpdateJob)
    assert action.event is not None
    assert (action.event.reason, action.event.message) == ("Started", "Admitted by clusterQueue cq")
    started = action.job
    assert isinstance(started, Job)
    assert started.spec.suspend is False
    got = template_of(started)
    assert got["spec"]["nodeSelector"] == {"zone": "z1", "type": "spot", "gpu": "yes", "shared": "gpu"}
    assert got["spec"]["tolerations"] == [
        {"key": "mine", "operator": "Exists"},
        {"key": "spot", "operator": "Exists"},
    ]
    assert got["spec"]["unknownField"] == 1
    assert got["metadata"] == {
        "labels": {
            "app": "a",
            "kueue.x-k8s.io/podset": "main",
            "kueue.x-k8s.io/local-queue-name": "lq",
            "kueue.x-k8s.io/cluster-queue-name": "cq",
        },
        "annotations": {"kueue.x-k8s.io/workload": "job-name-ef3a1"},
    }
    assert a_job.spec.suspend is True
    assert step(started, admitted(made_workload(a_job))) is None


def test_partial_admission_lowers_parallelism() -> None:
    a_job = job({"completionMode": "Indexed", "completions": 3}, annotations={MIN: "1", SYNC: "true"})
    started = step(a_job, admitted(made_workload(a_job), count=2)).job
    assert (started.spec.parallelism, started.spec.completions) == (2, 2)


def test_without_a_minimum_parallelism_stays() -> None:
    a_job = job()
    assert step(a_job, admitted(made_workload(a_job), count=2)).job.spec.parallelism == 3


def test_updates_of_admission_checks_are_merged() -> None:
    a_job = job()
    checks = [
        {
            "name": "check",
            "state": "Ready",
            "podSetUpdates": [
                {"name": "other", "nodeSelector": {"type": "never"}},
                {
                    "name": "main",
                    "nodeSelector": {"pool": "p"},
                    "annotations": {"a": "b"},
                    "tolerations": [{"key": "spot", "operator": "Exists"}, {"key": "p", "operator": "Equal"}],
                },
            ],
        }
    ]
    workload = admitted(made_workload(a_job), admissionChecks=checks)
    (info,) = from_status(workload, flavor, JobSettings())
    assert info.node_selector == {"type": "spot", "shared": "spot", "pool": "p"}
    assert info.annotations["a"] == "b"
    assert info.tolerations == [{"key": "spot", "operator": "Exists"}, {"key": "p", "operator": "Equal"}]


CONFLICTS: dict[str, tuple[dict[str, Any], dict[str, Any] | None, str]] = {
    "the template selects another node": (
        {"nodeSelector": {"type": "on-demand"}},
        None,
        "conflict for nodeSelector: conflict for key=type, value1=on-demand, value2=spot",
    ),
    "an admission check wants another node": (
        {},
        {"name": "main", "nodeSelector": {"type": "other"}},
        'in admission check "check": invalid admission check PodSetUpdate: conflict for nodeSelector',
    ),
}


@pytest.mark.parametrize("case", CONFLICTS)
def test_a_job_that_can_never_start_ends_its_workload(case: str) -> None:
    pod, update, want = CONFLICTS[case]
    a_job = job(pod={**POD, **pod})
    checks = [{"name": "check", "state": "Ready", "podSetUpdates": [update]}] if update else None
    action = step(a_job, admitted(made_workload(a_job), admissionChecks=checks))
    assert isinstance(action, reconciler.UpdateWorkloadStatus)
    assert action.workload.status is not None
    finished = (action.workload.status.conditions or [])[-1]
    assert (finished.type, finished.reason) == ("Finished", "FailedToStart")
    assert want in finished.message


def test_the_number_of_pod_sets_must_match() -> None:
    with pytest.raises(StartError, match="expecting 1 podset, got 0"):
        BATCH.start(job(), [])


def test_a_flavor_that_is_gone_is_no_reason_to_give_up() -> None:
    a_job = job()
    with pytest.raises(LookupError, match="ResourceFlavor none"):
        step(a_job, admitted(made_workload(a_job), flavors={"cpu": "none"}))


def test_tolerations_that_mean_the_same_are_merged_once() -> None:
    a_job = job(pod={**POD, "tolerations": [{"key": "k", "operator": "Equal", "value": "v"}]})
    workload = made_workload(a_job)
    (info,) = from_workload(workload)
    info.merge(annotations={}, labels={}, node_selector={}, tolerations=[{"key": "k", "value": "v"}])
    assert info.tolerations == [{"key": "k", "operator": "Equal", "value": "v"}]


def test_a_long_queue_name_is_no_label() -> None:
    a_job = job()
    workload = admitted(made_workload(a_job))
    assert workload.status is not None
    assert workload.status.admission is not None
    workload.status.admission.cluster_queue = "c" * 64
    (info,) = from_status(workload, flavor, JobSettings())
    assert "kueue.x-k8s.io/cluster-queue-name" not in info.labels
    assert info.labels["kueue.x-k8s.io/local-queue-name"] == "lq"


# ---- stop ----


def test_a_running_job_that_is_not_admitted_is_stopped_and_restored() -> None:
    a_job = job(annotations={MIN: "1"}, template={"labels": {"app": "a"}})
    workload = made_workload(a_job)
    started = step(a_job, admitted(workload, count=2)).job
    labels = pod_set_info.decode(started.spec.template.metadata)["labels"]
    started = job(
        {"suspend": False, "parallelism": 2},
        annotations={MIN: "1"},
        pod=template_of(started)["spec"],
        template={"labels": {**labels, "batch.kubernetes.io/job-name": "name"}},
        status={"startTime": "2026-01-01T00:30:00Z"},
    )
    action = step(started, workload)
    assert isinstance(action, reconciler.UpdateJob)
    assert action.event is not None
    assert (action.event.reason, action.event.message) == ("Stopped", "Not admitted by cluster queue")
    stopped = action.job
    assert isinstance(stopped, Job)
    assert stopped.spec.suspend is True
    assert stopped.spec.parallelism == 3
    assert stopped.status is not None
    assert stopped.status.start_time is None
    assert template_of(stopped) == {
        # What the Job controller has put on the template meanwhile stays.
        "metadata": {"labels": {"app": "a", "batch.kubernetes.io/job-name": "name"}},
        "spec": POD,
    }
    again = BATCH.stop(stopped, from_workload(workload))
    assert again.job is stopped
    assert not again.now


def test_a_running_job_without_workload_is_stopped_first() -> None:
    action = step(job({"suspend": False}), None)
    assert isinstance(action, reconciler.UpdateJob)
    assert action.job.spec.suspend is True  # type: ignore[attr-defined]
    assert step(job(status={"active": 1}), None) is None


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
