"""Rules of the spec that a random scenario seldom meets, each in the smallest cluster that shows it."""

from typing import Any

import pytest

from tests.oracle.makers import cluster_queue, cohort, flavor, group, pod_set, quota, scenario, workload
from tests.oracle.scenario import run

Json = dict[str, Any]


def admissions(step: Json) -> list[list[str]]:
    """Per cycle what was admitted, by name."""
    return [
        [a["workload"].removeprefix("default/") for a in cycle.get("admitted", [])]
        for cycle in step["cycles"]
    ]


def counts(step: Json) -> list[int]:
    (admission,) = (a for cycle in step["cycles"] for a in cycle.get("admitted", []))
    return [p["count"] for p in admission["podSets"]]


def flavors(step: Json) -> list[dict[str, str]]:
    """Per pod set of the only workload admitted."""
    (admission,) = (a for cycle in step["cycles"] for a in cycle.get("admitted", []))
    return [p["flavors"] for p in admission["podSets"]]


def gang(counts_and_minima: list[tuple[int, int | None]], cpu: str = "1") -> list[Json]:
    return [
        pod_set(count, name=f"set-{i}", minimum=minimum, cpu=cpu)
        for i, (count, minimum) in enumerate(counts_and_minima)
    ]


# QP section 5: pod counts of one workload under a quota of cpu.
PARTIAL = {
    "it is reduced just enough": {
        "pod_sets": gang([(5, 3), (5, 4), (5, 1), (5, 2)]),
        "quota": 15,
        "want_counts": [4, 5, 3, 3],
    },
    "it is not reduced where all fits": {"pod_sets": gang([(5, 1)]), "quota": 5, "want_counts": [5]},
    "it shrinks to the minimum": {"pod_sets": gang([(5, 2)]), "quota": 2, "want_counts": [2]},
    "counts beyond 32 bits in the product": {
        "pod_sets": gang([(150_000, 75_000)] * 8),
        "quota": 600_000,
        "want_counts": [75_000] * 8,
    },
    "a pod set without minimum keeps its pods": {
        "pod_sets": gang([(3, None), (4, 1)]),
        "quota": 5,
        "want_counts": [3, 2],
    },
}


@pytest.mark.parametrize("case", PARTIAL.values(), ids=PARTIAL)
def test_partial_admission(case: Json) -> None:
    objects = [flavor("one"), *cluster_queue("queue", group(one=[quota("cpu", case["quota"])]))]
    (step,) = run(scenario(objects, [workload("a", "queue", *case["pod_sets"])]))
    assert counts(step) == case["want_counts"]


def test_below_the_minimum_nothing_is_admitted() -> None:
    objects = [flavor("one"), *cluster_queue("queue", group(one=[quota("cpu", 1)]))]
    (step,) = run(scenario(objects, [workload("a", "queue", *gang([(5, 2)]))]))
    assert step == {"cycles": [], "inadmissible": {"queue": ["default/a"]}}


# Flavors of one workload where its ClusterQueue offers `small` (cpu 4) before `large` (cpu 10).
CHOICE = {
    "the first that fits": {"pod_sets": [pod_set(cpu=4)], "want_flavors": [{"cpu": "small"}]},
    "the next where the first is too small": {
        "pod_sets": [pod_set(cpu=5)],
        "want_flavors": [{"cpu": "large"}],
    },
    "each pod set for itself": {
        "pod_sets": [pod_set(name="driver", cpu=5), pod_set(name="worker", cpu=3)],
        "want_flavors": [{"cpu": "large"}, {"cpu": "small"}],
    },
    "a group takes one flavor for its sum": {
        "pod_sets": [
            pod_set(name="leader", together="g", cpu=2),
            pod_set(name="worker", together="g", cpu=3),
        ],
        "want_flavors": [{"cpu": "large"}, {"cpu": "large"}],
    },
    "a group need not be contiguous": {
        "pod_sets": [
            pod_set(name="a", together="g", cpu=2),
            pod_set(name="b", cpu=1),
            pod_set(name="c", together="g", cpu=3),
        ],
        "want_flavors": [{"cpu": "large"}, {"cpu": "small"}, {"cpu": "large"}],
    },
    "what is asked in no amount needs no declaration": {
        "pod_sets": [pod_set(cpu=1, gpu=0)],
        "want_flavors": [{"cpu": "small"}],
    },
    "a pod set of undeclared nothing does not end the assignment (QP-904)": {
        "pod_sets": [pod_set(name="a", gpu=0), pod_set(name="b", cpu=1)],
        "want_flavors": [{}, {"cpu": "small"}],
    },
    "a pod set without requests takes no flavor": {
        "pod_sets": [pod_set(name="a"), pod_set(name="b", cpu=1)],
        "want_flavors": [{}, {"cpu": "small"}],
    },
}


@pytest.mark.parametrize("case", CHOICE.values(), ids=CHOICE)
def test_choice_of_flavors(case: Json) -> None:
    groups = group(small=[quota("cpu", 4)], large=[quota("cpu", 10)])
    objects = [flavor("small"), flavor("large"), *cluster_queue("queue", groups)]
    (step,) = run(scenario(objects, [workload("a", "queue", *case["pod_sets"])]))
    assert flavors(step) == case["want_flavors"]


# What becomes of `a`, which never fits, and of the newer `b` in one ClusterQueue with cpu 4.
ORDER = {
    "a strict queue waits for its head": {
        "strategy": "StrictFIFO",
        "newer": pod_set(cpu=1),
        "want": {"active": {"queue": ["default/a", "default/b"]}},
        "want_admitted": [],
    },
    "a queue at best effort passes over it": {
        "strategy": "BestEffortFIFO",
        "newer": pod_set(cpu=1),
        "want": {"inadmissible": {"queue": ["default/a"]}, "usage": {"queue": {"one/cpu": 1000}}},
        "want_admitted": [[], ["b"]],
    },
    "equals of one that does not fit are parked with it": {
        "strategy": "BestEffortFIFO",
        "newer": pod_set(cpu=5),
        "want": {"inadmissible": {"queue": ["default/a", "default/b"]}},
        "want_admitted": [],
    },
}


@pytest.mark.parametrize("case", ORDER.values(), ids=ORDER)
def test_order_in_a_queue(case: Json) -> None:
    objects = [
        flavor("one"),
        *cluster_queue("queue", group(one=[quota("cpu", 4)]), queueingStrategy=case["strategy"]),
    ]
    workloads = [workload("a", "queue", pod_set(cpu=5)), workload("b", "queue", case["newer"], created=1)]
    (step,) = run(scenario(objects, workloads))
    assert admissions(step) == case["want_admitted"]
    assert {key: value for key, value in step.items() if key != "cycles"} == case["want"]


def two_queues(**of_a: Any) -> list[Json]:
    return [
        flavor("one"),
        *cluster_queue("a", group(one=[quota("cpu", 2)]), cohortName="root", **of_a),
        *cluster_queue("b", group(one=[quota("cpu", 4)]), cohortName="root"),
    ]


def test_those_who_do_not_borrow_go_first() -> None:
    borrower = workload("borrower", "a", pod_set(cpu=3), priority=9)
    owner = workload("owner", "b", pod_set(cpu=4), created=5)
    (step,) = run(scenario(two_queues(), [borrower, owner]))
    assert admissions(step) == [["owner"]]


def test_equal_times_are_decided_by_uid() -> None:
    (step,) = run(
        scenario(two_queues(), [workload("y", "a", pod_set(cpu=4)), workload("x", "a", pod_set(cpu=4))])
    )
    assert admissions(step) == [["x"]]


def test_a_held_local_queue_keeps_its_workloads_back_until_it_is_released() -> None:
    objects = two_queues()
    held = {**objects[2], "spec": {"clusterQueue": "a", "stopPolicy": "Hold"}}
    released = {**objects[2], "spec": {"clusterQueue": "a", "stopPolicy": "None"}}
    steps = run(
        scenario(
            objects,
            {"update": [held], "create": [workload("w", "a", pod_set(cpu=1))]},
            {"update": [released]},
        )
    )
    assert steps[0] == {"cycles": []}
    assert admissions(steps[1]) == [["w"]]


def test_a_required_check_leaves_it_with_quota_alone() -> None:
    check = {
        "kind": "AdmissionCheck",
        "metadata": {"name": "check"},
        "spec": {},
        "status": {"conditions": [{"type": "Active", "status": "True"}]},
    }
    strategy = {"admissionChecks": [{"name": "check"}]}
    objects = [
        check,
        flavor("one"),
        *cluster_queue("queue", group(one=[quota("cpu", 2)]), admissionChecksStrategy=strategy),
    ]
    (step,) = run(scenario(objects, [workload("a", "queue", pod_set(cpu=1))]))
    assert [a["admitted"] for cycle in step["cycles"] for a in cycle["admitted"]] == [False]
    assert step["usage"] == {"queue": {"one/cpu": 1000}}


def test_a_missing_flavor_stops_the_queue_until_it_comes() -> None:
    objects = cluster_queue("queue", group(one=[quota("cpu", 2)]))
    steps = run(scenario(objects, [workload("a", "queue", pod_set(cpu=1))], [flavor("one")]))
    assert steps[0] == {"cycles": [], "active": {"queue": ["default/a"]}}
    assert admissions(steps[1]) == [["a"]]


def test_a_flavor_without_room_is_passed_over() -> None:
    groups = group(small=[quota("cpu", 2)], large=[quota("cpu", 2)])
    objects = [
        flavor("small"),
        flavor("large"),
        *cluster_queue("queue", groups, queueingStrategy="StrictFIFO"),
    ]
    first, second = workload("a", "queue", pod_set(cpu=2)), workload("b", "queue", pod_set(cpu=2), created=1)
    (step,) = run(scenario(objects, [first, second]))
    assert admissions(step) == [["a"], ["b"]]
    assert step["usage"] == {"queue": {"small/cpu": 2000, "large/cpu": 2000}}


def test_unlimited_quota_takes_any_request() -> None:
    objects = [flavor("one"), *cluster_queue("queue", group(one=[quota("memory", "10E")]))]
    (step,) = run(scenario(objects, [workload("a", "queue", pod_set(100, memory="1E"))]))
    assert admissions(step) == [["a"]]


def test_a_sum_beyond_int64_does_not_wrap() -> None:
    objects = [flavor("one"), *cluster_queue("queue", group(one=[quota("cpu", "1P")]))]
    huge = [pod_set(2_000_000_000, name=f"set-{i}", cpu="5M") for i in range(3)]
    (step,) = run(scenario(objects, [workload("a", "queue", *huge)]))
    assert step == {"cycles": [], "inadmissible": {"queue": ["default/a"]}}


def test_reclaim_takes_the_least_important_borrower() -> None:
    objects = [
        flavor("one"),
        cohort("root"),
        *cluster_queue(
            "a",
            group(one=[quota("cpu", 2)]),
            cohortName="root",
            preemption={"reclaimWithinCohort": "Any", "withinClusterQueue": "Never"},
        ),
        *cluster_queue("b", group(one=[quota("cpu", 2)]), cohortName="root"),
    ]
    borrowers = [workload(f"b{i}", "b", pod_set(cpu=1), priority=i, created=i) for i in range(4)]
    steps = run(scenario(objects, borrowers, [workload("owner", "a", pod_set(cpu=1), created=9)]))
    assert admissions(steps[0]) == [["b3"], ["b2"], ["b1"], ["b0"]]
    preempted = [p for cycle in steps[1]["cycles"] for p in cycle.get("preempted", [])]
    assert preempted == [{"workload": "default/b0", "reason": "InCohortReclamation"}]
    assert admissions(steps[1])[-1] == ["owner"]


# Whether two requests, neither of which fits, are of one equivalence class (QC-42), so that one cycle parks both.
CLASSES = {
    "milli and whole": {"resource": "cpu", "requests": ("5", "5000m"), "want_one_class": True},
    "two binary suffixes": {"resource": "memory", "requests": ("4Gi", "4096Mi"), "want_one_class": True},
    "little in binary is written in decimal": {
        "resource": "memory",
        "requests": ("0.5Ki", "512"),
        "want_one_class": True,
    },
    "decimal and exponent": {"resource": "cpu", "requests": ("5", "5e0"), "want_one_class": False},
    "binary and decimal": {"resource": "memory", "requests": ("1Gi", "1073741824"), "want_one_class": False},
}


@pytest.mark.parametrize("case", CLASSES.values(), ids=CLASSES)
def test_equivalence_of_written_quantities(case: Json) -> None:
    resource = case["resource"]
    objects = [flavor("one"), *cluster_queue("queue", group(one=[quota(resource, 1)]))]
    workloads = [
        workload(name, "queue", pod_set(**{resource: amount}), created=i)
        for i, (name, amount) in enumerate(zip("abc", (*case["requests"], "1"), strict=True))
    ]
    (step,) = run(scenario(objects, workloads))
    assert admissions(step) == ([[], ["c"]] if case["want_one_class"] else [[], [], ["c"]])
