"""Small objects for the tables of this folder: a good one of each kind, changed at given paths."""

import copy
import json
from typing import Any

from kueue_fast.api.decode import decode
from kueue_fast.model.features import FeatureGates
from kueue_fast.model.validation import validate

V1BETA1 = "kueue.x-k8s.io/v1beta1"
V1BETA2 = "kueue.x-k8s.io/v1beta2"
DROP = object()

Changes = dict[str, Any]


def changed(base: dict[str, Any], changes: Changes) -> dict[str, Any]:
    """A copy of `base` with values set, or dropped by DROP, at paths such as `spec.podSets.0.count`."""
    result = copy.deepcopy(base)
    for path, value in changes.items():
        parts = path.split(".")
        holder: Any = result
        for part in parts[:-1]:
            holder = holder[int(part)] if isinstance(holder, list) else holder.setdefault(part, {})
        last = parts[-1]
        if value is DROP:
            del holder[last]
        elif isinstance(holder, list):
            holder[int(last) :] = [value, *holder[int(last) + 1 :]]
        else:
            holder[last] = value
    return result


def errors(manifest: dict[str, Any], gates: dict[str, bool] | None = None) -> list[str]:
    """`path: kind of error` of all that is wrong with a manifest."""
    obj = decode(json.dumps(manifest).encode())
    found = validate(obj, FeatureGates(gates or {}), manifest["apiVersion"])
    return [f"{error.path}: {error.type}" for error in found]


def messages(manifest: dict[str, Any]) -> list[str]:
    """All that is wrong with a manifest, in full."""
    return [str(error) for error in validate(decode(json.dumps(manifest).encode()), FeatureGates())]
