"""What `explain` tells of an object: the document of the schema `kueue-fast.dev/explanation/v1` (docs/explain.md).

Times are seconds after the start of the run, amounts Kubernetes quantities or `unlimited`, workloads `namespace/name`.
"""

from __future__ import annotations

from typing import Final

import msgspec

from kueue_fast.sim.json_report import FairShare

__all__ = [
    "SCHEMA",
    "Admitted",
    "Asked",
    "Backoff",
    "Blocker",
    "Check",
    "Document",
    "Eviction",
    "FlavorPart",
    "Given",
    "HolderPart",
    "LevelRoom",
    "LookPart",
    "Named",
    "Place",
    "Preempted",
    "PreemptionPart",
    "QueuePart",
    "Size",
    "TopologyPart",
    "Victim",
    "WorkloadPart",
    "to_json",
]

SCHEMA: Final = "kueue-fast.dev/explanation/v1"


class _Part(msgspec.Struct, rename="camel", kw_only=True, gc=False):
    """Base of the parts: every field is written, null where there is nothing."""


class Named(_Part, kw_only=True):
    """An object by its names; `namespace` is null for an owner, which is in that of its workload."""

    kind: str
    namespace: str | None
    name: str


class QueuePart(_Part, kw_only=True):
    """Where a workload waits, or holds quota.

    `cohorts` lead from the root to the ClusterQueue. `place` is Queued, Parked (nothing is tried until something
    changes), InFlight or Nowhere; `position` counts from 1 among those `queued`, `ahead` are those before it.
    `fair_sharing` is that of the ClusterQueue, null where fair sharing is off.
    """

    local_queue: str
    cluster_queue: str | None
    cohorts: list[str]
    strategy: str | None
    by_usage: bool
    place: str
    position: int | None
    ahead: list[str]
    queued: int
    parked: int
    fair_sharing: FairShare | None


class Blocker(_Part, kw_only=True):
    """What keeps it out of every cycle: a held or missing queue, the workload itself, its namespace."""

    kind: str
    name: str
    reason: str
    message: str


class Backoff(_Part, kw_only=True):
    """It was requeued `count` times and does not queue before `until`; null: until somebody lets it."""

    count: int
    until: float | None


class LookPart(_Part, kw_only=True):
    """The last cycle that looked at it and did not admit it."""

    time: float
    cycle: int
    outcome: str
    message: str


class Asked(_Part, kw_only=True):
    """What a pod set asks for: pods and the requests of one; `min_count` pods would do under partial admission."""

    name: str
    count: int
    min_count: int | None
    requests: dict[str, str]


class FlavorPart(_Part, kw_only=True):
    """One flavor and resource for a pod set: what is asked for, what the quota is now, why it did not do.

    `available` and `most` are what fits now and what fits if nobody else used anything. `reason`, `missing` and
    `message` are those of the last look, null where that had nothing against it.
    """

    pod_set: str
    flavor: str
    resource: str
    requested: str
    nominal_quota: str
    borrowing_limit: str | None
    reserved: str
    borrowed: str
    available: str
    most: str
    reason: str | None
    missing: str | None
    message: str | None


class LevelRoom(_Part, kw_only=True):
    """How many of the pods the best domain of a level has room for."""

    level: str
    fits: int
    domain: list[str]


class TopologyPart(_Part, kw_only=True):
    """Pods that are to be placed: the request, and the room that is free now, level by level from the top.

    `request` is required, preferred, unconstrained or implied. Room is what the resources of ready nodes leave free;
    whether the pods may use each of these nodes does not count. `fits_in_all` is that of all domains together.
    """

    pod_set: str
    flavor: str
    topology: str
    request: str
    level: str | None
    slices: list[str]
    pods: int
    levels: list[LevelRoom]
    fits_in_all: int
    message: str | None


class HolderPart(_Part, kw_only=True):
    """A ClusterQueue whose workloads hold what is missing; `lower_priority` counts those below this workload."""

    cluster_queue: str
    borrowing: bool
    workloads: int
    lower_priority: int


class Victim(_Part, kw_only=True):
    """A workload that was told to stop and has not stopped yet; `preemptor` is for whom, null if it is this one."""

    workload: str
    cluster_queue: str | None
    preemptor: str | None


class PreemptionPart(_Part, kw_only=True):
    """Policies of the ClusterQueue, what the search for victims came to, and who holds what is missing."""

    within_cluster_queue: str
    reclaim_within_cohort: str
    borrow_within_cohort: str
    max_priority_threshold: int | None
    result: str
    holders: list[HolderPart]
    waits_for: list[Victim]


class Check(_Part, kw_only=True):
    """An AdmissionCheck that is not ready."""

    name: str
    state: str
    message: str


class Place(_Part, kw_only=True):
    """Pods in one domain: values of the levels, and how many."""

    domain: list[str]
    count: int


class Given(_Part, kw_only=True):
    """What a pod set got. `delayed` is Pending where places come later."""

    name: str
    count: int
    flavors: dict[str, str]
    usage: dict[str, str]
    levels: list[str]
    places: list[Place]
    delayed: str | None


class Admitted(_Part, kw_only=True):
    """What a workload holds, or held when it ended; `next_places` is when it is tried to place its pods again."""

    cluster_queue: str | None
    quota_reserved: float | None
    admitted: float | None
    finished: float | None
    outcome: str | None
    pod_sets: list[Given]
    checks: list[Check]
    unhealthy_nodes: list[str]
    next_places: float | None


class Preempted(_Part, kw_only=True):
    """One preemption; `workload` had to stop for `preemptor`."""

    time: float
    workload: str
    preemptor: str
    reason: str


class Eviction(_Part, kw_only=True):
    """One eviction for another reason than preemption, in Kueue's words."""

    time: float
    reason: str
    message: str


class Size(_Part, kw_only=True):
    """How many pods a slice of an elastic job asks for from `time` on."""

    time: float
    pods: int


class WorkloadPart(_Part, kw_only=True):
    """One workload. `summary` says in one sentence why it waits, or what became of it.

    `replaces` is the slice of its elastic job whose place it takes, and whose quota counts for it; `sizes` are null
    for all others.
    """

    namespace: str
    name: str
    owner: Named | None
    replaces: str | None
    sizes: list[Size] | None
    state: str
    summary: str
    priority: int
    priority_class: str | None
    arrived: float
    waiting_since: float | None
    queue: QueuePart
    blockers: list[Blocker]
    backoff: Backoff | None
    look: LookPart | None
    like: str | None
    pod_sets: list[Asked]
    flavors: list[FlavorPart]
    topology: list[TopologyPart]
    preemption: PreemptionPart | None
    admission: Admitted | None
    evicting: str | None
    preempted: list[Preempted]
    preempted_by: list[Preempted]
    evictions: list[Eviction]


class Document(_Part, kw_only=True):
    """The whole answer. `state` is Found, NotCreated, OutsideKueue or NoWorkload; `message` says it in words.

    `ancestor` is the object that the workloads are for, null where that is `object` itself.
    `end_of_run`: nothing is left to happen after `time`.
    """

    schema: str
    start: str
    time: float
    end_of_run: bool
    object: Named
    state: str
    message: str
    ancestor: Named | None
    workloads: list[WorkloadPart]


def to_json(document: Document) -> bytes:
    """The document, indented, with a line end at its end; the same document gives the same bytes."""
    return msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n"
