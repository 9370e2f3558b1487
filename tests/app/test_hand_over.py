"""Ours and Kueue's own manager take turns on one cluster: neither admits anew, evicts, or exceeds a quota."""

import asyncio
import signal
import time

import pytest
import yaml

from tests.app.process import process
from tests.app.test_controller import cluster_queue
from tests.app.test_jobs import job, node
from tests.controlplane.history import History
from tests.controlplane.world import World

pytestmark = [pytest.mark.live, pytest.mark.takes(300)]

QUEUES = ("one", "two", "three")
TAKE_OVER_SECONDS = 25


@pytest.fixture
def world(plane_with_kueue, request):
    return World.make(plane_with_kueue, request.node.name)


def ours(upstream, tmp_path):
    """Beside the manager: with its account and its Configuration, on other addresses."""
    configuration = yaml.safe_load(upstream.configuration.read_text())
    configuration["metrics"] = {"bindAddress": "0"}
    configuration["health"] = {"healthProbeBindAddress": "0"}
    return process(tmp_path, upstream.kubeconfig, configuration)


async def make_queues(world, cpu):
    """Queues of their own for the namespace; returns the CPUs by ClusterQueue."""
    await world.call(world.client.apply, node("node-a"))
    flavor = {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "ResourceFlavor",
        "metadata": {"name": "hand-over"},
    }
    await world.call(world.client.apply, flavor)
    limits = {}
    for each in QUEUES:
        name = f"{world.namespace}-{each}"
        manifest = cluster_queue(name, cpu)
        manifest["spec"]["resourceGroups"][0]["flavors"][0]["name"] = "hand-over"
        await world.call(world.client.apply, manifest)
        await world.call(world.client.apply, world.queue(each, name))
        limits[name] = float(cpu)
    return limits


async def make_job(world, name, queue, **annotations):
    manifest = job(world, name, **annotations)
    manifest["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] = queue
    # As users write it: the webhook holds it.
    del manifest["spec"]["suspend"]
    return await world.call(world.client.create, manifest)


async def end_job(world, name):
    """Have its pod succeed.

    It is not deleted: a manager of v0.17 that follows never forgets a Workload that goes meanwhile, and counts its
    quota as used once it leads (v0.19 does not).
    """
    path = f"/api/v1/namespaces/{world.namespace}/pods"
    selector = f"batch.kubernetes.io/job-name={name}"
    found = await world.call(world.client.request, "GET", path, labelSelector=selector)
    [pod] = found["items"]
    change = {"metadata": {"annotations": {"e2e/run-for": "0s"}}}
    await world.call(world.client.merge, {"apiVersion": "v1", "kind": "Pod", **pod}, change)


async def until(holds, seconds, words):
    try:
        async with asyncio.timeout(seconds):
            while not holds():
                await asyncio.sleep(0.05)
    except TimeoutError:
        pytest.fail(f"{words} did not happen in {seconds} s")


def of_jobs(history):
    """Workloads by the names of their Jobs."""
    return {each["metadata"]["ownerReferences"][0]["name"]: each for each in history.objects.values()}


def condition(found, type_):
    return next((each for each in found.get("status", {}).get("conditions", ()) if each["type"] == type_), {})


def told(found):
    """What a scheduler has said of a Workload."""
    status = found.get("status", {})
    return {
        "admission": status.get("admission"),
        "conditions": {each["type"]: each for each in status.get("conditions", ())},
    }


async def jobs(world):
    path = f"/apis/batch/v1/namespaces/{world.namespace}/jobs"
    return (await world.call(world.client.request, "GET", path))["items"]


async def test_takes_over_from_upstream(world, upstream, tmp_path):
    limits = await make_queues(world, "2")
    with History(world.client, world.namespace, limits) as history:
        for queue in QUEUES:
            for number in range(5):
                await make_job(world, f"{queue}-{number}", queue)

        def settled():
            reserved = [condition(each, "QuotaReserved").get("status") for each in history.objects.values()]
            return sorted(reserved, key=str) == ["False"] * 9 + ["True"] * 6

        await until(settled, 60, "upstream's decision on all")
        before = {name: told(each) for name, each in of_jobs(history).items()}
        async with ours(upstream, tmp_path) as started:
            await started.until_said("waiting for lease")
            killed_at = time.monotonic()
            await asyncio.to_thread(upstream.stop, kill=True)
            await asyncio.to_thread(upstream.start)
            # Room for one more, which upstream does not fill any more.
            running = next(name for name, each in before.items() if each["admission"] is not None)
            queue = running.partition("-")[0]
            await end_job(world, running)
            await until(lambda: history.admissions.total() == 7, 60, "an admission by ours")
            took = time.monotonic() - killed_at
            print(f"ours admitted {took:.1f} s after the death of upstream's leader")
            assert took <= TAKE_OVER_SECONDS
            assert started.said("took lease")
            # And what comes now.
            await make_job(world, "late", queue)
            await until(lambda: "late" in of_jobs(history), 30, "a Workload for a new Job")
            after = {name: told(each) for name, each in of_jobs(history).items()}
            assert started.refusals() == []
        # It gave its Lease back: upstream goes on.
        second = next(name for name in before if name != running and before[name]["admission"] is not None)
        await end_job(world, second)
        await until(lambda: history.admissions.total() == 8, 60, "an admission by upstream again")
        history.check()
        assert history.evictions.total() == 0
        assert max(history.admissions.values()) == 1
    kept = [name for name in before if name != running and before[name]["admission"] is not None]
    assert len(kept) == 5
    for name in kept:
        assert after[name]["admission"] == before[name]["admission"]
        for type_, each in before[name]["conditions"].items():
            assert after[name]["conditions"][type_] == each


async def test_upstream_takes_over_from_ours(world, upstream, tmp_path):
    limits = await make_queues(world, "3")
    names = [f"{queue}-{number}" for number in range(40) for queue in QUEUES]
    with History(world.client, world.namespace, limits) as history:
        await asyncio.to_thread(upstream.stop)
        async with ours(upstream, tmp_path) as started:
            await started.until_said("leading")
            await asyncio.to_thread(upstream.start)
            for name in names[:90]:
                await make_job(world, name, name.partition("-")[0], **{"e2e/run-for": "1s"})
                await asyncio.sleep(0.05)
            await until(lambda: len(history.finished) >= 20, 60, "the first ends")
            assert started.refusals() == []
            await started.end(signal.SIGKILL)
            killed_at = time.monotonic()
            done = len(history.finished)
            by_ours = history.admissions.total()
            for name in names[90:]:
                await make_job(world, name, name.partition("-")[0], **{"e2e/run-for": "1s"})
            await until(lambda: history.admissions.total() > by_ours, 60, "an admission by upstream")
            took = time.monotonic() - killed_at
        print(f"upstream admitted {took:.1f} s after the death of ours, which had seen {done} end")
        assert took <= TAKE_OVER_SECONDS
        await until(lambda: len(history.finished) == len(names), 120, "the end of all")
        history.check()
        assert history.evictions.total() == 0
        assert set(history.admissions.values()) == {1}
    assert dict(history.peaks) == dict.fromkeys(limits, 3.0)
    ended = await jobs(world)
    assert sorted(each["metadata"]["name"] for each in ended) == sorted(names)
    assert {each["status"].get("succeeded") for each in ended} == {1}
    path = f"/api/v1/namespaces/{world.namespace}/pods"
    assert len((await world.call(world.client.request, "GET", path))["items"]) == len(names)
