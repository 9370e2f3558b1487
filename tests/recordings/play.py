"""Plays a scenario on a control plane, and writes down what can be seen after each step."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Final

import yaml

from tests.controlplane.client import Client, RequestError
from tests.controlplane.dashboards import Dashboards
from tests.recordings.names import Names
from tests.recordings.views import QUEUE_KINDS, Look, snapshot

__all__ = ["Play", "Step", "scenario"]

Json = dict[str, Any]

KUEUE: Final = "kueue.x-k8s.io/v1beta2"
JOBS: Final = (
    ("batch/v1", "Job"),
    ("ray.io/v1", "RayJob"),
    ("ray.io/v1", "RayCluster"),
    ("ray.io/v1", "RayService"),
    ("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet"),
)
MERGE: Final = "application/merge-patch+json"
POLL_S: Final = 0.25
SETTLE_S: Final = 2.0
TIMEOUT_S: Final = 30.0
GONE_S: Final = 60.0
# Pods told to end, by the annotation that the played kubelet looks for.
END: Final = {"metadata": {"annotations": {"e2e/run-for": "0s"}}}


class Step:
    """What was seen after a step; `missed` are conditions that never held."""

    def __init__(self, name: str, errors: list[str], missed: list[str], seen: dict[str, Json]) -> None:
        self.name = name
        self.missed = missed
        self.seen: dict[str, Any] = {**seen, "errors": errors}


def scenario(folder: Path) -> Json:
    """What the folder's steps.yaml says."""
    found: Json = yaml.safe_load((folder / "steps.yaml").read_text(encoding="utf-8"))
    return found


class Play:
    """One run of a scenario by whoever decides at the time. `clear` has to be called at the end."""

    def __init__(self, client: Client, dashboards: Dashboards, folder: Path) -> None:
        self._client = client
        self._dashboards = dashboards
        self._folder = folder
        self._names = Names()
        self._namespaces: list[str] = []
        self._made: list[Json] = []

    def steps(self) -> list[Step]:
        """Play all steps."""
        return [self._step(each) for each in scenario(self._folder)["steps"]]

    def clear(self) -> None:
        """Delete what the scenario made, and wait until it is gone."""
        left_behind = [
            each
            for api_version, kind in (*JOBS, ("v1", "Pod"), (KUEUE, "Workload"))
            for each in self._of(api_version, kind)
        ]
        for each in (*left_behind, *reversed(self._made)):
            with suppress(RequestError):
                self._delete(each)
        end = time.monotonic() + GONE_S
        while left := [each for each in self._made if self._is_there(each)]:
            assert time.monotonic() < end, f"still there: {[each['metadata']['name'] for each in left]}"
            time.sleep(POLL_S)

    def _step(self, step: Json) -> Step:
        errors: list[str] = []
        for name in step.get("create", ()):
            for each in yaml.safe_load_all((self._folder / name).read_text(encoding="utf-8")):
                if each:
                    self._attempt(errors, "create", each, self._create)
                    time.sleep(step.get("gap", 0))
        for change in step.get("patch", ()):
            write = partial(self._patch, change["patch"], change.get("type", MERGE))
            for each in self._targets(change):
                self._attempt(errors, "patch", each, write)
        for gone in step.get("delete", ()):
            for each in self._targets(gone):
                self._attempt(errors, "delete", each, self._delete)
        if "finish" in step:
            for namespace in self._namespaces:
                for pod in self._list("v1", "Pod", namespace, labelSelector=step["finish"]):
                    self._client.merge(pod, END)
        for job in self._of("ray.io/v1", "RayJob") if "fakeray" in step else ():
            if job.get("status", {}).get("jobId"):
                self._dashboards.end(job["status"]["jobId"], step["fakeray"])
        missed = self._settle(step)
        look = self._look()
        return Step(step["name"], errors, missed, snapshot(look, self._events(), self._names))

    # ---- doing

    def _create(self, manifest: Json) -> None:
        made = self._client.create(manifest)
        self._made.append({**made, "apiVersion": manifest["apiVersion"], "kind": manifest["kind"]})
        if manifest["kind"] == "Namespace":
            self._namespaces.append(manifest["metadata"]["name"])
            account = {
                "apiVersion": "v1",
                "kind": "ServiceAccount",
                "metadata": {"name": "default", "namespace": manifest["metadata"]["name"]},
            }
            end = time.monotonic() + GONE_S
            while not self._is_there(account) and time.monotonic() < end:
                time.sleep(POLL_S)

    def _attempt(self, errors: list[str], what: str, obj: Json, act: Callable[[Json], None]) -> None:
        try:
            act(obj)
        except RequestError as error:
            name = self._names.text(obj["metadata"]["name"])
            errors.append(f"{what} {obj['kind']}/{name}: {self._names.text(str(error))}")

    def _targets(self, asked: Json) -> list[Json]:
        if "name" in asked:
            return [{**asked, "metadata": {"name": asked["name"], "namespace": asked.get("namespace", "")}}]
        found = self._list(asked["apiVersion"], asked["kind"], asked.get("namespace"))
        return [{**each, "apiVersion": asked["apiVersion"], "kind": asked["kind"]} for each in found]

    def _patch(self, patch: Any, content_type: str, obj: Json) -> None:
        self._client.request("PATCH", self._client.path_of(obj), patch, content_type)

    def _delete(self, obj: Json) -> None:
        body: Json = {"propagationPolicy": "Background"}
        if obj["kind"] == "Pod":
            body["gracePeriodSeconds"] = 0
        self._client.request("DELETE", self._client.path_of(obj), body)

    def _is_there(self, obj: Json) -> bool:
        try:
            self._client.request("GET", self._client.path_of(obj))
        except RequestError as error:
            return error.status != 404
        return True

    # ---- looking

    def _list(self, api_version: str, kind: str, namespace: str | None = None, **query: str) -> list[Json]:
        items = self._client.request("GET", self._client.path(api_version, kind, namespace), **query)["items"]
        return [{"apiVersion": api_version, "kind": kind, **each} for each in items]

    def _of(self, api_version: str, kind: str) -> list[Json]:
        return [each for name in self._namespaces for each in self._list(api_version, kind, name)]

    def _look(self) -> Look:
        jobs = [each for api_version, kind in JOBS for each in self._of(api_version, kind)]
        ours = {each["metadata"]["name"] for each in self._made}
        queues = [
            each
            for kind in QUEUE_KINDS
            for each in self._list(KUEUE, kind)
            if each["metadata"]["name"] in ours
        ]
        look = Look(jobs, self._of("v1", "Pod"), self._of(KUEUE, "Workload"), queues)
        self._names.learn([*look.jobs, *look.pods, *look.workloads])
        return look

    def _events(self) -> list[Json]:
        return [
            each
            for namespace in self._namespaces
            for each in self._list("events.k8s.io/v1", "Event", namespace)
        ]

    def _settle(self, step: Json) -> list[str]:
        """Wait until what the step says holds, and then nothing changes; what never held."""
        end = time.monotonic() + step.get("timeout", TIMEOUT_S)
        quiet = step.get("settle", SETTLE_S)
        before: Any = None
        since = time.monotonic()
        missed: list[str] = []
        while time.monotonic() < end:
            look = self._look()
            now = sorted((each["kind"], each["metadata"]["resourceVersion"]) for each in look.objects)
            if now != before:
                before, since = now, time.monotonic()
            missed = [each for each in step.get("until", ()) if not _holds(each, look)]
            if not missed and time.monotonic() - since >= quiet:
                return []
            time.sleep(POLL_S)
        return missed or ["never quiet"]


def _holds(wanted: str, look: Look) -> bool:
    what, _, count = wanted.partition("=")
    return look.count(what) == int(count)
