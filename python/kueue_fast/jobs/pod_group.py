"""A pod alone, or the pods of a group, as one job: its state, its pod sets, and how it is started and stopped.

Source: JS-332..350, JS-369, section 11.6 of the job rules.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from kueue_fast.api.core import Pod, PodSpec, PodStatus, PodTemplateSpec
from kueue_fast.api.kueue import PodSet, ReclaimablePod
from kueue_fast.api.meta import Condition
from kueue_fast.errors import InputError
from kueue_fast.jobs import names, pod_names
from kueue_fast.jobs.actions import DeletePod, GroupAction, UpdatePod
from kueue_fast.jobs.integration import Finished
from kueue_fast.jobs.job_events import job_event
from kueue_fast.jobs.pod_facts import (
    annotation,
    is_ready,
    is_runnable,
    is_suspended,
    is_unretriable,
    phase,
    role,
    total_count,
    ungated,
    without_finalizer,
)
from kueue_fast.jobs.pod_set_info import PodSetInfo, StartError, decode, merge_template
from kueue_fast.jobs.roles import Role, pod_sets_of
from kueue_fast.jobs.settings import JobSettings
from kueue_fast.jobs.topology_indexes import INDEXES
from kueue_fast.lifecycle.pods import has_gate, is_terminal
from kueue_fast.lifecycle.status import timestamp
from kueue_fast.model import times
from kueue_fast.model.topology_names import TOPOLOGY_GATE

__all__ = ["WORKLOAD_DELETED", "PodGroup", "group_pod_sets", "single_pod_set", "stop_reason"]

WORKLOAD_DELETED: Final = "WorkloadDeleted"
WORKLOAD_EVICTED: Final = "WorkloadEvicted"
NO_MATCHING_WORKLOAD: Final = "NoMatchingWorkload"
NOT_ADMITTED: Final = "NotAdmitted"
TERMINATION_TARGET: Final = "TerminationTarget"
SECOND: Final = 1_000_000_000


@dataclass(frozen=True, slots=True)
class PodGroup:
    """The pods of one job, at least one; the first stands for the group where its members should agree."""

    pods: Sequence[Pod]
    is_group: bool = True

    @property
    def first(self) -> Pod:
        """The pod that stands for all."""
        return self.pods[0]

    @property
    def fast(self) -> bool:
        """Whether the group is admitted as one pod set before all of its pods are there."""
        return annotation(self.first, pod_names.GROUP_FAST_ADMISSION) == pod_names.TRUE

    @property
    def serving(self) -> bool:
        """Whether the group never ends. Source: JS-369."""
        return self.is_group and annotation(self.first, pod_names.GROUP_SERVING) == pod_names.TRUE

    def skip(self, *, implicit: bool) -> bool:
        """Whether the pods are not Kueue's; `implicit`: `pod` is on only for the sake of other frameworks.

        Source: JS-334.
        """
        if (self.first.metadata.labels or {}).get(pod_names.MANAGED) != pod_names.TRUE:
            return True
        return implicit and not annotation(self.first, pod_names.SUSPENDING_PARENT)

    def suspended(self) -> bool:
        """Whether a pod is held, or done."""
        return any(is_suspended(pod) for pod in self.pods)

    def active(self, settings: JobSettings, now_ns: int) -> bool:
        """Whether a pod of the group runs, other than one that should long be gone. Source: JS-349."""
        return self.is_group and any(_runs(pod, settings, now_ns) for pod in self.pods)

    def ready(self) -> bool:
        """Whether all pods are there and ready."""
        if not self.is_group:
            return is_ready(self.first)
        count = total_count(self.first)
        return count is not None and len(self.pods) >= count and all(is_ready(pod) for pod in self.pods)

    def finished(self) -> Finished | None:
        """How the pods ended, None while they have not. Source: JS-350."""
        if self.serving:
            return None
        if not self.is_group:
            if not is_terminal(self.first) or self.first.status is None:
                return None
            return Finished(self.first.status.message or "", phase(self.first) == "Succeeded")
        count = total_count(self.first)
        if count is None:
            return None
        succeeded = sum(phase(pod) == "Succeeded" for pod in self.pods)
        over = any(map(is_unretriable, self.pods)) and all(map(is_terminal, self.pods))
        if succeeded != count and not over:
            return None
        return Finished(f"Pods succeeded: {succeeded}/{count}.", True)

    def reclaimable_pods(self) -> list[ReclaimablePod]:
        """The pods that succeeded, by role."""
        if not self.is_group or self.serving:
            return []
        counts: dict[str, int] = {}
        for pod in self.pods:
            if phase(pod) == "Succeeded":
                name = role(pod)
                counts[name] = counts.get(name, 0) + 1
        return [ReclaimablePod(name=name, count=count) for name, count in counts.items()]

    def pod_sets(self, settings: JobSettings) -> list[PodSet]:
        """`main`, or one pod set a role; for a group with fast admission one of all pods.

        Raises InputError when the group has no pod that can run, or no number of pods. Source: JS-352.
        """
        if not self.is_group:
            return [single_pod_set(self.first, settings)]
        if not self.fast:
            return group_pod_sets(self.pods, settings)
        count = total_count(self.first)
        if count is None:
            raise InputError(
                "does not say how many pods the group has",
                field=f"$.metadata.annotations[{pod_names.GROUP_TOTAL_COUNT}]",
                expected="an integer of at least 1",
            )
        for pod in filter(is_runnable, self.pods):
            return [single_pod_set(pod, settings, name=role(pod), count=count)]
        raise InputError("no pod of the group can run")

    def start(self, infos: Sequence[PodSetInfo], message: str, now_ns: int) -> list[GroupAction]:
        """Release the pods that are held, each with what its role was given. Raises StartError. Source: JS-342."""
        if not self.is_group and len(infos) != 1:
            raise StartError(f"invalid podset infos: expecting 1 pod set got {len(infos)}")
        by_role = {info.name: info for info in infos}
        actions: list[GroupAction] = []
        for pod in self.pods:
            if not has_gate(pod, pod_names.ADMISSION_GATE):
                continue
            info = by_role.get(role(pod)) if self.is_group else infos[0]
            if info is None:
                raise StartError(f"invalid podset infos: podSetInfo with the name '{role(pod)}' is not found")
            event = job_event("Pod", pod.metadata, "Started", message, now_ns)
            actions.append(UpdatePod(started(pod, info), event))
        return actions

    def stop(self, reason: str, message: str, now_ns: int) -> list[GroupAction]:
        """Mark and delete the pods that run: a pod never comes back. With its Workload all pods go.

        `reason` is one of `stop_reason`. Source: JS-346, JS-347.
        """
        actions: list[GroupAction] = []
        all_go = reason == WORKLOAD_DELETED
        for pod in self.pods:
            let_go = without_finalizer(pod) if all_go and self.is_group else pod
            if not pod.metadata.deletion_timestamp and (all_go or not is_suspended(pod)):
                event = job_event("Pod", pod.metadata, "Stopped", message, now_ns)
                actions.append(DeletePod(_marked(let_go, reason, message, now_ns), event))
            elif let_go is not pod:
                actions.append(UpdatePod(let_go, None))
        return actions

    def finalize(self) -> list[GroupAction]:
        """Let all pods go. Source: JS-066."""
        return [UpdatePod(let_go, None) for pod in self.pods if (let_go := without_finalizer(pod)) is not pod]


def stop_reason(reason: str, eviction: str | None = None) -> str:
    """The reason that stopped pods carry: for an eviction, with its own. Source: JS-164."""
    return f"{reason}DueTo{eviction}" if reason == WORKLOAD_EVICTED and eviction else reason


def started(pod: Pod, info: PodSetInfo) -> Pod:
    """The pod with what admission adds; without a place in a topology its gate goes too. Raises StartError.

    Source: JS-342.
    """
    merged = merge_template(_template(pod), info)
    metadata = decode(merged.metadata)
    replace = msgspec.structs.replace
    pod = replace(
        pod,
        metadata=replace(
            pod.metadata,
            labels=metadata.get("labels") or None,
            annotations=metadata.get("annotations") or None,
        ),
        spec=msgspec.json.decode(merged.spec, type=PodSpec),
    )
    pod = ungated(pod, pod_names.ADMISSION_GATE)
    placed = {"name": TOPOLOGY_GATE} in info.scheduling_gates
    return pod if placed else ungated(pod, TOPOLOGY_GATE)


def single_pod_set(
    pod: Pod, settings: JobSettings, *, name: str = names.DEFAULT_POD_SET, count: int = 1
) -> PodSet:
    """The pod set of pods like this one. Raises InputError for annotations that make no request."""
    template = _template(pod)
    bare = PodTemplateSpec(spec=template.spec)
    one = Role(name, count, template, "", INDEXES["pod"], counted=bare)
    (pod_set,) = pod_sets_of([one], settings)
    return pod_set


def group_pod_sets(pods: Iterable[Pod], settings: JobSettings) -> list[PodSet]:
    """One pod set a role of the pods that can run, ran or run, by name."""
    found: dict[str, PodSet] = {}
    for pod in filter(is_runnable, pods):
        name = role(pod)
        if name in found:
            found[name].count += 1
        else:
            found[name] = single_pod_set(pod, settings, name=name)
    return [found[name] for name in sorted(found)]


def _template(pod: Pod) -> PodTemplateSpec:
    """The pod as if a template had made it."""
    metadata = {"labels": pod.metadata.labels or {}, "annotations": pod.metadata.annotations or {}}
    return PodTemplateSpec(
        metadata=msgspec.Raw(msgspec.json.encode(metadata)),
        spec=msgspec.Raw(msgspec.json.encode(pod.spec)),
    )


def _runs(pod: Pod, settings: JobSettings, now_ns: int) -> bool:
    if phase(pod) != "Running":
        return False
    deleted = pod.metadata.deletion_timestamp
    if not deleted:
        return True
    grace = pod.metadata.deletion_grace_period_seconds
    if settings.fast_quota_release:
        return False
    return grace is None or now_ns <= times.parse(deleted) + grace * SECOND


def _marked(pod: Pod, reason: str, message: str, now_ns: int) -> Pod:
    """The pod with the condition that says why it is deleted."""
    status = pod.status if pod.status is not None else PodStatus()
    condition = Condition(
        type=TERMINATION_TARGET,
        status="True",
        reason=reason,
        message=message,
        last_transition_time=timestamp(now_ns),
    )
    kept = [each for each in status.conditions or () if each.type != TERMINATION_TARGET]
    status = msgspec.structs.replace(status, conditions=[*kept, condition])
    return msgspec.structs.replace(pod, status=status)
