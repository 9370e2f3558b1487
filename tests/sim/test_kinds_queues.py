"""Jobs of every kind whose queue is not there, or is another one while they wait or run."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from kueue_fast.model.features import FeatureGates
from kueue_fast.sim.kinds import registry_of, settings_of
from kueue_fast.sim.options import SimulationOptions
from kueue_fast.sim.result import State
from kueue_fast.sim.simulate import Simulation
from tests.sim.explaining import explained
from tests.sim.kind_makers import QUEUE, RUNNING_KINDS, SERVING_KINDS, SPARK, group, plain_pod, serving
from tests.sim.world import (
    MINUTE,
    cluster_queue,
    flavor,
    job,
    local_queue,
    manifests,
    one_queue,
    workload,
)

KINDS: dict[str, list[dict[str, Any]]] = {
    "Job": [job("k", parallelism=4, run_time="10m")],
    **RUNNING_KINDS,
    **SERVING_KINDS,
    "Pod": [plain_pod("k", 4)],
}
ALL = {**KINDS, "Deployment": [serving("Deployment", run_time="10m")], "a group of Pods": group(4)}
TWO_QUEUES = (
    flavor("default"),
    cluster_queue("cq", {"default": {"cpu": 4}}),
    local_queue(),
    cluster_queue("other", {"default": {"cpu": 4}}),
    local_queue("elsewhere", "other"),
)


def played(*objects: dict[str, Any], minutes: int) -> Simulation:
    options = SimulationOptions(until_ns=minutes * MINUTE, **SPARK)
    return Simulation(manifests(*objects), options)


def in_queue(obj: Any, queue: str) -> Any:
    labels = {**(obj.metadata.labels or {}), QUEUE: queue}
    return msgspec.structs.replace(obj, metadata=msgspec.structs.replace(obj.metadata, labels=labels))


def target_of(obj: dict[str, Any]) -> str:
    return f"{obj['kind']}/ns/{obj['metadata']['name']}"


@pytest.mark.parametrize("kind", ALL)
def test_a_queue_that_does_not_exist_is_named_as_what_blocks(kind: str) -> None:
    *others, last = ALL[kind]
    renamed = [
        {**obj, "metadata": {**obj["metadata"], "labels": {**obj["metadata"].get("labels", {}), QUEUE: "no"}}}
        for obj in (*others, last)
    ]
    document = explained(target_of(last), *one_queue(4), *renamed, at=1, **SPARK)
    assert document.workloads
    for found in document.workloads:
        assert found.state == "Pending"
        assert found.summary == "Inadmissible: LocalQueue no doesn't exist"
        [blocker] = found.blockers
        assert (blocker.kind, blocker.name, blocker.reason) == ("LocalQueue", "ns/no", "Missing")


@pytest.mark.parametrize("kind", KINDS)
def test_a_job_that_waits_takes_its_workload_along_to_another_queue(kind: str) -> None:
    *_, last = objects = KINDS[kind]
    simulation = played(*TWO_QUEUES, workload("first", run_time="1h", cpu=4), *objects, minutes=8)

    def change(_: object) -> None:
        current = simulation.cluster.get(last["kind"], "ns", "k")
        assert current is not None
        simulation.cluster.update(in_queue(current, "elsewhere"))

    simulation.clock.schedule(simulation.clock.now + 5 * MINUTE, change, None)
    simulation.run()
    [row] = [row for row in simulation.result().workloads if row.name != "first"]
    assert (row.queue, row.cluster_queue, row.state) == ("elsewhere", "other", State.RUNNING)
    assert row.waited_ns == 5 * MINUTE


@pytest.mark.parametrize("kind", KINDS)
def test_a_job_that_runs_cannot_go_to_another_queue(kind: str) -> None:
    *_, last = objects = KINDS[kind]
    simulation = played(*TWO_QUEUES, *objects, minutes=1)
    simulation.run()
    running: Any = simulation.cluster.get(last["kind"], "ns", "k")
    settings = settings_of(None, FeatureGates({"SparkApplicationIntegration": True}))
    integration: Any = registry_of(settings, simulation.cluster.get).find(running.API_VERSION, running.KIND)
    more: tuple[Any, ...] = {
        "StatefulSet": (None, settings),
        "LeaderWorkerSet": (settings,),
    }.get(last["kind"], (settings, False))
    told = integration.validate_update(running, in_queue(running, "elsewhere"), *more)
    assert [(each.path, each.message) for each in told] == [
        (f"metadata.labels[{QUEUE}]", "field is immutable")
    ]
