"""Random lives: late pods, checks, stopped queues and users, all at once; what must hold whatever comes."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from kueue_fast.api.kueue import Workload
from kueue_fast.model.conditions import find, is_true
from kueue_fast.sim.json_report import to_json
from kueue_fast.sim.simulate import Simulation
from tests.sim.test_lifecycle import MAX_TIME, annotated, check, said, waiting
from tests.sim.world import MINUTE, cluster_queue, flavor, job, local_queue, run, workload

NOMINAL = 6


def lives(seed: int) -> list[dict[str, Any]]:
    """A queue with checks on one of its flavors, and a dozen jobs and Workloads with a fate each."""
    random = Random(seed)

    def some(*values: str) -> str:
        return random.choice(values)

    rules = [{"name": "check", "onFlavors": ["spot"]}]
    queue = cluster_queue(
        "cq",
        {"base": {"cpu": 3}, "spot": {"cpu": NOMINAL - 3}},
        admissionChecksStrategy={"admissionChecks": rules},
        preemption={"withinClusterQueue": "LowerPriority"},
        queueingStrategy=some("StrictFIFO", "BestEffortFIFO"),
    )
    stops = f"{random.randrange(5, 20)}m={some('Hold', 'HoldAndDrain')},{random.randrange(20, 40)}m=None"
    objects = [flavor("base"), flavor("spot"), annotated(queue, stop_policy=stops), local_queue()]
    answers = some("1m=Ready", "1m=Retry/3m; 30s=Ready", "2m=Ready,9m=Rejected", "1m=Rejected; 10s=Ready")
    objects.append(check(answers=answers, active=f"{random.randrange(10, 30)}m=false,35m=true"))
    for number in range(12):
        fate = some(
            "", "", "ready_after=never,30s", "ready_after=never", "ready_after=2m", "pod_loss=3m=1m",
            "pod_loss=3m=never", "active=9m=false,15m=true", "active=4m=false",
        )  # fmt: skip
        name, _, value = fate.partition("=")
        values = {name: value} if name else {}
        arrival, run_time = f"{random.randrange(30)}m", f"{random.randrange(1, 25)}m"
        grace = some("0s", "40s")
        if random.random() < 0.3:
            made = workload(f"w{number}", cpu=random.randrange(1, 4), arrival=arrival, run_time=run_time)
            objects.append(annotated(made, **values))
            continue
        labels = {MAX_TIME: "500"} if random.random() < 0.2 else None
        objects.append(
            job(
                f"j{number}",
                cpu=1,
                parallelism=random.randrange(1, 4),
                arrival=arrival,
                run_time=run_time,
                grace=grace,
                labels=labels,
                more_annotations=said(**values),
            )
        )
    return objects


def holds(found: Workload) -> bool:
    """Whether it counts for quota."""
    known = found.status.conditions if found.status is not None else None
    return (
        is_true(known, "QuotaReserved") and not is_true(known, "Finished") and found.spec.active is not False
    )


def check_cluster(simulation: Simulation) -> None:
    """No pod without quota, no quota for what has ended, no contradiction in a status."""
    used = 0
    for found in simulation.cluster.list(Workload.KIND):
        status = found.status
        known = status.conditions or [] if status is not None else []
        reserved = is_true(known, "QuotaReserved")
        assert reserved == (status is not None and status.admission is not None)
        if is_true(known, "Admitted"):
            assert reserved
        if find(known, "Finished") is None and found.spec.active is False:
            assert is_true(known, "Evicted")
        if holds(found):
            used += sum(
                int((each.resource_usage or {}).get("cpu", 0))
                for each in (status.admission.pod_set_assignments or [])
            )
        owner = next(iter(found.metadata.owner_references or ()), None)
        owning = simulation.cluster.by_uid(owner.uid) if owner is not None else None
        if owning is not None and not owning.spec.suspend:
            assert is_true(known, "Admitted")
    assert used <= NOMINAL


@pytest.mark.parametrize("block", [False, True], ids=["together", "one by one"])
@pytest.mark.parametrize("seed", range(40))
def test_what_holds_at_any_time(seed: int, block: bool) -> None:
    objects = lives(seed)
    configuration = waiting(block=block, backoff_limit_count=2)
    for minutes in (7, 16, 24, 33):
        _, half_way = run(*objects, configuration=configuration, until_ns=minutes * MINUTE)
        check_cluster(half_way)
    result, simulation = run(*objects, configuration=configuration)
    check_cluster(simulation)
    again, _ = run(*objects, configuration=configuration)
    assert to_json(result) == to_json(again)
    assert result.queues[0].reserving == sum(map(holds, simulation.cluster.list(Workload.KIND)))
    assert all(use.peak <= use.nominal for use in result.queues[0].resources)
