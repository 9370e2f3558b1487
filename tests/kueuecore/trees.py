"""A topology tree built by hand: what the topology tests of this folder share."""

from __future__ import annotations

from typing import Any

import numpy as np

from kueuecore import Journal, Placer, Topologies

CPU, GPU, PODS = range(3)
WIDTH = 3
NONE = -1

Path = tuple[str, ...]


def topologies(places: int = 32, classes: list[dict[int, int]] | None = None) -> Topologies:
    """Three resources and pods classes by resource; class 0 is one cpu."""
    made = Topologies()
    made.reserve_width(WIDTH)
    made.pods_resource = PODS
    # In the order of names: cpu, gpu, pods.
    made.resource_rank = np.arange(WIDTH, dtype=np.int32)
    made.add_places(places)
    write_classes(made, classes or [{CPU: 1}])
    made.grow_match(1, 1)
    return made


def write_classes(made: Topologies, classes: list[dict[int, int]]) -> None:
    items = [(resource, amount) for amounts in classes for resource, amount in sorted(amounts.items())]
    lengths = [len(amounts) for amounts in classes]
    made.pods_start = np.array(np.cumsum([0, *lengths])[:-1], np.int32)
    made.pods_length = np.array(lengths, np.int32)
    made.item_resource = np.array([resource for resource, _ in items], np.int32)
    made.item_amount = np.array([amount for _, amount in items], np.int64)
    made.check()


def build(
    made: Topologies,
    free: dict[Path, Any],
    *,
    tree: int = 0,
    by_host: bool = True,
    nodes: dict[Path, int] | None = None,
    places: dict[Path, int] | None = None,
) -> list[Path]:
    """A tree of leaves by path with their free cpu, or (cpu, gpu, pods); its leaves in order."""
    leaves = sorted(free)
    depth = len(leaves[0]) if leaves else 1
    domains = [sorted({path[: level + 1] for path in leaves}) for level in range(depth)]
    made.build(
        tree,
        tree,
        by_host,
        list(range(depth)),
        [
            [domains[level - 1].index(path[:-1]) if level else NONE for path in domains[level]]
            for level in range(depth)
        ],
        [places[path] if places else number for number, path in enumerate(leaves)],
        [0] * len(leaves),
        [nodes.get(path, 1) if nodes else 1 for path in leaves],
        np.array([amounts_of(free[path]) for path in leaves], np.int64).reshape(len(leaves), WIDTH),
    )
    return leaves


def amounts_of(free: Any) -> tuple[int, int, int]:
    return (free, 0, 110) if isinstance(free, int) else free


def placer(made: Topologies) -> Placer:
    return Placer(made, Journal())


def ask(level: int | None, count: int, **more: Any) -> dict[str, Any]:
    """A request of class 0 in tree 0 for a level (its number is its key)."""
    return {
        "tree": 0,
        "pods": 0,
        "count": count,
        "level_key": NONE if level is None else level,
        "filter": 0,
        **more,
    }
