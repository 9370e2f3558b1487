"""From the annotations of a pod template to what its pod set asks of the topology.

Source: TP-301..305.
"""

from __future__ import annotations

from collections.abc import Mapping

from kueue_fast.api.kueue import PodSetTopologyRequest
from kueue_fast.errors import InputError
from kueue_fast.jobs.slice_constraints import LAYER_COUNT, MOST_LAYERS, parse_constraints
from kueue_fast.jobs.topology_indexes import NO_INDEXES, IndexLabels
from kueue_fast.model import topology_names as names
from kueue_fast.model.booleans import parse_bool
from kueue_fast.model.integers import parse_int32

__all__ = ["topology_request"]


def topology_request(
    annotations: Mapping[str, str],
    indexes: IndexLabels = NO_INDEXES,
    *,
    multi_layer: bool = True,
    path: str = "$.metadata",
) -> PodSetTopologyRequest | None:
    """The request that these annotations make, None if they and the integration's labels ask for nothing.

    The first of required, preferred and unconstrained counts. `multi_layer` is the gate TASMultiLayerTopology:
    without it slices in slices are passed over. `path` is the path of the template's metadata, for errors.

    Raises InputError for an unconstrained that is no boolean, a size that is no 32-bit integer, and slices in
    slices that cannot be read. A request that is well formed may still break a rule: see `topology_validation`.
    """
    request = PodSetTopologyRequest()
    asks = True
    if names.REQUIRED in annotations:
        request.required = annotations[names.REQUIRED]
    elif names.PREFERRED in annotations:
        request.preferred = annotations[names.PREFERRED]
    elif names.UNCONSTRAINED in annotations:
        request.unconstrained = parse_bool(annotations[names.UNCONSTRAINED])
        if request.unconstrained is None:
            raise _wrong(path, names.UNCONSTRAINED, annotations, "a boolean")
    else:
        asks = False
    sliced = names.SLICE_REQUIRED in annotations and names.SLICE_SIZE in annotations
    if not (asks or sliced or names.SLICE_CONSTRAINTS in annotations or indexes != NO_INDEXES):
        return None
    if multi_layer and names.SLICE_CONSTRAINTS in annotations:
        try:
            layers = parse_constraints(annotations[names.SLICE_CONSTRAINTS])
        except ValueError as error:
            raise _wrong(path, names.SLICE_CONSTRAINTS, annotations, f"a JSON list: {error}") from None
        if not 0 < len(layers) <= MOST_LAYERS:
            raise InputError(
                f"{LAYER_COUNT}: got {len(layers)}", field=f"{path}.annotations[{names.SLICE_CONSTRAINTS}]"
            )
        request.podset_slice_required_topology_constraints = layers
    elif sliced:
        request.pod_set_slice_required_topology = annotations[names.SLICE_REQUIRED]
        request.pod_set_slice_size = parse_int32(annotations[names.SLICE_SIZE])
        if request.pod_set_slice_size is None:
            raise _wrong(path, names.SLICE_SIZE, annotations, "a 32-bit integer")
    request.pod_index_label = indexes.pod
    request.sub_group_index_label = indexes.sub_group
    request.sub_group_count = indexes.sub_group_count
    if request.required is not None or request.preferred is not None:
        request.pod_set_group_name = annotations.get(names.POD_SET_GROUP)
    return request


def _wrong(path: str, name: str, annotations: Mapping[str, str], expected: str) -> InputError:
    return InputError(
        f"not understood: {annotations[name]!r}", field=f"{path}.annotations[{name}]", expected=expected
    )
