"""Replay a scenario of the conformance corpus.

`run` answers in the form of its `expect`, `normalise` makes two answers comparable,
`unsupported` names what is missing.
"""

import math
from collections.abc import Mapping
from typing import Any, TypeAlias

from tests.oracle.amounts import request_value
from tests.oracle.assignment import Outcome
from tests.oracle.forest import Forest
from tests.oracle.scheduler import Decisions, Entry
from tests.oracle.settings import DEFAULT_GATES, HARMLESS_GATES, Settings
from tests.oracle.shares import dominant_share
from tests.oracle.workloads import SECOND, milliseconds
from tests.oracle.world import World

Json: TypeAlias = dict[str, Any]

EPOCH = milliseconds("2026-01-01T00:00:00Z")
CYCLE_LIMIT = 400
IDLE_LIMIT = 3
KINDS = frozenset(
    {
        "AdmissionCheck",
        "ClusterQueue",
        "Cohort",
        "LimitRange",
        "LocalQueue",
        "Namespace",
        "ResourceFlavor",
        "RuntimeClass",
        "Workload",
    }
)
UPDATABLE = frozenset({"ClusterQueue", "Cohort", "LocalQueue", "ResourceFlavor", "Workload"})
OUTCOMES = {
    Outcome.NO_FIT: "NoFit",
    Outcome.NO_CANDIDATES: "preemptionMode=NoCandidates",
    Outcome.PREEMPT: "preemptionMode=Preempt",
    Outcome.RECLAIM: "preemptionMode=Reclaim",
    Outcome.FIT: "Fit",
}
SLICE = "kueue.x-k8s.io/workload-slice-replacement-for"


def run(scenario: Mapping[str, Any]) -> list[Json]:
    """Decide on all steps. Raises ValueError for what `unsupported` names."""
    reason = unsupported(scenario)
    if reason is not None:
        raise ValueError(f"{scenario.get('name')}: {reason}")
    world = World(Settings.of(scenario.get("config") or {}), EPOCH)
    for manifest in scenario["objects"]:
        world.create(manifest)
    return [run_step(world, step) for step in scenario["steps"]]


def run_step(world: World, step: Mapping[str, Any]) -> Json:
    world.now = max(world.now, EPOCH + int(step["at"]) * SECOND)
    world.stop(step.get("stopped") or 0)
    for key in step.get("finish") or ():
        world.finish(key)
    for reference in step.get("delete") or ():
        world.delete(reference)
    for manifest in step.get("update") or ():
        world.update(manifest)
    for manifest in step.get("create") or ():
        world.create(manifest)
    cycles: list[Json] = []
    limit = step.get("maxCycles") or CYCLE_LIMIT
    idle = 0
    while len(cycles) < limit and idle < IDLE_LIMIT:
        before = world.places()
        world.flush()
        if not world.has_heads():
            break
        cycles.append(describe_cycle(world.cycle()))
        idle = 0 if cycles[-1] or world.places() != before else idle + 1
    truncated = len(cycles) >= limit
    while cycles and not cycles[-1]:
        cycles.pop()
    return {"cycles": cycles, **describe_state(world), **({"truncated": True} if truncated else {})}


def describe_cycle(decisions: Decisions) -> Json:
    cycle: Json = {}
    if decisions.admitted:
        cycle["admitted"] = sorted(
            map(describe_admission, decisions.admitted), key=lambda a: str(a["workload"])
        )
    if decisions.preempted:
        cycle["preempted"] = [
            {"workload": key, "reason": target.reason} for key, target in sorted(decisions.preempted.items())
        ]
    return cycle


def describe_admission(entry: Entry) -> Json:
    pod_sets = [
        {
            "name": p.name,
            "count": p.count,
            "flavors": {resource: choice.flavor for resource, choice in p.flavors.items()},
            "usage": {resource: p.requests[resource] for resource in p.flavors},
        }
        for _, p in sorted(entry.assignment.pod_sets.items())
    ]
    flavors = {choice.flavor for p in entry.assignment.pod_sets.values() for choice in p.flavors.values()}
    waits = entry.cluster_queue.needs_checks(flavors)
    return {
        "workload": entry.workload.key,
        "clusterQueue": entry.cluster_queue.name,
        "podSets": pod_sets,
        "admitted": not waits,
        "considered": considered(entry),
    }


def considered(entry: Entry) -> list[tuple[str, str, int]]:
    """Flavors that did not simply fit, pod set by pod set: name, how it went, borrowing level. Source: QP-465."""
    return [
        (attempt.flavor, OUTCOMES[attempt.outcome], attempt.borrow)
        for _, p in sorted(entry.assignment.pod_sets.items())
        for attempt in p.attempts
        if attempt.outcome != Outcome.FIT or attempt.borrow > 0
    ]


def describe_state(world: World) -> Json:
    cluster_queues = sorted(world.cluster.cluster_queues.items())
    usage = {
        name: {
            "/".join(fr): amount
            for fr, amount in c.node.usage.items()
            if amount and fr in c.node.quotas.nominal
        }
        for name, c in cluster_queues
    }
    maps: Json = {
        "active": {name: sorted(c.pending.heap) for name, c in cluster_queues},
        "inadmissible": {name: sorted(c.pending.parked) for name, c in cluster_queues},
        "usage": usage,
    }
    if world.settings.fair_sharing:
        shares = {name: dominant_share(c.node).weighted for name, c in cluster_queues}
        maps["weightedShare"] = {name: "inf" if math.isinf(s) else s for name, s in shares.items()}
    filled = {
        key: {name: value for name, value in entries.items() if value or key == "weightedShare"}
        for key, entries in maps.items()
    }
    return {key: entries for key, entries in filled.items() if entries}


def normalise(step: Mapping[str, Any], *, considered: bool = False) -> Json:
    """A step as it is compared: without words, amounts as numbers, lists in order, empty things left out.

    `considered`: with the flavors that admissions were weighed against, which the corpus does not tell.
    """
    compared = {
        key: value for key, value in step.items() if key != "messages" and value not in (None, {}, [], False)
    }
    cycles = [{key: value for key, value in cycle.items() if value} for cycle in step.get("cycles") or ()]
    while cycles and not cycles[-1]:
        cycles.pop()
    for cycle in cycles:
        for field in ("admitted", "moved"):
            if field in cycle:
                cycle[field] = sorted(
                    (normalise_admission(each, considered=considered) for each in cycle[field]),
                    key=lambda a: str(a["workload"]),
                )
    for field in ("active", "inadmissible"):
        if field in compared:
            compared[field] = {name: sorted(keys) for name, keys in compared[field].items() if keys}
    return {**compared, "cycles": cycles}


def normalise_admission(admission: Mapping[str, Any], *, considered: bool) -> Json:
    pod_sets = []
    for pod_set in admission["podSets"]:
        usage = {
            r: v if isinstance(v, int) else request_value(r, v)
            for r, v in (pod_set.get("usage") or {}).items()
        }
        pod_sets.append({**pod_set, "flavors": pod_set.get("flavors") or {}, "usage": usage})
    left_out = () if considered else ("considered",)
    return {**{key: value for key, value in admission.items() if key not in left_out}, "podSets": pod_sets}


def unsupported(scenario: Mapping[str, Any]) -> str | None:
    """What this oracle lacks for the scenario, or None."""
    config = scenario.get("config") or {}
    for field in ("admissionFairSharing", "requeuingTimestamp"):
        if config.get(field) is not None:
            return field
    for gate in config.get("featureGates") or {}:
        if gate not in DEFAULT_GATES and gate not in HARMLESS_GATES:
            return f"feature gate {gate}"
    manifests = list(scenario["objects"])
    for step in scenario["steps"]:
        manifests += [*(step.get("create") or ()), *(step.get("update") or ())]
        if step.get("failed"):
            return "failing nodes"
        if any(not reference.startswith("Workload/") for reference in step.get("delete") or ()):
            return "deletion of anything but workloads"
        if any(manifest["kind"] not in UPDATABLE for manifest in step.get("update") or ()):
            return "update of other kinds than " + ", ".join(sorted(UPDATABLE))
    return next(filter(None, map(unsupported_manifest, manifests)), None) or unsupported_tree(manifests)


def unsupported_manifest(manifest: Mapping[str, Any]) -> str | None:
    kind, spec = manifest["kind"], manifest.get("spec") or {}
    if kind not in KINDS:
        return f"kind {kind}"
    if kind == "ResourceFlavor" and spec.get("topologyName"):
        return "topology"
    if kind == "AdmissionCheck" and spec.get("controllerName") == "kueue.x-k8s.io/multikueue":
        return "MultiKueue"
    if kind != "Workload":
        return None
    if manifest.get("status"):
        return "workloads that come with a status"
    if SLICE in (manifest["metadata"].get("annotations") or {}):
        return "workload slices"
    requests = [pod_set.get("topologyRequest") or {} for pod_set in spec.get("podSets") or ()]
    if any(set(request) - {"podSetGroupName"} for request in requests):
        return "topology"
    if any(
        (pod_set["template"].get("spec") or {}).get("resourceClaims") for pod_set in spec.get("podSets") or ()
    ):
        return "resource claims"
    return None


def unsupported_tree(manifests: list[Any]) -> str | None:
    forest = Forest()
    for manifest in manifests:
        if manifest["kind"] == "Cohort":
            forest.set_cohort(manifest["metadata"]["name"], (manifest.get("spec") or {}).get("parentName"))
            try:
                forest.recompute()
            except ValueError:
                return "cycles of cohorts"
    return None
