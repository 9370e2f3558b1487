"""Looks on at the Workloads of a namespace all along, through the API, and notes what a scheduler must never do.

Events of one kind come in the order in which they were stored, so that the sums after each event are those of every
moment there was. Only where the API server is restarted are there moments that nobody can be told of any more.
"""

import http.client
import json
import socket
import threading
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any
from urllib.parse import urlencode

from tests.controlplane.client import Client, RequestError

KUEUE = "kueue.x-k8s.io/v1beta2"
TIMEOUT_SECONDS = 60
PAUSE_SECONDS = 0.2


class History:
    """Who was admitted and evicted how often, and where quota was exceeded.

    `limits` are CPUs by ClusterQueue; queues that `pools` names by a common word may use each other's.
    """

    def __init__(
        self,
        client: Client,
        namespace: str,
        limits: Mapping[str, float],
        pools: Mapping[str, str] | None = None,
    ) -> None:
        self.admissions: Counter[str] = Counter()
        self.evictions: Counter[str] = Counter()
        self.lost: Counter[str] = Counter()
        self.excesses: list[str] = []
        self.objects: dict[str, Any] = {}
        self.finished: set[str] = set()
        self.peaks: dict[str, float] = defaultdict(float)
        self.failure: BaseException | None = None
        self._client = client
        self._path = f"/apis/{KUEUE}/namespaces/{namespace}/workloads"
        self._pools = {queue: (pools or {}).get(queue, queue) for queue in limits}
        self._limits: dict[str, float] = defaultdict(float)
        for queue, limit in limits.items():
            self._limits[self._pools[queue]] += limit
        # What each Workload holds: its pool and CPUs.
        self._held: dict[str, tuple[str, float]] = {}
        self._used: dict[str, float] = defaultdict(float)
        self._gone = False
        self._stopped = threading.Event()
        self._connection: http.client.HTTPSConnection | None = None
        self._thread = threading.Thread(target=self._run, name="history", daemon=True)

    def __enter__(self) -> "History":
        self._list()
        self._thread.start()
        return self

    def _list(self) -> None:
        """What there is now; also after the API server has begun anew (429: it does not know the kind yet)."""
        listed = self._client.request("GET", self._path)
        found = {each["metadata"]["name"]: {**each, "kind": "Workload"} for each in listed["items"]}
        for name in self.objects.keys() - found.keys():
            self._see("DELETED", self.objects[name])
        for each in found.values():
            self._see("MODIFIED", {**each, "apiVersion": KUEUE})
        self._version = listed["metadata"]["resourceVersion"]

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        connection = self._connection
        if connection is not None and connection.sock is not None:
            # A reader in the other thread sees the end of the stream; perhaps it has just seen another.
            with suppress(OSError):
                connection.sock.shutdown(socket.SHUT_RDWR)
        self._thread.join(TIMEOUT_SECONDS)

    def check(self) -> None:
        """Raise what went wrong with the looking on; fails where quota was exceeded."""
        if self.failure is not None:
            raise self.failure
        assert self.excesses == []

    def _run(self) -> None:
        while not self._stopped.is_set():
            try:
                if self._gone:
                    self._list()
                    self._gone = False
                for type_, found in self._watch():
                    self._version = found["metadata"]["resourceVersion"]
                    if type_ != "BOOKMARK":
                        self._see(type_, found)
            except (OSError, http.client.HTTPException, ValueError, RequestError):
                # The API server is being restarted, say; what came meanwhile is brought by the next watch.
                self._stopped.wait(PAUSE_SECONDS)
            except _GoneError:
                self._gone = True
            except BaseException as error:
                self.failure = error
                return

    def _watch(self) -> Iterator[tuple[str, Any]]:
        query = {"watch": "true", "allowWatchBookmarks": "true", "resourceVersion": self._version}
        self._connection = self._client.open(TIMEOUT_SECONDS)
        try:
            self._connection.request(
                "GET", f"{self._path}?{urlencode(query)}", headers=self._client.authorization
            )
            answer = self._connection.getresponse()
            if answer.status == 410:
                raise _GoneError
            if answer.status != 200:
                raise OSError(answer.read())
            for line in answer:
                event = json.loads(line)
                if event["type"] == "ERROR":
                    raise _GoneError
                yield event["type"], event["object"]
        finally:
            self._connection.close()

    def _see(self, type_: str, found: Any) -> None:
        uid, name = found["metadata"]["uid"], found["metadata"]["name"]
        status = found.get("status", {})
        states = {each["type"]: each["status"] == "True" for each in status.get("conditions", ())}
        before = self.objects.get(name)
        old = before.get("status", {}) if before is not None and before["metadata"]["uid"] == uid else {}
        was = {each["type"]: each["status"] == "True" for each in old.get("conditions", ())}
        if type_ == "DELETED":
            self.objects.pop(name, None)
            self._release(uid)
            return
        self.objects[name] = found
        if "admission" in status and "admission" not in old:
            self.admissions[name] += 1
        if "admission" in old and "admission" not in status:
            self.lost[name] += 1
        if states.get("Evicted") and not was.get("Evicted"):
            self.evictions[name] += 1
        if states.get("Finished"):
            self.finished.add(name)
        self._release(uid)
        if "admission" in status and not states.get("Finished"):
            self._hold(uid, name, status["admission"])

    def _hold(self, uid: str, name: str, admission: Any) -> None:
        pool = self._pools[admission["clusterQueue"]]
        cpus = sum(
            _cpus(each.get("resourceUsage", {}).get("cpu", "0")) for each in admission["podSetAssignments"]
        )
        self._held[uid] = pool, cpus
        self._used[pool] += cpus
        self.peaks[pool] = max(self.peaks[pool], self._used[pool])
        if self._used[pool] > self._limits[pool]:
            self.excesses.append(f"{name} in {pool}: {self._used[pool]} of {self._limits[pool]} CPUs")

    def _release(self, uid: str) -> None:
        if uid in self._held:
            pool, cpus = self._held.pop(uid)
            self._used[pool] -= cpus


class _GoneError(Exception):
    """The API server no longer keeps the version to go on from."""


def _cpus(text: str) -> float:
    return int(text[:-1]) / 1000 if text.endswith("m") else float(text)
