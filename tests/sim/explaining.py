"""Runs `explain` on made manifests."""

from __future__ import annotations

import io
from typing import Any, NamedTuple

from kueue_fast.sim.explain import explain, read_target
from kueue_fast.sim.explain_text import print_explanation
from kueue_fast.sim.explanation import Document
from kueue_fast.sim.options import SimulationOptions
from tests.sim.world import MINUTE, manifests


class Case(NamedTuple):
    """Objects, whom to explain, the text; `at` in minutes."""

    objects: tuple[dict[str, Any], ...]
    want: str
    target: str = "Workload/ns/w"
    at: float | None = 1


def explained(target: str, *objects: dict[str, Any], at: float | None = None, **options: Any) -> Document:
    """The explanation of an object; `at` is in minutes."""
    until = None if at is None else round(at * MINUTE)
    return explain(manifests(*objects), read_target(target), SimulationOptions(until_ns=until, **options))


def text(target: str, *objects: dict[str, Any], at: float | None = None, **options: Any) -> str:
    """What is printed, line for line, with an empty line before it so that it can be written as a block."""
    out = io.StringIO()
    print_explanation(explained(target, *objects, at=at, **options), out, width=120)
    return "\n" + out.getvalue()
