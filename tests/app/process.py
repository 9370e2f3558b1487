"""The command as a process of its own, and what it has logged."""

import asyncio
import json
import signal
import sys
from contextlib import asynccontextmanager, suppress

import yaml

from tests.controlplane.world import until


class Process:
    """`kueue-fast controller`; `lines` has what it has logged."""

    def __init__(self, child):
        self.child = child
        self.lines = []
        self._reading = asyncio.ensure_future(self._read())

    @classmethod
    async def start(cls, folder, kubeconfig, configuration, *arguments):
        """Start it with a Configuration; its servers are off."""
        config = folder / "config.yaml"
        defaults = {
            "apiVersion": "config.kueue.x-k8s.io/v1beta2",
            "kind": "Configuration",
            "metrics": {"bindAddress": "0"},
            "health": {"healthProbeBindAddress": "0"},
        }
        config.write_text(yaml.safe_dump({**defaults, **configuration}))
        command = [sys.executable, "-c", "from kueue_fast.cli import main; main()", "controller"]
        command += ["--config", str(config), "--kubeconfig", str(kubeconfig), *arguments]
        # One log line may be as long as a message of the API server.
        return cls(
            await asyncio.create_subprocess_exec(*command, stderr=asyncio.subprocess.PIPE, limit=1 << 20)
        )

    async def _read(self):
        async for line in self.child.stderr:
            self.lines.append(json.loads(line))

    def said(self, words):
        return any(words in line["msg"] for line in self.lines)

    def refusals(self):
        """What it was not allowed to do, and found no other way for."""
        said = [line["msg"] for line in self.lines]
        return [each for each in said if "(403)" in each and "from now on" not in each]

    async def until_said(self, words, seconds=30):
        """Return once a line has the words; says what was logged if it never comes."""
        with suppress(TimeoutError):
            await until(lambda: self.said(words) or self.child.returncode is not None, seconds)
        assert self.said(words), f"{words!r} was not said: {self.lines[-20:]}"

    async def end(self, number):
        """Send a signal, and return the exit code."""
        if self.child.returncode is None:
            self.child.send_signal(number)
        return await self.ended()

    async def ended(self):
        """Wait for the end by itself, and return the exit code."""
        code = await self.child.wait()
        await self._reading
        return code


@asynccontextmanager
async def process(*arguments):
    """One that is ended in any case; the arguments are those of `Process.start`."""
    started = await Process.start(*arguments)
    try:
        yield started
    finally:
        await started.end(signal.SIGTERM)
