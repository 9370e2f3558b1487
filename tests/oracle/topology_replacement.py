"""Another domain for the pods of a node that failed.

Source: TP-1504 to TP-1508.
"""

from dataclasses import replace

from tests.oracle.topology_counts import Domain, Tree
from tests.oracle.topology_model import Assignment, Flavor, Request, Unplaceable, Values
from tests.oracle.topology_placement import Placement


def replace_node(placement: Placement, request: Request) -> tuple[Assignment, Assignment]:
    """The repaired assignment, and the part of it that is new. Raises Unplaceable."""
    assert request.previous is not None
    assert request.unhealthy is not None
    flavor = placement.flavor
    remaining = [(values, count) for values, count in request.previous if values[-1] != request.unhealthy]
    missing = 0
    for values, count in request.previous:
        if values[-1] == request.unhealthy:
            missing = count
    stale = first_stale(flavor, remaining)
    if stale is not None:
        raise Unplaceable("STALE_DOMAIN", stale)
    within = _required_domain(flavor, request, remaining, missing)
    size = 1
    if request.slices:
        size = request.slices[0][1] or 0
        if size <= 0:
            raise Unplaceable("SLICE_SIZE_MISSING")
    rewritten = request
    if request.slices and within and missing % size != 0:
        dividing = [layer for layer in request.slices if layer[1] and missing % layer[1] == 0]
        rewritten = replace(request, slices=dividing[-1:])
    # Usage counts as it stands: the room of an empty cluster is no room for a running workload.
    new = placement.find(rewritten, count=missing, within=within, empty=False)[request.pod_set]
    if not new:
        raise Unplaceable("NO_REPLACEMENT", request.unhealthy)
    return merged(flavor, new, remaining), new


def first_stale(flavor: Flavor, assignment: Assignment) -> str | None:
    """The first value of the first domain that is no leaf any more."""
    leaves = {flavor.written(leaf.values) for leaf in flavor.leaves}
    return next((values[0] for values, _ in assignment if values not in leaves), None)


def merged(flavor: Flavor, one: Assignment, other: Assignment) -> Assignment:
    """Both together, in order of the full path, one entry a domain. Source: TP-1508."""
    counts: dict[Values, int] = {}
    for values, count in [*one, *other]:
        counts[values] = counts.get(values, 0) + count
    path = {flavor.written(leaf.values): leaf.values for leaf in flavor.leaves}
    return sorted(counts.items(), key=lambda item: path[item[0]])


def _required_domain(flavor: Flavor, request: Request, remaining: Assignment, missing: int) -> str:
    """Identity of the domain that the pods must stay in; empty without one. Source: TP-1505."""
    levels = flavor.levels
    key = request.level_key(levels)
    if key is None or key not in levels or not remaining:
        return ""
    tree = Tree(flavor)
    if request.slices:
        size = request.slices[0][1] or 0
        if size <= 0:
            return ""
        if missing % size != 0:
            broken = [layer for layer in request.slices if layer[1] and missing % layer[1] != 0][-1]
            return _incomplete(tree, remaining, missing, broken)
    if request.required is None:
        return ""
    return tree.identity(_ancestor(tree, remaining[0][0], levels.index(key)))


def _incomplete(tree: Tree, remaining: Assignment, missing: int, layer: tuple[str, int | None]) -> str:
    """The domain that the missing pods make whole again; of several the lowest by values."""
    key, size = layer
    assert size
    if key not in tree.flavor.levels:
        return ""
    level = tree.flavor.levels.index(key)
    pods: dict[Values, int] = {}
    for values, count in remaining:
        domain = _ancestor(tree, values, level)
        pods[domain.values] = pods.get(domain.values, 0) + count
    for domain in tree.levels[level]:
        if domain.values in pods and (pods[domain.values] + missing) % size == 0:
            return tree.identity(domain)
    return ""


def _ancestor(tree: Tree, written: Values, level: int) -> Domain:
    leaf = next(leaf for leaf in tree.levels[-1] if tree.flavor.written(leaf.values) == written)
    return next(domain for domain in tree.levels[level] if domain.values == leaf.values[: level + 1])
