"""The LeaderWorkerSet integration: one Workload a group of leader and workers.

Source: JS-416..424, section 11.9 of the job rules.
"""

from __future__ import annotations

from typing import Final

import msgspec

from kueue_fast.api.core import PodTemplateSpec
from kueue_fast.api.kueue import PodSet
from kueue_fast.api.leaderworkerset import LeaderWorkerSet
from kueue_fast.jobs import names, pod_names
from kueue_fast.jobs.group_workload import owner_uid
from kueue_fast.jobs.pod_set_info import annotations_of
from kueue_fast.jobs.pod_templates import marked, without_keys
from kueue_fast.jobs.roles import Role, pod_sets_of, validate_topology
from kueue_fast.jobs.serving import (
    is_held,
    propagated_labels,
    validate_serving_update,
    validate_shape,
)
from kueue_fast.jobs.settings import JobSettings
from kueue_fast.jobs.topology_indexes import INDEXES, NO_INDEXES, leader_shifts_workers
from kueue_fast.jobs.validation import (
    immutable,
    validate_elastic_annotation,
    validate_gates,
    validate_queue_name,
)
from kueue_fast.model.integers import parse_int64
from kueue_fast.model.topology_names import POD_INDEX_OFFSET
from kueue_fast.model.validation.field_error import FieldError, invalid

__all__ = ["LeaderWorkerSets"]

LEADER: Final = "leader"
WORKER: Final = "worker"
PREFIX: Final = "leaderworkerset.sigs.k8s.io"
NAME_LABEL: Final = "leaderworkerset.sigs.k8s.io/name"
TEMPLATE: Final = "spec.leaderWorkerTemplate"
MAX_REPLICAS: Final = 1_000_000


class LeaderWorkerSets:
    """leaderworkerset.x-k8s.io/v1 LeaderWorkerSet: a group is admitted as a whole, groups one by one.

    Pod sets of a group: `leader` (1) and `worker` (size - 1), or `main` (size) without a template for the leader.
    """

    framework = "leaderworkerset.x-k8s.io/leaderworkerset"
    api_version = "leaderworkerset.x-k8s.io/v1"
    group = "leaderworkerset.x-k8s.io"
    kind = "LeaderWorkerSet"
    prebuilt = False
    elastic = False

    def roles(self, job: LeaderWorkerSet) -> list[Role]:
        """Leader and workers of one group; keys that tell groups apart are left out of their templates."""
        template = job.spec.leader_worker_template
        count = size(job)
        found = []
        name = names.DEFAULT_POD_SET
        if template.leader_template is not None:
            found.append(_role(LEADER, 1, template.leader_template, f"{TEMPLATE}.leaderTemplate"))
            name, count = WORKER, count - 1
        found.append(_role(name, count, template.worker_template, f"{TEMPLATE}.workerTemplate"))
        return found

    def pod_sets(self, job: LeaderWorkerSet, settings: JobSettings) -> list[PodSet]:
        """Pod sets of one group. Raises InputError for templates that make none."""
        return pod_sets_of(self.roles(job), settings)

    def workload_name(self, job: LeaderWorkerSet, index: int | str, settings: JobSettings) -> str:
        """Name of the Workload of one group. Source: JS-418."""
        return names.workload_name(
            f"{job.metadata.name}-{index}",
            owner_uid(job.metadata),
            self.group,
            self.kind,
            short=settings.short_workload_names,
        )

    def default(self, job: LeaderWorkerSet, settings: JobSettings) -> LeaderWorkerSet:
        """Pods carry queue and class, and who holds them; workers count from 1 where a leader is number 0.

        At creation and at every update. Source: JS-423.
        """
        if not is_held(job.metadata, settings):
            return job
        template = job.spec.leader_worker_template
        labels = propagated_labels(job.metadata)
        annotations = {
            pod_names.SUSPENDING_PARENT: self.framework,
            pod_names.GROUP_SERVING: pod_names.TRUE,
        }
        leader = template.leader_template
        worker = marked(template.worker_template, labels, annotations)
        shifts = leader_shifts_workers(leader is not None, annotations_of(worker))
        if settings.topology_aware_scheduling and shifts:
            worker = marked(worker, annotations={POD_INDEX_OFFSET: "1"})
        if leader is not None:
            leader = marked(leader, labels, annotations)
        template = msgspec.structs.replace(template, leader_template=leader, worker_template=worker)
        return msgspec.structs.replace(
            job, spec=msgspec.structs.replace(job.spec, leader_worker_template=template)
        )

    def validate(self, job: LeaderWorkerSet, settings: JobSettings) -> list[FieldError]:
        """What is wrong with a new object. Source: JS-424."""
        errors = [
            *validate_queue_name(job.metadata),
            *validate_elastic_annotation(job.metadata, self, settings),
        ]
        replicas = spec_replicas(job)
        if not 0 <= replicas <= MAX_REPLICAS:
            errors.append(invalid("spec.replicas", replicas, f"must be between 0 and {MAX_REPLICAS}"))
        if settings.admission_gated_by:
            errors += validate_gates(job.metadata)
        if settings.topology_aware_scheduling:
            errors += validate_topology(self.roles(job), settings, grouped=True)
        return errors

    def validate_update(
        self, old: LeaderWorkerSet, new: LeaderWorkerSet, settings: JobSettings
    ) -> list[FieldError]:
        """What is wrong with a change: pods that are Kueue's keep their shape, groups their size. Source: JS-424."""
        ready = (old.status.ready_replicas if old.status is not None else None) or 0
        errors = self.validate(new, settings) + validate_serving_update(old, new, ready, settings)
        if not is_held(new.metadata, settings):
            return errors
        before, after = old.spec.leader_worker_template, new.spec.leader_worker_template
        path = f"{TEMPLATE}.leaderTemplate"
        if before.leader_template is None or after.leader_template is None:
            errors += immutable(path, before.leader_template, after.leader_template)
        else:
            errors += validate_shape(f"{path}.spec", before.leader_template, after.leader_template)
        path = f"{TEMPLATE}.workerTemplate.spec"
        errors += validate_shape(path, before.worker_template, after.worker_template)
        if settings.immutable_group_size:
            errors += immutable(f"{TEMPLATE}.size", size(old), size(new))
        return errors


def spec_replicas(job: LeaderWorkerSet) -> int:
    """Groups that are asked for; none said is one."""
    return 1 if job.spec.replicas is None else job.spec.replicas


def size(job: LeaderWorkerSet) -> int:
    """Pods of a group; none said is one."""
    wanted = job.spec.leader_worker_template.size
    return 1 if wanted is None else wanted


def wanted_replicas(job: LeaderWorkerSet) -> int:
    """Groups that need a Workload: those asked for, and while a rolling update surges those that there are.

    Source: JS-416.
    """
    asked = spec_replicas(job)
    there = (job.status.replicas if job.status is not None else None) or 0
    return there if there > asked and surges(job) else asked


def surges(job: LeaderWorkerSet) -> bool:
    """Whether a rolling update runs that may have more groups than asked for; a percentage counts as none."""
    strategy = job.spec.rollout_strategy
    update = strategy.rolling_update_configuration if strategy is not None else None
    if update is None:
        return False
    surge = update.max_surge or 0
    most = (parse_int64(surge) or 0) if isinstance(surge, str) else surge
    updated = (job.status.updated_replicas if job.status is not None else None) or 0
    return most > 0 and updated < spec_replicas(job)


def _role(name: str, count: int, template: PodTemplateSpec, path: str) -> Role:
    indexes = NO_INDEXES if name == LEADER else INDEXES[LeaderWorkerSets.framework]
    return Role(name, count, template, path, indexes, counted=without_keys(template, PREFIX, NAME_LABEL))
