"""The batch/v1 Job integration.

Source: JS-252..261, section 11.1 of the job rules.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from kueue_fast.api.batch import Job, JobSpec
from kueue_fast.api.core import PodTemplateSpec
from kueue_fast.api.kueue import PodSet, ReclaimablePod
from kueue_fast.api.meta import ObjectMeta
from kueue_fast.jobs import names
from kueue_fast.jobs.integration import Capabilities, Finished, Stopped
from kueue_fast.jobs.pod_set_info import (
    PodSetInfo,
    StartError,
    annotations_of,
    decode,
    encode,
    merge_template,
    restore_template,
)
from kueue_fast.jobs.pod_templates import gated, unique_env
from kueue_fast.jobs.settings import JobSettings
from kueue_fast.jobs.topology_indexes import INDEXES
from kueue_fast.jobs.topology_request import topology_request
from kueue_fast.jobs.topology_validation import (
    validate_elastic,
    validate_slice_bound,
    validate_topology_annotations,
)
from kueue_fast.jobs.validation import IMMUTABLE, validate_create, validate_update
from kueue_fast.model import elastic
from kueue_fast.model.booleans import parse_bool
from kueue_fast.model.integers import parse_int32, parse_int64
from kueue_fast.model.validation.field_error import FieldError, forbidden, invalid

__all__ = ["BatchJob"]

MIN_PARALLELISM = "kueue.x-k8s.io/job-min-parallelism"
COMPLETIONS_EQUAL_PARALLELISM = "kueue.x-k8s.io/job-completions-equal-parallelism"
STOPPING = "kueue.x-k8s.io/stopping"
TEMPLATE_METADATA = "spec.template.metadata"
INDEXED = "Indexed"
JOB_NAME_LABEL = "batch.kubernetes.io/job-name"
MANAGED_LABELS = ("job-name", "controller-uid", JOB_NAME_LABEL, "batch.kubernetes.io/controller-uid")


class BatchJob(Capabilities[Job]):
    """batch/v1 Job: one pod set `main`, partial admission by annotation, reclaimable pods."""

    framework = "batch/job"
    api_version = "batch/v1"
    group = "batch"
    kind = "Job"
    elastic = True

    def default(self, job: Job, settings: JobSettings) -> Job:
        """The pods of an elastic Job are gated. Source: JS-264."""
        if not (settings.elastic_jobs and is_elastic(job.metadata)):
            return job
        template = gated(job.spec.template, names.ELASTIC_JOB_GATE)
        if template is job.spec.template:
            return job
        return msgspec.structs.replace(job, spec=msgspec.structs.replace(job.spec, template=template))

    def validate(self, job: Job, settings: JobSettings) -> list[FieldError]:
        """Source: JS-192..199, JS-255..260, TP-309..317."""
        errors = validate_create(job.metadata, self, settings)
        errors += validate_minimum(job)
        errors += validate_completions(job)
        if settings.topology_aware_scheduling:
            errors += validate_topology(
                annotations_of(job.spec.template), pods_count(job.spec), is_elastic(job.metadata), settings
            )
        return errors

    def validate_update(
        self, old: Job, new: Job, settings: JobSettings, default_queue_exists: bool
    ) -> list[FieldError]:
        """Source: JS-200..209, JS-211, JS-261..263."""
        errors = validate_create(new.metadata, self, settings)
        before, after = ((job.metadata.annotations or {}).get(MIN_PARALLELISM, "") for job in (old, new))
        if before != after:
            errors += validate_minimum(new)
        errors += validate_completions(new)
        held = (self.suspended(old), self.suspended(new))
        errors += validate_update(old, new, held, self, settings, default_queue_exists)
        fixed = MIN_PARALLELISM in (old.metadata.annotations or {}) and not old.spec.suspend
        if fixed and or_one(old.spec.parallelism) != or_one(new.spec.parallelism):
            message = "cannot change when partial admission is enabled and the job is not suspended"
            errors.append(forbidden("spec.parallelism", message))
        if held == (False, False) and follows_parallelism(old) != follows_parallelism(new):
            path = f"metadata.annotations[{COMPLETIONS_EQUAL_PARALLELISM}]"
            errors.append(forbidden(path, f"{IMMUTABLE} while the job is not suspended"))
        if settings.topology_aware_scheduling:
            errors += validate_topology(
                annotations_of(new.spec.template), pods_count(new.spec), is_elastic(new.metadata), settings
            )
        return errors

    def pod_sets(self, job: Job, settings: JobSettings) -> list[PodSet]:
        """One pod set `main`: min(parallelism, completions) pods, with what its annotations ask of the topology.

        Raises InputError for annotations from which no request can be made. Source: section 11.1, JS-008, TP-306.
        """
        request = None
        if settings.topology_aware_scheduling:
            request = topology_request(
                annotations_of(job.spec.template),
                INDEXES[self.framework],
                multi_layer=settings.multi_layer_topology,
                path=f"$.{TEMPLATE_METADATA}",
            )
        return [
            PodSet(
                name=names.DEFAULT_POD_SET,
                template=clean_template(job.spec.template),
                count=pods_count(job.spec),
                min_count=min_parallelism(job.metadata) if settings.partial_admission else None,
                topology_request=request,
            )
        ]

    def suspended(self, job: Job) -> bool:
        """Held, and no stop under way."""
        annotations = job.metadata.annotations or {}
        return bool(job.spec.suspend) and annotations.get(STOPPING) != "true"

    def suspend(self, job: Job) -> Job:
        """The job held, nothing else changed."""
        return msgspec.structs.replace(job, spec=msgspec.structs.replace(job.spec, suspend=True))

    def start(self, job: Job, infos: list[PodSetInfo]) -> Job:
        """The job released: admitted parallelism under partial admission, template merged. Raises StartError."""
        if len(infos) != 1:
            raise StartError(f"invalid podset infos: expecting 1 podset, got {len(infos)}")
        info = infos[0]
        spec = msgspec.structs.replace(
            job.spec, suspend=False, template=merge_template(job.spec.template, info)
        )
        if min_parallelism(job.metadata) is not None:
            set_parallelism(spec, info.count, job.metadata)
        return msgspec.structs.replace(job, spec=spec)

    def stop(self, job: Job, infos: list[PodSetInfo]) -> Stopped[Job]:
        """Held, start time cleared, template and parallelism restored. The same job comes back if nothing differs.

        The reference needs three writes for this, and marks the time in between by an annotation; here it is
        one object. Source: JS-252, JS-253.
        """
        now = not self.suspended(job)
        spec = job.spec
        if infos:
            info = infos[0]
            template = restore_template(spec.template, info, MANAGED_LABELS)
            if template is not spec.template:
                spec = msgspec.structs.replace(spec, template=template)
            if min_parallelism(job.metadata) is not None and spec.parallelism != info.count:
                spec = msgspec.structs.replace(spec)
                set_parallelism(spec, info.count, job.metadata)
        if not spec.suspend:
            spec = msgspec.structs.replace(spec, suspend=True)
        status = job.status
        if status is not None and status.start_time is not None:
            status = msgspec.structs.replace(status, start_time=None)
        metadata = job.metadata
        if STOPPING in (metadata.annotations or {}):
            annotations = {
                key: value for key, value in (metadata.annotations or {}).items() if key != STOPPING
            }
            metadata = msgspec.structs.replace(metadata, annotations=annotations)
        if spec is job.spec and status is job.status and metadata is job.metadata:
            return Stopped(job, now)
        return Stopped(msgspec.structs.replace(job, metadata=metadata, spec=spec, status=status), now)

    def active(self, job: Job) -> bool:
        """Whether the status counts running pods."""
        return job.status is not None and bool(job.status.active)

    def pods_ready(self, job: Job) -> bool:
        """Ready, succeeded and just succeeded pods cover the count."""
        status = job.status
        if status is None:
            return pods_count(job.spec) <= 0
        uncounted = status.uncounted_terminated_pods
        just_succeeded = len(uncounted.succeeded or ()) if uncounted is not None else 0
        return (status.succeeded or 0) + (status.ready or 0) + just_succeeded >= pods_count(job.spec)

    def finished(self, job: Job) -> Finished | None:
        """The first condition Complete or Failed that is True decides."""
        for condition in (job.status.conditions or ()) if job.status is not None else ():
            if condition.type in ("Complete", "Failed") and condition.status == "True":
                return Finished(condition.message, condition.type == "Complete")
        return None

    def reclaimable_pods(self, job: Job) -> list[ReclaimablePod] | None:
        """Parallel slots that no remaining completion will fill. Source: JS-254."""
        parallelism = or_one(job.spec.parallelism)
        completions = parallelism if job.spec.completions is None else job.spec.completions
        status = job.status
        if status is None:
            return []
        done = status.succeeded or 0
        if job.spec.completion_mode == INDEXED:
            done = terminal_indexes((status.completed_indexes, status.failed_indexes), completions)
        remaining = max(completions - done, 0)
        if parallelism <= 1 or done <= 0 or remaining >= parallelism:
            return []
        return [ReclaimablePod(name=names.DEFAULT_POD_SET, count=parallelism - remaining)]


def validate_minimum(job: Job) -> list[FieldError]:
    """The least parallelism must leave room below the parallelism. Source: JS-255..257."""
    text = (job.metadata.annotations or {}).get(MIN_PARALLELISM)
    if text is None:
        return []
    path = f"metadata.annotations[{MIN_PARALLELISM}]"
    errors = []
    minimum = parse_int32(text)
    count = pods_count(job.spec)
    if minimum is None:
        errors.append(invalid(path, text, "must be an integer"))
    elif not 0 < minimum < count:
        errors.append(invalid(path, minimum, f"should be between 0 and {count - 1}"))
    if is_elastic(job.metadata):
        message = "partial admission and elastic job cannot be used together"
        errors.append(invalid(path, text, message))
    return errors


def validate_completions(job: Job) -> list[FieldError]:
    """Only completions of an Indexed job that equal its parallelism can follow it. Source: JS-258..260."""
    value = (job.metadata.annotations or {}).get(COMPLETIONS_EQUAL_PARALLELISM)
    if value is None:
        return []
    path = f"metadata.annotations[{COMPLETIONS_EQUAL_PARALLELISM}]"
    follows = parse_bool(value)
    if follows is None:
        return [invalid(path, value, "must be true or false")]
    errors = []
    if follows:
        if job.spec.completion_mode != INDEXED:
            errors.append(invalid(path, value, "should not be enabled for NonIndexed jobs"))
        if or_one(job.spec.parallelism) != or_one(job.spec.completions):
            errors.append(invalid("spec.completions", job.spec.completions, "should be equal to parallelism"))
    return errors


def follows_parallelism(job: Job) -> bool:
    """Whether the completions are tied to the parallelism."""
    return bool(parse_bool((job.metadata.annotations or {}).get(COMPLETIONS_EQUAL_PARALLELISM, "")))


def validate_topology(
    annotations: Mapping[str, str], count: int, elastic: bool, settings: JobSettings
) -> list[FieldError]:
    """What is wrong with the topology that the template of `count` pods asks for; the first stage that finds
    anything ends it. Source: TP-309..315, TP-317.
    """
    multi_layer = settings.multi_layer_topology
    errors = validate_topology_annotations(TEMPLATE_METADATA, annotations, multi_layer=multi_layer)
    if not errors and elastic and settings.elastic_jobs:
        errors = validate_elastic(TEMPLATE_METADATA, annotations)
    return errors or validate_slice_bound(TEMPLATE_METADATA, annotations, count)


def is_elastic(metadata: ObjectMeta) -> bool:
    """Whether the job asks to grow and shrink while it runs."""
    return elastic.is_elastic(metadata.annotations, slices=True)


def or_one(value: int | None) -> int:
    """The API server sets an absent parallelism, and with it absent completions, to 1."""
    return 1 if value is None else value


def pods_count(spec: JobSpec) -> int:
    """Pods that run at once: parallelism, or completions when these are fewer."""
    parallelism = or_one(spec.parallelism)
    return parallelism if spec.completions is None else min(parallelism, spec.completions)


def min_parallelism(metadata: ObjectMeta) -> int | None:
    """Least parallelism that partial admission may give; None without the annotation, or when it is no number."""
    text = (metadata.annotations or {}).get(MIN_PARALLELISM)
    return None if text is None else parse_int32(text)


def set_parallelism(spec: JobSpec, count: int, metadata: ObjectMeta) -> None:
    """Write the parallelism into `spec`, and the completions with it where the annotation ties them."""
    spec.parallelism = count
    if parse_bool((metadata.annotations or {}).get(COMPLETIONS_EQUAL_PARALLELISM, "")):
        spec.completions = count


def clean_template(template: PodTemplateSpec) -> PodTemplateSpec:
    """The template as the Workload carries it: without labels of the Job controller, each variable of `env` once.

    The text of `spec` is kept as it is wherever nothing has to change: it is what equal templates are recognized by.
    Source: section 11.1, JS-008.
    """
    metadata = template.metadata
    if metadata and b'"labels"' in bytes(metadata):
        opened = decode(metadata)
        labels = opened.get("labels") or {}
        kept = {
            key: value for key, value in labels.items() if key == JOB_NAME_LABEL or key not in MANAGED_LABELS
        }
        if len(kept) != len(labels):
            opened["labels"] = kept
            metadata = encode(opened)
    return PodTemplateSpec(metadata=metadata, spec=unique_env(template.spec))


def terminal_indexes(lists: tuple[str | None, ...], completions: int) -> int:
    """Distinct indexes below `completions` in comma lists of `a` or `a-b`; malformed parts count nothing.

    Source: JS-254.
    """
    last = -1
    count = 0
    for low, high in sorted(intervals(lists, completions)):
        first = max(low, last + 1)
        if first <= high:
            count += high - first + 1
            last = high
    return count


def intervals(lists: tuple[str | None, ...], completions: int) -> Iterator[tuple[int, int]]:
    """The ranges of the lists, ends clipped to what the job still has."""
    for text in lists:
        for part in (text or "").split(","):
            low, dash, high = part.partition("-")
            first, final = parse_int64(low), parse_int64(high if dash else low)
            if first is not None and final is not None and first <= min(final, completions - 1):
                yield first, min(final, completions - 1)
