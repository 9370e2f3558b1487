"""What v0.19, whose decisions ours are, shows otherwise than v0.17, against whose manager the test runs; and what
differs from run to run of the same manager.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, NamedTuple

from tests.recordings.differences import Difference

__all__ = ["CHANGES", "Change", "unexplained"]


class Change(NamedTuple):
    """What changed, and where it shows: patterns of the names of scenarios, and of places in them.

    `sometimes`: it depends on who is faster.
    """

    what: str
    scenario: str
    place: str
    sometimes: bool = False


NOT_TRIED: Final = (
    "workloads that ask for the same as one that did not fit are parked without a try of their own"
)
NO_SLICE: Final = "with elastic jobs on, v0.17 names a slice on the pods of jobs that are not elastic, too"
WHO_REPLACES: Final = (
    "the scheduler or the reconciler of the job says that a slice was replaced, with words of its own"
)
HELD_AT_LAST: Final = (
    "the submitter of a RayJob that has just ended is held, if Kueue sees it before it is gone"
)
LAST_TRY: Final = (
    "a Workload that comes as its ClusterQueue is stopped is tried once, or was not in time for that"
)
RIGID: Final = "(filler|partial|rigid|urgent)"
BATCH: Final = "0[12]-batch-jobs.*"
ELASTIC: Final = "0[56]-elastic-.*"
CHANGES: Final = (
    Change(NOT_TRIED, BATCH, r"^submit > Workload/team-a/job-three-#1 > status > conditions > QuotaReserved"),
    Change(NOT_TRIED, BATCH, r"^submit > Workload/team-a/job-three-#1 > status > resourceRequests$"),
    Change(NOT_TRIED, BATCH, r"events > Workload/job-three-#1 Warning Pending .* insufficient unused quota"),
    Change(
        HELD_AT_LAST,
        "03-rayjob.*",
        r"> Job/team-a/(dev|prod)-\d > (annotations > kueue.x-k8s.io/stopping|spec > suspend)$",
        sometimes=True,
    ),
    Change(
        HELD_AT_LAST,
        "03-rayjob.*",
        r"> events > Job/(dev|prod)-\d Normal Suspended \(batch/job-kueue-controller\)",
        sometimes=True,
    ),
    Change(
        "a webhook of upstream's manager, which has just started, does not know a Job yet whose pods are made",
        "03-rayjob.*",
        r"> events > Job/(dev|prod)-\d Warning FailedCreate .* admission webhook .* not found$",
        sometimes=True,
    ),
    Change(
        LAST_TRY,
        "15-stop-policy",
        r"> Workload/team-a/job-late-#1 > status > resourceRequests$",
        sometimes=True,
    ),
    Change(
        LAST_TRY,
        "15-stop-policy",
        r"> events > Workload/job-late-#1 Warning Pending .* is inactive$",
        sometimes=True,
    ),
    Change(
        "Workloads of LeaderWorkerSets keep the annotations of Kueue in their pod templates",
        "08-lws",
        r"> Workload/team-a/leaderworkerset-web-\d-#1 > spec > podSets$",
    ),
    Change(
        "events alike but for their words are one series, under the words of the first",
        "08-lws",
        r"> events > LeaderWorkerSet/web Normal CreatedWorkload ",
        sometimes=True,
    ),
    Change(
        "a pod of a group that is new is seen before its Workload, or after it",
        "08-lws",
        r"> events > Pod/web-\d Normal Stopped \(pod-kueue-controller\): missing workload$",
        sometimes=True,
    ),
    Change(
        "between the writes that count the last pods of a Job and that call it complete, they are reclaimable",
        "10-tas-job",
        r"^[a-z-]+ > Workload/team-a/job-[a-z]+-#1 > status > reclaimablePods$",
        sometimes=True,
    ),
    Change(
        "a head that lost its place to another one of the same cycle is no news",
        "12-cohort-borrow-reclaim",
        r"events > Workload/job-a-3-#1 Warning Pending .* no longer fits after processing another workload$",
    ),
    Change(
        NO_SLICE,
        ELASTIC,
        f"> Job/team-a/{RIGID} > templates > main > annotations > kueue.x-k8s.io/workload-slice-name$",
    ),
    # How many there are shows in the Job's status.
    Change(NO_SLICE, ELASTIC, f'> pods > .*"of": "Job/{RIGID}"'),
    Change(
        WHO_REPLACES,
        ELASTIC,
        r"> Workload/team-a/job-elastic-#\d > status > conditions > Finished > message$",
        sometimes=True,
    ),
    Change(
        WHO_REPLACES,
        ELASTIC,
        r"> events > Workload/job-elastic-#\d Normal WorkloadSliceReplaced",
        sometimes=True,
    ),
)


def unexplained(scenario: str, found: Iterable[Difference]) -> list[str]:
    """Differences that no change between the versions makes, and changes that make none, as text."""
    of_scenario = [each for each in CHANGES if re.fullmatch(each.scenario, scenario)]
    unused = [each for each in of_scenario if not each.sometimes]
    left = []
    for difference in found:
        changes = [each for each in of_scenario if re.search(each.place, difference.place)]
        if not changes:
            left.append(str(difference))
        unused = [each for each in unused if each not in changes]
    return [*left, *(f"makes no difference any more: {each}" for each in unused)]
