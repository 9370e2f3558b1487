"""Admission fair sharing in the simulator: samples, statuses of LocalQueues, the example. Source: QC-13, QC-87."""

from pathlib import Path
from typing import Any

import pytest

from kueue_fast.api.configuration import load_configuration
from kueue_fast.api.kueue import LocalQueue, LocalQueueAdmissionFairSharingStatus
from kueue_fast.errors import InputError
from kueue_fast.sim.manifests import load
from kueue_fast.sim.options import SimulationOptions
from kueue_fast.sim.simulate import Simulation
from tests.sim.world import MINUTE, START, job, local_queue, one_queue, output, rows, run, seconds

ROOT = Path(__file__).resolve().parent.parent.parent
MODE = {"admissionScope": {"admissionMode": "UsageBasedAdmissionFairSharing"}}
SHARING = b"""
apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
admissionFairSharing:
  usageHalfLifeTime: 10m
  usageSamplingInterval: 10m
"""


def status_of(simulation: Simulation, name: str = "lq") -> LocalQueueAdmissionFairSharingStatus | None:
    queue: LocalQueue | None = simulation.cluster.get("LocalQueue", "ns", name)
    assert queue is not None
    assert queue.status is not None
    sharing = queue.status.fair_sharing
    return None if sharing is None else sharing.admission_fair_sharing_status


def configured(text: bytes = SHARING) -> Any:
    return load_configuration(text, "config.yaml")


def test_use_is_sampled_into_the_status() -> None:
    """4 cpus for 30 minutes, and half of that charged at once: 2, then 3, 3.5, and half of it when nothing runs."""
    _, simulation = run(*one_queue(**MODE), job("a", cpu=4, run_time="30m"), configuration=configured())
    status = status_of(simulation)
    assert status is not None
    assert status.last_update == "2026-01-01T00:30:00Z"
    assert status.consumed_resources == {"cpu": "1750m"}


def test_a_run_ends_with_its_last_workload() -> None:
    for workloads in ([], [job("a", run_time="1m")], [job("a", run_time=None)], [job("a", cpu=9)]):
        result, _ = run(*one_queue(**MODE), *workloads, configuration=configured())
        assert result.end_ns <= START + MINUTE


def test_samples_do_not_change_a_run_without_the_mode() -> None:
    objects = [
        *one_queue(cpu=2),
        *(job(f"j{n}", cpu=n % 3, arrival=f"{7 * n}m", run_time="50m") for n in range(9)),
    ]
    plain, _ = output(*objects)
    sampled, _ = output(*objects, configuration=configured())
    assert sampled == plain


def test_without_the_configuration_no_status_is_written() -> None:
    _, simulation = run(*one_queue(**MODE), job("a", run_time="30m"))
    assert status_of(simulation) is None


def test_a_status_of_the_manifest_is_where_the_past_begins() -> None:
    old = local_queue()
    old["status"] = {"fairSharing": {"weightedShare": 0, "admissionFairSharingStatus": {
        "consumedResources": {"cpu": "8"}, "lastUpdate": "2025-12-31T00:00:00Z"}}}  # fmt: skip
    _, simulation = run(*one_queue(**MODE)[:2], old, configuration=configured())
    status = status_of(simulation)
    assert status is not None
    assert (status.consumed_resources, status.last_update) == ({"cpu": "8"}, "2026-01-01T00:00:00Z")


def test_who_used_less_overtakes_at_a_sample_in_a_strict_queue() -> None:
    """`big` blocks the queue until its LocalQueue has used more than the other one, whose past fades."""
    used = local_queue("used")
    used["status"] = {"fairSharing": {"weightedShare": 0, "admissionFairSharingStatus": {
        "consumedResources": {"cpu": "3"}}}}  # fmt: skip
    result, _ = run(
        *one_queue(cpu=4, queueingStrategy="StrictFIFO", **MODE), used,
        job("runs", cpu=3, run_time="2h"), job("big", cpu=4, arrival="1m"),
        job("small", cpu=1, queue="used", arrival="1m"),
        configuration=configured(),
    )  # fmt: skip
    assert seconds(rows(result)["small"].admitted_ns) == 600
    assert seconds(rows(result)["big"].admitted_ns) == 7200


def test_a_configuration_that_cannot_be_is_refused() -> None:
    with pytest.raises(InputError, match="negative"):
        run(
            *one_queue(),
            configuration=configured(SHARING.replace(b"usageHalfLifeTime: 10m", b"usageHalfLifeTime: -10m")),
        )


def test_the_example_tells_its_story() -> None:
    folder = ROOT / "examples/admission-fair-sharing"
    file = folder / "configuration.yaml"
    manifests = load([str(folder / "manifests")])
    order = {}
    for configuration in (load_configuration(file.read_bytes(), file.name), None):
        simulation = Simulation(manifests, SimulationOptions(configuration=configuration))
        simulation.run()
        admitted = rows(simulation.result()).items()
        order[configuration is not None] = [
            name for name, row in sorted(admitted, key=lambda item: item[1].admitted_ns or 0)
        ]
    vision, language = [f"vision-{n}" for n in range(1, 7)], ["language-1", "language-2"]
    assert order[True] == [*vision[:4], *language, *vision[4:]]
    assert order[False] == [*vision, *language]
