"""Admission fair sharing: who used less in the past goes first. Source: QC-13..17, QC-81..87."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from kueue_fast.api.configuration import AdmissionFairSharing, parse_duration
from kueue_fast.api.kueue import LocalQueue
from kueue_fast.arrays.tables import Tables
from kueue_fast.model.quantities import as_fraction
from kueue_fast.model.usage_ledger import Entry, Nanos, alpha, scaled, summed, to_nanos

USAGE_BASED = "UsageBasedAdmissionFairSharing"
DEFAULT_HALF_LIFE = "168h"
DEFAULT_SAMPLING_INTERVAL = "5m"


class LocalQueueUse(NamedTuple):
    """What a LocalQueue's status says of its past use: quantities by resource, and when they held."""

    namespace: str
    name: str
    consumed: Nanos
    last_update_ns: int


class AdmissionFairness:
    """The ledger of all LocalQueues, and the numbers that the kernel orders by."""

    def __init__(self, configuration: AdmissionFairSharing, tables: Tables) -> None:
        self._tables = tables
        self._half_life = parse_duration(configuration.usage_half_life_time or "0s")
        self._interval = parse_duration(configuration.usage_sampling_interval or DEFAULT_SAMPLING_INTERVAL)
        self._resource_weights = dict(configuration.resource_weights or {})
        self._entries: dict[int, Entry] = {}
        self._weights: dict[int, float] = {}
        self._names: dict[int, tuple[str, str]] = {}
        self._admitted: dict[int, Nanos] = {}

    # --- LocalQueues

    def set_local_queue(self, number: int, queue: LocalQueue, now_ns: int) -> None:
        """A LocalQueue came or changed: its weight, and what its status remembers (QC-17, QC-87)."""
        weight = queue.spec.fair_sharing.weight if queue.spec and queue.spec.fair_sharing else None
        self._weights[number] = 1.0 if weight is None else float(as_fraction(weight))
        self._names[number] = (queue.metadata.namespace or "", queue.metadata.name)
        sharing = queue.status.fair_sharing if queue.status else None
        status = sharing.admission_fair_sharing_status if sharing else None
        entry = self._entries.get(number)
        if entry is None:
            entry = self._entries[number] = Entry(now_ns)
        if not entry.status_accounted:
            entry.status_accounted = True
            if status is not None:
                remembered = {
                    name: int(as_fraction(amount) * 10**9) for name, amount in (status.consumed_resources or {}).items()
                }
                entry.consumed = summed(entry.consumed, remembered)
        self.refresh(number)

    def remove_local_queue(self, number: int) -> None:
        """A LocalQueue is gone, and its accounts with it."""
        self._entries.pop(number, None)
        self._weights.pop(number, None)
        self._names.pop(number, None)
        self.refresh(number)

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

    # --- workloads

    def charge(self, number: int, workload: str, requests: Mapping[str, int], now_ns: int) -> None:
        """A workload was assumed: its entry penalty counts until it is admitted (QC-83, QC-85)."""
        entry = self._entries.get(number)
        if entry is None:
            entry = self._entries[number] = Entry(now_ns)
        amounts = {name: to_nanos(name, amount) for name, amount in requests.items()}
        entry.penalties[workload] = scaled(amounts, alpha(self._interval, self._half_life))
        self.refresh(number)

    def drop(self, number: int, workload: str) -> None:
        """A workload will never settle: its penalty is void (QC-86)."""
        entry = self._entries.get(number)
        if entry is not None and entry.penalties.pop(workload, None) is not None:
            self.refresh(number)

    def count(self, number: int, usage: Mapping[str, int], sign: int) -> None:
        """Admitted usage of a LocalQueue grew (1) or shrank (-1)."""
        amounts = {name: sign * to_nanos(name, amount) for name, amount in usage.items()}
        self._admitted[number] = summed(self._admitted.get(number, {}), amounts)

    def settle(self, number: int, workload: str, now_ns: int) -> None:
        """A workload was admitted: what it was charged becomes consumption (QC-86)."""
        entry = self._entries.get(number)
        if entry is None:
            entry = self._entries[number] = Entry(now_ns)
        entry.settle(workload, self._admitted.get(number, {}), now_ns, self._half_life)
        self.refresh(number)

    # --- time

    def next_sample(self) -> int | None:
        """When some LocalQueue's consumption is due to be brought up to date."""
        times = [self._entries[number].last_update_ns + self._interval for number in self._names if number in self._entries]
        return min(times, default=None)

    def sample(self, now_ns: int) -> list[LocalQueueUse]:
        """Bring due LocalQueues up to date; returns what their statuses say then (QC-87)."""
        found = []
        for number, (namespace, name) in sorted(self._names.items()):
            entry = self._entries.get(number)
            if entry is None or (now_ns - entry.last_update_ns < self._interval and not entry.pending_penalty):
                continue
            entry.sample(self._admitted.get(number, {}), now_ns, self._half_life)
            self.refresh(number)
            found.append(LocalQueueUse(namespace, name, dict(entry.consumed), entry.last_update_ns))
        return found
