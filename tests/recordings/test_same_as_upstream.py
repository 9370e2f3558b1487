"""Scenarios under Kueue's own manager, and then under ours beside it, are the same to whoever looks."""

import asyncio
import time
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest
import yaml

from tests.app.process import process
from tests.controlplane.client import RequestError
from tests.controlplane.kueue_manager import LEASE, NAMESPACE, KueueManager
from tests.controlplane.leader_worker_sets import down_lws, up_lws
from tests.recordings.differences import differences
from tests.recordings.play import Play, scenario
from tests.recordings.versions import unexplained

pytestmark = [pytest.mark.live, pytest.mark.takes(600)]

SCENARIOS = Path(__file__).resolve().parent / "scenarios"
LEASE_KIND = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease"}
LEADS_S = 40


def settings(folder):
    """What both run with, besides upstream's Configuration as it is installed."""
    gates = (scenario(folder).get("manager") or {}).get("featureGates") or {}
    # The default of v0.19.
    return {"waitForPodsReady": {"timeout": "30m"}, "featureGates": gates}


def start(upstream, folder):
    """Start upstream's manager; it leads or follows."""
    shared = settings(folder)
    upstream.start(**{**shared, "featureGates": {"VisibilityOnDemand": False, **shared["featureGates"]}})


def free(upstream):
    """End upstream's manager, and let whoever comes next have the Lease at once."""
    upstream.stop()
    lease = {"metadata": {"name": LEASE, "namespace": NAMESPACE}, **LEASE_KIND}
    with suppress(RequestError):
        upstream.plane.client.merge(lease, {"spec": {"holderIdentity": ""}})


def holder(upstream):
    """Who holds the Lease; nobody before the first one did."""
    with suppress(RequestError):
        return upstream.holder
    return ""


def lead(upstream, folder):
    """Start upstream's manager, and return once it leads."""
    free(upstream)
    start(upstream, folder)
    end = time.monotonic() + LEADS_S
    while not holder(upstream):
        assert time.monotonic() < end, "upstream's manager does not lead"
        time.sleep(0.1)


@asynccontextmanager
async def ours_beside(upstream: KueueManager, folder, tmp_path):
    """Ours with upstream's account and Configuration; upstream follows."""
    await asyncio.to_thread(free, upstream)
    configuration = yaml.safe_load(upstream.configuration.read_text())
    configuration["metrics"] = {"bindAddress": "0"}
    configuration["health"] = {"healthProbeBindAddress": "0"}
    shared = settings(folder)
    # Groups of pods are named by a label, as the webhooks of v0.17 want it.
    shared["featureGates"] = {"WorkloadIdentifierAnnotations": False, **shared["featureGates"]}
    async with process(tmp_path, upstream.kubeconfig, {**configuration, **shared}) as started:
        await started.until_said("leading")
        await asyncio.to_thread(start, upstream, folder)
        yield started


async def played(plane, folder):
    play = Play(plane.client, plane.dashboards, folder)
    try:
        return await asyncio.to_thread(play.steps)
    finally:
        await asyncio.to_thread(play.clear)


@pytest.fixture(scope="module")
def upstream_with_operators(upstream):
    """Beside Kueue's manager, KubeRay and the operator of LeaderWorkerSets."""
    upstream.plane.up_kuberay()
    upstream.plane.install_operator_crds("lws")
    up_lws(upstream.plane)
    yield upstream
    down_lws(upstream.plane)


@pytest.mark.parametrize("name", sorted(each.name for each in SCENARIOS.iterdir()))
async def test_same(name, upstream_with_operators, tmp_path):
    upstream, folder = upstream_with_operators, SCENARIOS / name
    await asyncio.to_thread(lead, upstream, folder)
    theirs = await played(upstream.plane, folder)
    async with ours_beside(upstream, folder, tmp_path) as started:
        ours = await played(upstream.plane, folder)
    # The ClusterRole of v0.17 knows events of the core group alone; ours finds that out.
    refusals = [each for each in started.refusals() if "events are written as v1" not in each]
    found = [
        each
        for one, other in zip(theirs, ours, strict=True)
        for each in differences(one.seen, other.seen, one.name)
    ]
    # Whole: what differs at the end may have begun long before.
    text = "\n".join([*refusals, *unexplained(name, found)])
    if text:
        pytest.fail(text, pytrace=False)
    assert [(each.name, each.missed) for each in ours] == [(each.name, []) for each in theirs]
