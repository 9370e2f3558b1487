"""What the Workload controller asks for after a look at a Workload."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from kueue_fast.api.kueue import Workload
from kueue_fast.lifecycle.events import Event

__all__ = ["REST", "DeleteWorkload", "Step", "UpdateWorkload", "UpdateWorkloadStatus", "Write", "again"]


class UpdateWorkload(NamedTuple):
    """Write metadata and spec."""

    workload: Workload


class UpdateWorkloadStatus(NamedTuple):
    """Write the status. `whole`: what is not in it goes, also what others wrote."""

    workload: Workload
    whole: bool = False


class DeleteWorkload(NamedTuple):
    """Delete the Workload."""

    workload: Workload


Write: TypeAlias = UpdateWorkload | UpdateWorkloadStatus | DeleteWorkload


class Step(NamedTuple):
    """Writes in order, then events; without writes, when to look again in ns since 1970 (None: at the next change).

    What is written brings the Workload back for the next step.
    """

    writes: tuple[Write, ...] = ()
    events: tuple[Event, ...] = ()
    again_ns: int | None = None


REST = Step()


def again(at_ns: int) -> Step:
    """Nothing now; look again then."""
    return Step(again_ns=at_ns)
