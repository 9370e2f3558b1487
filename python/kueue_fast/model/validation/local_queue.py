"""LocalQueue: what its schema refuses on create; it has no webhook. Source: LC-112."""

from collections.abc import Iterator

from kueue_fast.api.kueue import LocalQueue
from kueue_fast.model.validation.cluster_queue import STOP_POLICIES
from kueue_fast.model.validation.common import one_of, optional_subdomain, quantity
from kueue_fast.model.validation.field_error import FieldError
from kueue_fast.model.validation.status import validate_local_queue_status


def validate_local_queue(queue: LocalQueue, v1beta2: bool) -> Iterator[FieldError]:
    """What is wrong with a LocalQueue. `v1beta2`: whether that version's own bounds apply too."""
    spec = queue.spec
    if spec is not None:
        yield from optional_subdomain("spec.clusterQueue", spec.cluster_queue)
        yield from one_of("spec.stopPolicy", spec.stop_policy, STOP_POLICIES)
        # Without a webhook a weight may have any sign or size (LC-307 is for ClusterQueues and cohorts).
        if spec.fair_sharing is not None and spec.fair_sharing.weight is not None:
            yield from quantity("spec.fairSharing.weight", spec.fair_sharing.weight)
    if queue.status is not None:
        yield from validate_local_queue_status(queue.status, v1beta2)
