"""Starts and ends the programs of a control plane; a state file keeps what runs, for a later `down`."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tests.controlplane.errors import ControlPlaneError

POLL_SECONDS = 0.05


class Processes:
    """The programs of one control plane. A program is known by its pid and the time of its birth: pids are reused."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._file = folder / "processes.json"
        self._running: dict[str, dict[str, Any]] = (
            json.loads(self._file.read_text()) if self._file.exists() else {}
        )
        self._children: dict[str, subprocess.Popen[bytes]] = {}

    @property
    def names(self) -> list[str]:
        """What was started and not stopped, oldest first."""
        return list(self._running)

    def start(self, name: str, command: list[str], environment: Mapping[str, str] | None = None) -> None:
        if self.alive(name):
            raise ControlPlaneError(f"{name} runs already")
        with self.log(name).open("ab") as log:
            child = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.folder,
                env={**os.environ, **(environment or {})},
                # Ctrl-C in a terminal is for pytest, which ends these in order.
                start_new_session=True,
            )
        self._children[name] = child
        self._running[name] = {"pid": child.pid, "born": _born(child.pid)}
        self._save()

    def stop(self, name: str, *, kill: bool = False, patience_s: float = 20) -> None:
        entry = self._running.get(name)
        if entry is not None and self.alive(name):
            os.kill(entry["pid"], signal.SIGKILL if kill else signal.SIGTERM)
            end = time.monotonic() + patience_s
            while self.alive(name):
                if time.monotonic() > end:
                    os.kill(entry["pid"], signal.SIGKILL)
                    end += patience_s
                time.sleep(POLL_SECONDS)
        self._running.pop(name, None)
        child = self._children.pop(name, None)
        if child is not None:
            child.wait()
        self._save()

    def stop_all(self) -> None:
        for name in reversed(self.names):
            self.stop(name)

    def alive(self, name: str) -> bool:
        child = self._children.get(name)
        if child is not None and child.poll() is not None:
            return False
        entry = self._running.get(name)
        return entry is not None and _born(entry["pid"]) == entry["born"]

    def pid(self, name: str) -> int:
        """Of a program that was started."""
        return int(self._running[name]["pid"])

    def wait(self, name: str, ready: Callable[[], bool], seconds: float = 90) -> None:
        """Wait until `ready` says so; OSError counts as not yet.

        Raises ControlPlaneError with the end of the log if the program ended or time ran out.
        """
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                if ready():
                    return
            except OSError:
                pass
            if not self.alive(name):
                raise ControlPlaneError(f"{name} ended; the end of its log:\n{self._log_end(name)}")
            time.sleep(POLL_SECONDS)
        raise ControlPlaneError(f"{name} not ready after {seconds} s; its log:\n{self._log_end(name)}")

    def log(self, name: str) -> Path:
        return self.folder / f"{name}.log"

    def _log_end(self, name: str) -> str:
        return "\n".join(self.log(name).read_text(errors="replace").splitlines()[-15:])

    def _save(self) -> None:
        self._file.write_text(json.dumps(self._running))


def _born(pid: int) -> str | None:
    """When the process started, in ticks since boot; None if there is none, or only what waits to be reaped."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return None
    return None if fields[0] == "Z" else fields[19]
