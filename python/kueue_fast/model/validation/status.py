"""Status of queues: bounds of the schema. Source: LC-110, LC-112."""

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from kueue_fast.api.kueue import (
    ClusterQueueStatus,
    FlavorUsage,
    LocalQueueFlavorUsage,
    LocalQueueResourceUsage,
    LocalQueueStatus,
    ResourceUsage,
)
from kueue_fast.model.validation import names
from kueue_fast.model.validation.common import conditions, each, items, quantities, quantity, unique
from kueue_fast.model.validation.field_error import FieldError

FLAVORS_MAX = 64
RESOURCES_MAX = 64

Usage: TypeAlias = Sequence[FlavorUsage] | Sequence[LocalQueueFlavorUsage]


def validate_cluster_queue_status(status: ClusterQueueStatus, v1beta2: bool) -> Iterator[FieldError]:
    """What is wrong with a ClusterQueue's status."""
    yield from conditions("status.conditions", status.conditions, bounded=v1beta2)
    yield from _usage("status.flavorsReservation", status.flavors_reservation)
    yield from _usage("status.flavorsUsage", status.flavors_usage)


def validate_local_queue_status(status: LocalQueueStatus, v1beta2: bool) -> Iterator[FieldError]:
    """What is wrong with a LocalQueue's status."""
    yield from conditions("status.conditions", status.conditions, bounded=v1beta2)
    yield from _usage("status.flavorsReservation", status.flavors_reservation)
    yield from _usage("status.flavorsUsage" if v1beta2 else "status.flavorUsage", status.flavors_usage)
    sharing = status.fair_sharing
    if sharing is not None and sharing.admission_fair_sharing_status is not None:
        path = "status.fairSharing.admissionFairSharingStatus.consumedResources"
        yield from quantities(path, sharing.admission_fair_sharing_status.consumed_resources)


def _usage(
    path: str, usage: Sequence[FlavorUsage] | Sequence[LocalQueueFlavorUsage] | None
) -> Iterator[FieldError]:
    yield from items(path, usage, FLAVORS_MAX)
    flavors: list[FlavorUsage | LocalQueueFlavorUsage] = [*(usage or ())]
    yield from unique(path, (flavor.name for flavor in flavors), ".name")
    for index, flavor in enumerate(flavors):
        at = f"{path}[{index}]"
        yield from each(f"{at}.name", flavor.name, names.subdomain(flavor.name))
        yield from items(f"{at}.resources", flavor.resources, RESOURCES_MAX)
        resources: list[ResourceUsage | LocalQueueResourceUsage] = [*(flavor.resources or ())]
        for position, resource in enumerate(resources):
            if resource.total is not None:
                yield from quantity(f"{at}.resources[{position}].total", resource.total)
