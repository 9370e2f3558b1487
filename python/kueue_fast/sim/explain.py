"""Explains one object at one moment of a simulation: runs it so far, and reads what came of it."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from typing import Final, NamedTuple

from kueue_fast.api.batch import Job
from kueue_fast.api.kueue import Workload
from kueue_fast.errors import InputError
from kueue_fast.jobs.workload import queue_name
from kueue_fast.model import times
from kueue_fast.sim.arrivals import identity
from kueue_fast.sim.explain_workload import Run, workload_part
from kueue_fast.sim.explanation import SCHEMA, Document, Named
from kueue_fast.sim.manifest import Manifest
from kueue_fast.sim.options import SimulationOptions
from kueue_fast.sim.result import SimulationResult, WorkloadRow
from kueue_fast.sim.simulate import Simulation

__all__ = ["Target", "explain", "read_target"]

NANOSECONDS: Final = 1_000_000_000
MOST_NAMES: Final = 5
_EXPECTED: Final = "KIND/NAMESPACE/NAME with the kind Job or Workload, such as Job/team-a/train"
_KINDS: Final = {"job": Job.KIND, "jobs": Job.KIND, "workload": Workload.KIND, "workloads": Workload.KIND}


class Target(NamedTuple):
    """An object to explain."""

    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        return "/".join(self)


def read_target(text: str) -> Target:
    """The object that `KIND/NAMESPACE/NAME` names; the kind may be a plural, in any case.

    Raises InputError for anything else.
    """
    parts = text.split("/")
    if len(parts) != 3 or not all(parts):
        raise InputError(f"{text!r} names no object", expected=_EXPECTED)
    kind = _KINDS.get(parts[0].lower())
    if kind is None:
        raise InputError(f"the kind {parts[0]!r} cannot be explained", expected=_EXPECTED)
    return Target(kind, parts[1], parts[2])


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
    rows = _rows(result, target)
    state, message = "Found", ""
    if not rows:
        state, message = _without_workload(simulation, manifests, result, target)
    run = Run(simulation.cluster, simulation.engine, simulation.recorder, result, now)
    return Document(
        schema=SCHEMA,
        start=times.format(result.start_ns),
        time=(now - result.start_ns) / NANOSECONDS,
        end_of_run=not result.stopped,
        object=Named(kind=target.kind, namespace=target.namespace, name=target.name),
        state=state,
        message=message,
        workloads=[workload_part(run, row) for row in rows],
    )


def _rows(result: SimulationResult, target: Target) -> list[WorkloadRow]:
    """Workloads of the object, in the order of arrival."""
    if target.kind == Workload.KIND:
        return [row for row in result.workloads if (row.namespace, row.name) == target[1:]]
    owned = (
        row for row in result.workloads if (row.owner_kind, row.owner_name) == (target.kind, target.name)
    )
    return [row for row in owned if row.namespace == target.namespace]


def _without_workload(
    simulation: Simulation, manifests: Sequence[Manifest], result: SimulationResult, target: Target
) -> tuple[str, str]:
    """State and words for an object that has no Workload."""
    job: Job | None = simulation.cluster.get(*target) if target.kind == Job.KIND else None
    if job is not None:
        if not queue_name(job.metadata):
            return "OutsideKueue", "It names no LocalQueue: it runs outside Kueue and takes no quota."
        return "NoWorkload", "Kueue has made no Workload for it."
    for manifest in manifests:
        if identity(manifest.object) == target:
            return "NotCreated", f"It is not there yet: it arrives {_arrival(manifest, result.start_ns)}."
    raise InputError(f"{target} is not in the input", expected=_near(manifests, result, target))


def _arrival(manifest: Manifest, start_ns: int) -> str:
    facts = manifest.facts
    at = facts.arrival_ns
    if at is None:
        at = (facts.arrival_time_ns or start_ns) - start_ns
    return f"{times.format_duration(at)} after the start"


def _near(manifests: Sequence[Manifest], result: SimulationResult, target: Target) -> str:
    """Names that are like one that is unknown: first the same name elsewhere, then similar ones."""
    known = {Target(*identity(each.object)) for each in manifests if each.object.KIND in _KINDS.values()}
    known |= {Target(Workload.KIND, row.namespace, row.name) for row in result.workloads}
    if not known:
        return "a Job or Workload, of which there is none"
    same = sorted(str(each) for each in known if each.name == target.name)
    names = sorted(str(each) for each in known)
    close = get_close_matches(str(target), names, n=MOST_NAMES, cutoff=0.6)
    found = list(dict.fromkeys([*same, *close]))[:MOST_NAMES]
    if not found:
        found = names[:MOST_NAMES]
        return "one of " + ", ".join(found) + (", ..." if len(names) > MOST_NAMES else "")
    return " or ".join(found)
