"""Counts that are caught up with changes against counts made anew: the shortcut must never be seen."""

from __future__ import annotations

import random

import pytest

from kueuecore._placement import Placer
from tests.kernel_vs_oracle.topology_case import KernelCase
from tests.oracle.generate_topology import case

EVERYDAY_CASES = 150
STEPS = 12


def change_something(kernel: KernelCase, rng: random.Random) -> None:
    """One step as a preemption search or a watch event makes it."""
    flavor = rng.choice([flavor for flavor in kernel.case.flavors if kernel.paths[flavor.name]])
    tree, topologies = kernel.rows[flavor.name], kernel.topologies
    leaf = rng.randrange(len(kernel.paths[flavor.name]))
    match rng.choice(("add", "add", "remove", "shared", "undo", "leaf", "workload")):
        case "add":
            topologies.change_leaf(tree, leaf, 0, rng.randint(1, 3), kernel.journal, rng.randrange(2))
        case "remove":
            topologies.change_leaf(tree, leaf, 0, -rng.randint(1, 3), kernel.journal, rng.randrange(2))
        case "shared":
            topologies.change_leaf(tree, leaf, 0, rng.randint(-2, 2), kernel.journal, 0, shared=True)
        case "undo":
            topologies.undo_changes(kernel.journal, rng.randint(0, len(kernel.journal)))
        case "leaf":
            free = topologies.leaf_free(tree, leaf) + rng.randint(-2, 2)
            topologies.write_leaf(tree, leaf, rng.randrange(2), rng.choice((0, 1, 1, 2)), free)
        case "workload":
            topologies.simulate(0, kernel.journal, remove=rng.random() < 0.5)


def compare(seed: int) -> None:
    made = case(seed)
    if not any(flavor.leaves for flavor in made.flavors):
        return
    kernel, rng = KernelCase(made, seed), random.Random(seed)
    fresh = Placer(kernel.topologies, kernel.journal)
    for name in ("mixed_profile", "balanced", "overlapping", "prefers_affinity"):
        setattr(fresh, name, getattr(kernel.placer, name))
    for step in range(STEPS):
        for _ in range(rng.choice((0, 1, 1, 2, 9))):
            change_something(kernel, rng)
        view = rng.randrange(2)
        before = kernel.usage()
        could = kernel.placer.can_place_python(kernel.requests, view)
        got = kernel.placer.place_python(kernel.requests, view) if rng.random() < 0.6 else None
        fresh.forget()
        want = fresh.place_python(kernel.requests, view)
        assert could == (want[1] is None), (
            f"seed {seed}, step {step}: can_place says {could}, place {want[1]}"
        )
        assert got is None or got == want, f"seed {seed}, step {step}"
        assert kernel.usage() == before, f"seed {seed}, step {step}"


def test_some_histories() -> None:
    for seed in range(EVERYDAY_CASES):
        compare(seed)


@pytest.mark.bulk
def test_many_histories(bulk_cycles: int) -> None:
    for seed in range(10_000, 10_000 + bulk_cycles // STEPS):
        compare(seed)
