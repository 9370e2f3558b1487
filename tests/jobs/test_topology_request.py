"""From annotations to requests for a topology."""

from typing import Any

import msgspec
import pytest

from kueue_fast.errors import InputError
from kueue_fast.jobs.settings import JobSettings
from kueue_fast.jobs.topology_indexes import (
    INDEXES,
    IndexLabels,
    app_wrapper_indexes,
    launcher_shifts_workers,
    leader_shifts_workers,
    pod_group_index,
)
from kueue_fast.jobs.topology_request import topology_request
from tests.jobs.makers import BATCH, View, job, made_workload

PREFIX = "kueue.x-k8s.io/podset-"
REQUIRED = PREFIX + "required-topology"
PREFERRED = PREFIX + "preferred-topology"
UNCONSTRAINED = PREFIX + "unconstrained-topology"
SLICE = PREFIX + "slice-required-topology"
SIZE = PREFIX + "slice-size"
LAYERS = PREFIX + "slice-required-topology-constraints"
GROUP = PREFIX + "group-name"

INDEX = IndexLabels("index")
SUB_GROUP = IndexLabels(None, "group-index", 2)
TWO_LAYERS = [{"topology": "rack", "size": 8}, {"topology": "host", "size": 2}]
SLICED = {SLICE: "rack", SIZE: "4"}

REQUESTS: dict[str, tuple[dict[str, str], IndexLabels, dict[str, Any] | None]] = {
    "nothing": ({}, IndexLabels(), None),
    "required": ({REQUIRED: "block"}, IndexLabels(), {"required": "block"}),
    "required, with an index label": (
        {REQUIRED: "block"},
        INDEX,
        {"required": "block", "podIndexLabel": "index"},
    ),
    "an index label alone": ({}, INDEX, {"podIndexLabel": "index"}),
    "a sub group alone": ({}, SUB_GROUP, {"subGroupIndexLabel": "group-index", "subGroupCount": 2}),
    "a count of sub groups alone": ({}, IndexLabels(None, None, 0), {"subGroupCount": 0}),
    "required and a group": (
        {REQUIRED: "block", GROUP: "g"},
        SUB_GROUP,
        {
            "required": "block",
            "podSetGroupName": "g",
            "subGroupIndexLabel": "group-index",
            "subGroupCount": 2,
        },
    ),
    "preferred": ({PREFERRED: "block"}, IndexLabels(), {"preferred": "block"}),
    "preferred and a group": (
        {PREFERRED: "block", GROUP: "g"},
        IndexLabels(),
        {"preferred": "block", "podSetGroupName": "g"},
    ),
    "the first level counts": ({PREFERRED: "a", REQUIRED: "b"}, IndexLabels(), {"required": "b"}),
    "a level hides a bad boolean": (
        {PREFERRED: "a", UNCONSTRAINED: "x"},
        IndexLabels(),
        {"preferred": "a"},
    ),
    "unconstrained": ({UNCONSTRAINED: "true"}, IndexLabels(), {"unconstrained": True}),
    "not unconstrained is a request too": (
        {UNCONSTRAINED: "F"},
        IndexLabels(),
        {"unconstrained": False},
    ),
    "slices alone": (
        SLICED,
        IndexLabels(),
        {"podSetSliceRequiredTopology": "rack", "podSetSliceSize": 4},
    ),
    "a slice without its size is nothing": ({SLICE: "rack"}, IndexLabels(), None),
    "a size without its slice is nothing": ({SIZE: "4"}, IndexLabels(), None),
    "a size without its slice beside a level": (
        {REQUIRED: "a", SIZE: "x"},
        IndexLabels(),
        {"required": "a"},
    ),
    "a group needs a level": (
        {**SLICED, GROUP: "g"},
        INDEX,
        {"podSetSliceRequiredTopology": "rack", "podSetSliceSize": 4, "podIndexLabel": "index"},
    ),
    "a group alone is nothing": ({GROUP: "g"}, IndexLabels(), None),
    "layers": (
        {REQUIRED: "block", LAYERS: msgspec.json.encode(TWO_LAYERS).decode()},
        IndexLabels(),
        {"required": "block", "podsetSliceRequiredTopologyConstraints": TWO_LAYERS},
    ),
    "layers alone, before the older form": (
        {LAYERS: msgspec.json.encode(TWO_LAYERS).decode(), **SLICED},
        IndexLabels(),
        {"podsetSliceRequiredTopologyConstraints": TWO_LAYERS},
    ),
}


@pytest.mark.parametrize("case", REQUESTS)
def test_requests(case: str) -> None:
    annotations, indexes, want = REQUESTS[case]
    got = topology_request(annotations, indexes)
    assert (None if got is None else msgspec.to_builtins(got)) == want


def test_without_the_gate_layers_are_passed_over() -> None:
    annotations = {**SLICED, LAYERS: "broken"}
    got = topology_request(annotations, multi_layer=False)
    assert msgspec.to_builtins(got) == {"podSetSliceRequiredTopology": "rack", "podSetSliceSize": 4}
    # It makes the request all the same, an empty one.
    assert msgspec.to_builtins(topology_request({LAYERS: "broken"}, multi_layer=False)) == {}


MISTAKES: dict[str, tuple[dict[str, str], str]] = {
    "an unconstrained that is no boolean": ({UNCONSTRAINED: "yes"}, "a boolean"),
    "a size that is no number": ({SLICE: "rack", SIZE: "x"}, "a 32-bit integer"),
    "a size over 32 bits": ({SLICE: "rack", SIZE: "3000000000"}, "a 32-bit integer"),
    "no layers": ({REQUIRED: "a", LAYERS: "[]"}, "between 1 and 3 entries: got 0"),
    "null": ({REQUIRED: "a", LAYERS: "null"}, "between 1 and 3 entries: got 0"),
    "four layers": ({REQUIRED: "a", LAYERS: "[{},{},{},{}]"}, "between 1 and 3 entries: got 4"),
    "layers that are no JSON": ({REQUIRED: "a", LAYERS: "invalid-json"}, "a JSON list"),
    "a size in quotes": ({LAYERS: '[{"topology":"rack","size":"8"}]'}, "found a text"),
}


@pytest.mark.parametrize("case", MISTAKES)
def test_mistakes_name_the_annotation(case: str) -> None:
    annotations, want = MISTAKES[case]
    with pytest.raises(InputError, match=want) as caught:
        topology_request(annotations, path="$.spec.template.metadata")
    assert caught.value.field == f"$.spec.template.metadata.annotations[{list(annotations)[-1]}]"


# ---- the batch Job ----


def test_a_job_asks_with_its_template() -> None:
    got = made_workload(job(template={"annotations": {REQUIRED: "rack"}}))
    (pod_set,) = got.spec.pod_sets or ()
    assert msgspec.to_builtins(pod_set.topology_request) == {
        "required": "rack",
        "podIndexLabel": "batch.kubernetes.io/job-completion-index",
    }


def test_without_topologies_a_job_asks_for_none() -> None:
    settings = JobSettings(topology_aware_scheduling=False)
    a_job = job(template={"annotations": {UNCONSTRAINED: "broken"}})
    assert BATCH.validate(a_job, settings) == []
    (pod_set,) = made_workload(a_job, View(settings)).spec.pod_sets or ()
    assert pod_set.topology_request is None


# ---- index labels ----


def test_kubeflow_jobs_count_replicas() -> None:
    jobs = ("jaxjob", "mpijob", "paddlejob", "pytorchjob", "tfjob", "xgboostjob")
    assert {INDEXES[f"kubeflow.org/{name}"].pod for name in jobs} == {"training.kubeflow.org/replica-index"}


APP_WRAPPERS: dict[str, tuple[dict[str, str], IndexLabels]] = {
    "nothing said": ({}, IndexLabels()),
    "all": (
        {"tas-pod-index-label": "i", "tas-sub-group-index-label": "g", "tas-sub-group-count": "3"},
        IndexLabels("i", "g", 3),
    ),
    "a count that is no number is none": (
        {"tas-sub-group-index-label": "g", "tas-sub-group-count": "x"},
        IndexLabels(None, "g", None),
    ),
}


@pytest.mark.parametrize("case", APP_WRAPPERS)
def test_app_wrappers_name_their_labels(case: str) -> None:
    annotations, want = APP_WRAPPERS[case]
    prefix = "workload.codeflare.dev.appwrapper/"
    assert app_wrapper_indexes({prefix + name: value for name, value in annotations.items()}) == want


def test_a_launcher_that_works_shifts_the_workers() -> None:
    assert launcher_shifts_workers(True, {}, {GROUP: "g"})
    assert not launcher_shifts_workers(False, {}, {})
    assert not launcher_shifts_workers(True, None, {})
    assert not launcher_shifts_workers(True, {}, None)
    assert not launcher_shifts_workers(True, {GROUP: "g"}, {})


def test_a_leader_shifts_the_workers() -> None:
    assert leader_shifts_workers(True, {})
    assert not leader_shifts_workers(False, {})
    assert not leader_shifts_workers(True, {GROUP: "g"})


def test_a_pod_of_a_group_names_its_index_label() -> None:
    annotation = {"kueue.x-k8s.io/pod-group-pod-index-label": "i"}
    assert pod_group_index({}, {"i": "3"}) is None
    assert pod_group_index(annotation, {"i": "3"}) == "3"
    assert pod_group_index(annotation, {}) == ""
