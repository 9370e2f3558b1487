"""The smallest clusters in which v0.19 never comes to rest, and neither does kueue_fast: see docs/parity.md."""

from typing import Any

from tests.oracle.makers import cluster_queue, cohort, flavor, group, pod_set, quota, scenario, workload

Json = dict[str, Any]

FAIR: Json = {"fairSharing": {}}


def reclaims(policy: str = "Any", **more: Any) -> Json:
    return {"withinClusterQueue": "LowerPriority", "reclaimWithinCohort": policy, **more}


def queue(
    name: str, *quotas: Json, cohort: str = "root", preempts: Json | None = None, weight: str | None = None
) -> list[Json]:
    spec: Json = {"cohortName": cohort, "preemption": preempts or {}}
    if weight is not None:
        spec["fairSharing"] = {"weight": weight}
    return cluster_queue(name, group(one=list(quotas)), **spec)


def cpu(amount: int) -> Json:
    return quota("cpu", amount)


def memory(amount: int) -> Json:
    return quota("memory", amount)


# The workload `victim` is preempted and admitted for ever.
ENDLESS: dict[str, Json] = {
    "the search does not ask for pods, so it does not see that the preemptor would borrow (QP-901)": scenario(
        [
            flavor("one"),
            *queue("borrower", quota("pods", 1)),
            *queue("owner", quota("pods", 2), preempts=reclaims()),
        ],
        [
            workload("victim", "borrower", pod_set(2)),
            workload("own", "owner", pod_set(1)),
            workload("preemptor", "owner", pod_set(2), created=1),
        ],
    ),
    "priority takes from afar, but who borrows nearer goes first (QP-703, QC-107, QC-108)": scenario(
        [
            flavor("one"),
            cohort("root", group(one=[cpu(1)])),
            cohort("middle", parent="root"),
            *queue("borrower", cpu(0), cohort="middle"),
            *queue(
                "owner",
                cpu(1),
                cohort="middle",
                preempts=reclaims(borrowWithinCohort={"policy": "LowerPriority"}),
            ),
        ],
        [
            workload("victim", "borrower", pod_set(cpu=1)),
            workload("preemptor", "owner", pod_set(cpu=2), priority=1),
        ],
    ),
    "fewer pods may reclaim, but once there is room all pods would borrow (QC-103, QC-104)": scenario(
        [flavor("one"), *queue("borrower", cpu(1)), *queue("owner", cpu(1), preempts=reclaims())],
        [
            workload("victim", "borrower", pod_set(cpu=2)),
            workload("preemptor", "owner", pod_set(2, minimum=1, cpu=1), created=1),
        ],
    ),
    "fair sharing: fewer pods have the smaller share, all pods the larger one (QP-736, QC-104, QC-112)": scenario(
        [
            flavor("one"),
            *queue("lender", cpu(2)),
            *queue("borrower", cpu(1)),
            *queue("owner", cpu(2), preempts=reclaims()),
        ],
        [
            workload("victim", "borrower", pod_set(cpu=3)),
            workload("preemptor", "owner", pod_set(5, minimum=3, cpu=1), created=1),
        ],
        config=FAIR,
    ),
    "fair sharing: entitled by what is short, yet behind by what is not (QP-733, QC-112)": scenario(
        [
            flavor("one"),
            *queue("borrower", cpu(2), memory(1)),
            *queue("owner", cpu(2), memory(1), preempts=reclaims()),
        ],
        [
            workload("victim", "borrower", pod_set(cpu=3)),
            workload("preemptor", "owner", pod_set(cpu=2, memory=2), created=1),
        ],
        config=FAIR,
    ),
    "fair sharing: the own victim that made the share small is given back (QP-737, QP-642, QC-112)": scenario(
        [
            flavor("one"),
            *queue("lender", cpu(5)),
            *queue("borrower", cpu(2)),
            *queue("owner", cpu(3), preempts=reclaims()),
        ],
        [workload("own", "owner", pod_set(cpu=2)), workload("victim", "borrower", pod_set(cpu=6))],
        [
            workload("preemptor", "owner", pod_set(cpu=6), priority=1, created=1),
        ],
        config=FAIR,
    ),
    "fair sharing: quota taken from the own queue goes to another one (QP-731, QC-112)": scenario(
        [
            flavor("one"),
            *queue("lender", cpu(2)),
            *queue("owner", cpu(2), preempts=reclaims(), weight="0"),
            *queue("borrower", cpu(0), preempts=reclaims()),
        ],
        [
            workload("victim", "owner", pod_set(cpu=2)),
            workload("preemptor", "owner", pod_set(cpu=3), priority=1, created=1),
            workload("third", "borrower", pod_set(cpu=3), created=2),
        ],
        config=FAIR,
    ),
}
