"""Checks that several kinds share: metadata maps, selectors, quantities, taints, tolerations, conditions."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from kueue_fast.api.core import Taint, Toleration
from kueue_fast.api.kueue import FairSharing
from kueue_fast.api.meta import Condition, LabelSelector, QuantityValue
from kueue_fast.model import times
from kueue_fast.model.validation import names
from kueue_fast.model.validation.field_error import (
    FieldError,
    duplicate,
    forbidden,
    invalid,
    not_supported,
    required,
    too_long,
    too_many,
)
from kueuecore._quantity import as_fraction

NEGATIVE_MESSAGE = "must be greater than or equal to 0"
ANNOTATIONS_MAX_BYTES = 256 * 1024
CONDITIONS_MAX = 16
CONDITION_MESSAGE_MAX = 32768
CONDITION_REASON_MAX = 1024
EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
OPERATORS = ("Equal", "Exists")
SMALLEST_WEIGHT = as_fraction("1n")
QUANTITY = re.compile(
    r"[-+]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][-+]?([0-9]+(\.[0-9]*)?|\.[0-9]+))?"
)
QUANTITY_MESSAGE = (
    "is not a quantity: expected a number with an optional suffix (n, u, m, k, M, G, T, P, E, Ki, Mi, Gi, Ti,"
    " Pi, Ei) or exponent, such as 500m, 2 or 4Gi"
)


def each(path: str, value: object, problems: Iterable[str]) -> Iterator[FieldError]:
    """One Invalid for each message of a rule of `names`."""
    for problem in problems:
        yield invalid(path, value, problem)


def optional_subdomain(path: str, value: str | None) -> Iterator[FieldError]:
    """A name of another object that may be absent, but not empty."""
    if value is not None:
        yield from each(path, value, names.subdomain(value))


def one_of(path: str, value: str | None, supported: Sequence[str]) -> Iterator[FieldError]:
    """A value of a closed list that may be absent."""
    if value is not None and value not in supported:
        yield not_supported(path, value, supported)


def length(path: str, value: str | None, limit: int, least: int = 0) -> Iterator[FieldError]:
    """Text within bounds of length, which may be absent."""
    if value is not None:
        if len(value) < least:
            yield invalid(path, value, f"must be at least {least} characters long")
        if len(value) > limit:
            yield too_long(path, limit)


def at_least(path: str, value: int | None, least: int) -> Iterator[FieldError]:
    """A number with a lower bound, which may be absent."""
    if value is not None and value < least:
        yield invalid(path, value, f"must be greater than or equal to {least}")


def items(path: str, values: Sequence[object] | None, limit: int) -> Iterator[FieldError]:
    """A list with an upper bound, which may be absent."""
    if values is not None and len(values) > limit:
        yield too_many(path, len(values), limit)


def unique(path: str, keys: Iterable[object], key: str = "") -> Iterator[FieldError]:
    """The keys of a list-type map or set, none twice; `key` is the field that holds it, if there is one."""
    seen = set()
    for index, value in enumerate(keys):
        if value in seen:
            yield duplicate(f"{path}[{index}]{key}", value)
        seen.add(value)


def quantity(path: str, value: QuantityValue, custom_resource: bool = True) -> Iterator[FieldError]:
    """A quantity that can be parsed.

    `custom_resource`: as the schemas of custom resources have it, which take a fraction only as text and no
    text without digits. Built-in kinds take these too.
    """
    if custom_resource:
        if isinstance(value, float) and not value.is_integer():
            yield invalid(
                path, value, "a fraction must be quoted, or be given in a smaller unit such as 500m"
            )
            return
        if isinstance(value, str) and QUANTITY.fullmatch(value) is None:
            yield invalid(path, value, QUANTITY_MESSAGE)
            return
    try:
        as_fraction(value)
    except ValueError as error:
        yield invalid(path, value, str(error))


def non_negative_quantity(
    path: str, value: QuantityValue, custom_resource: bool = True
) -> Iterator[FieldError]:
    """A quantity that can be parsed and is not negative."""
    problems = list(quantity(path, value, custom_resource))
    yield from problems
    if not problems and as_fraction(value) < 0:
        yield invalid(path, value, NEGATIVE_MESSAGE)


def quantities(
    path: str, values: Mapping[str, QuantityValue] | None, custom_resource: bool = True, negative: bool = True
) -> Iterator[FieldError]:
    """A map of resources to quantities. `negative`: whether negative ones are let through."""
    check = quantity if negative else non_negative_quantity
    for name, value in (values or {}).items():
        yield from check(f"{path}[{name}]", value, custom_resource)


def labels(path: str, values: Mapping[str, str] | None) -> Iterator[FieldError]:
    """Labels, or a node selector. All errors stand at the path of the map, as upstream's."""
    for key, value in (values or {}).items():
        yield from each(path, key, names.label_key(key))
        yield from each(path, value, names.label_value(value))


def annotations(path: str, values: Mapping[str, str] | None) -> Iterator[FieldError]:
    """Annotations: keys as labels, but in any case of letters; 256 KiB in total."""
    size = 0
    for key, value in (values or {}).items():
        yield from each(path, key, names.label_key(key.lower()))
        size += len(key.encode()) + len(value.encode())
    if size > ANNOTATIONS_MAX_BYTES:
        yield too_long(path, ANNOTATIONS_MAX_BYTES)


def label_selector(path: str, selector: LabelSelector | None) -> Iterator[FieldError]:
    """A label selector that may be absent. Source: LC-306."""
    if selector is None:
        return
    yield from labels(f"{path}.matchLabels", selector.match_labels)
    for index, requirement in enumerate(selector.match_expressions or ()):
        at = f"{path}.matchExpressions[{index}]"
        values = requirement.values or []
        if requirement.operator in ("In", "NotIn"):
            if not values:
                yield required(f"{at}.values", f"must be given when operator is {requirement.operator}")
        elif requirement.operator in ("Exists", "DoesNotExist"):
            if values:
                yield forbidden(f"{at}.values", f"may not be given when operator is {requirement.operator}")
        else:
            wanted = "must be In, NotIn, Exists or DoesNotExist"
            yield invalid(f"{at}.operator", requirement.operator, wanted)
        yield from each(f"{at}.key", requirement.key, names.label_key(requirement.key))
        for position, value in enumerate(values):
            yield from each(f"{at}.values[{position}]", value, names.label_value(value))


def tolerations(path: str, values: Sequence[Toleration] | None) -> Iterator[FieldError]:
    """At most eight tolerations that Kubernetes would take. Source: LC-107, LC-302."""
    yield from items(path, values, 8)
    for index, toleration in enumerate(values or ()):
        at = f"{path}[{index}]"
        if toleration.key:
            yield from each(f"{at}.key", toleration.key, names.label_key(toleration.key))
        if toleration.key is None and toleration.operator != "Exists":
            yield invalid(f"{at}.operator", toleration.operator, "must be Exists when key is empty")
        yield from one_of(f"{at}.operator", toleration.operator, OPERATORS)
        if toleration.operator == "Exists" and toleration.value is not None:
            yield invalid(f"{at}.value", toleration.value, "must be empty when operator is Exists")
        yield from one_of(f"{at}.effect", toleration.effect, EFFECTS)
        if toleration.toleration_seconds is not None and toleration.effect != "NoExecute":
            yield invalid(
                f"{at}.effect", toleration.effect, "must be NoExecute when tolerationSeconds is set"
            )


def taints(path: str, values: Sequence[Taint] | None) -> Iterator[FieldError]:
    """Taints with good keys, values and effects, each (key, effect) once. Source: LC-302."""
    seen = set()
    for index, taint in enumerate(values or ()):
        at = f"{path}[{index}]"
        yield from each(f"{at}.key", taint.key, names.label_key(taint.key))
        yield from each(f"{at}.value", taint.value, names.label_value(taint.value or ""))
        yield from one_of(f"{at}.effect", taint.effect, EFFECTS)
        if (taint.key, taint.effect) in seen:
            message = "taints must be unique by key and effect"
            yield duplicate(at, {"key": taint.key, "effect": taint.effect}, message)
        seen.add((taint.key, taint.effect))


def fair_sharing(path: str, sharing: FairSharing | None) -> Iterator[FieldError]:
    """A weight of 0 or more than 1n. Errors of its value stand at the object, as upstream's. Source: LC-307."""
    if sharing is None or sharing.weight is None:
        return
    problems = list(quantity(f"{path}.weight", sharing.weight))
    yield from problems
    if problems:
        return
    weight = as_fraction(sharing.weight)
    if weight < 0:
        yield invalid(path, sharing.weight, NEGATIVE_MESSAGE)
    if 0 < weight <= SMALLEST_WEIGHT:
        yield invalid(path, sharing.weight, "a weight other than 0 must be greater than 1n")


def time(path: str, text: str | None) -> Iterator[FieldError]:
    """A time as Kubernetes writes it."""
    if text:
        try:
            times.parse(text)
        except ValueError as error:
            yield invalid(path, text, str(error))


def conditions(path: str, values: Sequence[Condition] | None, bounded: bool) -> Iterator[FieldError]:
    """Conditions by the standard rules. `bounded`: at most 16, in v1beta2 only. Source: LC-104, LC-311."""
    if bounded:
        yield from items(path, values, CONDITIONS_MAX)
    seen = set()
    for index, condition in enumerate(values or ()):
        at = f"{path}[{index}]"
        yield from each(f"{at}.type", condition.type, names.label_key(condition.type))
        if condition.type in seen:
            yield duplicate(f"{at}.type", condition.type)
        seen.add(condition.type)
        yield from one_of(f"{at}.status", condition.status, ("True", "False", "Unknown"))
        yield from at_least(f"{at}.observedGeneration", condition.observed_generation, 0)
        if not condition.last_transition_time:
            yield required(f"{at}.lastTransitionTime", "must be set")
        else:
            yield from time(f"{at}.lastTransitionTime", condition.last_transition_time)
        if not condition.reason:
            yield required(f"{at}.reason", "must be set")
        elif names.CONDITION_REASON.fullmatch(condition.reason) is None:
            message = "must hold letters, digits, '_', ',' and ':', beginning with a letter"
            yield invalid(f"{at}.reason", condition.reason, message)
        yield from length(f"{at}.reason", condition.reason, CONDITION_REASON_MAX)
        yield from length(f"{at}.message", condition.message, CONDITION_MESSAGE_MAX)
