"""A busy controller while things break: no Workload is lost or admitted twice, no quota leaks, and all end alike.

KUEUE_FAST_FAULT_WORKLOADS says how many Workloads each run has, 200 by default.
"""

import asyncio
import json
import os
import random
import signal
from contextlib import asynccontextmanager

import pytest

from kueue_fast.api.configuration import default_configuration
from kueue_fast.app.controller import Controller
from kueue_fast.app.settings import ControllerSettings
from tests.app.process import process
from tests.app.test_controller import cluster_queue
from tests.app.test_jobs import job, node
from tests.controlplane.client import RequestError
from tests.controlplane.history import History
from tests.controlplane.world import KUEUE, running

COUNT = int(os.environ.get("KUEUE_FAST_FAULT_WORKLOADS", "200"))
QUEUES = 6
COHORTS = 2
CPUS = 4
RESTARTS = 20
PATIENCE_SECONDS = 200 + COUNT / 2

pytestmark = [pytest.mark.live, pytest.mark.takes(2 * PATIENCE_SECONDS)]


class Scene:
    """Queues in cohorts, Workloads that come all the time, and somebody who ends those that were admitted."""

    def __init__(self, world):
        self.world = world
        self.names = [f"{world.namespace}-{number}" for number in range(QUEUES)]
        self.history = History(
            world.client,
            world.namespace,
            dict.fromkeys(self.names, float(CPUS)),
            {name: f"{world.namespace}-pool-{number % COHORTS}" for number, name in enumerate(self.names)},
        )
        self._random = random.Random(world.namespace)
        self._ended = set()

    @classmethod
    @asynccontextmanager
    async def made(cls, world):
        scene = cls(world)
        flavor = {"apiVersion": KUEUE, "kind": "ResourceFlavor", "metadata": {"name": "faults"}}
        await world.call(world.client.apply, flavor)
        for number, name in enumerate(scene.names):
            manifest = cluster_queue(name, CPUS, cohortName=f"{world.namespace}-pool-{number % COHORTS}")
            manifest["spec"]["resourceGroups"][0]["flavors"][0]["name"] = "faults"
            await world.call(world.client.apply, manifest)
            await world.call(world.client.apply, world.queue(f"q{number}", name))
        with scene.history:
            yield scene

    async def create(self, count=COUNT):
        """Workloads of 1 to 3 CPUs, one after the other."""
        for number in range(count):
            manifest = self.world.workload(f"w{number:04}", str(self._random.randint(1, 3)))
            manifest["spec"]["queueName"] = f"q{number % QUEUES}"
            await self.patiently(self.world.client.create, manifest)

    async def finish(self):
        """End what was admitted, for ever."""
        while True:
            await asyncio.sleep(0.05)
            for name, found in list(self.history.objects.items()):
                if name in self._ended or not is_true(found, "Admitted"):
                    continue
                self._ended.add(name)
                condition = {
                    "type": "Finished",
                    "status": "True",
                    "reason": "Succeeded",
                    "message": "done",
                    "lastTransitionTime": "2026-01-01T00:00:00Z",
                }
                patch = [{"op": "add", "path": "/status/conditions/-", "value": condition}]
                path = self.world.client.path_of(found) + "/status"
                content_type = "application/json-patch+json"
                await self.patiently(self.world.client.request, "PATCH", path, patch, content_type)

    async def patiently(self, function, *arguments):
        """A request of the test's own, which has to be heard although the API server is away for a while."""
        while True:
            try:
                return await self.world.call(function, *arguments)
            except RequestError as error:
                if error.status == 409:
                    # Its answer was lost the first time.
                    return None
                if error.status < 500 and error.status != 429:
                    raise
            except OSError:
                pass
            await asyncio.sleep(0.1)

    async def until_ended(self, count=COUNT):
        """Return once all have ended."""
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                while len(self.history.finished) < count and self.history.failure is None:
                    await asyncio.sleep(0.05)
        except TimeoutError:
            objects = self.history.objects
            left = {
                name: objects[name].get("status") for name in objects if name not in self.history.finished
            }
            pytest.fail(f"{len(self.history.finished)} of {count} ended; e.g. {list(left.items())[:3]}")

    def check(self, count=COUNT):
        """Every Workload was admitted once, none was evicted, and no cohort had more than its quota."""
        history = self.history
        history.check()
        assert len(history.objects) == count
        assert set(history.admissions.values()) == {1}
        assert (history.evictions.total(), history.lost.total()) == (0, 0)
        assert {end_of(each) for each in history.objects.values()} == {
            (("Admitted", "True"), ("Finished", "True"), ("QuotaReserved", "True"))
        }

    async def check_no_leak(self, count=COUNT):
        """All quota is free: one Workload can have all of a cohort; the statuses of the queues say so too."""
        for cohort in range(COHORTS):
            whole = self.world.workload(f"whole-{cohort}", str(CPUS * QUEUES // COHORTS))
            whole["spec"]["queueName"] = f"q{cohort}"
            await self.world.call(self.world.client.create, whole)
        await self.until_ended(count + COHORTS)
        async with asyncio.timeout(30):
            while any(map(is_used, await self.queues())):
                await asyncio.sleep(0.1)

    async def queues(self):
        found = await self.world.call(self.world.client.list, KUEUE, "ClusterQueue")
        return [each for each in found if each["metadata"]["name"] in self.names]


def is_true(found, type_):
    conditions = found.get("status", {}).get("conditions", ())
    return any(each["type"] == type_ and each["status"] == "True" for each in conditions)


def end_of(found):
    """Conditions, but for the one that only Workloads of jobs have."""
    conditions = found["status"]["conditions"]
    return tuple(sorted((each["type"], each["status"]) for each in conditions if each["type"] != "PodsReady"))


def is_used(queue):
    # One that nobody lived long enough to write a status of has none.
    status = queue.get("status", {})
    totals = [
        resource.get("total", "0")
        for usage in ("flavorsReservation", "flavorsUsage")
        for flavor in status.get(usage, ())
        for resource in flavor["resources"]
    ]
    counts = ("pendingWorkloads", "reservingWorkloads", "admittedWorkloads")
    return any(total != "0" for total in totals) or any(status.get(count, 0) for count in counts)


@asynccontextmanager
async def deciding(connection):
    """Ours on a connection, alone."""
    configuration = default_configuration()
    configuration.leader_election.leader_elect = False
    configuration.wait_for_pods_ready = None
    configuration.client_connection.qps = -1
    started = Controller(ControllerSettings(configuration=configuration), connection)
    async with running(started.run()) as task:
        leading = asyncio.ensure_future(started.leading.wait())
        await asyncio.wait([leading, task], return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            task.result()
        yield started


async def play(scene, break_things):
    """Create and finish while things break, until all have ended."""
    async with running(scene.finish()):
        async with running(break_things()):
            await scene.create()
            await scene.until_ended()
        scene.check()
        await scene.check_no_leak()


async def test_nothing_breaks(world):
    async def nothing():
        await asyncio.Event().wait()

    async with Scene.made(world) as scene, world.connection() as connection, deciding(connection):
        await play(scene, nothing)


async def test_api_server_is_restarted(world):
    async def restart():
        for _ in range(2):
            await asyncio.sleep(2)
            await asyncio.to_thread(lambda: world.plane.processes.stop("kube-apiserver", kill=True))
            await asyncio.to_thread(world.plane.start, "kube-apiserver")

    async with Scene.made(world) as scene, world.connection() as connection, deciding(connection):
        await play(scene, restart)


async def test_watches_are_cut(world):
    async with Scene.made(world) as scene, world.faulty() as (connection, proxy), deciding(connection):

        async def cut():
            while True:
                await asyncio.sleep(random.uniform(0.05, 0.5))
                proxy.cut_watches()

        await play(scene, cut)


CONFLICT = {
    "kind": "Status",
    "apiVersion": "v1",
    "status": "Failure",
    "reason": "Conflict",
    "message": "the object has been modified",
    "code": 409,
}
REFUSALS = {
    "conflict": {"status": 409, "body": json.dumps(CONFLICT)},
    "server error": {"status": 500},
    "no answer": {"cut": True},
    "done, and no answer": {"lose": True},
}


def every_fifth(seen):
    return seen.method != "GET" and random.random() < 0.2


@pytest.mark.parametrize("refusal", REFUSALS)
async def test_every_fifth_write_fails(world, refusal):
    async def nothing():
        await asyncio.Event().wait()

    async with Scene.made(world) as scene, world.faulty() as (connection, proxy):
        proxy.add(every_fifth, times=10**9, **REFUSALS[refusal])
        async with deciding(connection):
            await play(scene, nothing)


def alone():
    return {"leaderElection": {"leaderElect": False}, "clientConnection": {"qps": -1, "burst": 1}}


async def test_it_is_killed_again_and_again(world, tmp_path):
    kills = 0

    async def kill():
        nonlocal kills
        while True:
            async with process(tmp_path, world.plane.kubeconfig, alone()) as started:
                await started.until_said("leading")
                if kills == RESTARTS:
                    await asyncio.Event().wait()
                await asyncio.sleep(random.uniform(0.0, 0.5))
                await started.end(signal.SIGKILL)
                kills += 1

    async with Scene.made(world) as scene, running(kill()), running(scene.finish()):
        creating = asyncio.ensure_future(scene.create())
        async with asyncio.timeout(PATIENCE_SECONDS):
            while kills < RESTARTS or not creating.done():
                await asyncio.sleep(0.1)
        await creating
        await scene.until_ended()
        scene.check()
        await scene.check_no_leak()


async def test_jobs_run_once_whatever_happens(plane_with_pods, world, tmp_path):
    """Killed at random, and every fifth write of what is started next fails."""
    assert plane_with_pods is world.plane
    count = max(30, COUNT // 5)
    await world.call(world.client.apply, node("node-a"))
    async with Scene.made(world) as scene, world.faulty() as (_, proxy):
        proxy.add(every_fifth, times=10**9, status=500)
        kubeconfig = world.plane.folder / f"{world.namespace}.kubeconfig"

        async def kill():
            while True:
                async with process(tmp_path, kubeconfig, alone()) as started:
                    await started.until_said("leading")
                    await asyncio.sleep(random.uniform(0.5, 4.0))
                    await started.end(signal.SIGKILL)

        async with running(kill()):
            for number in range(count):
                manifest = job(world, f"j{number}", **{"e2e/run-for": "200ms"})
                manifest["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] = f"q{number % QUEUES}"
                await world.call(world.client.create, manifest)
            await scene.until_ended(count)
        scene.check(count)
        jobs = await world.call(world.client.list, "batch/v1", "Job", world.namespace)
        assert [each["status"].get("succeeded") for each in jobs] == [1] * count
        pods = await world.call(world.client.list, "v1", "Pod", world.namespace)
        assert len(pods) == count
