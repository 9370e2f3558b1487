"""Admission fair sharing: who used less in the past goes first. Source: QC-13..17, QC-81..87."""

from __future__ import annotations

import math
from collections.abc import Mapping
from heapq import heappop, heappush, heapreplace
from typing import NamedTuple

import numpy as np

from kueue_fast.api.configuration import AdmissionFairSharing, parse_duration
from kueue_fast.api.kueue import LocalQueue
from kueue_fast.arrays.tables import NONE, Tables
from kueue_fast.errors import InputError
from kueue_fast.model.approximate_float import approximate_float
from kueue_fast.model.usage_ledger import (
    Entry,
    Nanos,
    Remembered,
    alpha,
    format_nanos,
    scaled,
    summed,
    to_nanos,
)

USAGE_BASED = "UsageBasedAdmissionFairSharing"
DEFAULT_SAMPLING_INTERVAL = "5m"
SHORTEST_PACE_NS = 1_000_000_000
"""Samples of a LocalQueue are no closer than this, however short the configured interval: so often are they due."""


class LocalQueueUse(NamedTuple):
    """What a LocalQueue's status says of its past use: nanos by resource, and when they held."""

    namespace: str
    name: str
    consumed: Nanos
    last_update_ns: int

    def quantities(self) -> dict[str, str]:
        """The consumption as Kubernetes quantities."""
        return {name: format_nanos(amount) for name, amount in self.consumed.items()}


class AdmissionFairness:
    """The ledger of all LocalQueues, and the numbers that the kernel orders by.

    A LocalQueue is followed (sampled, and its status read at first contact) while it is not stopped and leads to an
    active ClusterQueue; its entry may exist before, since a workload can be charged at any time.
    Raises InputError for a half life or a sampling interval that upstream refuses.
    """

    def __init__(self, configuration: AdmissionFairSharing, tables: Tables) -> None:
        self._tables = tables
        self._half_life = _duration("usageHalfLifeTime", configuration.usage_half_life_time)
        self._interval = _duration("usageSamplingInterval", configuration.usage_sampling_interval)
        self._interval = self._interval or parse_duration(DEFAULT_SAMPLING_INTERVAL)
        self._pace = max(self._interval, SHORTEST_PACE_NS)
        self._resource_weights = dict(configuration.resource_weights or {})
        self._penalty_rate = alpha(self._interval, self._half_life)
        self._entries: dict[int, Entry] = {}
        self._weights: dict[int, float] = {}
        self._names: dict[int, tuple[str, str]] = {}
        self._admitted: dict[int, Nanos] = {}
        # What a ClusterQueue (its row) ever admitted any of, and the row that a LocalQueue leads to.
        self._admitted_of: dict[int, dict[str, int]] = {}
        self._leads_to: dict[int, int] = {}
        self._remembered: dict[int, Remembered] = {}  # statuses that no entry has accounted for yet
        self._followed: set[int] = set()
        self._charged: set[int] = set()  # LocalQueues with a pending penalty
        self._untold: dict[int, LocalQueueUse] = {}  # first contacts that `sample` did not return yet
        # (time, number) of each LocalQueue that was ever followed, once; the time may be too early, never too late.
        self._due: list[tuple[int, int]] = []
        self._in_due: set[int] = set()

    # --- LocalQueues

    def set_local_queue(self, number: int, queue: LocalQueue) -> None:
        """A LocalQueue came or changed: its weight, and what its status remembers (QC-17, QC-87).

        Raises InputError for a quantity that cannot be read; nothing has changed then.
        """
        namespace, name = queue.metadata.namespace or "", queue.metadata.name
        sharing = queue.spec.fair_sharing if queue.spec else None
        shown = queue.status.fair_sharing if queue.status else None
        status = shown.admission_fair_sharing_status if shown else None
        field = "$.spec.fairSharing.weight"
        try:
            weight = 1.0
            if sharing is not None and sharing.weight is not None:
                weight = approximate_float(sharing.weight)
            field = "$.status.fairSharing.admissionFairSharingStatus.consumedResources"
            remembered = Remembered((status.consumed_resources if status else None) or {})
        except ValueError as error:
            raise InputError(str(error), object=f"LocalQueue {namespace}/{name}", field=field) from error
        self._weights[number] = weight
        self._names[number] = namespace, name
        entry = self._entries.get(number)
        if entry is None or not entry.status_accounted:
            self._remembered[number] = remembered
        self.refresh(number)

    def follow(self, number: int, active: bool, now_ns: int, queue: int = NONE) -> None:
        """Whether a LocalQueue takes workloads: neither stopped nor without an active ClusterQueue (QC-87).

        `queue` is the row of the ClusterQueue.
        """
        self._leads_to[number] = queue
        if not active:
            self._followed.discard(number)
        elif number not in self._followed:
            self._followed.add(number)
            known = number in self._entries
            entry = self._entry(number, now_ns)
            entry.remember(self._remembered.pop(number, None))
            if not known or entry.pending or now_ns - entry.last_update_ns >= self._pace:
                self._untold[number] = self._sample(number, entry, now_ns)
            if number not in self._in_due:
                self._in_due.add(number)
                heappush(self._due, (entry.last_update_ns + self._pace, number))
            self.refresh(number)

    def remove_local_queue(self, number: int) -> None:
        """A LocalQueue is gone, and its accounts with it."""
        self._followed.discard(number)
        self._entries.pop(number, None)
        self._weights.pop(number, None)
        self._names.pop(number, None)
        self._remembered.pop(number, None)
        self._untold.pop(number, None)
        self._leads_to.pop(number, None)
        self.refresh(number)

    def remove_cluster_queue(self, queue: int) -> None:
        """The ClusterQueue of this row is gone."""
        self._admitted_of.pop(queue, None)

    def refresh(self, number: int) -> None:
        """Tell the kernel what a LocalQueue used; without accounts that is nothing."""
        usage = self._tables.workloads.local_queue_usage
        if number >= usage.shape[0]:
            larger = np.zeros(2 * number + 16)
            larger[: usage.shape[0]] = np.asarray(usage)
            self._tables.workloads.local_queue_usage = usage = larger
        entry = self._entries.get(number)
        weight = self._weights.get(number, 1.0)
        if entry is None:
            usage[number] = 0.0 if weight > 0 else math.inf
        else:
            usage[number] = entry.usage(weight, self._resource_weights)
        if entry is not None and entry.pending:
            self._charged.add(number)
        else:
            self._charged.discard(number)

    def past_use(self, number: int) -> float | None:
        """What a LocalQueue used, as it is ordered by; None for one that is not followed."""
        return float(self._tables.workloads.local_queue_usage[number]) if number in self._followed else None

    # --- workloads

    def charge(self, number: int, workload: str, requests: Mapping[str, int], now_ns: int) -> None:
        """A workload was assumed: its entry penalty counts until it is admitted (QC-83, QC-85)."""
        amounts = {name: to_nanos(name, amount) for name, amount in requests.items()}
        self._entry(number, now_ns).charge(workload, scaled(amounts, self._penalty_rate))
        self.refresh(number)

    def drop(self, number: int, workload: str) -> None:
        """A workload will never settle: its penalty is void (QC-86)."""
        entry = self._entries.get(number)
        if entry is not None and workload in entry.penalties:
            entry.drop(workload)
            self.refresh(number)

    def count(self, number: int, usage: Mapping[str, int], sign: int, queue: int = NONE) -> None:
        """Admitted usage of a LocalQueue grew (1) or shrank (-1), in the ClusterQueue of this row."""
        if queue != NONE:
            self._admitted_of.setdefault(queue, {}).update(dict.fromkeys(usage, 0))
        amounts = {name: sign * to_nanos(name, amount) for name, amount in usage.items()}
        self._admitted[number] = summed(self._admitted.get(number, {}), amounts)

    def settle(self, number: int, workload: str, now_ns: int) -> None:
        """A workload of an existing LocalQueue was admitted: what it was charged becomes consumption (QC-86)."""
        entry = self._entry(number, now_ns)
        entry.settle(workload, self._admitted.get(number, {}), now_ns, self._half_life)
        self.refresh(number)

    # --- time

    def next_sample(self) -> int | None:
        """When some LocalQueue's consumption is due to be brought up to date; never later than that."""
        if self._untold:
            return min(use.last_update_ns for use in self._untold.values())
        while self._due:
            time, number = self._due[0]
            if number not in self._followed:
                heappop(self._due)
                self._in_due.remove(number)
                continue
            due = self._entries[number].last_update_ns + self._pace
            if due == time:
                return time
            heapreplace(self._due, (due, number))
        return None

    def sample(self, now_ns: int) -> list[LocalQueueUse]:
        """Bring LocalQueues that are due or have pending penalties up to date.

        Returns, by number, what their statuses say then; first contacts since the last call are among them (QC-87).
        """
        found, self._untold = self._untold, {}
        for number in self._charged & self._followed:
            found[number] = self._sample(number, self._entries[number], now_ns)
        while (time := self.next_sample()) is not None and time <= now_ns:
            number = self._due[0][1]
            found[number] = self._sample(number, self._entries[number], now_ns)
        for number in found:
            self.refresh(number)
        return [use for _, use in sorted(found.items())]

    def _sample(self, number: int, entry: Entry, now_ns: int) -> LocalQueueUse:
        # Upstream counts what its ClusterQueue admitted any of for each LocalQueue, and writes the zeros.
        admitted = {
            **self._admitted_of.get(self._leads_to.get(number, NONE), {}),
            **self._admitted.get(number, {}),
        }
        entry.sample(admitted, now_ns, self._half_life)
        return LocalQueueUse(*self._names[number], dict(entry.consumed), now_ns)

    def _entry(self, number: int, now_ns: int) -> Entry:
        entry = self._entries.get(number)
        if entry is None:
            entry = self._entries[number] = Entry(now_ns)
        return entry


def _duration(name: str, text: str | None) -> int:
    """Nanoseconds, 0 where nothing is given. Raises InputError for a negative one."""
    field = f"$.admissionFairSharing.{name}"
    try:
        duration = parse_duration(text or "0s")
    except ValueError as error:
        raise InputError(str(error), object="Configuration", field=field) from error
    if duration < 0:
        raise InputError(f"{text} is negative", object="Configuration", field=field, expected="0s or more")
    return duration


__all__ = ["USAGE_BASED", "AdmissionFairness", "LocalQueueUse"]
