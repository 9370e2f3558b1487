"""What there is to say of one Workload: its row of the run, its object, and what the engine knows of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from kueue_fast.api.kueue import ClusterQueue, LocalQueue, Workload
from kueue_fast.api.topology_assignment import TopologyAssignment
from kueue_fast.cluster.memory import MemoryCluster
from kueue_fast.engine import Engine, Standing
from kueue_fast.engine.explain import Look
from kueue_fast.lifecycle import checks, eviction, queues
from kueue_fast.model import conditions, times
from kueue_fast.model.placements import placements
from kueue_fast.sim.explain_flavors import flavor_parts, topology_parts
from kueue_fast.sim.explain_preemption import preemption_part
from kueue_fast.sim.explanation import (
    Admitted,
    Asked,
    Backoff,
    Blocker,
    Check,
    Eviction,
    Given,
    LookPart,
    Named,
    Place,
    Preempted,
    QueuePart,
    Size,
    WorkloadPart,
)
from kueue_fast.sim.json_report import fair_share, quantity
from kueue_fast.sim.recorder import Recorder
from kueue_fast.sim.report_preemptions import eviction_reason
from kueue_fast.sim.result import PreemptionRow, SimulationResult, State, WorkloadRow

__all__ = ["Run", "workload_part"]

NANOSECONDS: Final = 1_000_000_000
DEFAULT_STRATEGY: Final = "BestEffortFIFO"
HELD: Final = (State.RESERVED, State.RUNNING)


class Run(NamedTuple):
    """A simulation that has run to the moment that is asked for."""

    cluster: MemoryCluster
    engine: Engine
    recorder: Recorder
    result: SimulationResult
    now_ns: int

    def after(self, time_ns: int) -> float:
        """A time as seconds after the start."""
        return (time_ns - self.result.start_ns) / NANOSECONDS

    def after_or_none(self, time_ns: int | None) -> float | None:
        """The same for a time that may not have come."""
        return None if time_ns is None else self.after(time_ns)


def workload_part(run: Run, row: WorkloadRow) -> WorkloadPart:
    """All about one workload."""
    workload: Workload | None = run.cluster.get(Workload.KIND, row.namespace, row.name)
    standing = run.engine.explain(row.key)
    queue: ClusterQueue | None = run.cluster.get(ClusterQueue.KIND, None, row.cluster_queue or "")
    waits = row.state is State.PENDING
    waiting = standing if waits else None
    next_places = run.engine.next_places(row.key) if row.state in HELD else None
    look = standing.look if standing is not None and (waits or next_places is not None) else None
    unplaced = waiting if next_places is None or (workload and placements(workload)) else standing
    since = row.arrived_ns if row.queued_ns is None else row.queued_ns
    return WorkloadPart(
        namespace=row.namespace,
        name=row.name,
        owner=_owner(row),
        replaces=None if row.slice is None else row.slice.replaces,
        sizes=None
        if row.slice is None
        else [Size(time=run.after(time), pods=pods) for time, pods in row.slice.sizes],
        state=row.state.value,
        summary=_summary(row),
        priority=row.priority,
        priority_class=row.priority_class,
        arrived=run.after(row.arrived_ns),
        waiting_since=run.after(since) if waits else None,
        queue=_queue(run, row, standing, queue),
        blockers=_blockers(run, row, workload, queue) if waits and workload is not None else [],
        backoff=_backoff(run, workload) if waits and workload is not None else None,
        look=None if look is None else _look(run, look),
        like=None if waiting is None else waiting.like,
        pod_sets=[] if waiting is None else _asked(waiting),
        flavors=[] if waiting is None else flavor_parts(waiting),
        topology=[]
        if unplaced is None or workload is None
        else topology_parts(run.result, workload, unplaced),
        preemption=None if waiting is None else preemption_part(run.recorder, row, queue, waiting),
        admission=_admitted(run, row, workload, next_places),
        evicting=_evicting(workload) if row.evicting and workload is not None else None,
        preempted=[_preempted(run, one) for one in run.result.preemptions if one.preemptor == row.key],
        preempted_by=[_preempted(run, one) for one in run.result.preemptions if one.workload == row.key],
        evictions=[
            Eviction(time=run.after(event.time_ns), reason=eviction_reason(event), message=event.message)
            for event in run.result.evictions
            if (event.namespace, event.name) == (row.namespace, row.name)
        ],
    )


def _owner(row: WorkloadRow) -> Named | None:
    if row.owner_kind is None or row.owner_name is None:
        return None
    return Named(kind=row.owner_kind, namespace=row.namespace, name=row.owner_name)


def _look(run: Run, look: Look) -> LookPart:
    return LookPart(
        time=run.after(look.time_ns), cycle=look.cycle, outcome=look.outcome, message=look.message
    )


def _summary(row: WorkloadRow) -> str:
    if row.waiting_message:
        return f"{row.waiting_reason}: {row.waiting_message}"
    if row.evicting:
        return "It was told to stop, and holds its quota until its pods are gone."
    words = {
        State.RUNNING: "It is admitted.",
        State.RESERVED: "Its quota is reserved.",
        State.FINISHED: "It has ended.",
        State.DELETED: "It was deleted.",
    }
    return words.get(row.state, "")


def _queue(run: Run, row: WorkloadRow, standing: Standing | None, queue: ClusterQueue | None) -> QueuePart:
    spec = queue.spec if queue is not None else None
    name = standing.cluster_queue if standing is not None and standing.cluster_queue else row.cluster_queue
    place = "Nowhere" if standing is None else standing.place
    ahead = [] if standing is None else list(standing.ahead)
    return QueuePart(
        local_queue=row.queue,
        cluster_queue=name,
        cohorts=[] if standing is None else list(reversed(standing.cohorts)),
        strategy=None if spec is None else spec.queueing_strategy or DEFAULT_STRATEGY,
        by_usage=standing is not None and standing.by_usage,
        place=place,
        position=1 + len(ahead) if place == "Queued" else None,
        ahead=ahead,
        queued=0 if standing is None else standing.queued,
        parked=0 if standing is None else standing.parked,
        fair_sharing=next((fair_share(each) for each in run.result.queues if each.name == name), None),
    )


def _blockers(run: Run, row: WorkloadRow, workload: Workload, queue: ClusterQueue | None) -> list[Blocker]:
    """What keeps a pending workload out of all cycles. Source: QC-56, QC-8, QP-205."""
    found = []

    def add(kind: str, name: str, reason: str, message: str) -> None:
        found.append(Blocker(kind=kind, name=name, reason=reason, message=message))

    if not conditions.is_active(workload):
        add("Workload", row.key, "Deactivated", "spec.active is false")
    if conditions.has_admission_gate(workload):
        gates = (workload.metadata.annotations or {}).get(conditions.ADMISSION_GATED_BY, "")
        add("Workload", row.key, "AdmissionGated", f"admission is gated by {gates}")
    held = conditions.held_back(workload)
    if held is not None:
        add("Workload", row.key, *held)
    local: LocalQueue | None = run.cluster.get(LocalQueue.KIND, row.namespace, row.queue)
    name = f"{row.namespace}/{row.queue}"
    if local is None:
        words = "the LocalQueue does not exist" if row.queue else "the workload names no LocalQueue"
        add("LocalQueue", name, "Missing", words)
        return found
    if queues.stopped(local):
        assert local.spec is not None
        add("LocalQueue", name, "Stopped", f"the stop policy is {local.spec.stop_policy}")
    if queue is None:
        target = (local.spec.cluster_queue if local.spec is not None else None) or ""
        add("ClusterQueue", target, "Missing", "the ClusterQueue does not exist")
        return found
    for each in run.result.queues:
        if each.name == queue.metadata.name and not each.active:
            add("ClusterQueue", each.name, each.reason, each.message)
    return found


def _backoff(run: Run, workload: Workload) -> Backoff | None:
    """A requeue that is put off. Source: QC-26."""
    status = workload.status
    if status is None or conditions.backoff_over(workload, run.now_ns):
        return None
    state = status.requeue_state
    count = (state.count if state is not None else None) or 0
    until = state.requeue_at if state is not None else None
    return Backoff(count=count, until=run.after(times.parse(until)) if until else None)


def _asked(standing: Standing) -> list[Asked]:
    return [
        Asked(
            name=ask.pod_set,
            count=ask.pods,
            min_count=ask.least,
            requests={name: quantity(name, amount) for name, amount in sorted(ask.per_pod.items())},
        )
        for ask in standing.asks
    ]


def _admitted(
    run: Run, row: WorkloadRow, workload: Workload | None, next_places: int | None
) -> Admitted | None:
    """What it holds, or held when it ended; None for one that waits."""
    if row.reserved_ns is None:
        return None
    pending = checks.pending_checks(workload) if workload is not None and row.state is State.RESERVED else []
    return Admitted(
        cluster_queue=row.cluster_queue,
        quota_reserved=run.after(row.reserved_ns),
        admitted=run.after_or_none(row.admitted_ns),
        finished=run.after_or_none(row.finished_ns),
        outcome=None if row.outcome is None else row.outcome.value,
        pod_sets=_given(row, workload),
        checks=[Check(name=each.name, state=each.state, message=each.message) for each in pending],
        unhealthy_nodes=_unhealthy(workload) if row.state in HELD else [],
        next_places=None if next_places is None else run.after(max(next_places, run.now_ns)),
    )


def _given(row: WorkloadRow, workload: Workload | None) -> list[Given]:
    status = workload.status if workload is not None else None
    admission = status.admission if status is not None else None
    assignments = {one.name: one for one in (admission.pod_set_assignments if admission else None) or ()}
    placed: Mapping[str, TopologyAssignment] = {}
    if workload is not None:
        placed = placements(workload)
    given = []
    for pod_set in row.pod_sets:
        one = assignments.get(pod_set.name)
        usage = (one.resource_usage if one is not None else None) or {}
        placement = placed.get(pod_set.name)
        given.append(
            Given(
                name=pod_set.name,
                count=pod_set.count,
                flavors=dict(pod_set.flavors),
                usage={name: str(amount) for name, amount in sorted(usage.items())},
                levels=list(placement.levels) if placement is not None else [],
                places=[
                    Place(domain=list(values), count=count)
                    for values, count in (placement.domains if placement is not None else ())
                ],
                delayed=one.delayed_topology_request if one is not None else None,
            )
        )
    return given


def _unhealthy(workload: Workload | None) -> list[str]:
    status = workload.status if workload is not None else None
    return [node.name for node in (status.unhealthy_nodes if status is not None else None) or ()]


def _evicting(workload: Workload) -> str | None:
    found = eviction.eviction_of(workload)
    return None if found is None else f"{found[0]}: {found[1]}"


def _preempted(run: Run, row: PreemptionRow) -> Preempted:
    return Preempted(
        time=run.after(row.time_ns), workload=row.workload, preemptor=row.preemptor, reason=row.reason
    )
