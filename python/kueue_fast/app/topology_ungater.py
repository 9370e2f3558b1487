"""Lets the pods of placed Workloads go to the scheduler, each to its domain.

Pods come in bursts, so that an event of a pod waits for others of its Workload. What was written has to be seen again
before more is decided; every pod that is seen brings its Workload, so that nothing has to be tried again meanwhile.

Source: TP-1802, TP-1803, TP-1811.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial

from kueue_fast.api.core import Pod
from kueue_fast.api.kueue import Workload
from kueue_fast.app.looks import Looks
from kueue_fast.app.releases import Releases
from kueue_fast.cluster.changes import Change, Key, WatchEvent, describe, key_of
from kueue_fast.cluster.kube.cluster import KubeCluster
from kueue_fast.cluster.kube.writer import Writer
from kueue_fast.errors import KueueFastError
from kueue_fast.lifecycle.pods import is_terminal, slice_name, slice_of_pod
from kueue_fast.lifecycle.ungating import (
    BATCH_NS,
    is_observed,
    reconcile_ungating,
    whose_places,
    workload_to_look_at,
)
from kueue_fast.model.placements import is_placed, placements

__all__ = ["TopologyUngater"]

log = logging.getLogger("tas_topology_ungater")


class TopologyUngater:
    """`now` gives ns since 1970; `concurrent_admission` is the gate of that name."""

    def __init__(
        self, cluster: KubeCluster, writer: Writer, now: Callable[[], int], *, concurrent_admission: bool
    ) -> None:
        self._cluster = cluster
        self._now = now
        self._concurrent_admission = concurrent_admission
        self._looks = Looks(self._look, now)
        # Workloads that a pod has brought, and whose batch is still open.
        self._batches: set[Key] = set()
        self._releases = Releases(cluster, writer, self._looks.again)
        # Pods that have not ended by namespace and slice of their Workload, then by name.
        self._pods: dict[tuple[str, str], dict[str, Pod]] = {}

    def start(self) -> None:
        """Look at the Workloads of all pods, and from now on at those whose pods or places change."""
        self._cluster.watch(Pod.KIND, self._on_pod)
        self._cluster.watch(Workload.KIND, self._on_workload)
        for pod in list(self._cluster.list(Pod.KIND)):
            self._on_pod(WatchEvent(Change.ADDED, pod, None))

    def stop(self) -> None:
        """Let no more pods go."""
        self._looks.stop()

    def _on_pod(self, event: WatchEvent) -> None:
        pod: Pod = event.object
        found = workload_to_look_at(pod)
        if found is None:
            return
        namespace, _, name = found.partition("/")
        key = Workload.KIND, namespace, name
        gone = event.change is Change.DELETED
        chain = namespace, slice_of_pod(pod) or ""
        pods = self._pods.setdefault(chain, {})
        if gone or is_terminal(pod):
            pods.pop(pod.metadata.name, None)
        else:
            pods[pod.metadata.name] = pod
        if not pods:
            del self._pods[chain]
        if is_observed(pod, deleted=gone):
            self._releases.observed("/".join(chain), pod)
        if key not in self._batches:
            self._batches.add(key)
            self._looks.at(key, self._now() + BATCH_NS)

    def _on_workload(self, event: WatchEvent) -> None:
        workload: Workload = event.object
        key = key_of(workload)
        if event.change is Change.DELETED:
            self._batches.discard(key)
            self._looks.forget(key)
        elif is_placed(workload) and (key[1], slice_name(workload)) in self._pods:
            self._looks.ask(key)

    def _look(self, key: Key) -> None:
        self._batches.discard(key)
        named: Workload | None = self._cluster.get(*key)
        owned = partial(self._cluster.dependents, kind=Workload.KIND)
        workload = None if named is None else whose_places(named, owned)
        if workload is None or not is_placed(workload):
            return
        # A look at any slice of a chain expects what all of its pods tell.
        chain = key[1] or "", slice_name(workload)
        expected_by = "/".join(chain)
        try:
            pods = reconcile_ungating(
                workload,
                placements(workload),
                self._pods.get(chain, {}).values(),
                self._releases.pending(expected_by),
                concurrent_admission=self._concurrent_admission,
            ).pods
        except KueueFastError as error:
            log.warning("%s: %s", describe(key), error)
            return self._looks.again(key)
        self._releases.write(key, expected_by, pods)
