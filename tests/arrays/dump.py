"""All that an engine's tables say, by name: equal dumps decide equally, whatever rows they use."""

from __future__ import annotations

from typing import Any

import numpy as np

from kueue_fast import Engine
from kueue_fast.engine.queues import refresh_order

NONE = -1


def dump(engine: Engine) -> dict[str, dict[str, Any]]:
    """Nodes, offers of ClusterQueues and workloads by name.

    Left out is what history alone decides: generations, scan progress, and heap or parked. So is what means nothing:
    a limit without its flag, and anything of a free row.
    """
    state = engine._state
    state.tree.refresh()
    refresh_order(state)
    return {
        "nodes": {f"{kind} {name}": _node(engine, row) for (kind, name), row in state.tables.nodes.items()},
        "queues": {name: _queue(engine, name) for name in state.cluster_queues},
        "workloads": {key: _workload(engine, record) for key, record in state.rows.records.items()},
        "order": {
            "names": [
                state.by_row[row].name for row in np.asarray(state.tables.scheduler.queue_order).tolist()
            ]
        },
    }


def _column_names(engine: Engine) -> list[tuple[str, int]]:
    tables = engine._state.tables
    return sorted(
        (f"{tables.flavor_names[flavor]}/{tables.resource_names[resource]}", column)
        for (flavor, resource), column in tables.columns.items()
    )


def _node(engine: Engine, row: int) -> dict[str, Any]:
    tables = engine._state.tables
    forest = tables.forest
    above = forest.parent[row]
    frozen = bool(forest.frozen[row])
    found: dict[str, Any] = {
        "parent": None if above == NONE else tables.nodes[above],
        "frozen": frozen,
        "is_queue": forest.is_queue[row],
    }
    if not frozen:
        found["in_snapshot"] = forest.in_snapshot[row]
        found["height"] = forest.height[row]
        found["weight"] = forest.weight[row]
    for name, column in _column_names(engine):
        values: dict[str, Any] = {"usage": forest.usage[row, column]}
        if forest.has_quota[row, column]:
            values["nominal"] = forest.nominal[row, column]
        if forest.has_borrow_limit[row, column]:
            values["borrow"] = forest.borrow_limit[row, column]
        if forest.has_lend_limit[row, column]:
            values["lend"] = forest.lend_limit[row, column]
        if frozen:
            # aggregates are left as they were when the cycle closed (QP-203)
            if not forest.is_queue[row]:
                values.pop("usage")
        else:
            for table in ("subtree", "local", "potential"):
                values[table] = getattr(forest, table)[row, column]
        if any(values.values()) or "nominal" in values:
            found[name] = values
    return found


def _queue(engine: Engine, name: str) -> dict[str, Any]:
    state = engine._state
    tables = state.tables
    entry = state.cluster_queues[name]
    flavors, row = tables.flavors, entry.row
    groups: dict[str, list[str]] = {}
    for resource, index in tables.resource_names.items():
        group = flavors.group_of[row, index]
        if group == NONE:
            continue
        start, length = flavors.group_start[group], flavors.group_length[group]
        chosen = [flavors.group_flavors[start + place] for place in range(length)]
        groups[resource] = [tables.flavor_names[flavor] for flavor in chosen]
        for flavor in chosen:
            assert flavors.column[flavor, index] == tables.columns.find((flavor, index))
    return {
        "groups": groups,
        "policies": {policy: getattr(flavors, policy)[row] for policy in flavors.PER_NODE},
        "strict": tables.pending.strict[row],
        "namespaces": {
            name: tables.pending.namespace_match[row, column]
            for name, column in tables.namespaces.items()
            if tables.pending.namespace_match[row, column]
        },
        "activity": entry.activity,
        "cyclic": state.tree.is_cyclic(row),
    }


def _workload(engine: Engine, record: Any) -> dict[str, Any]:
    state = engine._state
    tables = state.tables
    workloads, flavors, row = tables.workloads, tables.flavors, record.row
    assert state.rows.by_row[row] is record
    width = workloads.uid.shape[1]
    queue, reserved_in = workloads.queue[row], workloads.reserved_in[row]
    pending = record.state == 0
    found: dict[str, Any] = {
        "state": record.state,
        "uid": bytes(workloads.uid[row, byte] for byte in range(width)).rstrip(b"\0"),
        "namespace": tables.namespaces[workloads.namespace[row]],
        "local_queue": state.local_queue_names[workloads.local_queue[row]],
        "priority": workloads.priority[row],
        "timestamp": workloads.timestamp[row],
        "queued": tables.pending.place_of(row) != 0,
        "reserved_in": None if reserved_in == NONE else state.by_row[reserved_in].name,
        "admitted": workloads.admitted[row],
    }
    slots = [
        (tables.resource_names[resource], None if flavor < 0 else tables.flavor_names[flavor], amount)
        for resource, _, flavor, amount in workloads.slots_of(row)
    ]
    if not pending:
        if reserved_in == NONE:
            del found["admitted"]
            return found  # its ClusterQueue is gone: it books nothing
        # an assumed one has slots without a flavor too, for resources that were skipped; they book nothing
        found["slots"] = sorted(slot for slot in slots if slot[1] is not None)
        return found
    assert all(flavor is None and amount == 0 for _, flavor, amount in slots)
    found |= {
        "queue": None if queue == NONE else state.by_row[queue].name,
        "requeue_at": workloads.requeue_at[row],
        "blocked": workloads.requeue_blocked[row],
        "invalid": workloads.invalid[row],
        "checks_failed": workloads.checks_failed[row],
        "has_shape": workloads.shape[row] != NONE,
        "slots": [resource for resource, _, _ in slots],
        "pod_sets": [],
    }
    start = workloads.pod_set_start[row]
    for pod_set in range(start, start + workloads.pod_set_length[row]):
        request = workloads.request_class[pod_set]
        first, length = workloads.request_start[request], workloads.request_length[request]
        found["pod_sets"].append(
            {
                "name": tables.pod_set_names[workloads.pod_set_name[pod_set]],
                "count": workloads.count[pod_set],
                "full_count": workloads.full_count[pod_set],
                "min_count": workloads.min_count[pod_set],
                "group": workloads.group[pod_set],
                "slot": workloads.pod_set_slot[pod_set],
                "slots": workloads.pod_set_slots[pod_set],
                "requests": [
                    (
                        tables.resource_names[workloads.request_resource[place]],
                        workloads.request_amount[place],
                    )
                    for place in range(first, first + length)
                ],
                # a flavor that no object names is not eligible either
                "eligible": {
                    name: answer
                    for name, flavor in tables.flavor_names.items()
                    if (answer := flavors.eligible[workloads.eligibility[pod_set], flavor])
                },
            }
        )
    return found


def shapes(engine: Engine) -> list[list[str]]:
    """Pending workloads by class of scheduling equivalence."""
    state = engine._state
    classes: dict[int, list[str]] = {}
    for key, record in state.rows.records.items():
        if record.state == 0:
            classes.setdefault(state.tables.workloads.shape[record.row], []).append(key)
    return sorted(sorted(keys) for keys in classes.values())


def differences(got: dict[str, dict[str, Any]], want: dict[str, dict[str, Any]]) -> list[str]:
    """Where two dumps part, one line each."""
    found = []
    for part in got:
        for name in sorted({*got[part], *want[part]}):
            left, right = got[part].get(name), want[part].get(name)
            if left == right:
                continue
            if isinstance(left, dict) and isinstance(right, dict):
                found += [
                    f"{part} {name} {key}: {left.get(key)} instead of {right.get(key)}"
                    for key in sorted({*left, *right})
                    if left.get(key) != right.get(key)
                ]
            else:
                found.append(f"{part} {name}: {left} instead of {right}")
    return found
