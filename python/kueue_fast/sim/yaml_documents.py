"""YAML and JSON text to plain values, as kubectl reads it, with the line of each mistake.

PyYAML's C parser gives the events; duplicate keys, merge keys and the limits on nesting and aliases are
ours. A broken document does not hide the ones after it: the text is cut at its `---` lines first.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from typing import Any, Final

import msgspec
import yaml

from kueue_fast.sim.yaml_scalars import (
    MERGE,
    NOT_JSON,
    canonical_number,
    is_collection_tag,
    key_text,
    resolve_plain,
    resolve_tagged,
    shortened,
)

__all__ = ["Document", "Problem", "line_of", "read_json", "read_yaml"]

_Parser: Any
_ComposeLoader: Any
if yaml.__with_libyaml__:
    from yaml.cyaml import CParser as _Parser  # type: ignore[attr-defined]
    from yaml.cyaml import CSafeLoader as _ComposeLoader
else:  # the same events, about ten times slower
    from yaml import SafeLoader as _ComposeLoader
    from yaml import SafeLoader as _Parser

MAX_DEPTH: Final = 200
"""No manifest nests deeper; the limit keeps hostile input from exhausting the encoder's stack."""
MAX_ALIASED_VALUES: Final = 1_000_000
"""How many values the aliases of one document may expand to."""
MAX_LOCATED_CHARACTERS: Final = 2_000_000
"""Longer texts are not read a second time to find the line of a field."""
_CACHED_LENGTH: Final = 64
_CACHED_SCALARS: Final = 20_000
_NO_KEY: Final = object()


@dataclass(frozen=True, slots=True)
class Document:
    """One document of a text. Lines count from 1, documents from 0.

    `item_lines` are the lines of the elements of sequences directly under the top mapping; they are
    empty for JSON. The last three fields serve `line_of`: text that holds the document, lines before
    that text, and the document's number in it.
    """

    index: int
    line: int
    value: Any
    item_lines: tuple[int, ...]
    text: str
    lines_before: int
    number_in_text: int


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a document cannot be read, and the line (from 1) on which that shows."""

    line: int
    message: str
    index: int = 0


class _Broken(Exception):
    """The document cannot be read; the line counts from 0."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(message)
        self.line = line
        self.message = message


class _Builder:
    """Builds the values of the documents of one text from parser events, without recursion."""

    def __init__(self, text: str) -> None:
        self._next = _Parser(text).get_event
        self._cache: dict[str, Any] = {}

    def documents(self) -> Iterator[tuple[int, Any, list[int]]]:
        """Line from 0, value and item lines of each document; raises _Broken and yaml.YAMLError."""
        while (event := self._next()) is not None:
            if type(event) is yaml.DocumentStartEvent:
                yield self._document()

    def _scalar(self, event: Any) -> Any:
        text: str = event.value
        if event.tag is not None:
            try:
                return resolve_tagged(event.tag, text)
            except ValueError as error:
                raise _Broken(event.start_mark.line, str(error)) from None
        if not event.implicit[0]:
            return text
        try:
            value = self._cache[text]
        except KeyError:
            value = resolve_plain(text)
            if len(text) <= _CACHED_LENGTH:
                if len(self._cache) >= _CACHED_SCALARS:
                    self._cache.clear()
                self._cache[text] = value
        if value is NOT_JSON:
            raise _Broken(event.start_mark.line, f'"{text}" is not a number that JSON can hold')
        return value

    def _document(self) -> tuple[int, Any, list[int]]:
        """One document, up to its end event.

        A collection is put into its parent when it starts; `key` is the key that waits for its value.
        """
        container: Any = []
        key: Any = _NO_KEY
        stack: list[tuple[Any, str | None, int]] = []
        merges: dict[int, list[Any]] = {}
        anchors: dict[str, tuple[Any, int]] = {}
        item_lines: list[int] = []
        first_line = -1
        values = aliased = 0
        while True:
            event = self._next()
            kind = type(event)
            if kind is yaml.DocumentEndEvent:
                return max(first_line, 0), container[0] if container else None, item_lines
            line: int = event.start_mark.line
            if kind is yaml.MappingEndEvent or kind is yaml.SequenceEndEvent:
                value = container
                container, anchor, values_before = stack.pop()
                if id(value) in merges:
                    _merge(value, merges.pop(id(value)), line)
                if anchor is not None:
                    anchors[anchor] = (value, values - values_before)
                continue
            if first_line < 0:
                first_line = line
            values += 1
            starts_collection = False
            if kind is yaml.ScalarEvent:
                value = self._scalar(event)
                if event.anchor is not None:
                    anchors[event.anchor] = (value, 1)
            elif kind is yaml.AliasEvent:
                if event.anchor not in anchors:
                    name = shortened(event.anchor)
                    raise _Broken(line, f"alias *{name} names no anchor that ends before it")
                value, size = anchors[event.anchor]
                values += size
                aliased += size
                if aliased > MAX_ALIASED_VALUES:
                    raise _Broken(line, f"aliases expand to more than {MAX_ALIASED_VALUES} values")
            else:
                starts_collection = True
                if event.tag is not None and not is_collection_tag(event.tag):
                    raise _Broken(line, f"the tag {shortened(event.tag)} has no meaning in a manifest")
                if len(stack) >= MAX_DEPTH:
                    raise _Broken(line, f"more than {MAX_DEPTH} levels are nested in each other")
                value = {} if kind is yaml.MappingStartEvent else []
            if type(container) is list:
                container.append("<<" if value is MERGE else value)
                if len(stack) == 2:
                    item_lines.append(line)
            elif key is _NO_KEY:
                key = MERGE if value is MERGE else _key(value, container, line)
                continue
            else:
                if key is MERGE:
                    merges.setdefault(id(container), []).append(value)
                else:
                    container[key] = "<<" if value is MERGE else value
                key = _NO_KEY
            if starts_collection:
                stack.append((container, event.anchor, values))
                container = value


def _key(value: Any, mapping: dict[str, Any], line: int) -> str:
    """The key as text, if it may be set in this mapping."""
    try:
        key = key_text(value)
    except ValueError as error:
        raise _Broken(line, str(error)) from None
    if key in mapping:
        raise _Broken(line, f'key "{shortened(key)}" is already set in this mapping')
    return key


def _merge(mapping: dict[str, Any], merged: list[Any], line: int) -> None:
    """Merge keys: what the mapping says itself wins, and of several merged mappings the first."""
    for value in merged:
        for source in value if type(value) is list else [value]:
            if type(source) is not dict:
                raise _Broken(line, "a merge key (<<) needs a mapping or a list of mappings")
            for key, item in source.items():
                mapping.setdefault(key, item)


_SEPARATOR: Final = re.compile(r"^---(?=\s|$)", re.MULTILINE)
_CONTENT: Final = re.compile(r"^[ \t\r]*[^#%\s]", re.MULTILINE)


def _chunks(text: str) -> Iterator[tuple[int, str]]:
    """The text cut before each `---` line: (lines before, chunk), without chunks that say nothing."""
    starts = [0, *(match.start() for match in _SEPARATOR.finditer(text) if match.start()), len(text)]
    lines = 0
    for start, end in pairwise(starts):
        chunk = text[start:end]
        marker = _SEPARATOR.match(chunk)
        if _CONTENT.search(chunk[3:] if marker else chunk):
            yield lines, chunk
        lines += chunk.count("\n")


def _yaml_problem(error: yaml.YAMLError, text: str, lines_before: int) -> Problem:
    """The parser's words and line; where it could not even decode the text it counts bytes instead."""
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
        mark = error.problem_mark
        words = str(error.problem)
        if error.context:
            begin = error.context_mark.line if error.context_mark is not None else mark.line
            since = "" if begin == mark.line else f", begun in line {lines_before + begin + 1}"
            words = f"{error.context}{since}: {words}"
        line = lines_before + mark.line + 1
        return Problem(line, f"broken YAML: {shortened(words, 160)} (column {mark.column + 1})")
    position = getattr(error, "position", 0) or 0
    line = lines_before + text.encode()[:position].count(b"\n") + 1
    reason = getattr(error, "reason", None) or str(error)
    return Problem(line, f"broken YAML: {shortened(reason, 160)}")


def _parse(text: str, lines_before: int = 0) -> Iterator[tuple[int, Any, list[int]] | Problem]:
    """The documents of one chunk, up to the first that is broken."""
    try:
        yield from _Builder(text).documents()
    except _Broken as error:
        yield Problem(lines_before + error.line + 1, error.message)
    except yaml.YAMLError as error:
        yield _yaml_problem(error, text, lines_before)


def read_yaml(text: str) -> Iterator[Document | Problem]:
    """The documents of a YAML text in order, empty ones left out; a Problem in place of a broken one."""
    index = 0
    for lines, chunk in _chunks(text):
        if chunk.lstrip().startswith("{") and isinstance(document := read_json(chunk), Document):
            yield Document(index, lines + document.line, document.value, (), chunk, lines, 0)
            index += 1
            continue
        for number, parsed in enumerate(_parse(chunk, lines)):
            if isinstance(parsed, Problem):
                yield replace(parsed, index=index)
            elif parsed[1] is not None:
                line, value, item_lines = parsed
                items = tuple(lines + item + 1 for item in item_lines)
                yield Document(index, lines + line + 1, value, items, chunk, lines, number)
            index += 1


class _RefusedJSON(Exception):
    """JSON that Python's reader takes and others do not; carries what it is about."""


class _DuplicateKey(_RefusedJSON):
    pass


class _NotANumber(_RefusedJSON):
    pass


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    mapping = dict(pairs)
    if len(mapping) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise _DuplicateKey(key)
            seen.add(key)
    return mapping


def _constant(name: str) -> Any:
    raise _NotANumber(name)


_JSON: Final = json.JSONDecoder(
    object_pairs_hook=_object, parse_constant=_constant, parse_float=canonical_number
)


def _line_of_constant(text: str) -> int:
    """The line on which strict JSON breaks off; msgspec says at which byte."""
    data = text.encode()
    try:
        msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError) as error:
        at = re.search(r"\(byte (\d+)\)", str(error))
        if at is not None:
            return data[: int(at.group(1))].count(b"\n") + 1
    return 1


def read_json(text: str) -> Document | Problem:
    """The one document of a JSON text. `NaN` and `Infinity` are refused, as by any reader but Python's."""
    start = len(text) - len(text.lstrip())
    line = text.count("\n", 0, start) + 1
    try:
        value, end = _JSON.raw_decode(text, start)
    except json.JSONDecodeError as error:
        return Problem(error.lineno, f"broken JSON: {error.msg} (column {error.colno})")
    except _NotANumber as error:
        return Problem(_line_of_constant(text), f"{error} is not a number that JSON can hold")
    except _DuplicateKey as error:
        message = f'key "{shortened(str(error))}" is already set in this mapping'
        found = [item for item in _parse(text) if isinstance(item, Problem) and item.message == message]
        return found[0] if found else Problem(line, message)
    except RecursionError:
        return Problem(line, f"more than {MAX_DEPTH} levels are nested in each other")
    except ValueError as error:  # an integer of thousands of digits
        return Problem(line, f"broken JSON: {shortened(str(error), 160)}")
    rest = text[end:].lstrip()
    if rest:
        line = text.count("\n", 0, len(text) - len(rest)) + 1
        return Problem(line, "broken JSON: text after the end of the document (expected one document a file)")
    return Document(0, line, value, (), text, 0, 0)


_STEP: Final = re.compile(r"\[(\d{1,9})\]|\[\"?([^\]\"]+)\"?\]|\.?([^.\[\]]+)")


@lru_cache(maxsize=1)
def _nodes(text: str) -> list[yaml.Node]:
    """The documents of a text as nodes with lines; none where YAML cannot read it, as with some JSON."""
    try:
        return list(yaml.compose_all(text, Loader=_ComposeLoader))
    except (yaml.YAMLError, RecursionError):
        return []


def line_of(document: Document, path: str, default: int) -> int:
    """The line of the field `path` (`$.spec.podSets[0].count`) or of its nearest ancestor in the text.

    Reads the text again, for only messages need it; `default` where it is too long for that.
    """
    if len(document.text) > MAX_LOCATED_CHARACTERS:
        return default
    nodes = _nodes(document.text)
    if document.number_in_text >= len(nodes):
        return default
    node: Any = nodes[document.number_in_text]
    line = default
    for index, quoted, name in _STEP.findall(path.removeprefix("$")):
        if isinstance(node, yaml.SequenceNode) and index and int(index) < len(node.value):
            node = node.value[int(index)]
            line = document.lines_before + node.start_mark.line + 1
            continue
        wanted = quoted or name or index
        pairs = node.value if isinstance(node, yaml.MappingNode) else []
        pair = next((pair for pair in pairs if pair[0].value == wanted), None)
        if pair is None:
            break
        line = document.lines_before + pair[0].start_mark.line + 1
        node = pair[1]
    return line
