"""Events on jobs and their pods that the reconcilers of groups record. Source: JS-090."""

from __future__ import annotations

from typing import Final

from kueue_fast.api.meta import ObjectMeta
from kueue_fast.lifecycle.events import NORMAL, Event
from kueue_fast.model.conditions import cut_event_message

__all__ = ["EXCESS_POD_DELETED", "OWNERS_ADDED", "UPDATED_WORKLOAD", "job_event"]

UPDATED_WORKLOAD: Final = "UpdatedWorkload"
EXCESS_POD_DELETED: Final = "ExcessPodDeleted"
OWNERS_ADDED: Final = "OwnerReferencesAdded"
COMPOSE_ERROR: Final = "ErrWorkloadCompose"
NAME_CONFLICT: Final = "WorkloadNameConflict"


def job_event(
    kind: str, metadata: ObjectMeta, reason: str, message: str, now_ns: int, *, type_: str = NORMAL
) -> Event:
    """An event on an object; the text is cut to what an event holds."""
    return Event(
        time_ns=now_ns,
        type=type_,
        reason=reason,
        kind=kind,
        namespace=metadata.namespace or "",
        name=metadata.name,
        message=cut_event_message(message),
    )
