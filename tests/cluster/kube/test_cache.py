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


ANSWERS = {
    "newer than what is known": (["known 5"], "answer 7", "7"),
    "older than what the watch brought": (["known 5", "watch 9"], "answer 7", "9"),
    "of an object that is not known": ([], "answer 7", None),
    "of an object that is gone": (["known 5", "gone"], "answer 7", None),
    "of another of the same name": (["known 5"], "other 7", "5"),
    "with a version that is no number": (["known 5"], "answer x", "5"),
    "to an object whose version is no number": (["known x"], "answer 7", "x"),
}
AFTER_AN_ANSWER = {
    "the watch is behind": (["watch 6"], "7"),
    "the watch tells it": (["watch 7"], "7"),
    "the watch is beyond it": (["watch 9", "watch 11"], "11"),
    "the watch tells what we did not write": (["watch 7", "watch 6"], "6"),
    "a list goes back": (["list 3"], "3"),
    "it is gone and comes again": (["gone", "other 6"], "6"),
    "a version that is no number": (["watch x"], "x"),
}


def do(cache, step):
    what, _, version = step.partition(" ")
    match what:
        case "known" | "watch":
            cache.put(namespace("a", version))
        case "answer":
            cache.answered(namespace("a", version))
        case "other":
            cache.put(namespace("a", version, "another"))
        case "list":
            cache.replace("Namespace", [namespace("a", version)])
        case "gone":
            cache.remove(key("a"))


def version_of(cache):
    found = cache.get("Namespace", None, "a")
    return None if found is None else found.metadata.resource_version


@pytest.mark.parametrize(("before", "answer", "want"), ANSWERS.values(), ids=ANSWERS)
def test_an_answer(before, answer, want):
    cache = ObjectCache()
    for step in before:
        do(cache, step)
    heard = told(cache)
    what, _, version = answer.partition(" ")
    cache.answered(namespace("a", version, "another" if what == "other" else None))
    assert version_of(cache) == want
    assert heard == ([(MODIFIED, "a", want)] if want == "7" else [])


@pytest.mark.parametrize(("after", "want"), AFTER_AN_ANSWER.values(), ids=AFTER_AN_ANSWER)
def test_what_comes_after_an_answer(after, want):
    cache = ObjectCache()
    for step in ("known 5", "answer 7", *after):
        do(cache, step)
    assert version_of(cache) == want


def test_nobody_hears_twice_of_what_was_answered():
    cache = ObjectCache()
    do(cache, "known 5")
    heard = told(cache)
    for step in ("answer 7", "watch 6", "watch 7"):
        do(cache, step)
    assert heard == [(MODIFIED, "a", "7")]
