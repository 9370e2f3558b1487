"""What Kueue's webhooks refuse of any job: labels and annotations in the metadata of the object.

Messages name what was expected; paths, kinds of errors and their order are upstream's.

Source: section 9 of the job rules.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Protocol

from kueue_fast.api.meta import KubernetesObject, ObjectMeta
from kueue_fast.jobs import names
from kueue_fast.jobs.settings import JobSettings
from kueue_fast.model import elastic
from kueue_fast.model.integers import parse_int64
from kueue_fast.model.validation.field_error import FieldError, forbidden, invalid, too_long
from kueue_fast.model.validation.names import LABEL_MAX, domain_prefixed_path, subdomain

__all__ = [
    "IMMUTABLE",
    "Kind",
    "group_version_kind",
    "immutable",
    "is_elastic",
    "prebuilt_name",
    "prebuilt_path",
    "validate_create",
    "validate_elastic_annotation",
    "validate_gates",
    "validate_gates_update",
    "validate_priority_update",
    "validate_queue_name",
    "validate_update",
]

QUEUE_PATH: Final = f"metadata.labels[{names.QUEUE_NAME_LABEL}]"
PRIORITY_PATH: Final = f"metadata.labels[{names.PRIORITY_CLASS_LABEL}]"
MAX_EXEC_PATH: Final = f"metadata.labels[{names.MAX_EXEC_TIME_LABEL}]"
ELASTIC_PATH: Final = f"metadata.annotations[{names.ELASTIC_JOB_ANNOTATION}]"
GATES_PATH: Final = f"metadata.annotations[{names.ADMISSION_GATED_BY_ANNOTATION}]"
IMMUTABLE: Final = "field is immutable"
MAX_GATE_NAME: Final = 63


class Kind(Protocol):
    """What the checks need to know of a kind of job."""

    api_version: str
    kind: str
    prebuilt: bool
    elastic: bool


def group_version_kind(api_version: str, kind: str) -> str:
    """A kind as Go prints it: `group/version, Kind=Kind`, with an empty group for core."""
    return f"{api_version if '/' in api_version else '/' + api_version}, Kind={kind}"


def is_elastic(metadata: ObjectMeta, settings: JobSettings) -> bool:
    """Whether the job may grow and shrink while it runs: by annotation, if slices are on at all."""
    return elastic.is_elastic(metadata.annotations, slices=settings.elastic_jobs)


def prebuilt_name(metadata: ObjectMeta, settings: JobSettings) -> str:
    """Name of the Workload made beforehand that the job wants, empty without one. Source: JS-141."""
    annotation = (metadata.annotations or {}).get(names.PREBUILT_WORKLOAD, "")
    label = (metadata.labels or {}).get(names.PREBUILT_WORKLOAD, "")
    if settings.workload_identifier_annotations:
        return annotation or label
    return label or (annotation if len(annotation) > LABEL_MAX else "")


def validate_create(metadata: ObjectMeta, kind: Kind, settings: JobSettings) -> list[FieldError]:
    """What is wrong with the metadata of a new job. Source: JS-192..199."""
    errors = [*validate_queue_name(metadata), *_prebuilt(metadata, kind, settings), *_max_exec_time(metadata)]
    errors += validate_elastic_annotation(metadata, kind, settings)
    if settings.admission_gated_by:
        errors += validate_gates(metadata)
    return errors


def validate_update(
    old: KubernetesObject,
    new: KubernetesObject,
    suspended: tuple[bool, bool],
    kind: Kind,
    settings: JobSettings,
    default_queue_exists: bool,
) -> list[FieldError]:
    """What is wrong with a change of the metadata of a job.

    `suspended`: whether the old and the new object are held. `default_queue_exists`: whether the namespace has a
    LocalQueue `default`. Source: JS-200..209.
    """
    before, after = old.metadata, new.metadata
    was_held, is_held = suspended
    errors: list[FieldError] = []
    queue, old_queue = _label(after, names.QUEUE_NAME_LABEL), _label(before, names.QUEUE_NAME_LABEL)
    if not is_held:
        errors += immutable(QUEUE_PATH, old_queue, queue)
    if not queue and old_queue and default_queue_exists:
        message = "must name a queue: the namespace has a default LocalQueue"
        errors.append(invalid(QUEUE_PATH, "", message))
    if is_held or is_elastic(before, settings):
        errors += _prebuilt(after, kind, settings)
    else:
        errors += immutable(
            prebuilt_path(after, settings), prebuilt_name(before, settings), prebuilt_name(after, settings)
        )
    if not (was_held and is_held):
        limits = [_label(metadata, names.MAX_EXEC_TIME_LABEL) for metadata in (before, after)]
        errors += immutable(MAX_EXEC_PATH, *limits)
    errors += validate_priority_update(before, after, is_held)
    if is_elastic(before, settings) != is_elastic(after, settings):
        errors.append(invalid(ELASTIC_PATH, is_elastic(after, settings), IMMUTABLE))
    if settings.admission_gated_by:
        errors += validate_gates_update(before, after)
    return errors


def immutable(path: str, old: object, new: object) -> list[FieldError]:
    """An error when the value of a field changes that must not."""
    return [] if old == new else [invalid(path, new, IMMUTABLE)]


def validate_queue_name(metadata: ObjectMeta) -> Iterator[FieldError]:
    """The queue's name must be one that an object can have. Source: JS-193."""
    yield from _object_name(QUEUE_PATH, (metadata.labels or {}).get(names.QUEUE_NAME_LABEL))


def validate_elastic_annotation(
    metadata: ObjectMeta, kind: Kind, settings: JobSettings
) -> Iterator[FieldError]:
    """Only some kinds may be elastic. Source: JS-198."""
    if is_elastic(metadata, settings) and not kind.elastic:
        what = group_version_kind(kind.api_version, kind.kind)
        yield forbidden(ELASTIC_PATH, f'elastic job is not supported for "{what}"')


def validate_priority_update(old: ObjectMeta, new: ObjectMeta, held: bool) -> Iterator[FieldError]:
    """A priority class may be exchanged at any time, added only to a job that is held, and never removed.

    Source: JS-206, JS-207.
    """
    before, after = _label(old, names.PRIORITY_CLASS_LABEL), _label(new, names.PRIORITY_CLASS_LABEL)
    if not before and after and not held:
        yield invalid(PRIORITY_PATH, after, "cannot be added while the job is not suspended")
    if before and not after:
        yield invalid(PRIORITY_PATH, after, "cannot be removed")


def validate_gates(metadata: ObjectMeta) -> Iterator[FieldError]:
    """The list of controllers that gate admission: names once each, as in `spec.managedBy` of a Job. Source: JS-199."""
    text = (metadata.annotations or {}).get(names.ADMISSION_GATED_BY_ANNOTATION, "")
    seen: set[str] = set()
    for gate in _gates(text):
        if not gate:
            yield invalid(GATES_PATH, text, "must not hold an empty name")
        elif gate in seen:
            yield invalid(GATES_PATH, text, f"names {gate} twice")
        else:
            seen.add(gate)
            for problem in domain_prefixed_path(gate):
                yield invalid(GATES_PATH, gate, problem)
            if len(gate.encode()) > MAX_GATE_NAME:
                yield too_long(GATES_PATH, MAX_GATE_NAME)


def validate_gates_update(old: ObjectMeta, new: ObjectMeta) -> Iterator[FieldError]:
    """Gates may only go. Source: JS-209."""
    before, after = (
        (metadata.annotations or {}).get(names.ADMISSION_GATED_BY_ANNOTATION, "") for metadata in (old, new)
    )
    if after and not before:
        yield forbidden(GATES_PATH, "cannot be added once the job exists")
    elif after and not set(_gates(after)) <= set(_gates(before)):
        yield forbidden(GATES_PATH, "gates may be removed, not added")
    yield from validate_gates(new)


def _gates(text: str) -> list[str]:
    return [part.strip() for part in text.split(",")] if text.strip() else []


def _label(metadata: ObjectMeta, name: str) -> str:
    return (metadata.labels or {}).get(name, "")


def _object_name(path: str, name: str | None) -> Iterator[FieldError]:
    if name is not None:
        problems = subdomain(name)
        if problems:
            yield invalid(path, name, ", ".join(problems))


def prebuilt_path(metadata: ObjectMeta, settings: JobSettings) -> str:
    """Where the name of the prebuilt Workload stands, or would."""
    annotation = (metadata.annotations or {}).get(names.PREBUILT_WORKLOAD, "")
    counts = settings.workload_identifier_annotations or len(annotation) > LABEL_MAX
    part = "annotations" if annotation and counts else "labels"
    return f"metadata.{part}[{names.PREBUILT_WORKLOAD}]"


def _prebuilt(metadata: ObjectMeta, kind: Kind, settings: JobSettings) -> Iterator[FieldError]:
    path = prebuilt_path(metadata, settings)
    source = metadata.annotations if path.startswith("metadata.annotations") else metadata.labels
    yield from _object_name(path, (source or {}).get(names.PREBUILT_WORKLOAD))
    if prebuilt_name(metadata, settings) and not kind.prebuilt:
        what = group_version_kind(kind.api_version, kind.kind)
        yield forbidden(path, f'a prebuilt Workload is not supported for "{what}"')


def _max_exec_time(metadata: ObjectMeta) -> Iterator[FieldError]:
    text = (metadata.labels or {}).get(names.MAX_EXEC_TIME_LABEL)
    if text is None:
        return
    seconds = parse_int64(text)
    if seconds is None:
        yield invalid(MAX_EXEC_PATH, text, "must be an integer")
    elif seconds <= 0:
        yield invalid(MAX_EXEC_PATH, seconds, "should be greater than 0")
