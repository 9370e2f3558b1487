"""What the webhooks refuse in the metadata of any job."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from kueue_fast.api.batch import Job
from kueue_fast.jobs.settings import JobSettings
from kueue_fast.jobs.validation import group_version_kind, prebuilt_name, validate_create, validate_update
from tests.jobs.kinds import ELASTIC, GATED_BY, MAX_EXEC, PREBUILT, PRIORITY, QUEUE, told


class Facts:
    """A kind that takes everything, or nothing."""

    api_version = "g/v1"
    kind = "K"

    def __init__(self, takes: bool) -> None:
        self.prebuilt = self.elastic = takes


DEFAULTS = JobSettings()
LABELS = JobSettings(workload_identifier_annotations=False)
LONG = "a" * 64
SUBDOMAIN = (
    "must be a DNS subdomain: lower-case letters, digits, '-' and '.', beginning and ending with a letter"
    " or digit, such as 'example.com'"
)


def job(labels: dict[str, str], annotations: dict[str, str]) -> Job:
    made = {"metadata": {"name": "j", "labels": labels, "annotations": annotations}, "spec": {"template": {}}}
    return msgspec.json.decode(msgspec.json.encode(made), type=Job)


def at(part: str, key: str) -> str:
    return f"metadata.{part}[{key}]"


CREATE: dict[str, tuple[dict[str, str], dict[str, str], JobSettings, list[str]]] = {
    "nothing": ({}, {}, DEFAULTS, []),
    "all of it": (
        {QUEUE: "q", MAX_EXEC: "60"},
        {PREBUILT: "w", ELASTIC: "true", GATED_BY: "example.com/a, example.com/b"},
        DEFAULTS,
        [],
    ),
    "a queue that no object is called": (
        {QUEUE: "Q"},
        {},
        DEFAULTS,
        [f'{at("labels", QUEUE)}: Invalid value: "Q": {SUBDOMAIN}'],
    ),
    "an empty queue": (
        {QUEUE: ""},
        {},
        DEFAULTS,
        [f'{at("labels", QUEUE)}: Invalid value: "": {SUBDOMAIN}'],
    ),
    "a prebuilt Workload that no object is called": (
        {PREBUILT: "W"},
        {},
        DEFAULTS,
        [f'{at("labels", PREBUILT)}: Invalid value: "W": {SUBDOMAIN}'],
    ),
    "the annotation goes before the label": (
        {PREBUILT: "W"},
        {PREBUILT: "w"},
        DEFAULTS,
        [],
    ),
    "the label goes before a short annotation": (
        {PREBUILT: "w"},
        {PREBUILT: "W"},
        LABELS,
        [],
    ),
    "a long annotation": (
        {},
        {PREBUILT: "W" + LONG},
        LABELS,
        [f'{at("annotations", PREBUILT)}: Invalid value: "W{LONG}": {SUBDOMAIN}'],
    ),
    "a time that is no number": (
        {MAX_EXEC: "1h"},
        {},
        DEFAULTS,
        [f'{at("labels", MAX_EXEC)}: Invalid value: "1h": must be an integer'],
    ),
    "no time": (
        {MAX_EXEC: "0"},
        {},
        DEFAULTS,
        [f"{at('labels', MAX_EXEC)}: Invalid value: 0: should be greater than 0"],
    ),
    "a time of more than 32 bits": ({MAX_EXEC: "3000000000"}, {}, DEFAULTS, []),
    "an empty list of gates": ({}, {GATED_BY: " "}, DEFAULTS, []),
    "an empty gate": (
        {},
        {GATED_BY: "example.com/a,,example.com/b"},
        DEFAULTS,
        [
            f'{at("annotations", GATED_BY)}: Invalid value: "example.com/a,,example.com/b": '
            "must not hold an empty name"
        ],
    ),
    "a gate twice": (
        {},
        {GATED_BY: "example.com/a, example.com/a"},
        DEFAULTS,
        [
            f'{at("annotations", GATED_BY)}: Invalid value: "example.com/a, example.com/a": '
            "names example.com/a twice"
        ],
    ),
    "a gate without domain": (
        {},
        {GATED_BY: "a"},
        DEFAULTS,
        [
            f'{at("annotations", GATED_BY)}: Invalid value: "a": '
            "must be a domain-prefixed path, such as 'example.com/name'"
        ],
    ),
    "a long gate": (
        {},
        {GATED_BY: f"example.com/{LONG}"},
        DEFAULTS,
        [f"{at('annotations', GATED_BY)}: Too long: may not be more than 63 bytes"],
    ),
    "gates that are not looked at": ({}, {GATED_BY: "a"}, JobSettings(admission_gated_by=False), []),
}


@pytest.mark.parametrize("case", CREATE)
def test_create(case: str) -> None:
    labels, annotations, settings, want = CREATE[case]
    assert told(validate_create(job(labels, annotations).metadata, Facts(True), settings)) == want


TAKES_NOTHING: dict[str, tuple[dict[str, str], dict[str, str], JobSettings, list[str]]] = {
    "an elastic job": (
        {},
        {ELASTIC: "true"},
        DEFAULTS,
        [f'{at("annotations", ELASTIC)}: Forbidden: elastic job is not supported for "g/v1, Kind=K"'],
    ),
    "elastic jobs are off": ({}, {ELASTIC: "true"}, JobSettings(elastic_jobs=False), []),
    "elastic in other words": ({}, {ELASTIC: "True"}, DEFAULTS, []),
    "a prebuilt Workload": (
        {PREBUILT: "w"},
        {},
        DEFAULTS,
        [f'{at("labels", PREBUILT)}: Forbidden: a prebuilt Workload is not supported for "g/v1, Kind=K"'],
    ),
    "a short annotation that does not count": ({}, {PREBUILT: "w"}, LABELS, []),
}


@pytest.mark.parametrize("case", TAKES_NOTHING)
def test_kinds_that_take_neither(case: str) -> None:
    labels, annotations, settings, want = TAKES_NOTHING[case]
    assert told(validate_create(job(labels, annotations).metadata, Facts(False), settings)) == want


def test_kinds_of_core_have_an_empty_group() -> None:
    assert group_version_kind("v1", "Pod") == "/v1, Kind=Pod"


NAMES: dict[str, tuple[str, str, JobSettings, str]] = {
    "label": ("l", "", DEFAULTS, "l"),
    "annotation": ("", "a", DEFAULTS, "a"),
    "both": ("l", "a", DEFAULTS, "a"),
    "both, labels first": ("l", "a", LABELS, "l"),
    "a short annotation, labels first": ("", "a", LABELS, ""),
    "a long annotation, labels first": ("", LONG, LABELS, LONG),
}


@pytest.mark.parametrize("case", NAMES)
def test_names_of_prebuilt_workloads(case: str) -> None:
    label, annotation, settings, want = NAMES[case]
    assert prebuilt_name(job({PREBUILT: label}, {PREBUILT: annotation}).metadata, settings) == want


Meta = tuple[dict[str, str], dict[str, str]]
HELD, RUNNING, STARTS, STOPS = (True, True), (False, False), (True, False), (False, True)
IMMUTABLE = "field is immutable"
UPDATE: dict[str, tuple[Meta, Meta, tuple[bool, bool], dict[str, Any], list[str]]] = {
    "another queue while held": (({QUEUE: "a"}, {}), ({QUEUE: "b"}, {}), HELD, {}, []),
    "another queue when it stops": (({QUEUE: "a"}, {}), ({QUEUE: "b"}, {}), STOPS, {}, []),
    "another queue when it starts": (
        ({QUEUE: "a"}, {}),
        ({QUEUE: "b"}, {}),
        STARTS,
        {},
        [f'{at("labels", QUEUE)}: Invalid value: "b": {IMMUTABLE}'],
    ),
    "no queue any more": (({QUEUE: "a"}, {}), ({}, {}), HELD, {}, []),
    "no queue where there is a default": (
        ({QUEUE: "a"}, {}),
        ({}, {}),
        HELD,
        {"default": True},
        [
            f'{at("labels", QUEUE)}: Invalid value: "": '
            "must name a queue: the namespace has a default LocalQueue"
        ],
    ),
    "another prebuilt Workload while held": (({PREBUILT: "a"}, {}), ({PREBUILT: "b"}, {}), HELD, {}, []),
    "another prebuilt Workload while it runs": (
        ({PREBUILT: "a"}, {}),
        ({PREBUILT: "b"}, {}),
        RUNNING,
        {},
        [f'{at("labels", PREBUILT)}: Invalid value: "b": {IMMUTABLE}'],
    ),
    "the same one in another place": (({PREBUILT: "a"}, {}), ({}, {PREBUILT: "a"}), RUNNING, {}, []),
    "another prebuilt Workload of a job that was elastic": (
        ({PREBUILT: "a"}, {ELASTIC: "true"}),
        ({PREBUILT: "b"}, {ELASTIC: "true"}),
        RUNNING,
        {},
        [],
    ),
    "another time while held": (({MAX_EXEC: "1"}, {}), ({MAX_EXEC: "2"}, {}), HELD, {}, []),
    "another time when it stops": (
        ({MAX_EXEC: "1"}, {}),
        ({MAX_EXEC: "2"}, {}),
        STOPS,
        {},
        [f'{at("labels", MAX_EXEC)}: Invalid value: "2": {IMMUTABLE}'],
    ),
    "another class": (({PRIORITY: "a"}, {}), ({PRIORITY: "b"}, {}), RUNNING, {}, []),
    "a class while held": (({}, {}), ({PRIORITY: "b"}, {}), HELD, {}, []),
    "a class while it runs": (
        ({}, {}),
        ({PRIORITY: "b"}, {}),
        RUNNING,
        {},
        [f'{at("labels", PRIORITY)}: Invalid value: "b": cannot be added while the job is not suspended'],
    ),
    "no class any more": (
        ({PRIORITY: "a"}, {}),
        ({}, {}),
        HELD,
        {},
        [f'{at("labels", PRIORITY)}: Invalid value: "": cannot be removed'],
    ),
    "elastic later": (
        ({}, {}),
        ({}, {ELASTIC: "true"}),
        HELD,
        {},
        [f"{at('annotations', ELASTIC)}: Invalid value: true: {IMMUTABLE}"],
    ),
    "gates later": (
        ({}, {}),
        ({}, {GATED_BY: "example.com/a"}),
        HELD,
        {},
        [f"{at('annotations', GATED_BY)}: Forbidden: cannot be added once the job exists"],
    ),
    "one gate more": (
        ({}, {GATED_BY: "example.com/a"}),
        ({}, {GATED_BY: "example.com/a,example.com/b"}),
        HELD,
        {},
        [f"{at('annotations', GATED_BY)}: Forbidden: gates may be removed, not added"],
    ),
    "gates in another order": (
        ({}, {GATED_BY: "example.com/a,example.com/b"}),
        ({}, {GATED_BY: "example.com/b, example.com/a"}),
        HELD,
        {},
        [],
    ),
    "no gates any more": (({}, {GATED_BY: "example.com/a"}), ({}, {}), HELD, {}, []),
}


@pytest.mark.parametrize("case", UPDATE)
def test_update(case: str) -> None:
    old, new, suspended, facts, want = UPDATE[case]
    got = validate_update(job(*old), job(*new), suspended, Facts(True), DEFAULTS, facts.get("default", False))
    assert told(got) == want
