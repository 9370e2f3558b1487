"""Cohort: what its schema and webhook refuse on create. Source: LC-111, LC-303."""

from collections.abc import Iterator

from kueue_fast.api.kueue import Cohort
from kueue_fast.model.validation.common import fair_sharing, optional_subdomain
from kueue_fast.model.validation.field_error import FieldError
from kueue_fast.model.validation.resource_groups import validate_resource_groups


def validate_cohort(cohort: Cohort) -> Iterator[FieldError]:
    """What is wrong with a Cohort. That parents form no cycle is not a matter of one object."""
    spec = cohort.spec
    if spec is None:
        return
    yield from optional_subdomain("spec.parentName", spec.parent_name)
    yield from fair_sharing("spec.fairSharing", spec.fair_sharing)
    yield from validate_resource_groups(spec.resource_groups, bool(spec.parent_name), is_cohort=True)
