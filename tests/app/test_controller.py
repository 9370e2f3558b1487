import asyncio
from contextlib import asynccontextmanager

import pytest

from kueue_fast.api.configuration import default_configuration
from kueue_fast.app.controller import Controller
from kueue_fast.app.settings import ControllerSettings
from tests.controlplane.world import KUEUE, running, until

pytestmark = pytest.mark.live


def cluster_queue(name, cpu="4", **spec):
    flavors = [{"name": f"{name}-flavor", "resources": [{"name": "cpu", "nominalQuota": cpu}]}]
    return {
        "apiVersion": KUEUE,
        "kind": "ClusterQueue",
        "metadata": {"name": name},
        "spec": {
            "namespaceSelector": {},
            "resourceGroups": [{"coveredResources": ["cpu"], "flavors": flavors}],
            **spec,
        },
    }


async def queues(world, cpu="4", **spec):
    """A ClusterQueue of its own for the namespace, with its flavor and the LocalQueue `main`."""
    name = world.namespace
    flavor = {"apiVersion": KUEUE, "kind": "ResourceFlavor", "metadata": {"name": f"{name}-flavor"}}
    for manifest in (flavor, cluster_queue(name, cpu, **spec), world.queue("main", name)):
        await world.call(world.client.apply, manifest)


@asynccontextmanager
async def controller(
    world,
    configure=lambda configuration: None,
    frameworks=("batch/job",),
    kubeconfig=None,
    **settings,
):
    """One that leads; `configure` changes its Configuration."""
    configuration = default_configuration()
    configuration.integrations.frameworks = list(frameworks)
    configuration.wait_for_pods_ready = None
    configuration.leader_election.resource_namespace = world.namespace
    configuration.client_connection.qps = -1
    configure(configuration)
    made = ControllerSettings(configuration=configuration, **settings)
    async with world.connection(kubeconfig=kubeconfig) as connection:
        started = Controller(made, connection)
        async with running(started.run()) as task:
            waiting = asyncio.ensure_future(started.leading.wait())
            await asyncio.wait([waiting, task], return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                waiting.cancel()
                task.result()
            yield started


def priority(world, manifest, value):
    manifest["spec"]["priority"] = value
    return manifest


async def make(world, name, cpu="1", value=0):
    return await world.call(world.client.create, priority(world, world.workload(name, cpu), value))


async def stored(world, name):
    return await world.call(world.client.get, KUEUE, "Workload", name, world.namespace)


def condition(found, type_):
    for each in found.get("status", {}).get("conditions", []):
        if each["type"] == type_:
            return each
    return {}


async def until_stored(world, name, holds):
    """Return the Workload once it holds; says how it was if that never comes."""
    try:
        async with asyncio.timeout(30):
            while not holds(found := await stored(world, name)):
                await asyncio.sleep(0.02)
    except TimeoutError:
        pytest.fail(f"{name} stayed: {found.get('status')}")
    return found


async def until_events(world, count):
    path = f"/apis/events.k8s.io/v1/namespaces/{world.namespace}/events"
    try:
        async with asyncio.timeout(30):
            while len(found := (await world.call(world.client.request, "GET", path))["items"]) < count:
                await asyncio.sleep(0.02)
    except TimeoutError:
        pytest.fail(f"only these: {found}")
    return found


def is_true(type_):
    return lambda found: condition(found, type_).get("status") == "True"


async def test_admits_what_fits_and_explains_what_waits(world):
    await queues(world, "4")
    names = [f"w{number}" for number in range(5)]
    for name in names:
        await make(world, name)
    async with controller(world):
        # Among those of one second the uid decides, so it may be any of them that waits.
        every = [
            await until_stored(world, name, lambda found: condition(found, "QuotaReserved")) for name in names
        ]
    admitted = [found for found in every if is_true("Admitted")(found)]
    [waits] = [found for found in every if not is_true("Admitted")(found)]
    assert [found["status"]["admission"]["clusterQueue"] for found in admitted] == [world.namespace] * 4
    assert condition(waits, "QuotaReserved")["reason"] == "Pending"
    assert "insufficient unused quota for cpu" in condition(waits, "QuotaReserved")["message"]


async def test_what_comes_later_and_what_ends(world):
    await queues(world, "1")
    async with controller(world):
        await make(world, "first")
        await until_stored(world, "first", is_true("Admitted"))
        await make(world, "second")
        await until_stored(world, "second", lambda found: condition(found, "QuotaReserved"))
        ended = {"type": "Finished", "status": "True", "reason": "Succeeded", "message": "done"}
        ended["lastTransitionTime"] = "2026-01-01T00:00:00Z"
        first = await stored(world, "first")
        change = {"status": {"conditions": [*first["status"]["conditions"], ended]}}
        await world.call(world.client.merge, first, change, "status")
        await until_stored(world, "second", is_true("Admitted"))
        await world.call(world.client.delete, await stored(world, "second"))
        await make(world, "third")
        await until_stored(world, "third", is_true("Admitted"))


async def test_preempts(world):
    await queues(world, "1", preemption={"withinClusterQueue": "LowerPriority"})
    async with controller(world):
        await make(world, "low")
        await until_stored(world, "low", is_true("Admitted"))
        await make(world, "high", value=100)
        victim = await until_stored(world, "low", is_true("Evicted"))
    assert condition(victim, "Evicted")["reason"] == "Preempted"
    assert condition(victim, "Preempted")["reason"] == "InClusterQueue"
    # It holds its quota until its job has stopped.
    assert is_true("QuotaReserved")(victim)


async def test_events(world):
    await queues(world, "1")
    async with controller(world):
        await make(world, "w")
        found = await until_events(world, 2)
    assert sorted((each["reason"], each["reportingController"]) for each in found) == [
        ("Admitted", "kueue-admission"),
        ("QuotaReserved", "kueue-admission"),
    ]
    assert found[0]["regarding"]["uid"] == (await stored(world, "w"))["metadata"]["uid"]


async def test_takes_over_what_was_admitted(world):
    await queues(world, "1")
    await make(world, "w")
    async with controller(world):
        before = await until_stored(world, "w", is_true("Admitted"))
    lease = f"/apis/coordination.k8s.io/v1/namespaces/{world.namespace}/leases/c1f6bfd2.kueue.x-k8s.io"
    assert (await world.call(world.client.request, "GET", lease))["spec"]["holderIdentity"] == ""
    await make(world, "x")
    async with controller(world):
        await until_stored(world, "x", lambda found: condition(found, "QuotaReserved"))
    assert await stored(world, "w") == before


async def test_two_processes_and_one_leads(world):
    await queues(world, "3")
    async with controller(world):
        configuration = default_configuration()
        configuration.leader_election.resource_namespace = world.namespace
        configuration.wait_for_pods_ready = None
        async with world.connection() as connection:
            second = Controller(ControllerSettings(configuration=configuration), connection)
            async with running(second.run()):
                await until(lambda: second.elector.holder != "")
                await make(world, "w")
                await until_stored(world, "w", is_true("Admitted"))
                assert not second.leading.is_set()


async def test_shadow_writes_nothing(world):
    await queues(world, "1")
    await make(world, "w")
    before = await stored(world, "w")
    async with controller(world, shadow=True) as started:
        key = f"{world.namespace}/w"
        await until(lambda: key in started.shadow.decided)
        assert await stored(world, "w") == before
        leases = f"/apis/coordination.k8s.io/v1/namespaces/{world.namespace}/leases"
        assert (await world.call(world.client.request, "GET", leases))["items"] == []
        # Another scheduler, with the same and with another decision.
        status = {
            "admission": {
                "clusterQueue": world.namespace,
                "podSetAssignments": [
                    {"name": "main", "count": 1, "flavors": {"cpu": f"{world.namespace}-flavor"}}
                ],
            }
        }
        agreed = started.shadow.agreed
        await world.call(world.client.merge, world.workload("w"), {"status": status}, "status")
        await until(lambda: started.shadow.agreed == agreed + 1)


async def test_admissions_survive_faults(world):
    await queues(world, "100")
    configuration = default_configuration()
    configuration.leader_election.resource_namespace = world.namespace
    configuration.wait_for_pods_ready = None
    async with world.faulty() as (connection, proxy):
        started = Controller(ControllerSettings(configuration=configuration), connection)
        async with running(started.run()):
            await started.leading.wait()
            count = [0]

            def every_fifth(seen):
                count[0] += seen.path.endswith("/status")
                return seen.path.endswith("/status") and count[0] % 5 == 0

            proxy.add(every_fifth, times=10_000, status=500)
            for number in range(40):
                await make(world, f"w{number}")
                if number % 10 == 5:
                    proxy.cut_watches()
            for number in range(40):
                await until_stored(world, f"w{number}", is_true("Admitted"))
