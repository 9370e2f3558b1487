"""What a scenario plays around the scheduler: objects that come and go, and what the controllers do after a cycle.

Source: the corpus README; QC-6 to QC-9, QC-19, QC-28, QC-34, QC-154.
"""

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any, TypeAlias

from tests.oracle.cluster import Cluster, ClusterQueue
from tests.oracle.scheduler import Decisions, Scheduler
from tests.oracle.settings import Settings
from tests.oracle.workloads import SECOND, Workload

Manifest: TypeAlias = Mapping[str, Any]


class World:
    def __init__(self, settings: Settings, now: int) -> None:
        self.settings = settings
        self.cluster = Cluster(settings)
        self.scheduler = Scheduler(self.cluster)
        self.local_queues: dict[str, Manifest] = {}
        self.workloads: dict[str, Workload] = {}
        self.to_flush: set[str] = (
            set()
        )  # ClusterQueues whose parked workloads move back before the next cycle
        self.stopping: set[str] = set()  # evicted workloads that still hold quota
        self.now = now

    # --- objects

    def create(self, manifest: Manifest) -> None:
        kind, metadata = manifest["kind"], manifest["metadata"]
        name = metadata["name"]
        if kind == "Namespace":
            self.cluster.namespaces[name] = metadata.get("labels") or {}
        elif kind == "LimitRange":
            self.cluster.limit_ranges.setdefault(metadata["namespace"], []).append(manifest)
        elif kind == "RuntimeClass":
            self.cluster.runtime_classes[name] = manifest
        elif kind == "AdmissionCheck":
            conditions = (manifest.get("status") or {}).get("conditions") or ()
            self.cluster.checks[name] = any(
                c["type"] == "Active" and c["status"] == "True" for c in conditions
            )
            self.cluster.refresh_activity()
        elif kind == "LocalQueue":
            self.local_queues[f"{metadata['namespace']}/{name}"] = {}
            self.update(manifest)
        elif kind == "Workload":
            workload = Workload(manifest)
            self.workloads[workload.key] = workload
            self._enqueue(workload)
        elif kind == "ClusterQueue":
            self.update(manifest)
            for workload in self._queued_in(self.cluster.cluster_queues[name]):
                self._rebuild(workload)
                self.cluster.cluster_queues[name].pending.add_untracked(workload)
        else:
            self.update(manifest)

    def update(self, manifest: Manifest) -> None:
        kind, metadata, spec = manifest["kind"], manifest["metadata"], manifest.get("spec") or {}
        name = metadata["name"]
        if kind == "ResourceFlavor":
            self.cluster.flavors[name] = spec
            self.cluster.refresh_activity()
            self.to_flush.update(self.cluster.cluster_queues)
        elif kind == "Cohort":
            self.cluster.set_cohort(name, spec)
            self.to_flush.update(self.cluster.cluster_queues)
        elif kind == "ClusterQueue":
            self.cluster.set_cluster_queue(name, spec)
            self.to_flush.update(self.cluster.cluster_queues)
        elif kind == "LocalQueue":
            self._update_local_queue(f"{metadata['namespace']}/{name}", spec)
        elif kind == "Workload":
            self._update_workload(self.workloads[f"{metadata['namespace']}/{name}"], spec)
        else:
            raise ValueError(f"cannot update a {kind}")

    def delete(self, reference: str) -> None:
        """`Workload/namespace/name`."""
        kind, _, key = reference.partition("/")
        if kind != "Workload":
            raise ValueError(f"cannot delete {reference}")
        self._drop(self.workloads.pop(key))

    def finish(self, key: str) -> None:
        self.workloads[key].finished = True
        self._drop(self.workloads[key])

    # --- queues

    def cluster_queue_of(self, workload: Workload) -> ClusterQueue | None:
        """Where a workload queues; nowhere while its LocalQueue is held."""
        local_queue = self.local_queues.get(workload.queue)
        if not local_queue or is_held(local_queue):
            return None
        return self.cluster.cluster_queues.get(local_queue["clusterQueue"])

    def _queued_in(self, cluster_queue: ClusterQueue) -> list[Workload]:
        return [
            w
            for w in self.workloads.values()
            if w.is_admissible and self.cluster_queue_of(w) is cluster_queue
        ]

    def _rebuild(self, workload: Workload) -> None:
        limits = self.cluster.limit_ranges.get(workload.namespace, [])
        workload.rebuild(self.settings, self.cluster.runtime_classes, limits)

    def _enqueue(self, workload: Workload, *, changed: bool = True) -> None:
        """An event of a pending workload. Source: QC-19."""
        self._rebuild(workload)
        cluster_queue = self.cluster_queue_of(workload)
        if cluster_queue is not None and workload.is_admissible:
            cluster_queue.pending.add_or_update(workload, changed=changed)

    def _update_local_queue(self, key: str, spec: Manifest) -> None:
        """Pending workloads leave a ClusterQueue that is no longer theirs and join the one that is. Source: QC-8."""
        queued = [w for w in self.workloads.values() if w.queue == key and w.is_admissible]
        before = [self.cluster_queue_of(w) for w in queued]
        released = is_held(self.local_queues[key]) or not self.local_queues[key]
        self.local_queues[key] = spec
        for workload, old in zip(queued, before, strict=True):
            new = self.cluster_queue_of(workload)
            if new is old:
                continue
            if old is not None:
                old.pending.delete(workload.key)
            if released:
                workload.record = None
                self._rebuild(workload)
            if new is not None:
                new.pending.add_untracked(workload)

    def _update_workload(self, workload: Workload, spec: Manifest) -> None:
        old_queue, old_spec, old_shape = self.cluster_queue_of(workload), workload.spec, workload.shape
        workload.spec = spec
        if workload.admission is not None:
            holder = self.cluster.holder(workload)
            self._signal(workload)
            holder.generation += 1
            return
        new_queue = self.cluster_queue_of(workload)
        if old_queue is not None and (old_queue is not new_queue or not workload.is_admissible):
            old_queue.pending.delete(workload.key)
        self._rebuild(workload)
        if workload.shape != old_shape or not self.settings.enabled("FlavorFungibilityPreserveScanProgress"):
            workload.record = None
        self._enqueue(workload, changed=spec != old_spec)

    def _signal(self, workload: Workload) -> None:
        """Something changed that workloads of the same tree may wait for. Source: QC-31, QC-35."""
        self._wake(self.cluster_queue_of(workload))

    def _wake(self, cluster_queue: ClusterQueue | None) -> None:
        if cluster_queue is not None:
            self.to_flush.update(c.name for c in self.cluster.tree(cluster_queue.node))

    def _drop(self, workload: Workload) -> None:
        """Out of queue and cache. Source: QC-9, QC-35."""
        cluster_queue = self.cluster_queue_of(workload)
        if cluster_queue is not None:
            cluster_queue.pending.delete(workload.key)
        self.stopping.discard(workload.key)
        self._release(workload)
        self._signal(workload)

    def _release(self, workload: Workload) -> None:
        """Wakes who may use the quota now, even if the LocalQueue is held. Source: QC-35 as improved."""
        if workload.admission is not None:
            holder = self.cluster.holder(workload)
            self._wake(holder)
            self.cluster.let_go(workload)
            holder.generation += 1
            workload.admission = None

    # --- cycles

    def flush(self) -> None:
        """Carry out what is pending of "move parked workloads back". Source: QC-37."""
        for name in self.to_flush:
            cluster_queue = self.cluster.cluster_queues[name]
            cluster_queue.pending.flush(partial(self.cluster.admits_namespace, cluster_queue))
        self.to_flush.clear()

    def has_heads(self) -> bool:
        return any(c.pending.heap and self.cluster.is_active(c) for c in self.cluster.cluster_queues.values())

    def cycle(self) -> Decisions:
        """Run a cycle, observe admissions, end evictions a second apart; `preempted` keeps new victims only."""
        decisions = self.scheduler.run(self.now)
        for entry in decisions.requeued:
            self._rebuild(entry.workload)
            entry.cluster_queue.pending.requeue(entry.workload, entry.requeue_reason)
        for entry in decisions.admitted:
            entry.cluster_queue.pending.delete(entry.workload.key)
            entry.cluster_queue.generation += 1
        decisions.preempted = {
            key: target for key, target in decisions.preempted.items() if not target.workload.evicted
        }
        for _, target in sorted(decisions.preempted.items()):
            target.workload.evicted = True
            target.workload.preempted = target.reason, self.now
        self.now += SECOND
        for i, key in enumerate(sorted(decisions.preempted)):
            self.now += SECOND if i else 0
            self._evict(self.workloads[key])
        return decisions

    def _evict(self, workload: Workload) -> None:
        if self.settings.slow_evictions:
            self.cluster.holder(workload).generation += 1
            self._signal(workload)
            self.stopping.add(workload.key)
        else:
            self._stop(workload)

    def _stop(self, workload: Workload) -> None:
        """Its job has stopped: it gives its quota back and queues again."""
        self._release(workload)
        workload.record = None
        self._enqueue(workload)
        self._signal(workload)

    def stop(self, count: int) -> None:
        """The first `count` of the workloads being evicted stop, all if negative."""
        keys = sorted(self.stopping)
        for key in keys if count < 0 else keys[:count]:
            self.stopping.discard(key)
            self._stop(self.workloads[key])

    def places(self) -> list[tuple[str, Iterable[str], Iterable[str]]]:
        """Per ClusterQueue what its heap and its parked set hold."""
        return [
            (name, sorted(c.pending.heap), sorted(c.pending.parked))
            for name, c in sorted(self.cluster.cluster_queues.items())
        ]


def is_held(local_queue: Manifest) -> bool:
    return (local_queue.get("stopPolicy") or "None") != "None"
