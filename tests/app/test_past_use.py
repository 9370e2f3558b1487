"""Past use of LocalQueues under admission fair sharing, on a real control plane. Source: QC-87."""

import asyncio

import pytest

from kueue_fast.api.configuration_types import AdmissionFairSharing
from tests.app.test_controller import controller, is_true, make, queues, until_stored
from tests.controlplane.world import KUEUE

pytestmark = pytest.mark.live


def sharing(configuration):
    configuration.admission_fair_sharing = AdmissionFairSharing(
        usage_half_life_time="1h", usage_sampling_interval="1s"
    )


async def used(world):
    """What the LocalQueue's status says once it says something: cores, and when."""
    while True:
        found = await world.call(world.client.get, KUEUE, "LocalQueue", "main", world.namespace)
        shown = found["status"].get("fairSharing", {}).get("admissionFairSharingStatus", {})
        if "cpu" in shown.get("consumedResources", {}):
            return cores(shown["consumedResources"]["cpu"]), shown["lastUpdate"]
        await asyncio.sleep(0.05)


def cores(text):
    scale = {"n": 1e-9, "u": 1e-6, "m": 1e-3}
    return float(text[:-1]) * scale[text[-1]] if text[-1] in scale else float(text)


async def test_it_is_written_and_the_next_leader_goes_on_from_there(world):
    await queues(world, "4", admissionScope={"admissionMode": "UsageBasedAdmissionFairSharing"})
    async with controller(world, sharing):
        await make(world, "w", cpu="4")
        await until_stored(world, "w", is_true("Admitted"))
        first, when = await used(world)
        while (second := await used(world))[1] == when or second[0] <= first:
            await asyncio.sleep(0.1)
    before, _ = await used(world)
    # What it held is not held any more: from now on what it used only fades.
    await world.call(world.client.delete, world.workload("w"))
    async with controller(world, sharing):
        while (after := await used(world))[1] == second[1]:
            await asyncio.sleep(0.1)
    assert 0.9 * before < after[0] <= before
