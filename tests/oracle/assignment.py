"""Which flavors a workload gets, and at what price. Source: QP-401 to QP-446, QP-501, QP-502."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import TypeAlias

from tests.oracle.amounts import add, saturate
from tests.oracle.cluster import Cluster, ClusterQueue, ResourceGroup
from tests.oracle.eligibility import InvalidAffinity, eligible
from tests.oracle.forest import FlavorResource, Quantities
from tests.oracle.workloads import PodSet, ScanRecord, Workload


class Mode(IntEnum):
    """Source: QP-403."""

    NO_FIT = 0
    PREEMPT = 1
    DEFERRED_FIT = 2
    FIT = 3


class Outcome(IntEnum):
    """What the quota of one flavor-resource allows; a finer `Mode`. Source: QP-403."""

    NO_FIT = 0
    NO_CANDIDATES = 1
    PREEMPT = 2
    RECLAIM = 3
    FIT = 4

    @property
    def mode(self) -> Mode:
        return {Outcome.NO_FIT: Mode.NO_FIT, Outcome.FIT: Mode.FIT}.get(self, Mode.PREEMPT)


@dataclass(frozen=True)
class Grade:
    """How good a flavor is: its outcome and the height up to which it borrows."""

    outcome: Outcome
    borrow: int

    def better_than(self, other: "Grade", preference: str | None) -> bool:
        """Source: QP-440."""
        if Outcome.NO_FIT in (self.outcome, other.outcome):
            return self.outcome != Outcome.NO_FIT
        no_candidates = [grade.outcome == Outcome.NO_CANDIDATES for grade in (self, other)]
        if any(no_candidates) and not all(no_candidates):
            return no_candidates[1]
        mine, theirs = (self.outcome, -self.borrow), (other.outcome, -other.borrow)
        return mine[::-1] > theirs[::-1] if preference == "PreemptionOverBorrowing" else mine > theirs


BEST = Grade(Outcome.FIT, 0)
WORST = Grade(Outcome.NO_FIT, 2**31)


@dataclass(frozen=True)
class Choice:
    flavor: str
    mode: Mode
    borrow: int
    tried: int = 0  # index at which the scan stopped, -1 at the last


@dataclass(frozen=True)
class Attempt:
    """A flavor that the scan looked at for a group of pod sets. Source: QP-465."""

    flavor: str
    outcome: Outcome
    borrow: int


@dataclass
class PodSetAssignment:
    name: str
    count: int
    requests: Mapping[str, int]
    flavors: dict[str, Choice]
    mode: Mode
    attempts: Sequence[Attempt]  # of its group, by name


@dataclass
class Assignment:
    pod_sets: dict[int, PodSetAssignment] = field(
        default_factory=dict
    )  # by index in the workload; what came after a failure is missing
    usage: Quantities = field(default_factory=dict)
    borrowing: int = 0
    mode: Mode = Mode.NO_FIT

    @property
    def tried(self) -> dict[int, dict[str, int]]:
        """Source: QP-502."""
        return {
            i: {resource: choice.tried for resource, choice in p.flavors.items()}
            for i, p in self.pod_sets.items()
        }

    @property
    def pins(self) -> dict[int, dict[str, str]]:
        """Source: QP-424."""
        return {
            i: {resource: choice.flavor for resource, choice in p.flavors.items()}
            for i, p in self.pod_sets.items()
        }

    def short_of_quota(self) -> list[FlavorResource]:
        """Source: QP-631."""
        return sorted({
            (choice.flavor, resource)
            for pod_set in self.pod_sets.values()
            for resource, choice in pod_set.flavors.items()
            if choice.mode == Mode.PREEMPT
        })  # fmt: skip

    def include(self, index: int, pod_set: PodSetAssignment) -> None:
        self.pod_sets[index] = pod_set
        for resource, choice in pod_set.flavors.items():
            fr = choice.flavor, resource
            self.usage[fr] = add(self.usage.get(fr, 0), pod_set.requests[resource])
            self.borrowing = max(self.borrowing, choice.borrow)


Simulation: TypeAlias = Callable[[FlavorResource, int], Grade]


class Assigner:
    """Assigns flavors to one workload in one ClusterQueue.

    `simulate` says what preemption could do for one flavor-resource;
    `pinned` holds per pod set the only flavor that may be taken for a resource (QP-424).
    """

    def __init__(
        self,
        cluster: Cluster,
        cluster_queue: ClusterQueue,
        workload: Workload,
        simulate: Simulation,
        pinned: Mapping[int, Mapping[str, str]] | None = None,
    ) -> None:
        self.cluster = cluster
        self.settings = cluster.settings
        self.cluster_queue = cluster_queue
        self.node = cluster_queue.node
        self.workload = workload
        self.simulate = simulate
        self.pinned = pinned

    def assign(self, counts: Sequence[int] | None = None) -> Assignment:
        """Flavors for all pod sets, or for a reduced number of their pods. Source: QP-401 to QP-418."""
        result = Assignment()
        sizes = [p.count for p in self.workload.pod_sets] if counts is None else counts
        for members in groups(self.workload.pod_sets):
            requests = {i: self._requests(i, sizes[i]) for i in members}
            attempts: list[Attempt] = []
            flavors, shortfall = self._assign_group(members, requests, result.usage, attempts)
            attempts.sort(key=lambda attempt: attempt.flavor)
            for i in members:
                own = {r: flavors[r] for r in requests[i] if r in flavors} if flavors is not None else {}
                mode = pod_set_mode(own, shortfall)
                name = self.workload.pod_sets[i].name
                result.include(i, PodSetAssignment(name, sizes[i], requests[i], own, mode, attempts))
            if flavors is None:
                break
        result.mode = min((p.mode for p in result.pod_sets.values()), default=Mode.NO_FIT)
        if (
            not self.cluster_queue.groups
            and any(sizes)
            and not any(p.requests for p in result.pod_sets.values())
        ):
            result.mode = Mode.NO_FIT  # it counts as a ClusterQueue for topology alone, and has none (QP-917)
        return result

    def _requests(self, pod_set: int, count: int) -> dict[str, int]:
        """What the pod set asks for, its number of pods included where that is a quota. Source: QP-401, QP-405."""
        requests = self.workload.pod_sets[pod_set].scaled(count)
        if self.cluster_queue.group_of("pods") is not None:
            requests["pods"] = count
        return requests

    def _assign_group(
        self,
        members: Sequence[int],
        requests: Mapping[int, Mapping[str, int]],
        assigned: Quantities,
        attempts: list[Attempt],
    ) -> tuple[dict[str, Choice] | None, bool]:
        """Flavors of the group (None: there are none), and whether something is short of quota.

        What was looked at is added to `attempts`. Source: QP-410 to QP-415.
        """
        total: dict[str, int] = {}
        for request in requests.values():
            for resource, amount in request.items():
                total[resource] = saturate(total.get(resource, 0) + amount)
        flavors: dict[str, Choice] = {}
        shortfall = False
        for resource in sorted(total, key=vector_order):
            group = self.cluster_queue.group_of(resource)
            if resource in flavors or (
                group is None and (total[resource] == 0 or self.settings.ignores_undeclared)
            ):
                continue
            if group is None:
                return None, True
            wanted = {r: total[r] for r in sorted(total, key=vector_order) if r in group.resources}
            found, grade = self._scan(members, group, resource, wanted, assigned, attempts)
            if not found:
                return None, True
            flavors |= found
            shortfall = shortfall or grade.outcome != Outcome.FIT
        return flavors, shortfall

    def _scan(
        self,
        members: Sequence[int],
        group: ResourceGroup,
        leading: str,
        wanted: Mapping[str, int],
        assigned: Quantities,
        attempts: list[Attempt],
    ) -> tuple[dict[str, Choice], Grade]:
        """The best flavor of a resource group, from where the last scan stopped. Source: QP-420, QP-441 to QP-445."""
        fungible = self.settings.enabled("FlavorFungibility")
        best: dict[str, Choice] = {}
        best_grade = WORST
        attempted = -1
        for attempted in range(self._start(members[0], leading, group), len(group.flavors)):
            flavor = group.flavors[attempted]
            if not self._is_allowed(members, leading, flavor):
                continue
            try:
                if not all(
                    eligible(self.cluster.flavors.get(flavor), self.workload.pod_sets[i].spec)
                    for i in members
                ):
                    attempts.append(Attempt(flavor, Outcome.NO_FIT, 0))
                    continue
            except InvalidAffinity:
                return {}, WORST
            choices, grade, borrow = self._grade_flavor(flavor, wanted, assigned)
            attempts.append(Attempt(flavor, grade.outcome, borrow))
            if fungible:
                better = grade.better_than(best_grade, self.cluster_queue.preference)
                last = not self._tries_next(grade)
            else:
                better = grade.outcome > best_grade.outcome
                last = better and grade.outcome == Outcome.FIT
            if better or last:
                best, best_grade = choices, grade
            if last:
                break
        if fungible:
            tried = -1 if attempted == len(group.flavors) - 1 else attempted
            best = {resource: Choice(c.flavor, c.mode, c.borrow, tried) for resource, c in best.items()}
        return best, best_grade

    def _start(self, pod_set: int, resource: str, group: ResourceGroup) -> int:
        """Source: QP-501, QP-902."""
        record = self.workload.record
        if record is None or not self.settings.enabled("FlavorFungibility"):
            return 0
        start = record.start(pod_set, resource)
        return start if start < len(group.flavors) else 0

    def _is_allowed(self, members: Sequence[int], leading: str, flavor: str) -> bool:
        """Source: QP-424."""
        return not self.pinned or any(self.pinned.get(i, {}).get(leading) == flavor for i in members)

    def _grade_flavor(
        self, flavor: str, wanted: Mapping[str, int], assigned: Quantities
    ) -> tuple[dict[str, Choice], Grade, int]:
        """The choices made, the worst grade of them and the highest borrowing; no choices where it does not fit.

        Source: QP-430, QP-436.
        """
        worst = BEST
        highest = 0
        choices: dict[str, Choice] = {}
        for resource, amount in wanted.items():
            fr = flavor, resource
            grade = self._grade_quota(fr, add(assigned.get(fr, 0), amount))
            highest = max(highest, grade.borrow)
            if worst.better_than(grade, self.cluster_queue.preference):
                worst = grade
            choices[resource] = Choice(flavor, grade.outcome.mode, grade.borrow)
        return ({} if worst.outcome == Outcome.NO_FIT else choices), worst, highest

    def _grade_quota(self, fr: FlavorResource, amount: int) -> Grade:
        """Source: QP-431 to QP-435."""
        if amount > self.node.potential(fr):
            return Grade(Outcome.NO_FIT, 0)
        borrow, may_reclaim = self.node.lowest_subtree(fr, amount)
        if amount <= max(0, self.node.available(fr)):
            return Grade(Outcome.FIT, borrow)
        queue = self.cluster_queue
        reclaims = self.settings.fair_sharing and queue.reclaim_within_cohort != "Never"
        if self.node.nominal(fr) >= amount or may_reclaim or queue.borrows_within_cohort or reclaims:
            return self.simulate(fr, amount)
        return Grade(Outcome.NO_FIT, borrow)

    def _tries_next(self, grade: Grade) -> bool:
        """Source: QP-441."""
        if grade.outcome in (Outcome.NO_FIT, Outcome.NO_CANDIDATES):
            return True
        preempts = grade.outcome != Outcome.FIT and self.cluster_queue.when_can_preempt == "TryNextFlavor"
        borrows = grade.borrow > 0 and self.cluster_queue.when_can_borrow == "TryNextFlavor"
        return preempts or borrows

    def scan_record(self, assignment: Assignment, cycle: int) -> ScanRecord:
        """Source: QP-502."""
        return ScanRecord(assignment.tried, self.cluster_queue.generation, cycle, self.workload.shape)


def pod_set_mode(flavors: Mapping[str, Choice], shortfall: bool) -> Mode:
    """Source: QP-404. Without a shortfall even a pod set without flavors fits."""
    if not shortfall:
        return Mode.FIT
    return min((choice.mode for choice in flavors.values()), default=Mode.NO_FIT)


def groups(pod_sets: Sequence[PodSet]) -> Iterator[list[int]]:
    """Indices of pod sets that take flavors together, in order of first appearance. Source: QP-410, QP-903."""
    named: dict[str | int, list[int]] = {}
    for i, pod_set in enumerate(pod_sets):
        named.setdefault(i if pod_set.group is None else pod_set.group, []).append(i)
    yield from named.values()


def vector_order(resource: str) -> tuple[int, str]:
    """Order of resources in a request: by 64-bit FNV-1a hash, then by name. Source: QP-107."""
    value = 0xCBF29CE484222325
    for byte in resource.encode():
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return value, resource
