"""StatefulSets on a real control plane: their pods are one group, which waits for quota, comes and goes as a whole."""

import pytest

from tests.app.test_controller import controller, queues
from tests.app.test_jobs import node
from tests.app.test_kinds import container, gated, reasons_of, until_found, until_listed
from tests.controlplane.world import KUEUE

pytestmark = pytest.mark.live

GATES = [{"name": "kueue.x-k8s.io/admission"}, {"name": "kueue.x-k8s.io/topology"}]


def stateful_set(world, name, replicas):
    """A StatefulSet as Kueue's webhooks leave it: itself for the mark of its pods, these for their gates."""
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {
            "name": name,
            "namespace": world.namespace,
            "labels": {"kueue.x-k8s.io/queue-name": "main"},
        },
        "spec": {
            "replicas": replicas,
            "serviceName": name,
            "podManagementPolicy": "Parallel",
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {
                    "labels": {"app": name},
                    "annotations": {"kueue.x-k8s.io/pod-suspending-parent": "statefulset"},
                },
                "spec": {"containers": [container()], "schedulingGates": GATES},
            },
        },
    }


def ready(count):
    return lambda found: found.get("status", {}).get("readyReplicas", 0) == count


def reserved(workload):
    """Status and reason of its reservation."""
    known = {each["type"]: each for each in workload.get("status", {}).get("conditions", [])}
    found = known.get("QuotaReserved", {})
    return found.get("status"), found.get("reason")


async def test_all_pods_run_or_none(plane_with_pods, world):
    assert plane_with_pods is world.plane
    await world.call(world.client.apply, node("node-a"))
    await queues(world, "3")
    first, second = stateful_set(world, "first", 2), stateful_set(world, "second", 2)
    async with controller(world, frameworks=("pod", "statefulset")):
        await world.call(world.client.create, first)
        await until_found(world, "apps/v1", "StatefulSet", "first", ready(2))
        [of_first] = await until_listed(world, KUEUE, "Workload", lambda found: len(found) == 1)
        owners = [each["kind"] for each in of_first["metadata"]["ownerReferences"]]
        assert owners == ["StatefulSet", "Pod", "Pod"]
        await world.call(world.client.create, second)
        pods = await until_listed(world, "v1", "Pod", lambda found: len(found) == 4)
        assert {each["metadata"]["name"] for each in pods if gated(each)} == {"second-0", "second-1"}
        # At none it keeps its Workload and gives its quota back.
        await world.call(world.client.merge, first, {"spec": {"replicas": 0}})
        held = await until_found(
            world,
            KUEUE,
            "Workload",
            of_first["metadata"]["name"],
            lambda found: reserved(found) == ("False", "OnHold"),
        )
        assert held["metadata"]["uid"] == of_first["metadata"]["uid"]
        await until_found(world, "apps/v1", "StatefulSet", "second", ready(2))
        await world.call(world.client.delete, second)
        await world.call(world.client.merge, first, {"spec": {"replicas": 2}})
        await until_found(world, "apps/v1", "StatefulSet", "first", ready(2))
    assert await reasons_of(world, "statefulset-kueue-controller") == {"CreatedWorkload"}
