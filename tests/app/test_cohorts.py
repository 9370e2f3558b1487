"""Queues that share a cohort, on a real control plane: borrowing, taking it back, and sharing by shares."""

import asyncio
from collections import Counter

import pytest

from kueue_fast.api.configuration import FairSharing
from tests.app.test_controller import cluster_queue, condition, controller, is_true
from tests.app.test_jobs import job, node, until_job
from tests.controlplane.world import KUEUE

pytestmark = pytest.mark.live


async def cohort(world, **queues):
    """ClusterQueues of one cohort and flavor, with nominal cpu and more of the spec; LocalQueues have their names."""
    name = world.namespace
    flavor = {"apiVersion": KUEUE, "kind": "ResourceFlavor", "metadata": {"name": f"{name}-flavor"}}
    await world.call(world.client.apply, flavor)
    for local, (cpu, spec) in queues.items():
        made = cluster_queue(f"{name}-{local}", cpu, cohortName=name, **spec)
        made["spec"]["resourceGroups"][0]["flavors"][0]["name"] = f"{name}-flavor"
        await world.call(world.client.apply, made)
        await world.call(world.client.apply, world.queue(local, f"{name}-{local}"))


def queued(manifest, local_queue):
    manifest["metadata"].setdefault("labels", {})["kueue.x-k8s.io/queue-name"] = local_queue
    return manifest


async def until_workloads(world, holds):
    """Return all Workloads by name once they hold; says how they were if that never comes."""
    found = {}
    try:
        async with asyncio.timeout(30):
            while True:
                listed = await world.call(world.client.list, KUEUE, "Workload", world.namespace)
                found = {each["metadata"]["name"]: each for each in listed}
                if holds(found):
                    return found
                await asyncio.sleep(0.02)
    except TimeoutError:
        pytest.fail(f"they stayed: {[(name, each.get('status')) for name, each in found.items()]}")


def admitted(found):
    """How many of each queue are admitted and go on."""
    return Counter(
        each["spec"]["queueName"]
        for each in found.values()
        if is_true("Admitted")(each) and not is_true("Evicted")(each)
    )


async def events_of(world, reason):
    path = f"/apis/events.k8s.io/v1/namespaces/{world.namespace}/events"
    found = (await world.call(world.client.request, "GET", path))["items"]
    return [each for each in found if each["reason"] == reason]


async def test_what_was_borrowed_is_taken_back(plane_with_pods, world):
    assert plane_with_pods is world.plane
    await world.call(world.client.apply, node("node-a"))
    await cohort(world, borrower=("1", {}), owner=("1", {"preemption": {"reclaimWithinCohort": "Any"}}))
    async with controller(world):
        for name in ("first", "second"):
            await world.call(world.client.create, queued(job(world, name), "borrower"))
            await until_job(world, name, lambda found: found.get("status", {}).get("ready") == 1)
        await world.call(world.client.create, queued(job(world, "urgent"), "owner"))
        await until_job(world, "urgent", lambda found: found.get("status", {}).get("ready") == 1)
        # The one that was admitted last.
        stopped = await until_job(world, "second", lambda found: found["spec"]["suspend"] is True)
        assert not stopped.get("status", {}).get("active")
        first = await until_job(world, "first", lambda found: True)
        assert first["status"]["ready"] == 1
        found = await until_workloads(world, lambda found: admitted(found) == {"borrower": 1, "owner": 1})
        [victim] = [each for each in found.values() if condition(each, "Preempted")]
        assert victim["metadata"]["ownerReferences"][0]["name"] == "second"
        assert condition(victim, "Preempted")["reason"] == "InCohortReclamation"
        assert condition(victim, "Preempted")["message"].endswith(
            f"preemptor path: /{world.namespace}/{world.namespace}-owner; "
            f"preemptee path: /{world.namespace}/{world.namespace}-borrower"
        )
        await world.call(world.client.delete, job(world, "urgent"))
        await until_job(world, "second", lambda found: found.get("status", {}).get("ready") == 1)
        told = [each["note"] for each in await events_of(world, "QuotaReserved")]
    borrowing = f"; Flavors considered: main: {world.namespace}-flavor(Fit;borrow=1)"
    assert sorted(note.endswith(borrowing) for note in told) == [False, False, True, True]


async def test_a_queue_gets_its_fair_share(plane_with_pods, world):
    assert plane_with_pods is world.plane
    await world.call(world.client.apply, node("node-a"))
    preemption = {"preemption": {"reclaimWithinCohort": "Any"}}
    await cohort(world, greedy=("0", preemption), modest=("0", preemption), lender=("4", {}))

    def configure(configuration):
        configuration.fair_sharing = FairSharing()

    async with controller(world, configure):
        for number in range(4):
            await world.call(world.client.create, queued(job(world, f"greedy-{number}"), "greedy"))
        await until_workloads(world, lambda found: admitted(found) == {"greedy": 4})
        for number in range(3):
            await world.call(world.client.create, queued(job(world, f"modest-{number}"), "modest"))
        found = await until_workloads(
            world,
            lambda found: (
                admitted(found) == {"greedy": 2, "modest": 2} and len(found) == 7 and all_looked_at(found)
            ),
        )
    reasons = Counter(condition(each, "Preempted").get("reason") for each in found.values())
    assert reasons == {None: 5, "InCohortFairSharing": 2}


def all_looked_at(found):
    return all(condition(each, "QuotaReserved") for each in found.values())
