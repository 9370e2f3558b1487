"""TrainJobs: the pod sets of their runtimes, their life, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from kueue_fast.api.decode import decode_object
from kueue_fast.api.encode import to_manifest
from kueue_fast.errors import InputError
from kueue_fast.jobs import pod_set_info
from kueue_fast.jobs.defaults import defaulted
from kueue_fast.jobs.pod_set_info import StartError
from kueue_fast.jobs.settings import JobSettings
from kueue_fast.jobs.train_job import TrainJobs
from kueue_fast.jobs.train_runtime import merged
from tests.jobs.kinds import (
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
    told,
)

DEFAULTS = JobSettings()
MANAGER = "kueue.x-k8s.io/manager"
TORCH: Any = yaml.safe_load("""
apiVersion: trainer.kubeflow.org/v1alpha1
kind: ClusterTrainingRuntime
metadata: {name: torch}
spec:
  mlPolicy: {numNodes: 2, torch: {}}
  template:
    spec:
      replicatedJobs:
      - name: dataset-initializer
        replicas: 3
        template:
          metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: dataset-initializer}}
          spec: {template: {spec: {containers: [{name: d, resources: {requests: {cpu: "1"}}}]}}}
      - name: node
        template:
          metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
          spec:
            parallelism: 9
            template: {spec: {containers: [{name: node, resources: {requests: {cpu: "2"}}}, {name: side}]}}
      - name: other
        replicas: 2
        template:
          spec: {parallelism: 3, template: {spec: {containers: [{name: o}]}}}
""")
MPI: Any = yaml.safe_load("""
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainingRuntime
metadata: {name: mpi, namespace: ns}
spec:
  mlPolicy: {numNodes: 1, mpi: {runLauncherAsNode: true}}
  template:
    spec:
      replicatedJobs:
      - name: launcher
        template:
          metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
          spec: {template: {spec: {containers: [{name: node}]}}}
      - name: node
        template:
          spec: {template: {spec: {containers: [{name: node}]}}}
""")
RUNTIMES = {
    ("ClusterTrainingRuntime", "", "torch"): decode_object(TORCH),
    ("TrainingRuntime", "ns", "mpi"): decode_object(MPI),
}


def runtime(kind: str, namespace: str, name: str) -> Any:
    found: Any = RUNTIMES.get((kind, namespace, name))
    return None if found is None else found.spec


KIND = TrainJobs(runtime)
JOB = defaulted(
    read(f"""
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {{name: train, namespace: ns, uid: u, labels: {{{QUEUE}: lq}}}}
spec:
  runtimeRef: {{name: torch}}
"""),
    KIND,
    DEFAULTS,
    False,
)


def counts(job: Any) -> list[tuple[str, int]]:
    return [(each.name, each.count) for each in KIND.pod_sets(job, DEFAULTS)]


def test_new_ones_are_held_and_patched() -> None:
    assert to_manifest(JOB)["spec"] == {
        "runtimeRef": {"name": "torch"},
        "suspend": True,
        "runtimePatches": [{"manager": MANAGER, "trainingRuntimeSpec": {"template": {"spec": {}}}}],
    }
    assert same(defaulted(JOB, KIND, DEFAULTS, False), JOB)


def test_pod_sets_are_those_of_the_runtime() -> None:
    assert shape(KIND.pod_sets(JOB, DEFAULTS)) == [
        ("dataset-initializer", 1, {"d": {"cpu": "1"}}),
        ("node", 2, {"node": {"cpu": "2"}, "side": {}}),
        ("other", 6, {"o": {}}),
    ]
    index = {
        "podIndexLabel": "batch.kubernetes.io/job-completion-index",
        "subGroupIndexLabel": "jobset.sigs.k8s.io/job-index",
    }
    assert requests_of(KIND.pod_sets(JOB, DEFAULTS)) == [{**index, "subGroupCount": n} for n in (1, 1, 2)]


TRAINERS: dict[str, tuple[dict[str, Any], list[int]]] = {
    "as the runtime says": ({}, [1, 2, 6]),
    "more nodes": ({"trainer": {"numNodes": 5}}, [1, 5, 6]),
    "launcher and node": ({"runtimeRef": {"kind": "TrainingRuntime", "name": "mpi"}}, [1, 1]),
    "the launcher is a node": (
        {"runtimeRef": {"kind": "TrainingRuntime", "name": "mpi"}, "trainer": {"numNodes": 5}},
        [1, 4],
    ),
    "one node": (
        {"runtimeRef": {"kind": "TrainingRuntime", "name": "mpi"}, "trainer": {"numNodes": 1}},
        [1, 1],
    ),
}


@pytest.mark.parametrize("case", TRAINERS)
def test_nodes(case: str) -> None:
    changes, want = TRAINERS[case]
    job = amended(JOB, {f"spec/{key}": value for key, value in changes.items()})
    assert [count for _, count in counts(job)] == want


def test_resources_of_each_node() -> None:
    wanted = {"requests": {"cpu": "8"}, "limits": {"nvidia.com/gpu": "1"}}
    torch = changed(JOB, "spec/trainer", {"resourcesPerNode": wanted})
    assert [each[2] for each in shape(KIND.pod_sets(torch, DEFAULTS))] == [
        {"d": {"cpu": "1"}},
        {"node": {"cpu": "8"}, "side": {}},
        {"o": {}},
    ]
    mpi = changed(torch, "spec/runtimeRef", {"kind": "TrainingRuntime", "name": "mpi"})
    assert [each[2] for each in shape(KIND.pod_sets(mpi, DEFAULTS))] == [{"node": {"cpu": "8"}}] * 2


def patched(template: dict[str, Any], name: str = "node") -> Any:
    jobs = [{"name": name, "template": template}]
    patch = {
        "manager": "me",
        "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": jobs}}},
    }
    return changed(JOB, "spec/runtimePatches", [patch, *(JOB.spec.runtime_patches or [])])


def test_patches_of_others() -> None:
    pods = {
        "metadata": {"annotations": {REQUIRED: "rack"}},
        "spec": {"nodeSelector": {"a": "b"}, "tolerations": [{"key": "t"}]},
    }
    node = KIND.pod_sets(patched({"spec": {"template": pods}}), DEFAULTS)[1]
    assert node.topology_request is not None
    assert node.topology_request.required == "rack"
    spec = pod_set_info.decode(node.template.spec)
    assert (spec["nodeSelector"], spec["tolerations"]) == ({"a": "b"}, [{"key": "t"}])
    assert [each["name"] for each in spec["containers"]] == ["node", "side"]


MERGES: dict[str, tuple[Any, Any, Any]] = {
    "fields": ({"a": {"b": 1}}, {"a": {"c": 2}}, {"a": {"b": 1, "c": 2}}),
    "a field that goes": ({"a": 1, "b": 2}, {"a": None}, {"b": 2}),
    "a list": ({"a": [1, 2]}, {"a": [3]}, {"a": [3]}),
    "a list by name": (
        {"containers": [{"name": "a", "x": 1}, {"name": "b"}]},
        {"containers": [{"name": "a", "y": 2}, {"name": "c"}]},
        {"containers": [{"name": "a", "x": 1, "y": 2}, {"name": "b"}, {"name": "c"}]},
    ),
    "a list that is new": ({}, {"schedulingGates": [{"name": "g"}]}, {"schedulingGates": [{"name": "g"}]}),
}


@pytest.mark.parametrize("case", MERGES)
def test_merges(case: str) -> None:
    value, patch, want = MERGES[case]
    assert merged(value, patch) == want


def test_start_and_stop() -> None:
    running, workload = started(JOB, KIND)
    assert not KIND.suspended(running)
    (patch,) = running.spec.runtime_patches
    jobs = patch["trainingRuntimeSpec"]["template"]["spec"]["replicatedJobs"]
    assert [each["name"] for each in jobs] == ["dataset-initializer", "node", "other"]
    pods = jobs[1]["template"]["spec"]["template"]
    assert pods["spec"] == {
        "nodeSelector": {"type": "spot", "shared": "spot"},
        "tolerations": [{"key": "spot", "operator": "Exists"}],
    }
    assert pods["metadata"]["labels"]["kueue.x-k8s.io/podset"] == "node"
    assert counts(running) == counts(JOB)
    infos = pod_set_info.from_workload(workload)
    first = KIND.stop(running, infos)
    assert (KIND.suspended(first.job), first.now) == (True, False)
    busy = changed(first.job, "status", {"jobsStatus": [{"name": "node", "active": 1}]})
    assert KIND.stop(busy, infos) == (busy, False)
    second = KIND.stop(first.job, infos)
    assert second.now
    assert same(second.job, JOB)
    assert KIND.stop(second.job, infos) == (second.job, False)


def test_what_cannot_start() -> None:
    infos = pod_set_info.from_workload(made(JOB, KIND))
    with pytest.raises(StartError, match="invalid podset infos: expecting 3 podset, got 1"):
        KIND.start(JOB, infos[:1])
    with pytest.raises(InputError, match="Kueue's patch is missing"):
        KIND.start(changed(JOB, "spec/runtimePatches", None), infos)


UNKNOWN: dict[str, tuple[dict[str, Any], str]] = {
    "no such runtime": ({"name": "none"}, "runtime 'none' not found"),
    "a runtime of the namespace": ({"kind": "TrainingRuntime", "name": "torch"}, "runtime 'torch' not found"),
    "another kind": ({"kind": "Other", "name": "torch"}, "unsupported runtime: Other.trainer.kubeflow.org"),
}


@pytest.mark.parametrize("case", UNKNOWN)
def test_runtimes_that_are_not_known(case: str) -> None:
    ref, want = UNKNOWN[case]
    job = changed(JOB, "spec/runtimeRef", ref)
    with pytest.raises(InputError, match=want):
        KIND.pod_sets(job, DEFAULTS)
    (error,) = KIND.validate(job, DEFAULTS)
    assert error.path == "spec.runtimeRef"
    assert not KIND.pods_ready(job)


def jobs(**statuses: dict[str, int]) -> dict[str, Any]:
    return {"jobsStatus": [{"name": name, **each} for name, each in statuses.items()]}


def condition(type_: str) -> dict[str, Any]:
    return {"conditions": [{"type": type_, "status": "True", "message": "m"}]}


States = tuple[bool, bool, Any, list[tuple[str, int]]]
STATES: dict[str, tuple[dict[str, Any] | None, States]] = {
    "new": (None, (False, False, None, [])),
    "active": (jobs(node={"active": 1}), (True, False, None, [])),
    "ready": (
        jobs(node={"ready": 1}, other={"ready": 1, "succeeded": 2}),
        (False, True, None, [("other", 6)]),
    ),
    "partly done": (jobs(other={"succeeded": 1}), (False, False, None, [("other", 3)])),
    "complete": (condition("Complete"), (False, False, ("m", True), [])),
    "failed": (condition("Failed"), (False, False, ("m", False), [])),
}


@pytest.mark.parametrize("case", STATES)
def test_states(case: str) -> None:
    status, want = STATES[case]
    job = changed(JOB, "status", status)
    reclaimable = [(each.name, each.count) for each in KIND.reclaimable_pods(job) or ()]
    assert (KIND.active(job), KIND.pods_ready(job), KIND.finished(job), reclaimable) == want


def test_refused() -> None:
    asked = {"annotations": {REQUIRED: "a", SLICE: "b", SLICE_SIZE: "3"}}
    job = patched({"spec": {"template": {"metadata": asked}}})
    assert told(KIND.validate(job, DEFAULTS)) == [
        f'job[node].annotations[{SLICE_SIZE}]: Invalid value: "3": must not be greater than pod set count 2; '
        "see spec.runtimePatches of the TrainJob and the template of its runtime"
    ]
    assert len(KIND.validate_update(JOB, job, DEFAULTS, False)) == 1
    assert KIND.validate(changed(JOB, "metadata/annotations", {PREBUILT: "w"}), DEFAULTS) == []
    wrong = changed(JOB, "metadata/labels", {QUEUE: "Q"})
    assert paths(KIND.validate(wrong, DEFAULTS)) == [f"metadata.labels[{QUEUE}]"]
