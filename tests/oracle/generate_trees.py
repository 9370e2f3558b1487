"""Seeded random trees of topology domains: mostly few leaves, odd fan-outs, names that tempt to be mixed up."""

import random

from tests.oracle.topology_model import HOSTNAME, Flavor, Leaf, Values
from tests.oracle.topology_usage import PODS

UPPER_LEVELS = ("example.com/zone", "example.com/block", "example.com/rack", "example.com/switch")
LOWEST_LEVEL = "example.com/shelf"
# The same values stand under different parents, one is the beginning of another, and byte order is not their size.
VALUES = ("a", "ab", "a-b", "b", "b1", "10", "2", "B")
LARGE = 0.05  # share of trees of some hundred leaves
EXCLUSIONS = ("nodeSelector", "affinity", 'taint "dedicated=x:NoSchedule"', 'taint "down:NoExecute"')


def flavors_of(rng: random.Random) -> list[Flavor]:
    """One to three flavors; hostname flavors share some of their hosts."""
    count = rng.choice((1, 1, 1, 2, 2, 3))
    names = rng.sample(("default", "a", "z", "spot"), count)
    flavors: list[Flavor] = []
    for name in names:
        flavor = _flavor(rng, name)
        if flavors and rng.random() < 0.8:
            _share_hosts(rng, flavors[0], flavor)
        flavors.append(flavor)
    return flavors


def _flavor(rng: random.Random, name: str) -> Flavor:
    depth = rng.choice((1, 2, 2, 3, 3, 3, 4, 4, 5))
    most = 300 if rng.random() < LARGE else 40
    by_host = rng.random() < 0.75
    upper = tuple(sorted(rng.sample(UPPER_LEVELS, depth - 1), key=UPPER_LEVELS.index))
    levels = (*upper, HOSTNAME if by_host else LOWEST_LEVEL)
    paths: list[Values] = [()]
    for level in range(depth):
        # One parent often has many leaves, several have few: ties and leftovers then happen.
        fan_out = rng.choice((1, 2, 2, 3, 3, 4)) if level < depth - 1 else rng.choice((1, 2, 3, 4, 6))
        if most > 40:
            fan_out = rng.choice((2, 3, 5, 7)) if level < depth - 1 else rng.choice((8, 60 // depth))
        if level == depth - 1 and by_host:
            paths = [(*path, "") for path in paths for _ in range(rng.randint(1, fan_out))]
        else:
            paths = [
                (*path, value)
                for path in paths
                for value in rng.sample(VALUES, min(len(VALUES), rng.randint(max(1, fan_out - 2), fan_out)))
            ]
        if len(paths) > most:
            paths = rng.sample(paths, most)
    if by_host:
        hosts = rng.sample([f"h{number}" for number in range(1, 20 + 2 * len(paths))], len(paths))
        paths = [(*path[:-1], host) for path, host in zip(paths, hosts, strict=True)]
    rich = rng.choice((2, 4, 8, 8, 16))
    return Flavor(name, levels, by_host, [_leaf(rng, path, rich) for path in paths])


def _leaf(rng: random.Random, values: Values, rich: int) -> Leaf:
    free = {"cpu": rng.choice((0, rng.randint(0, rich), rng.randint(0, rich), rich)), PODS: 110}
    if rng.random() < 0.7:
        free["memory"] = rng.randint(0, 2 * rich)
    if rng.random() < 0.3:
        free["gpu"] = rng.randint(0, 4)
    if rng.random() < 0.15:
        free[PODS] = rng.randint(0, 4)
    if rng.random() < 0.04:
        free["cpu"] = -rng.randint(1, 3)
    leaf = Leaf(values, free)
    if rng.random() < 0.3:
        leaf.used = {"cpu": rng.randint(0, rich), PODS: rng.randint(1, 3)}
    for row in (1, 2):
        leaf.excluded[row] = rng.choice(EXCLUSIONS) if rng.random() < 0.25 else None
    for row in (0, 1):
        leaf.affinity[row] = rng.choice((0, 0, 1, 10, 50))
    return leaf


def _share_hosts(rng: random.Random, one: Flavor, other: Flavor) -> None:
    """Give leaves of the second the names, room and use of hosts of the first."""
    if not (one.by_host and other.by_host):
        return
    for number, leaf in enumerate(other.leaves):
        if number < len(one.leaves) and rng.random() < 0.7:
            twin = one.leaves[number]
            other.leaves[number] = Leaf(
                (*leaf.values[:-1], twin.values[-1]),
                dict(twin.free),
                dict(twin.used),
                leaf.excluded,
                leaf.affinity,
            )
    names = [leaf.values[-1] for leaf in other.leaves]
    other.leaves = [leaf for number, leaf in enumerate(other.leaves) if names[number] not in names[:number]]
