"""Writes why Workloads wait: the newest word on each, a few at a time, so that admissions need not stand in line.

Under contention a cycle has a word on many more heads than it admits, and the words change with every admission.
Upstream writes them one after the other inside the cycle, which holds up the next cycle; here the next cycle may have
a newer word on a Workload before the last one was written, or admit it, and the last one is left out then. A word is
kept for a moment for that.

Source: QC-140.
"""

from __future__ import annotations

import asyncio
import time
from typing import Final, NamedTuple

from kueue_fast.api.kueue import Workload
from kueue_fast.app.events import SCHEDULER, Events
from kueue_fast.app.statuses import StatusWriter
from kueue_fast.engine.decisions import Requeued
from kueue_fast.lifecycle import admission, events
from kueue_fast.lifecycle.status import FALSE, Reasons
from kueue_fast.model import conditions

__all__ = ["Explanations"]

IN_FLIGHT: Final = 4
KEPT_S: Final = 0.5


class _Word(NamedTuple):
    requeued: Requeued
    message: str
    now_ns: int
    due_s: float
    """When it may be written, on the monotonic clock."""


class Explanations:
    """`tell` is called in the event loop's thread, after each cycle for each of its heads that goes on waiting.

    A word is kept for `kept_s` seconds before it is written.
    """

    def __init__(
        self, statuses: StatusWriter, recorder: Events, reasons: Reasons, kept_s: float = KEPT_S
    ) -> None:
        self._statuses = statuses
        self._events = recorder
        self._reasons = reasons
        self._waiting: dict[str, _Word] = {}
        self._writing: set[str] = set()
        self._busy = False
        self._kept_s = kept_s
        self._timer: asyncio.TimerHandle | None = None

    def tell(self, requeued: Requeued, message: str, now_ns: int) -> None:
        """Have the status say so, unless it does already or there is something newer to say before it is written."""
        key = requeued.workload
        if key not in self._writing and key not in self._waiting:
            workload = self._statuses.find(key)
            if workload is None or says(workload, message):
                return
        before = self._waiting.get(key)
        due = time.monotonic() + self._kept_s if before is None else before.due_s
        self._waiting[key] = _Word(requeued, message, now_ns, due)
        self._go_on()

    def _go_on(self) -> None:
        if self._busy:
            return
        self._busy = True
        while len(self._writing) < IN_FLIGHT:
            key = next((each for each in self._waiting if each not in self._writing), None)
            if key is None:
                break
            left = self._waiting[key].due_s - time.monotonic()
            if left > 0:
                # The others came later.
                self._come_back(left)
                break
            self._write(key, self._waiting.pop(key))
        self._busy = False

    def _come_back(self, seconds: float) -> None:
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(seconds, self._due)

    def _due(self) -> None:
        self._timer = None
        self._go_on()

    def _write(self, key: str, word: _Word) -> None:
        workload = self._statuses.find(key)
        if workload is None:
            return
        namespace, _, name = key.partition("/")
        requests = word.requeued.requests()

        def build(current: Workload) -> Workload | None:
            # Whoever holds quota by now is not what the cycle looked at.
            if current.status is not None and current.status.admission is not None:
                return None
            return admission.pending(
                current, word.message, word.now_ns, reasons=self._reasons, requests=requests
            )

        def over() -> None:
            self._writing.discard(key)
            self._go_on()

        def written(_: Workload) -> None:
            # Upstream repeats the event in every cycle; where the status stands already, it says nothing new.
            self._events.record(SCHEDULER, events.pending(namespace, name, word.message, word.now_ns))
            over()

        self._writing.add(key)
        self._statuses.write(workload, build, written, over)


def says(workload: Workload, message: str) -> bool:
    """Whether the status of a Workload gives this reason for its waiting."""
    status = workload.status
    if status is None:
        return False
    found = conditions.find(status.conditions, conditions.QUOTA_RESERVED)
    return (
        found is not None
        and found.status == FALSE
        and found.message == conditions.cut_condition_message(message)
        and found.observed_generation == workload.metadata.generation
        and status.admission is None
        and bool(status.resource_requests)
    )
