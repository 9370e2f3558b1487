"""An explanation in words and tables for people. The same document gives the same text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, TextIO

from rich.console import Console
from rich.text import Text

from kueue_fast.lifecycle.eviction import reason_words
from kueue_fast.sim.explain_overview import MOST_TOLD, duration, overview, told_alone
from kueue_fast.sim.explanation import (
    Admitted,
    Document,
    FlavorPart,
    Given,
    HolderPart,
    Preempted,
    PreemptionPart,
    QueuePart,
    TopologyPart,
    Victim,
    WorkloadPart,
)
from kueue_fast.sim.report_cells import (
    DASH,
    NAME,
    NUMBER,
    Kind,
    add_row,
    decimals,
    new_table,
    print_parts,
    print_table,
)

__all__ = ["print_explanation"]

MOST_NAMES: Final = 5
MOST_PLACES: Final = 8
_WHY: Final = {
    "ExceedsMaximum": "more than there ever is",
    "WaitingForQuota": "not free now",
    "NotEligible": "the pods may not use it",
    "AffinityError": "an affinity cannot be read",
    "NotPlaced": "no places for the pods",
    "TopologyUnsupported": "has no topology",
    "TopologyOnly": "only for topology requests",
    "TopologyUnknown": "its Topology is missing",
    "LevelMissing": "its Topology lacks a level",
    "OtherFlavorOfSlice": "not the flavor of the older slice",
    "NotNominated": "not the flavor that was nominated",
}


def print_explanation(document: Document, file: TextIO, *, width: int | None = None) -> None:
    """Write the explanation to `file`, in colour on a terminal only; `width` as for `print_report`."""
    print_parts(lambda console: _write(document, console), file, width)


def _write(document: Document, console: Console) -> None:
    named = document.object
    end = ", when nothing is left to happen" if document.end_of_run else ""
    at = duration(document.time)
    console.print(f"{named.kind} {named.namespace}/{named.name} at {at}{end}", soft_wrap=True, style="bold")
    if document.message:
        console.print(Text(f"  {document.message}"), soft_wrap=True)
    told = document.workloads
    if len(told) > 1:
        print_table(console, overview(told))
        told = told_alone(told)
    for workload in told:
        _write_workload(document, workload, console)
    left = len(document.workloads) - len(told)
    if left and len(told) == MOST_TOLD:
        console.print()
        console.print(f"--json tells of the other {left}")


def _write_workload(document: Document, part: WorkloadPart, console: Console) -> None:
    console.print()
    state = f"{part.state}, stopping" if part.evicting else part.state
    owner = f" of {part.owner.kind} {part.owner.name}" if part.owner is not None else ""
    console.print(
        Text(f"Workload {part.namespace}/{part.name}{owner}: {state}", style="bold"), soft_wrap=True
    )
    for line in (*_head(document, part), *_queue_lines(part.queue), *_why_lines(document, part)):
        console.print(Text(f"  {line}"), soft_wrap=True)
    if part.flavors:
        _print_flavors(part.flavors, console)
    for topology in part.topology:
        _print_topology(topology, console)
    if part.preemption is not None:
        _print_lines("Preemption", _preemption_lines(part.preemption), console)
    if part.admission is not None:
        _print_lines("What it got", _admission_lines(part.admission), console)
    if part.preempted:
        _print_lines("Stopped for it", [_preempted(one, one.workload) for one in part.preempted], console)
    if part.preempted_by:
        lines = [_preempted(one, one.preemptor) for one in part.preempted_by]
        _print_lines("It was stopped for", lines, console)
    if part.evictions:
        lines = [f"{one.reason} at {duration(one.time)}: {one.message}" for one in part.evictions]
        _print_lines("It was stopped otherwise", lines, console)


def _print_lines(title: str, lines: Iterator[str] | Sequence[str], console: Console) -> None:
    console.print()
    console.print(Text(title, style="bold"))
    for line in lines:
        console.print(Text(f"  {line}"), soft_wrap=True)


def _head(document: Document, part: WorkloadPart) -> Iterator[str]:
    yield part.summary
    if part.evicting:
        yield f"Evicted: {part.evicting}"
    kind = f" ({part.priority_class})" if part.priority_class else ""
    waited = ""
    if part.waiting_since is not None:
        waited = f", waits for {duration(document.time - part.waiting_since)}"
    yield f"Arrived {duration(part.arrived)}{waited}; priority {part.priority}{kind}"
    if part.replaces is not None and part.admission is None:
        yield f"Takes the place of {part.replaces}, whose quota counts for it"
    elif part.replaces is not None:
        yield f"Took the place of {part.replaces}"


def _queue_lines(queue: QueuePart) -> Iterator[str]:
    parts = [f"LocalQueue {queue.local_queue}" if queue.local_queue else "no LocalQueue"]
    if queue.cluster_queue is not None:
        strategy = f" ({queue.strategy})" if queue.strategy else ""
        parts.append(f"ClusterQueue {queue.cluster_queue}{strategy}")
    if queue.cohorts:
        parts.append(f"cohort {'/'.join(queue.cohorts)}")
    yield "Queue: " + ", ".join(parts)
    if queue.fair_sharing is not None:
        share = queue.fair_sharing
        numbers = f"the weight {number(share.weight)} and the share {number(share.weighted_share)}"
        yield f"Fair sharing: {queue.cluster_queue} has {numbers}"
    if queue.place == "Queued":
        order = ", ordered by past use of the LocalQueues first" if queue.by_usage else ""
        before = f"; before it: {listed(queue.ahead)}" if queue.ahead else ""
        yield f"Place: {queue.position} of {queue.queued} in the queue{order}{before}"
    elif queue.place == "Parked":
        others = f", with {queue.parked - 1} more" if queue.parked > 1 else ""
        yield (
            f"Place: parked{others}: it is tried again when a workload ends, or a queue, cohort, flavor or node changes"
        )


def _why_lines(document: Document, part: WorkloadPart) -> Iterator[str]:
    for blocker in part.blockers:
        yield f"Blocked by {blocker.kind} {blocker.name} ({blocker.reason}): {blocker.message}"
    if part.backoff is not None:
        until = part.backoff.until
        when = "until it is let go" if until is None else f"until {duration(until)}"
        times_over = f"requeued {part.backoff.count} times, " if part.backoff.count else ""
        yield f"Backoff: {times_over}does not queue {when}"
    if part.look is not None:
        ago = document.time - part.look.time
        when = f"{duration(part.look.time)}, in cycle {part.look.cycle}"
        yield (
            f"Looked at last: {when}"
            + (f", {duration(ago)} before" if ago else "")
            + f": {part.look.outcome}"
        )
        if part.state != "Pending":
            yield part.look.message
    elif part.like is not None:
        yield f"Not looked at itself: it was parked with {part.like}, which asks for the same"
    elif part.blockers or part.backoff is not None:
        yield "Not looked at yet by a scheduling cycle"
    for asked in part.pod_sets:
        requests = ", ".join(f"{name} {amount}" for name, amount in asked.requests.items()) or "no resources"
        least = "" if asked.min_count is None else f" (at least {asked.min_count})"
        yield f"Asks for: pod set {asked.name}, {pods(asked.count)}{least} of {requests}"


def _print_flavors(parts: Sequence[FlavorPart], console: Console) -> None:
    several = len({part.pod_set for part in parts}) > 1
    columns: list[tuple[str, Kind]] = [("Pod set", NAME)] if several else []
    columns += [("Flavor", NAME), ("Resource", NAME)]
    names = ("Asked", "Nominal", "Reserved", "Borrowed", "Available", "At most", "Missing")
    columns += [(name, NUMBER) for name in names]
    columns.append(("Why not", NAME))
    table = new_table("Flavors, in the order in which they are tried", columns)
    for part in parts:
        add_row(
            table,
            *((part.pod_set,) if several else ()),
            part.flavor,
            part.resource,
            part.requested,
            part.nominal_quota,
            part.reserved,
            part.borrowed,
            part.available,
            part.most,
            DASH if part.missing is None or part.reason == "NotPlaced" else part.missing,
            DASH if part.reason is None else _WHY.get(part.reason, part.reason),
        )
    print_table(console, table)


def _print_topology(part: TopologyPart, console: Console) -> None:
    request = f"{part.request}, {part.level}" if part.level else part.request
    slices = f", {', '.join(part.slices)}" if part.slices else ""
    title = (
        f"Topology {part.topology} of flavor {part.flavor}: "
        f"pod set {part.pod_set}, {pods(part.pods)} ({request}{slices})"
    )
    console.print()
    console.print(Text(title, style="bold"), soft_wrap=True)
    table = new_table("", [("Level", NAME), ("Room for", NUMBER), ("Best domain", NAME)])
    for level in part.levels:
        add_row(table, level.level, f"{level.fits} of {part.pods}", "/".join(level.domain) or DASH)
    add_row(table, "all domains together", f"{part.fits_in_all} of {part.pods}", DASH)
    console.print(table)


def _preemption_lines(part: PreemptionPart) -> Iterator[str]:
    threshold = ""
    if part.max_priority_threshold is not None:
        threshold = f" up to priority {part.max_priority_threshold}"
    yield (
        f"Policies: withinClusterQueue {part.within_cluster_queue}, reclaimWithinCohort {part.reclaim_within_cohort}, "
        f"borrowWithinCohort {part.borrow_within_cohort}{threshold}"
    )
    yield part.result
    for holder in part.holders:
        yield _holder(holder)
    if part.waits_for:
        names = [_victim(victim) for victim in part.waits_for]
        yield f"These have not stopped yet: {listed(names)}"


def _holder(holder: HolderPart) -> str:
    borrowing = " (borrowing)" if holder.borrowing else ""
    lower = (
        f"{holder.lower_priority} of lower priority" if holder.lower_priority else "none of lower priority"
    )
    many = "1 workload" if holder.workloads == 1 else f"{holder.workloads} workloads"
    return f"What is missing is held in {holder.cluster_queue}{borrowing} by {many}, {lower}"


def _victim(victim: Victim) -> str:
    other = f", for {victim.preemptor}" if victim.preemptor is not None else ""
    return f"{victim.workload} ({victim.cluster_queue}{other})"


def _admission_lines(part: Admitted) -> Iterator[str]:
    when = []
    for name, time in (("quota reserved", part.quota_reserved), ("admitted", part.admitted)):
        if time is not None:
            when.append(f"{name} {duration(time)}")
    if part.finished is not None:
        how = "deleted" if part.outcome is None else "finished"
        ended = f"{how} {duration(part.finished)}"
        when.append(ended if part.outcome is None else f"{ended} ({part.outcome})")
    yield f"ClusterQueue {part.cluster_queue}: {', '.join(when)}"
    for given in part.pod_sets:
        yield from _given_lines(given)
    for check in part.checks:
        yield f"Admission check {check.name}: {check.state}" + (
            f" ({check.message})" if check.message else ""
        )
    for node in part.unhealthy_nodes:
        yield f"Node {node}, where it has pods, is not healthy"
    if part.next_places is not None:
        yield f"Places for its pods are looked for again at {duration(part.next_places)}"


def _given_lines(given: Given) -> Iterator[str]:
    flavors: dict[str, list[str]] = {}
    for resource, flavor in given.flavors.items():
        flavors.setdefault(flavor, []).append(f"{resource} {given.usage.get(resource, '')}".rstrip())
    shares = "; ".join(
        f"{', '.join(resources)} from flavor {flavor}" for flavor, resources in flavors.items()
    )
    yield f"Pod set {given.name}, {pods(given.count)}" + (f": {shares}" if shares else "")
    for place in given.places[:MOST_PLACES]:
        yield f"  {pods(place.count)} in {'/'.join(place.domain)}"
    if len(given.places) > MOST_PLACES:
        yield f"  and {len(given.places) - MOST_PLACES} more places: --json lists all of them"
    if given.delayed == "Pending":
        yield "  its places come later"


def _preempted(one: Preempted, name: str) -> str:
    return f"{name} at {duration(one.time)}, for {reason_words(one.reason)}"


def pods(count: int) -> str:
    """A number of pods in words."""
    return "1 pod" if count == 1 else f"{count} pods"


def number(value: float | str) -> str:
    """A weight or share with up to two decimals."""
    return value if isinstance(value, str) else decimals(value)


def listed(names: Sequence[str]) -> str:
    """The first names, and how many more there are."""
    shown = ", ".join(names[:MOST_NAMES])
    return f"{shown} and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else shown
