"""The slices of elastic jobs as a table."""

from __future__ import annotations

from typing import Final

from rich.table import Table

from kueue_fast.sim.report_cells import DASH, NAME, NUMBER, Kind, add_row, new_table, since
from kueue_fast.sim.result import Outcome, SimulationResult, State, WorkloadRow

__all__ = ["slice_table"]

MOST_SLICES: Final = 40


def slice_table(result: SimulationResult) -> Table:
    """One row a slice: job after job as they came, the slices of each in the order in which they were made."""
    columns: list[tuple[str, Kind]] = [
        ("Job", NAME),
        ("Slice", NAME),
        ("Pods", NAME),
        ("Made", NUMBER),
        ("Admitted", NUMBER),
        ("Ended", NUMBER),
        ("Became", NAME),
    ]
    rows = [row for row in result.workloads if row.slice is not None]
    newer = {row.slice.replaces: row.name for row in rows if row.slice is not None and row.slice.replaces}
    jobs: dict[tuple[str, str], list[WorkloadRow]] = {}
    for row in rows:
        jobs.setdefault((row.namespace, row.owner_name or DASH), []).append(row)
    ordered = [row for slices in jobs.values() for row in slices]
    title = "Slices of elastic jobs"
    if len(ordered) > MOST_SLICES:
        title += f" (the first {MOST_SLICES} of {len(ordered)}: --json lists all of them)"
    table = new_table(title, columns)
    for row in ordered[:MOST_SLICES]:
        add_row(
            table,
            f"{row.namespace}/{row.owner_name or DASH}",
            row.name,
            sizes_cell(result, row),
            since(result, row.arrived_ns),
            since(result, row.admitted_ns),
            since(result, row.finished_ns),
            end_cell(row, newer.get(row.key)),
        )
    return table


def sizes_cell(result: SimulationResult, row: WorkloadRow) -> str:
    """The pods that a slice asked for: `8, 3 from 30m0s`."""
    sizes = row.slice.sizes if row.slice is not None else []
    first = [str(pods) for _, pods in sizes[:1]]
    return ", ".join([*first, *(f"{pods} from {since(result, time)}" for time, pods in sizes[1:])])


def end_cell(row: WorkloadRow, newer: str | None) -> str:
    """What became of a slice; `newer` is the name of the one that was made to take its place."""
    if row.state is not State.FINISHED or row.outcome is None:
        return "stopping" if row.evicting else row.state.value.lower()
    if row.outcome is Outcome.REPLACED:
        return f"replaced by {newer}" if newer is not None else "replaced"
    return f"{row.outcome.value.lower()}"
