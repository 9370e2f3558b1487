"""What a cycle decided, as objects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol, TypeAlias

import msgspec

from kueue_fast.arrays.decisions import PodSetAssignment

__all__ = ["Admission", "Cycle", "PodSetAssignment", "Preemption", "Requests", "Requeued"]


class Admission(msgspec.Struct, frozen=True, gc=False):
    """A workload that got its quota. With `checks` it is reserved only, until these AdmissionChecks are ready."""

    workload: str
    cluster_queue: str
    pod_sets: tuple[PodSetAssignment, ...]
    checks: tuple[str, ...]
    considered: str = ""
    """Flavors that did not simply fit, as the event tells of them (QP-465); only with `Engine(attempts=True)`."""


Requests: TypeAlias = tuple[tuple[str, Mapping[str, int]], ...]
"""Pod sets in order: the name, and what all its pods ask for by resource, in the kernel's units."""


class Words(Protocol):
    """What a cycle found, in words when it is called."""

    def __call__(self) -> str:
        """Why the workload waits."""

    def requests(self) -> Requests:
        """What its pod sets ask for."""


class Requeued(NamedTuple):
    """A head that went back to its queue. `reason` is upstream's, `outcome` ours, `words` makes the text."""

    workload: str
    cluster_queue: str
    reason: str
    outcome: str
    words: Words
    again: bool = False
    """It holds its quota and found no places; it comes again after a while (TP-1604)."""

    def message(self) -> str:
        """Why it waits, in upstream's words."""
        return self.words()

    def requests(self) -> Requests:
        """What its pod sets asked for."""
        return self.words.requests()


class Preemption(msgspec.Struct, frozen=True, gc=False):
    """An eviction that a cycle issued. `cluster_queue` is the victim's, `reason` upstream's (QP-704)."""

    workload: str
    cluster_queue: str
    reason: str
    preemptor: str


class Eviction(NamedTuple):
    """A workload that must stop for another reason than preemption. `reason` and `message` are upstream's (TP-1509)."""

    workload: str
    cluster_queue: str
    reason: str
    message: str


class Replacement(NamedTuple):
    """A slice whose place a newer one took: it is finished, and its quota is free then (JS-603)."""

    workload: str
    cluster_queue: str
    replaced_by: str


class Cycle(NamedTuple):
    """Decisions of one scheduling cycle, in the order in which they were taken."""

    number: int
    heads: int
    admitted: list[Admission]
    requeued: list[Requeued]
    changed: bool
    """Whether it admitted or preempted something, or a flavor scan stopped elsewhere than before.

    If not, another cycle would be idle.
    """
    preempted: list[Preemption]
    evicted: Sequence[Eviction] = ()
    replaced: Sequence[Replacement] = ()
    moved: Sequence[Admission] = ()
    """Workloads that held their quota already and have other, or their first, places now."""
