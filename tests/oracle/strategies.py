"""Hypothesis strategies: quota trees with hostile values, and workloads.

A tree is drawn as plain rows, so that a test can build the oracle's forest and the kernel's arrays from the same rows.
"""

from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from tests.oracle.amounts import MAX, MIN, UNLIMITED
from tests.oracle.forest import FlavorResource, Forest, Quantities, Quotas

COLUMNS: tuple[FlavorResource, ...] = (("on-demand", "cpu"), ("on-demand", "memory"), ("spot", "cpu"))
EDGES = (0, 1, 2, 2**31, 2**53, 2**62 - 1, 2**62, 2**62 + 1, MAX - 1, UNLIMITED)


@dataclass(frozen=True)
class CohortRow:
    name: str
    parent: str | None
    quotas: Quotas


@dataclass(frozen=True)
class ClusterQueueRow:
    name: str
    cohort: str | None
    quotas: Quotas
    usage: Quantities


@dataclass(frozen=True)
class Change:
    """Usage added to a ClusterQueue, or removed from it."""

    cluster_queue: str
    fr: FlavorResource
    amount: int
    removes: bool


@dataclass(frozen=True)
class ForestCase:
    cohorts: tuple[CohortRow, ...]
    cluster_queues: tuple[ClusterQueueRow, ...]
    changes: tuple[Change, ...]

    def build(self) -> Forest:
        """The forest before the changes."""
        forest = Forest()
        for cohort in self.cohorts:
            forest.set_cohort(cohort.name, cohort.parent, cohort.quotas)
        for row in self.cluster_queues:
            forest.set_cluster_queue(row.name, row.cohort, row.quotas, row.usage)
        forest.recompute()
        return forest

    def apply(self, forest: Forest, change: Change) -> None:
        node = forest.cluster_queues[change.cluster_queue]
        (node.remove_usage if change.removes else node.add_usage)(change.fr, change.amount)


def small_amounts() -> st.SearchStrategy[int]:
    return st.integers(0, 20)


def amounts() -> st.SearchStrategy[int]:
    """Quotas and usage: small most of the time, else near the limits of int64; never negative."""
    return st.one_of(small_amounts(), st.sampled_from(EDGES), st.integers(0, MAX))


def any_amounts() -> st.SearchStrategy[int]:
    """What arithmetic may meet, negative remainders too."""
    return st.one_of(st.integers(-20, 20), st.sampled_from((MIN, MIN + 1, *EDGES)), st.integers(MIN, MAX))


@st.composite
def quotas(draw: st.DrawFn, values: st.SearchStrategy[int], *, has_parent: bool) -> Quotas:
    """Nominal quotas for some columns, with limits only where a parent could lend or borrow."""
    nominal = draw(st.dictionaries(st.sampled_from(COLUMNS), values))
    limits = (
        st.dictionaries(st.sampled_from(sorted(nominal)), values) if nominal and has_parent else st.just({})
    )
    return Quotas(nominal, draw(limits), draw(limits))


@st.composite
def forests(draw: st.DrawFn, values: st.SearchStrategy[int] | None = None, *, largest: int = 5) -> ForestCase:
    """Some trees with usage, often above the quota, and changes of usage. A cohort's parent precedes it in the rows."""
    values = amounts() if values is None else values
    names = [f"cohort-{i}" for i in range(draw(st.integers(0, largest)))]
    cohorts = []
    for i, name in enumerate(names):
        parent = draw(st.sampled_from([None, *names[:i]]))
        cohorts.append(CohortRow(name, parent, draw(quotas(values, has_parent=parent is not None))))
    rows = []
    for i in range(draw(st.integers(1, largest))):
        cohort = draw(st.sampled_from([None, *names]))
        usage = draw(st.dictionaries(st.sampled_from(COLUMNS), values))
        rows.append(
            ClusterQueueRow(f"queue-{i}", cohort, draw(quotas(values, has_parent=cohort is not None)), usage)
        )
    change = st.builds(
        Change, st.sampled_from([row.name for row in rows]), st.sampled_from(COLUMNS), values, st.booleans()
    )
    return ForestCase(tuple(cohorts), tuple(rows), tuple(draw(st.lists(change, max_size=8))))


def quantities() -> st.SearchStrategy[str]:
    """Written quantities: zeros, fractions, negative ones, and some beyond int64."""
    plain = st.integers(-5, 50).map(str)
    suffixed = st.tuples(st.integers(0, 5000), st.sampled_from(["m", "", "k", "Ki", "Mi", "Gi"])).map(
        lambda t: f"{t[0]}{t[1]}"
    )
    return st.one_of(
        plain,
        suffixed,
        st.sampled_from(["0", "0.5", "1e3", "100u", "10E", "16Ei", "-1", "9223372036854775807"]),
    )


@st.composite
def workloads(draw: st.DrawFn, queue: str = "queue", namespace: str = "default") -> dict[str, Any]:
    """A Workload manifest with odd requests and counts."""
    resource = st.sampled_from(["cpu", "memory", "pods", "example.com/gpu"])
    pod_sets = []
    for i in range(draw(st.integers(1, 3))):
        count = draw(st.one_of(st.integers(0, 5), st.sampled_from([150_000, 2**31 - 1])))
        requests = draw(st.dictionaries(resource, quantities(), max_size=3))
        spec = {"containers": [{"name": "main", "resources": {"requests": requests}}]}
        pod_set: dict[str, Any] = {
            "name": f"set-{i}",
            "count": count,
            "template": {"metadata": {}, "spec": spec},
        }
        if count and draw(st.booleans()):
            pod_set["minCount"] = draw(st.integers(1, count))
        pod_sets.append(pod_set)
    number = draw(st.integers(0, 999))
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": {
            "name": f"workload-{number:03d}",
            "namespace": namespace,
            "uid": f"uid-{number:03d}",
            "creationTimestamp": f"2026-01-01T00:00:{draw(st.integers(0, 59)):02d}Z",
        },
        "spec": {
            "active": True,
            "queueName": queue,
            "priority": draw(st.integers(-(2**31), 2**31 - 1)),
            "podSets": pod_sets,
        },
    }
