"""What a test on the control plane starts from: a namespace of its own, connections, a proxy that plays faults."""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kueue_fast.cluster.kube.credentials import Credentials
from kueue_fast.cluster.kube.transport import Connection, ConnectionSettings
from tests.controlplane.client import Client
from tests.controlplane.faults import FaultProxy
from tests.controlplane.kubeconfig import write_kubeconfig
from tests.controlplane.plane import ControlPlane

POLL_SECONDS = 0.02
UNLIMITED = ConnectionSettings(qps=-1)
KUEUE = "kueue.x-k8s.io/v1beta2"


@dataclass
class World:
    plane: ControlPlane
    namespace: str

    @classmethod
    def make(cls, plane: ControlPlane, test: str) -> "World":
        namespace = "test-" + hashlib.sha256(test.encode()).hexdigest()[:12]
        plane.client.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
        return cls(plane, namespace)

    @property
    def client(self) -> Client:
        return self.plane.client

    @asynccontextmanager
    async def connection(
        self, settings: ConnectionSettings = UNLIMITED, kubeconfig: Path | None = None
    ) -> AsyncIterator[Connection]:
        """Straight to the apiserver, as an administrator or whom the kubeconfig names."""
        credentials = Credentials(str(kubeconfig or self.plane.kubeconfig), environment={})
        async with await Connection.open(credentials, settings) as connection:
            yield connection

    @asynccontextmanager
    async def faulty(
        self, settings: ConnectionSettings = UNLIMITED
    ) -> AsyncIterator[tuple[Connection, FaultProxy]]:
        """Through a proxy that does as the test wants."""
        async with FaultProxy.running(self.client) as proxy:
            path = self.plane.folder / f"{self.namespace}.kubeconfig"
            write_kubeconfig(path, proxy.url, {"token": self.client.token})
            credentials = Credentials(str(path), environment={})
            async with await Connection.open(credentials, settings) as connection:
                yield connection, proxy

    async def call(self, function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        """A request of the test's own client, without holding up the loop."""
        return await asyncio.to_thread(function, *arguments, **named)

    def queue(self, name: str, cluster_queue: str = "any") -> dict[str, Any]:
        return {
            "apiVersion": KUEUE,
            "kind": "LocalQueue",
            "metadata": {"name": name, "namespace": self.namespace},
            "spec": {"clusterQueue": cluster_queue},
        }

    def workload(self, name: str, cpu: str = "1") -> dict[str, Any]:
        container = {"name": "c", "image": "busybox", "resources": {"requests": {"cpu": cpu}}}
        template = {"spec": {"containers": [container], "restartPolicy": "Never"}}
        return {
            "apiVersion": KUEUE,
            "kind": "Workload",
            "metadata": {"name": name, "namespace": self.namespace},
            "spec": {"queueName": "main", "podSets": [{"name": "main", "count": 1, "template": template}]},
        }


async def until(holds: Callable[[], bool], seconds: float = 30) -> None:
    """Return as soon as it holds; the loop goes on meanwhile. Fails after so many seconds."""
    async with asyncio.timeout(seconds):
        while not holds():
            await asyncio.sleep(POLL_SECONDS)


@asynccontextmanager
async def running(coroutine: Any) -> AsyncIterator[asyncio.Task[Any]]:
    """Run something beside the test; what it raised comes out at the end."""
    task = asyncio.ensure_future(coroutine)
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.wait([task])
        if not task.cancelled():
            task.result()
