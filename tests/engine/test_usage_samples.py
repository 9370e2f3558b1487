"""Samples of what LocalQueues consumed, and the first contact with them. Source: QC-84, QC-87."""

from __future__ import annotations

from typing import Any

import pytest

from tests.arrays import objects as o
from tests.engine.small_cluster import held
from tests.engine.usage_based import MINUTE, SECOND, charged, consumed, local, queue, running, show, started


def test_consumption_is_sampled() -> None:
    engine, _ = running()
    assert engine.next_sample() == o.START + 5 * MINUTE
    assert consumed(engine, 4 * 60) == {}
    assert consumed(engine, 5 * 60) == {"a": {"cpu": "3"}, "b": {}}  # 2/2 + 4/2
    assert engine.next_sample() == o.START + 10 * MINUTE
    assert consumed(engine, 10 * 60) == {"a": {"cpu": "3500m"}, "b": {}}


def test_a_pending_penalty_makes_a_queue_worth_a_sample_at_any_time() -> None:
    engine, admission = charged()
    engine.sample(o.START)
    show(engine, admission)
    assert consumed(engine, 60) == {"a": {}}


def test_zeros_are_told_of_what_the_cluster_queue_ever_admitted() -> None:
    engine, made = running()
    o.feed(engine, local("other", target="elsewhere"), queue(4, "elsewhere"))
    engine.sample(o.START)
    o.feed(engine, o.finished(made), at=60)
    found = {use.name: use.quantities() for use in engine.sample(o.START + 5 * MINUTE)}
    assert (found["b"], found["other"]) == ({"cpu": "0"}, {})


UNCHANGED: dict[str, Any] = {
    "the same again": lambda engine, made: o.feed(engine, made, at=60),
    "fewer pods": lambda engine, made: o.feed(
        engine, {**made, "status": {**made["status"], "reclaimablePods": [{"name": "main", "count": 0}]}}, at=60
    ),
    "its ClusterQueue deleted and created": lambda engine, _: (
        engine.delete("ClusterQueue", "", "q", o.START + 60 * SECOND), o.feed(engine, queue(4), at=60)),
    "its LocalQueue updated": lambda engine, _: o.feed(engine, local("a", weight="2"), at=60),
}  # fmt: skip


@pytest.mark.parametrize("event", UNCHANGED.values(), ids=UNCHANGED)
def test_nothing_is_settled_again_by(event: Any) -> None:
    engine, made = running()
    event(engine, made)
    assert consumed(engine, 5 * 60) == {"a": {"cpu": "3"}, "b": {}}
    o.feed(engine, o.finished(made), at=5 * 60)
    assert consumed(engine, 10 * 60) == {"a": {"cpu": "1500m"}, "b": {}}


def test_who_loses_the_admission_but_not_the_quota_counts_no_more() -> None:
    engine, made = running()
    kept = [one for one in made["status"]["conditions"] if one["type"] != "Admitted"]
    o.feed(engine, {**made, "status": {**made["status"], "conditions": kept}})
    assert consumed(engine, 5 * 60) == {"a": {"cpu": "1"}, "b": {}}


def test_a_reserved_workload_takes_its_use_along_to_another_local_queue() -> None:
    engine, made = running()
    o.feed(engine, {**made, "spec": {**made["spec"], "queueName": "b"}})
    assert consumed(engine, 5 * 60) == {"a": {"cpu": "1"}, "b": {"cpu": "2"}}


def test_a_workload_that_comes_admitted_settles_nothing() -> None:
    """It counts while it is there, at the samples only."""
    made = held("w", "q", 4, "spot")
    made["spec"]["queueName"] = "a"
    engine = started(queue(4), local("a", cpu="8"))
    assert consumed(engine, 0) == {"a": {"cpu": "8"}}
    o.feed(engine, made, at=299)
    assert consumed(engine, 5 * 60) == {"a": {"cpu": "6"}}
    o.feed(engine, o.finished(made), at=301)
    o.feed(engine, made, at=599)
    o.feed(engine, o.finished(made), at=599)
    assert consumed(engine, 10 * 60) == {"a": {"cpu": "3"}}


CONTACT: dict[str, Any] = {
    "a LocalQueue without a status": ([queue(), local("a")], {"a": {}}),
    "what its status says": ([queue(), local("a", cpu="8")], {"a": {"cpu": "8"}}),
    "the ClusterQueue comes later": ([local("a", cpu="8"), queue()], {"a": {"cpu": "8"}}),
    "no ClusterQueue": ([local("a", cpu="8")], {}),
    "a LocalQueue that is stopped": ([queue(), local("a", cpu="8", stop="Hold")], {}),
    "a LocalQueue that was resumed": (
        [queue(), local("a", cpu="8", stop="Hold"), local("a", cpu="8")], {"a": {"cpu": "8"}},
    ),
    "a ClusterQueue that is stopped": ([queue(stopPolicy="Hold"), local("a", cpu="8")], {}),
    "a ClusterQueue that was resumed": (
        [queue(stopPolicy="Hold"), local("a", cpu="8"), queue()], {"a": {"cpu": "8"}},
    ),
    "a status that comes back": ([queue(), local("a", cpu="8"), local("a", cpu="8")], {"a": {"cpu": "8"}}),
}  # fmt: skip


@pytest.mark.parametrize("case", CONTACT.values(), ids=CONTACT)
def test_the_first_contact(case: Any) -> None:
    objects, want = case
    engine = started(*objects)
    assert engine.next_sample() == (o.START if want else None)
    assert consumed(engine, 0) == want
    assert engine.next_sample() == (o.START + 5 * MINUTE if want else None)
    assert consumed(engine, 5 * 60) == {
        name: {"cpu": "4"} if amounts else {} for name, amounts in want.items()
    }


def test_a_stopped_local_queue_is_not_sampled_until_it_is_resumed() -> None:
    engine = started(queue(), local("a", cpu="8"))
    engine.sample(o.START)
    o.feed(engine, local("a", stop="Hold"), at=1)
    assert (engine.next_sample(), consumed(engine, 5 * 60)) == (None, {})
    o.feed(engine, local("a"), at=10 * 60)
    assert engine.next_sample() == o.START + 10 * MINUTE
    assert consumed(engine, 10 * 60) == {"a": {"cpu": "2"}}


def test_a_status_is_added_to_what_was_charged_before_the_first_contact() -> None:
    """The LocalQueue is not there when its workload is admitted, as upstream after a restart."""
    engine, admission = charged()
    engine.sample(o.START)
    engine.delete("LocalQueue", "default", "a")
    show(engine, admission, admitted=True)
    o.feed(engine, local("a", cpu="8"))
    assert consumed(engine, 0) == {"a": {"cpu": "8"}}
    assert consumed(engine, 5 * 60) == {"a": {"cpu": "6"}, "b": {}}


def test_without_a_half_life_a_sample_writes_nothing() -> None:
    engine = started(queue(), local("a", cpu="8"), sharing={})
    assert consumed(engine, 0) == {"a": {}}


def test_the_sampling_interval_is_five_minutes_by_default() -> None:
    engine = started(queue(), local("a"), sharing={"usageSamplingInterval": "0s"})
    engine.sample(o.START)
    assert engine.next_sample() == o.START + 5 * MINUTE


def test_nothing_is_sampled_without_the_configuration() -> None:
    engine = started(queue(), local("a", cpu="8"), sharing=None)
    assert (engine.next_sample(), engine.sample(o.START)) == (None, [])
