"""Nodes that fail under placed Jobs, on a real control plane. Source: TP-1401..1409, TP-1501..1510, TP-1904."""

import asyncio
from contextlib import asynccontextmanager

import pytest

from kueue_fast.api.decode import decode_object
from kueue_fast.model.placements import placements
from tests.app.test_controller import (
    cluster_queue,
    condition,
    controller,
    is_true,
    until_events,
    until_stored,
)
from tests.app.test_jobs import job, until_job
from tests.app.test_topology_ungater import RACK, rack_node, topology_queues
from tests.app.test_workloads import answer, events_of, set_active, workload_of
from tests.controlplane import account
from tests.controlplane.client import RequestError
from tests.controlplane.world import KUEUE

pytestmark = pytest.mark.live

ONE_RACK = {"kueue.x-k8s.io/podset-required-topology": RACK}
NOT_READY = {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute"}


@asynccontextmanager
async def nodes(world, *names):
    """Nodes of one rack with room for two pods each; gone afterwards, so that no other test has them."""
    assert world.plane
    for name in names:
        await world.call(world.client.create, rack_node(world, name, "one"))
    await topology_queues(world)
    try:
        yield
    finally:
        for name in names:
            await delete_node(world, name)


def node_reference(world, name):
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": f"{world.namespace}-{name}"}}


async def delete_node(world, name):
    try:
        await world.call(world.client.delete, node_reference(world, name))
    except RequestError as error:
        if error.status != 404:
            raise


def placed_job(world, name, pods=2, **pod_spec):
    made = job(world, name, **ONE_RACK)
    # Who lost a pod is not to wait long for the next one.
    made["spec"] |= {"parallelism": pods, "completions": pods, "backoffLimit": 100}
    made["spec"]["template"]["spec"] |= pod_spec
    return made


def places(world, found):
    """Pods by node of a Workload as the API server gives it, with the names that the test gave the nodes."""
    count = {}
    for placement in placements(decode_object(found)).values():
        for values, pods in placement.domains:
            name = values[-1].removeprefix(f"{world.namespace}-")
            count[name] = count.get(name, 0) + pods
    return count


def unhealthy(world, found):
    names = (each["name"] for each in found["status"].get("unhealthyNodes", []))
    return [name.removeprefix(f"{world.namespace}-") for name in names]


def settled(world, **want_places):
    """Placed like this, and no node is unhealthy."""
    return lambda found: places(world, found) == want_places and not unhealthy(world, found)


async def pods_of(world):
    return await world.call(world.client.list, "v1", "Pod", world.namespace)


async def end_pods(world):
    """What the pod garbage collector does with pods of a node that is gone, when it has waited for a while."""
    for pod in await pods_of(world):
        path = world.client.path_of({"apiVersion": "v1", "kind": "Pod", "metadata": pod["metadata"]})
        try:
            await world.call(world.client.request, "DELETE", path, {"gracePeriodSeconds": 0})
        except RequestError as error:
            if error.status != 404:
                raise


async def running_job(world, name, **more):
    """A Job whose pods run; gives the name of its Workload."""
    made = placed_job(world, name, **more)
    await world.call(world.client.create, made)
    await until_job(
        world, name, lambda found: found.get("status", {}).get("ready") == made["spec"]["parallelism"]
    )
    return await workload_of(world, name)


async def until_runs_on(world, nodes):
    """Return when pods run on these nodes, one for each time that a node is named, and nowhere else."""
    want_hosts = [f"{world.namespace}-{node}" for node in nodes]
    async with asyncio.timeout(90):
        while [host for host, phase in sorted(await hosts(world)) if phase == "Running"] != want_hosts:
            await asyncio.sleep(0.1)


async def hosts(world):
    return [(pod["spec"].get("nodeName", ""), pod["status"].get("phase")) for pod in await pods_of(world)]


async def test_node_that_is_deleted_is_replaced(plane_with_pods, world):
    assert plane_with_pods is world.plane
    async with nodes(world, "a", "b"), controller(world):
        name = await running_job(world, "j")
        before = await until_stored(world, name, settled(world, a=2))
        await delete_node(world, "a")
        after = await until_stored(world, name, settled(world, b=2))
        await end_pods(world)
        await until_runs_on(world, "bb")
        found = await until_events(world, 1)
    # It never lost its quota, and nothing of it was told again.
    for type_ in ("QuotaReserved", "Admitted"):
        assert condition(after, type_) == condition(before, type_)
    assert condition(after, "Evicted") == {}
    reasons = [each["reason"] for each in found if each["regarding"]["name"] == name]
    assert sorted(reasons) == ["Admitted", "QuotaReserved"]
    assert not any(each.get("series") for each in found if each["regarding"]["name"] == name)


async def test_only_the_pods_of_the_failed_node_move(plane_with_pods, world):
    assert plane_with_pods is world.plane
    async with nodes(world, "a", "b", "c"), controller(world):
        name = await running_job(world, "j", pods=4)
        await until_stored(world, name, settled(world, a=2, b=2))
        await delete_node(world, "a")
        await until_stored(world, name, settled(world, b=2, c=2))


async def test_node_that_is_not_ready_is_replaced_when_its_pods_have_gone(plane_with_pods, world):
    assert plane_with_pods is world.plane
    # Of many nodes one is broken: the node-lifecycle controller goes slowly where most are.
    async with nodes(world, "a", "b", "c", "d"), controller(world):
        name = await running_job(world, "j", tolerations=[{**NOT_READY, "tolerationSeconds": 1}])
        await until_stored(world, name, settled(world, a=2))
        broken = {"metadata": {"labels": {"e2e/broken": "true"}}}
        await world.call(world.client.merge, node_reference(world, "a"), broken)
        after = await until_stored(world, name, settled(world, b=2))
        await until_runs_on(world, "bb")
    assert condition(after, "Evicted") == {}


async def test_where_no_other_node_is_left_the_job_is_evicted_and_waits_for_one(plane_with_pods, world):
    assert plane_with_pods is world.plane
    async with nodes(world, "a"), controller(world):
        name = await running_job(world, "j")
        await delete_node(world, "a")
        lost = await until_stored(world, name, is_true("Evicted"))
        node = f"{world.namespace}-a"
        want = f"Workload was evicted as there was no replacement for unhealthy node(s): {node}"
        assert condition(lost, "Evicted")["reason"] == "NodeFailures"
        assert condition(lost, "Evicted")["message"] == want
        assert unhealthy(world, lost) == []
        await until_job(world, "j", lambda found: found["spec"]["suspend"] is True)
        await end_pods(world)
        free = await until_stored(world, name, lambda found: not is_true("QuotaReserved")(found))
        assert is_true("Requeued")(free)
        assert free["status"]["schedulingStats"]["evictions"] == [
            {"count": 1, "reason": "NodeFailures", "underlyingCause": ""}
        ]
        await world.call(world.client.create, rack_node(world, "b", "one"))
        try:
            await until_stored(world, name, settled(world, b=2))
            await until_runs_on(world, "bb")
        finally:
            await delete_node(world, "b")
        found = await until_events(world, 3)
    assert ("Normal", "EvictedDueToNodeFailures") in events_of(found, "kueue-admission")


async def test_second_node_that_fails_meanwhile_evicts(plane_with_pods, world):
    assert plane_with_pods is world.plane
    async with nodes(world, "a", "b", "c", "d"), controller(world):
        name = await running_job(world, "j", pods=4)
        await until_stored(world, name, settled(world, a=2, b=2))
        for node in "ab":
            await delete_node(world, node)
        lost = await until_stored(world, name, is_true("Evicted"))
        assert condition(lost, "Evicted")["reason"] == "NodeFailures"
        both = ", ".join(f"{world.namespace}-{node}" for node in "ab")
        assert condition(lost, "Evicted")["message"].endswith(f"failures, including: {both}")
        found = await until_events(world, 3)
        assert ("Normal", "EvictedDueToNodeFailures") in events_of(found, "tas-resource-flavor-controller")


async def test_node_that_comes_back_in_time_is_not_replaced(plane_with_pods, world):
    assert plane_with_pods is world.plane
    gates = {"TASFailedNodeReplacementFailFast": False}
    async with nodes(world, "a"), controller(world, feature_gates=gates):
        name = await running_job(world, "j")
        await delete_node(world, "a")
        await until_stored(world, name, lambda found: unhealthy(world, found) == ["a"])
        # Nobody has room for it, so that it tries again and again.
        events = await until_events(world, 3)
        while ("Warning", "SecondPassFailed") not in events_of(events, "kueue-admission"):
            events = await until_events(world, len(events) + 1)
        await world.call(world.client.create, rack_node(world, "a", "one"))
        back = await until_stored(world, name, settled(world, a=2))
    assert condition(back, "Evicted") == {}


def leads_in_its_own_namespace(configuration):
    configuration.leader_election.resource_namespace = account.NAMESPACE


@pytest.mark.parametrize("as_upstream", [False, True], ids=["administrator", "upstreams account"])
async def test_pods_that_would_never_start_on_a_tainted_node_end(
    plane_with_pods, world, tmp_path, caplog, as_upstream
):
    assert plane_with_pods is world.plane
    who = {}
    if as_upstream:
        who = {"configure": leads_in_its_own_namespace, "kubeconfig": tmp_path / "kubeconfig"}
        await world.call(account.install_account, world.plane, who["kubeconfig"])
    # Kueue does not look at it, and no node will do for the pods.
    terms = [{"labelSelector": {"matchLabels": {"no": "such-pod"}}, "topologyKey": "kubernetes.io/hostname"}]
    affinity = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    async with nodes(world, "a", "b"), controller(world, **who):
        await world.call(world.client.create, placed_job(world, "j", affinity=affinity))
        name = await workload_of(world, "j")
        await until_stored(world, name, settled(world, a=2))
        host = f"{world.namespace}-a"
        while not (found := await pods_of(world)) or not all(asks_for(pod, host) for pod in found):
            await asyncio.sleep(0.05)
        taint = {"spec": {"taints": [{"key": "gone", "effect": "NoSchedule"}]}}
        await world.call(world.client.merge, node_reference(world, "a"), taint)
        await until_stored(world, name, settled(world, b=2))
        # The Job makes others in their places.
        while (
            len(failed := [pod for pod in await pods_of(world) if pod["status"].get("phase") == "Failed"]) < 2
        ):
            await asyncio.sleep(0.05)
        for pod in failed:
            [ended] = [each for each in pod["status"]["conditions"] if each["type"] == "TerminatedByKueue"]
            assert (ended["status"], ended["reason"]) == ("True", "UnschedulableOnAssignedNode")
        events = await until_events(world, 4)
        while ("Normal", "PodTerminatedByKueue") not in events_of(events, "tas-resource-flavor-controller"):
            events = await until_events(world, len(events) + 1)
    assert "forbidden" not in caplog.text.replace("events.events.k8s.io is forbidden", "")


def asks_for(pod, host):
    selector = pod["spec"].get("nodeSelector", {})
    return not pod["spec"].get("schedulingGates") and selector.get("kubernetes.io/hostname") == host


async def test_room_that_another_pod_leaves_is_used(plane_with_pods, world):
    assert plane_with_pods is world.plane
    async with nodes(world, "a"), controller(world):
        other = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "other", "namespace": world.namespace},
            "spec": {
                "nodeName": f"{world.namespace}-a",
                "containers": [{"name": "c", "image": "busybox", "resources": {"requests": {"cpu": "1"}}}],
            },
        }
        await world.call(world.client.create, other)
        await world.call(world.client.create, placed_job(world, "j"))
        name = await workload_of(world, "j")
        waits = await until_stored(world, name, lambda found: condition(found, "QuotaReserved"))
        assert condition(waits, "QuotaReserved")["status"] == "False"
        assert "topology" in condition(waits, "QuotaReserved")["message"]
        path = world.client.path_of(other)
        await world.call(world.client.request, "DELETE", path, {"gracePeriodSeconds": 0})
        await until_stored(world, name, settled(world, a=2))


async def test_places_come_when_the_nodes_are_provisioned(plane_with_pods, world):
    """TP-608, TP-1604: quota first, then the check, then places, which admit the Workload."""
    assert plane_with_pods is world.plane
    check = {
        "apiVersion": KUEUE,
        "kind": "AdmissionCheck",
        "metadata": {"name": world.namespace},
        "spec": {"controllerName": "kueue.x-k8s.io/provisioning-request"},
    }
    async with nodes(world, "a"):
        await world.call(world.client.apply, check)
        await set_active(world, check, "True")
        strategy = {"admissionChecks": [{"name": world.namespace}]}
        queue = cluster_queue(world.namespace, "8", admissionChecksStrategy=strategy)
        await world.call(world.client.apply, queue)
        async with controller(world):
            await world.call(world.client.create, placed_job(world, "j"))
            name = await workload_of(world, "j")
            reserved = await until_stored(world, name, is_true("QuotaReserved"))
            [pod_set] = reserved["status"]["admission"]["podSetAssignments"]
            assert (pod_set["delayedTopologyRequest"], places(world, reserved)) == ("Pending", {})
            await answer(world, name, "Ready")
            placed = await until_stored(world, name, is_true("Admitted"))
            [pod_set] = placed["status"]["admission"]["podSetAssignments"]
            assert (pod_set["delayedTopologyRequest"], places(world, placed)) == ("Ready", {"a": 2})
            await until_runs_on(world, "aa")
            found = await until_events(world, 2)
    reasons = [each["reason"] for each in found if each["regarding"]["name"] == name]
    assert sorted(reasons) == ["Admitted", "QuotaReserved"]
