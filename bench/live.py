"""Upstream's manager and ours on the same control plane, one after the other, under the same load.

    python -m bench.live [--workloads 2000] [--limits 300/500 5000/10000] [--quotas 10 200] [--rounds 1] [--json]

Plain Workloads of 1 to 3 pods over ClusterQueues in cohorts are created while the queues are on hold. Then the queues
are released, and each Workload is finished as soon as its admission is seen, until every one was admitted. Each side
is alone on the plane, with the same account, Configuration and client limits (`qps/burst`); webhooks are not asked.
It needs what the tests marked `live` need (tests/controlplane/README.md). Exit code 1: not all were admitted.
"""

import argparse
import asyncio
import json
import os
import random
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import msgspec
import yaml

from bench import live_requests
from kueue_fast.cluster.kube.credentials import Credentials
from kueue_fast.cluster.kube.errors import ServerError
from kueue_fast.cluster.kube.transport import JSON_PATCH, MERGE_PATCH, Connection, ConnectionSettings
from tests.controlplane.kueue_manager import KueueManager
from tests.controlplane.plane import ControlPlane

KUEUE = "/apis/kueue.x-k8s.io/v1beta2"
COHORTS = 5
PRIORITIES = 3
NAMESPACE = "load"
FLAVOR = "load"
WRITERS = 16
QUIET_S = 3.0
DELETIONS = 20
COLUMNS = (
    "side",
    "limits",
    "quota",
    "admissions_per_s",
    "seconds",
    "cpu_s",
    "peak_mb",
    "writes",
    "server_cpu_s",
    "load_cpu_s",
)
SIDES = ("upstream", "ours")
SERVER = ("kube-apiserver", "etcd")
PROGRAM = "from kueue_fast.cli import main; main()"
# Processor time of the event loop's thread: a busy machine changes it little.
PROFILED = """
import cProfile, sys, time
from kueue_fast.cli import main
profile = cProfile.Profile(time.thread_time)
file = sys.argv.pop(1)
try:
    profile.runcall(main)
finally:
    profile.dump_stats(file)
"""


@dataclass(frozen=True)
class Case:
    """What is run: client limits of the manager, CPUs of each ClusterQueue."""

    side: str
    limits: str
    quota: int
    workloads: int
    queues: int


@dataclass(frozen=True)
class Result:
    """What one case gave.

    `cpu_s` is the manager's, `server_cpu_s` that of API server and etcd, `load_cpu_s` that of who creates and finishes.
    `writes` are the manager's and the load's (one for each finished Workload). `machine` is the load average before.
    """

    side: str
    limits: str
    quota: int
    workloads: int
    admitted: int
    seconds: float
    admissions_per_s: float
    cpu_s: float
    peak_mb: float
    writes: int
    server_cpu_s: float
    load_cpu_s: float
    machine: float


class Meta(msgspec.Struct, rename="camel"):
    name: str
    resource_version: str


class Condition(msgspec.Struct):
    type: str
    status: str


class Status(msgspec.Struct):
    conditions: list[Condition] = []


class Workload(msgspec.Struct):
    metadata: Meta
    status: Status = msgspec.field(default_factory=Status)


class Event(msgspec.Struct):
    type: str
    object: Workload


class Load:
    """Creates, releases, finishes and removes."""

    def __init__(self, connection: Connection, case: Case) -> None:
        self.admitted: set[str] = set()
        self.last_at = 0.0
        self._connection = connection
        self._case = case
        self._random = random.Random(1)
        self._due: asyncio.Queue[str] = asyncio.Queue()

    async def create(self) -> None:
        """Queues on hold, and all Workloads."""
        await self._make("/api/v1/namespaces", {"kind": "Namespace"}, NAMESPACE)
        await self._make(f"{KUEUE}/resourceflavors", {"kind": "ResourceFlavor"}, FLAVOR)
        for number in range(self._case.queues):
            quota = [
                {"name": "cpu", "nominalQuota": self._case.quota},
                {"name": "memory", "nominalQuota": f"{4 * self._case.quota}Gi"},
            ]
            group = {
                "coveredResources": ["cpu", "memory"],
                "flavors": [{"name": FLAVOR, "resources": quota}],
            }
            spec: dict[str, Any] = {
                "cohortName": f"load-{number % COHORTS}",
                "namespaceSelector": {},
                "stopPolicy": "Hold",
                "resourceGroups": [group],
            }
            name = f"load-{number}"
            await self._make(f"{KUEUE}/clusterqueues", {"kind": "ClusterQueue", "spec": spec}, name)
            local = {"kind": "LocalQueue", "spec": {"clusterQueue": name}}
            await self._make(f"{KUEUE}/namespaces/{NAMESPACE}/localqueues", local, name)
        await self._many([self._workload(number) for number in range(self._case.workloads)])

    def _workload(self, number: int) -> tuple[str, str, bytes, str]:
        requests = {"cpu": "1", "memory": "1Gi"}
        container = {"name": "c", "image": "example.test/none", "resources": {"requests": requests}}
        pod_set = {
            "name": "main",
            "count": self._random.randint(1, 3),
            "template": {"spec": {"restartPolicy": "Never", "containers": [container]}},
        }
        manifest = {
            "apiVersion": "kueue.x-k8s.io/v1beta2",
            "kind": "Workload",
            "metadata": {"name": f"w-{number:05}", "namespace": NAMESPACE},
            "spec": {
                "queueName": f"load-{number % self._case.queues}",
                "priority": self._random.randrange(PRIORITIES) * 100,
                "podSets": [pod_set],
            },
        }
        path = f"{KUEUE}/namespaces/{NAMESPACE}/workloads"
        return "POST", path, msgspec.json.encode(manifest), "application/json"

    async def run(self, limit_s: float, alive: Callable[[], bool]) -> float:
        """Release the queues; seconds until the last admission was seen. Raises RuntimeError if the manager ends."""
        path = f"{KUEUE}/namespaces/{NAMESPACE}/workloads"
        first = msgspec.json.decode(await self._connection.request("GET", path, query={"limit": "1"}))
        version = first["metadata"]["resourceVersion"]
        tasks = [asyncio.create_task(self._watch(path, version))]
        tasks += [asyncio.create_task(self._finish(path)) for _ in range(WRITERS)]
        started = time.monotonic()
        body = msgspec.json.encode({"spec": {"stopPolicy": "None"}})
        await self._many(
            [
                ("PATCH", f"{KUEUE}/clusterqueues/load-{number}", body, MERGE_PATCH)
                for number in range(self._case.queues)
            ]
        )
        try:
            async with asyncio.timeout(limit_s):
                while len(self.admitted) < self._case.workloads:
                    await asyncio.sleep(0.05)
                    if not alive():
                        raise RuntimeError("the manager has ended, perhaps without its Lease: see its log")
                    for task in tasks:
                        if task.done():
                            task.result()
        except TimeoutError:
            self.last_at = time.monotonic()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
        return self.last_at - started

    async def _watch(self, path: str, version: str) -> None:
        decoder = msgspec.json.Decoder(Event)
        while True:
            # The API server ends the watch of who is slow.
            query = {"watch": "true", "resourceVersion": version}
            async with self._connection.stream(path, query, idle_s=600) as lines:
                async for line in lines:
                    found = decoder.decode(line).object
                    version = found.metadata.resource_version
                    self._see(found)

    def _see(self, found: Workload) -> None:
        name = found.metadata.name
        if name in self.admitted:
            return
        if any(each.type == "Admitted" and each.status == "True" for each in found.status.conditions):
            self.admitted.add(name)
            self.last_at = time.monotonic()
            self._due.put_nowait(name)

    async def _finish(self, path: str) -> None:
        while True:
            name = await self._due.get()
            now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
            finished = {
                "type": "Finished",
                "status": "True",
                "reason": "Succeeded",
                "message": "load",
                "lastTransitionTime": now,
            }
            patch = [{"op": "add", "path": "/status/conditions/-", "value": finished}]
            body = msgspec.json.encode(patch)
            await self._connection.request(
                "PATCH", f"{path}/{name}/status", body=body, content_type=JSON_PATCH
            )

    async def remove(self) -> None:
        """All of it but the namespace; the manager is gone, so that nobody else takes finalizers off."""
        release = msgspec.json.encode({"metadata": {"finalizers": None}})
        lists = [f"{KUEUE}/namespaces/{NAMESPACE}/{each}" for each in ("workloads", "localqueues")]
        lists += [f"{KUEUE}/{each}" for each in ("clusterqueues", "resourceflavors")]
        events = [f"/apis/events.k8s.io/v1/namespaces/{NAMESPACE}/events"]
        for path in lists + events:
            await self._delete_all(path)
        for path in lists[1:]:
            left = msgspec.json.decode(await self._connection.request("GET", path))["items"]
            await self._many(
                [("PATCH", f"{path}/{each['metadata']['name']}", release, MERGE_PATCH) for each in left]
            )

    async def _delete_all(self, path: str) -> None:
        # Of very many objects the server deletes as many as it can within its own limit of time.
        for attempt in range(DELETIONS):
            try:
                await self._connection.request("DELETE", path, timeout_s=300)
                return
            except ServerError:
                if attempt == DELETIONS - 1:
                    raise

    async def _make(self, path: str, manifest: dict[str, Any], name: str) -> None:
        version = "v1" if path.startswith("/api/") else "kueue.x-k8s.io/v1beta2"
        body = msgspec.json.encode({"apiVersion": version, "metadata": {"name": name}, **manifest})
        query = {"fieldManager": "load", "force": "true"}
        await self._connection.request(
            "PATCH", f"{path}/{name}", query=query, body=body, content_type="application/apply-patch+yaml"
        )

    async def _many(self, requests: Sequence[tuple[str, str, bytes, str]]) -> None:
        left = list(reversed(requests))

        async def work() -> None:
            while left:
                method, path, body, content_type = left.pop()
                await self._connection.request(method, path, body=body, content_type=content_type)

        await asyncio.gather(*(work() for _ in range(WRITERS)))


class Manager:
    """One side as a process on the plane."""

    def __init__(self, upstream: KueueManager, case: Case, profile: Path | None) -> None:
        self._upstream = upstream
        self._case = case
        self._profile = profile
        self.name = "kueue" if case.side == "upstream" else "ours"

    async def start(self) -> None:
        """Start it, and wait until it leads."""
        qps, _, burst = self._case.limits.partition("/")
        limits = {"qps": int(qps), "burst": int(burst)}
        await asyncio.to_thread(self._start, limits)
        deadline = time.monotonic() + 60
        while not await asyncio.to_thread(self._leads):
            if time.monotonic() > deadline:
                raise TimeoutError(f"{self.name} does not lead after 60 s")
            await asyncio.sleep(0.2)

    def _leads(self) -> bool:
        return self._upstream.holder != ""

    def _start(self, limits: dict[str, int]) -> None:
        if self.name == "kueue":
            self._upstream.start(clientConnection=limits)
            return
        configuration = yaml.safe_load(self._upstream.configuration.read_text())
        configuration |= {
            "clientConnection": limits,
            # It makes its own certificate, as where it is installed.
            "internalCertManagement": {"enable": True},
        }
        file = self._upstream.folder / "ours.yaml"
        file.write_text(yaml.safe_dump(configuration))
        program = ["-c", PROGRAM] if self._profile is None else ["-c", PROFILED, str(self._profile)]
        command = [
            sys.executable,
            *program,
            "controller",
            f"--config={file}",
            f"--kubeconfig={self._upstream.kubeconfig}",
        ]
        self._upstream.plane.processes.start(self.name, command)

    async def stop(self) -> None:
        """End it; it gives its Lease back."""
        await asyncio.to_thread(self._upstream.plane.processes.stop, self.name)

    def alive(self) -> bool:
        """Whether it runs."""
        return self._upstream.plane.processes.alive(self.name)

    def cpu_s(self, *names: str) -> float:
        """Seconds of processor so far; of other programs if they are named."""
        total = 0
        for name in names or (self.name,):
            fields = self._proc("stat", name).rsplit(")", 1)[1].split()
            total += int(fields[11]) + int(fields[12])
        return total / os.sysconf("SC_CLK_TCK")

    def peak_mb(self) -> float:
        """The most memory that was resident."""
        lines = self._proc("status", self.name).splitlines()
        line = next(each for each in lines if each.startswith("VmHWM:"))
        return int(line.split()[1]) / 1024

    def _proc(self, file: str, name: str) -> str:
        return Path(f"/proc/{self._upstream.plane.processes.pid(name)}/{file}").read_text()


async def run(
    upstream: KueueManager, case: Case, limit_s: float, profile: Path | None = None
) -> tuple[Result, Counter[str]]:
    """Run one case; its result and what the API server was asked."""
    manager = Manager(upstream, case, profile)
    machine = os.getloadavg()[0]
    async with connected(upstream.plane) as connection:
        load = Load(connection, case)
        await manager.start()
        try:
            await load.create()
            await asyncio.sleep(QUIET_S)
            asked = await live_requests.requests(connection)
            server = manager.cpu_s(*SERVER)
            cpu, own = manager.cpu_s(), time.process_time()
            seconds = await load.run(limit_s, manager.alive)
            cpu, own = manager.cpu_s() - cpu, time.process_time() - own
            server = manager.cpu_s(*SERVER) - server
            asked = await live_requests.requests(connection) - asked
            peak = manager.peak_mb()
        finally:
            await manager.stop()
            await load.remove()
    admitted = len(load.admitted)
    result = Result(
        case.side,
        case.limits,
        case.quota,
        case.workloads,
        admitted,
        round(seconds, 2),
        round(admitted / seconds, 1),
        round(cpu, 2),
        round(peak, 1),
        live_requests.writes(asked),
        round(server, 2),
        round(own, 2),
        round(machine, 2),
    )
    return result, asked


@asynccontextmanager
async def connected(plane: ControlPlane) -> AsyncIterator[Connection]:
    """An administrator's connection without limits."""
    credentials = Credentials(str(plane.kubeconfig), environment={})
    settings = ConnectionSettings(qps=-1, connections=WRITERS + 2)
    async with await Connection.open(credentials, settings) as connection:
        yield connection


def table(results: Sequence[Result]) -> str:
    """Medians over the rounds as a table of Markdown."""
    groups: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for each in results:
        row = asdict(each)
        groups.setdefault((str(row["limits"]), str(row["quota"]), each.side), []).append(row)
    lines = ["| " + " | ".join(COLUMNS) + " |", "|---" * len(COLUMNS) + "|"]
    for rows in groups.values():
        cells = [
            str(rows[0][each])
            if each in ("side", "limits", "quota")
            else f"{statistics.median(row[each] for row in rows):g}"
            for each in COLUMNS
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


async def run_all(upstream: KueueManager, options: argparse.Namespace) -> list[Result]:
    """All cases, the sides in turn."""
    results = []
    for _ in range(options.rounds):
        for limits in options.limits:
            for quota in options.quotas:
                for side in options.sides:
                    case = Case(side, limits, quota, options.workloads, options.queues)
                    found, asked = await run(upstream, case, options.patience, options.profile)
                    print(json.dumps(asdict(found)), file=sys.stderr, flush=True)
                    if options.requests:
                        print(live_requests.lines(asked.items()), file=sys.stderr, flush=True)
                    results.append(found)
    return results


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m bench.live", description=__doc__)
    parser.add_argument("--workloads", type=int, default=2000)
    parser.add_argument("--queues", type=int, default=30)
    parser.add_argument(
        "--limits", nargs="+", default=["300/500", "5000/10000"], help="qps/burst of the manager"
    )
    parser.add_argument("--quotas", nargs="+", type=int, default=[10, 200], help="CPUs of a ClusterQueue")
    parser.add_argument("--sides", nargs="+", choices=SIDES, default=SIDES)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--patience", type=float, default=600, help="seconds for a case")
    parser.add_argument("--profile", type=Path, help="write a cProfile of our event loop there")
    parser.add_argument(
        "--requests", action="store_true", help="what the API server was asked, for each case"
    )
    parser.add_argument("--json", action="store_true", help="one object a case instead of the table")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        plane = ControlPlane(Path(folder))
        try:
            plane.up()
            upstream = KueueManager(plane)
            upstream.install(webhooks=False)
            upstream.stop()
            results = asyncio.run(run_all(upstream, options))
        finally:
            plane.down()
    if options.json:
        for each in results:
            print(json.dumps(asdict(each)))
    else:
        print(table(results))
    return int(any(each.admitted < each.workloads for each in results))


if __name__ == "__main__":
    sys.exit(main())
