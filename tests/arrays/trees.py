"""Nodes and trees for tests of topologies, and what the kernel's trees say, by name."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np

from kueue_fast.api.core import Node, Pod, PodSpec
from kueue_fast.api.kueue import ResourceFlavorSpec, TopologySpec
from kueue_fast.arrays.tables import Tables
from kueue_fast.arrays.topology import TopologyRows

HOST = "kubernetes.io/hostname"
LEVELS = ["block", "rack", HOST]
RESOURCES = ("cpu", "memory")


def node(
    name: str,
    *path: str,
    cpu: Any = 1,
    ready: bool = True,
    taints: Any = None,
    unschedulable: bool = False,
    allocatable: dict[str, Any] | None = None,
    **labels: str,
) -> Node:
    """A node of pool `a` in a block and rack, whose host label is its name unless told."""
    found = (
        dict(zip(LEVELS, path, strict=False))
        | {HOST: path[2] if len(path) > 2 else name, "pool": "a"}
        | labels
    )
    return msgspec.convert(
        {
            "metadata": {
                "name": name,
                "labels": {key: value for key, value in found.items() if value != "-"},
            },
            "spec": {"taints": taints, "unschedulable": unschedulable},
            "status": {
                "allocatable": {"cpu": cpu, "pods": 10} if allocatable is None else allocatable,
                "conditions": [{"type": "Ready", "status": "True" if ready else "False"}],
            },
        },
        Node,
    )


def pod(name: str, on: str | None, cpu: Any = "1", phase: str = "Running", **annotations: str) -> Pod:
    spec = {"nodeName": on, "containers": [{"resources": {"requests": {"cpu": cpu}}}]}
    metadata = {"name": name, "namespace": "ns", "annotations": annotations}
    return msgspec.convert({"metadata": metadata, "spec": spec, "status": {"phase": phase}}, Pod)


def pod_spec(**fields: Any) -> PodSpec:
    return msgspec.convert(fields, PodSpec)


def topology(*levels: str) -> TopologySpec:
    return msgspec.convert({"levels": [{"nodeLabel": level} for level in levels]}, TopologySpec)


def flavor(name: str | None = "t", **fields: Any) -> ResourceFlavorSpec:
    return msgspec.convert({"topologyName": name, "nodeLabels": {"pool": "a"}, **fields}, ResourceFlavorSpec)


def rows(*nodes: Node, levels: list[str] | None = None, **gates: bool) -> TopologyRows:
    """A topology `t` with flavor `f` and these nodes; refreshed."""
    tables = Tables()
    for resource in RESOURCES:
        tables.resource(resource)
    made = TopologyRows(tables, **gates)
    made.set_topology("t", topology(*(levels or LEVELS)))
    made.set_flavor("f", flavor())
    for each in nodes:
        made.set_node(each)
    made.refresh()
    return made


def dump(made: TopologyRows, name: str = "f") -> dict[str, Any]:
    """Leaves with nodes by their path: nodes, room, use; and the nodes of all domains above."""
    made.refresh()
    tables, tree = made._tables, made._trees[name]
    kernel = tables.topologies
    columns = dict(tables.resource_names.items())
    classes = kernel.classes_of(tree.row).tolist()
    depth = len(tree.spec.levels)
    nodes = [kernel.nodes_of(tree.row, level).tolist() for level in range(depth)]
    found: dict[str, Any] = {}
    for leaf, path in enumerate(tree.paths):
        if nodes[-1][leaf]:
            free, used = kernel.leaf_free(tree.row, leaf), kernel.leaf_used(tree.row, leaf)
            found["/".join(path)] = {
                "nodes": nodes[-1][leaf],
                "free": {each: int(free[column]) for each, column in columns.items() if free[column]},
                "excluded": excluded(made, classes[leaf]) if tree.spec.by_host else {},
                "used": {each: int(used[column]) for each, column in columns.items() if used[column]},
            }
    for level, domains in enumerate(tree._domains):
        for domain, path in enumerate(domains):
            if nodes[level][domain]:
                found["/".join((*path, ""))] = nodes[level][domain]
    assert tree.paths == sorted(tree.paths)
    assert kernel.leaves_of(tree.row) == (len(tree.paths), int(np.count_nonzero(nodes[-1])))
    return found


def excluded(made: TopologyRows, node_class: int) -> dict[str, str | None]:
    """What each filter says of a class: rows and codes are numbered as they come."""
    known = made._sources.classes
    codes = np.asarray(made._tables.topologies.match)[:, node_class].tolist()
    return {
        f"{asked.node_selector} {asked.tolerations}": known.exclusion_key(code) if code else None
        for asked, code in zip(known._filters, codes, strict=False)
        if asked is not None
    }


def leaves(made: TopologyRows, name: str = "f") -> dict[str, int]:
    """Path -> cpu that is free, in milli, of the leaves with nodes."""
    return {
        path: leaf["free"].get("cpu", 0) for path, leaf in dump(made, name).items() if isinstance(leaf, dict)
    }
