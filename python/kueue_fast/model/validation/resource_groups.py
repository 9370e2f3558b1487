"""Quotas by resource group, of ClusterQueues and cohorts alike."""

from collections.abc import Iterator, Sequence

from kueue_fast.api.kueue import FlavorQuotas, ResourceGroup, ResourceQuota
from kueue_fast.model.validation import names
from kueue_fast.model.validation.common import NEGATIVE_MESSAGE, each, items, quantity, unique
from kueue_fast.model.validation.field_error import FieldError, duplicate, invalid, required
from kueuecore._quantity import as_fraction

GROUPS_MAX = 16
COVERED_RESOURCES_MAX = 64
FLAVORS_MAX = 64
RESOURCES_MAX = 64
TOTAL_FLAVORS_MAX = 256
TOTAL_RESOURCES_MAX = 256
PAIRS_MAX = 512


def validate_resource_groups(
    groups: Sequence[ResourceGroup] | None, has_parent: bool, is_cohort: bool
) -> Iterator[FieldError]:
    """Bounds, names, order and quotas of all groups.

    `has_parent`: whether limits make sense; `is_cohort`: a cohort may lend more than its nominal quota.
    Source: LC-109, LC-111, LC-304.
    """
    path = "spec.resourceGroups"
    yield from items(path, groups, GROUPS_MAX)
    seen_resources: set[str] = set()
    seen_flavors: set[str] = set()
    for index, group in enumerate(groups or ()):
        at = f"{path}[{index}]"
        covered = group.covered_resources or []
        if not covered:
            yield required(f"{at}.coveredResources", "must have at least 1 item")
        yield from items(f"{at}.coveredResources", covered, COVERED_RESOURCES_MAX)
        for position, name in enumerate(covered):
            yield from each(f"{at}.coveredResources[{position}]", name, names.label_key(name))
            if name in seen_resources:
                yield duplicate(f"{at}.coveredResources[{position}]", name)
            seen_resources.add(name)
        flavors = group.flavors or []
        if not flavors:
            yield required(f"{at}.flavors", "must have at least 1 item")
        yield from items(f"{at}.flavors", flavors, FLAVORS_MAX)
        for position, flavor in enumerate(flavors):
            yield from _flavor(f"{at}.flavors[{position}]", flavor, covered, has_parent, is_cohort)
            if flavor.name in seen_flavors:
                yield duplicate(f"{at}.flavors[{position}].name", flavor.name)
            seen_flavors.add(flavor.name)


def validate_totals(groups: Sequence[ResourceGroup] | None) -> Iterator[FieldError]:
    """Bounds over all groups of a ClusterQueue. Source: LC-305."""
    path = "spec.resourceGroups"
    groups = groups or ()
    flavors = sum(len(group.flavors or ()) for group in groups)
    if flavors > TOTAL_FLAVORS_MAX:
        message = (
            f"the number of flavors over all resourceGroups must be ≤ {TOTAL_FLAVORS_MAX}, got {flavors}"
        )
        yield invalid(path, flavors, message)
    resources = sum(len(group.covered_resources or ()) for group in groups)
    if resources > TOTAL_RESOURCES_MAX:
        message = (
            f"the number of covered resources over all resourceGroups must be ≤ {TOTAL_RESOURCES_MAX},"
            f" got {resources}"
        )
        yield invalid(path, resources, message)
    for index, group in enumerate(groups):
        pairs = sum(len(flavor.resources or ()) for flavor in group.flavors or ())
        if pairs > PAIRS_MAX:
            message = (
                f"the number of flavor-resource combinations in a resourceGroup must be ≤ {PAIRS_MAX},"
                f" got {pairs}"
            )
            yield invalid(f"{path}[{index}]", pairs, message)


def _flavor(
    path: str, flavor: FlavorQuotas, covered: Sequence[str], has_parent: bool, is_cohort: bool
) -> Iterator[FieldError]:
    yield from each(f"{path}.name", flavor.name, names.subdomain(flavor.name))
    resources = flavor.resources or []
    if not resources:
        yield required(f"{path}.resources", "must have at least 1 item")
    elif len(resources) != len(covered):
        message = f"must have as many resources as coveredResources, which has {len(covered)}"
        yield invalid(f"{path}.resources", len(resources), message)
    yield from items(f"{path}.resources", resources, RESOURCES_MAX)
    yield from unique(f"{path}.resources", (quota.name for quota in resources), ".name")
    for index, quota in enumerate(resources):
        at = f"{path}.resources[{index}]"
        # A resource without a counterpart is told about above, once.
        if index < len(covered) and quota.name != covered[index]:
            message = "must match the name in coveredResources"
            yield invalid(f"{at}.name", quota.name, f"{message}, {covered[index]!r}")
        yield from _quota(at, quota, has_parent, is_cohort)


def _quota(path: str, quota: ResourceQuota, has_parent: bool, is_cohort: bool) -> Iterator[FieldError]:
    nominal = quota.nominal_quota
    problems = list(quantity(f"{path}.nominalQuota", nominal))
    yield from problems
    if not problems and as_fraction(nominal) < 0:
        yield invalid(f"{path}.nominalQuota", nominal, NEGATIVE_MESSAGE)
    for name, limit in (("borrowingLimit", quota.borrowing_limit), ("lendingLimit", quota.lending_limit)):
        if limit is None:
            continue
        at = f"{path}.{name}"
        if not has_parent:
            # Upstream's exact words (LC-304).
            yield invalid(at, limit, f"must be nil when {'parent' if is_cohort else 'cohort'} is empty")
        limit_problems = list(quantity(at, limit))
        yield from limit_problems
        if limit_problems:
            continue
        if as_fraction(limit) < 0:
            yield invalid(at, limit, NEGATIVE_MESSAGE)
        lends_too_much = name == "lendingLimit" and not is_cohort and not problems
        if lends_too_much and as_fraction(limit) > as_fraction(nominal):
            yield invalid(at, limit, "must be less than or equal to the nominalQuota")
