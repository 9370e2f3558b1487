"""What holds for every placement of the oracle, whatever the rules in between. Source: TP-2034."""

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from tests.oracle.generate_topology import Case, case
from tests.oracle.topology import place
from tests.oracle.topology_model import Assignment, Flavor, Leaf, Request, Result, Values
from tests.oracle.topology_usage import add_to, pods_that_fit, remaining, take, times

SEEDS, BLOCK = 900, 100


def placed(made: Case) -> Result:
    return place(made.flavors, made.requests, empty=made.empty, gates=made.gates)


def flavor_of(made: Case, request: Request) -> Flavor:
    return next(flavor for flavor in made.flavors if flavor.name == request.flavor)


def fresh(made: Case) -> Iterator[tuple[Request, Assignment]]:
    """Pod sets that were placed without looking at a previous assignment, leaders left out."""
    result = placed(made)
    for request in made.requests:
        if request.previous is None and request.group is None and request.pod_set in result.assignments:
            yield request, result.assignments[request.pod_set]


def a_placement_stands(made: Case) -> None:
    for request, domains in fresh(made):
        flavor = flavor_of(made, request)
        paths = {flavor.written(leaf.values): leaf.values for leaf in flavor.leaves}
        size = (request.slices[0][1] or 1) if request.slices else 1
        assert sum(count for _, count in domains) == request.count // size * size
        assert [paths[values] for values, _ in domains] == sorted(paths[values] for values, _ in domains)
        assert all(count > 0 for _, count in domains)
        if request.required is not None:
            level = flavor.levels.index(request.required)
            assert len({paths[values][: level + 1] for values, _ in domains}) <= 1
        balanced = made.gates.balanced and not request.is_unconstrained and request.required is None
        for layer, (key, of) in enumerate(request.slices):
            if balanced and layer > 0:
                break
            pods = pods_by_domain(domains, paths, flavor.levels.index(key))
            assert all(count % (of or 1) == 0 for count in pods.values())


def pods_by_domain(domains: Assignment, paths: dict[Values, Values], level: int) -> dict[Values, int]:
    pods: dict[Values, int] = {}
    for values, count in domains:
        domain = paths[values][: level + 1]
        pods[domain] = pods.get(domain, 0) + count
    return pods


def no_leaf_takes_more_than_it_has(made: Case) -> None:
    """New pods of a flavor, with those that its sibling flavors have put on the host before."""
    if any(request.previous is not None for request in made.requests):
        made.requests = [replace(request, previous=None, unhealthy=None) for request in made.requests]
    result = placed(made)
    for flavor in made.flavors:
        for leaf in flavor.leaves:
            new = new_usage(made, result, flavor, leaf)
            room = remaining(leaf, empty=made.empty)
            assert all(amount <= room.get(resource, 0) for resource, amount in new.items() if amount > 0)


def new_usage(made: Case, result: Result, flavor: Flavor, leaf: Leaf) -> dict[str, int]:
    """Empty if the flavor itself puts no pod there: what it has room for is then nobody's business."""
    usage: dict[str, int] = {}
    own = False
    for request in made.requests:
        filed = flavor_of(made, request)
        before = made.gates.overlapping and filed.by_host and flavor.by_host and filed.name < flavor.name
        if filed is not flavor and not before:
            continue
        for values, count in result.assignments.get(request.pod_set, []):
            if values == flavor.written(leaf.values):
                add_to(usage, times(request.requests, count))
                own = own or filed is flavor
    return usage if own else {}


def the_order_of_leaves_and_flavors_has_no_say(made: Case) -> None:
    before = placed(made)
    for flavor in made.flavors:
        flavor.leaves.reverse()
    made.flavors.reverse()
    assert placed(made) == before


def a_place_is_found_where_pods_fit_one_by_one(made: Case) -> None:
    """Single pods without level to keep fail only if all leaves together lack room."""
    asked = made.requests[0]
    if asked.filter is None:
        asked.filter = 0
    request = Request(
        asked.flavor, "main", asked.requests, max(asked.count, 1), filter=asked.filter, implied=True
    )
    flavor = flavor_of(made, request)
    together = 0
    for leaf in flavor.leaves:
        if flavor.by_host and leaf.excluded.get(asked.filter) is not None:
            continue
        room = remaining(leaf, empty=made.empty)
        alone = 0
        while alone < request.count and pods_that_fit({**request.requests, "pods": 1}, room)[0] > 0:
            take(room, {**request.requests, "pods": 1})
            alone += 1
        together += alone
    result = place(made.flavors, [request], empty=made.empty, gates=made.gates)
    assert (result.failure is None) == (together >= request.count)


@pytest.mark.parametrize(
    "holds",
    [
        a_placement_stands,
        no_leaf_takes_more_than_it_has,
        the_order_of_leaves_and_flavors_has_no_say,
        a_place_is_found_where_pods_fit_one_by_one,
    ],
)
@pytest.mark.parametrize("first", range(0, SEEDS, BLOCK))
def test_of_generated_placements(first: int, holds: Callable[[Case], None]) -> None:
    for seed in range(first, first + BLOCK):
        holds(case(seed))


def test_the_same_seed_gives_the_same_case() -> None:
    assert [case(seed) for seed in range(20)] == [case(seed) for seed in range(20)]


def test_the_generator_comes_by_every_answer() -> None:
    """A kind of answer that no case has is one that the kernel is not compared in."""
    codes = set()
    repaired = resized = led = 0
    for seed in range(6000):
        made = case(seed)
        result = placed(made)
        codes.add(result.failure.code if result.failure is not None else "PLACED")
        for request in made.requests:
            if request.pod_set in result.assignments:
                repaired += request.unhealthy is not None
                resized += request.unhealthy is None and request.previous is not None and made.gates.elastic
                led += request.pod_set == "leader"
    want_codes = {
        "PLACED",
        "NOT_ENOUGH_ROOM",
        "LEVEL_MISSING",
        "LEVEL_UNKNOWN",
        "SLICE_LEVEL_UNKNOWN",
        "SLICE_ABOVE_MAIN",
        "SLICE_SIZE_MISSING",
        "LAYER_UNKNOWN",
        "LAYER_NOT_LOWER",
        "LAYER_NOT_DIVIDING",
        "NO_DOMAINS",
        "INVALID_FILTER",
        "STALE_DOMAIN",
        "NO_REPLACEMENT",
        "TOO_MANY_IN_GROUP",
    }
    assert codes == want_codes
    assert min(repaired, resized, led) > 100
