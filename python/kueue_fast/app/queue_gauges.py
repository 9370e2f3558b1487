"""Gauges of queues, read from the engine and the cache when somebody asks: what stands there is of one moment.

Source: OP-504, OP-506, OP-535..537, OP-551..561, OP-563, OP-580, OP-581, OP-591..595.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from prometheus_client.core import GaugeMetricFamily

from kueue_fast.api.kueue import ClusterQueue, Cohort, LocalQueue, Workload
from kueue_fast.app.cohort_gauges import of_cohorts, unadmitted
from kueue_fast.app.gauges import Gauges, amount, waited_for
from kueue_fast.cluster.index import ObjectIndex
from kueue_fast.engine.metric_numbers import MetricNumbers
from kueue_fast.engine.queue_numbers import ClusterQueueNumbers, QueueNumbers
from kueue_fast.lifecycle.finish import is_finished
from kueue_fast.model import conditions

__all__ = ["GaugeOptions", "ancestors", "gauges"]

RESOURCE: Final = ("cohort", "cluster_queue", "flavor", "resource")
LOCAL: Final = ("name", "namespace")
PAST_USE: Final = "local_queue_admission_fair_sharing_usage"
STATUSES: Final = ("pending", "active", "terminating")


class GaugeOptions(NamedTuple):
    """What is shown: resources of ClusterQueues (OP-255), shares, places of cohorts (gate MetricsForCohorts), and why
    Workloads are not admitted (gate UnadmittedWorkloadsObservability).
    """

    role: str
    resources: bool = False
    fair_sharing: bool = False
    cohorts: bool = True
    unadmitted: bool = False
    shows: Callable[[str, str], bool] = lambda namespace, name: True


def gauges(
    numbers: MetricNumbers, objects: ObjectIndex, skips: Mapping[str, int], options: GaugeOptions
) -> list[GaugeMetricFamily]:
    """The gauges of all queues. `skips` as in `Metrics.skips`."""
    made = Gauges(options.role)
    finished = _finished(objects)
    _of_cluster_queues(made, numbers, objects, skips, _by_cluster_queue(finished, objects), options)
    _of_local_queues(made, numbers.queues, objects, finished, options)
    of_cohorts(made, numbers.cohorts, info=options.cohorts)
    if options.unadmitted:
        unadmitted(made, objects, options.shows)
    if options.fair_sharing:
        made.begin("cohort_weighted_share", ("cohort",), "Dominant resource share over the weight")
        for name, share in sorted(numbers.queues.cohort_shares.items()):
            made.set("cohort_weighted_share", (name,), share)
    return list(made.families.values())


def ancestors(queue: ClusterQueue | None, objects: ObjectIndex) -> list[str]:
    """Cohorts of a ClusterQueue from its own up to the root; ends where it would come to one twice."""
    above = queue.spec.cohort_name if queue is not None and queue.spec is not None else None
    found: list[str] = []
    while above and above not in found:
        found.append(above)
        cohort: Cohort | None = objects.get(Cohort.KIND, None, above)
        above = cohort.spec.parent_name if cohort is not None and cohort.spec is not None else None
    return found


def _of_cluster_queues(
    made: Gauges,
    numbers: MetricNumbers,
    objects: ObjectIndex,
    skips: Mapping[str, int],
    finished: Mapping[str, int],
    options: GaugeOptions,
) -> None:
    queue_label = ("cluster_queue",)
    made.begin("admission_cycle_preemption_skips", queue_label, "Heads whose victims others took first")
    made.begin("pending_workloads", (*queue_label, "status"), "Workloads that wait")
    made.begin("finished_workloads", queue_label, "Finished Workloads that still exist")
    made.begin("reserving_active_workloads", queue_label, "Workloads that hold quota")
    made.begin("admitted_active_workloads", queue_label, "Workloads that are admitted")
    made.begin("cluster_queue_status", (*queue_label, "status"), "1 for the status that it has")
    if options.cohorts:
        made.begin("cluster_queue_info", (*queue_label, "parent_cohort", "root_cohort"), "Always 1")
    if options.resources:
        made.begin(
            "cluster_queue_resource_pending", (*queue_label, "resource"), "Amounts that are waited for"
        )
        made.begin("cluster_queue_resource_reservation", RESOURCE, "Amounts that are reserved")
        made.begin("cluster_queue_resource_usage", RESOURCE, "Amounts of admitted workloads")
        made.begin("cluster_queue_nominal_quota", RESOURCE, "Nominal quota")
        made.begin("cluster_queue_borrowing_limit", RESOURCE, "Borrowing limit; +Inf without one")
        made.begin("cluster_queue_lending_limit", RESOURCE, "Lending limit; +Inf without one")
    if options.resources and options.fair_sharing:
        made.begin("cluster_queue_weighted_share", (*queue_label, "cohort"), "Dominant resource share")
    for name, skipped in sorted(skips.items()):
        made.set("admission_cycle_preemption_skips", (name,), skipped)
    for name, queue in sorted(numbers.queues.cluster_queues.items()):
        active = queue.activity.active
        made.set("pending_workloads", (name, "active"), queue.active if active else 0)
        parked = queue.inadmissible if active else queue.inadmissible + queue.active
        made.set("pending_workloads", (name, "inadmissible"), parked)
        made.set("finished_workloads", (name,), finished.get(name, 0))
        made.set("reserving_active_workloads", (name,), queue.reserving)
        made.set("admitted_active_workloads", (name,), queue.admitted)
        obj: ClusterQueue | None = objects.get(ClusterQueue.KIND, None, name)
        status = "active" if active else "pending"
        if obj is not None and obj.metadata.deletion_timestamp:
            status = "terminating"
        for each in STATUSES:
            made.set("cluster_queue_status", (name, each), float(each == status))
        above = ancestors(obj, objects)
        cohort = above[0] if above else ""
        if options.cohorts:
            made.set("cluster_queue_info", (name, cohort, above[-1] if above else ""), 1.0)
        if options.resources:
            for resource, value in sorted(numbers.pending[name].items()):
                made.set("cluster_queue_resource_pending", (name, resource), waited_for(resource, value))
            _resources(made, name, cohort, queue, fair_sharing=options.fair_sharing)


def _resources(
    made: Gauges, name: str, cohort: str, queue: ClusterQueueNumbers, *, fair_sharing: bool
) -> None:
    for (flavor, resource), quota in sorted(queue.quotas.items()):
        labels = (cohort, name, flavor, resource)
        pair = f"{flavor}/{resource}"
        for family, of_pair in (
            ("cluster_queue_resource_reservation", queue.reserved_usage.get(pair, 0)),
            ("cluster_queue_resource_usage", queue.admitted_usage.get(pair, 0)),
            ("cluster_queue_nominal_quota", quota.nominal),
            ("cluster_queue_borrowing_limit", quota.borrowing_limit),
            ("cluster_queue_lending_limit", quota.lending_limit),
        ):
            made.set(family, labels, amount(resource, of_pair))
    if fair_sharing:
        share = queue.weighted_share
        made.set("cluster_queue_weighted_share", (name, cohort), math.nan if math.isinf(share) else share)


def _of_local_queues(
    made: Gauges,
    numbers: QueueNumbers,
    objects: ObjectIndex,
    finished: Mapping[tuple[str, str], int],
    options: GaugeOptions,
) -> None:
    shown = {key: each for key, each in sorted(numbers.local_queues.items()) if options.shows(*key)}
    if not shown:
        return
    made.begin("local_queue_pending_workloads", (*LOCAL, "status"), "Workloads that wait")
    made.begin("local_queue_finished_workloads", LOCAL, "Finished Workloads that still exist")
    made.begin("local_queue_reserving_active_workloads", LOCAL, "Workloads that hold quota")
    made.begin("local_queue_admitted_active_workloads", LOCAL, "Workloads that are admitted")
    made.begin("local_queue_status", (*LOCAL, "active"), "1 for the status of the condition Active")
    resource_labels = (*LOCAL, "flavor", "resource")
    made.begin("local_queue_resource_reservation", resource_labels, "Amounts that are reserved")
    made.begin("local_queue_resource_usage", resource_labels, "Amounts of admitted workloads")
    if any(local.past_use is not None for local in shown.values()):
        made.begin(PAST_USE, (*LOCAL, "cluster_queue"), "What it used, as admission fair sharing orders by")
    for (namespace, name), local in shown.items():
        labels = (name, namespace)
        obj: LocalQueue | None = objects.get(LocalQueue.KIND, namespace, name)
        spec = obj.spec if obj is not None else None
        cluster_queue = (spec.cluster_queue if spec is not None else None) or ""
        queue = numbers.cluster_queues.get(cluster_queue)
        if local.past_use is not None:
            made.set(PAST_USE, (*labels, cluster_queue), local.past_use)
        if queue is not None:
            # What waits is counted with a ClusterQueue, as upstream does.
            active = queue.activity.active
            made.set("local_queue_pending_workloads", (*labels, "active"), local.active if active else 0)
            parked = local.inadmissible if active else local.inadmissible + local.active
            made.set("local_queue_pending_workloads", (*labels, "inadmissible"), parked)
        made.set("local_queue_finished_workloads", labels, finished.get((namespace, name), 0))
        made.set("local_queue_reserving_active_workloads", labels, local.reserving)
        made.set("local_queue_admitted_active_workloads", labels, local.admitted)
        known = obj.status.conditions if obj is not None and obj.status is not None else None
        condition = conditions.find(known, "Active")
        for each in ("True", "False", "Unknown"):
            status = condition.status if condition is not None else "Unknown"
            made.set("local_queue_status", (*labels, each), float(each == status))
        for flavor, resource in sorted(queue.quotas) if queue is not None else ():
            pair = f"{flavor}/{resource}"
            of = (*labels, flavor, resource)
            reserved, used = local.reserved_usage.get(pair, 0), local.admitted_usage.get(pair, 0)
            made.set("local_queue_resource_reservation", of, amount(resource, reserved))
            made.set("local_queue_resource_usage", of, amount(resource, used))


def _finished(objects: ObjectIndex) -> dict[tuple[str, str], int]:
    """Finished Workloads by namespace and name of their LocalQueue."""
    found: dict[tuple[str, str], int] = {}
    for workload in objects.list(Workload.KIND):
        if is_finished(workload):
            key = workload.metadata.namespace or "", workload.spec.queue_name or ""
            found[key] = found.get(key, 0) + 1
    return found


def _by_cluster_queue(finished: Mapping[tuple[str, str], int], objects: ObjectIndex) -> dict[str, int]:
    """The same by the ClusterQueue that the LocalQueue leads to."""
    found: dict[str, int] = {}
    for (namespace, queue_name), count in finished.items():
        local: LocalQueue | None = objects.get(LocalQueue.KIND, namespace, queue_name)
        name = local.spec.cluster_queue if local is not None and local.spec is not None else None
        if name:
            found[name] = found.get(name, 0) + count
    return found
