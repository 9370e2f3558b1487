"""The StatefulSet integration: all pods of a StatefulSet are one group that serves.

Source: JS-391..397, section 11.7 of the job rules.
"""

from __future__ import annotations

from typing import Final

import msgspec

from kueue_fast.api.apps import StatefulSet
from kueue_fast.api.core import Pod, PodTemplateSpec
from kueue_fast.api.kueue import PodSet, Workload
from kueue_fast.jobs import names, pod_names
from kueue_fast.jobs.group_workload import is_on_hold, owner_uid
from kueue_fast.jobs.pod_facts import (
    group_name,
    in_group,
    with_metadata,
    without_finalizer,
)
from kueue_fast.jobs.pod_set_info import annotations_of
from kueue_fast.jobs.pod_templates import marked
from kueue_fast.jobs.roles import Role, pod_sets_of
from kueue_fast.jobs.serving import (
    is_held,
    propagated_labels,
    validate_serving,
    validate_serving_update,
    validate_shape,
)
from kueue_fast.jobs.settings import JobSettings
from kueue_fast.jobs.topology_indexes import INDEXES
from kueue_fast.jobs.validation import immutable, validate_elastic_annotation, validate_queue_name
from kueue_fast.jobs.workload import is_managed
from kueue_fast.lifecycle.pods import is_terminal
from kueue_fast.model.topology_names import POD_GROUP_POD_INDEX_LABEL
from kueue_fast.model.validation.field_error import FieldError, forbidden

__all__ = ["StatefulSets"]

POD_INDEX: Final = "apps.kubernetes.io/pod-index"


class StatefulSets:
    """apps/v1 StatefulSet: one Workload with the pod set `main`; it never ends."""

    framework = "statefulset"
    api_version = "apps/v1"
    group = "apps"
    kind = "StatefulSet"
    prebuilt = False
    elastic = False

    def skip(self, job: StatefulSet) -> bool:
        """Whether its pods are another kind's, such as a LeaderWorkerSet's. Source: JS-391."""
        parent = annotations_of(job.spec.template).get(pod_names.SUSPENDING_PARENT, self.framework)
        return parent != self.framework

    def pod_sets(self, job: StatefulSet, settings: JobSettings) -> list[PodSet]:
        """One pod set; labels and annotations of the template stay behind. Raises InputError as a template does."""
        template = job.spec.template
        bare = PodTemplateSpec(spec=template.spec)
        indexes = INDEXES[self.framework]
        role = Role(names.DEFAULT_POD_SET, replicas(job), template, "spec.template", indexes, counted=bare)
        return pod_sets_of([role], settings)

    def workload_name(self, job: StatefulSet, settings: JobSettings) -> str:
        """Name of its Workload. Source: JS-393."""
        return self._name(job, owner_uid(job.metadata), settings)

    def legacy_workload_name(self, job: StatefulSet, settings: JobSettings) -> str:
        """Name that earlier versions gave it, used while such a Workload exists. Source: JS-393."""
        return self._name(job, "", settings)

    def _name(self, job: StatefulSet, uid: str, settings: JobSettings) -> str:
        name = job.metadata.name
        return names.workload_name(name, uid, self.group, self.kind, short=settings.short_workload_names)

    def default(self, job: StatefulSet, settings: JobSettings) -> StatefulSet:
        """The pods say who holds them. At creation and at every update. Source: JS-392."""
        if self.skip(job) or not is_held(job.metadata, settings):
            return job
        template = marked(job.spec.template, annotations={pod_names.SUSPENDING_PARENT: self.framework})
        return msgspec.structs.replace(job, spec=msgspec.structs.replace(job.spec, template=template))

    def default_pod(self, job: StatefulSet | None, pod: Pod, workload: str, settings: JobSettings) -> Pod:
        """A pod as a member of its group; one that is done or goes is let go. The same object if nothing changes.

        `job` is the pod's controller, None when that is gone or no StatefulSet; `workload` is its Workload's name.
        Source: JS-395.
        """
        if is_terminal(pod) or pod.metadata.deletion_timestamp:
            return without_finalizer(pod)
        if job is None:
            return pod
        labels = propagated_labels(job.metadata)
        if group_name(pod.metadata, settings) == workload:
            queue = {key: value for key, value in labels.items() if key == names.QUEUE_NAME_LABEL}
            return with_metadata(pod, labels=queue)
        if not is_managed(job.metadata, settings):
            return pod
        pod = with_metadata(
            pod,
            labels={pod_names.MANAGED: pod_names.TRUE, **labels},
            annotations={
                pod_names.GROUP_TOTAL_COUNT: str(replicas(job)),
                pod_names.GROUP_FAST_ADMISSION: pod_names.TRUE,
                pod_names.GROUP_SERVING: pod_names.TRUE,
                POD_GROUP_POD_INDEX_LABEL: POD_INDEX,
                pod_names.ROLE_HASH: names.DEFAULT_POD_SET,
            },
        )
        return in_group(pod, workload, settings)

    def validate(self, job: StatefulSet, settings: JobSettings) -> list[FieldError]:
        """What is wrong with a new object. Source: JS-396."""
        return [] if self.skip(job) else validate_serving(job.metadata, self, settings)

    def validate_update(
        self, old: StatefulSet, new: StatefulSet, workload: Workload | None, settings: JobSettings
    ) -> list[FieldError]:
        """What is wrong with a change; `workload` is the one of the old object, None without it. Source: JS-396."""
        if self.skip(new):
            return []
        ready = (old.status.ready_replicas if old.status is not None else None) or 0
        errors = [
            *validate_queue_name(new.metadata),
            *validate_elastic_annotation(new.metadata, self, settings),
            *validate_serving_update(old, new, ready, settings),
        ]
        if is_held(new.metadata, settings):
            errors += validate_shape("spec.template.spec", old.spec.template, new.spec.template)
            errors += validate_replicas(old, new, workload)
        return errors


def replicas(job: StatefulSet) -> int:
    """Pods that are asked for; none said is one."""
    return 1 if job.spec.replicas is None else job.spec.replicas


def validate_replicas(old: StatefulSet, new: StatefulSet, workload: Workload | None) -> list[FieldError]:
    """A group is as large as it is: it goes to none and comes back, once its pods have gone. Source: JS-396."""
    path = "spec.replicas"
    before, after = replicas(old), replicas(new)
    if before and after:
        return immutable(path, before, after)
    if before or not after:
        return []
    if new.status is not None and new.status.replicas:
        return [forbidden(path, "scaling down is still in progress")]
    if workload is not None and not is_on_hold(workload):
        return [forbidden(path, "the Workload from before the scale down is still being deleted")]
    return []
