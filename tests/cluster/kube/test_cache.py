import pytest

from kueue_fast.api.core import Namespace
from kueue_fast.api.meta import ObjectMeta, OwnerReference
from kueue_fast.cluster.changes import Change
from kueue_fast.cluster.kube.cache import ObjectCache

ADDED, MODIFIED, DELETED = Change.ADDED, Change.MODIFIED, Change.DELETED


def namespace(name, version="1", uid=None, owner=None):
    owners = (
        None if owner is None else [OwnerReference(api_version="v1", kind="Namespace", name="o", uid=owner)]
    )
    return Namespace(
        metadata=ObjectMeta(
            name=name, uid=uid or f"uid-{name}", resource_version=version, owner_references=owners
        )
    )


def told(cache):
    heard = []
    cache.watch(
        None,
        lambda event: heard.append(
            (event.change, event.object.metadata.name, event.object.metadata.resource_version)
        ),
    )
    return heard


def key(name):
    return "Namespace", "", name


STEPS = {
    "a new one": (lambda c: c.put(namespace("b")), [(ADDED, "b", "1")]),
    "a change": (lambda c: c.put(namespace("a", "2")), [(MODIFIED, "a", "2")]),
    "the same version again": (lambda c: c.put(namespace("a")), []),
    "another of the same name": (
        lambda c: c.put(namespace("a", "5", "new")),
        [(DELETED, "a", "1"), (ADDED, "a", "5")],
    ),
    "gone, with its last state": (lambda c: c.remove(key("a"), namespace("a", "7")), [(DELETED, "a", "7")]),
    "gone, nobody said how": (lambda c: c.remove(key("a")), [(DELETED, "a", "1")]),
    "gone, and was never known": (lambda c: c.remove(key("x")), []),
    "a list with everything as it was": (lambda c: c.replace("Namespace", [namespace("a")]), []),
    "a list without it": (
        lambda c: c.replace("Namespace", [namespace("b")]),
        [(DELETED, "a", "1"), (ADDED, "b", "1")],
    ),
    "a list in which it cannot be read": (lambda c: c.replace("Namespace", [], [key("a")]), []),
    "a list of another kind": (lambda c: c.replace("Node", []), []),
}


@pytest.mark.parametrize(("step", "want_heard"), STEPS.values(), ids=STEPS)
def test_listeners_hear(step, want_heard):
    cache = ObjectCache()
    cache.put(namespace("a"))
    heard = told(cache)
    step(cache)
    assert heard == want_heard


def test_listener_of_a_kind_hears_only_of_it():
    cache, heard = ObjectCache(), []
    cache.watch("Node", heard.append)
    cache.put(namespace("a"))
    assert heard == []


def test_reading():
    cache = ObjectCache()
    cache.put(namespace("a"))
    cache.put(namespace("b", owner="uid-a"))
    assert cache.get("Namespace", None, "a").metadata.name == "a"
    assert cache.by_uid("uid-b").metadata.name == "b"
    assert [each.metadata.name for each in cache.list("Namespace")] == ["a", "b"]
    assert [each.metadata.name for each in cache.dependents("uid-a")] == ["b"]
    assert cache.count("Namespace") == 2
    cache.put(namespace("b", "2"))
    assert list(cache.dependents("uid-a")) == []
    cache.put(namespace("a", "3", "other"))
    assert cache.by_uid("uid-a") is None
    assert cache.by_uid("other").metadata.resource_version == "3"


def test_old_state_comes_with_a_change():
    cache, heard = ObjectCache(), []
    cache.put(namespace("a"))
    cache.watch("Namespace", heard.append)
    cache.put(namespace("a", "2"))
    assert heard[0].old.metadata.resource_version == "1"
