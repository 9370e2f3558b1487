"""What the `resources` section of Kueue's configuration makes of a pod's requests.

Works on exact amounts, per pod, after `pod_requests` and before anything is rounded.

Source: QC-67, QC-68.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction

from kueue_fast.api.configuration import Resources, ResourceTransformation
from kueue_fast.model.pod_requests import Amounts, parse_amounts

_REPLACE = "Replace"


def transformed(amounts: Amounts, resources: Resources | None) -> Amounts:
    """The amounts without excluded resources and with all transformations applied.

    The result may be `amounts` itself; it is never changed in place.

    Raises `InputError` with the field for a factor that cannot be parsed.

    Source: QC-61.
    """
    if resources is None:
        return amounts
    kept = drop_excluded(amounts, resources.exclude_resource_prefixes)
    return apply_transformations(kept, resources.transformations)


def drop_excluded(amounts: Amounts, prefixes: Sequence[str] | None) -> Amounts:
    """The amounts of resources whose name starts with none of the prefixes. Source: QC-67."""
    if not prefixes:
        return amounts
    excluded = tuple(prefixes)
    return {name: amount for name, amount in amounts.items() if not name.startswith(excluded)}


def apply_transformations(
    amounts: Amounts, transformations: Sequence[ResourceTransformation] | None
) -> Amounts:
    """The amounts after each transformation whose input is requested.

    Each output gets the input's amount times its factor, and times the amount of the resource
    named by `multiplyBy` if the pod requests that one too. Outputs of one name are summed;
    negative factors are allowances that can cancel what other transformations make, but a sum
    below zero becomes zero before it is added to what the pod requests itself. The input stays
    as requested, unless the strategy is `Replace`.

    Raises `InputError` with the field for a factor that cannot be parsed.

    Source: QC-68.
    """
    rules = {rule.input: rule for rule in transformations or ()}
    if rules.keys().isdisjoint(amounts):
        return amounts
    result: Amounts = {}
    generated: Amounts = {}
    for name, amount in amounts.items():
        rule = rules.get(name)
        if rule is None:
            result[name] = amount
            continue
        factors = _factors(rule)
        multiplier = amounts.get(rule.multiply_by, Fraction(1)) if rule.multiply_by else Fraction(1)
        for output, factor in factors.items():
            generated[output] = generated.get(output, Fraction(0)) + amount * multiplier * factor
        if rule.strategy != _REPLACE:
            result[name] = amount
    for output, amount in generated.items():
        result[output] = result.get(output, Fraction(0)) + max(amount, Fraction(0))
    return result


def _factors(rule: ResourceTransformation) -> Mapping[str, Fraction]:
    return parse_amounts(rule.outputs, f"resources.transformations[{rule.input}].outputs")
