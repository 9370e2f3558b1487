"""Hypothesis strategies for whole scenarios with preemption: small, so that a failure shrinks to what matters."""

from typing import Any, TypeAlias

from hypothesis import strategies as st

from tests.oracle.makers import cluster_queue, cohort, flavor, group, pod_set, quota, scenario, workload

Json: TypeAlias = dict[str, Any]

FLAVORS = ("one", "two")
WEIGHTS = ("0", "0.5", "1", "3", "0.3", "1500m", "0.000000002")
STRATEGIES: tuple[list[str], ...] = (
    [],
    ["LessThanOrEqualToFinalShare"],
    ["LessThanInitialShare"],
    ["LessThanOrEqualToFinalShare", "LessThanInitialShare"],
)
GATES = {
    "FairSharingPreemptWithinNominal": False,
    "FairSharingPrioritizeNonBorrowing": False,
    "PrioritizePreemptorWorkloads": True,
    "PrioritySortingWithinCohort": False,
    "RecomputeAssignmentUponPreemptionTargetsOverlap": True,
}


@st.composite
def policies(draw: st.DrawFn) -> Json:
    policy: Json = {
        "withinClusterQueue": draw(st.sampled_from(["LowerPriority", "Never", "LowerOrNewerEqualPriority"])),
        "reclaimWithinCohort": draw(st.sampled_from(["Any", "LowerPriority", "Never"])),
    }
    if policy["reclaimWithinCohort"] != "Never" and draw(st.booleans()):
        policy["borrowWithinCohort"] = {"policy": "LowerPriority"}
        if draw(st.booleans()):
            policy["borrowWithinCohort"]["maxPriorityThreshold"] = draw(st.integers(-1, 5))
    return policy


@st.composite
def offers(draw: st.DrawFn, *, has_parent: bool) -> Json:
    """A resource group with cpu of one flavor or two."""

    def limit() -> int | None:
        return draw(st.none() | st.integers(0, 4)) if has_parent else None

    names = FLAVORS[: draw(st.sampled_from([1, 1, 2]))]
    return group(**{name: [quota("cpu", draw(st.integers(0, 6)), limit(), limit())] for name in names})


@st.composite
def weights(draw: st.DrawFn) -> Json:
    weight = draw(st.none() | st.sampled_from(WEIGHTS))
    return {} if weight is None else {"fairSharing": {"weight": weight}}


@st.composite
def contended(draw: st.DrawFn) -> Json:
    """A tree of cohorts, two to four ClusterQueues, and workloads in up to three steps."""
    cohorts = [f"cohort-{i}" for i in range(draw(st.integers(1, 3)))]
    objects = [flavor(name) for name in FLAVORS]
    for i, name in enumerate(cohorts):
        parent = draw(st.sampled_from([None, *cohorts[:i]]))
        groups = [draw(offers(has_parent=parent is not None))] if draw(st.booleans()) else []
        made = cohort(name, *groups, parent=parent)
        made["spec"] |= draw(weights())
        objects.append(made)
    queues = [f"queue-{i}" for i in range(draw(st.integers(2, 4)))]
    for name in queues:
        spec = {
            "cohortName": draw(st.sampled_from(cohorts)),
            "preemption": draw(policies()),
            "queueingStrategy": draw(st.sampled_from(["BestEffortFIFO", "StrictFIFO"])),
            **draw(weights()),
        }
        objects += cluster_queue(name, draw(offers(has_parent=True)), **spec)
    gates = draw(st.lists(st.sampled_from(sorted(GATES)), unique=True, max_size=2))
    config: Json = {"featureGates": {gate: GATES[gate] for gate in gates}}
    if draw(st.booleans()):
        strategies = draw(st.sampled_from(STRATEGIES))
        config["fairSharing"] = {"preemptionStrategies": strategies} if strategies else {}
    if draw(st.booleans()):
        config["slowEvictions"] = True
    number = 0
    steps: list[list[Json] | Json] = []
    for _ in range(draw(st.integers(1, 3))):
        created = []
        for _ in range(draw(st.integers(1, 6))):
            pods = pod_set(draw(st.integers(1, 3)), cpu=draw(st.sampled_from(["1", "2", "500m", "0"])))
            if pods["count"] > 1 and draw(st.booleans()):
                pods["minCount"] = 1
            made = workload(
                f"w-{number:02d}",
                draw(st.sampled_from(queues)),
                pods,
                priority=draw(st.integers(-1, 3)),
                created=draw(st.integers(0, 50)),
            )
            created.append(made)
            number += 1
        stopped = draw(st.integers(-1, 2)) if steps and "slowEvictions" in config else 0
        steps.append({"create": created, "maxCycles": 15, "stopped": stopped})
    return scenario(objects, *steps, config=config)
