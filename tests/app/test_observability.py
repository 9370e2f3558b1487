"""Probes, metrics and statuses of queues of a controller on the real control plane."""

import asyncio
from contextlib import asynccontextmanager

import aiohttp
import pytest
from prometheus_client.parser import text_string_to_metric_families

from kueue_fast.api.configuration import default_configuration
from kueue_fast.api.configuration_types import FairSharing
from kueue_fast.app.controller import Controller
from kueue_fast.app.observability import serving
from kueue_fast.app.settings import ControllerSettings
from kueue_fast.errors import InputError
from tests.app.test_controller import condition, is_true, make, queues, until_stored
from tests.controlplane.world import KUEUE, running

pytestmark = pytest.mark.live


def configured(world, address="127.0.0.1:0"):
    found = default_configuration()
    found.wait_for_pods_ready = None
    found.leader_election.resource_namespace = world.namespace
    found.client_connection.qps = -1
    found.metrics.bind_address = found.health.health_probe_bind_address = address
    found.metrics.enable_cluster_queue_resources = True
    return found


@asynccontextmanager
async def observed(world, configuration):
    """A controller that leads, and the ports of its servers."""
    async with world.connection() as connection:
        started = Controller(ControllerSettings(configuration=configuration), connection)
        async with serving(configuration, connection, started.observability) as ports:
            async with running(started.run()):
                await started.leading.wait()
                yield ports


async def get(url, **headers):
    """Status and text of an answer."""
    async with aiohttp.ClientSession() as session:
        async with session.get(url, ssl=False, headers=headers) as answer:
            return answer.status, await answer.text()


async def scraped(world, port):
    """Samples of the metrics: (name, labels) to value."""
    status, text = await get(
        f"https://127.0.0.1:{port}/metrics", Authorization=f"Bearer {world.client.token}"
    )
    assert status == 200, text
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def of(name, /, **labels):
    return f"kueue_{name}", frozenset({**labels, "replica_role": "leader"}.items())


async def until_queue(world, kind, name, holds, namespace=None):
    """The queue once its status holds; says how it was if that never comes."""
    found = None
    try:
        async with asyncio.timeout(30):
            while True:
                found = await world.call(world.client.get, KUEUE, kind, name, namespace)
                if holds(found.get("status", {})):
                    return found
                await asyncio.sleep(0.05)
    except TimeoutError:
        pytest.fail(f"{kind} {name} stayed: {found}")


async def test_probes(world):
    async with observed(world, configured(world)) as ports:
        base = f"http://127.0.0.1:{ports.health}"
        assert await get(f"{base}/healthz") == (200, "ok")
        assert await get(f"{base}/readyz/readyz") == (200, "ok")
        assert await get(f"{base}/readyz?verbose") == (200, "[+]readyz ok\nhealthz check passed\n")
        assert (await get(f"{base}/metrics"))[0] == 404


async def test_metrics_tell_what_happened(world):
    await queues(world, "2", preemption={"withinClusterQueue": "LowerPriority"})
    queue = {"cluster_queue": world.namespace}
    async with observed(world, configured(world)) as ports:
        await make(world, "low")
        await make(world, "other")
        for name in ("low", "other"):
            await until_stored(world, name, is_true("Admitted"))
        await make(world, "waits")
        await until_stored(world, "waits", lambda found: condition(found, "QuotaReserved"))
        await until_queue(
            world, "ClusterQueue", world.namespace, lambda status: status.get("admittedWorkloads") == 2
        )
        found = await scraped(world, ports.metrics)
        lease = frozenset({("name", "c1f6bfd2.kueue.x-k8s.io")})
        assert found["leader_election_master_status", lease] == 1
        waiting = [
            found[of("pending_workloads", **queue, status=status)] for status in ("active", "inadmissible")
        ]
        assert sum(waiting) == 1
        assert found[of("reserving_active_workloads", **queue)] == 2
        assert found[of("admitted_active_workloads", **queue)] == 2
        assert found[of("admitted_workloads_total", **queue, priority_class="")] == 2
        assert found[of("quota_reserved_wait_time_seconds_count", **queue, priority_class="")] == 2
        assert found[of("admission_attempts_total", result="success")] >= 1
        assert found[of("admission_attempt_duration_seconds_count", result="success")] >= 1
        resource = {**queue, "cohort": "", "flavor": f"{world.namespace}-flavor", "resource": "cpu"}
        assert found[of("cluster_queue_resource_usage", **resource)] == 2
        assert found[of("cluster_queue_nominal_quota", **resource)] == 2
        local = {"name": "main", "namespace": world.namespace}
        assert found[of("local_queue_admitted_workloads_total", **local, priority_class="")] == 2
        await make(world, "high", value=100)
        async with asyncio.timeout(30):
            preempted = of(
                "preempted_workloads_total", preempting_cluster_queue=world.namespace, reason="InClusterQueue"
            )
            while preempted not in (found := await scraped(world, ports.metrics)):
                await asyncio.sleep(0.05)
        assert found[preempted] == 1
        evicted = {**queue, "reason": "Preempted", "underlying_cause": "", "priority_class": ""}
        async with asyncio.timeout(30):
            while of("evicted_workloads_total", **evicted) not in (
                found := await scraped(world, ports.metrics)
            ):
                await asyncio.sleep(0.05)
        assert found[of("evicted_workloads_once_total", **evicted)] == 1


async def test_metrics_are_for_those_who_may_read_them(world):
    account = {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {"name": "nobody", "namespace": world.namespace},
    }
    await world.call(world.client.apply, account)
    path = f"/api/v1/namespaces/{world.namespace}/serviceaccounts/nobody/token"
    request = {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenRequest",
        "spec": {"expirationSeconds": 600},
    }
    answer = await world.call(world.client.request, "POST", path, request)
    async with observed(world, configured(world)) as ports:
        url = f"https://127.0.0.1:{ports.metrics}/metrics"
        assert (await get(url))[0] == 401
        assert (await get(url, Authorization="Bearer guessed"))[0] == 401
        assert (await get(url, Authorization="Basic YTpi"))[0] == 401
        assert (await get(url, Authorization=f"Bearer {answer['status']['token']}"))[0] == 403
        assert (await get(url, Authorization=f"Bearer {world.client.token}"))[0] == 200


async def test_metrics_without_an_api_server(world):
    configuration = configured(world)
    async with world.faulty() as (connection, proxy):
        started = Controller(ControllerSettings(configuration=configuration), connection)
        async with serving(configuration, connection, started.observability) as ports:
            proxy.add(lambda seen: "tokenreviews" in seen.path, times=100, status=500)
            url = f"https://127.0.0.1:{ports.metrics}/metrics"
            assert (await get(url, Authorization="Bearer any"))[0] == 500
            assert await get(f"http://127.0.0.1:{ports.health}/healthz") == (200, "ok")


async def test_an_address_that_is_taken(world):
    configuration = configured(world)
    async with world.connection() as connection:
        started = Controller(ControllerSettings(configuration=configuration), connection)
        async with serving(configuration, connection, started.observability) as ports:
            taken = configured(world)
            taken.metrics.bind_address = f"127.0.0.1:{ports.metrics}"
            with pytest.raises(
                InputError, match=r"Configuration: metrics\.bindAddress: nobody can listen there"
            ):
                async with serving(taken, connection, started.observability):
                    pytest.fail("it listens")


async def test_followers_have_no_gauges_of_queues(world):
    configuration = configured(world)
    async with world.connection() as connection:
        started = Controller(ControllerSettings(configuration=configuration), connection)
        async with serving(configuration, connection, started.observability) as ports:
            found = await scraped(world, ports.metrics)
    assert not any(name == "kueue_pending_workloads" for name, _ in found)
    assert any(name == "kueue_build_info" for name, _ in found)
    assert any(name == "process_resident_memory_bytes" for name, _ in found)


async def test_servers_that_are_off(world):
    configuration = configured(world, "0")
    async with world.connection() as connection:
        started = Controller(ControllerSettings(configuration=configuration), connection)
        async with serving(configuration, connection, started.observability) as ports:
            assert (ports.metrics, ports.health) == (None, None)


async def test_statuses_of_queues(world):
    await queues(world, "2")
    async with observed(world, configured(world, "0")):
        for name in ("a", "b", "c"):
            await make(world, name)
        queue = await until_queue(
            world,
            "ClusterQueue",
            world.namespace,
            lambda status: (status.get("admittedWorkloads"), status.get("pendingWorkloads")) == (2, 1),
        )
        flavor = f"{world.namespace}-flavor"
        amounts = [{"name": flavor, "resources": [{"name": "cpu", "total": "2", "borrowed": "0"}]}]
        assert queue["status"]["flavorsUsage"] == queue["status"]["flavorsReservation"] == amounts
        assert queue["status"]["reservingWorkloads"] == 2
        assert condition(queue, "Active")["reason"] == "Ready"
        local = await until_queue(
            world, "LocalQueue", "main", lambda status: status.get("admittedWorkloads") == 2, world.namespace
        )
        assert (local["status"]["pendingWorkloads"], local["status"]["reservingWorkloads"]) == (1, 2)
        assert local["status"]["flavorsUsage"] == [
            {"name": flavor, "resources": [{"name": "cpu", "total": "2"}]}
        ]
        assert condition(local, "Active")["status"] == "True"
        change = {"spec": {"stopPolicy": "Hold"}}
        await world.call(world.client.merge, queue, change)
        await until_queue(
            world,
            "ClusterQueue",
            world.namespace,
            lambda status: condition({"status": status}, "Active").get("reason") == "Stopped",
        )
        local = await until_queue(
            world,
            "LocalQueue",
            "main",
            lambda status: condition({"status": status}, "Active").get("status") == "False",
            world.namespace,
        )
        assert condition(local, "Active")["reason"] == "ClusterQueueIsInactive"


async def test_statuses_with_fair_sharing(world):
    cohort = {"apiVersion": KUEUE, "kind": "Cohort", "metadata": {"name": world.namespace}}
    await world.call(world.client.apply, cohort)
    await queues(world, "2", cohortName=world.namespace)
    configuration = configured(world, "0")
    configuration.fair_sharing = FairSharing()
    async with observed(world, configuration):
        await until_queue(
            world,
            "ClusterQueue",
            world.namespace,
            lambda status: status.get("fairSharing") == {"weightedShare": 0},
        )
        await until_queue(
            world, "Cohort", world.namespace, lambda status: status.get("fairSharing") == {"weightedShare": 0}
        )


async def test_a_cluster_queue_goes_once_nothing_holds_its_quota(world):
    await queues(world, "1")
    async with observed(world, configured(world, "0")):
        await make(world, "w")
        await until_stored(world, "w", is_true("Admitted"))
        async with asyncio.timeout(30):
            while True:
                queue = await world.call(world.client.get, KUEUE, "ClusterQueue", world.namespace)
                if queue["metadata"].get("finalizers") == ["kueue.x-k8s.io/resource-in-use"]:
                    break
                await asyncio.sleep(0.05)
        await world.call(world.client.delete, queue)
        await until_queue(
            world,
            "ClusterQueue",
            world.namespace,
            lambda status: condition({"status": status}, "Active").get("reason") == "Terminating",
        )
        await world.call(world.client.delete, world.workload("w"))
        async with asyncio.timeout(30):
            while any(
                each["metadata"]["name"] == world.namespace
                for each in await world.call(world.client.list, KUEUE, "ClusterQueue")
            ):
                await asyncio.sleep(0.05)
