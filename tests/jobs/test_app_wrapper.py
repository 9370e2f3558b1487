"""AppWrappers: the pod sets of what they wrap, their life, and what is refused."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from kueue_fast.jobs import pod_set_info
from kueue_fast.jobs.app_wrapper import AppWrappers
from kueue_fast.jobs.app_wrapper_pod_sets import at_path
from kueue_fast.jobs.defaults import defaulted
from kueue_fast.jobs.pod_set_info import StartError
from kueue_fast.jobs.settings import JobSettings
from tests.jobs.kinds import (
    ELASTIC,
    PREBUILT,
    QUEUE,
    REQUIRED,
    changed,
    paths,
    read,
    requests_of,
    same,
    shape,
    started,
    stopped,
)

KIND = AppWrappers()
DEFAULTS = JobSettings()


def pods(name: str, cpu: str = "1") -> dict[str, Any]:
    return {"spec": {"containers": [{"name": name, "resources": {"requests": {"cpu": cpu}}}]}}


WRAPPER = read(f"""
apiVersion: workload.codeflare.dev/v1beta2
kind: AppWrapper
metadata: {{name: Wrap, namespace: ns, uid: u, labels: {{{QUEUE}: lq}}}}
spec:
  suspend: true
  components:
  - template:
      apiVersion: v1
      kind: Service
      metadata: {{name: s}}
  - podSets:
    - {{path: template.spec.main, replicas: 2}}
    - {{path: "template.spec.list[1]"}}
    - {{path: template.spec.none, replicas: 9}}
    template:
      apiVersion: example.com/v1
      kind: Mine
      metadata: {{name: m}}
      spec:
        main:
          metadata: {{labels: {{app: x}}, annotations: {{{REQUIRED}: rack}}, name: dropped}}
          spec:
            volumes: [{{name: dropped}}]
            nodeSelector: {{a: b}}
            initContainers:
            - {{name: i, restartPolicy: Always, resources: {{requests: {{cpu: "5"}}}}}}
            containers:
            - {{name: main, image: m, env: [{{name: dropped}}], resources: {{requests: {{cpu: "2"}}}}}}
        list:
        - nothing
        - spec: {{containers: [{{name: second}}]}}
""")


def wrapping(component: dict[str, Any]) -> Any:
    return changed(WRAPPER, "spec/components", [{"template": component}])


def test_declared_pod_sets() -> None:
    first, second = KIND.pod_sets(WRAPPER, DEFAULTS)
    assert shape([first, second]) == [
        ("wrap-0", 2, {"main": {"cpu": "2"}}),
        ("wrap-1", 1, {"second": {}}),
    ]
    assert requests_of([first, second]) == [{"required": "rack"}, None]
    assert pod_set_info.decode(first.template.metadata) == {
        "labels": {"app": "x"},
        "annotations": {REQUIRED: "rack"},
    }
    assert pod_set_info.decode(first.template.spec) == {
        "nodeSelector": {"a": "b"},
        "restartPolicy": "Always",
        "initContainers": [{"name": "i", "resources": {"requests": {"cpu": "5"}}}],
        "containers": [{"name": "main", "image": "m", "resources": {"requests": {"cpu": "2"}}}],
    }


COMPLETION = "batch.kubernetes.io/job-completion-index"
Component = dict[str, Any]
INFERRED: dict[str, tuple[Component, list[tuple[int, dict[str, Any] | None]]]] = {
    "a Pod": ({"apiVersion": "v1", "kind": "Pod", **pods("p")}, [(1, None)]),
    "a Deployment": (
        {"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"replicas": 3, "template": pods("p")}},
        [(3, None)],
    ),
    "a StatefulSet": (
        {"apiVersion": "apps/v1", "kind": "StatefulSet", "spec": {"template": pods("p")}},
        [(1, None)],
    ),
    "a Job": (
        {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "spec": {"parallelism": 4, "completions": 3, "template": pods("p")},
        },
        [(3, {"podIndexLabel": COMPLETION})],
    ),
    "a JobSet": (
        {
            "apiVersion": "jobset.x-k8s.io/v1alpha2",
            "kind": "JobSet",
            "spec": {
                "replicatedJobs": [
                    {"name": "a", "template": {"spec": {"template": pods("p")}}},
                    {
                        "name": "b",
                        "replicas": 2,
                        "template": {"spec": {"parallelism": 4, "template": pods("p")}},
                    },
                ]
            },
        },
        [
            (
                count,
                {
                    "podIndexLabel": COMPLETION,
                    "subGroupIndexLabel": "jobset.sigs.k8s.io/job-index",
                    "subGroupCount": replicas,
                },
            )
            for count, replicas in ((1, 1), (8, 2))
        ],
    ),
    "a PyTorchJob": (
        {
            "apiVersion": "kubeflow.org/v1",
            "kind": "PyTorchJob",
            "spec": {
                "pytorchReplicaSpecs": {
                    "Worker": {"replicas": 5, "template": pods("w")},
                    "Master": {"template": pods("m")},
                }
            },
        },
        [(count, {"podIndexLabel": "training.kubeflow.org/replica-index"}) for count in (1, 5)],
    ),
    "a RayCluster": (
        {
            "apiVersion": "ray.io/v1",
            "kind": "RayCluster",
            "spec": {
                "headGroupSpec": {"template": pods("h")},
                "workerGroupSpecs": [{"replicas": 2, "numOfHosts": 4, "template": pods("w")}],
            },
        },
        [(1, None), (2, None)],
    ),
    "a RayJob": (
        {
            "apiVersion": "ray.io/v1",
            "kind": "RayJob",
            "spec": {"rayClusterSpec": {"headGroupSpec": {"template": pods("h")}}},
        },
        [(1, None)],
    ),
    "another kind": ({"apiVersion": "v1", "kind": "ConfigMap", "spec": {"template": pods("p")}}, []),
}


@pytest.mark.parametrize("case", INFERRED)
def test_pod_sets_of_known_kinds(case: str) -> None:
    component, want = INFERRED[case]
    pod_sets = KIND.pod_sets(wrapping(component), DEFAULTS)
    assert [each.name for each in pod_sets] == [f"wrap-{number}" for number in range(len(want))]
    got = [each.count for each in pod_sets]
    assert list(zip(got, requests_of(pod_sets), strict=True)) == want


def test_what_the_operator_wrote_down_counts() -> None:
    status = {"componentStatus": [{"podSets": []}, {"podSets": [{"path": "template.spec.main"}]}]}
    job = changed(WRAPPER, "status", status)
    assert [each.count for each in KIND.pod_sets(job, DEFAULTS)] == [1]
    partly = changed(WRAPPER, "status", {"componentStatus": [{"podSets": []}]})
    assert len(KIND.pod_sets(partly, DEFAULTS)) == 2


PATHS: dict[str, tuple[str, Any]] = {
    "all of it": ("template", {"a": {"b": [1, {"c": 2}]}}),
    "a field": ("template.a.b", [1, {"c": 2}]),
    "an element": ("template.a.b[1].c", 2),
    "beyond the end": ("template.a.b[2]", None),
    "a field that is not there": ("template.x.y", None),
    "an element of no list": ("template.a[0]", None),
    "a field of no mapping": ("template.a.b[0].c", None),
    "not below the template": ("a.b", None),
    "no path": ("templatea", None),
    "no number": ("template.a.b[x]", None),
}


@pytest.mark.parametrize("case", PATHS)
def test_paths(case: str) -> None:
    path, want = PATHS[case]
    assert at_path({"a": {"b": [1, {"c": 2}]}}, path) == want


def test_start_and_stop() -> None:
    declared = changed(WRAPPER, "spec/components/1/podSets/2", None)
    running, workload = started(declared, KIND)
    assert not KIND.suspended(running)
    service, mine = running.spec.components
    assert service.pod_set_infos == []
    assert [info.labels["kueue.x-k8s.io/podset"] for info in mine.pod_set_infos] == ["wrap-0", "wrap-1"]
    assert mine.pod_set_infos[0].node_selector == {"type": "spot", "shared": "spot"}
    assert msgspec.to_builtins(mine.pod_set_infos[0].tolerations) == [{"key": "spot", "operator": "Exists"}]
    assert mine.template == declared.spec.components[1].template
    assert same(stopped(running, KIND, workload), declared)


def test_a_path_that_leads_nowhere_cannot_be_started() -> None:
    infos = [
        pod_set_info.PodSetInfo(
            name=name,
            count=1,
            annotations={},
            labels={},
            node_selector={},
            tolerations=[],
            scheduling_gates=[],
        )
        for name in ("wrap-0", "wrap-1")
    ]
    with pytest.raises(StartError, match="invalid podset infos: expecting 3 podsets, got 2"):
        KIND.start(WRAPPER, infos)


def test_new_ones_are_held() -> None:
    assert same(defaulted(changed(WRAPPER, "spec/suspend", None), KIND, DEFAULTS, False), WRAPPER)


def condition(type_: str, status: str = "True") -> dict[str, Any]:
    return {"type": type_, "status": status}


STATES: dict[str, tuple[dict[str, Any] | None, tuple[bool, bool, Any]]] = {
    "new": (None, (False, False, None)),
    "with quota": ({"conditions": [condition("QuotaReserved")]}, (True, False, None)),
    "ready": ({"conditions": [condition("PodsReady")]}, (False, True, None)),
    "succeeded": ({"phase": "Succeeded"}, (False, False, ("AppWrapper finished successfully", True))),
    "failed": ({"phase": "Failed"}, (False, False, ("AppWrapper failed", False))),
    "failed, not cleaned up": (
        {"phase": "Failed", "conditions": [condition("ResourcesDeployed")]},
        (False, False, None),
    ),
    "failed, cleaned up": (
        {"phase": "Failed", "conditions": [condition("ResourcesDeployed", "False")]},
        (False, False, ("AppWrapper failed", False)),
    ),
}


@pytest.mark.parametrize("case", STATES)
def test_states(case: str) -> None:
    status, want = STATES[case]
    job = changed(WRAPPER, "status", status)
    assert (KIND.active(job), KIND.pods_ready(job), KIND.finished(job)) == want
    assert KIND.reclaimable_pods(job) is None


def test_refused() -> None:
    elastic = changed(WRAPPER, "metadata/annotations", {ELASTIC: "true", PREBUILT: "w"})
    assert paths(KIND.validate(elastic, DEFAULTS)) == [f"metadata.annotations[{ELASTIC}]"]
    bad = wrapping(
        {"apiVersion": "v1", "kind": "Pod", **pods("p"), "metadata": {"annotations": {REQUIRED: "a b"}}}
    )
    assert KIND.validate(bad, DEFAULTS) == []
    wrong = changed(WRAPPER, "metadata/labels", {QUEUE: "Q"})
    assert paths(KIND.validate(wrong, DEFAULTS)) == [f"metadata.labels[{QUEUE}]"]
    assert KIND.validate_update(wrong, wrong, DEFAULTS, False) == []
