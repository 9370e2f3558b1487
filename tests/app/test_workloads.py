"""The Workload controller on a real control plane: what stops Workloads, what they wait for, and when they go."""

import asyncio

import pytest

from kueue_fast.api.configuration_types import (
    ObjectRetentionPolicies,
    RequeuingStrategy,
    WaitForPodsReady,
    WorkloadRetentionPolicy,
)
from tests.app.test_controller import (
    cluster_queue,
    condition,
    controller,
    is_true,
    make,
    queues,
    stored,
    until_events,
    until_stored,
)
from tests.app.test_jobs import job, node, until_job
from tests.controlplane.client import RequestError
from tests.controlplane.world import KUEUE

pytestmark = pytest.mark.live


async def set_spec(world, kind, name, **spec):
    manifest = {"apiVersion": KUEUE, "kind": kind, "metadata": {"name": name, "namespace": world.namespace}}
    await world.call(world.client.merge, manifest, {"spec": spec})


async def workload_of(world, job_name):
    """Name of the Job's Workload, once there is one."""
    while True:
        for each in await world.call(world.client.list, KUEUE, "Workload", world.namespace):
            if each["metadata"]["ownerReferences"][0]["name"] == job_name:
                return each["metadata"]["name"]
        await asyncio.sleep(0.02)


async def until_gone(world, kind, name):
    async with asyncio.timeout(30):
        while True:
            try:
                await world.call(world.client.get, KUEUE, kind, name, world.namespace)
            except RequestError as error:
                if error.status != 404:
                    raise
                return
            await asyncio.sleep(0.02)


async def until_kept(world, manifest):
    """Return the object once it has Kueue's finalizer. Fails if it is gone."""
    while True:
        found = await world.call(
            world.client.get, KUEUE, manifest["kind"], manifest["metadata"]["name"], world.namespace
        )
        if found["metadata"].get("finalizers") == ["kueue.x-k8s.io/resource-in-use"]:
            return found
        await asyncio.sleep(0.02)


def reason_is(type_, reason):
    return lambda found: condition(found, type_).get("reason") == reason


def events_of(found, controller_name):
    return {
        (each["type"], each["reason"]) for each in found if each.get("reportingController") == controller_name
    }


STOPS = [
    ("ClusterQueue", "ClusterQueueStopped", "The ClusterQueue is stopped", "ClusterQueueRestarted"),
    ("LocalQueue", "LocalQueueStopped", "The LocalQueue is stopped", "LocalQueueRestarted"),
]


@pytest.mark.parametrize(("kind", "reason", "message", "back"), STOPS, ids=[each[0] for each in STOPS])
async def test_queue_is_drained_and_started_again(plane_with_pods, world, kind, reason, message, back):
    assert plane_with_pods is world.plane
    await world.call(world.client.apply, node("node-a"))
    await queues(world, "1")
    name = world.namespace if kind == "ClusterQueue" else "main"
    async with controller(world):
        await world.call(world.client.create, job(world, "j"))
        await until_job(world, "j", lambda found: found.get("status", {}).get("ready") == 1)
        workload = await workload_of(world, "j")
        await set_spec(world, kind, name, stopPolicy="HoldAndDrain")
        await until_job(world, "j", lambda found: found["spec"]["suspend"] is True)
        held = await until_stored(world, workload, reason_is("Requeued", reason))
        assert condition(held, "Evicted")["message"] == message
        assert condition(held, "QuotaReserved")["status"] == "False"
        assert "admission" not in held["status"]
        await set_spec(world, kind, name, stopPolicy="None")
        await until_job(world, "j", lambda found: found.get("status", {}).get("ready") == 1)
        again = await stored(world, workload)
    assert (condition(again, "Requeued")["status"], condition(again, "Requeued")["reason"]) == ("True", back)
    assert condition(again, "Evicted")["status"] == "False"
    assert again["status"]["schedulingStats"]["evictions"] == [
        {"count": 1, "reason": reason, "underlyingCause": ""}
    ]


async def test_workload_that_is_switched_off_stops_and_comes_back(plane_with_pods, world):
    assert plane_with_pods is world.plane
    await world.call(world.client.apply, node("node-a"))
    await queues(world, "1")
    async with controller(world):
        await world.call(world.client.create, job(world, "j"))
        await until_job(world, "j", lambda found: found.get("status", {}).get("ready") == 1)
        name = await workload_of(world, "j")
        await set_spec(world, "Workload", name, active=False)
        await until_job(world, "j", lambda found: found["spec"]["suspend"] is True)
        off = await until_stored(world, name, reason_is("Requeued", "Deactivated"))
        assert condition(off, "Evicted")["message"] == "The workload is deactivated"
        await set_spec(world, "Workload", name, active=True)
        await until_job(world, "j", lambda found: found.get("status", {}).get("ready") == 1)
        assert reason_is("Requeued", "Reactivated")(await stored(world, name))


async def test_workload_runs_no_longer_than_it_may(world):
    await queues(world, "1")
    manifest = world.workload("w")
    manifest["spec"]["maximumExecutionTimeSeconds"] = 1
    async with controller(world):
        await world.call(world.client.create, manifest)
        over = await until_stored(world, "w", is_true("Evicted"))
    assert over["spec"]["active"] is False
    assert condition(over, "Evicted")["reason"] == "DeactivatedDueToMaximumExecutionTimeExceeded"
    assert condition(over, "DeactivationTarget") == {}


def wait_for_pods(limit=None):
    def configure(configuration):
        configuration.wait_for_pods_ready = WaitForPodsReady(
            timeout="1s",
            requeuing_strategy=RequeuingStrategy(
                backoff_base_seconds=1, backoff_max_seconds=1, backoff_limit_count=limit
            ),
        )

    return configure


def stuck_job(world, name):
    """Its pods find no node."""
    manifest = job(world, name)
    manifest["spec"]["template"]["spec"]["nodeSelector"] = {"no": "node"}
    return manifest


async def test_pods_that_do_not_get_ready_give_their_quota_back(plane_with_pods, world):
    assert plane_with_pods is world.plane
    await queues(world, "1")
    async with controller(world, wait_for_pods()):
        await world.call(world.client.create, stuck_job(world, "j"))
        name = await workload_of(world, "j")
        late = await until_stored(world, name, reason_is("Requeued", "PodsReadyTimeout"))
        assert condition(late, "Evicted")["reason"] == "PodsReadyTimeout"
        assert condition(late, "PodsReady")["status"] == "False"
        assert late["status"]["requeueState"]["count"] == 1
        back = await until_stored(
            world, name, lambda found: found["status"].get("requeueState", {}).get("count") == 2
        )
    [counted] = back["status"]["schedulingStats"]["evictions"]
    assert counted["underlyingCause"] == "WaitForStart"


async def test_pods_that_never_get_ready_end_it(plane_with_pods, world):
    assert plane_with_pods is world.plane
    await queues(world, "1")
    async with controller(world, wait_for_pods(limit=0)):
        await world.call(world.client.create, stuck_job(world, "j"))
        name = await workload_of(world, "j")
        off = await until_stored(world, name, reason_is("Evicted", "DeactivatedDueToRequeuingLimitExceeded"))
        assert off["spec"]["active"] is False
        await until_job(world, "j", lambda found: found["spec"]["suspend"] is True)


async def checked_queues(world, controller_name="example.com/check"):
    """A queue with an AdmissionCheck that is set by hand."""
    name = world.namespace
    check = {
        "apiVersion": KUEUE,
        "kind": "AdmissionCheck",
        "metadata": {"name": name},
        "spec": {"controllerName": controller_name},
    }
    await world.call(world.client.apply, check)
    await set_active(world, check, "True")
    await queues(world, "1", admissionChecksStrategy={"admissionChecks": [{"name": name}]})
    return check


async def set_active(world, check, status):
    active = {
        "type": "Active",
        "status": status,
        "reason": "ByHand",
        "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    await world.call(world.client.merge, check, {"status": {"conditions": [active]}}, "status")


async def answer(world, name, state, **more):
    """What a check's controller would say."""
    found = await until_stored(world, name, lambda found: found.get("status", {}).get("admissionChecks"))
    [check] = found["status"]["admissionChecks"]
    said = {**check, "state": state, "message": "by hand", **more}
    await world.call(world.client.merge, found, {"status": {"admissionChecks": [said]}}, "status")


async def test_admission_waits_for_the_check(world):
    await checked_queues(world)
    async with controller(world):
        await make(world, "w")
        waits = await until_stored(world, "w", is_true("QuotaReserved"))
        assert not is_true("Admitted")(waits)
        await answer(world, "w", "Ready")
        await until_stored(world, "w", is_true("Admitted"))
        found = await until_events(world, 2)
    assert events_of(found, "kueue-workload-controller") == {("Normal", "Admitted")}


async def test_check_that_wants_a_retry_gives_the_quota_to_others(plane_with_pods, world):
    assert plane_with_pods is world.plane
    await checked_queues(world)
    async with controller(world):
        await world.call(world.client.create, job(world, "j"))
        name = await workload_of(world, "j")
        await until_stored(world, name, is_true("QuotaReserved"))
        await answer(world, name, "Retry")
        evicted = await until_stored(world, name, is_true("Evicted"))
        assert condition(evicted, "Evicted")["reason"] == "AdmissionCheck"
        # Nothing delays it, so that it reserves quota again at once.
        again = await until_stored(
            world,
            name,
            lambda found: is_true("QuotaReserved")(found) and not is_true("Evicted")(found),
        )
    [check] = again["status"]["admissionChecks"]
    assert (check["state"], check["retryCount"]) == ("Pending", 1)
    assert check["message"] == "Reset to Pending after eviction. Previously: Retry"


async def test_check_that_is_not_asked_any_more_goes_whoever_wrote_it(world):
    await checked_queues(world)
    async with controller(world):
        await make(world, "w")
        await answer(world, "w", "Pending")
        queue = await world.call(world.client.get, KUEUE, "ClusterQueue", world.namespace)
        await world.call(world.client.merge, queue, {"spec": {"admissionChecksStrategy": None}})
        await until_stored(world, "w", lambda found: "admissionChecks" not in found["status"])


async def test_check_that_rejects_switches_the_workload_off(world):
    await checked_queues(world)
    async with controller(world):
        await make(world, "w")
        await answer(world, "w", "Rejected")
        off = await until_stored(world, "w", is_true("Evicted"))
    assert off["spec"]["active"] is False
    assert condition(off, "Evicted")["reason"] == "DeactivatedDueToAdmissionCheck"


async def test_workload_says_that_its_queue_is_inactive(world):
    check = await checked_queues(world)
    await set_active(world, check, "False")
    async with controller(world):
        await make(world, "w")
        blocked = await until_stored(world, "w", lambda found: condition(found, "QuotaReserved"))
        assert condition(blocked, "QuotaReserved")["message"] == (
            f"ClusterQueue {world.namespace} is inactive"
        )
        await set_active(world, check, "True")
        await until_stored(world, "w", is_true("QuotaReserved"))


async def test_finished_workloads_go_when_they_have_been_kept_long_enough(plane_with_pods, world):
    assert plane_with_pods is world.plane
    await world.call(world.client.apply, node("node-a"))
    await queues(world, "1")

    def configure(configuration):
        configuration.object_retention_policies = ObjectRetentionPolicies(
            workloads=WorkloadRetentionPolicy(after_finished="0s")
        )

    async with controller(world, configure):
        await world.call(world.client.create, job(world, "j", **{"e2e/run-for": "100ms"}))
        name = await workload_of(world, "j")
        await until_gone(world, "Workload", name)
        done = await until_job(world, "j", lambda found: found.get("status", {}).get("succeeded") == 1)
    assert done["spec"]["suspend"] is False


async def test_what_is_used_stays_until_it_is_not(world):
    name = world.namespace
    topology = {
        "apiVersion": KUEUE,
        "kind": "Topology",
        "metadata": {"name": name},
        "spec": {"levels": [{"nodeLabel": "kubernetes.io/hostname"}]},
    }
    await world.call(world.client.apply, topology)
    check = await checked_queues(world)
    flavor = {
        "apiVersion": KUEUE,
        "kind": "ResourceFlavor",
        "metadata": {"name": f"{name}-flavor"},
        "spec": {"topologyName": name, "nodeLabels": {"tests/none": name}},
    }
    await world.call(world.client.delete, flavor)
    await world.call(world.client.apply, flavor)
    plain = {"apiVersion": KUEUE, "kind": "ResourceFlavor", "metadata": {"name": f"{name}-plain"}}
    await world.call(world.client.apply, plain)
    flavors = [
        {"name": each, "resources": [{"name": "cpu", "nominalQuota": "1"}]}
        for each in (f"{name}-plain", f"{name}-flavor")
    ]
    queue = cluster_queue(
        name,
        resourceGroups=[{"coveredResources": ["cpu"], "flavors": flavors}],
        admissionChecksStrategy={"admissionChecks": [{"name": name}]},
    )
    await world.call(world.client.apply, queue)
    async with controller(world):
        await make(world, "w")
        # One that is not admitted yet would lose its quota when its ClusterQueue is deleted.
        await answer(world, "w", "Ready")
        await until_stored(world, "w", is_true("Admitted"))
        # Whoever uses comes last, so that each has to wait for the one after it.
        kept = (topology, check, flavor, plain, queue)
        for manifest in kept:
            await until_kept(world, manifest)
        for manifest in kept:
            await world.call(world.client.delete, manifest)
        for manifest in kept:
            assert (await until_kept(world, manifest))["metadata"]["deletionTimestamp"]
        await world.call(world.client.delete, world.workload("w"))
        for manifest in (queue, plain, flavor, check, topology):
            await until_gone(world, manifest["kind"], manifest["metadata"]["name"])


async def test_slice_takes_the_place_of_the_one_before_it(world):
    await queues(world, "2")
    elastic = {"kueue.x-k8s.io/elastic-job": "true", "kueue.x-k8s.io/workload-slice-name": "small"}
    async with controller(world):
        small = world.workload("small")
        small["metadata"]["annotations"] = elastic
        await world.call(world.client.create, small)
        await until_stored(world, "small", is_true("Admitted"))
        large = world.workload("large")
        large["metadata"]["annotations"] = {
            **elastic,
            "kueue.x-k8s.io/workload-slice-replacement-for": f"{world.namespace}/small",
        }
        large["spec"]["podSets"][0]["count"] = 2
        await world.call(world.client.create, large)
        await until_stored(world, "large", is_true("Admitted"))
        ended = await until_stored(world, "small", is_true("Finished"))
        assert condition(ended, "Finished")["reason"] == "WorkloadSliceReplaced"
        found = await until_events(world, 5)
    assert ("Normal", "WorkloadSliceReplaced") in events_of(found, "kueue-admission")
