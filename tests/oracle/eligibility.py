"""Which nodes and namespaces a spec selects: taints, node selectors, affinity, label selectors.

Source: QP-421 to QP-423, QC-77.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from tests.oracle.amounts import MAX, MIN

Manifest: TypeAlias = Mapping[str, Any]

REPELLING = ("NoSchedule", "NoExecute")
LABEL_VALUE = re.compile(r"(?:[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?")
DECIMAL = re.compile(r"[+-]?[0-9]+")


class InvalidAffinity(Exception):
    """A node selector term that upstream cannot parse."""


def eligible(flavor: Manifest | None, pod: Manifest) -> bool:
    """Whether a pod may use nodes of the flavor (its spec; None: there is no such flavor).

    Raises InvalidAffinity if no term of the required affinity matches and one of them is invalid.
    """
    if flavor is None:
        return False
    tolerations = [*(pod.get("tolerations") or ()), *(flavor.get("tolerations") or ())]
    taints = [taint for taint in flavor.get("nodeTaints") or () if taint.get("effect") in REPELLING]
    if not all(any(tolerates(toleration, taint) for toleration in tolerations) for taint in taints):
        return False
    labels = flavor.get("nodeLabels") or {}
    selector = pod.get("nodeSelector") or {}
    if any(labels[key] != value for key, value in selector.items() if key in labels):
        return False
    return affinity_matches(pod, labels)


def tolerates(toleration: Manifest, taint: Manifest) -> bool:
    """Source: QP-422."""
    if toleration.get("effect") and toleration["effect"] != taint.get("effect"):
        return False
    if toleration.get("key") and toleration["key"] != taint["key"]:
        return False
    operator = toleration.get("operator") or "Equal"
    wanted, value = toleration.get("value") or "", taint.get("value") or ""
    if operator == "Exists":
        return True
    if operator == "Equal":
        return bool(wanted == value)
    number, bound = as_int64(value), as_int64(wanted)
    if number is None or bound is None:
        return False
    return number < bound if operator == "Lt" else operator == "Gt" and number > bound


def affinity_matches(pod: Manifest, labels: Mapping[str, str]) -> bool:
    """Required node affinity, reduced to the keys that the flavor declares. Source: QP-423."""
    affinity = (pod.get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    if not required:
        return True
    terms = [
        [e for e in term.get("matchExpressions") or () if e["key"] in labels]
        for term in required.get("nodeSelectorTerms") or ()
    ]
    if not all(terms):
        return True  # a term that says nothing about this flavor matches it
    invalid = [term for term in terms if not all(map(is_valid, term))]
    if not terms or any(all(matches(e, labels) for e in term) for term in terms if term not in invalid):
        return True
    if invalid:
        raise InvalidAffinity(invalid[0])
    return False


def is_valid(expression: Manifest) -> bool:
    operator, values = expression["operator"], expression.get("values") or []
    if operator in ("Exists", "DoesNotExist"):
        return not values
    if not all(LABEL_VALUE.fullmatch(value) for value in values):
        return False
    if operator in ("In", "NotIn"):
        return bool(values)
    return operator in ("Gt", "Lt") and len(values) == 1 and as_int64(values[0]) is not None


def matches(expression: Manifest, labels: Mapping[str, str]) -> bool:
    key, operator, values = expression["key"], expression["operator"], expression.get("values") or []
    if operator == "In":
        return key in labels and labels[key] in values
    if operator == "NotIn":
        return key not in labels or labels[key] not in values
    if operator == "Exists":
        return key in labels
    if operator == "DoesNotExist":
        return key not in labels
    number, bound = as_int64(labels.get(key, "")), as_int64(values[0])
    if number is None or bound is None:
        return False
    return number > bound if operator == "Gt" else number < bound


def as_int64(text: str) -> int | None:
    if not DECIMAL.fullmatch(text):
        return None
    number = int(text)
    return number if MIN <= number <= MAX else None


def selects(selector: Manifest | None, labels: Mapping[str, str]) -> bool:
    """A label selector; None selects nothing, an empty one everything. Source: QP-204."""
    if selector is None:
        return False
    wanted: Iterable[tuple[str, str]] = (selector.get("matchLabels") or {}).items()
    expressions = selector.get("matchExpressions") or ()
    return all(labels.get(key) == value for key, value in wanted) and all(
        matches(e, labels) for e in expressions
    )
