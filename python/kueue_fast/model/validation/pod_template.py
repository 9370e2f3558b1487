"""Pod templates, which are kept as JSON text: the same text is checked once.

Source: LC-310.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache

import msgspec

from kueue_fast.api.core import Container, PodSpec, PodTemplateSpec, ResourceRequirements
from kueue_fast.model.validation.common import (
    annotations,
    labels,
    non_negative_quantity,
    quantities,
    quantity,
    unique,
)
from kueue_fast.model.validation.field_error import FieldError, invalid, required

NO_ERRORS: tuple[FieldError, ...] = ()
SPEC_DECODER = msgspec.json.Decoder(PodSpec)


class TemplateMetadata(msgspec.Struct):
    """The part of a template's metadata that has rules."""

    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None


METADATA_DECODER = msgspec.json.Decoder(TemplateMetadata)


def workload_template_errors(
    template: PodTemplateSpec, metadata: bool, non_negative: bool
) -> tuple[FieldError, ...]:
    """What is wrong with the template of a pod set; paths begin behind the template's own.

    `metadata`: whether labels and annotations are checked, `non_negative`: whether negative amounts are
    refused; both are feature gates.
    """
    errors = NO_ERRORS
    if metadata and template.metadata:
        errors = _metadata_errors(bytes(template.metadata))
    if template.spec:
        errors += _workload_spec_errors(bytes(template.spec), non_negative)
    return errors


def validate_job_template(path: str, template: PodTemplateSpec) -> Iterator[FieldError]:
    """What is wrong with the template of a Job: quantities and containers, lightly."""
    if template.metadata:
        for error in _metadata_errors(bytes(template.metadata)):
            yield error.under(path)
    if not template.spec:
        yield required(f"{path}.spec.containers", "must have at least 1 item")
        return
    for error in _job_spec_errors(bytes(template.spec)):
        yield error.under(path)


def validate_pod_spec(path: str, spec: PodSpec) -> Iterator[FieldError]:
    """What is wrong with the spec of a Pod or of a Job's Pods, `path` being the spec's."""
    if not spec.containers:
        yield required(f"{path}.containers", "must have at least 1 item")
    for name, containers in (("initContainers", spec.init_containers), ("containers", spec.containers)):
        yield from unique(f"{path}.{name}", (container.name for container in containers or ()), ".name")
        for index, container in enumerate(containers or ()):
            at = f"{path}.{name}[{index}].resources"
            yield from _core_resources(at, container.resources)
    yield from _core_resources(f"{path}.resources", spec.resources)
    yield from quantities(f"{path}.overhead", spec.overhead, custom_resource=False, negative=False)


def _core_resources(path: str, resources: ResourceRequirements | None) -> Iterator[FieldError]:
    if resources is not None:
        yield from quantities(f"{path}.requests", resources.requests, custom_resource=False, negative=False)
        yield from quantities(f"{path}.limits", resources.limits, custom_resource=False, negative=False)


@lru_cache(maxsize=1024)
def _metadata_errors(text: bytes) -> tuple[FieldError, ...]:
    try:
        metadata = METADATA_DECODER.decode(text)
    except msgspec.ValidationError as error:
        return (_type_error(".metadata", error),)
    return (
        *labels(".metadata.labels", metadata.labels),
        *annotations(".metadata.annotations", metadata.annotations),
    )


@lru_cache(maxsize=4096)
def _job_spec_errors(text: bytes) -> tuple[FieldError, ...]:
    try:
        spec = SPEC_DECODER.decode(text)
    except msgspec.ValidationError as error:
        return (_type_error(".spec", error),)
    return tuple(validate_pod_spec(".spec", spec))


@lru_cache(maxsize=4096)
def _workload_spec_errors(text: bytes, non_negative: bool) -> tuple[FieldError, ...]:
    try:
        spec = SPEC_DECODER.decode(text)
    except msgspec.ValidationError as error:
        return (_type_error(".spec", error),)
    return tuple(_workload_spec(spec, non_negative))


def _workload_spec(spec: PodSpec, non_negative: bool) -> Iterator[FieldError]:
    # An empty list passes the schema, an absent one does not.
    if spec.containers is None:
        yield required(".spec.containers")
    yield from _containers(".spec.initContainers", spec.init_containers, non_negative)
    yield from _containers(".spec.containers", spec.containers, non_negative)
    yield from _resources(".spec.resources", spec.resources, non_negative)
    yield from quantities(".spec.overhead", spec.overhead)


def _containers(
    path: str, containers: Sequence[Container] | None, non_negative: bool
) -> Iterator[FieldError]:
    yield from unique(path, (container.name for container in containers or ()), ".name")
    for index, container in enumerate(containers or ()):
        yield from _resources(f"{path}[{index}].resources", container.resources, non_negative)


def _resources(path: str, resources: ResourceRequirements | None, non_negative: bool) -> Iterator[FieldError]:
    if resources is None:
        return
    check = non_negative_quantity if non_negative else quantity
    for part, amounts in (("requests", resources.requests), ("limits", resources.limits)):
        for name, value in (amounts or {}).items():
            at = f"{path}.{part}[{name}]"
            if name == "pods":
                yield invalid(at, name, "the key is reserved for Kueue's own use")
            yield from check(at, value)


def _type_error(path: str, error: msgspec.ValidationError) -> FieldError:
    text, _, location = str(error).partition(" - at ")
    return invalid(f"{path}{location.strip('`').removeprefix('$')}", None, text)
