"""The batch/v1 Job integration: start with what admission adds, stop and restore."""

from typing import Any

import msgspec
import pytest

from kueue_fast.api.batch import Job
from kueue_fast.api.kueue import Workload
from kueue_fast.jobs import pod_set_info, reconciler
from kueue_fast.jobs.pod_set_info import StartError, from_status, from_workload
from kueue_fast.jobs.settings import JobSettings
from tests.jobs.makers import (
    BATCH,
    MIN,
    POD,
    SYNC,
    admitted,
    flavor,
    job,
    made_workload,
    step,
    template_of,
)

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


TOPOLOGY = "kueue.x-k8s.io/topology"
UNCONSTRAINED = "kueue.x-k8s.io/podset-unconstrained-topology"
PLACES = {"levels": ["kubernetes.io/hostname"], "slices": []}
# Annotations of the template, whether pods are marked as unconstrained.
MARKS: dict[str, tuple[dict[str, str], bool]] = {
    "nothing asked": ({}, True),
    "slices alone": (
        {
            "kueue.x-k8s.io/podset-slice-required-topology": "rack",
            "kueue.x-k8s.io/podset-slice-size": "1",
        },
        True,
    ),
    "required": ({"kueue.x-k8s.io/podset-required-topology": "rack"}, False),
    "preferred": ({"kueue.x-k8s.io/podset-preferred-topology": "rack"}, False),
    "not unconstrained": ({UNCONSTRAINED: "false"}, False),
}


def with_places(workload: Workload) -> Workload:
    done = admitted(workload)
    assert done.status is not None
    assert done.status.admission is not None
    for assignment in done.status.admission.pod_set_assignments or ():
        assignment.topology_assignment = msgspec.Raw(msgspec.json.encode(PLACES))
    return done


@pytest.mark.parametrize("case", MARKS)
def test_pods_with_places_start_behind_a_gate(case: str) -> None:
    annotations, want = MARKS[case]
    a_job = job(template={"annotations": annotations}, pod={**POD, "schedulingGates": [{"name": "mine"}]})
    started = step(a_job, with_places(made_workload(a_job))).job
    got = template_of(started)
    assert got["spec"]["schedulingGates"] == [{"name": "mine"}, {"name": TOPOLOGY}]
    assert got["metadata"]["labels"]["kueue.x-k8s.io/podset"] == "main"
    marks = {"kueue.x-k8s.io/workload": "job-name-ef3a1", **annotations}
    assert got["metadata"]["annotations"] == {**marks, **({UNCONSTRAINED: "true"} if want else {})}


def test_without_topologies_no_gate_is_set() -> None:
    workload = with_places(made_workload(job()))
    (info,) = from_status(workload, flavor, JobSettings(topology_aware_scheduling=False))
    assert info.scheduling_gates == []
    assert info.annotations == {}


def test_a_job_that_stops_loses_the_gate() -> None:
    a_job = job(template={"annotations": {"mine": "kept"}})
    workload = with_places(made_workload(a_job))
    started = step(a_job, workload).job
    assert TOPOLOGY in str(template_of(started))
    stopped = step(started, msgspec.structs.replace(workload, status=None)).job
    assert template_of(stopped) == template_of(a_job)
