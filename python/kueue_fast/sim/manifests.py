"""Files, directories and standard input to the objects of a simulation.

Everything that a user may have got wrong is told at once, with file, line, object and field; when
anything is wrong nothing is handed out.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from kueue_fast.api.decode import KINDS, decode, key
from kueue_fast.errors import InputError
from kueue_fast.model.features import FeatureGates
from kueue_fast.model.validation import FieldError, validate
from kueue_fast.sim import generator
from kueue_fast.sim.manifest import (
    ErrorCollector,
    Manifest,
    bounded,
    describe,
    problem_words,
    read_facts,
)
from kueue_fast.sim.yaml_documents import Document, Problem, line_of, read_json, read_yaml
from kueue_fast.sim.yaml_scalars import shortened

__all__ = ["SUPPORTED_KINDS", "field_error", "load"]

STDIN: Final = "-"
_EXTENSIONS: Final = (".yaml", ".yml", ".json")

_LATER: Final = frozenset(
    (
        # Readable, but nothing in the simulator acts on them yet.
        ("", "MultiKueueCluster"),
        ("", "MultiKueueConfig"),
        ("", "ProvisioningRequestConfig"),
    )
)
_MADE_BY_OTHERS: Final[dict[str, str]] = {"CronJob": "batch", "DaemonSet": "apps", "ReplicaSet": "apps"}
"""Kinds whose Jobs and pods Kueue may manage, though not they themselves, and their API groups."""


def _is_later(api_version: str, kind: str) -> bool:
    group = api_version.rpartition("/")[0]
    return (api_version, kind) in _LATER or ("", kind) in _LATER or _MADE_BY_OTHERS.get(kind) == group


SUPPORTED_KINDS: Final = tuple(sorted({kind for version, kind in KINDS if not _is_later(version, kind)}))
"""The kinds that a simulation takes."""
_SUPPORTED_TEXT: Final = "one of " + ", ".join(SUPPORTED_KINDS)


@dataclass(frozen=True, slots=True)
class _Item:
    """One object of a document: the document itself, or an element of a list at `path`."""

    value: dict[str, Any]
    line: int
    path: str


@dataclass(slots=True)
class _Loader:
    """The state of one `load`: what was read so far and what is wrong."""

    gates: FeatureGates
    errors: ErrorCollector = field(default_factory=ErrorCollector)
    manifests: list[Manifest] = field(default_factory=list)
    places: dict[tuple[str, str, str], Manifest] = field(default_factory=dict)

    def read_path(self, path: str, files_read: set[str]) -> None:
        """All manifests of a file, of a directory and those below it, or of standard input."""
        if path == STDIN:
            if sys.stdin is None:
                self.errors.add(InputError("cannot be read: it is closed", file="<stdin>"))
                return
            self._read_text(sys.stdin.buffer.read(), "<stdin>", is_json=False)
            return
        if not os.path.isdir(path):
            self._read_file(path, files_read)
            return
        unreadable: list[OSError] = []
        files = _files(path, unreadable)
        for error in unreadable:
            message = f"cannot be read: {error.strerror or error}"
            self.errors.add(InputError(message, file=str(error.filename)))
        if not files and not unreadable:
            expected = "files named " + ", ".join("*" + extension for extension in _EXTENSIONS)
            self.errors.add(InputError("the directory has no manifests", file=path, expected=expected))
        for file in files:
            self._read_file(file, files_read)

    def _read_file(self, file: str, files_read: set[str]) -> None:
        real = os.path.realpath(file)
        if real in files_read:
            return
        files_read.add(real)
        try:
            with open(file, "rb") as stream:
                data = stream.read()
        except (OSError, ValueError) as error:  # ValueError: a null character in the path
            reason = (error.strerror or str(error)) if isinstance(error, OSError) else str(error)
            self.errors.add(InputError(f"cannot be read: {reason}", file=shortened(file, 300)))
            return
        self._read_text(data, file, is_json=file.endswith(".json"))

    def _read_text(self, data: bytes, file: str, is_json: bool) -> None:
        try:
            text = data.decode("utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig")
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
            self.errors.add(InputError("not a text", file=f"{file}:{line}", expected="UTF-8"))
            return
        if not text.strip():
            self.errors.add(InputError("the file is empty", file=file, expected="at least one manifest"))
            return
        found = False
        for document in (read_json(text),) if is_json else read_yaml(text):
            found = True
            if isinstance(document, Problem):
                self.errors.add(InputError(document.message, file=f"{file}:{document.line}"))
            else:
                self._read_document(document, file)
        if not found:
            expected = "at least one manifest"
            self.errors.add(
                InputError("the file has only comments and empty documents", file=file, expected=expected)
            )

    def _read_document(self, document: Document, file: str) -> None:
        value = document.value
        if isinstance(value, dict) and generator.is_generator(value):
            self._read_generator(document, file)
            return
        for item in _items(document):
            if isinstance(item, InputError):
                self._add(item, document, file, document.line, "$")
            else:
                self._read_item(item, document, file)

    def _read_generator(self, document: Document, file: str) -> None:
        manifests, errors = generator.expand(document.value, file, document.line, document.index, self.gates)
        for error in errors:
            self._add(error, document, file, document.line, "$")
        for manifest in manifests:
            self._keep(manifest)

    def _read_item(self, item: _Item, document: Document, file: str) -> None:
        line = item.line
        try:
            _check_kind(item.value)
            raw = _json(item.value)
            obj = decode(raw)
        except InputError as error:
            self._add(error, document, file, line, item.path)
            return
        if not obj.metadata.name:
            expected = "a name; generateName is not used here"
            nameless = InputError("is missing", object=obj.KIND, field="$.metadata.name", expected=expected)
            self._add(nameless, document, file, line, item.path)
            return
        api_version: str = item.value["apiVersion"]
        facts, problems = read_facts(obj.KIND, obj.metadata.annotations)
        problems += [field_error(problem) for problem in validate(obj, self.gates, api_version)]
        for problem in problems:
            self._add(problem.located(object=describe(obj)), document, file, line, item.path)
        self._keep(Manifest(file, line, document.index, api_version, obj, raw, facts))

    def _keep(self, manifest: Manifest) -> None:
        first = self.places.setdefault(key(manifest.object), manifest)
        if first is manifest:
            self.manifests.append(manifest)
            return
        self.errors.add(
            InputError(
                f"is already defined in {first.place}",
                file=manifest.place,
                object=describe(manifest.object),
                expected="each object once",
            )
        )

    def _add(self, error: InputError, document: Document, file: str, line: int, path: str) -> None:
        """Adds an error about an object at `path` of the document, with the line of the field."""
        if self.errors.full:
            self.errors.add(error)
            return
        if error.field is not None:
            line = line_of(document, path + error.field.removeprefix("$"), line)
        self.errors.add(bounded(error.located(file=f"{file}:{line}")))


def load(paths: Sequence[str], feature_gates: FeatureGates | None = None) -> list[Manifest]:
    """The manifests in files, directories (recursively *.yaml, *.yml, *.json, sorted) and `-`, standard input.

    YAML with any number of documents, or JSON; `List` and typed lists are taken apart, and a generator
    file of Kueue's performance runner is expanded. Order is that of the input. `feature_gates` decide
    what validation allows; None means Kueue's defaults.

    Raises:
        ManifestErrors: anything cannot be used; then nothing is handed out.
    """
    loader = _Loader(feature_gates or FeatureGates())
    files_read: set[str] = set()
    for path in paths:
        loader.read_path(path, files_read)
    loader.errors.raise_if_any()
    return loader.manifests


def _files(directory: str, unreadable: list[OSError]) -> list[str]:
    """The manifest files below a directory, sorted by path; appends why a folder could not be listed."""
    found = []
    for folder, _, names in os.walk(directory, onerror=unreadable.append):
        found += [os.path.join(folder, name) for name in names if name.endswith(_EXTENSIONS)]
    # a pipe of that name would be waited for
    return sorted(path for path in found if os.path.isfile(path))


def _items(document: Document) -> Iterator[_Item | InputError]:
    """The objects of a document, lists taken apart to any depth."""
    if not isinstance(document.value, dict):
        found = type(document.value).__name__
        yield InputError(f"the document is a {_NAMES.get(found, found)}", expected="a Kubernetes object")
        return
    lines = document.item_lines
    pending = [_Item(document.value, document.line, "$")]
    while pending:
        item = pending.pop()
        kind, items = item.value.get("kind"), item.value.get("items")
        if not (isinstance(kind, str) and kind.endswith("List")) or (items is None and kind != "List"):
            yield item
            continue
        if items is not None and not isinstance(items, list):
            yield InputError(
                "is not a list", object=kind, field=f"{item.path}.items", expected="a list of objects"
            )
            continue
        head = {} if kind == "List" else {"apiVersion": item.value.get("apiVersion"), "kind": kind[:-4]}
        elements = []
        for index, element in enumerate(items or ()):
            path = f"{item.path}.items[{index}]"
            if not isinstance(element, dict):
                yield InputError("is not an object", object=kind, field=path, expected="a Kubernetes object")
                continue
            at = lines[index] if item.path == "$" and len(lines) == len(items or ()) else item.line
            elements.append(_Item({**head, **element}, at, path))
        pending += reversed(elements)


_NAMES: Final = {"str": "text", "int": "number", "float": "number", "bool": "boolean"}


def _check_kind(value: dict[str, Any]) -> None:
    """Raises InputError unless kind and version are ones that a simulation takes."""
    api_version, kind = value.get("apiVersion"), value.get("kind")
    for name, text in (("apiVersion", api_version), ("kind", kind)):
        if not isinstance(text, str) or not text:
            known = shortened(str(kind)) if kind else None
            raise InputError("is missing", object=known, field=f"$.{name}", expected=_EXAMPLES[name])
    assert isinstance(api_version, str)
    assert isinstance(kind, str)
    later = _is_later(api_version, kind)
    if (api_version, kind) in KINDS and not later:
        return
    written = f"{shortened(kind)} ({shortened(api_version)})"
    if later:
        raise InputError(
            f"kind {written} is not supported yet", object=_named(value), expected=_SUPPORTED_TEXT
        )
    if api_version.startswith("config.kueue.x-k8s.io/"):
        message = f"{written} is Kueue's own configuration, not an object of the cluster"
        raise InputError(message, expected="it with --config")
    versions = sorted(version for version, known in KINDS if known == kind)
    if versions:
        message = f"version {shortened(api_version)} of {shortened(kind)} is not known"
        expected = " or ".join(versions)
        raise InputError(message, object=_named(value), field="$.apiVersion", expected=expected)
    raise InputError(f"kind {written} is not known", object=_named(value), expected=_SUPPORTED_TEXT)


_EXAMPLES: Final = {"apiVersion": "a text such as kueue.x-k8s.io/v1beta2", "kind": _SUPPORTED_TEXT}


def _named(value: dict[str, Any]) -> str:
    """Kind and name of an object that was not decoded."""
    metadata = value.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    names = [str(metadata[part]) for part in ("namespace", "name") if metadata.get(part)]
    return shortened(f"{value['kind']} {'/'.join(names)}".strip(), 120)


def _json(value: dict[str, Any]) -> bytes:
    """JSON text of an object."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        raise InputError(
            "has a text with half a character (a lone surrogate)", object=_named(value)
        ) from None
    except RecursionError:
        raise InputError("is nested too deeply", object=_named(value)) from None


def field_error(problem: FieldError) -> InputError:
    """What validation found, with the path in the decoder's form."""
    return InputError(problem_words(problem), field=f"$.{problem.path}")
