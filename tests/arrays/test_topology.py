"""From Nodes, Topologies and flavors to trees."""

from typing import Any

import pytest

from kueue_fast.api.core import Node
from kueue_fast.arrays.topology import TopologyRows
from kueue_fast.errors import InputError
from tests.arrays.trees import HOST, LEVELS, dump, flavor, leaves, node, pod, pod_spec, rows, topology

NODES: dict[str, tuple[list[Node], list[str], dict[str, int]]] = {
    "no nodes": ([], LEVELS, {}),
    "in order of values": (
        [node("x", "b2", "r1"), node("b", "b1", "r2"), node("a", "b1", "r2"), node("c", "b1", "r10")],
        LEVELS,
        {"b1/r10/c": 1000, "b1/r2/a": 1000, "b1/r2/b": 1000, "b2/r1/x": 1000},
    ),
    "a value that begins another stands before it, whatever follows": (
        [node("z", "b", "r"), node("a", "b-", "r"), node("c", "b!", "r")],
        LEVELS,
        {"b/r/z": 1000, "b!/r/c": 1000, "b-/r/a": 1000},
    ),
    "a level is missing": ([node("x", "b1"), node("y", "b1", "r1")], LEVELS, {"b1/r1/y": 1000}),
    "no node has the levels": ([node("x", "b1")], LEVELS, {}),
    "an empty level value counts": ([node("x", "", "")], LEVELS, {"//x": 1000}),
    "no host label": ([node("x", "b1", "r1", **{HOST: "-"})], LEVELS, {}),
    "of another pool": ([node("x", "b1", "r1", pool="b")], LEVELS, {}),
    "not ready, or unschedulable": (
        [node("x", "b1", "r1", ready=False), node("y", "b1", "r1", unschedulable=True)],
        LEVELS,
        {},
    ),
    "tainted ones are there": (
        [node("x", "b1", "r1", taints=[{"key": "k", "effect": "NoSchedule"}])],
        LEVELS,
        {"b1/r1/x": 1000},
    ),
    "two nodes with one host name": (
        [node("x", "b1", "r1", "h"), node("y", "b1", "r1", "h", cpu=2)],
        LEVELS,
        {"b1/r1/h": 3000},
    ),
    "two racks with one host name: the lowest node name has its way": (
        [node("y", "b1", "r1", "h"), node("x", "b1", "r2", "h", cpu=2), node("z", "b0", "r0", "h")],
        LEVELS,
        {"b1/r2/h": 4000},
    ),
    "racks sum up their nodes": (
        [node("x", "b1", "r1"), node("y", "b1", "r1", cpu="1500m"), node("z", "b1", "r2")],
        ["block", "rack"],
        {"b1/r1": 2500, "b1/r2": 1000},
    ),
    "one level": ([node("y"), node("x")], [HOST], {"x": 1000, "y": 1000}),
    "a rack and a block of one name": (
        [node("x", "b1", "b1"), node("y", "b2", "b1")],
        ["block", "rack"],
        {"b1/b1": 1000, "b2/b1": 1000},
    ),
    "zero and negative allocatable": (
        [node("x", "b1", "r1", cpu=0), node("y", "b1", "r1", cpu=-1)],
        LEVELS,
        {"b1/r1/x": 0, "b1/r1/y": -1000},
    ),
    "negative in a sum": (
        [node("x", "b1", "r1", cpu=3), node("y", "b1", "r1", cpu=-1)],
        ["block", "rack"],
        {"b1/r1": 2000},
    ),
    "sums are clamped": (
        [node("x", "b1", "r1", cpu="9E"), node("y", "b1", "r1", cpu="9E")],
        ["block", "rack"],
        {"b1/r1": 2**63 - 1},
    ),
    "no allocatable": ([node("x", "b1", "r1", allocatable={})], LEVELS, {"b1/r1/x": 0}),
}


@pytest.mark.parametrize(("nodes", "levels", "want"), NODES.values(), ids=NODES)
def test_the_tree_of_a_flavor(nodes: list[Node], levels: list[str], want: dict[str, int]) -> None:
    made = rows(*nodes, levels=levels)
    assert list(leaves(made).items()) == list(want.items())
    one_by_one = rows(levels=levels)
    for each in reversed(nodes):
        one_by_one.set_node(each)
        one_by_one.refresh()
    assert dump(one_by_one) == dump(made)


def test_domains_above_count_their_nodes() -> None:
    got = dump(
        rows(node("x", "b1", "r1"), node("y", "b1", "r1"), node("z", "b1", "r2"), node("w", "b2", "r1"))
    )
    above = {path: count for path, count in got.items() if path.endswith("/")}
    assert above == {"b1/": 3, "b2/": 1, "b1/r1/": 2, "b1/r2/": 1, "b2/r1/": 1}


def test_a_quantity_that_cannot_be_read_names_the_node_and_changes_nothing() -> None:
    made = rows(node("x", "b1", "r1"))
    before = dump(made)
    with pytest.raises(InputError) as caught:
        made.set_node(node("x", "b1", "r1", cpu="many"))
    assert (caught.value.object, caught.value.field) == ("Node x", "$.status.allocatable.cpu")
    with pytest.raises(InputError) as caught:
        made.set_pod(pod("p", "x", cpu="many"))
    assert (caught.value.object, caught.value.field) == (
        "Pod ns/p",
        "$.spec.containers[0].resources.requests.cpu",
    )
    assert dump(made) == before


def test_only_resources_that_someone_asks_for_have_columns() -> None:
    made = rows(node("x", "b1", "r1", allocatable={"cpu": 1, "example.com/gpu": 8, "example.com/fpga": 1}))
    assert dump(made)["b1/r1/x"]["free"] == {"cpu": 1000}
    made.pods_row(pod_spec(containers=[{"resources": {"requests": {"example.com/gpu": 1}}}]))
    assert dump(made)["b1/r1/x"]["free"] == {"cpu": 1000, "example.com/gpu": 8}


def test_a_node_is_in_every_flavor_that_it_fits() -> None:
    made = rows(node("x", "b1", "r1"), node("y", "b1", "r1", pool="b"))
    made.set_flavor("any", flavor(nodeLabels={"zone": ""}))
    made.set_flavor("both", flavor(nodeLabels={"pool": "a", "block": "b1"}))
    made.set_flavor("b", flavor(nodeLabels={"pool": "b"}))
    got = {name: list(leaves(made, name)) for name in made.flavors()}
    assert got == {"any": ["b1/r1/x", "b1/r1/y"], "b": ["b1/r1/y"], "both": ["b1/r1/x"], "f": ["b1/r1/x"]}
    assert sorted(made.matching_flavors({"pool": "a", "block": "b1", "rack": "", HOST: ""})) == [
        "any",
        "both",
        "f",
    ]
    assert made.matching_flavors({"pool": "a", "block": "b1", HOST: ""}) == []


def test_a_tree_exists_while_both_flavor_and_topology_do() -> None:
    made = rows(node("x", "b1", "r1"))
    want = dump(made)
    assert made.set_topology("t", None) == ["f"]
    assert not made.exists("f")
    assert made.place("f", ("x",)) == -1
    assert made.set_topology("t", None) == []
    assert made.set_topology("t", topology("rack")) == ["f"]
    assert made.levels_of("f") == ("rack",)
    assert list(leaves(made)) == ["r1"]
    assert made.set_flavor("f", None) == ["f"]
    assert (made.exists("f"), made.flavors()) == (False, [])
    made.refresh()
    assert made.set_topology("t", None) == []
    assert made.set_flavor("f", flavor()) == []
    assert not made.exists("f")
    assert made.set_topology("t", topology(*LEVELS)) == ["f"]
    assert made.set_flavor("f", flavor()) == []
    assert made.exists("f")
    assert dump(made) == want


FIXED: dict[str, Any] = {
    "the levels of a topology": lambda made: made.set_topology("t", topology("rack")),
    "the labels of a flavor": lambda made: made.set_flavor("f", flavor(nodeLabels={"pool": "b"})),
    "the topology of a flavor": lambda made: made.set_flavor("f", flavor("other")),
}


@pytest.mark.parametrize("change", FIXED.values(), ids=FIXED)
def test_what_a_tree_was_made_of_stays(change: Any) -> None:
    made = rows(node("x", "b1", "r1"))
    want = dump(made)
    change(made)
    assert dump(made) == want


@pytest.mark.parametrize("name", [None, ""])
def test_a_flavor_without_a_topology_has_no_tree(name: str | None) -> None:
    made = rows(node("x", "b1", "r1"))
    made.set_flavor("g", flavor(name))
    made.set_flavor("f", flavor(name))
    assert made.flavors() == []
    made.refresh()


def test_a_topology_without_levels_is_none() -> None:
    made = rows()
    made.set_topology("empty", topology())
    made.set_flavor("g", flavor("empty"))
    assert not made.exists("g")


def test_what_assignments_write() -> None:
    made = rows(node("x", "b1", "r1"), node("y", "b0", "r2"))
    made.set_topology("racks", topology("block", "rack"))
    made.set_flavor("g", flavor("racks"))
    made.refresh()
    assert made.topology_of("g") == "racks"
    assert (made.levels_of("f"), made.assignment_levels("f")) == (tuple(LEVELS), (HOST,))
    assert made.assignment_levels("g") == ("block", "rack")
    assert [made.values_of("f", leaf) for leaf in (0, 1)] == [("y",), ("x",)]
    assert [made.values_of("g", leaf) for leaf in (0, 1)] == [("b0", "r2"), ("b1", "r1")]
    domains = made.domains_of("g", [1, 0], [3, 4])
    assert domains == [(("b1", "r1"), 3), (("b0", "r2"), 4)]
    assert made.places("g", domains).tolist() == [made.place("g", values) for values, _ in domains]
    assert made.domains_of("f", [1], [3]) == [(("x",), 3)]
    assert made.level_label(made.level_key("rack")) == "rack"


def booked(made: TopologyRows, name: str, values: tuple[str, ...], count: int = 1) -> None:
    """Pods of one cpu of a workload in a domain, filed as the engine files them."""
    kernel = made._tables.topologies
    pods = made.pods_row(pod_spec(containers=[{"resources": {"requests": {"cpu": "1"}}}]))
    row = made._tables.flavor(name)
    kernel.write_bookings(0, [[row, 0, made.place(name, values), pods, count]])
    kernel.book_workload(0)


SHARING: dict[str, tuple[bool, list[str], dict[str, int]]] = {
    "hosts are shared": (True, LEVELS, {"f": 2000, "g": 2000}),
    "unless the gate is off": (False, LEVELS, {"f": 2000}),
    "racks never are": (True, ["rack"], {"f": 2000}),
}


@pytest.mark.parametrize(("overlapping", "levels", "want"), SHARING.values(), ids=SHARING)
def test_flavors_see_the_use_of_hosts_that_they_share(
    overlapping: bool, levels: list[str], want: dict[str, int]
) -> None:
    made = rows(node("x", "b1", "r1"), levels=levels, overlapping=overlapping)
    made.set_flavor("g", flavor(nodeLabels={"block": "b1"}))
    made.refresh()
    booked(made, "f", ("x",) if levels[-1] == HOST else ("r1",), count=2)
    got = {
        name: leaf["used"]["cpu"]
        for name in made.flavors()
        for leaf in dump(made, name).values()
        if isinstance(leaf, dict) and leaf["used"]
    }
    assert got == want


def test_use_of_a_domain_outlives_its_nodes_and_its_tree() -> None:
    made = rows(node("x", "b1", "r1"))
    booked(made, "f", ("x",))
    want = dump(made)
    assert want["b1/r1/x"]["used"] == {"cpu": 1000, "pods": 1}
    made.delete_node("x")
    assert dump(made) == {}
    made.rebuild("f")
    assert dump(made) == {}
    made.set_node(node("x", "b1", "r1"))
    assert dump(made) == want
    made.set_topology("t", None)
    made.refresh()
    made.set_topology("t", topology(*LEVELS))
    assert dump(made) == want


def test_domains_have_a_place_be_they_leaves_or_not() -> None:
    made = rows(node("x", "b1", "r1"))
    assert made.place("f", ("x",)) == made.place("f", ("x",))
    assert made.place("f", ("b1", "r1", "x")) != made.place("f", ("x",))
    assert made.place_value(made.place("f", ("gone",))) == "gone"
    assert made.place_value(made.place("f", ("b1", "r1"))) == "b1"


def test_rows_of_pods_take_equal_pods_together_and_items_in_order_of_names() -> None:
    made = rows()
    requests = {"memory": "1", "cpu": "1", "Zoo": "2"}
    row = made.pods_row(pod_spec(containers=[{"resources": {"requests": requests}}]))
    assert row == made.pods_row(pod_spec(initContainers=[{"resources": {"requests": requests}}]))
    other = made.pods_row(pod_spec())
    kernel, names = made._tables.topologies, made._tables.resource_names
    start, length = kernel.pods_start[row], kernel.pods_length[row]
    items = [(names[kernel.item_resource[at]], kernel.item_amount[at]) for at in range(start, start + length)]
    assert items == [("Zoo", 2), ("cpu", 1000), ("memory", 1)]
    assert (other, kernel.pods_length[other]) == (row + 1, 0)
    kernel.check()


def test_exclusions_by_the_keys_of_the_message() -> None:
    made = rows(node("x", taints=[{"key": "k", "value": "v", "effect": "NoSchedule"}]), levels=[HOST])
    made.filter_row(pod_spec(), "f")
    made.refresh()
    width = len(made._tables.resource_names)
    by_resource = [0] * width
    by_resource[made._tables.resource("cpu")] = 7
    got = made.exclusions([9, 1, 2, 3, *by_resource, 4], 4)
    want = {
        "nodeSelector": 1,
        "affinity": 2,
        'taint "k=v:NoSchedule"': 3,
        'resource "cpu"': 7,
        "topologyDomain": 4,
    }
    assert got == want
