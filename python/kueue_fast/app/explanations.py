"""Writes why Workloads wait: the newest word on each, a few at a time, so that admissions need not stand in line.

Under contention a cycle has a word on many more heads than it admits, and the words change with every admission.
Upstream writes them one after the other inside the cycle, which holds up the next cycle; here the next cycle may have
a newer word on a Workload before the last one was written, and the last one is left out then.

The event comes in every cycle, about the Workload as it was before the word was written. Events about one version of an
object are one series, which keeps its first note: once a word was repeated, the next one is not seen until it is
repeated itself.

Source: QC-139, QC-140.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from kueue_fast.api.kueue import Workload
from kueue_fast.app.events import SCHEDULER, Events
from kueue_fast.app.statuses import StatusWriter
from kueue_fast.engine.decisions import Requeued
from kueue_fast.lifecycle import admission, events
from kueue_fast.lifecycle.status import FALSE, Reasons
from kueue_fast.model import conditions

__all__ = ["Explanations"]

IN_FLIGHT: Final = 2


class _Word(NamedTuple):
    requeued: Requeued
    message: str
    now_ns: int
    # Of the Workload that the cycle looked at.
    version: str


class Explanations:
    """`tell` is called in the event loop's thread, after each cycle for each of its heads that goes on waiting."""

    def __init__(self, statuses: StatusWriter, recorder: Events, reasons: Reasons) -> None:
        self._statuses = statuses
        self._events = recorder
        self._reasons = reasons
        self._waiting: dict[str, _Word] = {}
        self._writing: set[str] = set()
        self._busy = False

    def tell(self, requeued: Requeued, message: str, now_ns: int) -> None:
        """Have the status say so, unless it does already or there is something newer to say before it is written."""
        key = requeued.workload
        workload = self._statuses.find(key)
        if workload is None:
            return
        word = _Word(requeued, message, now_ns, workload.metadata.resource_version or "")
        if key not in self._writing and key not in self._waiting and says(workload, message):
            return self._record(word)
        self._waiting[key] = word
        self._go_on()

    def forget(self, workload: str) -> None:
        """Leave out what was to be said of a Workload (`namespace/name`) that waits no more."""
        self._waiting.pop(workload, None)

    def _go_on(self) -> None:
        if self._busy:
            return
        self._busy = True
        while len(self._writing) < IN_FLIGHT:
            key = next((each for each in self._waiting if each not in self._writing), None)
            if key is None:
                break
            self._write(key, self._waiting.pop(key))
        self._busy = False

    def _write(self, key: str, word: _Word) -> None:
        workload = self._statuses.find(key)
        if workload is None:
            return
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

        def failed() -> None:
            current = self._statuses.find(key)
            if current is not None and says(current, word.message):
                # The same word was being written when this one came.
                self._record(word._replace(version=current.metadata.resource_version or ""))
            over()

        def written(_: Workload) -> None:
            self._record(word)
            over()

        self._writing.add(key)
        self._statuses.write(workload, build, written, failed)

    def _record(self, word: _Word) -> None:
        namespace, _, name = word.requeued.workload.partition("/")
        told = events.pending(namespace, name, word.message, word.now_ns)
        self._events.record(SCHEDULER, told, word.version)


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
