"""How long jobs and pods waited, as watches show it. Source: OP-569, OP-570."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from kueue_fast.api.configuration import default_configuration
from kueue_fast.api.decode import decode_object
from kueue_fast.app.job_latencies import JobLatencies
from kueue_fast.app.metrics import Metrics
from kueue_fast.cluster.kube.cluster import KubeCluster
from kueue_fast.jobs.settings import JobSettings
from kueue_fast.model import times
from kueue_fast.model.features import FeatureGates

START = times.parse("2026-01-01T00:00:00Z")
GATE = "kueue.x-k8s.io/topology"


def at(seconds: int) -> str:
    return times.format(START + seconds * times.SECOND)


def obj(kind: str, name: str, api: str, metadata: dict[str, Any] | None = None, **parts: Any) -> Any:
    known = {"name": name, "namespace": "ns", "uid": f"{kind}-{name}", "resourceVersion": str(len(parts))}
    return decode_object(
        {"apiVersion": api, "kind": kind, "metadata": {**known, **(metadata or {})}, **parts}
    )


def job(**metadata: Any) -> Any:
    return obj(
        "Job",
        "j",
        "batch/v1",
        {"creationTimestamp": at(0), "generation": 1, **metadata},
        spec={"template": {"spec": {"containers": []}}},
    )


def workload(*conditions: dict[str, Any], **metadata: Any) -> Any:
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "Job-j", "controller": True}
    made = {"creationTimestamp": at(3), "ownerReferences": [owner], **metadata}
    admission = {"clusterQueue": "cq", "podSetAssignments": []}
    status = {"admission": admission, "conditions": list(conditions)}
    return obj("Workload", "w", "kueue.x-k8s.io/v1beta2", made, spec={}, status=status)


def condition(type_: str, seconds: int) -> dict[str, Any]:
    return {
        "type": type_,
        "status": "True",
        "reason": "Any",
        "message": "",
        "lastTransitionTime": at(seconds),
    }


def pod(*gates: str, labels: dict[str, str] | None = None, **annotations: str) -> Any:
    spec = {"containers": [], "schedulingGates": [{"name": each} for each in gates]}
    metadata = {"annotations": {"kueue.x-k8s.io/workload": "w"} | annotations, "labels": labels or {}}
    made = obj("Pod", "p", "v1", metadata, spec=spec)
    made.metadata.resource_version = f"with {len(gates)}"
    return made


class World:
    """Watches at a given second, and what was counted of them."""

    def __init__(self, seconds: int, *, creations: bool = True) -> None:
        # A cluster that nothing is asked of.
        self.cluster = KubeCluster(connection=None, kinds=())  # type: ignore[arg-type]
        self.metrics = Metrics(lambda: START)
        settings = JobSettings.read(default_configuration(), FeatureGates())
        now = START + seconds * times.SECOND
        JobLatencies(self.cluster, self.metrics, lambda: now, settings, creations=creations).start()

    def saw(self, *objects: Any) -> World:
        for each in objects:
            self.cluster.put(each)
        return self

    def value(self, metric: str, /, **labels: str) -> float | None:
        return self.metrics.registry.get_sample_value(
            f"kueue_{metric}", {**labels, "replica_role": "standalone"}
        )


def latency(world: World) -> float | None:
    return world.value("workload_creation_latency_seconds_sum", job_kind="Job")


def test_from_the_job_to_its_workload() -> None:
    assert latency(World(9).saw(job(), workload())) == 3


CREATIONS = {
    "a job that was changed since": (job(generation=2), True),
    "a job that is not known": (None, True),
    "the gate is off": (job(), False),
}


@pytest.mark.parametrize("case", CREATIONS)
def test_creations_that_do_not_count(case: str) -> None:
    known, creations = CREATIONS[case]
    world = World(9, creations=creations).saw(*([known] if known else ()), workload())
    assert latency(world) is None


def removal(world: World, is_group: str = "false") -> float | None:
    labels = {"name": GATE, "cluster_queue": "cq", "is_group": is_group}
    return world.value("pod_scheduling_gate_removal_seconds_sum", **labels)


ADMITTED = condition("Admitted", 5)


def test_from_admission_until_the_gate_is_gone() -> None:
    assert removal(World(9).saw(workload(ADMITTED), pod(GATE), pod())) == 4


def test_a_clock_that_is_behind_does_not_count_backwards() -> None:
    assert removal(World(2).saw(workload(ADMITTED), pod(GATE), pod())) == 0


def test_pods_of_a_group() -> None:
    group = {"kueue.x-k8s.io/pod-group-name": "w"}
    world = World(9).saw(workload(ADMITTED), pod(GATE, labels=group), pod(labels=group))
    assert removal(world, "true") == 4


REMOVALS: dict[str, tuple[Any, ...]] = {
    "the gate is there still": (workload(ADMITTED), pod(GATE), pod(GATE, "other")),
    "another gate": (workload(ADMITTED), pod("other"), pod()),
    "a pod that never had one": (workload(ADMITTED), pod()),
    "a Workload that is not admitted": (workload(), pod(GATE), pod()),
    "a Workload that has ended": (workload(ADMITTED, condition("Finished", 6)), pod(GATE), pod()),
    "a Workload that is not known": (pod(GATE), pod()),
}


@pytest.mark.parametrize("case", REMOVALS)
def test_gates_that_do_not_count(case: str) -> None:
    assert removal(World(9).saw(*REMOVALS[case])) is None


def test_a_pod_alone_is_known_by_its_workload() -> None:
    gate = "kueue.x-k8s.io/admission"
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "Pod-p"}
    alone = [msgspec.structs.replace(each) for each in (pod(gate), pod())]
    for each in alone:
        each.metadata.annotations = None
    world = World(9).saw(workload(ADMITTED, ownerReferences=[owner]), *alone)
    labels = {"name": gate, "cluster_queue": "cq", "is_group": "false"}
    assert world.value("pod_scheduling_gate_removal_seconds_sum", **labels) == 4
