"""The command as a process of its own: signals, exit codes, a sudden death."""

import signal

import pytest

from tests.app.process import Process, process
from tests.app.test_controller import condition, is_true, make, queues, until_stored
from tests.controlplane.world import until

pytestmark = pytest.mark.live


def settings(world):
    return {
        "leaderElection": {
            "resourceNamespace": world.namespace,
            "leaseDuration": "4s",
            "renewDeadline": "3s",
            "retryPeriod": "200ms",
        }
    }


async def test_process(world, tmp_path):
    await queues(world, "1")
    async with process(tmp_path, world.plane.kubeconfig, settings(world)) as started:
        await make(world, "w")
        await until_stored(world, "w", is_true("Admitted"))
    assert started.child.returncode == 0
    assert [line["logger"] for line in started.lines if "released lease" in line["msg"]] == [
        "leader-election"
    ]
    assert {"level", "ts", "logger", "caller", "msg"} == set(started.lines[0])


async def test_another_takes_over_from_one_that_was_killed(world, tmp_path):
    await queues(world, "1")
    async with process(tmp_path, world.plane.kubeconfig, settings(world)) as first:
        await make(world, "w")
        await until_stored(world, "w", is_true("Admitted"))
        assert await first.end(signal.SIGKILL) == -signal.SIGKILL
    async with process(tmp_path, world.plane.kubeconfig, settings(world)) as second:
        await make(world, "x")
        await until_stored(world, "x", lambda found: condition(found, "QuotaReserved"))
    # The margin after the first one's last sign of life.
    await until(lambda: second.said("its last holder may go on"))


async def test_kubeconfig_that_leads_nowhere(world, tmp_path):
    nowhere = tmp_path / "none"
    started = await Process.start(tmp_path, nowhere, settings(world))
    assert await started.ended() == 1
    assert started.said("none: cannot be used")
