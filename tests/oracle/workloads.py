"""A workload as the scheduler knows it: what it asks for, its place in the order, and how far its flavor scan came."""

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeAlias

from tests.oracle import requests
from tests.oracle.amounts import canonical, multiply
from tests.oracle.forest import FlavorResource, Quantities
from tests.oracle.settings import Settings

Manifest: TypeAlias = Mapping[str, Any]

SECOND = 1000  # times are milliseconds since 1970
BOOST = "kueue.x-k8s.io/priority-boost"


def milliseconds(text: str | None) -> int:
    """A missing time sorts before every other."""
    return int(datetime.fromisoformat(text).timestamp() * SECOND) if text else -(2**62)


@dataclass(frozen=True)
class PodSet:
    name: str
    count: int
    min_count: int | None
    requests: Mapping[str, int]  # of all its pods together, in units
    spec: Manifest  # adjusted
    group: str | None

    def scaled(self, count: int) -> dict[str, int]:
        """What `count` of its pods ask for. Source: QC-69."""
        if count == self.count or self.count == 0:
            return dict(self.requests)
        return {resource: multiply(amount // self.count, count) for resource, amount in self.requests.items()}


@dataclass(frozen=True)
class ScanRecord:
    """Where the flavor scan of an assignment ended. Source: QP-502."""

    tried: Mapping[int, Mapping[str, int]]  # by pod set: resource to flavor index, -1 after the last flavor
    generation: int
    cycle: int
    shape: Hashable

    def pending_flavors(self) -> bool:
        """Source: QC-40."""
        return any(index != -1 for indices in self.tried.values() for index in indices.values())

    def start(self, pod_set: int, resource: str) -> int:
        """Index of the first flavor to look at. Source: QP-501."""
        return self.tried.get(pod_set, {}).get(resource, -1) + 1


@dataclass
class Admission:
    cluster_queue: str
    usage: Quantities
    reserved_at: int


class Workload:
    def __init__(self, manifest: Manifest) -> None:
        metadata = manifest["metadata"]
        self.namespace: str = metadata["namespace"]
        self.name: str = metadata["name"]
        self.key = f"{self.namespace}/{self.name}"
        self.uid: str = metadata.get("uid") or ""
        self.created = milliseconds(metadata.get("creationTimestamp"))
        self.annotations: Mapping[str, str] = metadata.get("annotations") or {}
        self.generation: int = metadata.get("generation") or 0
        self.spec: Manifest = manifest["spec"]
        self.pod_sets: list[PodSet] = []
        self.shape: Hashable = None  # None where equivalence classes are off
        self.record: ScanRecord | None = None
        self.evaluated_generation = 0
        self.admission: Admission | None = None
        self.evicted = False
        self.preempted: tuple[str, int] | None = None  # reason and time, until it is admitted again
        self.finished = False

    @property
    def queue(self) -> str:
        return f"{self.namespace}/{self.spec.get('queueName') or ''}"

    @property
    def is_admissible(self) -> bool:
        """Whether it may be queued. Source: QC-56."""
        gated = bool(self.annotations.get("kueue.x-k8s.io/admission-gated-by"))
        return (
            not self.finished
            and self.admission is None
            and self.spec.get("active") is not False
            and not gated
        )

    def rebuild(
        self, settings: Settings, runtime_classes: Mapping[str, Manifest], limit_ranges: Iterable[Manifest]
    ) -> None:
        """Compute pod sets and shape anew, as is done at each event and requeue. Source: QC-44, QC-61, QC-64."""
        ranges = list(limit_ranges)
        self.pod_sets = []
        for pod_set in self.spec["podSets"]:
            spec = requests.adjust(pod_set["template"]["spec"], runtime_classes, ranges)
            count = pod_set.get("count", 1)
            group = (pod_set.get("topologyRequest") or {}).get("podSetGroupName")
            total = requests.totals(spec, count, settings)
            self.pod_sets.append(PodSet(pod_set["name"], count, pod_set.get("minCount"), total, spec, group))
        self.shape = self._shape(settings) if settings.enabled("SchedulingEquivalenceHashing") else None

    def _shape(self, settings: Settings) -> Hashable:
        """What makes workloads equivalent. Source: QC-42."""
        pod_sets = tuple(
            (p.name, p.count, p.min_count, p.group, frozenset(p.requests.items()), pod_shape(p.spec))
            for p in self.pod_sets
        )
        return pod_sets, self.priority(settings)

    def priority(self, settings: Settings) -> int:
        """Source: QC-10, QP-603."""
        base = int(self.spec.get("priority") or 0)
        if not settings.enabled("PriorityBoost"):
            return base
        try:
            boost = int(self.annotations.get(BOOST) or "0")
        except ValueError:
            return base
        return base + boost if -(2**31) <= boost < 2**31 else base

    def queue_time(self, settings: Settings) -> int:
        """Source: QC-12, QP-602, where nothing is evicted but by preemption."""
        if (
            not settings.enabled("PrioritySortingWithinCohort")
            and self.preempted
            and self.preempted[0] == "InCohortReclaimWhileBorrowing"
        ):
            return self.preempted[1] + 1
        return self.created

    def uses(self, frs: Iterable[FlavorResource]) -> bool:
        """Whether its admission takes one of these, be it an amount of 0. Source: QP-610."""
        return self.admission is not None and any(fr in self.admission.usage for fr in frs)

    def can_be_partially_admitted(self) -> bool:
        return any(p.min_count is not None and p.min_count < p.count for p in self.pod_sets)


def pod_shape(spec: Manifest) -> Hashable:
    """Source: QC-42. Quantities are compared as upstream writes them, so that 1Gi and 1073741824 differ."""
    containers = tuple(
        tuple(
            (written(c["resources"].get("requests")), freeze(c.get("ports"))) for c in spec.get(field) or ()
        )
        for field in ("initContainers", "containers")
    )
    plain = (
        "nodeSelector",
        "affinity",
        "tolerations",
        "runtimeClassName",
        "priority",
        "topologySpreadConstraints",
        "resourceClaims",
    )
    pod_level = written((spec.get("resources") or {}).get("requests"))
    return (
        containers,
        tuple(freeze(spec.get(field)) for field in plain),
        written(spec.get("overhead")),
        pod_level,
    )


def written(quantities: Mapping[str, Any] | None) -> Hashable:
    return frozenset((resource, canonical(text)) for resource, text in (quantities or {}).items())


def freeze(value: Any) -> Hashable:
    """Any JSON value, hashable."""
    if isinstance(value, dict):
        return frozenset((key, freeze(item)) for key, item in value.items())
    if isinstance(value, list):
        return tuple(map(freeze, value))
    return value  # type: ignore[no-any-return]
