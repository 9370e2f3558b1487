"""What admission checks say of the jobs that wait for them, told once as long as it stays the same. Source: JS-089."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kueue_fast.api.kueue import Workload
from kueue_fast.jobs.integration import Integration
from kueue_fast.jobs.reconciler import checks_event
from kueue_fast.lifecycle.events import Event

__all__ = ["CheckWords"]


class CheckWords:
    """Remembers the last words by the uid of the job."""

    def __init__(self, record: Callable[[Event], None]) -> None:
        self._record = record
        self._last: dict[str, str] = {}

    def tell(self, job: Any, integration: Integration[Any], workload: Workload | None, now_ns: int) -> None:
        """Record the event, if it says anything new."""
        if workload is None or workload.status is None or not workload.status.admission_checks:
            return
        event = checks_event(job, integration, workload, now_ns)
        uid = job.metadata.uid or ""
        if event is None:
            self._last.pop(uid, None)
        elif self._last.get(uid) != event.message:
            self._last[uid] = event.message
            self._record(event)
