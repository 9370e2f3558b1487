"""Explains one object at one moment of a simulation: runs it so far, and reads what came of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kueue_fast.model import times
from kueue_fast.sim.explain_object import look_up
from kueue_fast.sim.explain_target import Target, read_target
from kueue_fast.sim.explain_workload import Run, workload_part
from kueue_fast.sim.explanation import SCHEMA, Document, Named
from kueue_fast.sim.manifest import Manifest
from kueue_fast.sim.options import SimulationOptions
from kueue_fast.sim.simulate import Simulation

__all__ = ["Target", "explain", "read_target"]

NANOSECONDS: Final = 1_000_000_000


def explain(
    manifests: Sequence[Manifest], target: Target, options: SimulationOptions | None = None
) -> Document:
    """What there is to say of an object when the simulation has run to `options.until_ns`, or to its end.

    Raises InputError for an object that is not in the input and that nothing made, naming some that are like it.
    """
    options = options or SimulationOptions()
    simulation = Simulation(manifests, options)
    simulation.run()
    result = simulation.result()
    now = simulation.clock.now if options.until_ns is None else result.start_ns + options.until_ns
    found = look_up(simulation, manifests, result, target)
    run = Run(simulation.cluster, simulation.engine, simulation.recorder, result, now)
    return Document(
        schema=SCHEMA,
        start=times.format(result.start_ns),
        time=(now - result.start_ns) / NANOSECONDS,
        end_of_run=not result.stopped,
        object=_named(target),
        state=found.state,
        message=found.message,
        ancestor=None if found.ancestor is None else _named(found.ancestor),
        workloads=[workload_part(run, row) for row in found.rows],
    )


def _named(target: Target) -> Named:
    return Named(kind=target.kind, namespace=target.namespace, name=target.name)
