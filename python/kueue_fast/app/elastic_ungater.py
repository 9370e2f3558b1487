"""Lets the pods of elastic jobs go to the scheduler, as many as the active slice of their chain was given.

Pods come in bursts, so that an event of a pod waits for others of its chain; one of a slice does not. What was written
has to be seen again before more is decided; every pod that is seen brings its chain.

Source: JS-510..516.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from kueue_fast.api.core import Pod
from kueue_fast.api.kueue import Workload
from kueue_fast.app.looks import Looks
from kueue_fast.app.releases import Releases
from kueue_fast.cluster.changes import Change, Key, WatchEvent, describe
from kueue_fast.cluster.kube.cluster import KubeCluster
from kueue_fast.cluster.kube.writer import Writer
from kueue_fast.errors import KueueFastError
from kueue_fast.jobs.ancestors import controller_of
from kueue_fast.lifecycle.elastic_gates import next_release
from kueue_fast.lifecycle.pods import has_gate, is_terminal, slice_name, slice_of_pod
from kueue_fast.lifecycle.ungating import BATCH_NS
from kueue_fast.model.elastic import ELASTIC_JOB, is_elastic

__all__ = ["ElasticUngater"]

log = logging.getLogger("elastic_job_ungater")


class ElasticUngater:
    """For the gate ElasticJobsViaWorkloadSlices; `now` gives ns since 1970.

    A chain of slices is looked at under the name that its slices and pods have in common, as if it were a Workload's.
    """

    def __init__(self, cluster: KubeCluster, writer: Writer, now: Callable[[], int]) -> None:
        self._cluster = cluster
        self._now = now
        self._looks = Looks(self._look, now)
        # Chains that a pod has brought, and whose batch is still open.
        self._batches: set[Key] = set()
        self._releases = Releases(cluster, writer, self._looks.again)
        # Pods that have not ended by chain, then by name.
        self._pods: dict[Key, dict[str, Pod]] = {}
        # The uid of the job that owns the slices of a chain: not always the one that owns its pods (JS-511).
        self._jobs: dict[Key, str] = {}

    def start(self) -> None:
        """Look at the chains of all pods, and from now on at those whose pods or slices change."""
        self._cluster.watch(Workload.KIND, self._on_workload)
        self._cluster.watch(Pod.KIND, self._on_pod)
        for kind, listener in ((Workload.KIND, self._on_workload), (Pod.KIND, self._on_pod)):
            for each in list(self._cluster.list(kind)):
                listener(WatchEvent(Change.ADDED, each, None))

    def stop(self) -> None:
        """Let no more pods go."""
        self._looks.stop()

    def _on_workload(self, event: WatchEvent) -> None:
        workload: Workload = event.object
        owner = controller_of(workload.metadata)
        if owner is None or not is_elastic(workload.metadata.annotations, slices=True):
            return
        key = Workload.KIND, workload.metadata.namespace or "", slice_name(workload)
        if event.change is Change.DELETED and not any(
            slice_name(each) == key[2] for each in self._cluster.dependents(owner.uid, Workload.KIND)
        ):
            self._jobs.pop(key, None)
            self._batches.discard(key)
            self._looks.forget(key)
            return
        self._jobs[key] = owner.uid
        if key in self._pods:
            self._looks.ask(key)

    def _on_pod(self, event: WatchEvent) -> None:
        pod: Pod = event.object
        name = slice_of_pod(pod)
        if not name:
            return
        key = Workload.KIND, pod.metadata.namespace or "", name
        gone = event.change is Change.DELETED
        pods = self._pods.setdefault(key, {})
        if gone or is_terminal(pod):
            pods.pop(pod.metadata.name, None)
        else:
            pods[pod.metadata.name] = pod
        if not pods:
            del self._pods[key]
        if gone or not has_gate(pod, ELASTIC_JOB):
            self._releases.observed(describe(key), pod)
        # Nearly all pods belong to jobs that are not elastic.
        if key in self._jobs and key not in self._batches:
            self._batches.add(key)
            self._looks.at(key, self._now() + BATCH_NS)

    def _look(self, key: Key) -> None:
        self._batches.discard(key)
        chain = describe(key)
        try:
            pods = next_release(
                key[2],
                self._cluster.dependents(self._jobs.get(key, ""), Workload.KIND),
                self._pods.get(key, {}).values(),
                self._releases.pending(chain),
                slices=True,
            )
        except KueueFastError as error:
            log.warning("%s: %s", chain, error)
            return self._looks.again(key)
        self._releases.write(key, chain, pods)
