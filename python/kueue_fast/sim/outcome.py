"""The end of a run: last statuses into the cluster, why workloads wait in words, rows of queues and flavors.

Upstream writes these statuses in batches of a second; nothing reads them during a run, so here they are written once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from kueue_fast.api.batch import Job
from kueue_fast.api.kueue import (
    ClusterQueue,
    Cohort,
    LocalQueue,
    ResourceGroup,
    ResourceQuota,
    Workload,
)
from kueue_fast.cluster.memory import MemoryCluster
from kueue_fast.engine import Engine, QueueState
from kueue_fast.jobs.ancestors import controller_of
from kueue_fast.jobs.workload import queue_name
from kueue_fast.lifecycle import admission, checks, queues
from kueue_fast.lifecycle.queues import Activity, QueueCounts
from kueue_fast.lifecycle.status import Reasons
from kueue_fast.model import conditions, quantities, times
from kueue_fast.sim.kinds import JOB_KINDS
from kueue_fast.sim.recorder import Meter, Recorder
from kueue_fast.sim.result import FlavorRow, QueueRow, ResourceUse, SimulationResult, State, WorkloadRow
from kueue_fast.sim.topology_result import TopologyRow

__all__ = ["FinishedRun", "conclude"]

NOT_TRIED: Final = "no scheduling cycle has looked at it yet"
# Scheduling equivalence: what is like a workload that did not fit is parked with it.
PUT_OFF: Final = "it was requeued after an eviction, and its time to queue again has not come"
LIKE_ANOTHER: Final = "a workload of its queue that asks for the same did not fit"
MOST_NAMES: Final = 5
WAITING_FOR_PODS: Final = ("Waiting", "WaitingForPodsReady")


@dataclass(frozen=True, slots=True)
class FinishedRun:
    """What a run leaves behind.

    `manage_all` says that jobs without queue name are Kueue's too, `fair_sharing` that it is on; `restless_ns` is
    the last instant at which the scheduler did not come to rest.
    """

    cluster: MemoryCluster
    engine: Engine
    recorder: Recorder
    reasons: Reasons
    manage_all: bool
    fair_sharing: bool
    cycles: int
    end_ns: int
    stopped: bool
    restless_ns: int | None
    topologies: list[TopologyRow]


def conclude(run: FinishedRun) -> SimulationResult:
    """The result of a run that is over; writes the last statuses into the cluster."""
    recorder = run.recorder
    recorder.close(run.end_ns)
    states = run.engine.queue_state()
    parked = {key for state in states.values() for key in state.parked}
    for row in recorder.rows.values():
        if row.state in (State.PENDING, State.RESERVED):
            explain_waiting(run, row, states, parked)
            victims = recorder.awaited.get(row.key, ())
            row.waits_for = tuple(sorted(key for key in victims if recorder.rows[key].evicting))
    write_queue_statuses(run, states)
    return SimulationResult(
        start_ns=recorder.start_ns,
        end_ns=run.end_ns,
        stopped=run.stopped,
        cycles=run.cycles,
        workloads=list(recorder.rows.values()),
        queues=queue_rows(run, states),
        flavors=flavor_rows(run),
        preemptions=recorder.preemptions,
        evictions=recorder.evictions,
        events=recorder.events,
        notes=notes(run),
        topologies=run.topologies,
    )


def explain_waiting(
    run: FinishedRun, row: WorkloadRow, states: Mapping[str, QueueState], parked: Container[str]
) -> None:
    """Fill in the reason and the words, and write them into the Workload's status."""
    cluster = run.cluster
    workload: Workload | None = cluster.get(Workload.KIND, row.namespace, row.name)
    if workload is None:
        return
    if row.state is State.RESERVED:
        waiting = checks.pending_checks(workload)
        names = ", ".join(f"{check.name} ({check.state})" for check in waiting)
        row.waiting_reason = "UnsatisfiedChecks"
        row.waiting_message = f"quota is reserved; admission checks are not ready: {names}"
        return
    local: LocalQueue | None = cluster.get(LocalQueue.KIND, row.namespace, row.queue)
    wanted = (local.spec.cluster_queue if local is not None and local.spec is not None else None) or ""
    queue: ClusterQueue | None = cluster.get(ClusterQueue.KIND, None, wanted)
    row.cluster_queue = wanted if queue is not None else None
    state = states.get(wanted)
    changed: Workload | None = None
    if not conditions.is_active(workload):
        row.waiting_reason = "Deactivated"
        row.waiting_message = "the workload is deactivated (spec.active is false)"
        return
    if conditions.has_admission_gate(workload):
        gates = (workload.metadata.annotations or {}).get(conditions.ADMISSION_GATED_BY, "")
        row.waiting_reason = "AdmissionGated"
        row.waiting_message = f"admission is gated by {gates}"
        return
    held = conditions.held_back(workload)
    if held is not None:
        row.waiting_reason, row.waiting_message = held
        return
    blocker = queues.queue_blocker(workload, local, queue, state is not None and state.status == "active")
    if blocker is not None:
        row.waiting_message = blocker[1]
        if queue is not None and state is not None and state.status != "active":
            row.waiting_message += f": {activity(queue, state).message}"
        changed = queues.blocked(workload, blocker, run.end_ns, run.reasons)
    else:
        message = run.engine.pending_message(row.key)
        otherwise = LIKE_ANOTHER if row.key in parked else NOT_TRIED
        if not conditions.backoff_over(workload, run.end_ns):
            otherwise = PUT_OFF
        before = workload.status.conditions if workload.status is not None else None
        reserved = conditions.find(before, conditions.QUOTA_RESERVED)
        if reserved is not None and reserved.reason in WAITING_FOR_PODS:
            otherwise = reserved.message
        row.waiting_message = message or otherwise
        if message:
            changed = admission.pending(workload, message, run.end_ns, reasons=run.reasons)
    if changed is not None:
        workload = cluster.update_status(changed)
    known = workload.status.conditions if workload.status is not None else None
    condition = conditions.find(known, conditions.QUOTA_RESERVED)
    row.waiting_reason = condition.reason if condition is not None else "Pending"


def write_queue_statuses(run: FinishedRun, states: Mapping[str, QueueState]) -> None:
    """Statuses of all ClusterQueues, LocalQueues and Cohorts. Source: LC-1701, LC-1711, LC-1721."""
    cluster, recorder = run.cluster, run.recorder
    usage: dict[str, dict[str, int]] = {}
    admitted_usage: dict[str, dict[str, int]] = {}
    counts: dict[str, Counter[State]] = {}
    for key, row in recorder.rows.items():
        local = f"{row.namespace}/{row.queue}"
        for queue in (local, row.cluster_queue):
            if queue:
                counts.setdefault(queue, Counter())[row.state] += 1
                for (flavor, resource), amount in recorder.holding.get(key, {}).items():
                    pair = f"{flavor}/{resource}"
                    add(usage, queue, pair, amount)
                    if row.state is State.RUNNING:
                        add(admitted_usage, queue, pair, amount)

    def of(queue: str, pending: int) -> QueueCounts:
        tally = counts.get(queue, Counter())
        running = tally[State.RUNNING]
        return QueueCounts(
            pending,
            running + tally[State.RESERVED],
            running,
            usage.get(queue, {}),
            admitted_usage.get(queue, {}),
        )

    for queue in list(cluster.list(ClusterQueue.KIND)):
        name = queue.metadata.name
        quota = nominal_quota(queue)
        state = states[name]
        changed = queues.cluster_queue_status(
            queue,
            activity(queue, state),
            of(name, len(state.active) + len(state.parked)),
            quota,
            run.end_ns,
            queues.share_status(state.weighted_share) if run.fair_sharing else None,
        )
        if changed is not None:
            cluster.update_status(changed)
    for queue in list(cluster.list(LocalQueue.KIND)):
        wanted = (queue.spec.cluster_queue if queue.spec is not None else None) or ""
        target = cluster.get(ClusterQueue.KIND, None, wanted)
        key = f"{queue.metadata.namespace}/{queue.metadata.name}"
        active = wanted in states and states[wanted].status == "active"
        numbers = of(key, counts.get(key, Counter())[State.PENDING])
        changed_local = queues.local_queue_status(queue, target, active, numbers, run.end_ns)
        if changed_local is not None:
            cluster.update_status(changed_local)
    shares = run.engine.queue_numbers().cohort_shares
    for cohort in list(cluster.list(Cohort.KIND)):
        share = shares.get(cohort.metadata.name)
        changed_cohort = queues.cohort_status(cohort, share, fair_sharing=run.fair_sharing)
        if changed_cohort is not None:
            cluster.update_status(changed_cohort)


def add(table: dict[str, dict[str, int]], queue: str, pair: str, amount: int) -> None:
    """Add to a nested sum."""
    amounts = table.setdefault(queue, {})
    amounts[pair] = amounts.get(pair, 0) + amount


def activity(queue: ClusterQueue, state: QueueState) -> Activity:
    """The condition Active of a ClusterQueue: as the engine sees it, unless it is being deleted."""
    if queue.metadata.deletion_timestamp:
        return Activity(False, "Terminating", "Can't admit new workloads; clusterQueue is terminating")
    if state.status == "active":
        return Activity(True, "Ready", "Can admit new workloads")
    return Activity(
        False, state.inactive_reason or "Unknown", state.inactive_message or "Can't admit new workloads."
    )


def queue_rows(run: FinishedRun, states: Mapping[str, QueueState]) -> list[QueueRow]:
    """One row a ClusterQueue, by name; resources in the order of its spec."""
    recorder = run.recorder
    tally: dict[str, Counter[State]] = {}
    for workload in recorder.rows.values():
        if workload.cluster_queue:
            tally.setdefault(workload.cluster_queue, Counter())[workload.state] += 1
    admitted = admitted_amounts(recorder)
    rows: list[QueueRow] = []
    for queue in sorted(run.cluster.list(ClusterQueue.KIND), key=lambda each: str(each.metadata.name)):
        name = queue.metadata.name
        state = states[name]
        active = activity(queue, state)
        cohort = (queue.spec.cohort_name if queue.spec is not None else None) or None
        numbers = tally.get(name, Counter())
        row = QueueRow(
            name=name,
            cohort=cohort,
            active=active.active,
            reason=active.reason,
            message=active.message,
            pending=numbers[State.PENDING],
            reserving=numbers[State.RESERVED] + numbers[State.RUNNING],
            admitted=numbers[State.RUNNING],
            finished=numbers[State.FINISHED],
            weight=fair_weight(queue) if run.fair_sharing else None,
            weighted_share=state.weighted_share if run.fair_sharing else None,
        )
        for flavor, quota in quotas(queue.spec.resource_groups if queue.spec is not None else None):
            meter = recorder.queue_meters.get((name, flavor, quota.name), Meter(recorder.start_ns))
            nominal = quantities.quota_value(quota.name, quota.nominal_quota)
            row.resources.append(
                ResourceUse(
                    flavor=flavor,
                    resource=quota.name,
                    nominal=nominal,
                    borrowing_limit=limit(quota.name, quota.borrowing_limit),
                    lending_limit=limit(quota.name, quota.lending_limit),
                    reserved=meter.current,
                    admitted=admitted[name, flavor, quota.name],
                    borrowed=max(0, meter.current - nominal) if cohort else 0,
                    peak=meter.peak,
                    integral=meter.integral,
                    history=meter.history,
                )
            )
        rows.append(row)
    return rows


def fair_weight(queue: ClusterQueue) -> float:
    """Weight of a ClusterQueue in fair sharing; 1 if it says none."""
    sharing = queue.spec.fair_sharing if queue.spec is not None else None
    return 1.0 if sharing is None or sharing.weight is None else quantities.as_double(sharing.weight)


def admitted_amounts(recorder: Recorder) -> Counter[tuple[str | None, str, str]]:
    """What admitted workloads use by (ClusterQueue, flavor, resource): the rest of what is reserved waits for
    checks.
    """
    amounts: Counter[tuple[str | None, str, str]] = Counter()
    for key, usage in recorder.holding.items():
        row = recorder.rows[key]
        if row.state is State.RUNNING:
            for (flavor, resource), amount in usage.items():
                amounts[row.cluster_queue, flavor, resource] += amount
    return amounts


def limit(resource: str, quantity: str | int | float | None) -> int | None:
    """A borrowing or lending limit, None for no limit."""
    return None if quantity is None else quantities.quota_value(resource, quantity)


def quotas(groups: list[ResourceGroup] | None) -> Iterator[tuple[str, ResourceQuota]]:
    """Flavor and quota, in the order of the spec."""
    for group in groups or ():
        for flavor in group.flavors or ():
            for quota in flavor.resources or ():
                yield flavor.name, quota


def nominal_quota(queue: ClusterQueue) -> dict[tuple[str, str], int]:
    """Nominal quota by (flavor, resource)."""
    return {
        (flavor, quota.name): quantities.quota_value(quota.name, quota.nominal_quota)
        for flavor, quota in quotas(queue.spec.resource_groups if queue.spec is not None else None)
    }


def flavor_rows(run: FinishedRun) -> list[FlavorRow]:
    """One row a flavor and resource over all ClusterQueues and cohorts, by name."""
    recorder = run.recorder
    total: dict[tuple[str, str], int] = dict.fromkeys(recorder.flavor_meters, 0)
    owners = (*run.cluster.list(ClusterQueue.KIND), *run.cluster.list(Cohort.KIND))
    for owner in owners:
        for flavor, quota in quotas(owner.spec.resource_groups if owner.spec is not None else None):
            nominal = quantities.quota_value(quota.name, quota.nominal_quota)
            total[flavor, quota.name] = quantities.add(total.get((flavor, quota.name), 0), nominal)
    rows = []
    for (flavor, resource), nominal in sorted(total.items()):
        meter = recorder.flavor_meters.get((flavor, resource), Meter(recorder.start_ns))
        rows.append(
            FlavorRow(
                flavor=flavor,
                resource=resource,
                nominal=nominal,
                reserved=meter.current,
                peak=meter.peak,
                integral=meter.integral,
                history=meter.history,
            )
        )
    return rows


def notes(run: FinishedRun) -> list[str]:
    """What a reader should know that stands in no table."""
    lines = []
    jobs = [
        f"{'' if kind == Job.KIND else kind + ' '}{job.metadata.namespace}/{job.metadata.name}"
        for kind in (Job.KIND, *sorted(JOB_KINDS - {Job.KIND}))
        for job in run.cluster.list(kind)
        if not queue_name(job.metadata) and controller_of(job.metadata) is None
    ]
    if jobs and not run.manage_all:
        listed = ", ".join(jobs[:MOST_NAMES])
        if len(jobs) > MOST_NAMES:
            listed += f" and {len(jobs) - MOST_NAMES} more"
        lines.append(f"Jobs without a queue name run outside Kueue and take no quota: {listed}")
    if run.restless_ns is not None:
        after = times.format_duration(run.restless_ns - run.recorder.start_ns)
        lines.append(
            f"The scheduler did not come to rest {after} after the start; the run went on without it"
        )
    return lines
