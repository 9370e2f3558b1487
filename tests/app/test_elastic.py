"""Elastic jobs on a real control plane, as users resize them: pods beyond the admitted slice wait at their gate."""

import pytest

from tests.app.ray_makers import (
    FRAMEWORKS,
    GATE,
    RAY,
    ask_for,
    ray_cluster,
    until,
    until_pods,
    until_slices,
)
from tests.app.test_controller import controller, make, queues, stored, until_stored
from tests.app.test_controller import is_true as holds
from tests.app.test_jobs import job, node
from tests.app.test_topology_ungater import rack_node, topology_queues
from tests.controlplane.world import KUEUE

pytestmark = pytest.mark.live

REPLACED = "WorkloadSliceReplaced"


def elastic_job(world, name, pods):
    made = job(world, name)
    made["metadata"]["annotations"] = {GATE: "true"}
    made["spec"] |= {"parallelism": pods, "completions": 100}
    made["spec"]["template"]["spec"]["schedulingGates"] = [{"name": GATE}]
    return made


async def end(world, name):
    """Finish a Workload that has no job."""
    found = await stored(world, name)
    ended = {"type": "Finished", "status": "True", "reason": "Succeeded", "message": "done"}
    ended["lastTransitionTime"] = "2026-01-01T00:00:00Z"
    change = {"status": {"conditions": [*found["status"]["conditions"], ended]}}
    await world.call(world.client.merge, found, change, "status")


async def reasons(world):
    path = f"/apis/events.k8s.io/v1/namespaces/{world.namespace}/events"
    return {each["reason"] for each in (await world.call(world.client.request, "GET", path))["items"]}


async def test_a_job_grows_from_2_over_4_to_8_and_shrinks_to_3(plane_with_pods, world):
    assert plane_with_pods is world.plane
    await world.call(world.client.apply, node("node-a"))
    await queues(world, "8")
    made = elastic_job(world, "training", 2)

    async def resize(pods):
        await world.call(world.client.merge, made, {"spec": {"parallelism": pods}})

    async with controller(world):
        await make(world, "other", "3")
        await until_stored(world, "other", holds("Admitted"))
        await world.call(world.client.create, made)
        await until_pods(world, 2)
        await until_slices(world, "training", ((2,), "Admitted"))
        await resize(4)
        await until_pods(world, 4)
        await until_slices(world, "training", ((2,), REPLACED), ((4,), "Admitted"))
        # Another Workload has what the next size needs: its pods are there, and held.
        await resize(8)
        await until_pods(world, 4, gated=4)
        await until_slices(world, "training", ((2,), REPLACED), ((4,), "Admitted"), ((8,), "waits"))
        await end(world, "other")
        await until_pods(world, 8)
        await until_slices(world, "training", ((2,), REPLACED), ((4,), REPLACED), ((8,), "Admitted"))
        # Smaller at once, and what is free goes to whoever waits.
        await make(world, "next", "5")
        await resize(3)
        await until_pods(world, 3)
        await until_slices(world, "training", ((2,), REPLACED), ((3,), "Admitted"), ((4,), REPLACED))
        await until_stored(world, "next", holds("Admitted"))
    # What happens while nobody decides is made up for.
    await end(world, "next")
    await resize(5)
    await until_pods(world, 3, gated=2)
    async with controller(world):
        await until_pods(world, 5)
    workloads = await world.call(world.client.list, KUEUE, "Workload", world.namespace)
    slices = [each for each in workloads if each["metadata"]["name"].startswith("job-training-")]
    names = {each["metadata"]["annotations"]["kueue.x-k8s.io/workload-slice-name"] for each in slices}
    assert names <= {each["metadata"]["name"] for each in slices}
    assert len(names) == 1
    assert {"CreatedWorkload", "Started"} <= await reasons(world)


async def test_a_ray_cluster_is_resized_as_its_autoscaler_asks(plane_with_kuberay, world):
    assert plane_with_kuberay is world.plane
    await world.call(world.client.apply, node("node-a"))
    await queues(world, "6")
    made = ray_cluster(world, "tune", workers=0, elastic=True)

    async with controller(world, frameworks=FRAMEWORKS):
        await world.call(world.client.create, made)
        await until_pods(world, 1)
        await ask_for(world, 2)
        await until_pods(world, 3)
        await until_slices(world, "tune", ((1, 0), REPLACED), ((1, 2), "Admitted"))
        await ask_for(world, 9)
        await until_pods(world, 3, gated=7)
        await until_slices(world, "tune", ((1, 0), REPLACED), ((1, 2), "Admitted"), ((1, 9), "waits"))
        # The slice that waits follows, and fits now.
        await ask_for(world, 5)
        await until_pods(world, 6)
        await until_slices(world, "tune", ((1, 0), REPLACED), ((1, 2), REPLACED), ((1, 5), "Admitted"))
        await ask_for(world, 1)
        await until_pods(world, 2)
        await until_slices(world, "tune", ((1, 0), REPLACED), ((1, 1), "Admitted"), ((1, 2), REPLACED))
        found = await world.call(world.client.get, RAY, "RayCluster", "tune", world.namespace)
    assert not found["spec"]["suspend"]


async def test_a_job_on_a_topology_grows_to_the_places_of_its_new_slice(plane_with_pods, world):
    assert plane_with_pods is world.plane
    for name, rack in (("a", "one"), ("b", "two"), ("c", "two")):
        await world.call(world.client.create, rack_node(world, name, rack))
    await topology_queues(world)
    made = elastic_job(world, "training", 2)
    annotations = made["spec"]["template"]["metadata"]["annotations"]
    annotations["kueue.x-k8s.io/podset-unconstrained-topology"] = "true"

    async def racks():
        """Racks of the pods that run, and how many do not."""
        pods = await world.call(world.client.list, "v1", "Pod", world.namespace)
        running = [each for each in pods if each["status"]["phase"] == "Running"]
        found = ["one" if each["spec"]["nodeName"].endswith("-a") else "two" for each in running]
        return sorted(found), len(pods) - len(running)

    async with controller(world):
        await world.call(world.client.create, made)
        await until(racks, lambda found: found == (["one"] * 2, 0))
        # The new slice has places for all its pods beside those that run: these stay where they are.
        await world.call(world.client.merge, made, {"spec": {"parallelism": 4}})
        await until(racks, lambda found: found == (["one"] * 2 + ["two"] * 2, 0))
        await until_slices(world, "training", ((2,), REPLACED), ((4,), "Admitted"))
        pods = await world.call(world.client.list, "v1", "Pod", world.namespace)
        lost = next(each for each in pods if each["spec"]["nodeName"].endswith("-a"))
        await world.call(world.client.delete, {"apiVersion": "v1", "kind": "Pod", **lost})
        # The one that is made for it names the first slice still, and gets a place of the one that stands.
        await until(racks, lambda found: found == (["one"] + ["two"] * 3, 0))
