"""Slices follow the priority class of their job. Source: JS-118, JS-483."""

from __future__ import annotations

import msgspec
import pytest

from kueue_fast.api.batch import Job
from kueue_fast.api.kueue import PriorityClassRef, Workload, WorkloadPriorityClass
from kueue_fast.errors import InputError
from kueue_fast.jobs import reconciler
from kueue_fast.lifecycle import slices
from tests.jobs.elastic_makers import elastic_job, first_slice, running, second_slice, step
from tests.jobs.makers import QUEUE, View, admitted

PRIORITY = "kueue.x-k8s.io/priority-class"


def classed(workload: Workload, name: str, value: int) -> Workload:
    ref = PriorityClassRef(group="kueue.x-k8s.io", kind="WorkloadPriorityClass", name=name)
    spec = msgspec.structs.replace(workload.spec, priority_class_ref=ref, priority=value)
    return msgspec.structs.replace(workload, spec=spec)


def two_classes() -> View:
    view = View()
    view.workload_classes["low"] = msgspec.convert(
        {"metadata": {"name": "low"}, "value": 10}, WorkloadPriorityClass
    )
    return view


def labelled(a_job: Job, name: str) -> Job:
    return msgspec.structs.replace(
        a_job, metadata=msgspec.structs.replace(a_job.metadata, labels={**QUEUE, PRIORITY: name})
    )


def test_a_waiting_slice_follows_the_class_of_its_job() -> None:
    waiting = classed(first_slice(3), "low", 10)
    action = step(labelled(elastic_job(3), "high"), waiting, view=two_classes())
    assert isinstance(action, reconciler.UpdateWorkload)
    assert (action.workload.spec.priority, action.workload.spec.priority_class_ref.name) == (1000, "high")
    assert action.event is not None
    assert (action.event.reason, action.event.message) == (
        "UpdatedWorkload",
        f"Updated workload priority class: ns/{waiting.metadata.name}",
    )


def test_count_and_class_change_in_two_writes() -> None:
    waiting = classed(first_slice(3), "low", 10)
    a_job = labelled(elastic_job(5), "high")
    resized = step(a_job, waiting, view=two_classes())
    assert slices.pod_counts(resized.workload.spec.pod_sets) == {"main": 5}
    assert resized.workload.spec.priority == 10
    assert step(a_job, resized.workload, view=two_classes()).workload.spec.priority == 1000


def test_a_slice_stays_as_it_is_when_the_class_does_not_exist() -> None:
    with pytest.raises(InputError, match="missing"):
        step(labelled(elastic_job(3), "missing"), classed(first_slice(3), "low", 10), view=two_classes())


def test_the_replacement_and_the_slice_behind_it_follow_both() -> None:
    view = two_classes()
    plain = admitted(first_slice(3))
    old, new = classed(plain, "low", 10), classed(second_slice(8, plain), "low", 10)
    a_job = labelled(running(8, plain), "high")
    known = {each.metadata.name: each for each in (old, new)}
    order = []
    while (action := step(a_job, *known.values(), view=view)) is not None:
        known[action.workload.metadata.name] = action.workload
        order.append(action.workload.metadata.name)
    assert order == [new.metadata.name, old.metadata.name]
    assert {each.spec.priority for each in known.values()} == {1000}


def test_the_admitted_slice_follows_before_its_replacement_is_made() -> None:
    view = two_classes()
    plain = admitted(first_slice(3))
    old = classed(plain, "low", 10)
    a_job = labelled(running(8, plain), "high")
    updated = step(a_job, old, view=view)
    assert updated.workload.spec.priority == 1000
    made = step(a_job, updated.workload, view=view)
    assert isinstance(made, reconciler.CreateWorkload)
    assert made.workload.spec.priority == 1000


def test_an_admitted_slice_without_class_cannot_get_one() -> None:
    old = admitted(first_slice(3))
    assert old.spec.priority_class_ref is None
    assert step(labelled(running(3, old), "high"), old, view=two_classes()) is None


def test_a_class_that_was_edited_is_no_reason_to_write() -> None:
    assert (
        step(labelled(elastic_job(3), "high"), classed(first_slice(3), "high", 5), view=two_classes()) is None
    )


def test_a_stale_value_is_mended_together_with_another_name() -> None:
    view = two_classes()
    plain = admitted(first_slice(3))
    old, new = classed(plain, "high", 5), classed(second_slice(8, plain), "low", 10)
    a_job = labelled(running(8, plain), "high")
    first = step(a_job, old, new, view=view)
    assert (first.workload.metadata.name, first.workload.spec.priority) == (old.metadata.name, 1000)
    second = step(a_job, first.workload, new, view=view)
    assert (second.workload.metadata.name, second.workload.spec.priority) == (new.metadata.name, 1000)
