"""The option `--nodes`: equal nodes in a regular tree, with the flavor and the Topology that they need.

A text is `[FLAVOR:]SHAPE RESOURCES`, such as `gpu:4x16x32 cpu=96,memory=256Gi,nvidia.com/gpu=8`: four blocks of
sixteen racks of 32 hosts. Nodes get the labels of the flavor and of the levels of its Topology. What the manifests
lack of the two is made: a Topology with the levels block, rack and host, or the last ones of these, and a
ResourceFlavor that names it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Final, NamedTuple

from kueue_fast.api.core import Node, NodeStatus
from kueue_fast.api.kueue import (
    ClusterQueue,
    ResourceFlavor,
    ResourceFlavorSpec,
    Topology,
    TopologyLevel,
    TopologySpec,
)
from kueue_fast.api.meta import Condition, KubernetesObject, ObjectMeta, QuantityValue
from kueue_fast.errors import InputError
from kueue_fast.model.quantities import as_fraction
from kueue_fast.model.topology_names import HOSTNAME
from kueue_fast.sim.manifest import ErrorCollector, Manifest, describe
from kueue_fast.sim.yaml_scalars import shortened

__all__ = [
    "BLOCK",
    "MOST_NODES",
    "NODE_GROUP",
    "RACK",
    "NodeShape",
    "add_nodes",
    "parse_nodes",
]

BLOCK: Final = "cloud.provider.com/topology-block"
RACK: Final = "cloud.provider.com/topology-rack"
NODE_GROUP: Final = "cloud.provider.com/node-group"
LEVELS: Final = (BLOCK, RACK, HOSTNAME)
DEFAULT_NAME: Final = "default"
DEFAULT_PODS: Final = "110"
MOST_NODES: Final = 200_000
"""More than this is taken for a slip of the pen."""

_OPTION: Final = "--nodes"
_EXPECTED: Final = "[FLAVOR:]SHAPE RESOURCES, such as '4x16x32 cpu=96,memory=256Gi,nvidia.com/gpu=8'"
_TEXT: Final = re.compile(r"\s*(?:(?P<name>[^\s:]+):)?(?P<shape>[0-9][0-9xX]*)\s+(?P<resources>\S.*?)\s*")
_NAME: Final = re.compile(r"[a-z0-9](?:[-a-z0-9.]{0,250}[a-z0-9])?")
_RESOURCE: Final = re.compile(
    r"(?:[a-z0-9][-a-z0-9.]{0,252}/)?[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
)
_MOST_LABEL: Final = 63


class NodeShape(NamedTuple):
    """One text, read: how many domains of each level stand in one of the level above, and what each node holds.

    `flavor` is None where the text names none. `resources` has `pods` too.
    """

    flavor: str | None
    factors: tuple[int, ...]
    resources: dict[str, QuantityValue]


class _Target(NamedTuple):
    """The flavor of a shape: its node labels, and the keys of its levels from the top."""

    name: str
    node_labels: dict[str, str]
    levels: tuple[str, ...]


def parse_nodes(text: str) -> NodeShape:
    """What one `--nodes` says. Raises InputError with what was expected."""
    match = _TEXT.fullmatch(text)
    if match is None:
        raise InputError(f"is {shortened(text)!r}", expected=_EXPECTED)
    name = match["name"]
    if name is not None and not _NAME.fullmatch(name):
        raise InputError(f"{shortened(name)!r} is no name of a ResourceFlavor", expected=_EXPECTED)
    numbers = match["shape"].lower().split("x")
    if any(len(number) > 9 or not number or int(number) == 0 for number in numbers):
        raise InputError(
            f"the shape is {shortened(match['shape'])!r}", expected="numbers from 1 on with x between them"
        )
    factors = tuple(int(number) for number in numbers)
    total = 1
    for factor in factors:
        total *= factor
    if total > MOST_NODES:
        raise InputError(f"the shape has {total} nodes", expected=f"at most {MOST_NODES}")
    return NodeShape(name, factors, _resources(match["resources"]))


def _resources(text: str) -> dict[str, QuantityValue]:
    found: dict[str, QuantityValue] = {}
    for part in re.split(r"\s*,\s*", text):
        resource, equals, quantity = part.partition("=")
        if not equals or not _RESOURCE.fullmatch(resource):
            expected = "resources such as cpu=96,memory=256Gi"
            raise InputError(f"{shortened(part)!r} is no amount of a resource", expected=expected)
        if resource in found:
            raise InputError(f"{resource} is there twice", expected="each resource once")
        try:
            negative = as_fraction(quantity) < 0
        except ValueError as error:
            raise InputError(f"{resource}: {error}", expected="a quantity such as 96 or 256Gi") from None
        if negative:
            raise InputError(f"{resource} is {quantity}", expected="a quantity that is not negative")
        found[resource] = quantity
    return {**found, "pods": found.get("pods", DEFAULT_PODS)}


def add_nodes(texts: Sequence[str], manifests: Sequence[Manifest]) -> list[Manifest]:
    """The manifests, and those of the nodes that the texts ask for, with flavors and Topologies that are missing.

    The n-th text is the place `--nodes:n`. A text without a flavor means the only ResourceFlavor with a Topology; if
    there is none, the only one that ClusterQueues offer and nobody defines, else `default`. Several texts of one
    flavor go on counting where the last one ended.

    Raises ManifestErrors, naming the texts that cannot be used.
    """
    errors = ErrorCollector()
    made = _Made(list(manifests))
    for number, text in enumerate(texts, 1):
        try:
            made.add(parse_nodes(text), number)
        except InputError as error:
            errors.add(error.located(file=f"{_OPTION}:{number}"))
    errors.raise_if_any()
    return made.manifests


class _Made:
    """The manifests so far."""

    def __init__(self, manifests: list[Manifest]) -> None:
        self.manifests = manifests
        self._flavors: dict[str, ResourceFlavor] = {}
        self._topologies: dict[str, Topology] = {}
        self._names: dict[str, str] = {}
        self._offered: set[str] = set()
        self._counted: dict[str, int] = {}
        for manifest in manifests:
            obj = manifest.object
            if isinstance(obj, ResourceFlavor):
                self._flavors[obj.metadata.name] = obj
            elif isinstance(obj, Topology):
                self._topologies[obj.metadata.name] = obj
            elif isinstance(obj, Node):
                self._names[obj.metadata.name] = manifest.place
            elif isinstance(obj, ClusterQueue):
                self._offered.update(_flavors_of(obj))

    def add(self, shape: NodeShape, number: int) -> None:
        """Add the nodes of one text; nothing if it cannot be used."""
        name = self._name(shape)
        target, new = self._target(name, len(shape.factors))
        factors = shape.factors
        if HOSTNAME not in target.levels and len(factors) == len(target.levels):
            expected = f"{len(factors) + 1} numbers, the last for the nodes in a domain of the lowest level"
            raise InputError(
                f"the shape of ResourceFlavor {name} has {len(factors)} numbers", expected=expected
            )
        wanted = len(target.levels) + (HOSTNAME not in target.levels)
        if len(factors) != wanted:
            raise InputError(
                f"the shape has {len(factors)} numbers",
                expected=f"{wanted}: the Topology of ResourceFlavor {name} has the levels "
                + ", ".join(target.levels),
            )
        first = self._counted.get(name, 0)
        nodes = list(_nodes(target, shape, first))
        for node in nodes:
            there = self._names.get(node.metadata.name)
            if there is not None:
                raise InputError(f"Node {node.metadata.name} is already defined in {there}")
        self._counted[name] = first + factors[0]
        for obj in (*new, *nodes):
            self._keep(obj, number)

    def _keep(self, obj: KubernetesObject, number: int) -> None:
        if isinstance(obj, ResourceFlavor):
            self._flavors[obj.metadata.name] = obj
        elif isinstance(obj, Topology):
            self._topologies[obj.metadata.name] = obj
        manifest = Manifest(_OPTION, number, 0, obj.API_VERSION, obj, b"")
        if isinstance(obj, Node):
            self._names[obj.metadata.name] = manifest.place
        self.manifests.append(manifest)

    def _name(self, shape: NodeShape) -> str:
        if shape.flavor is not None:
            return shape.flavor
        placed = [name for name, flavor in self._flavors.items() if _topology_of(flavor)]
        if len(placed) > 1:
            raise InputError(
                "names no ResourceFlavor, and there are several with a Topology: "
                + ", ".join(sorted(placed)),
                expected=_EXPECTED,
            )
        if placed:
            return placed[0]
        undefined = self._offered - self._flavors.keys()
        return undefined.pop() if len(undefined) == 1 else DEFAULT_NAME

    def _target(self, name: str, factors: int) -> tuple[_Target, list[KubernetesObject]]:
        """The flavor of this name, with its Topology; and those of the two that have to be made."""
        new: list[KubernetesObject] = []
        flavor = self._flavors.get(name)
        if flavor is None:
            if name not in self._offered:
                raise InputError(
                    f"no ClusterQueue offers ResourceFlavor {name}, nor is it defined",
                    expected="the name of a flavor before the shape, as in 'gpu:4x16x32 ...'",
                )
            flavor = ResourceFlavor(
                metadata=ObjectMeta(name=name),
                spec=ResourceFlavorSpec(node_labels={NODE_GROUP: name[:_MOST_LABEL]}, topology_name=name),
            )
            new.append(flavor)
        topology_name = _topology_of(flavor)
        if topology_name is None:
            raise InputError(
                f"{describe(flavor)} has no topologyName, and without one nodes do not count",
                expected="a ResourceFlavor with a Topology",
            )
        topology = self._topologies.get(topology_name)
        if topology is None:
            if factors > len(LEVELS):
                raise InputError(
                    f"the shape has {factors} numbers",
                    expected=f"at most {len(LEVELS)}, or a Topology {topology_name} that says the levels",
                )
            levels = [TopologyLevel(node_label=key) for key in LEVELS[-factors:]]
            topology = Topology(metadata=ObjectMeta(name=topology_name), spec=TopologySpec(levels=levels))
            new.insert(0, topology)
        keys = tuple(level.node_label for level in (topology.spec.levels if topology.spec else None) or ())
        labels = dict((flavor.spec.node_labels if flavor.spec is not None else None) or {})
        return _Target(name, labels, keys), new


def _nodes(target: _Target, shape: NodeShape, first: int) -> Iterator[Node]:
    """The nodes, the first level counted from `first`. Raises InputError when a name becomes too long."""
    ready = Condition(
        type="Ready", status="True", reason="KubeletReady", message="kubelet is posting ready status"
    )
    status = NodeStatus(allocatable=shape.resources, capacity=shape.resources, conditions=[ready])
    keys = target.levels if HOSTNAME in target.levels else (*target.levels, HOSTNAME)
    # With leading zeros names sort as numbers do.
    numbers = [
        [f"{letter}{start + number:0{len(str(start + factor - 1))}}" for number in range(factor)]
        for letter, factor, start in zip(
            map(_letter, keys), shape.factors, (first, *(0,) * (len(shape.factors) - 1)), strict=True
        )
    ]
    for path in product(*numbers):
        labels = dict(target.node_labels)
        for depth, key in enumerate(keys[:-1], 1):
            labels[key] = "-".join(path[:depth])
        name = labels[HOSTNAME] = f"{target.name.replace('.', '-')}-{'-'.join(path)}"
        if len(name) > _MOST_LABEL:
            raise InputError(f"a node would be named {name}", expected=f"at most {_MOST_LABEL} characters")
        yield Node(metadata=ObjectMeta(name=name, labels=labels), status=status)


def _letter(key: str) -> str:
    """What a level's numbers begin with: `b` for a key that ends with `topology-block`."""
    word = re.split(r"[-./_]", key.lower())[-1]
    return word[0] if word and word[0].isalpha() else "d"


def _topology_of(flavor: ResourceFlavor) -> str | None:
    return (flavor.spec.topology_name if flavor.spec is not None else None) or None


def _flavors_of(queue: ClusterQueue) -> Iterator[str]:
    for group in (queue.spec.resource_groups if queue.spec is not None else None) or ():
        for flavor in group.flavors or ():
            yield flavor.name
