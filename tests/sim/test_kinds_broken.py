"""Every field of a job of every kind, missing or of another type: it is told which object is wrong, or it runs."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kueue_fast.errors import InputError
from kueue_fast.model.features import FeatureGates
from kueue_fast.sim.manifests import load
from kueue_fast.sim.options import SimulationOptions
from kueue_fast.sim.simulate import Simulation
from tests.sim.kind_makers import RUNNING_KINDS, SERVING_KINDS, group, plain_pod, serving
from tests.sim.test_elastic_ray import KINDS, elastic
from tests.sim.world import MINUTE, one_queue

SPARK = {"SparkApplicationIntegration": True}
OBJECTS: dict[str, list[dict[str, Any]]] = {
    **RUNNING_KINDS,
    **SERVING_KINDS,
    "Deployment": [serving("Deployment", run_time="10m")],
    "Pod": [plain_pod("solo")],
    "a group of Pods": group(2),
    **{f"an elastic {kind}": [elastic(kind, "10m=3, 20m=1")] for kind in KINDS},
}
MISSING = object()
VALUES = (MISSING, None, -1, 0, 2**31, "", [], [None], {"a": None})


def paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """All places below a value."""
    children: Any = ()
    if isinstance(value, dict):
        children = value.items()
    elif isinstance(value, list):
        children = enumerate(value)
    for key, child in children:
        yield (*path, key)
        yield from paths(child, (*path, key))


def broken(objects: list[dict[str, Any]]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """The objects with one field of the last of them changed, and what was changed."""
    for path in paths(objects[-1]):
        if path[0] in ("apiVersion", "kind"):
            continue
        for value in VALUES:
            made = copy.deepcopy(objects)
            parent = made[-1]
            for key in path[:-1]:
                parent = parent[key]
            if value is MISSING:
                del parent[path[-1]]
            else:
                parent[path[-1]] = value
            yield f"{path}: {value!r}", made


@pytest.mark.parametrize("case", OBJECTS)
def test_a_broken_field_is_told_or_does_not_matter(case: str, tmp_path: Path) -> None:
    file = tmp_path / "objects.json"
    told = []
    ran = 0
    for what, made in broken(OBJECTS[case]):
        file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [*one_queue(10), *made]}))
        try:
            simulation = Simulation(
                load([str(file)], FeatureGates(SPARK)),
                SimulationOptions(until_ns=30 * MINUTE, feature_gates=SPARK),
            )
            simulation.run()
        except InputError as error:
            told.append(str(error))
        else:
            ran += 1
            (queue,) = simulation.result().queues
            assert queue.resources[0].peak <= 10_000, what
    assert told
    assert ran
    kind = OBJECTS[case][-1]["kind"]
    assert [text for text in told if kind not in text] == []
