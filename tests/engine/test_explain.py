"""What the engine says of a workload that waits: place, quota, reasons; and that asking changes nothing."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from kueue_fast import Engine
from kueue_fast.engine.explain import KINDS, Holders, QuotaRow, Standing
from tests.arrays import objects as o

ROOT = Path(__file__).parents[2]


def engine_of(*workloads: Any, strategy: str = "BestEffortFIFO") -> Engine:
    """A cohort below another one, with two ClusterQueues of 4 cpu each, and workloads in the first one."""
    return o.feed(
        Engine(),
        o.namespace(),
        o.flavor("spot"),
        o.cohort("team", parent="company"),
        o.cluster_queue("q", o.group(spot=[o.quota("cpu", 4)]), cohort="team", queueingStrategy=strategy),
        o.cluster_queue("other", o.group(spot=[o.quota("cpu", 4, 0)]), cohort="team"),
        o.local_queue("lq", "q"),
        o.local_queue("theirs", "other"),
        *workloads,
    )


def waiting(name: str, cpu: int = 1, queue: str = "lq", **rest: Any) -> Any:
    return o.workload(name, queue, o.pod_set(cpu=cpu), **rest)


def explained(engine: Engine, name: str) -> Standing:
    found = engine.explain(f"default/{name}")
    assert found is not None
    return found


def test_kinds_have_the_order_of_the_kernels_codes() -> None:
    text = (ROOT / "src/kueuecore/_types.pxd").read_text()
    codes = re.findall(r"^    REASON_(\w+) = (\d+)", text, re.MULTILINE)
    assert [int(code) for _, code in codes] == list(range(len(KINDS)))
    named = [kind.upper() for kind in KINDS]
    known = [name.replace("_", "") for name, _ in codes]
    assert [name.replace("EXCEEDSMAXQUOTA", "EXCEEDSMAXIMUM") for name in known] == named


def test_an_unknown_workload_has_no_standing() -> None:
    assert engine_of().explain("default/w") is None


def test_a_workload_that_no_cycle_looked_at() -> None:
    standing = explained(engine_of(waiting("w", cpu=2)), "w")
    assert (standing.cluster_queue, standing.cohorts) == ("q", ("team", "company"))
    assert (standing.place, standing.queued, standing.parked) == ("Queued", 1, 0)
    assert (standing.look, standing.like, standing.holders) == (None, None, ())
    assert standing.quotas == (QuotaRow("spot", "cpu", 4000, None, 0, 0, 8000, 8000),)
    [ask] = standing.asks
    assert (ask.pod_set, ask.pods, ask.per_pod, ask.total("cpu"), ask.total("pods")) == (
        "main", 1, {"cpu": 2000}, 2000, 1,
    )  # fmt: skip


def test_who_goes_before_it_in_the_order_of_the_heap() -> None:
    names = {"low": -1, "first": 5, "second": 5, "third": 2, "w": 0}
    made = [waiting(name, priority=priority, created=n) for n, (name, priority) in enumerate(names.items())]
    standing = explained(engine_of(*made), "w")
    assert standing.ahead == ("default/first", "default/second", "default/third")
    assert standing.queued == 5


def test_what_the_last_cycle_found() -> None:
    engine = engine_of(waiting("o", cpu=4, queue="theirs", priority=-5), waiting("mine", cpu=2, priority=1))
    o.cycle(engine)
    o.feed(engine, waiting("w", cpu=3))
    o.cycle(engine, at=7)
    standing = explained(engine, "w")
    look = standing.look
    assert look is not None
    assert (look.time_ns, look.cycle, look.cluster_queue, look.outcome) == (
        o.START + 7 * o.SECOND,
        2,
        "q",
        "NoCandidates",
    )
    assert look.message.startswith(
        "couldn't assign flavors to pod set main: insufficient unused quota for cpu"
    )
    [one] = look.passed_over
    assert (one.pod_set, one.flavor, one.resource, one.kind, one.missing) == (
        "main", "spot", "cpu", "WaitingForQuota", 1000,
    )  # fmt: skip
    assert standing.holders == (Holders("q", False, 1, 0), Holders("other", False, 1, 1))
    assert standing.quotas == (QuotaRow("spot", "cpu", 4000, None, 2000, 0, 2000, 8000),)


def test_one_that_was_parked_with_its_like_names_it() -> None:
    engine = engine_of(*(waiting(name, cpu=9, created=n) for n, name in enumerate(("a", "b"))))
    o.cycle(engine)
    standing = explained(engine, "b")
    assert (standing.place, standing.look, standing.like) == ("Parked", None, "default/a")
    assert explained(engine, "a").like is None


def test_one_that_holds_quota_stands_in_no_queue() -> None:
    engine = engine_of(waiting("w"), waiting("next", cpu=9, created=1))
    o.cycle(engine)
    standing = explained(engine, "w")
    assert (standing.cluster_queue, standing.place, standing.ahead) == ("q", "Nowhere", ())
    assert standing.quotas[0].reserved == 1000


def test_a_held_queue_leads_nowhere() -> None:
    engine = engine_of(waiting("w"))
    o.feed(engine, o.local_queue("lq", "q", stop="Hold"))
    standing = explained(engine, "w")
    assert (standing.cluster_queue, standing.place, standing.quotas) == (None, "Nowhere", ())
    assert standing.asks[0].per_pod == {"cpu": 1000}


@pytest.mark.parametrize("strategy", ["StrictFIFO", "BestEffortFIFO"])
def test_asking_changes_no_decision(strategy: str) -> None:
    def decisions(*, ask: bool) -> list[Any]:
        names = [f"w{n}" for n in range(12)]
        made = [waiting(name, cpu=1 + n % 5, priority=n % 3, created=n) for n, name in enumerate(names)]
        engine = engine_of(*made, strategy=strategy)
        found = []
        for at in range(8):
            one = o.cycle(engine, at=at)
            found.append((o.admitted_names(one), [(each.workload, each.message()) for each in one.requeued]))
            engine.flush(o.START + at * o.SECOND, all=True)
            for name in names if ask else ():
                engine.explain(f"default/{name}")
        return [*found, engine.queue_state()]

    assert decisions(ask=True) == decisions(ask=False)
