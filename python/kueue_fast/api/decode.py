"""From JSON text to typed objects: one typed pass an object, v1beta1 converted on the way in.

kind and apiVersion nearly always stand first, in either order: then a short pattern reads them and
the text is parsed once. Any other order costs a second, shallow pass.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

import msgspec

from kueue_fast.api import (
    apps,
    appwrapper,
    batch,
    core,
    jobset,
    kubeflow,
    kueue,
    kueue_v1beta1,
    leaderworkerset,
    ray,
    spark,
    trainer,
)
from kueue_fast.api.meta import KubernetesObject
from kueue_fast.api.plain import to_json
from kueue_fast.errors import InputError

Object: TypeAlias = KubernetesObject
"""Any object with a kind; what `decode` gives is v1beta2 where Kueue's own."""

_KUEUE = (
    kueue.ResourceFlavor,
    kueue.ClusterQueue,
    kueue.LocalQueue,
    kueue.Cohort,
    kueue.Workload,
    kueue.WorkloadPriorityClass,
    kueue.AdmissionCheck,
    kueue.Topology,
    kueue.ProvisioningRequestConfig,
    kueue.MultiKueueConfig,
    kueue.MultiKueueCluster,
)
_OTHERS = (
    core.Namespace,
    core.LimitRange,
    core.PriorityClass,
    core.RuntimeClass,
    core.Node,
    core.Pod,
    batch.Job,
    apps.Deployment,
    apps.StatefulSet,
    jobset.JobSet,
    kubeflow.JAXJob,
    kubeflow.MPIJob,
    kubeflow.PaddleJob,
    kubeflow.PyTorchJob,
    kubeflow.TFJob,
    kubeflow.XGBoostJob,
    leaderworkerset.LeaderWorkerSet,
    ray.RayCluster,
    ray.RayJob,
    ray.RayService,
    appwrapper.AppWrapper,
    spark.SparkApplication,
    trainer.ClusterTrainingRuntime,
    trainer.TrainingRuntime,
    trainer.TrainJob,
)

KINDS: dict[tuple[str, str], type[KubernetesObject]] = {
    (cls.API_VERSION, cls.KIND): cls for cls in (*_OTHERS, *_KUEUE)
}
"""Every (apiVersion, kind) that can be read, and the class that reads its text."""
KINDS |= {(kueue_v1beta1.V1BETA1, cls.KIND): cls for cls in _KUEUE}
KINDS |= {(kueue_v1beta1.V1BETA1, cls.KIND): cls for cls in kueue_v1beta1.CONVERTED}

# What a broken, too deep or too wide text can raise inside msgspec.
_DECODE_ERRORS = (msgspec.MsgspecError, RecursionError, ValueError, OverflowError)

T = TypeVar("T")


class _Header(msgspec.Struct, rename="camel"):
    kind: str | None = None
    api_version: str | None = None


class _NamedHeader(msgspec.Struct):
    kind: Any = None
    metadata: Any = None


class _Items(msgspec.Struct, Generic[T]):
    items: list[T] | None = None


class _Reader(NamedTuple):
    """How one (apiVersion, kind) is read."""

    decode: Callable[[bytes], Any]
    convert: Callable[[Any], KubernetesObject] | None
    namespaced: bool


def _reader(cls: type[KubernetesObject]) -> _Reader:
    convert = getattr(cls, "to_v1beta2", None)
    return _Reader(msgspec.json.Decoder(cls).decode, convert, cls.NAMESPACED)


_READERS = {header: _reader(cls) for header, cls in KINDS.items()}
_decode_header = msgspec.json.Decoder(_Header).decode
_decode_named_header = msgspec.json.Decoder(_NamedHeader).decode
_decode_raw_items = msgspec.json.Decoder(_Items[msgspec.Raw]).decode

_HEAD = re.compile(
    rb'\s*+\{\s*+"(kind|apiVersion)"\s*+:\s*+"[^"\\]{1,253}"\s*+,'
    rb'\s*+"(?!\1)(?:kind|apiVersion)"\s*+:\s*+"[^"\\]{1,253}"'
)
# Opening text seen -> its reader. The texts differ by spaces and order only, so few are ever met.
_HEADS: dict[bytes, _Reader] = {}
_HEADS_LIMIT = 1024


def kinds() -> list[tuple[str, str]]:
    """All (apiVersion, kind) pairs that `decode` takes, sorted."""
    return sorted(KINDS)


def key(obj: KubernetesObject) -> tuple[str, str, str]:
    """(kind, namespace, name) of an object; the namespace of a cluster-scoped one is ""."""
    namespace = (obj.metadata.namespace or "") if obj.NAMESPACED else ""
    return obj.KIND, namespace, obj.metadata.name


def decode(data: bytes) -> KubernetesObject:
    """The object in a JSON text.

    An object of a namespaced kind without a namespace is put in "default", as kubectl does.
    Raises InputError naming kind, name and the field's path if the text is no such object.
    """
    head = _HEAD.match(data)
    reader = _HEADS.get(head.group()) if head is not None else None
    if reader is None:
        reader = _find_reader(data, head)
    try:
        obj = reader.decode(data)
        if reader.convert is not None:
            obj = reader.convert(obj)
    except _DECODE_ERRORS as error:
        raise _input_error(error, data) from None
    return finish(obj, reader.namespaced)


def decode_object(document: Mapping[str, Any]) -> KubernetesObject:
    """The object in a mapping, such as a parsed YAML document. Raises InputError as `decode` does."""
    return decode(to_json(document))


def decode_list(data: bytes) -> list[KubernetesObject]:
    """The objects in a JSON text that is a `List`, a typed list such as `WorkloadList`, or one object."""
    header = _read_header(data)
    kind = header.kind or ""
    if not kind.endswith("List") or (header.api_version, kind) in _READERS:
        return [decode(data)]
    if kind == "List":
        return [decode(item) for item in _raw_items(data, kind)]
    reader = _READERS.get((header.api_version or "", kind.removesuffix("List")))
    if reader is None:
        raise _unknown_kind(header, data)
    return _decode_typed_items(data, kind, header.api_version or "")


def decode_lines(data: bytes) -> list[KubernetesObject]:
    """The objects in JSON lines, one a line; empty lines are skipped. Errors name the line."""
    objects: list[KubernetesObject] = []
    for number, line in enumerate(data.split(b"\n"), 1):
        if line and not line.isspace():
            try:
                objects.append(decode(line))
            except InputError as error:
                raise error.located(file=f"line {number}") from None
    return objects


def _find_reader(data: bytes, head: re.Match[bytes] | None) -> _Reader:
    """The reader for a text whose opening is new, or unusual."""
    header = _read_header(data if head is None else head.group() + b"}", data)
    reader = _READERS.get((header.api_version or "", header.kind or ""))
    if reader is None:
        raise _unknown_kind(header, data)
    if head is not None and len(_HEADS) < _HEADS_LIMIT:
        _HEADS[head.group()] = reader
    return reader


def _read_header(text: bytes, data: bytes | None = None) -> _Header:
    whole = text if data is None else data
    if not whole or whole.isspace():
        raise InputError("is empty", expected="an object with apiVersion and kind")
    try:
        header = _decode_header(text)
    except _DECODE_ERRORS as error:
        raise _input_error(error, whole) from None
    for field, value in (("apiVersion", header.api_version), ("kind", header.kind)):
        if not value:
            raise InputError(
                "is missing",
                object=_describe(whole),
                field=f"$.{field}",
                expected="a text such as " + ("v1" if field == "apiVersion" else "Workload"),
            )
    return header


def _unknown_kind(header: _Header, data: bytes) -> InputError:
    versions = [version for version, kind in KINDS if kind == header.kind]
    if versions:
        return InputError(
            f"{header.kind} is not known in version {header.api_version}",
            object=_describe(data),
            field="$.apiVersion",
            expected=" or ".join(sorted(versions)),
        )
    if header.kind and header.kind.endswith("List"):
        known = "items of a known kind, one by one or as a List"
    else:
        known = "one of " + ", ".join(sorted({kind for _, kind in KINDS}))
    return InputError(
        f"kind {header.kind} ({header.api_version}) is not known",
        object=_describe(data),
        field="$.kind",
        expected=known,
    )


def finish(obj: Any, namespaced: bool) -> KubernetesObject:
    """What a struct cannot say of itself: a name must be there, and a namespace where the kind has them.

    Raises InputError.
    """
    meta = obj.metadata
    if not meta.name and not meta.generate_name:
        raise InputError("is missing", object=obj.KIND, field="$.metadata.name", expected="the object's name")
    if namespaced and not meta.namespace:
        meta.namespace = "default"
    if type(obj) is kueue.Workload and obj.status is not None:
        _drop_null_topology(obj.status)
    result: KubernetesObject = obj
    return result


def _drop_null_topology(status: kueue.WorkloadStatus) -> None:
    """A Raw keeps `null` as text: make it the empty one that stands for absence."""
    if status.admission is not None:
        for assignment in status.admission.pod_set_assignments or ():
            if bytes(assignment.topology_assignment) == b"null":
                assignment.topology_assignment = msgspec.Raw()


def _raw_items(data: bytes, kind: str) -> Iterable[bytes]:
    try:
        raw = _decode_raw_items(data).items
    except _DECODE_ERRORS as error:
        raise _input_error(error, data, kind) from None
    return [bytes(item) for item in raw or ()]


def _decode_typed_items(data: bytes, kind: str, api_version: str) -> list[KubernetesObject]:
    header = (api_version, kind.removesuffix("List"))
    cls, reader = KINDS[header], _READERS[header]
    if reader.convert is None:
        try:
            items = msgspec.json.decode(data, type=_Items[cls]).items or []  # type: ignore[valid-type]
        except _DECODE_ERRORS:
            pass  # Item by item, as below, the error names the object.
        else:
            return [finish(item, reader.namespaced) for item in items]
    return [decode_item(item, *header) for item in _raw_items(data, kind)]


def decode_item(item: bytes, api_version: str, kind: str) -> KubernetesObject:
    """An item of a typed list or the object of a watch event, which need not carry its kind.

    Raises InputError as `decode` does, KeyError for a kind that is not known.
    """
    reader = _READERS[api_version, kind]
    try:
        obj = reader.decode(item)
        if reader.convert is not None:
            obj = reader.convert(obj)
    except _DECODE_ERRORS as error:
        raise _input_error(error, item, kind) from None
    return finish(obj, reader.namespaced)


_AT_PATH = re.compile(r"(.*) - at `(.*)`\Z", re.DOTALL)
_EXPECTED = re.compile(r"Expected (`.*?`.*?)(?:, got (`.*`))?\Z", re.DOTALL)
# Best guesses at an object's kind and name in a text that is not JSON.
_HEAD_KIND = re.compile(rb'[^\[]{0,300}?"kind"\s*+:\s*+"([^"\\]{1,253})"')
_NAME = re.compile(rb'"metadata"\s*+:\s*+\{[^{}]{0,2000}?"name"\s*+:\s*+"([^"\\]{1,253})"')
_MISSING = re.compile(r"Object missing required field `(.*)`\Z")


def _input_error(error: Exception, data: bytes, kind: str | None = None) -> InputError:
    """An InputError with the facts of a decoder's error."""
    text, field = str(error), None
    if isinstance(error, msgspec.DecodeError) and not isinstance(error, msgspec.ValidationError):
        return _malformed(text, data)
    obj = _describe(data, kind)
    if isinstance(error, RecursionError):
        return InputError("nested too deeply", object=obj)
    if isinstance(error, UnicodeDecodeError):
        return InputError("is not UTF-8", object=obj, expected="UTF-8 text")
    at = _AT_PATH.match(text)
    if at is not None:
        text, field = at.group(1), at.group(2)
    missing = _MISSING.match(text)
    if missing is not None:
        name = missing.group(1)
        return InputError("is missing", object=obj, field=f"{field or '$'}.{name}", expected="a value")
    expected = _EXPECTED.match(text)
    if expected is not None:
        got = expected.group(2)
        return InputError(
            f"has {got}" if got else "is out of range",
            object=obj,
            field=field or "$",
            expected=expected.group(1),
        )
    return InputError(text, object=obj, field=field)


def _malformed(text: str, data: bytes) -> InputError:
    """The error of a text that is not JSON.

    Python's reader takes NaN and infinity, so that it can tell where they stand.
    """
    try:
        document = json.loads(data)
        to_json(document)
    except InputError as error:
        return error.located(object=_describe(msgspec.json.encode(document)))
    except (ValueError, RecursionError):
        pass
    kind, name = _HEAD_KIND.match(data), _NAME.search(data, 0, 65_536)
    parts = [found.group(1).decode(errors="replace") for found in (kind, name) if found is not None]
    return InputError(text, object=" ".join(parts) or None, expected="valid JSON")


def _describe(data: bytes, kind: str | None = None) -> str | None:
    """Kind, namespace and name of the object in a text, as far as they can be read."""
    try:
        header = _decode_named_header(data)
    except _DECODE_ERRORS:
        return kind
    meta = header.metadata if isinstance(header.metadata, dict) else {}
    name = "/".join(part for part in (meta.get("namespace"), meta.get("name")) if isinstance(part, str))
    own_kind = header.kind if isinstance(header.kind, str) else None
    return " ".join(part for part in (kind or own_kind, name) if part) or None
