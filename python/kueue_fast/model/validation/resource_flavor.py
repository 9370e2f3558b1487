"""ResourceFlavor: what its schema and webhook refuse on create. Source: LC-113, LC-302."""

from collections.abc import Iterator

from kueue_fast.api.kueue import ResourceFlavor
from kueue_fast.model.validation.common import items, labels, optional_subdomain, taints, tolerations
from kueue_fast.model.validation.field_error import FieldError, invalid, too_many

NODE_LABELS_MAX = 8
NODE_TAINTS_MAX = 8


def validate_resource_flavor(flavor: ResourceFlavor) -> Iterator[FieldError]:
    """What is wrong with a ResourceFlavor."""
    spec = flavor.spec
    if spec is None:
        return
    node_labels = spec.node_labels or {}
    if len(node_labels) > NODE_LABELS_MAX:
        yield too_many("spec.nodeLabels", len(node_labels), NODE_LABELS_MAX)
    yield from labels("spec.nodeLabels", node_labels)
    yield from items("spec.nodeTaints", spec.node_taints, NODE_TAINTS_MAX)
    yield from taints("spec.nodeTaints", spec.node_taints)
    yield from tolerations("spec.tolerations", spec.tolerations)
    yield from optional_subdomain("spec.topologyName", spec.topology_name)
    if spec.topology_name is not None and not node_labels:
        message = "at least one nodeLabel is needed when topologyName is set"
        yield invalid("spec", {"topologyName": spec.topology_name}, message)
