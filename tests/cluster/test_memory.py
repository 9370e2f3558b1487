"""The embedded cluster."""

from typing import Any

import msgspec
import pytest

from kueue_fast.api.batch import Job
from kueue_fast.api.kueue import LocalQueue, Workload, WorkloadStatus
from kueue_fast.api.meta import Condition, ObjectMeta, OwnerReference
from kueue_fast.cluster.memory import (
    AlreadyExistsError,
    Change,
    ConflictError,
    MemoryCluster,
    NotFoundError,
    WatchEvent,
)
from kueue_fast.model import times

START = times.parse("2026-01-01T00:00:00Z")


class Clock:
    def __init__(self) -> None:
        self.now = START


def cluster() -> tuple[MemoryCluster, Clock]:
    clock = Clock()
    return MemoryCluster(lambda: clock.now), clock


def queue(name: str = "lq", target: str = "cq") -> LocalQueue:
    made = {"metadata": {"name": name, "namespace": "ns"}, "spec": {"clusterQueue": target}}
    return msgspec.convert(made, LocalQueue)


def workload(name: str, owners: list[str] | None = None, finalizers: list[str] | None = None) -> Workload:
    references = [
        OwnerReference(api_version="batch/v1", kind="Job", name="j", uid=uid) for uid in owners or ()
    ]
    metadata = ObjectMeta(name=name, namespace="ns", owner_references=references, finalizers=finalizers)
    return msgspec.convert({"metadata": metadata, "spec": {}}, Workload)


def changed(obj: Any, **spec: Any) -> Any:
    return msgspec.structs.replace(obj, spec=msgspec.structs.replace(obj.spec, **spec))


def test_a_new_object_gets_what_the_api_server_gives() -> None:
    api, clock = cluster()
    clock.now += 1_999_999_999
    got = api.create(queue())
    want = ("00000001-0000-4000-8000-000000000001", "1", 1, "2026-01-01T00:00:01Z")
    metadata = got.metadata
    assert (metadata.uid, metadata.resource_version, metadata.generation, metadata.creation_timestamp) == want
    assert api.get("LocalQueue", "ns", "lq") is got
    assert api.by_uid(want[0]) is got
    assert api.create(queue("other")).metadata.uid > metadata.uid


def test_what_an_object_brings_along_is_kept() -> None:
    api, _ = cluster()
    brought = queue()
    brought.metadata.uid = "mine"
    brought.metadata.creation_timestamp = "2025-12-31T00:00:00Z"
    got = api.create(brought).metadata
    assert (got.uid, got.creation_timestamp) == ("mine", "2025-12-31T00:00:00Z")
    assert brought.metadata.resource_version is None


def test_refused_requests() -> None:
    api, _ = cluster()
    first = api.create(queue())
    with pytest.raises(AlreadyExistsError, match="LocalQueue ns/lq already exists"):
        api.create(queue())
    api.update(changed(first, cluster_queue="other"))
    with pytest.raises(ConflictError, match="LocalQueue ns/lq was changed since version 1"):
        api.update(changed(first, cluster_queue="third"))
    with pytest.raises(NotFoundError):
        api.update(queue("missing"))
    with pytest.raises(NotFoundError):
        api.delete("LocalQueue", "ns", "missing")


def test_generation_counts_spec_changes_only() -> None:
    api, _ = cluster()
    first = api.create(queue())
    labelled = msgspec.structs.replace(
        first, metadata=msgspec.structs.replace(first.metadata, labels={"a": "b"})
    )
    second = api.update(labelled)
    assert (second.metadata.generation, second.metadata.resource_version) == (1, "2")
    third = api.update(changed(second, cluster_queue="other"))
    assert (third.metadata.generation, third.metadata.labels) == (2, {"a": "b"})
    assert api.update(third) is third


def test_status_and_spec_are_written_apart() -> None:
    api, _ = cluster()
    first = api.create(workload("w"))
    done = WorkloadStatus(conditions=[Condition(type="T", status="True")])
    both = msgspec.structs.replace(changed(first, queue_name="lq"), status=done)
    second = api.update(both)
    assert (second.spec.queue_name, second.status) == ("lq", None)
    both = msgspec.structs.replace(changed(second, queue_name="other"), status=done)
    third = api.update_status(both)
    assert (third.spec.queue_name, third.status, third.metadata.generation) == ("lq", done, 2)
    assert api.update_status(third) is third


def test_watches_hear_everything_once_and_in_order() -> None:
    api, _ = cluster()
    heard: list[str] = []

    def first(event: WatchEvent) -> None:
        heard.append(f"first {event.change.value} {event.object.metadata.name}")
        if event.change is Change.ADDED and event.object.metadata.name == "w":
            # What a listener writes is heard after the event at hand, by all.
            api.create(workload("x"))

    def second(event: WatchEvent) -> None:
        heard.append(f"second {event.change.value} {event.object.metadata.name}")

    api.watch(None, first)
    api.watch("Workload", second)
    api.create(workload("w"))
    api.create(queue())
    api.delete("Workload", "ns", "w")
    assert heard == [
        "first ADDED w",
        "second ADDED w",
        "first ADDED x",
        "second ADDED x",
        "first ADDED lq",
        "first DELETED w",
        "second DELETED w",
    ]


def test_a_change_is_heard_with_what_was_before() -> None:
    api, _ = cluster()
    first = api.create(queue())
    heard: list[WatchEvent] = []
    api.watch("LocalQueue", heard.append)
    second = api.update(changed(first, cluster_queue="other"))
    api.update(second)
    assert heard == [WatchEvent(Change.MODIFIED, second, first)]


def test_an_object_with_finalizers_waits_for_them() -> None:
    api, clock = cluster()
    first = api.create(workload("w", finalizers=["kueue.x-k8s.io/resource-in-use"]))
    clock.now += 5 * 10**9
    api.delete("Workload", "ns", "w")
    waiting = api.get("Workload", "ns", "w")
    assert waiting is not None
    assert waiting.metadata.deletion_timestamp == "2026-01-01T00:00:05Z"
    heard: list[WatchEvent] = []
    api.watch(None, heard.append)
    api.delete("Workload", "ns", "w")
    assert heard == []
    api.update(
        msgspec.structs.replace(waiting, metadata=msgspec.structs.replace(waiting.metadata, finalizers=None))
    )
    assert [event.change for event in heard] == [Change.DELETED]
    assert api.get("Workload", "ns", "w") is None
    assert api.by_uid(first.metadata.uid) is None


def test_dependents_follow_their_last_owner() -> None:
    api, _ = cluster()
    jobs = []
    for name in ("j", "k"):
        made = {"metadata": {"name": name, "namespace": "ns"}, "spec": {"template": {}}}
        jobs.append(api.create(msgspec.convert(made, Job)).metadata.uid)
    api.create(workload("of-both", owners=jobs))
    api.create(workload("of-j", owners=jobs[:1]))
    api.create(workload("of-nobody"))
    assert [each.metadata.name for each in api.dependents(jobs[0])] == ["of-both", "of-j"]
    api.delete("Job", "ns", "j")
    assert [each.metadata.name for each in api.list("Workload")] == ["of-both", "of-nobody"]
    api.delete("Job", "ns", "k")
    assert [each.metadata.name for each in api.list("Workload", "ns")] == ["of-nobody"]
    assert list(api.list("Workload", "elsewhere")) == []


def test_a_listener_that_fails_leaves_nothing_behind() -> None:
    api, _ = cluster()

    def fail(event: WatchEvent) -> None:
        api.create(queue("late"))
        raise RuntimeError("no")

    api.watch("Workload", fail)
    with pytest.raises(RuntimeError):
        api.create(workload("w"))
    heard: list[WatchEvent] = []
    api.watch("LocalQueue", heard.append)
    third = api.create(queue("third"))
    assert heard == [WatchEvent(Change.ADDED, third, None)]
