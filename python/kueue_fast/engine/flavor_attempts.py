"""Which flavors an admission was weighed against, in the words of the event that tells of it.

The kernel keeps why flavors were passed over only where none fitted. For an admission the scan is gone through again
here, over the usage that it was nominated against: that after the cycle, less what the cycle admitted.

Source: QP-420..446, QP-465.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from kueue_fast.arrays.decisions import (
    EXCEEDS_MAX_QUOTA,
    LEVEL_MISSING,
    NOT_ELIGIBLE,
    OTHER_FLAVOR_OF_SLICE,
    TOPOLOGY_ONLY,
    TOPOLOGY_UNKNOWN,
    TOPOLOGY_UNSUPPORTED,
    WAITING_FOR_QUOTA,
    Reason,
)
from kueue_fast.arrays.layouts import Layout, pods_of_group
from kueue_fast.arrays.resource_groups import LOWER_OR_NEWER, LOWER_PRIORITY
from kueue_fast.arrays.tables import NONE
from kueue_fast.arrays.templates import ELIGIBLE
from kueue_fast.arrays.workloads import Record
from kueue_fast.engine import messages
from kueue_fast.engine.state import State
from kueue_fast.model.quantities import add, saturate, subtract
from kueue_fast.model.topology_requests import has_levels, is_explicit
from kueuecore import Journal

__all__ = ["PASSED_OVER", "FlavorAttempts"]

PASSED_OVER: Final = frozenset(("NoLongerFits", "Overlap"))
"""Outcomes after which the scan goes on in the next cycle (QC-128, QP-502)."""

FIT, NO_FIT = "Fit", "NoFit"
NO_CANDIDATES, OWN, UNKNOWN = "preemptionMode=NoCandidates", "preemptionMode=Preempt", "Preempt"
"""How an attempt went, as the event names it. UNKNOWN: victims would have been needed, perhaps of other queues."""
# From bad to good: an attempt is as bad as the worst of its resources.
_ORDER: Final = {NO_FIT: 0, NO_CANDIDATES: 1, UNKNOWN: 2, OWN: 2, FIT: 3}
BUFFER_NS: Final = 300_000_000_000  # SchedulerTimestampPreemptionBuffer


class Attempt(NamedTuple):
    """One flavor that was looked at for a group of pod sets."""

    flavor: str
    mode: str
    borrow: int
    reasons: tuple[str, ...]

    def __str__(self) -> str:
        borrow = (f"borrow={self.borrow}",) if self.borrow > 0 else ()
        return f"{self.flavor}({';'.join((self.mode, *borrow, *self.reasons))})"


class FlavorAttempts:
    """The words for the admissions of one cycle after the other."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._journal = Journal()
        # [workload] resource to the flavor behind which its scan went on, if the kernel still kept that
        self._kept: dict[str, dict[int, int]] = {}
        self._starts: dict[str, dict[int, int]] = {}

    def begin(self) -> None:
        """A cycle is about to run: which scans go on where the last cycle stopped. Source: QC-98, QP-501, QP-503."""
        self._starts = {}
        if not self._kept:
            return
        state = self._state
        workloads, forest = state.tables.workloads, state.tables.forest
        for key, tried in self._kept.items():
            record = state.rows.records.get(key)
            if record is None or workloads.tried_cycle[record.row] == NONE:
                continue
            queue = workloads.queue[record.row]
            recent = state.tables.scheduler.preserve_scan_progress
            if recent or forest.generation[queue] <= workloads.tried_generation[record.row]:
                self._starts[key] = tried
        self._kept = {}

    def keep(self, record: Record) -> None:
        """A cycle passed over a head that would have fitted: the next one goes on with its scan. Source: QP-502."""
        slots = self._state.tables.workloads.slots_of(record.row)
        tried = {resource: tried for resource, tried, _, _ in slots if tried >= 0}
        if tried:
            self._kept[record.key] = tried

    def words(self, admitted: Sequence[tuple[int, int]]) -> list[str]:
        """For each admission of a cycle, by the rows of workload and ClusterQueue, what its event says: mostly nothing.

        To be asked before anything else changes.
        """
        plain = [self._is_plain(row, queue) for row, queue in admitted]
        if all(plain):
            return [""] * len(plain)
        tables = self._state.tables
        for row, queue in admitted:
            for resource, _, flavor, amount in tables.workloads.slots_of(row):
                if flavor != NONE:
                    column = tables.flavors.column[flavor, resource]
                    tables.forest.change_usage(queue, column, amount, self._journal, True)
        own = {row for row, _ in admitted}
        try:
            return [
                "" if known else self._scan(row, queue, own)
                for known, (row, queue) in zip(plain, admitted, strict=True)
            ]
        finally:
            tables.forest.undo(self._journal)

    def _scan(self, row: int, queue: int, own: set[int]) -> str:
        record = self._state.rows.by_row[row]
        assert record is not None
        return _Scan(self._state, record, queue, own, self._starts.get(record.key, {})).words()

    def _is_plain(self, row: int, queue: int) -> bool:
        """Whether each resource got the first flavor of its group within the nominal quota: nothing is told of that."""
        tables = self._state.tables
        flavors, forest = tables.flavors, tables.forest
        for resource, _, flavor, _ in tables.workloads.slots_of(row):
            if flavor == NONE:
                continue
            if flavors.group_flavors[flavors.group_start[flavors.group_of[queue, resource]]] != flavor:
                return False
            column = flavors.column[flavor, resource]
            if forest.parent[queue] != NONE and forest.usage[queue, column] > forest.subtree[queue, column]:
                return False
        return True


class _Scan:
    """The scan of one workload's pod sets, with the usage that it was nominated against in the forest."""

    def __init__(
        self, state: State, record: Record, queue: int, own: set[int], starts: Mapping[int, int]
    ) -> None:
        assert record.layout is not None
        self._state = state
        self._row = record.row
        self._layout: Layout = record.layout
        self._queue = queue
        self._own = own
        self._starts = starts
        self._assumed: dict[int, int] = {}  # [column] what the groups before take
        self._slots = state.tables.workloads.slots_of(record.row)

    def words(self) -> str:
        """What the event says: pod sets in order, of each the attempts that did not simply fit."""
        told: dict[int, str] = {}
        for leader in dict.fromkeys(self._layout.groups):
            attempts = sorted(self._group(leader))
            told[leader] = ", ".join(str(one) for one in attempts if one.mode != FIT or one.borrow > 0)
        return " | ".join(
            f"{name}: {told[group]}"
            for name, group in zip(self._layout.names, self._layout.groups, strict=True)
            if told[group]
        )

    def _group(self, leader: int) -> Iterator[Attempt]:
        """Attempts of the pod sets that are placed as one, by resource group (QP-410)."""
        tables = self._state.tables
        members = pods_of_group(self._layout, leader)
        requests: dict[int, int] = {}
        chosen: dict[int, int] = {}
        for resource, flavor, amount in self._slots_of(members):
            requests[resource] = saturate(requests.get(resource, 0) + amount)
            chosen[resource] = flavor
        done: set[int] = set()
        order = sorted(requests, key=lambda resource: tables.flavors.resource_rank[resource])
        for resource in order:
            group = tables.flavors.group_of[self._queue, resource]
            if group in done:
                continue
            done.add(group)
            of_group = [each for each in order if tables.flavors.group_of[self._queue, each] == group]
            yield from self._resource_group(
                members, resource, group, {each: requests[each] for each in of_group}
            )
        for resource, flavor in chosen.items():
            column = tables.flavors.column[flavor, resource]
            amount = subtract(requests[resource], self._held_before(members, resource, flavor) or 0)
            self._assumed[column] = add(self._assumed.get(column, 0), amount)

    def _slots_of(self, members: Sequence[int]) -> Iterator[tuple[int, int, int]]:
        """(resource, flavor, amount) of what pod sets were given."""
        first = 0
        for number, pods in enumerate(self._layout.classes):
            if number in members:
                for resource, _, flavor, amount in self._slots[first : first + pods.slots]:
                    if flavor != NONE:
                        yield resource, flavor, amount
            first += pods.slots

    def _resource_group(
        self, members: Sequence[int], lead: int, group: int, requests: Mapping[int, int]
    ) -> Iterator[Attempt]:
        """Attempts from where the scan began to where it found what fits (QP-420, QP-441)."""
        flavors = self._state.tables.flavors
        first, length = flavors.group_start[group], flavors.group_length[group]
        begin = self._starts.get(lead, -1) + 1
        for index in range(begin if begin < length else 0, length):
            flavor = flavors.group_flavors[first + index]
            name = self._state.tables.flavor_names[flavor]
            code = self._ineligible(members, group, flavor, name)
            if code is not None:
                yield Attempt(name, NO_FIT, 0, (self._text(Reason(code, members[0], name, "", 0, 0, 0)),))
                continue
            attempt = self._quota(members, flavor, name, requests)
            yield attempt
            # Where victims would have been needed, the scan went on: else this were no admission.
            goes_on = (
                self._state.tables.scheduler.assigner.fungibility and flavors.next_when_borrowing[self._queue]
            )
            if attempt.mode == FIT and (attempt.borrow == 0 or not goes_on):
                return

    def _ineligible(self, members: Sequence[int], group: int, flavor: int, name: str) -> int | None:
        """Code of the reason why a pod set may not use the flavor (QP-421..423, TP-603)."""
        flavors = self._state.tables.flavors
        for member in members:
            code = self._topology_mismatch(member, group, name)
            if code is not None:
                return code
            if flavors.eligible[self._layout.classes[member].eligibility, flavor] != ELIGIBLE:
                return NOT_ELIGIBLE
        return None

    def _topology_mismatch(self, member: int, group: int, flavor: str) -> int | None:
        state = self._state
        if not state.topology_aware:
            return None
        request = self._layout.pod_sets[member].topology_request
        exists, named = state.topology.exists(flavor), state.names_topology(flavor)
        if not is_explicit(request):
            only = state.tables.flavors.topology_only[self._queue]
            return TOPOLOGY_ONLY if (exists or named) and not only else None
        if not exists:
            if named:
                return TOPOLOGY_UNKNOWN
            asked = {state.tables.resource(name) for name, _ in self._layout.classes[member].requests}
            groups = {state.tables.flavors.group_of[self._queue, resource] for resource in asked}
            return TOPOLOGY_UNSUPPORTED if group in groups else None
        return None if has_levels(request, state.topology.levels_of(flavor)) else LEVEL_MISSING

    def _quota(self, members: Sequence[int], flavor: int, name: str, requests: Mapping[int, int]) -> Attempt:
        """An attempt is as bad as the worst of its resources, and borrows as much as the most (QP-430..436)."""
        mode, borrow = FIT, 0
        reasons: set[str] = set()
        for resource, amount in requests.items():
            found, level, texts = self._resource(members, flavor, name, resource, amount)
            mode = min(mode, found, key=_ORDER.__getitem__)
            borrow = max(borrow, level)
            reasons.update(texts)
        return Attempt(name, mode, borrow, tuple(sorted(reasons)))

    def _resource(
        self, members: Sequence[int], flavor: int, flavor_name: str, resource: int, amount: int
    ) -> tuple[str, int, list[str]]:
        tables, queue = self._state.tables, self._queue
        forest, flavors = tables.forest, tables.flavors
        name = tables.resource_names[resource]
        column = flavors.column[flavor, resource]
        texts: list[str] = []
        held = self._held_before(members, resource, flavor)
        if held is None:
            other = self._flavor_before(members, resource)
            texts.append(
                self._text(Reason(OTHER_FLAVOR_OF_SLICE, members[0], flavor_name, name, other, 0, 0))
            )
        amount = subtract(amount, held or 0)

        def say(code: int, first: int, second: int, third: int) -> None:
            texts.append(self._text(Reason(code, members[0], flavor_name, name, first, second, third)))

        assumed = self._assumed.get(column, 0)
        value = add(assumed, amount)
        potential = forest.potential[queue, column]
        if value > potential:
            say(EXCEEDS_MAX_QUOTA, assumed, amount, potential)
            return NO_FIT, 0, texts
        borrow, can_reclaim = forest.find_lowest_subtree_that_fits(queue, column, value)
        available = max(0, forest.find_available(queue, column))
        if value <= available:
            return FIT if held is not None else NO_FIT, borrow, texts
        say(WAITING_FOR_QUOTA, subtract(value, available), amount, available)
        asks = (
            forest.nominal[queue, column] >= value
            or can_reclaim
            or flavors.borrows_within_cohort[queue]
            or (tables.scheduler.preemptor.fair_sharing and flavors.reclaim_policy[queue])
        )
        if held is None or not asks:
            return NO_FIT, borrow, texts
        return (*self._victims(queue, flavor, resource, value, borrow), texts)

    def _victims(self, queue: int, flavor: int, resource: int, value: int, borrow: int) -> tuple[str, int]:
        """What preemption could do, and the borrow level after it, as far as it can be told without a search (QP-640).

        That is when nobody could be taken at all, and in a ClusterQueue without a cohort, whose own workloads make
        room together or not.
        """
        state, tables = self._state, self._state.tables
        freed = count = 0
        for other in {*state.tree.queues_of_tree(queue), queue}:
            for row in tables.scheduler.held.rows(other):
                if row in self._own or not self._may_take(row, other == queue):
                    continue
                held = [slot[3] for slot in tables.workloads.slots_of(row) if slot[::2] == (resource, flavor)]
                count += len(held)
                freed = add(freed, sum(held))
        if not count:
            return NO_CANDIDATES, borrow
        if tables.forest.parent[queue] != NONE:
            return UNKNOWN, 0
        column = tables.flavors.column[flavor, resource]
        fits = value <= add(tables.forest.find_available(queue, column), freed)
        return (OWN if fits else NO_CANDIDATES), borrow

    def _may_take(self, row: int, own: bool) -> bool:
        """Whether policy and priorities let the workload take the place of another one (QP-601)."""
        tables = self._state.tables
        workloads, flavors = tables.workloads, tables.flavors
        policy = (flavors.within_policy if own else flavors.reclaim_policy)[self._queue]
        if policy < LOWER_PRIORITY:
            return False
        if policy > LOWER_OR_NEWER:
            return True
        ahead = workloads.priority[self._row] - workloads.priority[row]
        if ahead or policy == LOWER_PRIORITY:
            return ahead > 0
        buffer = BUFFER_NS if tables.scheduler.preemptor.candidates.timestamp_buffer else 0
        return workloads.timestamp[row] - workloads.timestamp[self._row] > buffer

    # --- the slice that it replaces

    def _held_before(self, members: Sequence[int], resource: int, flavor: int) -> int | None:
        """What the replaced slice holds for these pod sets; None if it has another flavor (JS-603)."""
        workloads = self._state.tables.workloads
        old = workloads.replaces[self._row]
        if (
            not self._state.tables.scheduler.assigner.slices
            or old == NONE
            or workloads.reserved_in[old] != self._queue
        ):
            return 0
        total = 0
        for member in members:
            found = self._old_slot(old, member, resource)
            if found is None or found[0] != flavor:
                return None
            total = saturate(total + found[1])
        return total

    def _flavor_before(self, members: Sequence[int], resource: int) -> int:
        old = self._state.tables.workloads.replaces[self._row]
        found = self._old_slot(old, members[0], resource)
        return NONE if found is None else found[0]

    def _old_slot(self, old: int, member: int, resource: int) -> tuple[int, int] | None:
        workloads = self._state.tables.workloads
        start = workloads.slot_start[old]
        for slot in range(start, start + workloads.slot_length[old]):
            if (
                workloads.slot_pod_set[slot] == member
                and workloads.slot_resource[slot] == resource
                and workloads.slot_flavor[slot] >= 0
            ):
                return workloads.slot_flavor[slot], workloads.slot_amount[slot]
        return None

    def _text(self, reason: Reason) -> str:
        return messages.reason_text(reason, self._layout, self._state.classes)
