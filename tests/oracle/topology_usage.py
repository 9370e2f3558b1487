"""What pods in domains use, whether more of them fit, and what an entry adds to what is booked.

Source: TP-501, TP-509, TP-705, TP-1105 to TP-1107.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tests.oracle.amounts import MAX, MIN
from tests.oracle.topology_model import Assignment, Assumed, Flavor, Leaf, Values

PODS = "pods"
MOST = 2**31 - 1


def saturated(value: int) -> int:
    return max(MIN, min(MAX, value))


def with_one_pod(requests: Mapping[str, int]) -> dict[str, int]:
    """What one pod takes of a leaf, its place in the number of pods included."""
    return {**requests, PODS: saturated(requests.get(PODS, 0) + 1)}


def take(room: dict[str, int], amounts: Mapping[str, int]) -> None:
    """`room` less the amounts, in place."""
    for resource, amount in amounts.items():
        room[resource] = saturated(room.get(resource, 0) - amount)


def add_to(usage: dict[str, int], amounts: Mapping[str, int]) -> None:
    """`usage` and the amounts, in place."""
    for resource, amount in amounts.items():
        usage[resource] = saturated(usage.get(resource, 0) + amount)


def times(requests: Mapping[str, int], count: int) -> dict[str, int]:
    """What `count` pods use. Source: TP-501."""
    usage = {resource: saturated(amount * count) for resource, amount in requests.items()}
    add_to(usage, {PODS: count})
    return usage


def pods_that_fit(requests: Mapping[str, int], room: Mapping[str, int]) -> tuple[int, str | None]:
    """How many pods, and which resource limits them: of equals the first by name. Source: TP-705."""
    best: tuple[int, str] | None = None
    for resource, amount in requests.items():
        pods = MOST if amount == 0 else max(0, min(room.get(resource, 0) // amount, MOST))
        if best is None or (pods, resource) < best:
            best = (pods, resource)
    return best if best is not None else (0, None)


def remaining(leaf: Leaf, *, empty: bool = False) -> dict[str, int]:
    """Source: TP-511."""
    room = dict(leaf.free)
    if not empty:
        take(room, leaf.used)
    return room


def assume(assumed: Assumed, assignment: Assignment, requests: Mapping[str, int]) -> None:
    """Add the usage of an assignment to what the workload already assumes; a domain named twice counts once.

    Source: TP-1101.
    """
    for values, count in dict(assignment).items():
        add_to(assumed.setdefault(values, {}), times(requests, count))


@dataclass(frozen=True)
class Item:
    """Pods of one kind in one leaf."""

    flavor: str
    values: Values  # as written
    requests: Mapping[str, int]  # of one pod
    count: int


def book(flavors: Iterable[Flavor], items: Iterable[Item], *, overlapping: bool = True) -> None:
    """Add usage of admitted workloads to the leaves, as a snapshot is made; missing leaves are passed over.

    Hostname flavors see each other's usage of a host if `overlapping`. Source: TP-509.
    """
    by_name = {flavor.name: flavor for flavor in flavors}
    for item in items:
        filed_under = by_name[item.flavor]
        for flavor in by_name.values():
            shares = overlapping and flavor.by_host and filed_under.by_host
            if flavor is filed_under or shares:
                change_usage(flavor, [item])


def change_usage(flavor: Flavor, items: Iterable[Item], sign: int = 1) -> None:
    """Add (sign 1) or remove (-1) usage within a cycle: in this flavor alone. Source: TP-1106."""
    for item in items:
        for leaf in flavor.leaves:
            if flavor.written(leaf.values) == item.values:
                usage = times(item.requests, item.count)
                if sign > 0:
                    add_to(leaf.used, usage)
                else:
                    take(leaf.used, usage)


def fits(flavor: Flavor, items: Iterable[Item]) -> bool:
    """Whether each item has room of its own; they are not summed and `pods` is not looked at. Source: TP-1107."""
    leaves = {flavor.written(leaf.values): leaf for leaf in flavor.leaves}
    return all(
        item.values in leaves
        and pods_that_fit(item.requests, remaining(leaves[item.values]))[0] >= item.count
        for item in items
    )


def net_usage(
    flavor: str, requests: Mapping[str, int], assignment: Assignment, admitted: Assignment | None
) -> list[Item]:
    """What an assignment needs beyond the pods that the current admission has in each domain. Source: TP-1105."""
    accounted: dict[Values, int] = {}
    for values, count in admitted or []:
        accounted[values] = accounted.get(values, 0) + count
    more = ((values, count - accounted.get(values, 0)) for values, count in assignment)
    return [Item(flavor, values, dict(requests), count) for values, count in more if count > 0]
