"""Excluded prefixes and resource transformations."""

from fractions import Fraction
from typing import Any

import msgspec
import pytest

from kueue_fast.api.configuration import Resources
from kueue_fast.errors import InputError
from kueue_fast.model.transformations import drop_excluded, transformed

EXCLUDED: dict[str, tuple[list[str] | None, list[str]]] = {
    "no prefixes": (None, ["cpu", "example.com/a", "example.com/b"]),
    "an empty list": ([], ["cpu", "example.com/a", "example.com/b"]),
    "a domain": (["example.com/"], ["cpu"]),
    "a whole name": (["example.com/a"], ["cpu", "example.com/b"]),
    "several": (["example.com/a", "cp"], ["example.com/b"]),
    "not in the middle": (["com/"], ["cpu", "example.com/a", "example.com/b"]),
    "an empty prefix is any": ([""], []),
}


@pytest.mark.parametrize(("prefixes", "want"), EXCLUDED.values(), ids=EXCLUDED)
def test_drop_excluded(prefixes: list[str] | None, want: list[str]) -> None:
    amounts = {name: Fraction(1) for name in ("cpu", "example.com/a", "example.com/b")}
    assert list(drop_excluded(amounts, prefixes)) == want


def rule(
    input: str, outputs: dict[str, Any], strategy: str | None = None, by: str | None = None
) -> dict[str, Any]:
    made: dict[str, Any] = {"input": input, "outputs": outputs}
    if strategy is not None:
        made["strategy"] = strategy
    if by is not None:
        made["multiplyBy"] = by
    return made


GPU_ALLOWANCE = [
    rule("cpu", {"cpu-over": "1"}, "Replace"),
    rule("gpu", {"cpu-over": "-8"}, "Retain"),
]

Case = tuple[list[dict[str, Any]], dict[str, int | Fraction], dict[str, int | Fraction]]
CASES: dict[str, Case] = {
    "no rules": ([], {"cpu": 1}, {"cpu": 1}),
    "no requested input": ([rule("gpu", {"x": "1"})], {"cpu": 1}, {"cpu": 1}),
    "the default strategy retains": ([rule("gpu", {"x": "2"})], {"gpu": 3}, {"gpu": 3, "x": 6}),
    "Retain": ([rule("gpu", {"x": "2"}, "Retain")], {"gpu": 3, "cpu": 1}, {"cpu": 1, "gpu": 3, "x": 6}),
    "Replace": ([rule("gpu", {"x": "2", "y": "500m"}, "Replace")], {"gpu": 3}, {"x": 6, "y": Fraction(3, 2)}),
    "Replace without outputs drops the input": (
        [rule("gpu", {}, "Replace")],
        {"gpu": 3, "cpu": 1},
        {"cpu": 1},
    ),
    "outputs of one name are summed": (
        [rule("a", {"x": "1"}, "Replace"), rule("b", {"x": "10"}, "Replace")],
        {"a": 2, "b": 3},
        {"x": 32},
    ),
    "an output is not an input of another rule": (
        [rule("a", {"b": "2"}, "Replace"), rule("b", {"c": "2"}, "Replace")],
        {"a": 1},
        {"b": 2},
    ),
    "an output adds to a direct request of its name": (
        [rule("a", {"x": "2"}, "Replace")],
        {"a": 1, "x": 5},
        {"x": 7},
    ),
    "an output adds to its own retained input": ([rule("a", {"a": "2"})], {"a": 3}, {"a": 9}),
    "an output replaces its own input": ([rule("a", {"a": "2"}, "Replace")], {"a": 3}, {"a": 6}),
    "milli factor": ([rule("cpu", {"x": "3000"}, "Replace")], {"cpu": Fraction(1, 10)}, {"x": 300}),
    "small factor": ([rule("memory", {"x": "3m"}, "Replace")], {"memory": 10**8}, {"x": 300000}),
    "multiplyBy": ([rule("mem", {"x": "2"}, "Replace", by="gpu")], {"mem": 5, "gpu": 3}, {"gpu": 3, "x": 30}),
    "multiplyBy does not touch what is retained": (
        [rule("mem", {"x": "1"}, "Retain", by="gpu")],
        {"mem": 5, "gpu": 3},
        {"mem": 5, "gpu": 3, "x": 15},
    ),
    "multiplyBy with output of its own input": (
        [rule("mem", {"mem": "1"}, "Retain", by="gpu")],
        {"mem": 5, "gpu": 3},
        {"mem": 20, "gpu": 3},
    ),
    "multiplyBy below one": (
        [rule("mem", {"x": "1"}, "Replace", by="gpu")],
        {"mem": 5, "gpu": Fraction(1, 2)},
        {"x": Fraction(5, 2), "gpu": Fraction(1, 2)},
    ),
    "multiplyBy zero": (
        [rule("mem", {"x": "1"}, "Replace", by="gpu")],
        {"mem": 5, "gpu": 0},
        {"x": 0, "gpu": 0},
    ),
    "multiplyBy that is not requested": (
        [rule("mem", {"x": "2"}, "Replace", by="gpu")],
        {"mem": 5},
        {"x": 10},
    ),
    "an empty multiplyBy is none": (
        [rule("mem", {"x": "2"}, "Replace", by="")],
        {"mem": 5, "": 7},
        {"x": 10, "": 7},
    ),
    "multiplyBy sees what was requested, not what replaced it": (
        [rule("gpu", {"y": "10"}, "Replace"), rule("mem", {"x": "1"}, "Replace", by="gpu")],
        {"mem": 5, "gpu": 2},
        {"y": 20, "x": 10},
    ),
    "an allowance is exceeded": (GPU_ALLOWANCE, {"cpu": 10, "gpu": 1}, {"gpu": 1, "cpu-over": 2}),
    "an allowance is used up": (GPU_ALLOWANCE, {"cpu": 8, "gpu": 1}, {"gpu": 1, "cpu-over": 0}),
    "an allowance is not used up": (GPU_ALLOWANCE, {"cpu": 6, "gpu": 1}, {"gpu": 1, "cpu-over": 0}),
    "an allowance alone makes nothing negative": (GPU_ALLOWANCE, {"gpu": 1}, {"gpu": 1, "cpu-over": 0}),
    "an allowance does not reach a direct request": (
        GPU_ALLOWANCE,
        {"cpu": 6, "gpu": 1, "cpu-over": 3},
        {"gpu": 1, "cpu-over": 3},
    ),
    "an allowance does not reach its own retained input": ([rule("a", {"a": "-1"})], {"a": 5}, {"a": 5}),
    "a product beyond 64 bits stays exact": (
        [rule("a", {"x": "1E"}, "Replace")],
        {"a": 10**12},
        {"x": 10**30},
    ),
    "the last rule of an input wins": (
        [rule("a", {"x": "1"}, "Replace"), rule("a", {"y": "1"}, "Replace")],
        {"a": 1},
        {"y": 1},
    ),
}


@pytest.mark.parametrize(("rules", "amounts", "want"), CASES.values(), ids=CASES)
def test_transformations(
    rules: list[dict[str, Any]], amounts: dict[str, int | Fraction], want: dict[str, int | Fraction]
) -> None:
    resources = msgspec.convert({"transformations": rules}, Resources)
    given = {name: Fraction(value) for name, value in amounts.items()}
    before = dict(given)
    assert transformed(given, resources) == want
    assert given == before


WHOLE: dict[str, tuple[dict[str, Any], dict[str, int]]] = {
    "an empty section": ({}, {"a": 1, "b": 2}),
    "an excluded input has no outputs": (
        {"excludeResourcePrefixes": ["a"], "transformations": [rule("a", {"x": "1"})]},
        {"b": 2},
    ),
    "an excluded multiplier counts as not requested": (
        {"excludeResourcePrefixes": ["b"], "transformations": [rule("a", {"x": "3"}, "Replace", by="b")]},
        {"x": 3},
    ),
    "outputs are not excluded": (
        {"excludeResourcePrefixes": ["x"], "transformations": [rule("a", {"x": "3"}, "Replace")]},
        {"b": 2, "x": 3},
    ),
}


@pytest.mark.parametrize(("resources", "want"), WHOLE.values(), ids=WHOLE)
def test_exclusion_comes_first(resources: dict[str, Any], want: dict[str, int]) -> None:
    amounts = {"a": Fraction(1), "b": Fraction(2)}
    assert transformed(amounts, msgspec.convert(resources, Resources)) == want


def test_without_a_section_the_amounts_stay() -> None:
    amounts = {"a": Fraction(1)}
    assert transformed(amounts, None) is amounts


def test_unreadable_factor() -> None:
    resources = msgspec.convert({"transformations": [rule("a", {"x": "1x"})]}, Resources)
    with pytest.raises(InputError) as caught:
        transformed({"a": Fraction(1)}, resources)
    assert caught.value.field == "resources.transformations[a].outputs.x"
