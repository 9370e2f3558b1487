"""Label selectors and node selector terms, matched as Kubernetes matches them.

An invalid requirement is an error and not a mismatch: every matching function here raises
`SelectorError` for one, except that a list of node selector terms is only in error if none of
its valid terms matches.

Source: QC-77, QP-423.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Final

from kueue_fast.api.core import NodeSelectorRequirement, NodeSelectorTerm
from kueue_fast.api.meta import LabelSelector
from kueue_fast.errors import KueueFastError
from kueue_fast.model.integers import parse_int64

_LABEL_NAME: Final = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?", re.ASCII)
_SUBDOMAIN: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_SUBDOMAIN_MAX: Final = 253

_LABEL_OPERATORS: Final = ("In", "NotIn", "Exists", "DoesNotExist")
_NODE_OPERATORS: Final = (*_LABEL_OPERATORS, "Gt", "Lt")


class SelectorError(KueueFastError):
    """A selector that Kubernetes cannot parse; the text names the path of each invalid part."""

    def __init__(self, problems: Sequence[str]) -> None:
        self.problems = tuple(dict.fromkeys(problems))
        super().__init__(aggregate(self.problems))


def aggregate(messages: Sequence[str]) -> str:
    """Joins findings as Kubernetes does: one as it is, several in brackets, duplicates once."""
    distinct = list(dict.fromkeys(messages))
    return distinct[0] if len(distinct) == 1 else f"[{', '.join(distinct)}]"


def selects(selector: LabelSelector | None, labels: Mapping[str, str] | None) -> bool:
    """Whether a label selector selects an object with these labels.

    No selector selects nothing, an empty one selects everything. All parts must match.

    Raises `SelectorError` if any part is invalid, whatever the labels are.

    Source: QC-77.
    """
    if selector is None:
        return False
    problems = label_selector_problems(selector)
    if problems:
        raise SelectorError(problems)
    labels = labels or {}
    return all(labels.get(key) == value for key, value in (selector.match_labels or {}).items()) and all(
        _matches(expression.key, expression.operator, expression.values or (), labels)
        for expression in selector.match_expressions or ()
    )


def label_selector_problems(selector: LabelSelector) -> list[str]:
    """What is invalid in a label selector, one text a finding, each beginning with its path."""
    problems: list[str] = []
    for key, value in (selector.match_labels or {}).items():
        path = f"matchLabels[{key}]"
        problems += _key_problems(key, path)
        problems += _value_problems(value, path)
    for i, expression in enumerate(selector.match_expressions or ()):
        problems += _problems(
            expression.key,
            expression.operator,
            expression.values,
            f"matchExpressions[{i}]",
            _LABEL_OPERATORS,
        )
    return problems


def node_matches_terms(terms: Sequence[NodeSelectorTerm], labels: Mapping[str, str], name: str = "") -> bool:
    """Whether a node with these labels and this name matches one of the terms.

    Terms are ORed, the requirements of a term ANDed. An empty term matches no node, so no terms
    match no node. `matchFields` knows `metadata.name` and is passed over if `name` is empty.

    Raises `SelectorError` with the findings in all invalid terms if no valid term matches.

    Source: QP-423.
    """
    problems: list[str] = []
    for i, term in enumerate(terms):
        expressions, fields = term.match_expressions or (), term.match_fields or ()
        if not expressions and not fields:
            continue
        found = _term_problems(expressions, fields, f"nodeSelectorTerms[{i}]")
        if found:
            problems += found
        elif _all_match(expressions, labels) and (not name or _all_match(fields, {"metadata.name": name})):
            return True
    if problems:
        raise SelectorError(problems)
    return False


def node_terms_problems(terms: Sequence[NodeSelectorTerm]) -> list[str]:
    """What is invalid in node selector terms, one text a finding, whether or not another term would match.

    Source: TP-702.
    """
    problems: list[str] = []
    for i, term in enumerate(terms):
        path = f"nodeSelectorTerms[{i}]"
        problems += _term_problems(term.match_expressions or (), term.match_fields or (), path)
    return problems


def node_selector_problem(node_selector: Mapping[str, str]) -> str | None:
    """The first finding in the node selector of a pod, in order of its keys. Source: TP-702."""
    for key, value in sorted(node_selector.items()):
        problems = _key_problems(key, "key") or _value_problems(value, f"values[0][{key}]")
        if problems:
            return problems[0]
    return None


def _all_match(requirements: Sequence[NodeSelectorRequirement], labels: Mapping[str, str]) -> bool:
    return all(_matches(r.key, r.operator, r.values or (), labels) for r in requirements)


def _matches(key: str, operator: str, values: Sequence[str], labels: Mapping[str, str]) -> bool:
    """One requirement that is known to be valid."""
    value = labels.get(key)
    match operator:
        case "In":
            return value is not None and value in values
        case "NotIn":
            return value is None or value not in values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt" | "Lt":
            number = None if value is None else parse_int64(value)
            bound = parse_int64(values[0])
            if number is None or bound is None:
                return False
            return number > bound if operator == "Gt" else number < bound
    return False


def _term_problems(
    expressions: Sequence[NodeSelectorRequirement],
    fields: Sequence[NodeSelectorRequirement],
    path: str,
) -> list[str]:
    problems: list[str] = []
    for i, r in enumerate(expressions):
        problems += _problems(r.key, r.operator, r.values, f"{path}.matchExpressions[{i}]", _NODE_OPERATORS)
    for i, r in enumerate(fields):
        at = f"{path}.matchFields[{i}]"
        if r.operator not in ("In", "NotIn"):
            problems.append(_not_supported(r.operator, at, ("In", "NotIn")))
        elif len(r.values or ()) != 1:
            problems.append(_invalid(r.values, f"{at}.values", "must have one element"))
    return problems


def _problems(
    key: str, operator: str, values: Sequence[str] | None, path: str, operators: Sequence[str]
) -> list[str]:
    if operator not in operators:
        return [_not_supported(operator, path, operators)]
    problems = _key_problems(key, f"{path}.key")
    values_path = f"{path}.values"
    count = len(values or ())
    if operator in ("In", "NotIn") and count == 0:
        problems.append(_invalid(values, values_path, f"{operator} needs at least one value"))
    elif operator in ("Exists", "DoesNotExist") and count != 0:
        problems.append(_invalid(values, values_path, f"{operator} takes no values"))
    elif operator in ("Gt", "Lt"):
        if count != 1:
            problems.append(_invalid(values, values_path, f"{operator} needs exactly one value"))
        problems += [
            _invalid(value, f"{values_path}[{i}]", f"{operator} needs an integer")
            for i, value in enumerate(values or ())
            if parse_int64(value) is None
        ]
    for i, value in enumerate(values or ()):
        problems += _value_problems(value, f"{values_path}[{i}][{key}]")
    return problems


def _key_problems(key: str, path: str) -> list[str]:
    prefix, slash, name = key.rpartition("/")
    prefix_is_valid = not slash or (
        len(prefix) <= _SUBDOMAIN_MAX and _SUBDOMAIN.fullmatch(prefix) is not None
    )
    if prefix_is_valid and _LABEL_NAME.fullmatch(name):
        return []
    return [
        _invalid(
            key,
            path,
            "not a label key: [DNS subdomain/]name, the name of at most 63 letters, digits, "
            "'-', '_' and '.' with a letter or digit at both ends",
        )
    ]


def _value_problems(value: str, path: str) -> list[str]:
    if not value or _LABEL_NAME.fullmatch(value):
        return []
    return [
        _invalid(
            value,
            path,
            "not a label value: empty, or at most 63 letters, digits, '-', '_' and '.' with a "
            "letter or digit at both ends",
        )
    ]


def _not_supported(operator: str, path: str, operators: Sequence[str]) -> str:
    supported = ", ".join(json.dumps(each) for each in operators)
    return f"{path}.operator: Unsupported value: {json.dumps(operator)}: supported values: {supported}"


def _invalid(value: str | Sequence[str] | None, path: str, detail: str) -> str:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return f"{path}: Invalid value: {text}: {detail}"
