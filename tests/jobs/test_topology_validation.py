"""What the webhooks refuse in the topology annotations of a template."""

from typing import Any

import msgspec
import pytest

from kueue_fast.api.kueue import PodSet
from kueue_fast.jobs.settings import JobSettings
from kueue_fast.jobs.topology_validation import (
    validate_groups,
    validate_slice_bound,
    validate_topology_annotations,
)
from tests.jobs.makers import BATCH, job
from tests.jobs.test_topology_request import (
    GROUP,
    LAYERS,
    PREFERRED,
    REQUIRED,
    SIZE,
    SLICE,
    SLICED,
    UNCONSTRAINED,
)

PATH = "spec.template.metadata"
AT = f"{PATH}.annotations"

Problem = tuple[str, str, str]


def at(name: str, rest: str = "") -> str:
    return f"{AT}[{name}]{rest}"


def layers(*pairs: tuple[str, int]) -> dict[str, str]:
    entries = [{"topology": topology, "size": size} for topology, size in pairs]
    return {LAYERS: msgspec.json.encode(entries).decode()}


NOT_WITH = "may not be set when '{}' is specified"
ANNOTATIONS: dict[str, tuple[dict[str, str], list[Problem]]] = {
    "nothing": ({}, []),
    "required": ({REQUIRED: "cloud.com/block"}, []),
    "two levels": (
        {REQUIRED: "a", PREFERRED: "b"},
        [(AT, "Invalid value", "must not contain more than one topology annotation")],
    ),
    "a level and unconstrained": (
        {REQUIRED: "a", UNCONSTRAINED: "false"},
        [(AT, "Invalid value", "must not contain more than one topology annotation")],
    ),
    "levels that are no label names": (
        {PREFERRED: "a b", **SLICED, SLICE: "/x"},
        [(at(PREFERRED), "Invalid value", ""), (at(SLICE), "Invalid value", "")],
    ),
    "an empty level": ({REQUIRED: ""}, [(at(REQUIRED), "Invalid value", "")]),
    "a group that is a number": (
        {REQUIRED: "a", GROUP: "007"},
        [(at(GROUP), "Invalid value", "must not be a number")],
    ),
    "a group that begins with a sign": ({REQUIRED: "a", GROUP: "+7"}, []),
    "a group with slices": (
        {REQUIRED: "a", GROUP: "g", **SLICED},
        [
            (at(GROUP), "Forbidden", NOT_WITH.format(SIZE)),
            (at(GROUP), "Forbidden", NOT_WITH.format(SLICE)),
        ],
    ),
    "a group without level": (
        {UNCONSTRAINED: "true", GROUP: "g"},
        [(at(GROUP), "Forbidden", "may not be set when neither")],
    ),
    "unconstrained that is no boolean": (
        {UNCONSTRAINED: "yes"},
        [(at(UNCONSTRAINED), "Invalid value", "must be a boolean value")],
    ),
    "slices": ({**SLICED}, []),
    "a size that is no number": (
        {SLICE: "rack", SIZE: "x"},
        [(at(SIZE), "Invalid value", "must be a numeric value")],
    ),
    "a size over 32 bits": (
        {SLICE: "rack", SIZE: "3000000000"},
        [(at(SIZE), "Invalid value", "must be a numeric value")],
    ),
    "a size of zero": (
        {SLICE: "rack", SIZE: "0"},
        [(at(SIZE), "Invalid value", "must be greater than or equal to 1")],
    ),
    "a slice without size": ({SLICE: "rack"}, [(at(SIZE), "Required value", "must be set when")]),
    "a bad size without slice": (
        {SIZE: "-1"},
        [
            (at(SIZE), "Invalid value", "must be greater than or equal to 1"),
            (at(SIZE), "Forbidden", f"may not be set when '{SLICE}' is not specified"),
        ],
    ),
    "a size of one": ({SLICE: "rack", SIZE: "1"}, []),
    "layers of one": (layers(("rack", 1), ("host", 1)), []),
    "a layer around nothing": (
        layers(("rack", 3), ("host", 0)),
        [(at(LAYERS, "[1].size"), "Invalid value", "must be greater than or equal to 1")],
    ),
    "layers that do not divide, by two": (
        layers(("rack", 3), ("host", 2)),
        [(at(LAYERS, "[1].size"), "Invalid value", "must evenly divide the parent layer size 3")],
    ),
    "a preferred level and a group": ({PREFERRED: "a", GROUP: "g"}, []),
    "one layer": ({REQUIRED: "block", **layers(("rack", 16))}, []),
    "two layers": ({REQUIRED: "block", **layers(("rack", 16), ("host", 4))}, []),
    "three layers": ({REQUIRED: "block", **layers(("rack", 16), ("sub-rack", 4), ("host", 2))}, []),
    "layers that are no JSON": (
        {LAYERS: "invalid-json", GROUP: "g", REQUIRED: "a"},
        [
            (at(GROUP), "Forbidden", NOT_WITH.format(LAYERS)),
            (at(LAYERS), "Invalid value", "must be a valid JSON array"),
        ],
    ),
    "no layers": ({LAYERS: "[]"}, [(at(LAYERS), "Invalid value", "between 1 and 3 entries")]),
    "four layers": (
        layers(("a", 64), ("b", 16), ("c", 4), ("d", 1)),
        [(at(LAYERS), "Invalid value", "between 1 and 3 entries")],
    ),
    "a layer of nothing": (
        {LAYERS: "[null]"},
        [
            (at(LAYERS, "[0].topology"), "Invalid value", ""),
            (at(LAYERS, "[0].size"), "Invalid value", "must be greater than or equal to 1"),
        ],
    ),
    "a layer that does not divide the one around it": (
        layers(("rack", 16), ("host", 5)),
        [(at(LAYERS, "[1].size"), "Invalid value", "must evenly divide the parent layer size 16")],
    ),
    "a larger layer inside": (
        layers(("rack", 4), ("host", 8)),
        [(at(LAYERS, "[1].size"), "Invalid value", "must evenly divide the parent layer size 4")],
    ),
    "layers and slices": (
        {**layers(("rack", 16)), **SLICED},
        [(at(LAYERS), "Forbidden", NOT_WITH.format(SLICE)), (at(LAYERS), "Forbidden", NOT_WITH.format(SIZE))],
    ),
    "layers and a group": (
        {REQUIRED: "block", **layers(("rack", 16)), GROUP: "g"},
        [(at(GROUP), "Forbidden", NOT_WITH.format(LAYERS))],
    ),
    "the same layer twice": (
        layers(("rack", 16), ("rack", 4)),
        [(at(LAYERS, "[1].topology"), "Duplicate value", "")],
    ),
    "the same layer around another": (
        layers(("rack", 16), ("host", 4), ("rack", 2)),
        [(at(LAYERS, "[2].topology"), "Duplicate value", "")],
    ),
}


@pytest.mark.parametrize("case", ANNOTATIONS)
def test_annotations(case: str) -> None:
    annotations, want = ANNOTATIONS[case]
    got = validate_topology_annotations(PATH, annotations, multi_layer=True)
    assert [(error.path, error.type) for error in got] == [(path, kind) for path, kind, _ in want]
    for error, (_, _, message) in zip(got, want, strict=True):
        assert message in error.message


def test_without_the_gate_layers_are_refused_and_not_looked_at() -> None:
    (got,) = validate_topology_annotations(PATH, {LAYERS: "x", **SLICED}, multi_layer=False)
    assert (got.path, got.type) == (at(LAYERS), "Forbidden")
    assert "TASMultiLayerTopology" in got.message


CONSTRAINTS: dict[str, tuple[str, str | None]] = {
    "names in any case": ('[{"Topology":"rack","SIZE":2}]', None),
    "unknown fields": ('[{"topology":"rack","size":2,"more":{"a":[1.5]}}]', None),
    "the last of two": ('[{"topology":"x y","topology":"rack","size":2}]', None),
    "a fraction": ('[{"topology":"rack","size":2.0}]', "found a fraction"),
    "not a number at all": ('[{"topology":"rack","size":NaN}]', "NaN is no JSON"),
    "a boolean": ('[{"topology":"rack","size":true}]', "found a boolean"),
    "the largest size": ('[{"topology":"rack","size":2147483647}]', None),
    "below 32 bits": ('[{"topology":"rack","size":-2147483649}]', "found a number"),
    "over 32 bits": ('[{"topology":"rack","size":2147483648}]', "found a number"),
    "a number for a name": ('[{"topology":1,"size":2}]', "found a number"),
    "an object": ('{"topology":"rack"}', "found an object"),
    "a list in the list": ("[[]]", "found a list"),
    "something behind": ("[] []", "Extra data"),
    "endless": ("[" * 100_000, "deep"),
}


@pytest.mark.parametrize("case", CONSTRAINTS)
def test_the_text_of_layers(case: str) -> None:
    text, want = CONSTRAINTS[case]
    got = validate_topology_annotations(PATH, {LAYERS: text}, multi_layer=True)
    if want is None:
        assert got == []
    else:
        (error,) = got
        assert error.path == at(LAYERS)
        assert want in error.message


BOUNDS: dict[str, tuple[dict[str, str], int, list[str]]] = {
    "nothing": ({}, 0, []),
    "a slice within": ({**SLICED, SIZE: "16"}, 20, []),
    "a slice of all": ({**SLICED, SIZE: "16"}, 16, []),
    "a slice that does not divide": ({**SLICED, SIZE: "16"}, 17, []),
    "a slice beyond": ({**SLICED, SIZE: "20"}, 16, [at(SIZE)]),
    "a size that is no number ends it": ({SIZE: "x", **layers(("rack", 9))}, 1, [at(SIZE)]),
    "layers within": (layers(("rack", 16), ("host", 4)), 20, []),
    "the outermost layer beyond": (layers(("rack", 16), ("host", 4)), 10, [at(LAYERS)]),
    "the outermost layer of all": (layers(("rack", 16), ("host", 4)), 16, []),
    "layers that cannot be read": ({LAYERS: "x"}, 1, []),
}


@pytest.mark.parametrize("case", BOUNDS)
def test_slices_are_no_larger_than_the_pod_set(case: str) -> None:
    annotations, count, want = BOUNDS[case]
    assert [error.path for error in validate_slice_bound(PATH, annotations, count)] == want


def pod_set(name: str, count: int, **request: Any) -> PodSet:
    made = {"name": name, "count": count, "template": {}, "topologyRequest": request}
    return msgspec.convert(msgspec.json.decode(msgspec.json.encode(made)), PodSet)


def grouped(name: str, count: int, level: str = "required", at: str = "rack") -> PodSet:
    return pod_set(name, count, podSetGroupName="g", **{level: at})


GROUPS: dict[str, tuple[list[PodSet], list[str]]] = {
    "no groups": ([pod_set("a", 3), pod_set("b", 3)], []),
    "one of one pod": ([grouped("a", 1), grouped("b", 5)], []),
    "the other of one pod": ([grouped("a", 5), grouped("b", 1)], []),
    "both of one pod": ([grouped("a", 1), grouped("b", 1)], []),
    "alone": ([grouped("a", 1), pod_set("b", 1)], [f"/a[{GROUP}]"]),
    "three": ([grouped("a", 1), grouped("b", 1), grouped("c", 1)], [f"/{x}[{GROUP}]" for x in "abc"]),
    "neither of one pod": ([grouped("a", 2), grouped("b", 0)], [f"/a[{GROUP}]", f"/b[{GROUP}]"]),
    "required and preferred": ([grouped("a", 1), grouped("b", 5, "preferred")], ["/a", "/b"]),
    "different levels": ([grouped("a", 1), grouped("b", 5, at="block")], ["/a", "/b"]),
    "no level": (
        [pod_set("a", 1, podSetGroupName="g"), pod_set("b", 1, podSetGroupName="g")],
        ["/a", "/b"],
    ),
    "pods and levels": (
        [grouped("a", 2), grouped("b", 2, at="block")],
        [f"/a[{GROUP}]", f"/b[{GROUP}]", "/a", "/b"],
    ),
}


@pytest.mark.parametrize("case", GROUPS)
def test_groups(case: str) -> None:
    pod_sets, want = GROUPS[case]
    got = validate_groups(pod_sets, {name: f"/{name}" for name in "abc"})
    assert [error.path for error in got] == want


def test_each_of_a_group_is_told_of_the_other() -> None:
    first, second = validate_groups([grouped("a", 1), grouped("b", 1, at="x")], {"a": "/a", "b": "/b"})
    assert "consistent with '/b' in group 'g'" in first.message
    assert "consistent with '/a' in group 'g'" in second.message


# ---- the batch Job ----

ELASTIC = {"kueue.x-k8s.io/elastic-job": "true"}
JOBS: dict[str, tuple[dict[str, str], dict[str, str], list[str]]] = {
    "a level": ({REQUIRED: "rack"}, {}, []),
    "elastic and unconstrained": ({UNCONSTRAINED: "true"}, ELASTIC, []),
    "elastic and required": ({REQUIRED: "rack"}, ELASTIC, [f"{AT}.{REQUIRED}"]),
    "elastic and preferred": ({PREFERRED: "rack"}, ELASTIC, [f"{AT}.{PREFERRED}"]),
    "the annotations come first": ({REQUIRED: "a b"}, ELASTIC, [at(REQUIRED)]),
    "a slice beyond the pods": ({**SLICED}, {}, [at(SIZE)]),
    "elastic comes before the bound": ({REQUIRED: "rack", **SLICED}, ELASTIC, [f"{AT}.{REQUIRED}"]),
}


@pytest.mark.parametrize("case", JOBS)
def test_jobs(case: str) -> None:
    template, annotations, want = JOBS[case]
    a_job = job(template={"annotations": template}, annotations=annotations)
    assert [error.path for error in BATCH.validate(a_job, JobSettings())] == want


def test_without_slices_no_job_is_elastic() -> None:
    a_job = job(template={"annotations": {REQUIRED: "rack"}}, annotations=ELASTIC)
    assert BATCH.validate(a_job, JobSettings(elastic_jobs=False)) == []
