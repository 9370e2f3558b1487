"""ClusterQueue, Cohort and LocalQueue events. Source: QC-5..8, QC-29, QC-33, QC-34, QP-201..206."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
import numpy as np

from kueue_fast.api.kueue import (
    ClusterQueue,
    ClusterQueueSpec,
    Cohort,
    CohortSpec,
    FairSharing,
    LocalQueue,
    ResourceGroup,
)
from kueue_fast.arrays.quota_tree import Quotas
from kueue_fast.arrays.resource_groups import read_quotas
from kueue_fast.arrays.tables import NONE
from kueue_fast.arrays.workloads import PENDING, Record
from kueue_fast.engine.activity import activity, missing_topologies, rules_of, stopped
from kueue_fast.engine.admission_fair_sharing import USAGE_BASED
from kueue_fast.engine.intake import Intake
from kueue_fast.engine.queue_topology import write_topology
from kueue_fast.engine.state import ClusterQueueEntry, LocalQueueEntry, State
from kueue_fast.errors import InputError
from kueue_fast.model.quantities import as_double
from kueue_fast.model.selectors import SelectorError, selects

MISSING, MISMATCH, MATCHES = 0, 1, 2


class Queues:
    """Keeps the rows of queues and cohorts as the objects say, and moves their workloads."""

    def __init__(self, state: State, intake: Intake) -> None:
        self._state = state
        self._intake = intake

    # --- ClusterQueue

    def upsert_cluster_queue(self, queue: ClusterQueue) -> None:
        """A ClusterQueue was created or changed. Raises InputError for what cannot be read; nothing is changed then."""
        state = self._state
        name = queue.metadata.name
        spec = queue.spec or ClusterQueueSpec()
        quotas = _quotas(f"ClusterQueue {name}", spec.resource_groups)
        matches = self._matches(name, spec)
        weight = _weight(f"ClusterQueue {name}", spec.fair_sharing)
        groups = [
            (frozenset(group.covered_resources or ()), [flavor.name for flavor in group.flavors or ()])
            for group in spec.resource_groups or ()
        ]
        row = state.tree.set_cluster_queue(name, spec.cohort_name or None, quotas, groups)
        entry = state.cluster_queues.get(name)
        created = entry is None
        changed = created
        if entry is None:
            entry = ClusterQueueEntry(name, row, spec)
            state.cluster_queues[name] = entry
            state.by_row[row] = entry
        else:
            changed = entry.spec != spec
        entry.spec = msgspec.structs.replace(spec)
        entry.rules = rules_of(spec)
        state.groups.write(row, spec)
        state.tables.forest.weight[row] = weight
        scope = spec.admission_scope
        usage_based = state.fairness is not None and scope is not None and scope.admission_mode == USAGE_BASED
        state.tables.flavors.usage_based[row] = usage_based
        write_topology(state, entry)
        state.tables.pending.set_usage_based(row, usage_based)
        state.tables.pending.strict[row] = spec.queueing_strategy == "StrictFIFO"
        np.asarray(state.tables.pending.namespace_match)[row] = MISSING
        for namespace, match in matches.items():
            state.tables.pending.namespace_match[row, state.tables.namespace(namespace)] = match
        self.refresh_activity([entry])
        if created:
            self._adopt(entry)
        if changed:
            state.retries.request(row, state.now_ns)

    def delete_cluster_queue(self, name: str) -> None:
        """A ClusterQueue is gone: its workloads stay with their LocalQueues (QC-9), and reserve nothing any more."""
        state = self._state
        entry = state.cluster_queues.get(name)
        if entry is None:
            return
        for record in state.rows.records.values():
            if record.admission is not None and record.admission[0] == name:
                self._intake.release(record)
                state.unbooked.setdefault(name, set()).add(record.key)
        state.tables.pending.close_queue(entry.row)
        workloads = state.tables.workloads
        queue = np.asarray(workloads.queue)
        queue[queue == entry.row] = NONE
        del state.cluster_queues[name]
        leading = self._leading_to(name)
        for local in leading:
            local.row = NONE
        self._follow(leading)
        del state.by_row[entry.row]
        state.groups.remove(entry.row)
        state.retries.forget(entry.row)
        if state.fairness is not None:
            state.fairness.remove_cluster_queue(entry.row)
        state.tree.remove_cluster_queue(name)
        state.order_is_stale = True

    def refresh_activity(self, entries: Iterable[ClusterQueueEntry]) -> list[ClusterQueueEntry]:
        """Judge again whether ClusterQueues admit; returns those that became active (QP-205)."""
        state = self._state
        woken = []
        turned = set()
        for entry in entries:
            new = activity(entry.spec, state.classes.flavors, state.checks, self._missing_topologies(entry))
            if new.active != entry.activity.active:
                turned.add(entry.name)
            if new.active and not entry.activity.active:
                woken.append(entry)
            entry.activity = new
            state.tree.set_active(entry.row, new.active)
        if turned:
            self._follow(local for local in state.local_queues.values() if local.cluster_queue in turned)
        state.order_is_stale = True
        return woken

    def _missing_topologies(self, entry: ClusterQueueEntry) -> dict[str, str]:
        """Topologies that are not there, by the flavors of the ClusterQueue that name them (TP-507)."""
        state = self._state
        if not state.topology_aware:
            return {}
        return missing_topologies(
            entry.spec, state.classes.flavors, lambda flavor, _: state.topology.exists(flavor)
        )

    def _adopt(self, entry: ClusterQueueEntry) -> None:
        """Queue the workloads that waited for this ClusterQueue, and book those that hold its quota (QC-6, QP-216)."""
        state = self._state
        leading = self._leading_to(entry.name)
        for local in leading:
            state.lead(local)
        self._follow(leading)
        numbers = [local.number for local in leading]
        if numbers:
            self._intake.place_again(self._records_of(numbers))
        for key in sorted(state.unbooked.pop(entry.name, ())):
            record = state.rows.records.get(key)
            if (
                record is not None
                and record.state != PENDING
                and record.admission is not None
                and record.admission[0] == entry.name
            ):
                self._intake.book(record)

    def _leading_to(self, cluster_queue: str) -> list[LocalQueueEntry]:
        return list(self._state.leading.get(cluster_queue, {}).values())

    def _follow(self, local_queues: Iterable[LocalQueueEntry]) -> None:
        """Past use is kept up to date where a LocalQueue takes workloads (QC-87)."""
        state = self._state
        if state.fairness is not None:
            for local in local_queues:
                queue = state.cluster_queues.get(local.cluster_queue)
                active = not local.held and queue is not None and queue.activity.active
                state.fairness.follow(
                    local.number, active, state.now_ns, NONE if queue is None else queue.row
                )

    def _matches(self, name: str, spec: ClusterQueueSpec) -> dict[str, int]:
        try:
            selects(spec.namespace_selector, {})  # an invalid one is refused also while there is no Namespace
            return {
                namespace: MATCHES if selects(spec.namespace_selector, labels) else MISMATCH
                for namespace, labels in self._state.namespace_labels.items()
            }
        except SelectorError as error:
            raise InputError(
                str(error), object=f"ClusterQueue {name}", field="$.spec.namespaceSelector"
            ) from error

    # --- Namespace

    def set_namespace(self, name: str, labels: dict[str, str] | None) -> None:
        """A Namespace came, changed its labels, or went (None): who may use which ClusterQueue (QC-34, QC-77)."""
        state = self._state
        column = state.tables.namespace(name)
        if labels is None:
            state.namespace_labels.pop(name, None)
        else:
            state.namespace_labels[name] = labels
        for entry in state.cluster_queues.values():
            before = state.tables.pending.namespace_match[entry.row, column]
            match = MISSING if labels is None else MATCHES if selects(entry.selector, labels) else MISMATCH
            state.tables.pending.namespace_match[entry.row, column] = match
            if match == MATCHES and before != MATCHES:
                state.retries.request(entry.row, state.now_ns)

    # --- Cohort

    def upsert_cohort(self, cohort: Cohort) -> None:
        """A Cohort was created or changed: its whole tree is looked at again (QC-33)."""
        state = self._state
        name = cohort.metadata.name
        spec = cohort.spec or CohortSpec()
        quotas = _quotas(f"Cohort {name}", spec.resource_groups)
        weight = _weight(f"Cohort {name}", spec.fair_sharing)
        row = state.tree.set_cohort(name, spec.parent_name or None, quotas)
        state.tables.forest.weight[row] = weight
        state.order_is_stale = True
        state.retries.request(row, state.now_ns)

    def delete_cohort(self, name: str) -> None:
        """A Cohort is gone: children go on in an implicit one (QP-201)."""
        self._state.tree.remove_cohort(name)
        self._state.order_is_stale = True

    # --- LocalQueue

    def upsert_local_queue(self, queue: LocalQueue) -> None:
        """A LocalQueue was created, held, resumed, or leads elsewhere (QC-8)."""
        state = self._state
        key = (queue.metadata.namespace or "", queue.metadata.name)
        target = (queue.spec.cluster_queue if queue.spec else None) or ""
        held = stopped(queue.spec.stop_policy if queue.spec else None)
        if state.fairness is not None:
            state.fairness.set_local_queue(state.local_queue_number(*key), queue)
        entry = state.local_queues.get(key)
        if entry is not None and entry.cluster_queue == target and entry.held == held:
            return
        if entry is None:
            entry = LocalQueueEntry(
                state.local_queue_number(*key), state.tables.namespace(key[0]), target, held
            )
            state.local_queues[key] = entry
        state.leading.get(entry.cluster_queue, {}).pop(entry.number, None)
        state.leading.setdefault(target, {})[entry.number] = entry
        entry.cluster_queue, entry.held = target, held
        state.lead(entry)
        self._follow([entry])
        self._intake.place_again(self._records_of([entry.number]))

    def delete_local_queue(self, namespace: str, name: str) -> None:
        """A LocalQueue is gone: its workloads wait nowhere."""
        state = self._state
        entry = state.local_queues.pop((namespace, name), None)
        if entry is not None:
            state.leading.get(entry.cluster_queue, {}).pop(entry.number, None)
            if state.fairness is not None:
                state.fairness.remove_local_queue(entry.number)
            self._intake.place_again(self._records_of([entry.number]))

    def _records_of(self, local_queues: list[int]) -> list[Record]:
        """Records of all workloads that name one of these LocalQueues, in order of their rows."""
        rows = self._state.rows
        column = np.asarray(self._state.tables.workloads.local_queue)[: len(rows.by_row)]
        found = np.flatnonzero(np.isin(column, local_queues))
        return [record for row in found.tolist() if (record := rows.by_row[row]) is not None]


def queue_order(state: State) -> np.ndarray:
    """Forest rows of the ClusterQueues that are asked for heads, by name: all active ones (QC-48)."""
    rows = [entry.row for _, entry in sorted(state.cluster_queues.items()) if entry.activity.active]
    return np.array(rows, np.int32)


def refresh_order(state: State) -> None:
    """Bring queue order, trees and who is in the snapshot up to date; due before each cycle (QP-232)."""
    state.tree.refresh()
    if state.order_is_stale:
        state.order_is_stale = False
        for entry in state.cluster_queues.values():
            state.tree.set_active(entry.row, entry.activity.active and not state.tree.is_cyclic(entry.row))
        state.tree.refresh()
        state.tables.scheduler.queue_order = queue_order(state)


def _quotas(owner: str, groups: list[ResourceGroup] | None) -> Quotas:
    try:
        return read_quotas(groups)
    except ValueError as error:
        raise InputError(str(error), object=owner, field="$.spec.resourceGroups") from error


def _weight(owner: str, fair_sharing: FairSharing | None) -> float:
    """Fair sharing weight as the nearest double; 1 without one (QP-301)."""
    if fair_sharing is None or fair_sharing.weight is None:
        return 1.0
    try:
        return as_double(fair_sharing.weight)
    except ValueError as error:
        raise InputError(str(error), object=owner, field="$.spec.fairSharing.weight") from error


__all__ = ["Queues", "queue_order", "refresh_order"]
