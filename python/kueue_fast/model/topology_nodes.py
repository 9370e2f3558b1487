"""What topologies read of a Node: whether it counts, to which flavors it belongs, how much it holds.

Source: TP-401, TP-402, TP-405.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kueue_fast.api.core import Node, Taint
from kueue_fast.api.meta import QuantityValue
from kueue_fast.errors import InputError
from kueue_fast.model.taints import BLOCKING_EFFECTS
from kueuecore._quantity import request_value


def is_usable(node: Node) -> bool:
    """Whether a node takes part: it is schedulable and its `Ready` condition says True. Source: TP-401."""
    if node.spec is not None and node.spec.unschedulable:
        return False
    for condition in (node.status.conditions if node.status else None) or ():
        # The first of a type counts, should there be several.
        if condition.type == "Ready":
            return condition.status == "True"
    return False


def belongs(labels: Mapping[str, str], node_labels: Mapping[str, str], levels: Sequence[str]) -> bool:
    """Whether a node with these labels belongs to a flavor.

    `node_labels` are the flavor's, and an empty value there is met by a node without the label; of `levels`, those of
    the flavor's Topology, the node must have every key, be its value empty. Source: TP-402.
    """
    return all(labels.get(key, "") == value for key, value in node_labels.items()) and all(
        level in labels for level in levels
    )


def capacity(allocatable: Mapping[str, QuantityValue] | None) -> dict[str, int]:
    """What a node holds of each resource: cpu in milli, everything else whole, rounded up, clamped to int64.

    Amounts may be negative. Raises InputError with the field for what is no quantity. Source: TP-405.
    """
    amounts: dict[str, int] = {}
    for name, quantity in (allocatable or {}).items():
        try:
            amounts[name] = request_value(name, quantity)
        except ValueError as error:
            raise InputError(str(error), field=f"$.status.allocatable.{name}") from error
    return amounts


def blocking_taints(taints: Sequence[Taint] | None) -> tuple[Taint, ...]:
    """The taints that keep pods off a node, in its order. Source: TP-702."""
    return tuple(taint for taint in taints or () if taint.effect in BLOCKING_EFFECTS)


def taint_text(taint: Taint) -> str:
    """A taint as upstream writes it, `key=value:Effect`; the value only if there is one. Source: TP-702."""
    key = f"{taint.key}={taint.value}" if taint.value else taint.key
    return f"{key}:{taint.effect}" if taint.effect or taint.value else key
