"""LeaderWorkerSets on a real control plane with their own operator: groups come, wait for quota, and go."""

import pytest

from tests.app.test_controller import condition, controller, is_true, queues
from tests.app.test_jobs import node
from tests.app.test_kinds import LWS, container, until_listed
from tests.app.test_topology_ungater import RACK, rack_node, topology_queues
from tests.controlplane.world import KUEUE

pytestmark = pytest.mark.live

FRAMEWORKS = ("pod", "leaderworkerset.x-k8s.io/leaderworkerset")
GROUP_INDEX = "leaderworkerset.sigs.k8s.io/group-index"
GATES = [{"name": "kueue.x-k8s.io/admission"}, {"name": "kueue.x-k8s.io/topology"}]


def template(cpu, **annotations):
    """A template as Kueue's webhooks leave it: of the set for its keys, of pods for their gates."""
    return {
        "metadata": {
            "labels": {"kueue.x-k8s.io/queue-name": "main"},
            "annotations": {
                "kueue.x-k8s.io/pod-suspending-parent": "leaderworkerset.x-k8s.io/leaderworkerset",
                "kueue.x-k8s.io/pod-group-serving": "true",
                **annotations,
            },
        },
        "spec": {"containers": [container(cpu)], "schedulingGates": GATES},
    }


def leader_worker_set(world, replicas, *, size=3, leader=None, worker=None):
    return {
        "apiVersion": LWS,
        "kind": "LeaderWorkerSet",
        "metadata": {
            "name": "serve",
            "namespace": world.namespace,
            "labels": {"kueue.x-k8s.io/queue-name": "main"},
        },
        "spec": {
            "replicas": replicas,
            "leaderWorkerTemplate": {
                "size": size,
                "leaderTemplate": leader or template("1"),
                "workerTemplate": worker or template("1"),
            },
        },
    }


def running(pods):
    """Pods that run, by the number of their group."""
    found = {}
    for pod in pods:
        if pod["status"].get("phase") == "Running" and not pod["metadata"].get("deletionTimestamp"):
            found.setdefault(int(pod["metadata"]["labels"][GROUP_INDEX]), []).append(pod)
    return found


def of_size(pods, size):
    """Numbers of the groups that run with so many pods."""
    return {number for number, each in running(pods).items() if len(each) == size}


def index_of(workload):
    return int(workload["metadata"]["annotations"]["kueue.x-k8s.io/component-workload-index"])


async def scale(world, made, replicas):
    await world.call(world.client.merge, made, {"spec": {"replicas": replicas}})


async def test_groups_follow_the_replicas_as_far_as_quota_goes(plane_with_lws_operator, world):
    assert plane_with_lws_operator is world.plane
    await world.call(world.client.apply, node("node-a"))
    await queues(world, "9")
    made = leader_worker_set(world, 2)
    async with controller(world, frameworks=FRAMEWORKS):
        await world.call(world.client.create, made)
        await until_listed(world, "v1", "Pod", lambda pods: of_size(pods, 3) == {0, 1})
        workloads = await until_listed(world, KUEUE, "Workload", lambda found: len(found) == 2)
        assert {each["metadata"]["ownerReferences"][0]["name"] for each in workloads} == {"serve"}

        await scale(world, made, 4)
        # Either of the new groups may be the one that waits: they came together.
        await until_listed(world, "v1", "Pod", lambda pods: len(of_size(pods, 3)) == 3)
        workloads = await until_listed(
            world, KUEUE, "Workload", lambda found: all(condition(each, "QuotaReserved") for each in found)
        )
        waits = [index_of(each) for each in workloads if not is_true("Admitted")(each)]
        assert len(workloads) == 4
        pods = await world.call(world.client.list, "v1", "Pod", world.namespace)
        assert set(running(pods)) == {0, 1, 2, 3} - set(waits)
        gated = {pod["metadata"]["labels"][GROUP_INDEX] for pod in pods if pod["spec"].get("schedulingGates")}
        assert gated == {str(waits[0])}

        await scale(world, made, 1)
        await until_listed(world, KUEUE, "Workload", lambda found: [index_of(each) for each in found] == [0])
        await until_listed(world, "v1", "Pod", lambda pods: len(pods) == 3 and of_size(pods, 3) == {0})
        await world.call(world.client.delete, made)
        await until_listed(world, "v1", "Pod", lambda pods: not pods)
        await until_listed(world, KUEUE, "Workload", lambda found: not found)


async def test_leader_and_workers_stand_in_one_rack(plane_with_lws_operator, world):
    assert plane_with_lws_operator is world.plane
    # Two racks of four pods each: each holds one group of three.
    racks = {"a": "one", "b": "one", "c": "two", "d": "two"}
    for name, rack in racks.items():
        await world.call(world.client.create, rack_node(world, name, f"{world.namespace}-{rack}"))
    # Quota for more groups than the racks hold.
    await topology_queues(world, "20")
    together = {
        "kueue.x-k8s.io/podset-required-topology": RACK,
        "kueue.x-k8s.io/podset-group-name": "group",
    }
    workers = {**together, "kueue.x-k8s.io/pod-index-offset": "1"}
    made = leader_worker_set(world, 2, leader=template("1", **together), worker=template("1", **workers))
    async with controller(world, frameworks=FRAMEWORKS):
        await world.call(world.client.create, made)
        pods = await until_listed(world, "v1", "Pod", lambda pods: of_size(pods, 3) == {0, 1})
        nodes = {f"{world.namespace}-{name}": rack for name, rack in racks.items()}
        places = {
            number: {nodes[pod["spec"]["nodeName"]] for pod in each} for number, each in running(pods).items()
        }
        assert sorted(places.values(), key=str) == [{"one"}, {"two"}]

        await scale(world, made, 4)
        # The two that wait ask for the same: what is found for one holds for the other, which need not be looked at.
        workloads = await until_listed(
            world,
            KUEUE,
            "Workload",
            lambda found: (
                len(found) == 4 and sum(bool(condition(each, "QuotaReserved")) for each in found) > 2
            ),
        )
        said = {
            condition(each, "QuotaReserved")["message"]
            for each in workloads
            if index_of(each) >= 2 and condition(each, "QuotaReserved")
        }
        assert [
            each
            for each in said
            if f'topology "{world.namespace}" allows to fit only 1 out of 2 pod(s)' not in each
        ] == []
        assert {index_of(each) for each in workloads if is_true("Admitted")(each)} == {0, 1}

        await scale(world, made, 1)
        await until_listed(world, KUEUE, "Workload", lambda found: [index_of(each) for each in found] == [0])
        pods = await until_listed(world, "v1", "Pod", lambda pods: len(pods) == 3 and of_size(pods, 3) == {0})
        assert {nodes[pod["spec"]["nodeName"]] for pod in pods} == places[0]
        await world.call(world.client.delete, made)
        await until_listed(world, "v1", "Pod", lambda pods: not pods)
        await until_listed(world, KUEUE, "Workload", lambda found: not found)
