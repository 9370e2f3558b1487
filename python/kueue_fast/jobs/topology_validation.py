"""What Kueue's webhooks refuse in the topology annotations of a pod template.

Everything is looked at and everything is told, in upstream's order and words.

Source: TP-309..317.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final

from kueue_fast.api.kueue import PodSet, PodsetSliceRequiredTopologyConstraint, PodSetTopologyRequest
from kueue_fast.jobs.slice_constraints import LAYER_COUNT, MOST_LAYERS, parse_constraints
from kueue_fast.model import topology_names as names
from kueue_fast.model.booleans import parse_bool
from kueue_fast.model.integers import parse_int32, parse_uint64
from kueue_fast.model.validation.field_error import FieldError, duplicate, forbidden, invalid, required
from kueue_fast.model.validation.names import label_key

__all__ = ["validate_elastic", "validate_groups", "validate_slice_bound", "validate_topology_annotations"]

LEVELS: Final = (names.REQUIRED, names.PREFERRED, names.UNCONSTRAINED)
GROUP_SIZE: Final = 2
AT_LEAST_ONE: Final = "must be greater than or equal to 1"


def validate_topology_annotations(
    metadata: str, annotations: Mapping[str, str], *, multi_layer: bool
) -> list[FieldError]:
    """Mistakes in the annotations of one template, whose metadata stands at the path `metadata`.

    `multi_layer` is the gate TASMultiLayerTopology. Source: TP-309..314.
    """
    path = f"{metadata}.annotations"
    errors: list[FieldError] = []
    if sum(name in annotations for name in LEVELS) > 1:
        listed = ", ".join(f'"{name}"' for name in LEVELS)
        errors.append(invalid(path, None, f"must not contain more than one topology annotation: [{listed}]"))
    for name in (names.REQUIRED, names.PREFERRED, names.SLICE_REQUIRED):
        if name in annotations:
            errors += _label_name(f"{path}[{name}]", annotations[name])
    if names.POD_SET_GROUP in annotations:
        errors += _group_name(path, annotations)
    unconstrained = annotations.get(names.UNCONSTRAINED)
    if unconstrained is not None and parse_bool(unconstrained) is None:
        errors.append(invalid(f"{path}[{names.UNCONSTRAINED}]", unconstrained, "must be a boolean value"))
    errors += _slice_size(path, annotations)
    if names.SLICE_CONSTRAINTS in annotations:
        errors += _constraints(path, annotations, multi_layer)
    return errors


def validate_elastic(metadata: str, annotations: Mapping[str, str]) -> list[FieldError]:
    """An elastic batch Job may ask for no level. The first level found is told. Source: TP-317."""
    for name, word in ((names.REQUIRED, "required"), (names.PREFERRED, "preferred")):
        if name in annotations:
            message = f"{word} topology is not supported with elastic jobs"
            return [forbidden(f"{metadata}.annotations.{name}", message)]
    return []


def validate_slice_bound(metadata: str, annotations: Mapping[str, str], count: int) -> list[FieldError]:
    """A slice must not be larger than the pod set of `count` pods; whether it divides it nobody asks.

    Source: TP-315.
    """
    message = f"must not be greater than pod set count {count}"
    errors = []
    text = annotations.get(names.SLICE_SIZE)
    if text is not None:
        at = f"{metadata}.annotations[{names.SLICE_SIZE}]"
        size = parse_int32(text)
        if size is None:
            return [invalid(at, text, "must be a numeric value")]
        if size > count:
            errors.append(invalid(at, text, message))
    try:
        layers = parse_constraints(annotations.get(names.SLICE_CONSTRAINTS, "null"))
    except ValueError:
        return errors
    if layers and layers[0].size > count:
        errors.append(invalid(f"{metadata}.annotations[{names.SLICE_CONSTRAINTS}]", layers[0].size, message))
    return errors


def validate_groups(pod_sets: Iterable[PodSet], annotations: Mapping[str, str]) -> list[FieldError]:
    """Pod sets of one group: two of them, one with a single pod, both with the same level.

    `annotations` is the path of each pod set's annotations, by the name of the pod set. Source: TP-316.
    """
    groups: dict[str, list[tuple[PodSet, PodSetTopologyRequest]]] = {}
    for pod_set in pod_sets:
        request = pod_set.topology_request
        if request is not None and request.pod_set_group_name is not None:
            groups.setdefault(request.pod_set_group_name, []).append((pod_set, request))
    errors: list[FieldError] = []
    for name, members in groups.items():
        paths = [annotations[pod_set.name] for pod_set, _ in members]
        if len(members) != GROUP_SIZE:
            message = f"can only define groups of exactly 2 pod sets, got: {len(members)} pod set(s)"
            errors += [invalid(f"{path}[{names.POD_SET_GROUP}]", name, message) for path in paths]
            continue
        (first, one), (second, other) = members
        if first.count != 1 and second.count != 1:
            message = (
                "can only define groups where at least one pod set has only 1 replica, got: "
                f"{first.count} replica(s) and {second.count} replica(s) in the group"
            )
            errors += [invalid(f"{path}[{names.POD_SET_GROUP}]", name, message) for path in paths]
        if not _same_level(one, other):
            for path, against in (paths, reversed(paths)):
                message = (
                    f"must specify '{names.REQUIRED}' or '{names.PREFERRED}' topology consistent with "
                    f"'{against}' in group '{name}'"
                )
                errors.append(invalid(path, None, message))
    return errors


def _same_level(one: PodSetTopologyRequest, other: PodSetTopologyRequest) -> bool:
    levels = (one.required, one.preferred)
    return levels != (None, None) and levels == (other.required, other.preferred)


def _label_name(path: str, text: str) -> Iterator[FieldError]:
    for problem in label_key(text):
        yield invalid(path, text, problem)


def _group_name(path: str, annotations: Mapping[str, str]) -> Iterator[FieldError]:
    at = f"{path}[{names.POD_SET_GROUP}]"
    group = annotations[names.POD_SET_GROUP]
    if parse_uint64(group) is not None:
        yield invalid(at, group, "must not be a number")
    for name in (names.SLICE_SIZE, names.SLICE_REQUIRED):
        if name in annotations:
            yield forbidden(at, f"may not be set when '{name}' is specified")
    if names.REQUIRED not in annotations and names.PREFERRED not in annotations:
        message = f"may not be set when neither '{names.PREFERRED}' nor '{names.REQUIRED}' is specified"
        yield forbidden(at, message)


def _slice_size(path: str, annotations: Mapping[str, str]) -> Iterator[FieldError]:
    at = f"{path}[{names.SLICE_SIZE}]"
    text = annotations.get(names.SLICE_SIZE)
    if text is not None:
        size = parse_int32(text)
        if size is None:
            yield invalid(at, text, "must be a numeric value")
        elif size < 1:
            yield invalid(at, text, AT_LEAST_ONE)
    if names.SLICE_REQUIRED in annotations:
        if text is None:
            yield required(at, f"must be set when '{names.SLICE_REQUIRED}' is specified")
    elif text is not None:
        yield forbidden(at, f"may not be set when '{names.SLICE_REQUIRED}' is not specified")


def _constraints(path: str, annotations: Mapping[str, str], multi_layer: bool) -> Iterator[FieldError]:
    at = f"{path}[{names.SLICE_CONSTRAINTS}]"
    if not multi_layer:
        yield forbidden(at, "the TASMultiLayerTopology feature gate must be enabled to use this annotation")
        return
    for name in (names.SLICE_REQUIRED, names.SLICE_SIZE):
        if name in annotations:
            yield forbidden(at, f"may not be set when '{name}' is specified")
    if names.POD_SET_GROUP in annotations:
        message = f"may not be set when '{names.SLICE_CONSTRAINTS}' is specified"
        yield forbidden(f"{path}[{names.POD_SET_GROUP}]", message)
    text = annotations[names.SLICE_CONSTRAINTS]
    try:
        layers = parse_constraints(text)
    except ValueError as error:
        yield invalid(at, text, f"must be a valid JSON array: {error}")
        return
    if not 0 < len(layers) <= MOST_LAYERS:
        yield invalid(at, text, LAYER_COUNT)
        return
    yield from _layers(at, layers)


def _layers(at: str, layers: Sequence[PodsetSliceRequiredTopologyConstraint]) -> Iterator[FieldError]:
    for number, layer in enumerate(layers):
        yield from _label_name(f"{at}[{number}].topology", layer.topology)
        if layer.size < 1:
            yield invalid(f"{at}[{number}].size", layer.size, AT_LEAST_ONE)
    seen: dict[str, int] = {}
    for number, layer in enumerate(layers):
        before = seen.setdefault(layer.topology, number)
        if before != number:
            yield duplicate(f"{at}[{number}].topology", f"{layer.topology} (also at index {before})")
    for number, (outer, inner) in enumerate(pairwise(layers), 1):
        if inner.size > 0 and outer.size % inner.size:
            message = f"must evenly divide the parent layer size {outer.size}"
            yield invalid(f"{at}[{number}].size", inner.size, message)
