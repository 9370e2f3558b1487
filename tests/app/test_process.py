"""The command as a process of its own: signals, exit codes, a sudden death."""

import asyncio
import json
import signal
import sys

import pytest
import yaml

from tests.app.test_controller import condition, is_true, make, queues, until_stored
from tests.controlplane.world import until

pytestmark = pytest.mark.live


class Process:
    """`kueue-fast controller`, and what it has logged."""

    def __init__(self, child):
        self.child = child
        self.lines = []
        self._reading = asyncio.ensure_future(self._read())

    @classmethod
    async def start(cls, world, folder, *arguments):
        config = folder / "config.yaml"
        config.write_text(
            yaml.safe_dump(
                {
                    "apiVersion": "config.kueue.x-k8s.io/v1beta2",
                    "kind": "Configuration",
                    "metrics": {"bindAddress": "0"},
                    "health": {"healthProbeBindAddress": "0"},
                    "leaderElection": {
                        "resourceNamespace": world.namespace,
                        "leaseDuration": "4s",
                        "renewDeadline": "3s",
                        "retryPeriod": "200ms",
                    },
                }
            )
        )
        command = [sys.executable, "-c", "from kueue_fast.cli import main; main()", "controller"]
        command += ["--config", str(config), "--kubeconfig", str(world.plane.kubeconfig), *arguments]
        return cls(await asyncio.create_subprocess_exec(*command, stderr=asyncio.subprocess.PIPE))

    async def _read(self):
        async for line in self.child.stderr:
            self.lines.append(json.loads(line))

    def said(self, words):
        return any(words in line["msg"] for line in self.lines)

    async def end(self, number):
        self.child.send_signal(number)
        code = await self.child.wait()
        await self._reading
        return code


async def test_process(world, tmp_path):
    await queues(world, "1")
    process = await Process.start(world, tmp_path)
    try:
        await make(world, "w")
        await until_stored(world, "w", is_true("Admitted"))
    finally:
        code = await process.end(signal.SIGTERM)
    assert code == 0
    assert [line["logger"] for line in process.lines if "released lease" in line["msg"]] == [
        "leader-election"
    ]
    assert {"level", "ts", "logger", "caller", "msg"} == set(process.lines[0])


async def test_another_takes_over_from_one_that_was_killed(world, tmp_path):
    await queues(world, "1")
    first = await Process.start(world, tmp_path)
    await make(world, "w")
    await until_stored(world, "w", is_true("Admitted"))
    assert await first.end(signal.SIGKILL) == -signal.SIGKILL
    second = await Process.start(world, tmp_path)
    try:
        await make(world, "x")
        await until_stored(world, "x", lambda found: condition(found, "QuotaReserved"))
    finally:
        await second.end(signal.SIGTERM)
    # The margin after the first one's last sign of life.
    await until(lambda: second.said("its last holder may go on"))


async def test_kubeconfig_that_leads_nowhere(world, tmp_path):
    process = await Process.start(world, tmp_path, "--kubeconfig", str(tmp_path / "none"))
    assert await process.child.wait() == 1
    await process._reading
    assert process.said("none: cannot be used")
