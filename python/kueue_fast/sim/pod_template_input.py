"""Pod templates in an object of any kind that cannot be read: told before anything asks them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from kueue_fast.api.core import PodTemplateSpec
from kueue_fast.api.jobset import JobTemplateSpec
from kueue_fast.errors import InputError
from kueue_fast.model.validation.pod_template import workload_template_errors
from kueue_fast.sim.manifest import problem_words

__all__ = ["unreadable_templates"]


def unreadable_templates(obj: msgspec.Struct) -> list[InputError]:
    """What is wrong with the pod templates below the object, and with the metadata of templates of Jobs.

    That a template has containers at all is for those to say who need them.
    """
    return list(_walk(obj, "$"))


def _walk(value: Any, path: str) -> Iterator[InputError]:
    match value:
        case PodTemplateSpec():
            yield from _template(value, path)
        case msgspec.Struct():
            if isinstance(value, JobTemplateSpec):
                yield from _template(PodTemplateSpec(metadata=value.metadata), path)
            for field in msgspec.structs.fields(value):
                yield from _walk(getattr(value, field.name), f"{path}.{field.encode_name}")
        case list():
            for number, each in enumerate(value):
                yield from _walk(each, f"{path}[{number}]")
        case dict():
            for key, each in value.items():
                yield from _walk(each, f"{path}.{key}")


def _template(template: PodTemplateSpec, path: str) -> Iterator[InputError]:
    for wrong in workload_template_errors(template, metadata=True, non_negative=False):
        yield InputError(problem_words(wrong), field=f"{path}.{wrong.path.removeprefix('.')}")
