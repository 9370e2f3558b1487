"""A result as one page that needs nothing else: no scripts, no fonts, no pictures from elsewhere.

Same result, same bytes. It shows what the text report shows, use over time, and who sat where in topologies.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from kueue_fast.model import times
from kueue_fast.sim.html_chart import charts
from kueue_fast.sim.html_parts import OTHER_COLOUR, Markup, colour, element, joined, table_element
from kueue_fast.sim.html_style import STYLE
from kueue_fast.sim.html_topology import picture
from kueue_fast.sim.report import (
    MOST_ROWS,
    SHOWN_OF_MANY,
    headline,
    queue_table,
    use_table,
    waiting_groups,
    waiting_table,
    workload_table,
)
from kueue_fast.sim.report_cells import since
from kueue_fast.sim.report_preemptions import MOST_PREEMPTIONS, eviction_table, preemption_table
from kueue_fast.sim.report_topology import gang_table, level_table, short_level
from kueue_fast.sim.result import SimulationResult
from kueue_fast.sim.topology_result import TopologyMoment, TopologyRow

__all__ = ["to_html"]

MOST_LEGEND: Final = 60
MOST_EVENTS: Final = 1000


def to_html(result: SimulationResult) -> bytes:
    """The page, in UTF-8."""
    body = joined(
        [
            element("h1", "Simulation"),
            element("p", headline(result), class_="headline"),
            *(element("p", f"Note: {note}") for note in result.notes),
            *_workloads(result),
            *_waiting(result),
            *_preemptions(result),
            element("h2", "ClusterQueues"),
            table_element(queue_table(result)),
            *(
                element("p", f"{queue.name} is not active ({queue.reason}): {queue.message}")
                for queue in result.queues
                if not queue.active
            ),
            *_use(result),
            *_topologies(result),
            *_events(result),
        ]
    )
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("title", "Simulation"),
        element("style", Markup(STYLE)),
    )
    page = element("html", head, element("body", body), lang="en", xmlns="http://www.w3.org/1999/xhtml")
    return f"<!DOCTYPE html>\n{page.text}\n".encode()


def _workloads(result: SimulationResult) -> Iterator[Markup]:
    yield element("h2", "Workloads")
    yield table_element(workload_table(result))
    if len(result.workloads) > MOST_ROWS:
        hidden = len(result.workloads) - SHOWN_OF_MANY
        yield element("p", f"... and {hidden} more workloads: --json lists all of them.")
        yield element("h2", "Waiting time by priority")
        yield table_element(waiting_table(result))


def _waiting(result: SimulationResult) -> Iterator[Markup]:
    groups = waiting_groups(result)
    if groups:
        yield element("h2", "Why they wait")
        yield element(
            "dl",
            *(
                joined([element("dt", names), *(element("dd", line) for line in lines)])
                for names, lines in groups
            ),
        )


def _preemptions(result: SimulationResult) -> Iterator[Markup]:
    if result.preemptions:
        yield element("h2", "Preemptions")
        yield table_element(preemption_table(result))
        hidden = len(result.preemptions) - MOST_PREEMPTIONS
        if hidden > 0:
            yield element("p", f"... and {hidden} more preemptions: --json lists all of them.")
    if result.evictions:
        yield element("h2", "Evictions")
        yield table_element(eviction_table(result))
        hidden = len(result.evictions) - MOST_PREEMPTIONS
        if hidden > 0:
            yield element("p", f"... and {hidden} more evictions: --json lists all of them.")


def _use(result: SimulationResult) -> Iterator[Markup]:
    yield element("h2", "Use over the run")
    figures = charts(result)
    if figures:
        yield element("div", *figures, class_="charts")
    yield table_element(use_table(result))


def _topologies(result: SimulationResult) -> Iterator[Markup]:
    seated: dict[str, None] = {}
    for row in result.topologies:
        for moment in (row.peak, row.end):
            if moment is not None:
                seated.update(dict.fromkeys(moment.workloads))
    colours = {key: colour(index) for index, key in enumerate(seated)}
    for row in result.topologies:
        yield from _topology(result, row, colours)


def _topology(result: SimulationResult, row: TopologyRow, colours: Mapping[str, str]) -> Iterator[Markup]:
    yield element("h2", f"Topology of flavor {row.flavor}")
    yield element(
        "p",
        f"{row.topology}: "
        + ", ".join(map(short_level, row.levels))
        + ". A box is as full as its fullest resource.",
    )
    moments = [(row.end, "at the end")]
    if row.peak is not None and row.peak.time_ns != row.end.time_ns:
        moments.insert(0, (row.peak, "at its highest use"))
    yield _legend(row, colours)
    for moment, when in moments:
        yield _moment(result, row, moment, when, colours)


def _moment(
    result: SimulationResult,
    row: TopologyRow,
    moment: TopologyMoment,
    when: str,
    colours: Mapping[str, str],
) -> Markup:
    nodes = sum(leaf.nodes for leaf in moment.leaves)
    ready = sum(leaf.ready for leaf in moment.leaves)
    caption = (
        f"{when[0].upper()}{when[1:]}, {since(result, moment.time_ns)} after the start: {moment.pods} pods of "
        f"{len(moment.workloads)} workloads on {nodes} nodes"
        + (f", {nodes - ready} not ready" if ready < nodes else "")
    )
    parts = [
        element("figcaption", caption),
        picture(moment, row.levels, colours, f"Flavor {row.flavor} {when}"),
        element("h3", f"Levels {when}"),
        table_element(level_table(moment, "")),
    ]
    if moment.gangs:
        parts += [element("h3", f"Room for gangs {when}"), table_element(gang_table(moment, ""))]
    return element("figure", joined(parts))


def _legend(row: TopologyRow, colours: Mapping[str, str]) -> Markup:
    here: dict[str, None] = {}
    for moment in (row.peak, row.end):
        if moment is not None:
            here.update(dict.fromkeys(moment.workloads))
    entries = [(key, colours[key]) for key in here]
    hidden = len(entries) - MOST_LEGEND
    items: list[Markup] = [_entry(name, fill) for name, fill in entries[:MOST_LEGEND]]
    if hidden > 0:
        items.append(element("li", f"and {hidden} more"))
    moments = (row.end,) if row.peak is None else (row.peak, row.end)
    if any(leaf.other for moment in moments for leaf in moment.leaves):
        items.append(_entry("other pods", OTHER_COLOUR))
    return element("ul", *items, class_="legend")


def _entry(name: str, fill: str) -> Markup:
    return element("li", element("i", style=f"background:{fill}"), name)


def _events(result: SimulationResult) -> Iterator[Markup]:
    if not result.events:
        return
    yield element("h2", "Events")
    rows: Iterable[Markup] = (
        element(
            "tr",
            element("td", times.format_duration(event.time_ns - result.start_ns), class_="number"),
            element("td", event.reason),
            element("td", f"{event.kind} {event.namespace}/{event.name}"),
            element("td", event.message),
        )
        for event in result.events[:MOST_EVENTS]
    )
    head = element(
        "tr", *(element("th", name, scope="col") for name in ("Time", "Reason", "Object", "Message"))
    )
    yield element(
        "div", element("table", element("thead", head), element("tbody", joined(rows))), class_="wide"
    )
    hidden = len(result.events) - MOST_EVENTS
    if hidden > 0:
        yield element("p", f"... and {hidden} more events: --json lists all of them.")
