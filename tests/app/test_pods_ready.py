"""waitForPodsReady on a real control plane: jobs that lose pods, and admissions that wait for the pods of others.

Source: LC-1102..1105, QC-132.
"""

import asyncio
from contextlib import suppress

import pytest

from kueue_fast.api.configuration_types import RequeuingStrategy, WaitForPodsReady
from tests.app.test_controller import cluster_queue, condition, controller, is_true, queues, until_stored
from tests.app.test_jobs import job, node, until_job
from tests.app.test_workloads import reason_is, workload_of
from tests.controlplane.client import RequestError
from tests.controlplane.world import KUEUE

pytestmark = pytest.mark.live

NEVER = {"e2e/ready": "never"}


def waiting(timeout="60s", recovery="60s", block=False, base=60):
    def configure(configuration):
        configuration.wait_for_pods_ready = WaitForPodsReady(
            timeout=timeout,
            recovery_timeout=recovery,
            block_admission=block,
            requeuing_strategy=RequeuingStrategy(backoff_base_seconds=base, backoff_max_seconds=base),
        )

    return configure


async def alone(world):
    """Take away what other tests left, whose pods one would wait for."""

    def clear():
        for kind, api in (("Job", "batch/v1"), ("Workload", KUEUE)):
            for each in world.client.list(api, kind):
                left = {"apiVersion": api, "kind": kind, "metadata": each["metadata"]}
                if each["metadata"]["namespace"] != world.namespace:
                    if kind == "Workload":
                        # It may go meanwhile.
                        with suppress(RequestError):
                            world.client.merge(left, {"metadata": {"finalizers": None}})
                    delete(world, left)

    await world.call(clear)


def delete(world, manifest):
    """As kubectl deletes: what it owns goes with it."""
    try:
        world.client.request("DELETE", world.client.path_of(manifest), {"propagationPolicy": "Background"})
    except RequestError as error:
        if error.status != 404:
            raise


async def start(world, name, **annotations):
    """A Job; gives the name of its Workload."""
    await world.call(world.client.create, job(world, name, **annotations))
    return await workload_of(world, name)


async def pods_of(world, name):
    found = await world.call(world.client.list, "v1", "Pod", world.namespace)
    return [
        {"apiVersion": "v1", "kind": "Pod", **each}
        for each in found
        if each["metadata"]["labels"].get("batch.kubernetes.io/job-name") == name
    ]


async def let_pods_get_ready(world, name):
    while not (found := await pods_of(world, name)):
        await asyncio.sleep(0.05)
    for pod in found:
        await world.call(world.client.merge, pod, {"metadata": {"annotations": {"e2e/ready": None}}})


async def lose_pods(world, name):
    for pod in await pods_of(world, name):
        path = world.client.path_of(pod)
        await world.call(world.client.request, "DELETE", path, {"gracePeriodSeconds": 0})


def waits_for_others(found):
    reserved = condition(found, "QuotaReserved")
    return (reserved.get("reason"), reserved.get("message")) == (
        "Waiting",
        "waiting for all admitted workloads to be in PodsReady condition",
    )


def told(found, type_):
    return condition(found, type_)["status"], condition(found, type_)["reason"]


async def test_job_that_lost_a_pod_recovers_in_time(plane_with_pods, world):
    assert plane_with_pods is world.plane
    await world.call(world.client.apply, node("node-a"))
    await queues(world, "1")
    async with controller(world, waiting()):
        name = await start(world, "j")
        ready = await until_stored(world, name, is_true("PodsReady"))
        assert told(ready, "PodsReady") == ("True", "Started")
        await lose_pods(world, "j")
        lost = await until_stored(world, name, reason_is("PodsReady", "WaitForRecovery"))
        assert told(lost, "PodsReady") == ("False", "WaitForRecovery")
        assert condition(lost, "PodsReady")["message"] == (
            "At least one pod has failed, waiting for recovery"
        )
        back = await until_stored(world, name, is_true("PodsReady"))
    assert told(back, "PodsReady") == ("True", "Recovered")
    assert condition(back, "Evicted") == {}


async def test_job_that_does_not_recover_in_time_gives_its_quota_back(plane_with_pods, world):
    assert plane_with_pods is world.plane
    await world.call(world.client.apply, node("node-a"))
    await queues(world, "1")
    async with controller(world, waiting(recovery="1s")):
        name = await start(world, "j")
        await until_stored(world, name, is_true("PodsReady"))
        await lose_pods(world, "j")
        late = await until_stored(world, name, reason_is("Requeued", "PodsReadyTimeout"))
        assert told(late, "Evicted") == ("True", "PodsReadyTimeout")
        assert late["status"]["requeueState"]["count"] == 1
        assert late["status"]["requeueState"]["requeueAt"]
        [counted] = late["status"]["schedulingStats"]["evictions"]
        assert (counted["reason"], counted["underlyingCause"]) == ("PodsReadyTimeout", "WaitForRecovery")
        await until_job(world, "j", lambda found: found["spec"]["suspend"] is True)


async def test_late_job_starts_again_after_its_backoff(plane_with_pods, world):
    assert plane_with_pods is world.plane
    await world.call(world.client.apply, node("node-a"))
    await queues(world, "1")
    async with controller(world, waiting(timeout="5s", base=1)):
        name = await start(world, "j", **NEVER)
        await until_stored(world, name, reason_is("Requeued", "PodsReadyTimeout"))
        again = await until_stored(world, name, reason_is("Requeued", "BackoffFinished"))
        assert told(again, "Requeued") == ("True", "BackoffFinished")
        assert "requeueAt" not in again["status"]["requeueState"]
        await let_pods_get_ready(world, "j")
        await until_stored(world, name, is_true("PodsReady"))


async def test_next_admission_waits_for_the_pods_of_the_last(plane_with_pods, world):
    assert plane_with_pods is world.plane
    await alone(world)
    await world.call(world.client.apply, node("node-a"))
    await queues(world, "4")
    async with controller(world, waiting(block=True)):
        first = await start(world, "first", **NEVER)
        await until_stored(world, first, reason_is("PodsReady", "WaitForStart"))
        second = await start(world, "second")
        waits = await until_stored(world, second, waits_for_others)
        assert "admission" not in waits["status"]
        await let_pods_get_ready(world, "first")
        await until_stored(world, second, is_true("PodsReady"))


async def test_of_those_of_one_cycle_one_goes_at_a_time(plane_with_pods, world):
    assert plane_with_pods is world.plane
    await alone(world)
    await world.call(world.client.apply, node("node-a"))
    await queues(world, "4")
    other = f"{world.namespace}-other"
    queue = cluster_queue(world.namespace, "4")
    queue["metadata"]["name"] = other
    await world.call(world.client.apply, queue)
    await world.call(world.client.apply, world.queue("other", other))
    for name in ("main", "other"):
        manifest = job(world, name, **NEVER)
        manifest["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] = name
        await world.call(world.client.create, manifest)
    async with controller(world, waiting(block=True)):
        names = {name: await workload_of(world, name) for name in ("main", "other")}
        either = {}

        async def decided():
            for name, workload in names.items():
                found = await until_stored(world, workload, lambda found: condition(found, "QuotaReserved"))
                either[waits_for_others(found)] = name
            return len(either) == 2

        while not await decided():
            await asyncio.sleep(0.05)
        await let_pods_get_ready(world, either[False])
        await until_stored(world, names[either[True]], is_true("Admitted"))


async def test_one_that_comes_too_late_makes_way(plane_with_pods, world):
    assert plane_with_pods is world.plane
    await alone(world)
    await world.call(world.client.apply, node("node-a"))
    await queues(world, "4")
    async with controller(world, waiting(timeout="10s", block=True)):
        first = await start(world, "first", **NEVER)
        await until_stored(world, first, is_true("Admitted"))
        second = await start(world, "second")
        await until_stored(world, second, waits_for_others)
        late = await until_stored(world, first, is_true("Evicted"))
        assert condition(late, "Evicted")["reason"] == "PodsReadyTimeout"
        await until_stored(world, second, is_true("PodsReady"))


async def test_one_that_waits_and_is_deleted_holds_nobody_up(plane_with_pods, world):
    assert plane_with_pods is world.plane
    await alone(world)
    await world.call(world.client.apply, node("node-a"))
    await queues(world, "4")
    async with controller(world, waiting(block=True)):
        first = await start(world, "first", **NEVER)
        await until_stored(world, first, is_true("Admitted"))
        second = await start(world, "second")
        await until_stored(world, second, waits_for_others)
        await world.call(delete, world, job(world, "second"))
        third = await start(world, "third")
        await until_stored(world, third, waits_for_others)
        await let_pods_get_ready(world, "first")
        await until_stored(world, third, is_true("PodsReady"))
