"""Runs the reconciler of pods on the single pods and groups that Kueue manages.

Source: JS-332..358, JS-061.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kueue_fast.api.core import Pod
from kueue_fast.api.kueue import Workload
from kueue_fast.app.events import Events, recorder_name
from kueue_fast.app.steps import Steps
from kueue_fast.app.view import LiveView
from kueue_fast.cluster.changes import Change, Key, WatchEvent
from kueue_fast.cluster.kube.cluster import KubeCluster
from kueue_fast.cluster.kube.writer import Writer
from kueue_fast.jobs import pod_names, pod_reconciler, reconciler
from kueue_fast.jobs.actions import DeletePod, GroupAction
from kueue_fast.jobs.ancestors import controller_of
from kueue_fast.jobs.next_step import owned_workloads
from kueue_fast.jobs.pod_facts import group_name
from kueue_fast.jobs.pod_group import PodGroup
from kueue_fast.jobs.pod_group_workload import workload_name
from kueue_fast.jobs.validation import prebuilt_name
from kueue_fast.lifecycle.expectations import Expectations

__all__ = ["PodJobController"]


class PodJobController:
    """Keys are namespace, the name of the group or else empty, and without a group the name of the pod.

    `implicit`: `pod` is on only for the sake of other frameworks.
    """

    def __init__(
        self,
        cluster: KubeCluster,
        writer: Writer,
        recorder: Events,
        view: LiveView,
        now: Callable[[], int],
        *,
        implicit: bool,
    ) -> None:
        self._cluster = cluster
        self._view = view
        self._now = now
        self._implicit = implicit
        self._steps = Steps(cluster, writer, recorder, lambda _: recorder_name("pod"), self._decide, now)
        # Names of the members of each group, in the order in which they came.
        self._groups: dict[Key, dict[str, None]] = {}
        # Pods alone that name a Workload made beforehand, by its namespace and name.
        self._wanting: dict[tuple[str, str], set[Key]] = {}
        self._deletions = Expectations()

    def start(self) -> None:
        """Look at every pod there is, and from now on at those that change."""
        self._cluster.watch(Pod.KIND, self._on_pod)
        self._cluster.watch(Workload.KIND, self._on_workload)
        for pod in list(self._cluster.list(Pod.KIND)):
            self._on_pod(WatchEvent(Change.ADDED, pod, None))
        for workload in list(self._cluster.list(Workload.KIND)):
            self._on_workload(WatchEvent(Change.ADDED, workload, None))

    def stop(self) -> None:
        """Take no more steps."""
        self._steps.stop()

    def _on_pod(self, event: WatchEvent) -> None:
        pod: Pod = event.object
        if (pod.metadata.labels or {}).get(pod_names.MANAGED) != pod_names.TRUE:
            return
        group = group_name(pod.metadata, self._view.settings)
        key = pod.metadata.namespace or "", group, "" if group else pod.metadata.name
        gone = event.change is Change.DELETED
        if group:
            members = self._groups.setdefault(key, {})
            if gone:
                members.pop(pod.metadata.name, None)
            else:
                members[pod.metadata.name] = None
            if not members:
                del self._groups[key]
            if gone or pod.metadata.deletion_timestamp:
                self._deletions.observed(str(key), pod.metadata.uid or "")
        self._steps.ask(key)

    def _on_workload(self, event: WatchEvent) -> None:
        workload: Workload = event.object
        namespace = workload.metadata.namespace or ""
        for key in self._wanting.get((namespace, workload.metadata.name), ()):
            self._steps.ask(key)
        group = namespace, workload.metadata.name, ""
        controller = controller_of(workload.metadata)
        if group in self._groups or _is_of_group(workload):
            self._steps.ask(group)
        elif controller is not None and (controller.api_version, controller.kind) == (
            Pod.API_VERSION,
            Pod.KIND,
        ):
            self._steps.ask((namespace, "", controller.name))

    def _decide(self, key: Key) -> Sequence[GroupAction]:
        namespace, group_of, name = key
        if not self._view.manages(namespace):
            return ()
        members = list(self._groups.get(key, ())) if group_of else [name]
        found = [self._cluster.get(Pod.KIND, namespace, each) for each in members]
        pods: list[Pod] = [pod for pod in found if pod is not None]
        now = self._now()
        if not pods:
            return self._orphaned(key, now)
        group = PodGroup(pods, is_group=bool(group_of))
        actions = pod_reconciler.reconcile(
            group,
            self._workload(key, group),
            self._view,
            now,
            observed=not self._deletions.pending(str(key)),
            implicit=self._implicit,
        )
        gone = [each.pod.metadata.uid or "" for each in actions if isinstance(each, DeletePod)]
        if group_of and gone:
            self._deletions.expect(str(key), gone)
        return actions

    def _orphaned(self, key: Key, now: int) -> Sequence[GroupAction]:
        """All pods are gone: the Workload of one pod ends, that of a group may go. Source: JS-061."""
        namespace, group_of, name = key
        if group_of:
            found: Workload | None = self._cluster.get(Workload.KIND, namespace, group_of)
            if found is None:
                return ()
            return pod_reconciler.reconcile_empty_group(found, self._view.settings, now)
        actions = [
            reconciler.finalize(each, self._view.settings, now)
            for each in self._cluster.list(Workload.KIND, namespace)
            if (owner := controller_of(each.metadata)) is not None
            and (owner.kind, owner.name) == (Pod.KIND, name)
            and self._cluster.by_uid(owner.uid) is None
        ]
        return [each for each in actions if each is not None]

    def _workload(self, key: Key, group: PodGroup) -> Workload | None:
        metadata = group.first.metadata
        name = prebuilt_name(metadata, self._view.settings)
        if name and not group.is_group:
            self._wanting.setdefault((key[0], name), set()).add(key)
        if group.is_group or name:
            name = workload_name(group, self._view.settings)
            found: Workload | None = self._cluster.get(Workload.KIND, key[0], name)
            return found
        return next(iter(owned_workloads(self._cluster, metadata)), None)


def _is_of_group(workload: Workload) -> bool:
    """Whether it was made for a group of pods, which own it and do not control it."""
    marked = (workload.metadata.annotations or {}).get(pod_names.IS_GROUP_WORKLOAD) == pod_names.TRUE
    return marked and controller_of(workload.metadata) is None
