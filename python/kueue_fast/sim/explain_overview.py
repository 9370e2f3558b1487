"""Several Workloads of one object at a glance, and which of them are worth telling about one by one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rich.table import Table

from kueue_fast.model import times
from kueue_fast.sim.explanation import WorkloadPart
from kueue_fast.sim.report_cells import DASH, NAME, NUMBER, Kind, add_row, new_table

__all__ = ["MOST_TOLD", "duration", "overview", "told_alone"]

MOST_ROWS: Final = 40
MOST_TOLD: Final = 5
"""How many are told about one by one at most."""
_OVER: Final = ("Finished", "Deleted")


def told_alone(workloads: Sequence[WorkloadPart]) -> list[WorkloadPart]:
    """Those that have not ended, the last one if all have; where they are many, some, and first those that wait."""
    live = [each for each in workloads if each.state not in _OVER] or list(workloads[-1:])
    chosen = sorted(live, key=lambda each: each.state != "Pending")[:MOST_TOLD]
    return [each for each in live if any(each is one for one in chosen)]


def overview(workloads: Sequence[WorkloadPart]) -> Table:
    """One row a workload, in the order of arrival."""
    sliced = any(each.sizes for each in workloads)
    title = f"{'Slices' if sliced else 'Workloads'}: {len(workloads)}"
    if len(workloads) > MOST_ROWS:
        title += f" (the last {MOST_ROWS}: --json lists all of them)"
    columns: list[tuple[str, Kind]] = [("Workload", NAME)]
    columns += [("Pods", NAME)] if sliced else []
    columns += [("State", NAME), ("Arrived", NUMBER), ("Admitted", NUMBER), ("Ended", NUMBER)]
    table = new_table(title, columns)
    for each in workloads[-MOST_ROWS:]:
        got = each.admission
        state = each.state
        if got is not None and got.outcome is not None:
            state += f" ({got.outcome})"
        elif each.evicting:
            state += ", stopping"
        add_row(
            table,
            f"{each.namespace}/{each.name}",
            *((_sizes(each),) if sliced else ()),
            state,
            duration(each.arrived),
            _when(None if got is None else got.admitted),
            _when(None if got is None else got.finished),
        )
    return table


def _sizes(part: WorkloadPart) -> str:
    """The pods that a slice asked for: `8, 3 from 30m0s`."""
    sizes = part.sizes or []
    first = [str(each.pods) for each in sizes[:1]]
    return ", ".join([*first, *(f"{each.pods} from {duration(each.time)}" for each in sizes[1:])]) or DASH


def _when(seconds: float | None) -> str:
    return DASH if seconds is None else duration(seconds)


def duration(seconds: float) -> str:
    """Seconds as a duration such as 1h30m0s."""
    return times.format_duration(round(seconds * times.SECOND))
