"""Topology: what its schema refuses on create; it has no webhook. Source: LC-114."""

from collections.abc import Iterator

from kueue_fast.api.kueue import Topology
from kueue_fast.api.topology_encoding import HOSTNAME
from kueue_fast.model.validation import names
from kueue_fast.model.validation.common import each, items, length
from kueue_fast.model.validation.field_error import FieldError, duplicate, invalid, required

LEVELS_MAX = 16
NODE_LABEL_MAX = 316


def validate_topology(topology: Topology) -> Iterator[FieldError]:
    """What is wrong with a Topology."""
    if topology.spec is None:
        return
    path = "spec.levels"
    levels = topology.spec.levels or []
    if not levels:
        yield required(path, "must have at least 1 item")
    yield from items(path, levels, LEVELS_MAX)
    seen = set()
    for index, level in enumerate(levels):
        at = f"{path}[{index}].nodeLabel"
        yield from length(at, level.node_label, NODE_LABEL_MAX)
        yield from each(at, level.node_label, names.label_key(level.node_label))
        if level.node_label in seen:
            yield duplicate(at, level.node_label, "levels must be unique")
        seen.add(level.node_label)
        if level.node_label == HOSTNAME and index != len(levels) - 1:
            yield invalid(at, level.node_label, "may only be the lowest level, the last one of the list")
