"""A result as tables for people.

The same result gives the same text: widths depend on what is printed and on the width asked for, never on the
time or on the order of a mapping. Text that does not fit is wrapped, not cut.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby
from typing import Final, TextIO

from rich.console import Console
from rich.table import Table
from rich.text import Text

from kueue_fast.model import times
from kueue_fast.model.quantities import UNLIMITED
from kueue_fast.sim.report_cells import (
    DASH,
    NAME,
    NUMBER,
    Kind,
    add_row,
    amount,
    decimals,
    mean,
    new_table,
    print_parts,
    print_table,
    short_duration,
    since,
)
from kueue_fast.sim.report_preemptions import MOST_PREEMPTIONS, eviction_table, preemption_table
from kueue_fast.sim.report_slices import slice_table
from kueue_fast.sim.report_topology import gang_table, level_table
from kueue_fast.sim.result import (
    FlavorRow,
    Outcome,
    QueueRow,
    ResourceUse,
    SimulationResult,
    State,
    WorkloadRow,
)

__all__ = ["MOST_ROWS", "print_report"]

MOST_ROWS: Final = 200
"""Beyond this many workloads the table shows the first ones only, and a summary is added."""
SHOWN_OF_MANY: Final = 20
MOST_WAITING: Final = 20
MOST_NAMES: Final = 3
MOST_GANGS: Final = 3


def print_report(result: SimulationResult, file: TextIO, *, width: int | None = None) -> None:
    """Write the tables to `file`, in colour on a terminal only.

    Without `width` a terminal's own is used; elsewhere the variable COLUMNS, or 120.
    """
    print_parts(lambda console: write(result, console), file, width)


def write(result: SimulationResult, console: Console) -> None:
    """All parts, in the order in which people ask."""
    console.print(headline(result), soft_wrap=True)
    for note in result.notes:
        console.print(f"Note: {note}", soft_wrap=True)
    print_table(console, workload_table(result))
    if len(result.workloads) > MOST_ROWS:
        hidden = len(result.workloads) - SHOWN_OF_MANY
        console.print(f"... and {hidden} more workloads: --json lists all of them.", soft_wrap=True)
        print_table(console, waiting_table(result))
    if any(row.slice is not None for row in result.workloads):
        print_table(console, slice_table(result))
    print_waiting(console, result)
    if result.preemptions:
        print_table(console, preemption_table(result))
        hidden = len(result.preemptions) - MOST_PREEMPTIONS
        if hidden > 0:
            console.print(f"... and {hidden} more preemptions: --json lists all of them.", soft_wrap=True)
    if result.evictions:
        print_table(console, eviction_table(result))
        hidden = len(result.evictions) - MOST_PREEMPTIONS
        if hidden > 0:
            console.print(f"... and {hidden} more evictions: --json lists all of them.", soft_wrap=True)
    print_table(console, queue_table(result))
    for queue in result.queues:
        if not queue.active:
            console.print(f"{queue.name} is not active ({queue.reason}): {queue.message}", soft_wrap=True)
    print_table(console, use_table(result))
    print_topologies(console, result)
    if result.events:
        print_events(console, result)


def headline(result: SimulationResult) -> str:
    """One line: how long, how many, what became of them."""
    count = dict.fromkeys(State, 0)
    ends = dict.fromkeys((Outcome.FAILED, Outcome.REPLACED), 0)
    for row in result.workloads:
        count[row.state] += 1
        if row.outcome in ends:
            ends[row.outcome] += 1
    other = ", ".join(f"{number} {outcome.value.lower()}" for outcome, number in ends.items() if number)
    parts = [f"{count[State.FINISHED]} finished" + (f" ({other})" if other else "")]
    for state, word in (
        (State.RUNNING, "running"),
        (State.RESERVED, "with quota reserved"),
        (State.PENDING, "pending"),
        (State.DELETED, "deleted"),
    ):
        if count[state]:
            parts.append(f"{count[state]} {word}")
    preempted = len(result.preemptions)
    evictions = f", {preempted} preemption{'s' if preempted > 1 else ''}" if preempted else ""
    how = "stopped after" if result.stopped else "took"
    return (
        f"The run started at {times.format(result.start_ns)} and {how} {times.format_duration(result.duration_ns)}: "
        f"{len(result.workloads)} workloads, {', '.join(parts)}; {result.cycles} scheduling cycles{evictions}."
    )


def workload_table(result: SimulationResult) -> Table:
    """One row a workload in the order of arrival; with the kinds of their jobs where not all are Jobs."""
    several = {row.owner_kind for row in result.workloads} - {None, "Job"}
    kind_column: list[tuple[str, Kind]] = [("Kind", NAME)] if several else []
    columns: list[tuple[str, Kind]] = [
        ("Workload", NAME),
        *kind_column,
        ("Queue", NAME),
        ("Priority", NUMBER),
        ("Arrived", NUMBER),
        ("Admitted", NUMBER),
        ("Waited", NUMBER),
        ("Finished", NUMBER),
        ("Flavor", NAME),
    ]
    if result.preemptions:
        columns.append(("Preempted", NUMBER))
    table = new_table("Workloads", columns)
    rows = result.workloads
    for row in rows if len(rows) <= MOST_ROWS else rows[:SHOWN_OF_MANY]:
        add_row(
            table,
            row.key,
            *((row.owner_kind or DASH,) if several else ()),
            row.queue or DASH,
            str(row.priority),
            since(result, row.arrived_ns),
            since(result, row.admitted_ns),
            DASH if row.waited_ns is None else times.format_duration(row.waited_ns),
            finished_cell(result, row),
            flavor_cell(row),
            *((f"{row.preemptions}x" if row.preemptions else DASH,) if result.preemptions else ()),
        )
    return table


def finished_cell(result: SimulationResult, row: WorkloadRow) -> Text:
    """When a workload ended, or where it stands instead."""
    if row.state is State.FINISHED:
        when = since(result, row.finished_ns)
        if row.outcome is Outcome.REPLACED:
            return Text(f"{when} replaced", style="dim")
        return Text(f"{when} failed", style="red") if row.outcome is Outcome.FAILED else Text(when)
    if row.state is State.DELETED:
        return Text(f"{since(result, row.finished_ns)} deleted", style="dim")
    if row.evicting:
        return Text("stopping", style="magenta")
    words = {
        State.RUNNING: ("running", "green"),
        State.RESERVED: ("reserved", "cyan"),
        State.PENDING: ("pending", "yellow"),
    }
    word, style = words[row.state]
    return Text(word, style=style)


def flavor_cell(row: WorkloadRow) -> str:
    """Flavors that were given: short where one flavor serves all, else by pod set and resource."""
    if not row.pod_sets:
        return DASH
    names = {flavor for pod_set in row.pod_sets for _, flavor in pod_set.flavors}
    if len(names) <= 1:
        return next(iter(names), DASH)
    parts = []
    for pod_set in row.pod_sets:
        by_flavor: dict[str, list[str]] = {}
        for resource, flavor in pod_set.flavors:
            by_flavor.setdefault(flavor, []).append(resource)
        given = ", ".join(
            flavor if len(by_flavor) == 1 else f"{flavor} ({', '.join(resources)})"
            for flavor, resources in by_flavor.items()
        )
        parts.append(given if len(row.pod_sets) == 1 else f"{pod_set.name}: {given or DASH}")
    return "; ".join(parts)


def waiting_table(result: SimulationResult) -> Table:
    """Waiting times by priority, highest first."""
    table = new_table(
        "Waiting time by priority",
        [
            (name, NUMBER)
            for name in (
                "Priority",
                "Workloads",
                "Admitted",
                "Finished",
                "Mean",
                "Median",
                "90%",
                "99%",
                "Longest",
            )
        ],
    )
    ordered = sorted(result.workloads, key=lambda row: -row.priority)
    for priority, group in groupby(ordered, key=lambda row: row.priority):
        rows = list(group)
        waits = sorted(row.waited_ns for row in rows if row.waited_ns is not None)
        add_row(
            table,
            str(priority),
            str(len(rows)),
            str(len(waits)),
            str(sum(row.state is State.FINISHED for row in rows)),
            short_duration(sum(waits) // len(waits)) if waits else DASH,
            *(short_duration(quantile(waits, percent)) if waits else DASH for percent in (50, 90, 99, 100)),
        )
    return table


def quantile(ordered: Sequence[int], percent: int) -> int:
    """The smallest value that at least `percent` of the values do not exceed."""
    return ordered[max(0, -(-len(ordered) * percent // 100) - 1)]


def print_waiting(console: Console, result: SimulationResult) -> None:
    """Why workloads wait: the same words once, with the names they hold for."""
    groups = waiting_groups(result)
    if not groups:
        return
    console.print()
    console.print(Text("Why they wait", style="bold"))
    for names, lines in groups:
        console.print(Text(f"  {names}"), soft_wrap=True)
        for line in lines:
            console.print(Text(f"    {line}"), soft_wrap=True)


def waiting_groups(result: SimulationResult) -> list[tuple[str, list[str]]]:
    """Names of workloads, and why they wait, line by line; the last group counts those that are left out."""
    groups: dict[tuple[str, str, tuple[str, ...]], list[str]] = {}
    for row in result.workloads:
        if row.state in (State.PENDING, State.RESERVED):
            why = (row.waiting_reason, row.waiting_message, row.waits_for)
            groups.setdefault(why, []).append(row.key)
    found = []
    for (reason, message, victims), names in list(groups.items())[:MOST_WAITING]:
        lines = [f"{reason}: {message}"]
        if victims:
            lines.append(f"until these have stopped: {listed(victims)}")
        found.append((listed(names), lines))
    if len(groups) > MOST_WAITING:
        found.append((f"... and {len(groups) - MOST_WAITING} more reasons: --json lists all of them.", []))
    return found


def listed(names: Sequence[str]) -> str:
    """The first names, and how many more there are."""
    shown = ", ".join(names[:MOST_NAMES])
    return f"{shown} and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else shown


def queue_table(result: SimulationResult) -> Table:
    """One row a ClusterQueue, flavor and resource, as it stands at the end of the run."""
    columns: list[tuple[str, Kind]] = [
        ("Name", NAME),
        ("Cohort", NAME),
        ("Quota", NAME),
        ("Nominal", NUMBER),
        ("Reserved", NUMBER),
        ("Borrowed", NUMBER),
        ("Pending", NUMBER),
        ("Admitted", NUMBER),
    ]
    fair = any(queue.weight is not None for queue in result.queues)
    if fair:
        columns += [("Weight", NUMBER), ("Share", NUMBER)]
    table = new_table("ClusterQueues", columns)
    for queue in result.queues:
        counts = (str(queue.pending), str(queue.admitted), *(share_cells(queue) if fair else ()))
        head = (queue.name, queue.cohort or DASH)
        if not queue.resources:
            add_row(table, *head, *(DASH,) * 4, *counts)
        for use in queue.resources:
            add_row(
                table,
                *head,
                f"{use.flavor}/{use.resource}",
                amount(use.resource, use.nominal),
                amount(use.resource, use.reserved),
                amount(use.resource, use.borrowed),
                *counts,
            )
            # What belongs to the queue as a whole stands in its first line only.
            head, counts = ("", ""), ("",) * len(counts)
    return table


def share_cells(queue: QueueRow) -> tuple[str, str]:
    """Weight and weighted share in fair sharing."""
    share = queue.weighted_share or 0.0
    return decimals(queue.weight or 0.0), "infinite" if math.isinf(share) else decimals(share)


def use_table(result: SimulationResult) -> Table:
    """Use over the run by queue, then over all queues; the share is mean use of the nominal quota."""
    table = new_table(
        "Use over the run",
        [
            ("ClusterQueue", NAME),
            ("Quota", NAME),
            ("Nominal", NUMBER),
            ("Peak", NUMBER),
            ("Mean", NUMBER),
            ("Mean share", NUMBER),
        ],
    )
    for queue in result.queues:
        name = queue.name
        for use in queue.resources:
            add_row(table, name, *use_cells(use, result.duration_ns))
            name = ""
    name = "all queues"
    for row in result.flavors:
        add_row(table, name, *use_cells(row, result.duration_ns))
        name = ""
    return table


def print_topologies(console: Console, result: SimulationResult) -> None:
    """Levels and gangs at the end of the run, by flavor."""
    for row in result.topologies:
        print_table(console, level_table(row.end, f"Topology {row.topology} of flavor {row.flavor}"))
        if row.end.gangs:
            print_table(console, gang_table(row.end, f"Room for gangs in flavor {row.flavor}", MOST_GANGS))


def use_cells(use: ResourceUse | FlavorRow, duration_ns: int) -> tuple[str, ...]:
    """Flavor, resource, nominal quota, peak, mean, and the mean in percent of the quota."""
    average = use.mean(duration_ns)
    share = DASH if use.nominal in (0, UNLIMITED) else f"{100 * average / use.nominal:.1f}%"
    return (
        f"{use.flavor}/{use.resource}",
        amount(use.resource, use.nominal),
        amount(use.resource, use.peak),
        mean(use.resource, average),
        share,
    )


def print_events(console: Console, result: SimulationResult) -> None:
    """Events in the order in which they happened, one a line: there may be more than a table is made for."""
    lines = [
        (
            since(result, event.time_ns),
            event.type,
            event.reason,
            f"{event.kind} {event.namespace}/{event.name}",
            event.message,
        )
        for event in result.events
    ]
    header = ("Time", "Type", "Reason", "Object", "Message")
    time, type_, reason, name = (max(len(line[column]) for line in (header, *lines)) for column in range(4))
    console.print()
    console.print(Text("Events", style="bold"))
    console.file.writelines(
        f"{line[0]:>{time}}  {line[1]:{type_}}  {line[2]:{reason}}  {line[3]:{name}}  {line[4]}\n"
        for line in (header, *lines)
    )
