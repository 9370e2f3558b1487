"""Seeded random placements, small and odd: trees, requests, gates, repairs and elastic changes.

`case(seed)` gives the same case on every machine. A third of the cases lets the oracle place a workload first, books
it, and then asks for a repair or for another size.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

from tests.oracle.generate_trees import flavors_of
from tests.oracle.topology import place
from tests.oracle.topology_model import Assignment, Flavor, Gates, Request
from tests.oracle.topology_usage import Item, book, pods_that_fit, remaining

FILTERS = (0, 0, 0, 1, 2)
SIZES = (1, 2, 2, 3, 4, 4, 6, 8)


@dataclass
class Case:
    flavors: list[Flavor]
    requests: list[Request]  # of one workload, in the order of its pod sets
    empty: bool
    gates: Gates


def case(seed: int) -> Case:
    rng = random.Random(seed)
    flavors = flavors_of(rng)
    gates = _gates(rng)
    kind = rng.choice(("alone", "alone", "group", "many", "repair", "elastic"))
    requests = _requests(rng, flavors, kind)
    made = Case(flavors, requests, empty=rng.random() < 0.2, gates=gates)
    if kind == "repair":
        return _repair(rng, made)
    if kind == "elastic":
        return _elastic(rng, made)
    return made


def balanced_case(seed: int) -> Case:
    """A leader with its workers, or workers alone, where balanced placement is tried: of `case` about one in fifty."""
    rng = random.Random(f"balanced {seed}")
    flavor = rng.choice(flavors_of(rng))
    key = rng.choice(flavor.levels)
    requests = _group(rng, flavor) if rng.random() < 0.7 else [_request(rng, flavor, "main")]
    for request in requests:
        request.required, request.preferred = None, key
        request.unconstrained = request.implied = False
        request.filter = 0
        request.slices = []
    if rng.random() < 0.6:
        workers = max(requests, key=lambda request: request.count)
        workers.slices = _layers(rng, flavor.levels, key)[:1]
        _suit_count(rng, flavor, workers)
    gates = replace(_gates(rng), balanced=True)
    return Case([flavor], requests, empty=rng.random() < 0.2, gates=gates)


def _gates(rng: random.Random) -> Gates:
    return Gates(
        mixed_profile=rng.random() < 0.7,
        balanced=rng.random() < 0.4,
        overlapping=rng.random() < 0.7,
        prefers_affinity=rng.random() < 0.25,
        elastic=rng.random() < 0.5,
    )


def _requests(rng: random.Random, flavors: Sequence[Flavor], kind: str) -> list[Request]:
    if kind == "group":
        return _group(rng, rng.choice(flavors))
    if kind == "many":
        requests = [_request(rng, rng.choice(flavors), f"ps{number}") for number in range(rng.randint(2, 4))]
        if rng.random() < 0.3:
            requests += [
                replace(request, pod_set=f"{request.pod_set}-g")
                for request in _group(rng, rng.choice(flavors))
            ]
        return requests
    if kind == "elastic" and rng.random() < 0.4:
        return _group(rng, rng.choice(flavors))
    return [_request(rng, rng.choice(flavors), "main")]


def _group(rng: random.Random, flavor: Flavor) -> list[Request]:
    """Workers and a leader in either order, rarely with a third, rarely of equal or odd sizes."""
    workers = replace(_request(rng, flavor, "workers"), group="g")
    leader = replace(
        _request(rng, flavor, "leader"),
        group="g",
        count=rng.choice((1, 1, 1, 1, 2, 0)),
        requests=_amounts(rng, most=rng.choice((2, 4, 9, 40))),
    )
    group = [workers, leader]
    if rng.random() < 0.04:
        group.append(replace(_request(rng, flavor, "third"), group="g"))
    rng.shuffle(group)
    return group


def _request(rng: random.Random, flavor: Flavor, pod_set: str) -> Request:
    levels = flavor.levels
    request = Request(
        flavor=flavor.name,
        pod_set=pod_set,
        requests=_amounts(rng, most=3),
        count=rng.choice((0, 1, 2, 3, 4, 5, 6, 8, 12, rng.randint(1, 60))),
        filter=None if rng.random() < 0.01 else rng.choice(FILTERS),
    )
    form = rng.choice(
        ("required", "required", "preferred", "preferred", "unconstrained", "implied", "slices", "odd")
    )
    key = _level(rng, levels)
    if form == "required":
        request.required = key
    elif form == "preferred":
        request.preferred = key
    elif form == "unconstrained":
        request.unconstrained = True
    elif form == "implied":
        request.implied = True
    elif form == "odd":
        request.required = rng.choice((key, None))
        request.preferred = rng.choice((_level(rng, levels), None))
        request.unconstrained = rng.random() < 0.3
        request.implied = rng.random() < 0.3
    if form == "slices" or rng.random() < 0.45:
        request.slices = _layers(rng, levels, key if form in ("required", "preferred") else levels[0])
    if rng.random() < 0.75:
        _suit_count(rng, flavor, request)
    return request


def _suit_count(rng: random.Random, flavor: Flavor, request: Request) -> None:
    """Mostly whole slices, and as many as may just fit or just not."""
    limits = [pods_that_fit(request.requests, remaining(leaf))[0] for leaf in flavor.leaves]
    whole = request.slices[0][1] or 1 if request.slices and rng.random() < 0.85 else 1
    scarce = rng.choice((0.2, 0.5, 0.8, 1.0, 1.05))
    request.count = max(1, rng.randint(1, max(1, int(min(1000, sum(limits)) * scarce))) // whole) * whole


def _level(rng: random.Random, levels: Sequence[str]) -> str:
    return "unknown" if rng.random() < 0.02 else rng.choice(levels)


def _layers(rng: random.Random, levels: Sequence[str], above: str) -> list[tuple[str, int | None]]:
    """Mostly layers that may stand below the level `above`; now and then anything."""
    number = rng.choice((1, 1, 1, 2, 2, 3))
    if rng.random() < 0.06:
        odd_sizes = (*SIZES, None) if number == 1 else SIZES
        return [(_level(rng, levels), rng.choice(odd_sizes)) for _ in range(number)]
    lower = list(levels[levels.index(above) :]) if above in levels else list(levels)
    keys = sorted(rng.sample(lower, min(number, len(lower))), key=list(levels).index)
    if len(keys) > 1 and rng.random() < 0.03:
        keys[-1] = "unknown"
    size = rng.choice((1, 2, 3)) if len(keys) == 1 else 1
    sizes = [size := size * rng.choice((1, 2, 2, 3)) for _ in keys]
    return list(zip(keys, reversed(sizes), strict=True))


def _amounts(rng: random.Random, most: int) -> dict[str, int]:
    amounts = {"cpu": rng.randint(1, most)}
    if rng.random() < 0.3:
        amounts["memory"] = rng.choice((0, 1, 2))
    if rng.random() < 0.15:
        amounts["gpu"] = 1
    if rng.random() < 0.03:
        return {}
    return amounts


def _placed(rng: random.Random, made: Case) -> Case | None:
    """The case after its requests were placed and booked, or None if they find no place."""
    roomy = replace(made.gates, elastic=False)
    result = place(made.flavors, made.requests, empty=made.empty, gates=roomy)
    if result.failure is not None or not all(result.assignments.values()):
        return None
    if rng.random() < 0.9:
        book(
            made.flavors,
            [
                Item(request.flavor, values, request.requests, count)
                for request in made.requests
                for values, count in result.assignments[request.pod_set]
            ],
            overlapping=made.gates.overlapping,
        )
    requests = [replace(request, previous=result.assignments[request.pod_set]) for request in made.requests]
    return replace(made, requests=requests)


def _repair(rng: random.Random, made: Case) -> Case:
    placed = _placed(rng, made)
    if placed is None:
        return made
    request = placed.requests[0]
    assert request.previous is not None
    flavor = next(flavor for flavor in placed.flavors if flavor.name == request.flavor)
    if not flavor.by_host:
        return made
    if rng.random() < 0.15:
        request.previous = _scattered(rng, flavor)
    request.unhealthy = rng.choice(request.previous)[0][-1] if rng.random() < 0.97 else "elsewhere"
    request.keep = rng.random() < 0.05
    gone = {request.unhealthy} if rng.random() < 0.6 else set()
    if rng.random() < 0.1:
        gone.add(rng.choice(request.previous)[0][-1])
    flavor.leaves = [leaf for leaf in flavor.leaves if leaf.values[-1] not in gone]
    if rng.random() < 0.5:
        # Neighbours of what is lost are often full: let some of them have room again.
        for leaf in flavor.leaves:
            if rng.random() < 0.5:
                leaf.used = {}
    return placed


def _scattered(rng: random.Random, flavor: Flavor) -> Assignment:
    """An assignment that no placement would give."""
    leaves = sorted(
        rng.sample(flavor.leaves, rng.randint(1, min(4, len(flavor.leaves)))), key=lambda leaf: leaf.values
    )
    return [(flavor.written(leaf.values), rng.randint(1, 5)) for leaf in leaves]


def _elastic(rng: random.Random, made: Case) -> Case:
    made.gates = replace(made.gates, elastic=rng.random() < 0.95)
    if len(made.requests) > 2:
        return made
    placed = _placed(rng, made)
    if placed is None:
        return made
    for request in placed.requests:
        if len(placed.requests) == 1 or request.count > 1:
            request.count = max(0, request.count + rng.randint(-4, 6))
        if rng.random() < 0.05:
            request.previous = None
    if rng.random() < 0.1:
        flavor = rng.choice(placed.flavors)
        if len(flavor.leaves) > 1:
            flavor.leaves.remove(rng.choice(flavor.leaves))
    return placed
