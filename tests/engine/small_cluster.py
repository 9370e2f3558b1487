"""Small clusters for tests of single rules: queues of cpu, what they hold, who waits, and what a cycle does.

Amounts are whole cpus of flavor `one` unless a case names other flavors or resources.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import msgspec

from kueue_fast import Engine
from kueue_fast.api.configuration import Configuration
from tests.arrays.objects import (
    START,
    Json,
    cluster_queue,
    condition,
    cycle,
    feed,
    flavor,
    local_queue,
    namespace,
    obj,
    pod_set,
    quota,
    reserved,
    workload_json,
)

FINAL_SHARE = "LessThanOrEqualToFinalShare"
INITIAL_SHARE = "LessThanInitialShare"

IN_QUEUE = "InClusterQueue"
RECLAIMED = "InCohortReclamation"

Amount: TypeAlias = int | tuple[int, int | None] | tuple[int, int | None, int | None]
"""Nominal quota; with borrowing limit; with borrowing and lending limit."""
Amounts: TypeAlias = int | Mapping[str, int]
"""What a workload asks for or holds: cpu, or several resources."""


def quotas(flavors: Mapping[str, Mapping[str, Amount]]) -> Json:
    """A resource group: flavor to resource to amount."""
    first = next(iter(flavors.values()))

    def one(resource: str, amount: Amount) -> Json:
        return quota(resource, *(amount if isinstance(amount, tuple) else (amount,)))

    return {
        "coveredResources": list(first),
        "flavors": [
            {"name": name, "resources": [one(resource, amount) for resource, amount in resources.items()]}
            for name, resources in flavors.items()
        ],
    }


def queue(
    name: str, cpu: Amount = 0, cohort: str | None = "all", *groups: Json, within: str = "Never",
    reclaim: str = "Never", borrow: Json | None = None, weight: str | None = None, **spec: Any,
) -> list[Any]:  # fmt: skip
    """A ClusterQueue and a LocalQueue of the same name; `borrow`: its borrowWithinCohort."""
    preemption: Json = {"withinClusterQueue": within, "reclaimWithinCohort": reclaim}
    if borrow is not None:
        preemption["borrowWithinCohort"] = borrow
    if weight is not None:
        spec["fairSharing"] = {"weight": weight}
    shown = groups or (quotas({"one": {"cpu": cpu}}),)
    made = cluster_queue(name, *shown, cohort=cohort, preemption=preemption, **spec)
    return [made, local_queue(name, name)]


def tree(
    name: str, parent: str | None = None, cpu: Amount | None = None, *, weight: str | None = None
) -> list[Any]:
    """A cohort with its own cpu, if any."""
    spec: Json = {"resourceGroups": [] if cpu is None else [quotas({"one": {"cpu": cpu}})]}
    if parent is not None:
        spec["parentName"] = parent
    if weight is not None:
        spec["fairSharing"] = {"weight": weight}
    return [obj("Cohort", name, spec)]


def held(
    name: str, queue: str, amounts: Amounts = 1, flavor: str = "one", *, priority: int = 0, created: int = 0,
    since: int | None = 0, evicted: bool = False, **rest: Any,
) -> Json:  # fmt: skip
    """A workload that holds quota since so many seconds after START; `since=None`: the condition has no time."""
    usage = {"cpu": amounts} if isinstance(amounts, int) else dict(amounts)
    made = reserved(
        workload_json(name, queue, pod_set(), priority=priority, created=created, **rest),
        queue,
        ("main", 1, dict.fromkeys(usage, flavor), usage),
    )
    for one in made["status"]["conditions"]:
        if one["type"] == "QuotaReserved":
            one.update(condition("QuotaReserved", reason="QuotaReserved", at=since or 0))
            if since is None:
                del one["lastTransitionTime"]
    if evicted:
        made["status"]["conditions"].append(condition("Evicted", reason="Preempted"))
    return made


def waits(name: str, queue: str, amounts: Amounts = 1, **rest: Any) -> Json:
    """A pending workload of one pod."""
    requests = {"cpu": amounts} if isinstance(amounts, int) else dict(amounts)
    return workload_json(name, queue, _pods(requests), **rest)


def _pods(requests: Mapping[str, int]) -> Json:
    made = pod_set()
    written = {name: str(amount) for name, amount in requests.items()}
    made["template"]["spec"]["containers"][0]["resources"]["requests"] = written
    return made


def started(
    *objects: Any, fair: bool = False, strategies: Sequence[str] | None = None,
    gates: Mapping[str, bool] | None = None, flavors: Sequence[str] = ("one", "two"),
) -> Engine:  # fmt: skip
    """An engine that knows the namespace default, some flavors, and these objects (lists are flattened)."""
    written: Json = {}
    if fair or strategies is not None:
        written["fairSharing"] = {} if strategies is None else {"preemptionStrategies": list(strategies)}
    engine = Engine(msgspec.convert(written, Configuration), gates)
    return add(engine, namespace(), *(flavor(name) for name in flavors), *objects)


def add(engine: Engine, *objects: Any, at: int = 0) -> Engine:
    """Upsert objects, lists flattened."""
    for one in objects:
        feed(engine, *(one if isinstance(one, list) else [one]), at=at)
    return engine


def release(engine: Engine, *names: str, at: int = 0) -> None:
    """Workloads are gone, and who waits is looked at again."""
    for name in names:
        engine.delete("Workload", "default", name, START + at * 10**9)
    engine.flush(START + at * 10**9, all=True)


def victims(one: Any) -> list[tuple[str, str]]:
    """(workload, reason) of what a cycle preempts, in order."""
    return [(row.workload.partition("/")[2], row.reason) for row in one.preempted]


def outcomes(one: Any) -> dict[str, str]:
    """What became of each head of a cycle."""
    found = {row.workload.partition("/")[2]: "Admitted" for row in one.admitted}
    return found | {row.workload.partition("/")[2]: row.outcome for row in one.requeued}


def order_of_admission(one: Any) -> list[str]:
    return [row.workload.partition("/")[2] for row in one.admitted]


def flavors_of(one: Any) -> dict[str, str]:
    """Flavor of the first resource of each workload that a cycle admitted."""
    return {
        row.workload.partition("/")[2]: next(iter(row.pod_sets[0].flavors.values())) for row in one.admitted
    }


__all__ = [
    "FINAL_SHARE", "INITIAL_SHARE", "Json", "add", "condition", "cycle", "flavors_of", "held", "order_of_admission",
    "outcomes", "pod_set", "queue", "quotas", "release", "started", "tree", "victims", "waits", "workload_json",
]  # fmt: skip


def decide(objects: Sequence[Any], incoming: Json, **options: Any) -> Any:
    """The cycle in which `incoming` comes to a cluster of `objects`."""
    engine = started(*objects, **options)
    add(engine, incoming)
    return cycle(engine)
