import msgspec
import pytest

from kueue_fast.api.batch import Job
from kueue_fast.api.decode import decode
from kueue_fast.cluster.kube import patches
from kueue_fast.cluster.kube.writer import Verb

# name: what there was, what there is to be, the operations
DIFFERENCES = {
    "nothing differs": ({"a": [1, {"b": 2}]}, {"a": [1, {"b": 2}]}, []),
    "a field comes, another goes, a third changes": (
        {"gone": 1, "same": 1, "changed": 1},
        {"same": 1, "changed": 2, "new": {}},
        [
            {"op": "remove", "path": "/gone"},
            {"op": "add", "path": "/changed", "value": 2},
            {"op": "add", "path": "/new", "value": {}},
        ],
    ),
    "an item of a list changes inside, and its other fields stay": (
        {"groups": [{"name": "a", "replicas": 1}, {"name": "b", "replicas": 1}]},
        {"groups": [{"name": "a", "replicas": 1}, {"name": "b", "replicas": 3}]},
        [{"op": "add", "path": "/groups/1/replicas", "value": 3}],
    ),
    "names with slashes and tildes": (
        {"labels": {}},
        {"labels": {"kueue.x-k8s.io/a~b": "c"}},
        [{"op": "add", "path": "/labels/kueue.x-k8s.io~1a~0b", "value": "c"}],
    ),
    "an item is appended": (
        [{"type": "Ready"}],
        [{"type": "Ready"}, {"type": "Gone"}],
        [{"op": "add", "path": "/1", "value": {"type": "Gone"}}],
    ),
    "items in the middle give way to another": (
        ["a", "b", "c", "d"],
        ["a", "x", "d"],
        [
            {"op": "remove", "path": "/2"},
            {"op": "remove", "path": "/1"},
            {"op": "add", "path": "/1", "value": "x"},
        ],
    ),
    "one of two equal items goes": (["a", "a"], ["a"], [{"op": "remove", "path": "/1"}]),
    "all items go": (["a", "b"], [], [{"op": "remove", "path": "/1"}, {"op": "remove", "path": "/0"}]),
    "plain items of a list as long": (
        ["a", "b"],
        ["a", "c"],
        [{"op": "replace", "path": "/1", "value": "c"}],
    ),
    "a value of another kind": ({"a": {"b": 1}}, {"a": [1]}, [{"op": "add", "path": "/a", "value": [1]}]),
}


@pytest.mark.parametrize(("old", "new", "want_operations"), DIFFERENCES.values(), ids=DIFFERENCES)
def test_differences(old, new, want_operations):
    assert patches.difference(old, new) == want_operations


def job(**spec) -> Job:
    template = {"spec": {"containers": [], "restartPolicy": "Never"}}
    metadata = {"name": "a", "namespace": "team", "uid": "u", "resourceVersion": "7"}
    manifest = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": metadata,
        "spec": {"template": template, **spec},
    }
    found = decode(msgspec.json.encode(manifest))
    assert isinstance(found, Job)
    return found


def test_an_update_names_the_version_it_was_made_from():
    write = patches.update(job(suspend=True), job(suspend=False))
    assert write is not None
    assert write.verb is Verb.PATCH
    assert msgspec.json.decode(write.body or b"") == [
        {"op": "add", "path": "/metadata/uid", "value": "u"},
        {"op": "add", "path": "/metadata/resourceVersion", "value": "7"},
        {"op": "add", "path": "/spec/suspend", "value": False},
    ]


def test_nothing_is_written_where_nothing_differs():
    assert patches.update(job(suspend=True), job(suspend=True)) is None
    assert patches.update_status(job(suspend=True), job(suspend=False)) is None


def test_a_deletion_is_of_this_object_alone():
    write = patches.delete(job())
    assert (write.verb, write.name) == (Verb.DELETE, "a")
    assert msgspec.json.decode(write.body or b"")["preconditions"] == {"uid": "u"}


def cluster_queue(**metadata):
    return decode(
        msgspec.json.encode(
            {
                "apiVersion": "kueue.x-k8s.io/v1beta2",
                "kind": "ClusterQueue",
                "metadata": {"name": "q", "uid": "u", "resourceVersion": "7", **metadata},
                "spec": {"cohortName": "team"},
                "status": {"pendingWorkloads": 3},
            }
        )
    )


FINALIZER = "kueue.x-k8s.io/resource-in-use"


def test_a_finalizer_goes_whatever_else_has_changed():
    write = patches.remove_finalizer(cluster_queue(finalizers=["other", FINALIZER]), FINALIZER)
    assert (write.verb, write.subresource) == (Verb.PATCH, "")
    assert msgspec.json.decode(write.body) == [
        {"op": "add", "path": "/metadata/uid", "value": "u"},
        {"op": "test", "path": "/metadata/finalizers/1", "value": FINALIZER},
        {"op": "remove", "path": "/metadata/finalizers/1"},
    ]
    assert patches.remove_finalizer(cluster_queue(), FINALIZER) is None


# name: metadata as it is stored by now, the finalizers that are written (None: nothing is)
STORED = {
    "it has none": ({"uid": "u"}, [FINALIZER]),
    "it has one of somebody else": ({"uid": "u", "finalizers": ["other"]}, [FINALIZER]),
    "it has them already": ({"uid": "u", "finalizers": [FINALIZER]}, None),
    "it is another object by now": ({"uid": "v"}, None),
}


@pytest.mark.parametrize(("stored", "want_finalizers"), STORED.values(), ids=STORED)
def test_finalizers_are_written_into_what_is_stored(stored, want_finalizers):
    write = patches.replace_finalizers(cluster_queue(), [FINALIZER])
    assert write.verb is Verb.REPLACE
    newest = {"kind": "ClusterQueue", "metadata": stored, "spec": {"a field that we do not read": 1}}
    again = write.rebuild(msgspec.json.encode(newest))
    if want_finalizers is None:
        assert again is None
        return
    sent = msgspec.json.decode(again.body)
    assert sent == {**newest, "metadata": {**stored, "finalizers": want_finalizers}}
