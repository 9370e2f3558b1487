"""Ray's jobs and services on a real control plane with KubeRay, as Kueue's guides on them go.

`plane.dashboards` answer for Ray itself: a job runs until the test ends it.
"""

import pytest

from tests.app.ray_makers import (
    FRAMEWORKS,
    RAY,
    ask_for,
    priority_class,
    ray_job,
    ray_service,
    slices,
    until,
    until_pods,
    until_slices,
)
from tests.app.test_controller import controller, make, queues, until_stored
from tests.app.test_controller import is_true as holds
from tests.app.test_elastic import REPLACED, end
from tests.app.test_jobs import node

pytestmark = pytest.mark.live

PREEMPTS = {"preemption": {"withinClusterQueue": "LowerPriority"}}


async def found(world, kind, name):
    return await world.call(world.client.get, RAY, kind, name, world.namespace)


async def until_status(world, name, field, want):
    """Wait for what KubeRay says of a RayJob."""
    return await until(
        lambda: found(world, "RayJob", name), lambda found: found.get("status", {}).get(field) == want
    )


async def finish(world, name):
    """Ray says that the job succeeded, and its submitter ends."""
    running = await until_status(world, name, "jobDeploymentStatus", "Running")
    world.plane.dashboards.end(running["status"]["jobId"])
    pods = await world.call(world.client.list, "v1", "Pod", world.namespace)
    for pod in pods:
        if pod["metadata"]["labels"].get("batch.kubernetes.io/job-name") == name:
            annotations = {"e2e/run-for": "10ms"}
            metadata = {**pod["metadata"], "annotations": annotations}
            await world.call(
                world.client.merge,
                {"apiVersion": "v1", "kind": "Pod", "metadata": metadata},
                {"metadata": {"annotations": annotations}},
            )
    return await until_status(world, name, "jobDeploymentStatus", "Complete")


async def clusters(world):
    """RayClusters by whether they are suspended."""
    made = await world.call(world.client.list, RAY, "RayCluster", world.namespace)
    return [bool(each["spec"].get("suspend")) for each in made]


async def until_serving(world, name):
    """Wait until KubeRay calls a RayService ready."""
    await until(
        lambda: found(world, "RayService", name),
        lambda found: any(
            each["type"] == "Ready" and each["status"] == "True"
            for each in found.get("status", {}).get("conditions", [])
        ),
    )


async def test_a_gang_starts_as_a_whole_or_waits_as_a_whole(plane_with_kuberay, world):
    assert plane_with_kuberay is world.plane
    await world.call(world.client.apply, node("node-a"))
    # Head, worker and submitter of one job, and nearly those of another.
    await queues(world, "4")
    async with controller(world, frameworks=FRAMEWORKS):
        await world.call(world.client.create, ray_job(world, "first"))
        await until_pods(world, 3)
        await world.call(world.client.create, ray_job(world, "second"))
        await until_slices(world, "second", ((1, 1, 1), "waits"))
        assert (await found(world, "RayJob", "second"))["spec"]["suspend"] is True
        done = await finish(world, "first")
        assert done["status"]["jobStatus"] == "SUCCEEDED"
        await until_slices(world, "first", ((1, 1, 1), "Succeeded"))
        await until_slices(world, "second", ((1, 1, 1), "Admitted"))
        await finish(world, "second")
        await until_slices(world, "second", ((1, 1, 1), "Succeeded"))


async def test_production_goes_before_development(plane_with_kuberay, world):
    assert plane_with_kuberay is world.plane
    await world.call(world.client.apply, node("node-a"))
    await queues(world, "3", **PREEMPTS)
    await priority_class(world, "prod-priority", 1000)
    await priority_class(world, "dev-priority", 100)
    async with controller(world, frameworks=FRAMEWORKS):
        await world.call(world.client.create, ray_job(world, "dev", priority="dev-priority"))
        await until_status(world, "dev", "jobDeploymentStatus", "Running")
        await world.call(world.client.create, ray_job(world, "prod", priority="prod-priority"))
        # Its cluster and its submitter are gone as long as it waits.
        await until_status(world, "dev", "jobDeploymentStatus", "Suspended")
        await until_status(world, "prod", "jobDeploymentStatus", "Running")
        await until_pods(world, 3)
        await until_slices(world, "dev", ((1, 1, 1), "waits"))
        await finish(world, "prod")
        await until_status(world, "dev", "jobDeploymentStatus", "Running")
        await finish(world, "dev")
        await until_slices(world, "dev", ((1, 1, 1), "Succeeded"))


@pytest.mark.parametrize("elastic", [False, True])
async def test_a_service_that_had_to_wait_serves_and_comes_back_after_an_eviction(
    plane_with_kuberay, world, elastic
):
    assert plane_with_kuberay is world.plane
    await world.call(world.client.apply, node("node-a"))
    await queues(world, "2", **PREEMPTS)
    async with controller(world, frameworks=FRAMEWORKS):
        await make(world, "other", "1")
        await until_stored(world, "other", holds("Admitted"))
        await world.call(world.client.create, ray_service(world, "fruit", elastic=elastic))
        await until_slices(world, "fruit", ((1, 1), "waits"))
        # KubeRay makes a cluster all the same, which it would not release.
        await until(lambda: clusters(world), lambda found: found == [True])
        await end(world, "other")
        await until_pods(world, 2)
        await until(lambda: clusters(world), lambda found: found == [False])
        await until_serving(world, "fruit")
        await make(world, "urgent", "1", value=100)
        await until_stored(world, "urgent", holds("Admitted"))
        await until_pods(world, 0)
        await until_slices(world, "fruit", ((1, 1), "waits"))
        await end(world, "urgent")
        await until_pods(world, 2)
        await until_serving(world, "fruit")


async def test_an_elastic_service_that_had_to_wait_serves_and_is_resized(plane_with_kuberay, world):
    assert plane_with_kuberay is world.plane
    await world.call(world.client.apply, node("node-a"))
    await queues(world, "4")
    # Clusters are looked at for the service's sake, also where they are no jobs to Kueue themselves.
    async with controller(world, frameworks=("ray.io/rayservice",)):
        await make(world, "other", "3")
        await until_stored(world, "other", holds("Admitted"))
        await world.call(world.client.create, ray_service(world, "fruit", elastic=True))
        await until(lambda: clusters(world), lambda found: found == [True])
        await end(world, "other")
        await until_pods(world, 2)
        await until_serving(world, "fruit")
        await until_slices(world, "fruit", ((1, 1), "Admitted"))
        await ask_for(world, 3)
        await until_pods(world, 4)
        await until_slices(world, "fruit", ((1, 1), REPLACED), ((1, 3), "Admitted"))
        await ask_for(world, 2)
        await until_pods(world, 3)
        await until_slices(world, "fruit", ((1, 1), REPLACED), ((1, 2), "Admitted"))


async def test_an_elastic_job_is_resized_while_it_runs_and_ends(plane_with_kuberay, world):
    assert plane_with_kuberay is world.plane
    await world.call(world.client.apply, node("node-a"))
    await queues(world, "5")
    async with controller(world, frameworks=FRAMEWORKS):
        await world.call(world.client.create, ray_job(world, "tune", elastic=True))
        await until_status(world, "tune", "jobDeploymentStatus", "Running")
        await until_pods(world, 3)
        await ask_for(world, 3)
        await until_pods(world, 5)
        await until_slices(world, "tune", ((1, 1, 1), REPLACED), ((1, 3, 1), "Admitted"))
        await ask_for(world, 5)
        await until_pods(world, 5, gated=2)
        await until_slices(
            world, "tune", ((1, 1, 1), REPLACED), ((1, 3, 1), "Admitted"), ((1, 5, 1), "waits")
        )
        await ask_for(world, 2)
        await until_pods(world, 4)
        await finish(world, "tune")
        await until(
            lambda: slices(world, "tune"),
            lambda found: {state for _, state in found} == {REPLACED, "Succeeded"},
        )
