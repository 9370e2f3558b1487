"""What a cycle found about a workload that went back to its queue, kept until somebody asks for it in words."""

from __future__ import annotations

from typing import Final

import msgspec

from kueue_fast.arrays.decisions import OUTCOMES, REQUEUE_REASONS, Reason
from kueue_fast.arrays.layouts import Layout
from kueue_fast.arrays.tables import PODS
from kueue_fast.engine import messages
from kueue_fast.engine.decisions import Requests
from kueue_fast.engine.state import State
from kueue_fast.model.quantities import multiply

__all__ = ["Refusal"]

_FIXED_WORDS: Final = {
    "FailedChecks": messages.FAILED_CHECKS,
    "NamespaceMismatch": messages.NAMESPACE_MISMATCH,
    "NoLongerFits": messages.NO_LONGER_FITS,
    "Overlap": messages.OVERLAP,
    "Deferred": messages.DEFERRED,
    "Gated": messages.GATED,
}


class Refusal(msgspec.Struct, gc=False, eq=False):
    """One refusal; calling it makes upstream's words. A cycle may bring thousands, so it only keeps what it was given.

    `time_ns` and `cycle` say when it was. Its reasons are read with the names that the tables have when it is asked.
    The garbage collector skips it: nothing that it refers to refers to it.
    """

    state: State
    cluster_queue: str
    layout: Layout
    namespace: str
    outcome_code: int
    requeue_code: int
    victims: int
    rows: bytes
    time_ns: int
    cycle: int

    @property
    def outcome(self) -> str:
        """Name of the outcome, of OUTCOMES."""
        return OUTCOMES[self.outcome_code]

    @property
    def reason(self) -> str:
        """Upstream's reason for requeueing."""
        return REQUEUE_REASONS[self.requeue_code]

    def reasons(self) -> list[Reason]:
        """Why flavors were passed over, in the order in which the kernel found it."""
        return self.state.reader.reasons(self.rows)

    def requests(self) -> Requests:
        """What its pod sets ask for, without pods that are done with."""
        return tuple(
            (
                pod_set.name,
                {
                    resource: multiply(pod_set.count - min(pod_set.reclaimed, pod_set.count), amount)
                    for resource, amount in pods.requests
                    if resource != PODS
                },
            )
            for pod_set, pods in zip(self.layout.pod_sets, self.layout.classes, strict=True)
        )

    def __call__(self) -> str:
        """Why it waits, in upstream's words."""
        name = self.outcome
        if name in ("NoFit", "NoCandidates", "Preempting"):
            state = self.state
            text = messages.assignment(self.reasons(), self.layout, state.classes, state.topology)
            return text + messages.pending_preemptions(self.victims) if name == "Preempting" else text
        if name == "Invalid":
            return self.layout.violation or ""
        if name == "NamespaceMissing":
            return messages.namespace_missing(self.namespace)
        if name == "Inactive":
            return messages.inactive(self.cluster_queue)
        return _FIXED_WORDS[name]
