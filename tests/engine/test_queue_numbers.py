"""Numbers of queues for statuses and metrics. Source: LC-1703, LC-1712."""

from __future__ import annotations

from typing import Any

import msgspec

from kueue_fast.api.configuration import Configuration
from kueue_fast.api.decode import decode_object
from kueue_fast.model.quantities import MAX
from tests.arrays import objects as o
from tests.engine.simple import cluster

FAIR = msgspec.convert({"fairSharing": {}}, Configuration)


def holds(name: str, amount: str | int, resource: str = "cpu", *, admitted: bool = True) -> Any:
    """A workload of LocalQueue `lq` that holds so much."""
    made = o.workload_json(name, "lq", o.pod_set())
    assigned = ("main", 1, {resource: "spot"}, {resource: amount})
    return decode_object(o.reserved(made, "q", assigned, admitted=admitted))


def test_what_waits_and_what_is_assumed() -> None:
    engine = cluster(
        o.local_queue("second", "q"),
        o.workload("fits", "lq", o.pod_set(cpu=3), created=0),
        o.workload("waits", "second", o.pod_set(cpu=3), created=1),
        o.workload("new", "second", o.pod_set(cpu=1), created=2),
    )
    o.cycle(engine)
    o.cycle(engine)
    numbers = engine.queue_numbers()
    queue = numbers.cluster_queues["q"]
    assert (queue.active, queue.inadmissible, queue.reserving, queue.admitted) == (1, 1, 1, 0)
    assert (queue.reserved_usage, queue.admitted_usage) == ({"spot/cpu": 3000}, {})
    first, second = (numbers.local_queues["default", name] for name in ("lq", "second"))
    assert first == (0, 0, 1, 0, {"spot/cpu": 3000}, {}, None)
    assert second == (1, 1, 0, 0, {}, {}, None)


def test_what_the_cluster_shows_as_admitted() -> None:
    engine = cluster(holds("a", 2), holds("b", 1), holds("c", 1, admitted=False))
    numbers = engine.queue_numbers()
    queue, local = numbers.cluster_queues["q"], numbers.local_queues["default", "lq"]
    assert (queue.reserving, queue.admitted) == (local.reserving, local.admitted) == (3, 2)
    assert queue.reserved_usage == local.reserved_usage == {"spot/cpu": 4000}
    assert queue.admitted_usage == local.admitted_usage == {"spot/cpu": 3000}


def test_what_is_gone_is_not_counted() -> None:
    engine = cluster(holds("a", 2), holds("b", 1))
    engine.delete("Workload", "default", "a")
    assert engine.queue_numbers().local_queues["default", "lq"] == (
        0, 0, 1, 1, {"spot/cpu": 1000}, {"spot/cpu": 1000}, None,
    )  # fmt: skip


def test_who_waits_out_a_backoff_is_counted_from_its_next_event_on() -> None:
    engine = cluster(holds("a", 2))
    evicted = o.workload_json("a", "lq", o.pod_set(cpu=2))
    evicted["status"] = {"requeueState": {"count": 1, "requeueAt": "2026-01-01T00:01:00Z"}}
    waiting = []
    for _ in range(2):
        engine.upsert(decode_object(evicted), o.START)
        numbers = engine.queue_numbers()
        queue, local = numbers.cluster_queues["q"], numbers.local_queues["default", "lq"]
        waiting.append((queue.active, queue.inadmissible, local.active, local.inadmissible, queue.reserving))
    assert waiting == [(0, 0, 0, 0, 0), (0, 1, 0, 1, 0)]
    assert engine.metric_numbers().pending["q"]["cpu"] == 2000


def test_who_stands_before_the_pods_of_others_waits_still() -> None:
    engine = cluster(o.workload("a", "lq", o.pod_set(cpu=2)))
    [admission] = o.cycle(engine).admitted
    engine.stand([admission.workload])
    numbers = engine.metric_numbers()
    queue, local = numbers.queues.cluster_queues["q"], numbers.queues.local_queues["default", "lq"]
    assert (queue.active, queue.reserving, queue.reserved_usage) == (1, 0, {"spot/cpu": 0})
    assert (local.active, local.reserving, local.reserved_usage) == (1, 0, {})
    assert numbers.pending["q"] == {"cpu": 2000}
    engine.stands_no_more(admission.workload)
    queue = engine.queue_numbers().cluster_queues["q"]
    assert (queue.active, queue.reserving, queue.reserved_usage) == (0, 1, {"spot/cpu": 2000})


def test_a_local_queue_that_leads_nowhere_counts_what_waits_in_it() -> None:
    engine = cluster(o.local_queue("lost", "none"), o.workload("w", "lost", o.pod_set(cpu=1)))
    assert engine.queue_numbers().local_queues["default", "lost"] == (0, 1, 0, 0, {}, {}, None)


def test_a_held_local_queue_counts_nothing_that_waits() -> None:
    engine = cluster(o.local_queue("held", "q", stop="Hold"), o.workload("w", "held", o.pod_set(cpu=1)))
    assert engine.queue_numbers().local_queues["default", "held"] == (0, 0, 0, 0, {}, {}, None)


def test_an_empty_queue() -> None:
    queue = cluster().queue_numbers().cluster_queues["q"]
    assert queue[:6] == (0, 0, 0, 0, {"spot/cpu": 0}, {})
    assert [(pair, quota.nominal) for pair, quota in queue.quotas.items()] == [(("spot", "cpu"), 4000)]


def test_amounts_stop_at_the_end() -> None:
    engine = cluster(holds("a", MAX - 1, "memory"), holds("b", MAX - 1, "memory"))
    assert engine.queue_numbers().local_queues["default", "lq"].reserved_usage == {"spot/memory": MAX}


def test_shares_of_cohorts() -> None:
    def team(config: Configuration | None) -> Any:
        lender = o.cluster_queue("lender", o.group(spot=[o.quota("cpu", 4)]), cohort="team")
        engine = cluster(
            o.cohort("root"), o.cohort("team", parent="root"), lender, config=config, cohort="team"
        )
        o.feed(engine, holds("a", 6))
        return engine.queue_numbers()

    fair = team(FAIR)
    assert fair.cluster_queues["q"].weighted_share == 250.0
    assert fair.cohort_shares == {"root": 0.0, "team": 0.0}
    unfair = team(None)
    assert unfair.cluster_queues["q"].weighted_share == 0.0
    assert unfair.cohort_shares == {}
