"""metadata of any object."""

from collections.abc import Iterator

from kueue_fast.api.meta import KubernetesObject
from kueue_fast.model.validation import names
from kueue_fast.model.validation.common import annotations, each, labels, time
from kueue_fast.model.validation.field_error import FieldError, invalid, required

NAMED_BY_LABEL = ("Namespace",)


def validate_metadata(obj: KubernetesObject) -> Iterator[FieldError]:
    """A name, and for a namespaced kind a namespace, that Kubernetes takes; labels and annotations.

    A namespace on an object of a cluster-scoped kind is ignored, as the API server does.
    """
    metadata = obj.metadata
    if not metadata.name:
        hint = "a generated name cannot be used here" if metadata.generate_name else ""
        yield required("metadata.name", hint)
    elif obj.KIND in NAMED_BY_LABEL:
        yield from each("metadata.name", metadata.name, names.label(metadata.name))
    else:
        yield from each("metadata.name", metadata.name, names.subdomain(metadata.name))
    if obj.NAMESPACED:
        if not metadata.namespace:
            yield required("metadata.namespace", f"a {obj.KIND} stands in a namespace")
        else:
            yield from each("metadata.namespace", metadata.namespace, names.label(metadata.namespace))
    for field, text in (
        ("creationTimestamp", metadata.creation_timestamp),
        ("deletionTimestamp", metadata.deletion_timestamp),
    ):
        yield from time(f"metadata.{field}", text)
    controllers = [owner for owner in metadata.owner_references or () if owner.controller]
    if len(controllers) > 1:
        first, second = (f"{owner.kind}/{owner.name}" for owner in controllers[:2])
        message = f'only one reference can have controller set to true: found "true" for {first} and {second}'
        yield invalid("metadata.ownerReferences", None, message)
    if metadata.labels:
        yield from labels("metadata.labels", metadata.labels)
    if metadata.annotations:
        yield from annotations("metadata.annotations", metadata.annotations)
