"""Pods and groups of them on a real control plane, as users and kubelets delete them."""

import pytest

from tests.app.test_controller import condition, controller, queues
from tests.app.test_jobs import node
from tests.app.test_kinds import gated, pod, reasons_of, until_found, until_listed
from tests.controlplane.world import KUEUE

pytestmark = pytest.mark.live

WAITING = "WaitingForReplacementPods"
PODS = "pod-kueue-controller"


def member(world, name, **annotations):
    """A pod of a group of two."""
    total = {"kueue.x-k8s.io/pod-group-total-count": "2", "kueue.x-k8s.io/role-hash": "role"}
    labels = {"kueue.x-k8s.io/pod-group-name": "group"}
    return pod(world, name, labels=labels, annotations={**total, **annotations})


def runs(found):
    return found.get("status", {}).get("phase") == "Running"


def nothing(found):
    return not found


async def test_a_pod_that_is_deleted_goes_whether_it_waits_or_runs(plane_with_pods, world):
    assert plane_with_pods is world.plane
    await world.call(world.client.apply, node("node-a"))
    await queues(world, "1")
    async with controller(world, frameworks=("pod",)):
        first, second = pod(world, "first"), pod(world, "second")
        await world.call(world.client.create, first)
        await until_found(world, "v1", "Pod", "first", runs)
        await world.call(world.client.create, second)
        await until_listed(world, KUEUE, "Workload", lambda found: len(found) == 2)
        assert gated(await world.call(world.client.get, "v1", "Pod", "second", world.namespace))
        for each in (second, first):
            await world.call(world.client.delete, each)
        await until_listed(world, "v1", "Pod", nothing)
        await until_listed(world, KUEUE, "Workload", nothing)


async def test_a_failed_member_is_replaced_and_all_go_with_their_workload(plane_with_pods, world):
    assert plane_with_pods is world.plane
    await world.call(world.client.apply, node("node-a"))
    await queues(world, "2")

    def waits(status):
        return lambda found: (condition(found, WAITING) or {}).get("status") == status

    async with controller(world, frameworks=("pod",)):
        for name in ("a", "b"):
            await world.call(world.client.create, member(world, name))
        failing = await until_found(world, "v1", "Pod", "b", runs)
        await world.call(world.client.merge, failing, {"metadata": {"annotations": {"e2e/fail-after": "0s"}}})
        await until_found(world, KUEUE, "Workload", "group", waits("True"))
        await world.call(world.client.create, member(world, "c"))
        whole = await until_found(world, KUEUE, "Workload", "group", waits("False"))
        await until_found(world, "v1", "Pod", "c", runs)
        before = await reasons_of(world, PODS)
        await world.call(world.client.delete, whole)
        # The one that failed was let go when it was replaced.
        await until_listed(
            world, "v1", "Pod", lambda found: {each["metadata"]["name"] for each in found} == {"b"}
        )
        await until_listed(world, KUEUE, "Workload", nothing)
    assert await reasons_of(world, PODS) == {*before, "Stopped"}
