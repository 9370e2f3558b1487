"""Kubeflow's training jobs and MPIJob: one table of facts, checked kind by kind."""

from __future__ import annotations

from typing import Any

import pytest

from kueue_fast.api.decode import decode_object
from kueue_fast.jobs import pod_set_info
from kueue_fast.jobs.defaults import defaulted
from kueue_fast.jobs.pod_set_info import StartError
from kueue_fast.jobs.settings import JobSettings
from kueue_fast.jobs.training_jobs import TRAINING_KINDS, TrainingJobs
from tests.jobs.kinds import (
    ELASTIC,
    GROUP,
    PREBUILT,
    QUEUE,
    REQUIRED,
    SLICE,
    SLICE_SIZE,
    changed,
    made,
    paths,
    requests_of,
    same,
    shape,
    started,
    stopped,
    told,
)

DEFAULTS = JobSettings()
KINDS = {facts.kind: TrainingJobs(facts) for facts in TRAINING_KINDS}
V1 = "kubeflow.org/v1"
# kind: apiVersion, field, pod sets in order with their counts
WANT: dict[str, tuple[str, str, list[tuple[str, int]]]] = {
    "PyTorchJob": (V1, "pytorchReplicaSpecs", [("master", 1), ("worker", 3)]),
    "TFJob": (
        V1,
        "tfReplicaSpecs",
        [("chief", 1), ("master", 1), ("ps", 2), ("worker", 3), ("evaluator", 1)],
    ),
    "XGBoostJob": (V1, "xgbReplicaSpecs", [("master", 1), ("worker", 3)]),
    "PaddleJob": (V1, "paddleReplicaSpecs", [("master", 1), ("worker", 3)]),
    "JAXJob": (V1, "jaxReplicaSpecs", [("worker", 3)]),
    "MPIJob": ("kubeflow.org/v2beta1", "mpiReplicaSpecs", [("launcher", 1), ("worker", 3)]),
}
# In an order that is not that of the pod sets.
REPLICAS = {"Worker": 3, "Evaluator": None, "PS": 2, "Master": 1, "Launcher": 1, "Chief": None, "Other": 5}


def manifest(kind: str) -> dict[str, Any]:
    api_version, field, _ = WANT[kind]
    replicas = {}
    for type_, count in REPLICAS.items():
        requests = {"cpu": str(len(type_))}
        container = {"name": type_.lower(), "resources": {"requests": requests}}
        replicas[type_] = {"template": {"spec": {"containers": [container]}}}
        if count is not None:
            replicas[type_]["replicas"] = count
    return {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {"name": "train", "namespace": "ns", "uid": "u", "labels": {QUEUE: "lq"}},
        "spec": {"runPolicy": {"suspend": True, "cleanPodPolicy": "None"}, field: replicas},
    }


def job(kind: str) -> Any:
    return decode_object(manifest(kind))


def template(kind: str, type_: str) -> str:
    return f"spec/{WANT[kind][1]}/{type_}/template"


@pytest.mark.parametrize("kind", WANT)
def test_pod_sets(kind: str) -> None:
    api_version, _, want = WANT[kind]
    integration = KINDS[kind]
    assert (integration.api_version, integration.kind, integration.group) == (
        api_version,
        kind,
        "kubeflow.org",
    )
    assert integration.framework == f"kubeflow.org/{kind.lower()}"
    assert shape(integration.pod_sets(job(kind), DEFAULTS)) == [
        (name, count, {name: {"cpu": str(len(name))}}) for name, count in want
    ]
    index = {"podIndexLabel": "training.kubeflow.org/replica-index"}
    assert requests_of(integration.pod_sets(job(kind), DEFAULTS)) == [index] * len(want)


@pytest.mark.parametrize("kind", WANT)
def test_only_types_that_a_job_has_count(kind: str) -> None:
    fewer = changed(job(kind), f"spec/{WANT[kind][1]}/Worker", None)
    want = [(name, count) for name, count in WANT[kind][2] if name != "worker"]
    assert [(each.name, each.count) for each in KINDS[kind].pod_sets(fewer, DEFAULTS)] == want


@pytest.mark.parametrize("kind", WANT)
def test_start_and_stop(kind: str) -> None:
    integration = KINDS[kind]
    running, workload = started(job(kind), integration)
    assert not integration.suspended(running)
    for role in integration.roles(running):
        assert pod_set_info.decode(role.template.spec)["nodeSelector"]["type"] == "spot"
    assert same(stopped(running, integration, workload), job(kind))
    with pytest.raises(StartError, match="invalid podset infos: expecting"):
        integration.start(job(kind), [])
    held = integration.stop(running, []).job
    assert same(held, changed(running, "spec/runPolicy/suspend", True))


@pytest.mark.parametrize("kind", WANT)
def test_new_ones_are_held(kind: str) -> None:
    new = changed(job(kind), "spec/runPolicy", None)
    assert not KINDS[kind].suspended(new)
    assert KINDS[kind].suspended(defaulted(new, KINDS[kind], DEFAULTS, False))


def condition(type_: str, status: str = "True") -> dict[str, Any]:
    return {"type": type_, "status": status, "message": "m"}


STATES: dict[str, tuple[dict[str, Any] | None, tuple[bool, bool, Any]]] = {
    "new": (None, (False, False, None)),
    "active": ({"replicaStatuses": {"Worker": {"active": 1}, "Master": {}}}, (True, False, None)),
    "done, not counted": ({"replicaStatuses": {"Worker": {"succeeded": 1}}}, (False, False, None)),
    "running": ({"conditions": [condition("Running")]}, (False, True, None)),
    "running no more": ({"conditions": [condition("Running", "False")]}, (False, False, None)),
    "succeeded": ({"conditions": [condition("Succeeded")]}, (False, False, ("m", True))),
    "failed": ({"conditions": [condition("Failed")]}, (False, False, ("m", False))),
    "the first counts": (
        {"conditions": [condition("Failed"), condition("Succeeded")]},
        (False, False, ("m", False)),
    ),
    "restarting": ({"conditions": [condition("Failed", "False")]}, (False, False, None)),
}


@pytest.mark.parametrize("kind", WANT)
@pytest.mark.parametrize("case", STATES)
def test_states(case: str, kind: str) -> None:
    status, want = STATES[case]
    integration = KINDS[kind]
    a_job = changed(job(kind), "status", status)
    assert (integration.active(a_job), integration.pods_ready(a_job), integration.finished(a_job)) == want
    assert integration.reclaimable_pods(a_job) is None


@pytest.mark.parametrize("kind", WANT)
def test_priority_classes(kind: str) -> None:
    integration = KINDS[kind]
    a_job = job(kind)
    assert integration.priority_class(a_job) == ""
    assert made(a_job, integration).spec.priority == 0
    by_pods = changed(
        a_job, f"{template(kind, 'Worker')}/spec", {"containers": [], "priorityClassName": "pods"}
    )
    assert made(by_pods, integration).spec.priority == 7
    by_policy = changed(by_pods, "spec/runPolicy/schedulingPolicy", {"priorityClass": "other"})
    assert integration.priority_class(by_policy) == "other"


@pytest.mark.parametrize("kind", WANT)
def test_refused(kind: str) -> None:
    integration, field = KINDS[kind], WANT[kind][1]
    assert integration.validate(job(kind), DEFAULTS) == []
    asked = {"annotations": {REQUIRED: "a", SLICE: "b", SLICE_SIZE: "4"}}
    sliced = changed(job(kind), f"{template(kind, 'Worker')}/metadata", asked)
    at = f"spec.{field}[Worker].template.metadata.annotations"
    want = [f"{at}[{SLICE_SIZE}]"]
    assert paths(integration.validate(sliced, DEFAULTS)) == want
    assert paths(integration.validate_update(job(kind), sliced, DEFAULTS, False)) == want
    alone = changed(
        job(kind), f"{template(kind, 'Worker')}/metadata", {"annotations": {REQUIRED: "a", GROUP: "g"}}
    )
    want = [f"{at}[{GROUP}]"] if kind == "MPIJob" else []
    assert paths(integration.validate(alone, DEFAULTS)) == want


@pytest.mark.parametrize("kind", WANT)
def test_metadata(kind: str) -> None:
    integration, api_version = KINDS[kind], WANT[kind][0]
    elastic = changed(job(kind), "metadata/annotations", {ELASTIC: "true"})
    assert told(integration.validate(elastic, DEFAULTS)) == [
        f"metadata.annotations[{ELASTIC}]: Forbidden: elastic job is not supported for "
        f'"{api_version}, Kind={kind}"'
    ]
    prebuilt = changed(job(kind), "metadata/annotations", {PREBUILT: "w"})
    want = [f"metadata.annotations[{PREBUILT}]"] if kind == "JAXJob" else []
    assert paths(integration.validate(prebuilt, DEFAULTS)) == want
    wrong = changed(job(kind), "metadata/labels", {QUEUE: "Q"})
    # Only MPIJobs are looked at as new ones when they change.
    want = [f"metadata.labels[{QUEUE}]"] if kind == "MPIJob" else []
    assert paths(integration.validate_update(wrong, wrong, DEFAULTS, False)) == want


SHIFTED: dict[str, tuple[dict[str, Any], JobSettings, bool]] = {
    "the launcher works": ({}, DEFAULTS, True),
    "it only launches": ({"spec/runLauncherAsWorker": None}, DEFAULTS, False),
    "no workers": ({"spec/mpiReplicaSpecs/Worker": None}, DEFAULTS, False),
    "a group": (
        {"spec/mpiReplicaSpecs/Launcher/template/metadata": {"annotations": {GROUP: "g"}}},
        DEFAULTS,
        False,
    ),
    "no topologies": ({}, JobSettings(topology_aware_scheduling=False), False),
}


@pytest.mark.parametrize("case", SHIFTED)
def test_workers_of_an_mpi_job_may_count_from_one(case: str) -> None:
    changes, settings, want = SHIFTED[case]
    mpi = changed(job("MPIJob"), "spec/runLauncherAsWorker", True)
    for path, value in changes.items():
        mpi = changed(mpi, path, value)
    got = defaulted(mpi, KINDS["MPIJob"], settings, False)
    worker = KINDS["MPIJob"].roles(got)[-1]
    annotations = pod_set_info.annotations_of(worker.template)
    assert (annotations.get("kueue.x-k8s.io/pod-index-offset") == "1") is want
