import msgspec
import pytest

from kueue_fast.api.list_watch import Bookmark, Changed, Failed, Undecodable, read_event, read_page
from kueue_fast.errors import InputError

V1BETA2, V1BETA1 = "kueue.x-k8s.io/v1beta2", "kueue.x-k8s.io/v1beta1"


def queue(name, spec=None, **metadata):
    return {
        "metadata": {"name": name, "namespace": "ns", "resourceVersion": "4", **metadata},
        "spec": {"clusterQueue": "cq"} if spec is None else spec,
    }


def page(*items, **metadata):
    return msgspec.json.encode({"metadata": {"resourceVersion": "9", **metadata}, "items": list(items)})


def event(type_, obj):
    return msgspec.json.encode({"type": type_, "object": obj})


BAD = queue("bad", spec={"clusterQueue": 7})


@pytest.mark.parametrize("version", [V1BETA2, V1BETA1])
def test_page(version):
    found = read_page(page(queue("a"), queue("b"), **{"continue": "token"}), version, "LocalQueue")
    assert [(each.KIND, each.metadata.name) for each in found.objects] == [
        ("LocalQueue", "a"),
        ("LocalQueue", "b"),
    ]
    assert (found.resource_version, found.continue_token) == ("9", "token")
    assert found.undecodable == []


LAST = {"no token": {}, "an empty token": {"continue": ""}, "null": {"continue": None}}


@pytest.mark.parametrize("metadata", LAST.values(), ids=LAST)
def test_last_page(metadata):
    assert read_page(page(**metadata), V1BETA2, "LocalQueue").continue_token is None


def test_page_of_null():
    found = read_page(b'{"metadata":{"resourceVersion":"9"},"items":null}', V1BETA2, "LocalQueue")
    assert found.objects == []


@pytest.mark.parametrize("version", [V1BETA2, V1BETA1])
def test_one_that_cannot_be_read_does_not_hide_the_others(version):
    found = read_page(page(queue("a"), BAD, queue("b")), version, "LocalQueue")
    assert [each.metadata.name for each in found.objects] == ["a", "b"]
    [bad] = found.undecodable
    assert (bad.namespace, bad.name, bad.resource_version) == ("ns", "bad", "4")
    assert str(bad.error) == "LocalQueue ns/bad: $.spec.clusterQueue: has `int` (expected `str | null`)"


def test_what_is_no_list():
    with pytest.raises(InputError, match=r"LocalQueueList: .*expected a list of the API server"):
        read_page(b"<html>", V1BETA2, "LocalQueue")


@pytest.mark.parametrize("type_", ["ADDED", "MODIFIED", "DELETED"])
def test_change(type_):
    found = read_event(event(type_, queue("a")), V1BETA2, "LocalQueue")
    assert isinstance(found, Changed)
    assert (found.type, found.object.metadata.name) == (type_, "a")


def test_change_of_what_cannot_be_read():
    found = read_event(event("MODIFIED", BAD), V1BETA2, "LocalQueue")
    assert isinstance(found, Changed)
    assert isinstance(found.object, Undecodable)
    assert found.object[:3] == ("ns", "bad", "4")


OTHERS = {
    "a bookmark": (event("BOOKMARK", {"metadata": {"resourceVersion": "77"}}), Bookmark("77")),
    # Go writes null for an empty time.
    "a bookmark of Go": (
        event("BOOKMARK", {"metadata": {"resourceVersion": "77", "creationTimestamp": None}, "spec": None}),
        Bookmark("77"),
    ),
    "a type of the future": (event("NOTICE", {"metadata": {"resourceVersion": "78"}}), Bookmark("78")),
    "an error": (b'{"type":"ERROR","object":{"code":410}}', Failed(b'{"code":410}')),
}


@pytest.mark.parametrize(("line", "want_message"), OTHERS.values(), ids=OTHERS)
def test_other_messages(line, want_message):
    assert read_event(line, V1BETA2, "LocalQueue") == want_message


def test_what_is_no_event():
    with pytest.raises(InputError, match=r"watch of LocalQueue: "):
        read_event(b"half a li", V1BETA2, "LocalQueue")
