import asyncio

import pytest

from tests.app.test_controller import controller, queues, stored
from tests.controlplane.world import KUEUE

pytestmark = pytest.mark.live


def job(world, name, **annotations):
    """A Job that runs as long as the test plane's stages say."""
    container = {"name": "c", "image": "busybox", "resources": {"requests": {"cpu": "1"}}}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": name,
            "namespace": world.namespace,
            "labels": {"kueue.x-k8s.io/queue-name": "main"},
        },
        "spec": {
            "suspend": True,
            "template": {
                "metadata": {"annotations": annotations},
                "spec": {"containers": [container], "restartPolicy": "Never"},
            },
        },
    }


def node(name):
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": {"e2e/node": "yes"}}}


async def until_job(world, name, holds):
    while not holds(found := await world.call(world.client.get, "batch/v1", "Job", name, world.namespace)):
        await asyncio.sleep(0.05)
    return found


async def test_jobs_run_one_after_the_other(plane_with_pods, world):
    assert plane_with_pods is world.plane
    await world.call(world.client.apply, node("node-a"))
    await queues(world, "1")
    async with controller(world):
        for name in ("a", "b"):
            await world.call(world.client.create, job(world, name, **{"e2e/run-for": "1s"}))
        for name in ("a", "b"):
            done = await until_job(world, name, lambda found: found.get("status", {}).get("succeeded") == 1)
            assert done["spec"]["suspend"] is False
        workloads = await world.call(world.client.list, KUEUE, "Workload", world.namespace)
        while not all(finished(each) for each in workloads) or len(workloads) != 2:
            await asyncio.sleep(0.05)
            workloads = await world.call(world.client.list, KUEUE, "Workload", world.namespace)
    assert sorted(each["metadata"]["ownerReferences"][0]["name"] for each in workloads) == ["a", "b"]
    path = f"/apis/events.k8s.io/v1/namespaces/{world.namespace}/events"
    events = (await world.call(world.client.request, "GET", path))["items"]
    ours = {
        each["reason"] for each in events if each.get("reportingController") == "batch/job-kueue-controller"
    }
    assert ours == {"CreatedWorkload", "Started", "FinishedWorkload"}


async def test_preempted_job_stops_and_runs_again(plane_with_pods, world):
    assert plane_with_pods is world.plane
    await world.call(world.client.apply, node("node-a"))
    await queues(world, "1", preemption={"withinClusterQueue": "LowerPriority"})
    high = {"apiVersion": KUEUE, "kind": "WorkloadPriorityClass", "metadata": {"name": "high"}, "value": 100}
    await world.call(world.client.apply, {**high, "description": "first"})
    async with controller(world):
        await world.call(world.client.create, job(world, "low"))
        await until_job(world, "low", lambda found: found.get("status", {}).get("ready") == 1)
        urgent = job(world, "urgent", **{"e2e/run-for": "1s"})
        urgent["metadata"]["labels"]["kueue.x-k8s.io/priority-class"] = "high"
        await world.call(world.client.create, urgent)
        await until_job(world, "low", lambda found: found["spec"]["suspend"] is True)
        await until_job(world, "urgent", lambda found: found.get("status", {}).get("succeeded") == 1)
        await until_job(world, "low", lambda found: found["spec"]["suspend"] is False)
        await until_job(world, "low", lambda found: found.get("status", {}).get("ready") == 1)
    workloads = await world.call(world.client.list, KUEUE, "Workload", world.namespace)
    [low] = [each for each in workloads if each["metadata"]["ownerReferences"][0]["name"] == "low"]
    found = await stored(world, low["metadata"]["name"])
    assert found["status"]["schedulingStats"]["evictions"] == [
        {"count": 1, "reason": "Preempted", "underlyingCause": ""}
    ]


async def test_a_job_that_is_changed_while_it_runs_gets_another_workload_of_what_its_user_wrote(
    plane_with_pods, world
):
    assert plane_with_pods is world.plane
    await world.call(world.client.apply, node("node-a"))
    await queues(world, "4")
    made = job(world, "a")
    made["spec"] |= {"parallelism": 1, "completions": 10}
    async with controller(world):
        await world.call(world.client.create, made)
        await until_job(world, "a", lambda found: found.get("status", {}).get("ready") == 1)
        [before] = await world.call(world.client.list, KUEUE, "Workload", world.namespace)
        await world.call(world.client.merge, made, {"spec": {"parallelism": 3}})
        await until_job(world, "a", lambda found: found.get("status", {}).get("ready") == 3)
        [after] = await world.call(world.client.list, KUEUE, "Workload", world.namespace)
    assert after["metadata"]["uid"] != before["metadata"]["uid"]
    [old], [new] = before["spec"]["podSets"], after["spec"]["podSets"]
    assert (old["count"], new["count"]) == (1, 3)
    # Nothing of what the first admission had added.
    assert new["template"] == old["template"]


def finished(workload):
    conditions = workload.get("status", {}).get("conditions", [])
    return any(each["type"] == "Finished" and each["status"] == "True" for each in conditions)


async def test_workload_whose_job_went_while_nobody_led(world):
    await queues(world, "1")
    orphan = world.workload("orphan")
    orphan["metadata"] |= {
        "finalizers": ["kueue.x-k8s.io/resource-in-use"],
        "ownerReferences": [
            {"apiVersion": "batch/v1", "kind": "Job", "name": "gone", "uid": "gone", "controller": True}
        ],
    }
    await world.call(world.client.create, orphan)
    await world.call(world.client.delete, orphan)
    async with controller(world):
        await until_gone(world, "Workload", "orphan")


async def until_gone(world, kind, name):
    async with asyncio.timeout(30):
        while name in [
            each["metadata"]["name"]
            for each in await world.call(world.client.list, KUEUE, kind, world.namespace)
        ]:
            await asyncio.sleep(0.02)
