"""Compact text for tables of placements: a tree, requests, and what is wanted.

A tree is a list of leaves, `b1/r1/x3=4`: path and free cpu. More of a leaf follows: `=4-1` one cpu is used, `=4,gpu:2`
other resources, `!affinity` or `!1:nodeSelector` excluded from the filter of that number (0), `~10` its affinity
score. A request is `main:4 required=block slices=rack:4,host:2 cpu=2`: pod set, count and fields; one cpu if no
resource is named. Requests filter by their number. An assignment is `x1:2 b1/r1:3`.
"""

import re
from dataclasses import dataclass, field
from typing import Any

from tests.oracle.topology import place
from tests.oracle.topology_model import HOSTNAME, Assignment, Failure, Flavor, Gates, Leaf, Request, Result

HOST = "host"  # stands for the label of hostnames
FIELDS = re.compile(r"(?P<key>[a-z_]+)(=(?P<value>\S+))?")
LEAF = re.compile(r"(?P<path>[^=]+)=(?P<room>[^!~]*)(?P<excluded>(![^!~]+)*)(~(?P<score>\d+))?")


@dataclass(frozen=True)
class Case:
    """A placement in one flavor; either `want` or `want_failure` is the answer."""

    levels: str
    tree: str
    requests: tuple[str, ...]
    want: dict[str, str] = field(default_factory=dict)  # by pod set
    want_failure: str = ""
    gates: tuple[str, ...] = ()  # `-name` switches one off
    empty: bool = False

    def flavor(self) -> Flavor:
        return flavor(self.levels, self.tree, filters=len(self.requests))

    def asked(self) -> list[Request]:
        return [request(text, number) for number, text in enumerate(self.requests)]

    def settings(self) -> Gates:
        return Gates(**{gate.removeprefix("-"): not gate.startswith("-") for gate in self.gates})

    def result(self) -> Result:
        """What the oracle says."""
        return place([self.flavor()], self.asked(), empty=self.empty, gates=self.settings())


def level(key: str) -> str:
    return HOSTNAME if key == HOST else key


def flavor(levels: str, tree: str, *, name: str = "default", filters: int = 1) -> Flavor:
    keys = tuple(level(key) for key in levels.split())
    leaves = [
        _leaf(text, filters)
        for text in re.findall(r"(?:[^\s\"]|\"[^\"]*\")+", tree.replace("taint ", "taint_"))
    ]
    return Flavor(name, keys, keys[-1] == HOSTNAME, leaves)


def _leaf(text: str, filters: int) -> Leaf:
    parts = LEAF.fullmatch(text)
    assert parts is not None, text
    leaf = Leaf(tuple(parts["path"].split("/")), {"pods": 1000})
    for room in parts["room"].split(","):
        amounts = re.fullmatch(r"((?P<resource>\w+):)?(?P<free>-?\d+)(-(?P<used>\d+))?", room)
        assert amounts is not None, text
        resource = amounts["resource"] or "cpu"
        leaf.free[resource] = int(amounts["free"])
        if amounts["used"]:
            leaf.used[resource] = int(amounts["used"])
    for exclusion in filter(None, parts["excluded"].split("!")):
        number, _, reason = exclusion.rpartition("|")
        leaf.excluded[int(number or 0)] = reason.replace("taint_", "taint ")
    leaf.affinity = {number: int(parts["score"] or 0) for number in range(filters)}
    return leaf


def request(text: str, number: int = 0, *, flavor: str = "default") -> Request:
    name, *fields = text.split()
    pod_set, count = name.split(":")
    given: dict[str, Any] = {}
    amounts: dict[str, int] = {}
    for part in fields:
        parts = FIELDS.fullmatch(part)
        assert parts is not None, part
        key, value = parts["key"], parts["value"]
        if key in ("required", "preferred"):
            given[key] = level(value)
        elif key == "slices":
            layers = [layer.split(":") for layer in value.split(",")]
            given[key] = [(level(layer), None if size == "None" else int(size)) for layer, size in layers]
        elif key == "previous":
            given[key] = assignment(value.replace(",", " "))
        elif key in ("group", "unhealthy"):
            given[key] = value
        elif key in ("unconstrained", "implied", "keep"):
            given[key] = True
        elif key == "unreadable":
            number = -1
        else:
            amounts[key] = int(value)
    return Request(
        flavor=flavor,
        pod_set=pod_set,
        requests=amounts or {"cpu": 1},
        count=int(count),
        filter=None if number < 0 else number,
        **given,
    )


def assignment(text: str) -> Assignment:
    items = (item.rpartition(":") for item in text.split())
    return [(tuple(path.split("/")), int(count)) for path, _, count in items]


def in_words(found: Assignment) -> str:
    """The inverse of `assignment`."""
    return " ".join(f"{'/'.join(values)}:{count}" for values, count in found)


def failure_in_words(failure: Failure | None) -> str:
    """Pod set, code, and what the message of that code tells."""
    if failure is None:
        return ""
    if failure.code != "NOT_ENOUGH_ROOM":
        return " ".join((failure.pod_set, failure.code, *failure.names)).replace(HOSTNAME, HOST)
    unit = "slices" if failure.in_slices else "pods"
    text = f"{failure.pod_set} {failure.fitted}/{failure.needed} {unit}, {failure.nodes} leaves"
    text += "".join(f", {key} {count}" for key, count in sorted(failure.exclusions.items()))
    text += "".join(f"; {key} {fitted}/{needed}" for key, fitted, needed in failure.layers)
    return text.replace(HOSTNAME, HOST)
