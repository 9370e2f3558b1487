"""Nodes by the option `--nodes`: what a text says, and the objects that come of it."""

from __future__ import annotations

from typing import Any

import pytest

from kueue_fast.api.core import Node
from kueue_fast.api.kueue import ResourceFlavor, Topology
from kueue_fast.errors import InputError
from kueue_fast.sim.manifest import ManifestErrors
from kueue_fast.sim.nodes import BLOCK, NODE_GROUP, RACK, NodeShape, add_nodes, parse_nodes
from tests.sim.world import KUEUE, cluster_queue, flavor, manifests, meta

HOSTNAME = "kubernetes.io/hostname"

TEXTS = {
    "three levels": (
        "4x16x32 cpu=96,memory=256Gi,nvidia.com/gpu=8",
        NodeShape(None, (4, 16, 32), {"cpu": "96", "memory": "256Gi", "nvidia.com/gpu": "8", "pods": "110"}),
    ),
    "a flavor, one level, pods of its own": (
        "gpu-h100:3  cpu=1 , pods=8 ",
        NodeShape("gpu-h100", (3,), {"cpu": "1", "pods": "8"}),
    ),
    "a capital X": ("2X2 cpu=100m", NodeShape(None, (2, 2), {"cpu": "100m", "pods": "110"})),
}


@pytest.mark.parametrize("case", TEXTS)
def test_what_a_text_says(case: str) -> None:
    text, want = TEXTS[case]
    assert parse_nodes(text) == want


BAD_TEXTS = {
    "nothing": ("", "is ''"),
    "no resources": ("4x16", "is '4x16' (expected [FLAVOR:]SHAPE RESOURCES"),
    "no shape": ("cpu=4", "is 'cpu=4'"),
    "a shape with a hole": ("4xx2 cpu=1", "the shape is '4xx2'"),
    "a shape that ends with x": ("4x cpu=1", "the shape is '4x'"),
    "none of a level": ("4x0 cpu=1", "the shape is '4x0' (expected numbers from 1 on"),
    "too many": ("1000x1000 cpu=1", "the shape has 1000000 nodes (expected at most 200000)"),
    "a number of many digits": ("99999999999999999999 cpu=1", "the shape is '9999"),
    "no amount": ("2 cpu", "'cpu' is no amount of a resource"),
    "no quantity": ("2 cpu=much", "cpu: "),
    "a negative quantity": ("2 cpu=-1", "cpu is -1 (expected a quantity that is not negative)"),
    "a resource twice": ("2 cpu=1,cpu=2", "cpu is there twice"),
    "an empty part": ("2 cpu=1,", "'' is no amount of a resource"),
    "a bad flavor": ("GPU:2 cpu=1", "'GPU' is no name of a ResourceFlavor"),
}


@pytest.mark.parametrize("case", BAD_TEXTS)
def test_a_text_that_cannot_be_used(case: str) -> None:
    text, want = BAD_TEXTS[case]
    with pytest.raises(InputError) as error:
        parse_nodes(text)
    assert str(error.value).startswith(want)


def topology(name: str, *levels: str) -> dict[str, Any]:
    return {
        "apiVersion": KUEUE,
        "kind": "Topology",
        "metadata": meta(name),
        "spec": {"levels": [{"nodeLabel": level} for level in levels]},
    }


def made(texts: list[str], *objects: dict[str, Any]) -> dict[str, list[Any]]:
    """The objects that were added, by kind."""
    given = manifests(*objects)
    found: dict[str, list[Any]] = {}
    for manifest in add_nodes(texts, given)[len(given) :]:
        found.setdefault(manifest.object.KIND, []).append(manifest.object)
    return found


QUEUE = cluster_queue("cq", {"default": {"cpu": 4}})


def test_a_flavor_and_a_topology_are_made_where_there_are_none() -> None:
    got = made(["2x3x2 cpu=8"], QUEUE)
    [a_flavor] = got[ResourceFlavor.KIND]
    [a_topology] = got[Topology.KIND]
    assert (a_flavor.metadata.name, a_flavor.spec.topology_name) == ("default", "default")
    assert a_flavor.spec.node_labels == {NODE_GROUP: "default"}
    assert [level.node_label for level in a_topology.spec.levels] == [BLOCK, RACK, HOSTNAME]
    nodes: list[Node] = got[Node.KIND]
    assert len(nodes) == 12
    last = nodes[-1]
    assert last.metadata.labels == {
        NODE_GROUP: "default",
        BLOCK: "b1",
        RACK: "b1-r2",
        HOSTNAME: "default-b1-r2-h1",
    }
    assert last.metadata.name == "default-b1-r2-h1"
    assert last.status is not None
    assert last.status.allocatable == {"cpu": "8", "pods": "110"}
    assert [(each.type, each.status) for each in last.status.conditions or ()] == [("Ready", "True")]
    assert list(got) == ["Topology", "ResourceFlavor", "Node"]


@pytest.mark.parametrize(("shape", "want_levels"), [("4", [HOSTNAME]), ("2x2", [RACK, HOSTNAME])])
def test_fewer_numbers_are_the_lower_levels(shape: str, want_levels: list[str]) -> None:
    [a_topology] = made([f"{shape} cpu=1"], QUEUE)[Topology.KIND]
    assert [level.node_label for level in a_topology.spec.levels] == want_levels


def test_names_sort_as_numbers_do() -> None:
    names = [node.metadata.name for node in made(["1x12 cpu=1"], QUEUE)[Node.KIND]]
    assert names == sorted(names)
    assert names[-1] == "default-r0-h11"


def test_nodes_follow_the_flavor_and_the_topology_of_the_manifests() -> None:
    objects = (
        flavor("tas", nodeLabels={"pool": "a"}, topologyName="site"),
        topology("site", "example.com/hall", "example.com/row"),
    )
    got = made(["2x1x3 cpu=1"], *objects)
    assert list(got) == [Node.KIND]
    assert len(got[Node.KIND]) == 6
    assert got[Node.KIND][-1].metadata.labels == {
        "pool": "a",
        "example.com/hall": "h1",
        "example.com/row": "h1-r0",
        HOSTNAME: "tas-h1-r0-h2",
    }


def test_the_only_flavor_that_is_offered_and_not_defined_is_meant() -> None:
    got = made(["2 cpu=1"], cluster_queue("cq", {"gpu": {"cpu": 1}}))
    assert [each.metadata.name for each in got[ResourceFlavor.KIND]] == ["gpu"]


def test_further_texts_of_a_flavor_go_on_counting() -> None:
    got = made(["1x2 cpu=1", "default:2x1 cpu=2"], QUEUE)
    assert len(got[ResourceFlavor.KIND]) == 1
    assert [node.metadata.name for node in got[Node.KIND]] == [
        "default-r0-h0",
        "default-r0-h1",
        "default-r1-h0",
        "default-r2-h0",
    ]


SITE = topology("site", "hall", HOSTNAME)
REFUSED = {
    "a flavor that nobody offers": (["gpu:2 cpu=1"], (QUEUE,), "no ClusterQueue offers ResourceFlavor gpu"),
    "a flavor without Topology": (
        ["default:2 cpu=1"],
        (QUEUE, flavor("default")),
        "ResourceFlavor default has no topologyName",
    ),
    "several flavors to choose from": (
        ["2 cpu=1"],
        (flavor("b", topologyName="t"), flavor("a", topologyName="t")),
        "names no ResourceFlavor, and there are several with a Topology: a, b",
    ),
    "more numbers than levels": (
        ["2x2x2 cpu=1"],
        (flavor("a", topologyName="site"), SITE),
        "the shape has 3 numbers (expected 2: the Topology of ResourceFlavor a has the levels hall, kube",
    ),
    "no number for the nodes": (
        ["2 cpu=1"],
        (flavor("a", topologyName="site"), topology("site", "hall")),
        "the shape of ResourceFlavor a has 1 numbers (expected 2 numbers, the last for the nodes",
    ),
    "more numbers than levels are known": (
        ["2x2x2x2 cpu=1"],
        (QUEUE,),
        "the shape has 4 numbers (expected at most 3, or a Topology default that says the levels)",
    ),
    "a node that is there": (
        ["2 cpu=1"],
        (QUEUE, {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "default-h1"}}),
        "Node default-h1 is already defined in default-h1.yaml:2",
    ),
    "a name that is no label": (
        ["a" * 62 + ":2 cpu=1"],
        (cluster_queue("cq", {"a" * 62: {"cpu": 1}}),),
        "a node would be named aaa",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused_nodes(case: str) -> None:
    texts, objects, want = REFUSED[case]
    with pytest.raises(ManifestErrors) as error:
        add_nodes(texts, manifests(*objects))
    assert str(error.value).startswith(f"--nodes:1: {want}")


def test_all_texts_that_cannot_be_used_are_told() -> None:
    with pytest.raises(ManifestErrors) as error:
        add_nodes(["2", "2 cpu=1", "x cpu=1"], manifests(QUEUE))
    assert [str(each).split(": ")[0] for each in error.value.errors] == ["--nodes:1", "--nodes:3"]
