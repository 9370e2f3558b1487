"""Label selectors and node selector terms."""

from typing import Any

import msgspec
import pytest

from kueue_fast.api.core import NodeSelectorTerm
from kueue_fast.api.meta import LabelSelector
from kueue_fast.model.selectors import (
    SelectorError,
    aggregate,
    label_selector_problems,
    node_matches_terms,
    selects,
)

LABELS = {"team": "a", "tier": "1", "empty": ""}


def expression(operator: str, *values: str, key: str = "team") -> dict[str, Any]:
    return {"key": key, "operator": operator, **({"values": list(values)} if values else {})}


SELECTS: dict[str, tuple[dict[str, Any] | None, dict[str, str] | None, bool]] = {
    "no selector selects nothing": (None, LABELS, False),
    "no selector, no labels": (None, None, False),
    "an empty selector selects everything": ({}, LABELS, True),
    "an empty selector and no labels": ({}, None, True),
    "empty parts are as absent ones": ({"matchLabels": {}, "matchExpressions": []}, LABELS, True),
    "label equal": ({"matchLabels": {"team": "a"}}, LABELS, True),
    "label other": ({"matchLabels": {"team": "b"}}, LABELS, False),
    "label missing": ({"matchLabels": {"other": ""}}, LABELS, False),
    "empty value is a value": ({"matchLabels": {"empty": ""}}, LABELS, True),
    "all labels must match": ({"matchLabels": {"team": "a", "tier": "2"}}, LABELS, False),
    "In": ({"matchExpressions": [expression("In", "a", "b")]}, LABELS, True),
    "In without the label": ({"matchExpressions": [expression("In", "a", key="x")]}, LABELS, False),
    "NotIn": ({"matchExpressions": [expression("NotIn", "b")]}, LABELS, True),
    "NotIn hit": ({"matchExpressions": [expression("NotIn", "a")]}, LABELS, False),
    "NotIn without the label is true": ({"matchExpressions": [expression("NotIn", "a", key="x")]}, {}, True),
    "Exists": ({"matchExpressions": [expression("Exists", key="empty")]}, LABELS, True),
    "Exists missing": ({"matchExpressions": [expression("Exists", key="x")]}, LABELS, False),
    "DoesNotExist": ({"matchExpressions": [expression("DoesNotExist", key="x")]}, None, True),
    "DoesNotExist present": ({"matchExpressions": [expression("DoesNotExist")]}, LABELS, False),
    "labels and expressions are ANDed": (
        {"matchLabels": {"team": "a"}, "matchExpressions": [expression("DoesNotExist", key="tier")]},
        LABELS,
        False,
    ),
}


@pytest.mark.parametrize(("selector", "labels", "want"), SELECTS.values(), ids=SELECTS)
def test_label_selector(selector: dict[str, Any] | None, labels: dict[str, str] | None, want: bool) -> None:
    assert selects(msgspec.convert(selector, LabelSelector | None), labels) is want


INVALID_SELECTORS: dict[str, tuple[dict[str, Any], str]] = {
    "unknown operator": (
        {"matchExpressions": [expression("Near", "a")]},
        'matchExpressions[0].operator: Unsupported value: "Near": '
        'supported values: "In", "NotIn", "Exists", "DoesNotExist"',
    ),
    "Gt is for nodes only": (
        {"matchExpressions": [expression("Gt", "1")]},
        'matchExpressions[0].operator: Unsupported value: "Gt"',
    ),
    "In without values": (
        {"matchExpressions": [expression("In")]},
        "matchExpressions[0].values: Invalid value: null",
    ),
    "Exists with values": (
        {"matchExpressions": [expression("Exists", "a")]},
        'matchExpressions[0].values: Invalid value: ["a"]',
    ),
    "a key that is no label key": (
        {"matchExpressions": [expression("Exists", key="a b")]},
        'matchExpressions[0].key: Invalid value: "a b"',
    ),
    "a key with two slashes": ({"matchLabels": {"a/b/c": "x"}}, 'matchLabels[a/b/c]: Invalid value: "a/b/c"'),
    "a key with an empty prefix": ({"matchLabels": {"/c": "x"}}, 'matchLabels[/c]: Invalid value: "/c"'),
    "a prefix that is no subdomain": ({"matchLabels": {"A_/c": "x"}}, "matchLabels[A_/c]: Invalid value"),
    "a value too long": ({"matchLabels": {"a": "x" * 64}}, f'matchLabels[a]: Invalid value: "{"x" * 64}"'),
    "a value ending in a dash": (
        {"matchExpressions": [expression("In", "ok", "a-")]},
        'matchExpressions[0].values[1][team]: Invalid value: "a-"',
    ),
}


@pytest.mark.parametrize(("selector", "want_text"), INVALID_SELECTORS.values(), ids=INVALID_SELECTORS)
def test_invalid_label_selector(selector: dict[str, Any], want_text: str) -> None:
    converted = msgspec.convert(selector, LabelSelector)
    problems = label_selector_problems(converted)
    assert len(problems) == 1
    assert problems[0].startswith(want_text)
    with pytest.raises(SelectorError) as caught:
        selects(converted, {})
    assert caught.value.problems == tuple(problems)


@pytest.mark.parametrize("key", ["a", "example.com/a", "a.b-c_d", "9", "sub.example.com/A"])
def test_valid_label_keys(key: str) -> None:
    assert label_selector_problems(LabelSelector(match_labels={key: "x" * 63})) == []


def term(*expressions: dict[str, Any], fields: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    return {"matchExpressions": list(expressions), **({"matchFields": fields} if fields else {})}


NAME_IS_N1 = {"key": "metadata.name", "operator": "In", "values": ["n1"]}
GPU = {"gpus": "8", "zone": "z1", "odd": "8x", "big": "9223372036854775807"}

TERMS: dict[str, tuple[list[dict[str, Any]], str, bool]] = {
    "no terms match nothing": ([], "", False),
    "an empty term matches nothing": ([{}], "", False),
    "an empty term beside one that matches": ([{}, term(expression("Exists", key="zone"))], "", True),
    "terms are ORed": (
        [term(expression("In", "z2", key="zone")), term(expression("In", "z1", key="zone"))],
        "",
        True,
    ),
    "expressions are ANDed": (
        [term(expression("Exists", key="zone"), expression("Exists", key="x"))],
        "",
        False,
    ),
    "Gt": ([term(expression("Gt", "7", key="gpus"))], "", True),
    "Gt is strict": ([term(expression("Gt", "8", key="gpus"))], "", False),
    "Lt": ([term(expression("Lt", "9", key="gpus"))], "", True),
    "Lt is strict": ([term(expression("Lt", "8", key="gpus"))], "", False),
    "Gt without the label": ([term(expression("Gt", "1", key="x"))], "", False),
    "Lt without the label": ([term(expression("Lt", "1", key="x"))], "", False),
    "Gt on a label that is no integer": ([term(expression("Gt", "1", key="odd"))], "", False),
    "Gt on the largest integer": ([term(expression("Gt", "9223372036854775806", key="big"))], "", True),
    "NotIn with the label missing": ([term(expression("NotIn", "a", key="x"))], "", True),
    "field of the node's name": ([{"matchFields": [NAME_IS_N1]}], "n1", True),
    "field of another node's name": ([{"matchFields": [NAME_IS_N1]}], "n2", False),
    "fields without a name are passed over": ([{"matchFields": [NAME_IS_N1]}], "", True),
    "an invalid term is skipped if another matches": (
        [term(expression("Gt", "x", key="gpus")), term(expression("Exists", key="zone"))],
        "",
        True,
    ),
}


@pytest.mark.parametrize(("terms", "name", "want"), TERMS.values(), ids=TERMS)
def test_node_selector_terms(terms: list[dict[str, Any]], name: str, want: bool) -> None:
    assert node_matches_terms(msgspec.convert(terms, list[NodeSelectorTerm]), GPU, name) is want


INVALID_TERMS: dict[str, tuple[list[dict[str, Any]], str]] = {
    "Gt with a text": (
        [term(expression("Gt", "x", key="gpus"))],
        'nodeSelectorTerms[0].matchExpressions[0].values[0]: Invalid value: "x": Gt needs an integer',
    ),
    "Gt with two values": (
        [term(expression("Gt", "1", "2", key="gpus"))],
        'nodeSelectorTerms[0].matchExpressions[0].values: Invalid value: ["1","2"]: '
        "Gt needs exactly one value",
    ),
    "Lt beyond 64 bits": (
        [term(expression("Lt", "9223372036854775808", key="gpus"))],
        "nodeSelectorTerms[0].matchExpressions[0].values[0]: Invalid value: "
        '"9223372036854775808": Lt needs an integer',
    ),
    "unknown operator": (
        [term(expression("Near", "1", key="gpus"))],
        'nodeSelectorTerms[0].matchExpressions[0].operator: Unsupported value: "Near": supported '
        'values: "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"',
    ),
    "field with an operator of labels": (
        [{"matchFields": [{"key": "metadata.name", "operator": "Exists"}]}],
        'nodeSelectorTerms[0].matchFields[0].operator: Unsupported value: "Exists": supported '
        'values: "In", "NotIn"',
    ),
    "field with two values": (
        [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["a", "b"]}]}],
        'nodeSelectorTerms[0].matchFields[0].values: Invalid value: ["a","b"]: must have one element',
    ),
    "two findings and a valid term that does not match": (
        [
            term(expression("In", key="zone")),
            term(expression("Exists", key="x")),
            term(expression("Exists", "a", key="zone")),
        ],
        "[nodeSelectorTerms[0].matchExpressions[0].values: Invalid value: null: In needs at least "
        'one value, nodeSelectorTerms[2].matchExpressions[0].values: Invalid value: ["a"]: Exists '
        "takes no values]",
    ),
}


@pytest.mark.parametrize(("terms", "want_text"), INVALID_TERMS.values(), ids=INVALID_TERMS)
def test_invalid_terms(terms: list[dict[str, Any]], want_text: str) -> None:
    with pytest.raises(SelectorError) as caught:
        node_matches_terms(msgspec.convert(terms, list[NodeSelectorTerm]), GPU)
    assert str(caught.value) == want_text


AGGREGATES: dict[str, tuple[list[str], str]] = {
    "one": (["a"], "a"),
    "several": (["a", "b"], "[a, b]"),
    "duplicates once": (["a", "b", "a"], "[a, b]"),
    "only duplicates": (["a", "a"], "a"),
}


@pytest.mark.parametrize(("messages", "want"), AGGREGATES.values(), ids=AGGREGATES)
def test_aggregate(messages: list[str], want: str) -> None:
    assert aggregate(messages) == want
