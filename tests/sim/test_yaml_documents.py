"""YAML and JSON are read as kubectl reads them, and every mistake has a line."""

from __future__ import annotations

from typing import Any

import pytest

from kueue_fast.sim.yaml_documents import Document, Problem, line_of, read_json, read_yaml

SCALARS: dict[str, tuple[str, Any]] = {
    "words for true of YAML 1.1": ("[y, Yes, on, TRUE]", [True] * 4),
    "words for false of YAML 1.1": ("[n, NO, off, false]", [False] * 4),
    "quoted words are texts": ("""["yes", 'off', "1", "null"]""", ["yes", "off", "1", "null"]),
    "null has five spellings": ("[~, null, Null, NULL, ]", [None] * 4),
    "a value that is not there is null": ("a:", {"a": None}),
    "a leading zero means octal": ("[010, 0o10, 08]", [8, 8, 8]),
    "hexadecimal, binary and signs": ("[0x1F, 0b11, +7, -0x10]", [31, 3, 7, -16]),
    "underscores in numbers are dropped": ("1_000", 1000),
    "base 60 is a text": ("1:30", "1:30"),
    "a date is a text": ("2026-01-01", "2026-01-01"),
    "a time is a text": ("2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z"),
    "whole floats have no fraction": ("[1.0, 1e3, 2.50]", [1, 1000, 2.5]),
    "an exponent without a point is a number": ("1e-3", 0.001),
    "integers up to 64 bits are exact": (
        "[18446744073709551615, -9223372036854775808]",
        [2**64 - 1, -(2**63)],
    ),
    "larger ones are rounded as in a float64": ("100000000000000000001", 100000000000000000000),
    "quantities are texts": ("[1Gi, 500m, 1e, .5k]", ["1Gi", "500m", "1e", ".5k"]),
    "a number that overflows is a text": ("1e999", "1e999"),
    "keys become texts": ("{1: a, on: b, 1.5: c}", {"1": "a", "true": "b", "1.5": "c"}),
    "tags turn values into texts": ("[!!str 1, !!str yes, !!int '3', !!bool yes]", ["1", "yes", 3, True]),
    "block texts keep their lines": ("|\n  a\n  b\n", "a\nb\n"),
}


@pytest.mark.parametrize("name", SCALARS)
def test_values(name: str) -> None:
    text, want = SCALARS[name]
    [document] = read_yaml(text)
    assert isinstance(document, Document)
    assert document.value == want
    assert repr(document.value) == repr(want)


def test_anchors_and_merge_keys() -> None:
    text = """
base: &base {cpu: 1, memory: 1Gi}
more: &more {cpu: 2, gpu: 1}
one: {<<: *base, cpu: 3}
two: {<<: [*base, *more]}
three: *base
"""
    [document] = read_yaml(text)
    assert isinstance(document, Document)
    assert document.value["one"] == {"cpu": 3, "memory": "1Gi"}
    assert document.value["two"] == {"cpu": 1, "memory": "1Gi", "gpu": 1}
    assert document.value["three"] == {"cpu": 1, "memory": "1Gi"}


def test_documents_are_counted_and_empty_ones_left_out() -> None:
    text = "# a comment\n---\na: 1\n---\n---\n# nothing\n--- # marker\nb: 2\n...\n---\n{c: 3}\n"
    documents = [document for document in read_yaml(text) if isinstance(document, Document)]
    assert [(document.index, document.line, document.value) for document in documents] == [
        (0, 3, {"a": 1}),
        (1, 8, {"b": 2}),
        (2, 11, {"c": 3}),
    ]


def test_a_broken_document_does_not_hide_the_next_one() -> None:
    text = "a: [1\n---\nb: 2\n---\nc: 1\nc: 2\n---\nd: 4\n"
    first, second, third, fourth = read_yaml(text)
    assert isinstance(first, Problem)
    assert isinstance(third, Problem)
    assert isinstance(second, Document)
    assert isinstance(fourth, Document)
    assert (first.line, third.line) == (2, 6)
    assert (second.value, fourth.value) == ({"b": 2}, {"d": 4})


LAUGHS = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{name}: &{name} [{','.join(['*' + before] * 9)}]\n"
    for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)

BROKEN: dict[str, tuple[str, int, str]] = {
    "an unclosed bracket": (
        "a:\n  b: [1, 2\nc: 3\n",
        3,
        "broken YAML: while parsing a flow sequence, begun in line 2",
    ),
    "a tab as indentation": ("a:\n\tb: 1\n", 2, "broken YAML"),
    "a duplicate key": ("a:\n  b: 1\n  c: 2\n  b: 3\n", 4, 'key "b" is already set in this mapping'),
    "keys that are the same as text": ("1: a\n'1': b\n", 2, 'key "1" is already set in this mapping'),
    "not a number": ("a: 1\nb: .nan\n", 2, '".nan" is not a number that JSON can hold'),
    "infinity": ("a: -.inf\n", 1, '"-.inf" is not a number that JSON can hold'),
    "a list as key": ("[a]: 1\n", 1, "a mapping key must be a text"),
    "null as key": ("~: 1\n", 1, "a mapping key must be a text"),
    "an alias without an anchor": ("a: *b\n", 1, "alias *b names no anchor that ends before it"),
    "an alias within its own anchor": ("a: &a [*a]\n", 1, "alias *a names no anchor that ends before it"),
    "aliases that multiply": (LAUGHS, 7, "aliases expand to more than 1000000 values"),
    "a merge of what is no mapping": ("a: &a 1\nb: {<<: *a}\n", 2, "a merge key (<<) needs a mapping"),
    "a tag of Python": ("a: !!python/object:os.system {}\n", 1, "has no meaning in a manifest"),
    "a tag that does not fit": ("a: !!int many\n", 1, '"many" is not a value of the tag !!int'),
    "deep nesting": ("[" * 150 + "{a: " * 150, 1, "more than 200 levels are nested in each other"),
    "a control character": ("a: 1\nb: \0\n", 2, "broken YAML: control characters are not allowed"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_yaml(name: str) -> None:
    text, want_line, want = BROKEN[name]
    [problem] = read_yaml(text)
    assert isinstance(problem, Problem)
    assert want in problem.message
    assert problem.line == want_line


BROKEN_JSON: dict[str, tuple[str, int, str]] = {
    "a missing comma": ('{\n"a": 1\n"b": 2}', 3, "broken JSON: Expecting ',' delimiter (column 1)"),
    "NaN": ('{\n"a": 1,\n"b": NaN}', 3, "NaN is not a number that JSON can hold"),
    "minus infinity": ('{"b":\n -Infinity}', 2, "-Infinity is not a number that JSON can hold"),
    "a duplicate key": ('{"x": {\n"a": 1,\n"a": 2}}', 3, 'key "a" is already set in this mapping'),
    "two documents": ('{"a": 1}\n\n{"a": 2}', 3, "expected one document a file"),
    "deep nesting": ('{"a":' * 100_000, 1, "more than 200 levels are nested in each other"),
    "an endless integer": ('{"a": ' + "1" * 10_000 + "}", 1, "broken JSON"),
}


@pytest.mark.parametrize("name", BROKEN_JSON)
def test_broken_json(name: str) -> None:
    text, want_line, want = BROKEN_JSON[name]
    problem = read_json(text)
    assert isinstance(problem, Problem)
    assert want in problem.message
    assert problem.line == want_line


def test_json_in_a_yaml_stream() -> None:
    first, second = read_yaml('{"a": 1.0,\n\t"b": 1e2}\n---\n{c: yes}\n')
    assert isinstance(first, Document)
    assert isinstance(second, Document)
    assert (first.value, second.value) == ({"a": 1, "b": 100}, {"c": True})


LONG = 10_000_000
ONE_LINE = {
    "a plain text": "a" * LONG,
    "a quoted text without end": '"' + "a" * LONG,
    "brackets": "[" * LONG,
    "braces": "{" * LONG,
    "dashes": "- " * (LONG // 2),
    "keys": "a: " * (LONG // 3),
    "explicit keys": "? " * (LONG // 2),
    "closing brackets": "]" * LONG,
    "JSON objects": '{"a":' * (LONG // 5),
    "anchors": "&a " * (LONG // 3),
    "an alias": "*" + "a" * LONG,
    "a tag": "!" + "a" * LONG,
    "zeros": "a: " + "0" * LONG,
    "null characters": "\0" * LONG,
}


@pytest.mark.parametrize("name", ONE_LINE)
def test_ten_megabytes_of_one_line_make_short_messages(name: str) -> None:
    for item in read_yaml(ONE_LINE[name]):
        assert item.line == 1
        if isinstance(item, Problem):
            assert len(item.message) < 250


def test_line_of_a_field() -> None:
    text = "x: 1\n---\nspec:\n  podSets:\n  - name: a\n  - name: b\n    labels:\n      a.b/c: d\n"
    _, document = read_yaml(text)
    assert isinstance(document, Document)
    want = {
        "$": 99,
        "$.spec": 3,
        "$.spec.podSets[1]": 6,
        "$.spec.podSets[1].name": 6,
        "$.spec.podSets[1].labels[a.b/c]": 8,
        '$.spec.podSets[1].labels["a.b/c"]': 8,
        "$.spec.podSets[1].count": 6,
        "$.status.x": 99,
    }
    assert {path: line_of(document, path, 99) for path in want} == want
