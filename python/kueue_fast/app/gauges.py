"""Families of gauges, and their text as Prometheus reads it. Source: OP-504."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from prometheus_client import CollectorRegistry
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.exposition import generate_latest
from prometheus_client.registry import Collector

from kueue_fast.model.quantities import UNLIMITED

__all__ = ["Gauges", "amount", "text", "waited_for"]


class Gauges:
    """Families in the order in which they were begun; `role` is the `replica_role` of all."""

    def __init__(self, role: str) -> None:
        self._role = role
        self.families: dict[str, GaugeMetricFamily] = {}

    def begin(self, name: str, labels: Sequence[str], text: str) -> None:
        """A family, which stands there even without any series."""
        self.families[name] = GaugeMetricFamily(f"kueue_{name}", text, labels=[*labels, "replica_role"])

    def set(self, name: str, labels: Iterable[str], value: float) -> None:
        """One series of a family that was begun."""
        self.families[name].add_metric([*labels, self._role], value)


def amount(resource: str, value: int | None) -> float:
    """Cores, or the plain amount; +Inf for what is unlimited. Source: OP-504."""
    if value is None or value == UNLIMITED:
        return math.inf
    return value / 1000 if resource == "cpu" else float(value)


def waited_for(resource: str, value: int) -> float:
    """Cores, or the plain amount, of what waits: multiplied where `amount` divides, as upstream's are. Source: OP-504.

    The last digit may differ: 2010 thousandths are 2.0100000000000002.
    """
    return value * 0.001 if resource == "cpu" else float(value)


def text(registries: Iterable[CollectorRegistry], families: Sequence[GaugeMetricFamily]) -> bytes:
    """Prometheus' text format of counters and gauges.

    A gauge and a counter may share a name but for `_total`, as upstream's `finished_workloads` do, so that they
    cannot stand in one registry.
    """
    own = CollectorRegistry()
    own.register(_Ready(families))
    return b"".join(generate_latest(each) for each in (*registries, own))


class _Ready(Collector):
    def __init__(self, families: Sequence[GaugeMetricFamily]) -> None:
        self._families = families

    def collect(self) -> Iterable[GaugeMetricFamily]:
        return self._families
