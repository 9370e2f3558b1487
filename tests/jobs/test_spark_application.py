"""SparkApplications: driver and executors, their life, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from kueue_fast.errors import InputError
from kueue_fast.jobs import pod_set_info
from kueue_fast.jobs.pod_set_info import StartError
from kueue_fast.jobs.settings import JobSettings
from kueue_fast.jobs.spark_application import SparkApplications
from kueue_fast.jobs.spark_pods import java_memory
from tests.jobs.kinds import (
    ELASTIC,
    PREBUILT,
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
    told,
)

KIND = SparkApplications()
DEFAULTS = JobSettings()
APP = read(f"""
apiVersion: sparkoperator.k8s.io/v1beta2
kind: SparkApplication
metadata: {{name: pi, namespace: ns, uid: u, labels: {{{QUEUE}: lq}}}}
spec:
  type: Scala
  mode: cluster
  suspend: true
  sparkVersion: 3.5.3
  driver:
    coreRequest: 500m
    coreLimit: "1"
    memory: 512m
    memoryLimit: 1gb
    labels: {{version: 3.5.3}}
    serviceAccount: spark
  executor:
    instances: 2
    coreRequest: "2"
    memory: 4g
    gpu: {{name: nvidia.com/gpu, quantity: 1}}
""")


def opened(job: Any, number: int) -> dict[str, Any]:
    return pod_set_info.decode(KIND.pod_sets(job, DEFAULTS)[number].template.spec)


def test_driver_and_executors() -> None:
    assert shape(KIND.pod_sets(APP, DEFAULTS)) == [
        ("driver", 1, {"spark-kubernetes-driver": {"cpu": "500m", "memory": "512Mi"}}),
        ("executor", 2, {"spark-kubernetes-executor": {"cpu": "2", "memory": "4Gi"}}),
    ]
    assert opened(APP, 0)["containers"][0]["resources"]["limits"] == {"cpu": "1", "memory": "1Gi"}
    assert opened(APP, 1)["containers"][0]["resources"]["limits"] == {"nvidia.com/gpu": "1"}
    assert requests_of(KIND.pod_sets(APP, DEFAULTS)) == [None, None]
    assert KIND.pod_sets(changed(APP, "spec/executor/instances", None), DEFAULTS)[1].count == 0


def test_a_pod_of_the_users_own() -> None:
    template = {
        "metadata": {"labels": {"a": "1", "b": "1"}, "annotations": {REQUIRED: "rack"}},
        "spec": {"containers": [{"name": "ignored"}]},
    }
    job = changed(
        APP,
        "spec/driver",
        {
            "template": template,
            "labels": {"b": "2"},
            "sidecars": [{"name": "side"}, {"name": "side"}, {"name": "side", "image": "x"}],
            "initContainers": [{"name": "init", "resources": {"requests": {"cpu": "3"}}}],
            "priorityClassName": "pods",
            "nodeSelector": {"n": "1"},
            "affinity": {"nodeAffinity": {}},
            "tolerations": [{"key": "t"}],
            "gpu": {"name": "", "quantity": 1},
        },
    )
    job = changed(job, "spec/nodeSelector", {"all": "1"})
    driver = KIND.pod_sets(job, DEFAULTS)[0]
    assert pod_set_info.decode(driver.template.metadata) == {
        "labels": {"a": "1", "b": "2"},
        "annotations": {REQUIRED: "rack"},
    }
    assert requests_of([driver]) == [{"required": "rack"}]
    assert opened(job, 0) == {
        "containers": [{"name": "spark-kubernetes-driver"}, {"name": "side"}, {"name": "side", "image": "x"}],
        "initContainers": [{"name": "init", "resources": {"requests": {"cpu": "3"}}}],
        "priorityClassName": "pods",
        "nodeSelector": {"n": "1"},
        "affinity": {"nodeAffinity": {}},
        "tolerations": [{"key": "t"}],
    }
    assert made(job, KIND).spec.priority == 7


MEMORY = {
    "512m": "512Mi",
    "1g": "1Gi",
    "1gb": "1Gi",
    "2kb": "2Ki",
    "3t": "3Ti",
    "1024": "1024",
    "1Gi": "1Gi",
    "2G": "2GGi",
}


@pytest.mark.parametrize("text", MEMORY)
def test_memory_in_javas_units(text: str) -> None:
    assert java_memory(text) == MEMORY[text]


@pytest.mark.parametrize(("field", "text"), [("memory", "2G"), ("memoryLimit", "x"), ("coreRequest", "one")])
def test_amounts_that_are_none(field: str, text: str) -> None:
    job = changed(APP, f"spec/driver/{field}", text)
    with pytest.raises(InputError) as caught:
        KIND.pod_sets(job, DEFAULTS)
    assert caught.value.field == f"$.spec.driver.{field}"
    assert paths(KIND.validate(job, DEFAULTS)) == [f"spec.driver.{field}"]


def test_start_and_stop() -> None:
    running, workload = started(APP, KIND)
    assert not KIND.suspended(running)
    for part in (running.spec.driver, running.spec.executor):
        assert part.node_selector == {"type": "spot", "shared": "spot"}
        assert part.tolerations[0].key == "spot"
        assert part.template is not None
    assert running.spec.driver.labels["kueue.x-k8s.io/podset"] == "driver"
    assert running.spec.driver.labels["version"] == "3.5.3"
    scaled = changed(running, "spec/executor/instances", 7)
    held = stopped(scaled, KIND, workload)
    # The templates stay, as upstream leaves them.
    assert held.spec.driver.template is not None
    for part in ("driver", "executor"):
        held = changed(held, f"spec/{part}/template", None)
    assert same(held, APP)


def test_a_selector_for_all_moves_to_both_and_stays_there() -> None:
    job = amended(APP, {"spec/nodeSelector": {"all": "1"}, "spec/driver/nodeSelector": {"mine": "1"}})
    running, workload = started(job, KIND)
    assert running.spec.node_selector is None
    assert running.spec.driver.node_selector == {"all": "1", "type": "spot", "shared": "spot"}
    held = stopped(running, KIND, workload)
    assert (held.spec.node_selector, held.spec.driver.node_selector) == (None, {"mine": "1"})


def test_gates_go_into_the_templates() -> None:
    infos = pod_set_info.from_workload(made(APP, KIND))
    infos[1].scheduling_gates = [{"name": "kueue.x-k8s.io/topology"}]
    running = KIND.start(APP, infos)
    executor = pod_set_info.decode(running.spec.executor.template.spec)
    assert executor["schedulingGates"] == [{"name": "kueue.x-k8s.io/topology"}]
    assert executor["containers"] == [{"name": "spark-kubernetes-executor"}]
    held = KIND.stop(running, pod_set_info.from_workload(made(APP, KIND))).job
    assert "schedulingGates" not in pod_set_info.decode(held.spec.executor.template.spec)


def test_what_cannot_start() -> None:
    infos = pod_set_info.from_workload(made(APP, KIND))
    with pytest.raises(StartError, match="invalid podset infos: expecting 2 podset, got 1"):
        KIND.start(APP, infos[:1])
    infos[0].labels = {"version": "other"}
    with pytest.raises(StartError, match="conflict for labels"):
        KIND.start(APP, infos)
    running = changed(APP, "spec/suspend", False)
    assert same(KIND.stop(running, infos[:1]).job, APP)


def state(name: str, *executors: str, **fields: str) -> dict[str, Any]:
    return {
        "applicationState": {"state": name, **fields},
        "executorState": {f"e{number}": each for number, each in enumerate(executors)},
    }


STATES: dict[str, tuple[dict[str, Any] | None, tuple[bool, bool, Any]]] = {
    "new": (None, (False, False, None)),
    "submitted": (state("SUBMITTED"), (False, False, None)),
    "the driver runs": (state("RUNNING", "RUNNING"), (True, False, None)),
    "all run": (state("RUNNING", "RUNNING", "COMPLETED"), (True, True, None)),
    "an executor waits": (state("RUNNING", "RUNNING", "PENDING"), (True, False, None)),
    "completed": (state("COMPLETED"), (False, False, ("", True))),
    "failed": (state("FAILED", errorMessage="m"), (False, False, ("m", False))),
    "not submitted": (state("SUBMISSION_FAILED", errorMessage="m"), (False, False, ("m", False))),
    "failing": (state("FAILING"), (False, False, None)),
}


@pytest.mark.parametrize("case", STATES)
def test_states(case: str) -> None:
    status, want = STATES[case]
    job = changed(APP, "status", status)
    assert (KIND.active(job), KIND.pods_ready(job), KIND.finished(job)) == want


def test_without_executors_the_driver_is_enough() -> None:
    job = amended(APP, {"status": state("RUNNING"), "spec/executor/instances": None})
    assert KIND.pods_ready(job)


REFUSED: dict[str, tuple[dict[str, Any], list[str]]] = {
    "nothing wrong": ({}, []),
    "another mode": (
        {"spec/mode": "client"},
        ['spec.mode: Invalid value: "client": must be cluster: Kueue manages no other mode'],
    ),
    "no mode": (
        {"spec/mode": None},
        ['spec.mode: Invalid value: "": must be cluster: Kueue manages no other mode'],
    ),
    "executors that come and go": (
        {"spec/dynamicAllocation": {"enabled": True}},
        [
            "spec.dynamicAllocation.enabled: Invalid value: true: "
            "needs workload slices: a job that Kueue manages must be elastic for it"
        ],
    ),
    "they do not": ({"spec/dynamicAllocation": {"enabled": False}}, []),
    "elastic": (
        {"spec/dynamicAllocation": {"enabled": True}, "metadata/annotations": {ELASTIC: "true"}},
        [
            f"metadata.annotations[{ELASTIC}]: Forbidden: elastic job is not supported for "
            '"sparkoperator.k8s.io/v1beta2, Kind=SparkApplication"'
        ],
    ),
    "prebuilt": (
        {"metadata/annotations": {PREBUILT: "w"}},
        [
            f"metadata.annotations[{PREBUILT}]: Forbidden: a prebuilt Workload is not supported for "
            '"sparkoperator.k8s.io/v1beta2, Kind=SparkApplication"'
        ],
    ),
    "slices beyond the executors": (
        {"spec/executor/annotations": {REQUIRED: "a", SLICE: "b", SLICE_SIZE: "3"}},
        [
            f'spec.executor.annotations[{SLICE_SIZE}]: Invalid value: "3": '
            "must not be greater than pod set count 2"
        ],
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(case: str) -> None:
    changes, want = REFUSED[case]
    assert told(KIND.validate(amended(APP, changes), DEFAULTS)) == want


def test_updates() -> None:
    client = changed(APP, "spec/mode", "client")
    assert paths(KIND.validate_update(APP, client, DEFAULTS, False)) == ["spec.mode"]
    unmanaged = changed(APP, "metadata/labels", {})
    assert KIND.validate_update(unmanaged, changed(unmanaged, "spec/mode", "client"), DEFAULTS, False) == []
