"""The topology ungater on a real control plane."""

import pytest

from tests.app.test_controller import controller, queues
from tests.app.test_jobs import job, until_job
from tests.controlplane.world import KUEUE

pytestmark = pytest.mark.live

RACK = "example.com/rack"


def rack_node(world, name, rack):
    """A node of this namespace's flavor with room for two pods of the test."""
    amounts = {"cpu": "2", "memory": "4Gi", "pods": "20"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": f"{world.namespace}-{name}",
            "labels": {
                "e2e/node": "yes",
                "pool": world.namespace,
                RACK: rack,
                "kubernetes.io/hostname": f"{world.namespace}-{name}",
            },
        },
        "status": {"allocatable": amounts, "capacity": amounts},
    }


async def topology_queues(world, cpu="8"):
    await queues(world, cpu)
    topology = {
        "apiVersion": KUEUE,
        "kind": "Topology",
        "metadata": {"name": world.namespace},
        "spec": {"levels": [{"nodeLabel": RACK}, {"nodeLabel": "kubernetes.io/hostname"}]},
    }
    flavor = {
        "apiVersion": KUEUE,
        "kind": "ResourceFlavor",
        "metadata": {"name": f"{world.namespace}-flavor"},
        "spec": {"nodeLabels": {"pool": world.namespace}, "topologyName": world.namespace},
    }
    for manifest in (topology, flavor):
        await world.call(world.client.apply, manifest)


async def test_pods_go_to_the_nodes_of_their_places_and_run(plane_with_pods, world):
    assert plane_with_pods is world.plane
    for name, rack in (("a", "one"), ("b", "two"), ("c", "two")):
        await world.call(world.client.create, rack_node(world, name, rack))
    await topology_queues(world)
    wanted = job(world, "wide", **{"kueue.x-k8s.io/podset-required-topology": RACK})
    wanted["spec"] |= {"parallelism": 4, "completions": 4}
    async with controller(world):
        await world.call(world.client.create, wanted)
        await until_job(world, "wide", lambda found: found.get("status", {}).get("ready") == 4)
    pods = await world.call(world.client.list, "v1", "Pod", world.namespace)
    assert not any(pod["spec"].get("schedulingGates") for pod in pods)
    want_hosts = [f"{world.namespace}-{name}" for name in ("b", "b", "c", "c")]
    assert sorted(pod["spec"]["nodeSelector"]["kubernetes.io/hostname"] for pod in pods) == want_hosts
    assert sorted(pod["spec"]["nodeName"] for pod in pods) == want_hosts
