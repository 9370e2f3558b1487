import asyncio

import pytest

from tests.app.test_controller import controller, queues
from tests.app.test_jobs import finished, node
from tests.controlplane.client import RequestError
from tests.controlplane.world import KUEUE

pytestmark = pytest.mark.live

GATE = {"name": "kueue.x-k8s.io/admission"}
RAY = "ray.io/v1"
LWS = "leaderworkerset.x-k8s.io/v1"


async def until_found(world, api_version, kind, name, holds):
    """Return the object once it holds; says how it was if that never comes."""
    found = None
    try:
        async with asyncio.timeout(40):
            while True:
                found = await world.call(world.client.get, api_version, kind, name, world.namespace)
                if holds(found):
                    return found
                await asyncio.sleep(0.05)
    except TimeoutError:
        pytest.fail(f"{kind} {name} stayed: {found}")


async def until_listed(world, api_version, kind, holds, seconds=40):
    found = None
    try:
        async with asyncio.timeout(seconds):
            while True:
                found = await world.call(world.client.list, api_version, kind, world.namespace)
                if holds(found):
                    return found
                await asyncio.sleep(0.05)
    except TimeoutError:
        pytest.fail(f"{kind} stayed: {found}")


def delete_if_there(client, manifest):
    """The garbage collector or a controller may have been faster."""
    try:
        client.delete(manifest)
    except RequestError as error:
        if error.status != 404:
            raise


async def reasons_of(world, controller_name):
    path = f"/apis/events.k8s.io/v1/namespaces/{world.namespace}/events"
    events = (await world.call(world.client.request, "GET", path))["items"]
    return {each["reason"] for each in events if each.get("reportingController") == controller_name}


def container(cpu="1", name="c"):
    return {"name": name, "image": "busybox", "resources": {"requests": {"cpu": cpu}}}


def pod(world, name, *, labels=None, annotations=None, finalizers=("kueue.x-k8s.io/managed",), owner=None):
    """A pod as Kueue's webhook leaves it."""
    metadata = {
        "name": name,
        "namespace": world.namespace,
        "labels": {
            "kueue.x-k8s.io/queue-name": "main",
            "kueue.x-k8s.io/managed": "true",
            **(labels or {}),
        },
        "annotations": annotations or {},
        "finalizers": list(finalizers),
    }
    if owner is not None:
        metadata["ownerReferences"] = [owner]
    spec = {"containers": [container()], "schedulingGates": [GATE], "restartPolicy": "Never"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def gated(found):
    return bool(found["spec"].get("schedulingGates"))


def ray_cluster(world, name, workers=2):
    """A RayCluster as Kueue's webhook leaves it; `rayStartParams` are fields that we do not read."""

    def group(**more):
        return {
            "rayStartParams": {"num-cpus": "1"},
            "template": {"spec": {"containers": [container(name="ray")]}},
            **more,
        }

    return {
        "apiVersion": RAY,
        "kind": "RayCluster",
        "metadata": {
            "name": name,
            "namespace": world.namespace,
            "labels": {"kueue.x-k8s.io/queue-name": "main"},
        },
        "spec": {
            "suspend": True,
            "headGroupSpec": group(),
            "workerGroupSpecs": [
                group(groupName="small", replicas=workers, minReplicas=0, maxReplicas=5),
                group(groupName="more", replicas=0, minReplicas=0, maxReplicas=5),
            ],
        },
    }


async def test_ray_clusters_are_preempted_and_come_again(plane_with_kuberay, world):
    assert plane_with_kuberay is world.plane
    await world.call(world.client.apply, node("node-a"))
    await queues(world, "3", preemption={"withinClusterQueue": "LowerPriority"})
    high = {"apiVersion": KUEUE, "kind": "WorkloadPriorityClass", "metadata": {"name": "high"}, "value": 100}
    await world.call(world.client.apply, {**high, "description": "first"})
    async with controller(world, frameworks=("batch/job", "ray.io/raycluster")):
        low = ray_cluster(world, "low")
        created = await world.call(world.client.create, low)
        ready = await until_found(
            world, RAY, "RayCluster", "low", lambda found: found.get("status", {}).get("state") == "ready"
        )
        assert ready["spec"]["suspend"] is False
        [head, small, more] = [ready["spec"]["headGroupSpec"], *ready["spec"]["workerGroupSpecs"]]
        assert [each["rayStartParams"] for each in (head, small, more)] == [{"num-cpus": "1"}] * 3
        assert small["maxReplicas"] == 5
        urgent = ray_cluster(world, "urgent", workers=1)
        urgent["metadata"]["labels"]["kueue.x-k8s.io/priority-class"] = "high"
        await world.call(world.client.create, urgent)
        await until_found(
            world, RAY, "RayCluster", "urgent", lambda found: found.get("status", {}).get("state") == "ready"
        )
        stopped = await until_found(world, RAY, "RayCluster", "low", lambda found: found["spec"]["suspend"])
        assert stopped["spec"] == created["spec"]
        await world.call(world.client.delete, urgent)
        await until_found(world, RAY, "RayCluster", "low", lambda found: not found["spec"]["suspend"])
    assert await reasons_of(world, "ray.io/raycluster-kueue-controller") == {
        "CreatedWorkload",
        "Started",
        "Stopped",
    }


async def test_pods_alone_run_one_after_the_other(plane_with_pods, world):
    assert plane_with_pods is world.plane
    await world.call(world.client.apply, node("node-a"))
    await queues(world, "1")
    async with controller(world, frameworks=("pod",)):
        for name in ("a", "b"):
            made = pod(world, name, annotations={"e2e/run-for": "1s"})
            await world.call(world.client.create, made)
        for name in ("a", "b"):
            found = await until_found(
                world, "v1", "Pod", name, lambda found: found.get("status", {}).get("phase") == "Succeeded"
            )
            assert not gated(found)
        workloads = await until_listed(world, KUEUE, "Workload", lambda found: all(map(finished, found)))
        assert len(workloads) == 2
        # Pods that are done are let go.
        await until_listed(
            world, "v1", "Pod", lambda found: not any(each["metadata"].get("finalizers") for each in found)
        )


async def test_a_group_of_pods_waits_for_its_members_and_runs_as_a_whole(plane_with_pods, world):
    assert plane_with_pods is world.plane
    await world.call(world.client.apply, node("node-a"))
    await queues(world, "2")

    def member(name):
        labels = {"kueue.x-k8s.io/pod-group-name": "group"}
        annotations = {
            "kueue.x-k8s.io/pod-group-total-count": "2",
            "kueue.x-k8s.io/role-hash": "role",
            "e2e/run-for": "1s",
        }
        return pod(world, name, labels=labels, annotations=annotations)

    async with controller(world, frameworks=("pod",)):
        await world.call(world.client.create, member("a"))
        await world.call(world.client.create, pod(world, "alone", annotations={"e2e/run-for": "1s"}))
        await until_found(world, "v1", "Pod", "alone", lambda found: not gated(found))
        assert gated(await world.call(world.client.get, "v1", "Pod", "a", world.namespace))
        await world.call(world.client.create, member("b"))
        for name in ("a", "b"):
            await until_found(
                world, "v1", "Pod", name, lambda found: found.get("status", {}).get("phase") == "Succeeded"
            )
        done = await until_found(world, KUEUE, "Workload", "group", finished)
    assert [each["name"] for each in done["metadata"]["ownerReferences"]] == ["a", "b"]


async def test_groups_of_a_leader_worker_set_come_and_go(plane_with_lws, world):
    assert plane_with_lws is world.plane
    await world.call(world.client.apply, node("node-a"))
    await queues(world, "4")
    template = {"spec": {"containers": [container()]}}
    made = {
        "apiVersion": LWS,
        "kind": "LeaderWorkerSet",
        "metadata": {
            "name": "serve",
            "namespace": world.namespace,
            "labels": {"kueue.x-k8s.io/queue-name": "main"},
        },
        "spec": {
            "replicas": 2,
            "rolloutStrategy": {"type": "RollingUpdate"},
            "startupPolicy": "LeaderCreated",
            "leaderWorkerTemplate": {"size": 1, "workerTemplate": template},
        },
    }
    async with controller(world, frameworks=("pod", "leaderworkerset.x-k8s.io/leaderworkerset")):
        stored = await world.call(world.client.create, made)
        workloads = await until_listed(world, KUEUE, "Workload", lambda found: len(found) == 2)
        assert all(each["metadata"]["ownerReferences"][0]["name"] == "serve" for each in workloads)
        # What the operator would make of it.
        leaders = {
            "apiVersion": "apps/v1",
            "kind": "StatefulSet",
            "metadata": {"name": "serve", "namespace": world.namespace},
            "spec": {
                "replicas": 0,
                "serviceName": "serve",
                "selector": {"matchLabels": {"a": "b"}},
                "template": {"metadata": {"labels": {"a": "b"}}, **template},
            },
        }
        owner = await world.call(world.client.create, leaders)
        for index in range(2):
            labels = {
                "leaderworkerset.sigs.k8s.io/name": "serve",
                "leaderworkerset.sigs.k8s.io/group-index": str(index),
            }
            parent = {
                "apiVersion": "apps/v1",
                "kind": "StatefulSet",
                "name": "serve",
                "uid": owner["metadata"]["uid"],
                "controller": True,
            }
            annotations = {"kueue.x-k8s.io/pod-suspending-parent": "leaderworkerset.x-k8s.io/leaderworkerset"}
            leader = pod(world, f"serve-{index}", labels=labels, annotations=annotations, owner=parent)
            del leader["metadata"]["labels"]["kueue.x-k8s.io/managed"]
            await world.call(world.client.create, leader)
        for index in range(2):
            await until_found(world, "v1", "Pod", f"serve-{index}", lambda found: not gated(found))
        await world.call(world.client.merge, made, {"spec": {"replicas": 1}})
        [left] = await until_listed(world, KUEUE, "Workload", lambda found: len(found) == 1)
        assert left["metadata"]["ownerReferences"][0]["uid"] == stored["metadata"]["uid"]
        await world.call(world.client.delete, made)
        for index in range(2):
            gone = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"serve-{index}"}}
            gone["metadata"]["namespace"] = world.namespace
            await world.call(delete_if_there, world.client, gone)
        # The garbage collector learns of a kind that was just installed half a minute later.
        await until_listed(world, KUEUE, "Workload", lambda found: not found, seconds=80)


async def test_a_kind_that_is_not_installed_stops_nothing(world):
    await queues(world)
    async with controller(world, frameworks=("batch/job", "jobset.x-k8s.io/jobset")) as started:
        assert started.cluster.reflectors["JobSet"].last_error is not None
