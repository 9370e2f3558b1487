"""Gauges of cohorts and of what is not admitted, beside those of single queues.

Source: OP-562..568, OP-597.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from kueue_fast.api.kueue import LocalQueue, Workload
from kueue_fast.app.gauges import Gauges, amount
from kueue_fast.cluster.index import ObjectIndex
from kueue_fast.engine.cohort_numbers import CohortNumbers
from kueue_fast.lifecycle.finish import is_finished
from kueue_fast.lifecycle.ungating import is_variant
from kueue_fast.model import conditions

__all__ = ["of_cohorts", "unadmitted"]

NO_RESERVATION = "NoReservation"
PENDING_EVALUATION = "PendingEvaluation"
CAUSES = ("reason", "underlying_cause")


def of_cohorts(made: Gauges, cohorts: Mapping[str, CohortNumbers], *, info: bool) -> None:
    """Cohorts of the tree; `info` is the gate MetricsForCohorts.

    Upstream has information on cohorts without an object only where they are in a tree with one that has.
    """
    pair = ("cohort", "flavor", "resource")
    if info:
        made.begin("cohort_info", ("cohort", "parent_cohort", "root_cohort"), "Always 1")
    made.begin("cohort_subtree_quota", pair, "Quota of the cohort and of all below it")
    made.begin("cohort_subtree_resource_reservations", pair, "Amounts that are reserved below the cohort")
    made.begin("cohort_subtree_admitted_active_workloads", ("cohort",), "Admitted Workloads below the cohort")
    for name, cohort in sorted(cohorts.items()):
        if info and cohort.named:
            made.set("cohort_info", (name, cohort.parent, cohort.root), 1.0)
        for family, amounts in (
            ("cohort_subtree_quota", cohort.quota),
            ("cohort_subtree_resource_reservations", cohort.reserved),
        ):
            for (flavor, resource), value in sorted(amounts.items()):
                made.set(family, (name, flavor, resource), amount(resource, value))
        made.set("cohort_subtree_admitted_active_workloads", (name,), cohort.admitted)


def unadmitted(made: Gauges, objects: ObjectIndex, shows: Callable[[str, str], bool]) -> None:
    """Workloads that are not admitted, by why; with the gate UnadmittedWorkloadsObservability."""
    of_queues: dict[tuple[str, str, str], int] = {}
    of_locals: dict[tuple[str, str, str, str, str], int] = {}
    for workload in objects.list(Workload.KIND):
        why = _why(workload)
        namespace, queue_name = workload.metadata.namespace or "", workload.spec.queue_name or ""
        local: LocalQueue | None = objects.get(LocalQueue.KIND, namespace, queue_name)
        queue = (local.spec.cluster_queue if local is not None and local.spec is not None else None) or ""
        if why is None or not queue:
            continue
        of_queues[queue, *why] = of_queues.get((queue, *why), 0) + 1
        if shows(namespace, queue_name):
            key = (queue_name, namespace, queue, *why)
            of_locals[key] = of_locals.get(key, 0) + 1
    made.begin("unadmitted_workloads", ("cluster_queue", *CAUSES), "Workloads that are not admitted")
    for labels, count in sorted(of_queues.items()):
        made.set("unadmitted_workloads", labels, count)
    if of_locals:
        names = ("name", "namespace", "cluster_queue", *CAUSES)
        made.begin("local_queue_unadmitted_workloads", names, "Workloads that are not admitted")
    for of_local, count in sorted(of_locals.items()):
        made.set("local_queue_unadmitted_workloads", of_local, count)


def _why(workload: Workload) -> tuple[str, str] | None:
    """Reason and cause; None for one that is admitted, has ended, is on its way out, or stands for another."""
    known = workload.status.conditions if workload.status is not None else None
    admitted = conditions.find(known, conditions.ADMITTED)
    if (
        (admitted is not None and admitted.status == "True")
        or is_finished(workload)
        or workload.metadata.deletion_timestamp
        or is_variant(workload)
    ):
        return None
    reserved = conditions.find(known, conditions.QUOTA_RESERVED)
    cause = PENDING_EVALUATION
    if reserved is not None:
        cause = "" if reserved.status == "True" else reserved.reason or ""
    return (admitted.reason if admitted is not None else None) or NO_RESERVATION, cause
