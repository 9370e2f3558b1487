"""Which words on waiting Workloads are written, and when."""

import pytest

from kueue_fast.api.decode import decode_object
from kueue_fast.app.explanations import IN_FLIGHT, Explanations, says
from kueue_fast.engine.decisions import Requeued
from kueue_fast.lifecycle.status import Reasons


class Words:
    def __call__(self):
        return "unused"

    def requests(self):
        return (("main", {"cpu": 1000}),)


class Statuses:
    """Keeps what was to be written until the test says that it was."""

    def __init__(self):
        self.stored = {}
        self.begun = []

    def find(self, key):
        return self.stored.get(key)

    def write(self, workload, build, written, failed):
        changed = build(workload)
        if changed is None:
            return failed()
        self.begun.append((changed, written, failed))
        return None

    def done(self, *, fails=False):
        changed, written, failed = self.begun.pop(0)
        if fails:
            return failed()
        changed.metadata.resource_version = str(int(changed.metadata.resource_version) + 1)
        self.stored[f"{changed.metadata.namespace}/{changed.metadata.name}"] = changed
        return written(changed)

    def saying(self):
        """What is being written: name and text."""
        return [
            (each.metadata.name, each.status.conditions[0].message) for each, _written, _failed in self.begun
        ]


class Recorder:
    def __init__(self):
        self.notes = []

    def record(self, controller, event, version):
        self.notes.append((event.name, event.message, version))


def workload(name):
    return decode_object(
        {
            "apiVersion": "kueue.x-k8s.io/v1beta2",
            "kind": "Workload",
            "metadata": {
                "name": name,
                "namespace": "ns",
                "uid": name,
                "generation": 1,
                "resourceVersion": "1",
            },
            "spec": {"queueName": "main", "podSets": []},
        }
    )


@pytest.fixture
def scene():
    statuses, recorder = Statuses(), Recorder()
    for number in range(8):
        statuses.stored[f"ns/w{number}"] = workload(f"w{number}")
    return statuses, recorder, Explanations(statuses, recorder, Reasons())


def requeued(name):
    return Requeued(f"ns/{name}", "cq", "", "NoFit", Words())


def test_the_newest_word_counts(scene):
    statuses, recorder, explanations = scene
    for message in ("1 more needed", "2 more needed", "3 more needed"):
        explanations.tell(requeued("w0"), message, 0)
    assert statuses.saying() == [("w0", "1 more needed")]
    statuses.done()
    assert statuses.saying() == [("w0", "3 more needed")]
    statuses.done()
    assert statuses.saying() == []
    assert [note[1] for note in recorder.notes] == ["1 more needed", "3 more needed"]


def test_a_few_at_a_time_in_their_order(scene):
    statuses, _, explanations = scene
    for number in range(2 * IN_FLIGHT):
        explanations.tell(requeued(f"w{number}"), "no", 0)
    assert statuses.saying() == [(f"w{number}", "no") for number in range(IN_FLIGHT)]
    statuses.done(fails=True)
    assert statuses.saying()[-1] == (f"w{IN_FLIGHT}", "no")


def test_what_the_status_says_is_not_said_again(scene):
    statuses, _, explanations = scene
    explanations.tell(requeued("w0"), "no", 0)
    statuses.done()
    assert says(statuses.stored["ns/w0"], "no")
    explanations.tell(requeued("w0"), "no", 0)
    assert statuses.saying() == []
    explanations.tell(requeued("w0"), "still no", 0)
    assert statuses.saying() == [("w0", "still no")]


def test_every_cycle_tells_its_word_about_the_workload_that_it_looked_at(scene):
    statuses, recorder, explanations = scene
    explanations.tell(requeued("w0"), "no", 0)
    statuses.done()
    explanations.tell(requeued("w0"), "no", 1)
    explanations.tell(requeued("w0"), "still no", 2)
    # One that comes while it is being written.
    explanations.tell(requeued("w0"), "still no", 3)
    statuses.done()
    assert statuses.saying() == []
    assert recorder.notes == [
        ("w0", "no", "1"),
        ("w0", "no", "2"),
        ("w0", "still no", "2"),
        ("w0", "still no", "3"),
    ]


def test_workload_that_is_gone(scene):
    statuses, _, explanations = scene
    explanations.tell(requeued("gone"), "no", 0)
    for number in range(IN_FLIGHT):
        explanations.tell(requeued(f"w{number}"), "no", 0)
    explanations.tell(requeued("w7"), "no", 0)
    del statuses.stored["ns/w7"]
    statuses.done()
    assert len(statuses.saying()) == IN_FLIGHT - 1


def test_nothing_is_said_of_what_waits_no_more(scene):
    statuses, _, explanations = scene
    for number in range(IN_FLIGHT + 2):
        explanations.tell(requeued(f"w{number}"), "no", 0)
    explanations.forget(f"ns/w{IN_FLIGHT}")
    explanations.forget("ns/w0")
    for _ in range(IN_FLIGHT):
        statuses.done()
    assert statuses.saying() == [(f"w{IN_FLIGHT + 1}", "no")]
