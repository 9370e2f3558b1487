"""Reading Kueue's Configuration from YAML or JSON.

Strict as upstream: an unknown or duplicate field at any depth, a value of another type, a wrong
apiVersion or kind are errors, and all unknown fields and bad durations are told at once.
"""

import re
from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import inspect

from kueue_fast.api import configuration_types as types
from kueue_fast.api import configuration_v1beta1 as v1beta1
from kueue_fast.api.configuration_defaults import (
    DEFAULT_NAMESPACE,
    set_common_defaults,
    set_defaults,
)
from kueue_fast.api.configuration_types import (
    AdmissionFairSharing,
    Configuration,
    FairSharing,
    ObjectRetentionPolicies,
    RequeuingStrategy,
    Resources,
    ResourceTransformation,
    WaitForPodsReady,
    parse_duration,
)
from kueue_fast.api.strict_yaml import parse_document
from kueue_fast.errors import InputError

__all__ = [
    "AdmissionFairSharing",
    "Configuration",
    "FairSharing",
    "ObjectRetentionPolicies",
    "RequeuingStrategy",
    "ResourceTransformation",
    "Resources",
    "WaitForPodsReady",
    "default_configuration",
    "load_configuration",
    "parse_duration",
]

GROUP = "config.kueue.x-k8s.io"
KIND = "Configuration"
VERSIONS: dict[str, type[msgspec.Struct]] = {
    f"{GROUP}/v1beta2": types.Configuration,
    f"{GROUP}/v1beta1": v1beta1.Configuration,
}
NAMES = {
    "str": "a string",
    "int": "an integer",
    "float": "a number",
    "bool": "true or false",
    "object": "a mapping",
    "array": "a list",
}


def default_configuration(namespace: str = DEFAULT_NAMESPACE) -> Configuration:
    """The Configuration without any file. `namespace`: where the process runs. Source: OP-221."""
    configuration = Configuration()
    set_defaults(configuration, namespace)
    return configuration


def load_configuration(data: bytes, file: str, namespace: str = DEFAULT_NAMESPACE) -> Configuration:
    """The Configuration of a file's content, in v1beta2 form with its version's defaults.

    `file` is named in errors; `namespace` is the default of `namespace`. Values are not checked
    here but by `model.config_validation`. Raises InputError naming the file, the field as
    `$.path` and what was expected; for broken YAML or JSON the line.
    Source: OP-220..226.
    """
    document = parse_document(data, file)
    if not isinstance(document, dict):
        found = "nothing" if document is None else f"{_type_name(document)}"
        raise _error(f"holds {found}", file, "$", f"a mapping with kind {KIND}")
    struct = _version(document, file)
    problems = list(_strict_problems(document, inspect.type_info(struct), "$"))
    if problems:
        field, message, expected = problems[0]
        texts = "; ".join(f"{path}: {text}" for path, text, _ in problems[1:])
        raise _error(f"{message}; also {texts}" if texts else message, file, field, expected)
    try:
        decoded = msgspec.convert(document, struct)
    except msgspec.ValidationError as error:
        raise _type_error(error, document, file) from None
    if isinstance(decoded, v1beta1.Configuration):
        configuration = v1beta1.to_v1beta2(decoded)
        set_common_defaults(configuration, namespace)
        return configuration
    assert isinstance(decoded, Configuration)
    set_defaults(decoded, namespace)
    return decoded


def _error(message: str, file: str, field: str, expected: str) -> InputError:
    return InputError(message, file=file, object=KIND, field=field, expected=expected)


def _version(document: dict[Any, Any], file: str) -> type[msgspec.Struct]:
    kind = document.get("kind")
    if kind != KIND:
        found = "no kind" if kind is None else f"kind {kind!r}"
        raise _error(found, file, "$.kind", KIND)
    api_version = document.get("apiVersion")
    struct = VERSIONS.get(api_version) if isinstance(api_version, str) else None
    if struct is None:
        found = "no apiVersion" if api_version is None else f"apiVersion {api_version!r}"
        raise _error(found, file, "$.apiVersion", " or ".join(VERSIONS))
    return struct


def _strict_problems(value: Any, expected: inspect.Type, path: str) -> Iterator[tuple[str, str, str]]:
    """(path, message, expected) of each unknown field and each duration out of form or range.

    msgspec stops at the first one; upstream tells all. Other types are left to msgspec.
    """
    if isinstance(expected, inspect.UnionType):
        for member in expected.types:
            yield from _strict_problems(value, member, path)
    elif isinstance(expected, inspect.Metadata):
        yield from _strict_problems(value, expected.type, path)
    elif isinstance(expected, inspect.StructType) and isinstance(value, dict):
        fields = {field.encode_name: field.type for field in expected.fields}
        for name, item in value.items():
            if name in fields:
                yield from _strict_problems(item, fields[name], f"{path}.{name}")
            else:
                yield f"{path}.{name}", "unknown field", f"one of {', '.join(sorted(fields))}"
    elif isinstance(expected, inspect.ListType) and isinstance(value, list):
        for index, item in enumerate(value):
            yield from _strict_problems(item, expected.item_type, f"{path}[{index}]")
    elif isinstance(expected, inspect.DictType) and isinstance(value, dict):
        for name, item in value.items():
            yield from _strict_problems(item, expected.value_type, f"{path}[{name}]")
    elif _is_duration(expected) and isinstance(value, str):
        try:
            parse_duration(value)
        except ValueError as error:
            message, _, wanted = str(error).partition(": expected ")
            yield path, message, wanted


def _is_duration(expected: inspect.Type) -> bool:
    return isinstance(expected, inspect.StrType) and expected.pattern == types.DURATION_PATTERN


def _type_error(error: msgspec.ValidationError, document: Any, file: str) -> InputError:
    text, _, location = str(error).partition(" - at ")
    field = location.strip("`") or "$"
    match = re.match(r"Expected `([^`]*)`(.*?)(?:, got `([a-z]+)`)?$", text)
    if match is None:
        return _error(text, file, field, "another value")
    wanted = [NAMES[name] for name in match[1].split(" | ") if name in NAMES]
    expected = " or ".join(wanted or [match[1]]) + match[2]
    if match[3] is None:
        return _error("value out of range", file, field, expected)
    if field.endswith("[...]"):
        field = _name_entry(document, field, match[3])
    return _error(f"found {NAMES.get(match[3], match[3])}", file, field, expected)


def _name_entry(document: Any, field: str, found: str) -> str:
    """`$.map[...]` with the key of the first entry whose value has the type that was found."""
    value = document
    for name, index in re.findall(r"\.([^.\[\]]+)|\[(\d+)\]", field):
        value = value[name] if name else value[int(index)]
    for key, item in value.items():
        if _msgspec_name(item) == found:
            return f"{field.removesuffix('[...]')}[{key}]"
    return field


def _msgspec_name(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, dict | list):
        return "object" if isinstance(value, dict) else "array"
    return type(value).__name__


def _type_name(value: Any) -> str:
    name = _msgspec_name(value)
    return NAMES.get(name, name)
