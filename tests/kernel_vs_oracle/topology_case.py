"""A generated placement in the kernel's tables, and the difference of what the kernel and the slow oracle answer."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from kueuecore import Journal
from kueuecore._placement import Placer
from kueuecore._topology import Topologies
from tests.oracle.generate_topology import Case
from tests.oracle.topology import place
from tests.oracle.topology_model import Assignment, Flavor, Request, Result, Values

NONE = -1
FILTERS = 3
FIXED_CODES = {"nodeSelector": 1, "affinity": 2}


class KernelCase:
    """Trees, places and bookings of a case. Rows are dealt out at random, and leaves without nodes stand in between."""

    def __init__(self, case: Case, seed: int, *, ghosts: float = 0.2) -> None:
        self.case = case
        self.rng = random.Random(seed)
        self.topologies = Topologies()
        self.journal = Journal()
        self._number_names()
        self.placer = Placer(self.topologies, self.journal)
        gates = case.gates
        self.placer.mixed_profile = gates.mixed_profile
        self.placer.balanced = gates.balanced
        self.placer.overlapping = gates.overlapping
        self.placer.prefers_affinity = gates.prefers_affinity
        self.paths: dict[str, list[Values | None]] = {}
        self.places: dict[tuple[str, Values], int] = {}
        self._classes: list[dict[str, int]] = []
        self._node_classes: list[tuple[list[str | None], list[int]]] = [([None] * FILTERS, [0] * FILTERS)]
        self.codes = dict(FIXED_CODES)
        rows = self.rng.sample(range(2 * len(case.flavors) + 1), len(case.flavors))
        self.rows = {flavor.name: row for flavor, row in zip(case.flavors, rows, strict=True)}
        self.topologies.add_places(self._count_places(ghosts))
        for rank, flavor in enumerate(sorted(case.flavors, key=lambda flavor: flavor.name)):
            self._build(flavor, rank, ghosts)
        self._write_match()
        self.requests = [self._request(number, request) for number, request in enumerate(case.requests)]
        self._write_classes()
        for flavor in case.flavors:
            self._use(flavor)
        self._book()

    # ---- names to numbers

    def _number_names(self) -> None:
        names = {"pods"}
        for flavor in self.case.flavors:
            for leaf in flavor.leaves:
                names |= leaf.free.keys() | leaf.used.keys()
        for request in self.case.requests:
            names |= request.requests.keys()
        self.resources = self.rng.sample(sorted(names), len(names))
        self.topologies.reserve_width(len(self.resources))
        self.topologies.pods_resource = self.resources.index("pods")
        order = sorted(names)
        self.topologies.resource_rank = np.array([order.index(name) for name in self.resources], np.int32)
        self.keys: list[str] = []

    def _key(self, name: str | None) -> int:
        if name is None:
            return NONE
        if name not in self.keys:
            self.keys.append(name)
        return self.keys.index(name)

    def _count_places(self, ghosts: float) -> int:
        return sum(int((1 + ghosts) * len(flavor.leaves)) + 3 for flavor in self.case.flavors) + sum(
            len(request.previous or ()) + 1 for request in self.case.requests
        )

    def _place(self, flavor: Flavor, written: Values) -> int:
        shared = self.case.gates.overlapping and flavor.by_host
        return self.places.setdefault(("" if shared else flavor.name, written), len(self.places))

    def _class(self, amounts: dict[str, int]) -> int:
        self._classes.append(amounts)
        return len(self._classes) - 1

    # ---- tables

    def _build(self, flavor: Flavor, rank: int, ghosts: float) -> None:
        """Leaves by their values, with some that have no nodes any more."""
        live = {leaf.values: leaf for leaf in flavor.leaves}
        paths = set(live)
        for number in range(int(ghosts * len(live) + self.rng.random())):
            path = list(self.rng.choice([*live, tuple(f"ghost{level}" for level in flavor.levels)]))
            path[-1] = f"ghost{number}"
            paths.add(tuple(path))
        leaves = sorted(paths)
        depth = len(flavor.levels)
        domains = [sorted({path[: level + 1] for path in leaves}) for level in range(depth)]
        parents = [
            np.array(
                [domains[level - 1].index(path[:-1]) if level else NONE for path in domains[level]], np.int32
            )
            for level in range(depth)
        ]
        width = len(self.resources)
        free = np.zeros((len(leaves), width), np.int64)
        classes = []
        for row, path in enumerate(leaves):
            leaf = live.get(path)
            if leaf is None:
                free[row] = 99
                classes.append(0)
                continue
            free[row] = [leaf.free.get(name, 0) for name in self.resources]
            classes.append(len(self._node_classes))
            self._node_classes.append(
                (
                    [leaf.excluded.get(number) for number in range(FILTERS)],
                    [leaf.affinity.get(number, 0) for number in range(FILTERS)],
                )
            )
        self.paths[flavor.name] = [path if path in live else None for path in leaves]
        self.topologies.build(
            self.rows[flavor.name],
            rank,
            flavor.by_host,
            [self._key(level) for level in flavor.levels],
            parents,
            [self._place(flavor, flavor.written(path)) for path in leaves],
            classes,
            [int(path in live) for path in leaves],
            free,
        )

    def _write_match(self) -> None:
        self.topologies.grow_match(FILTERS, len(self._node_classes))
        match, score = np.asarray(self.topologies.match), np.asarray(self.topologies.score)
        for column, (excluded, scores) in enumerate(self._node_classes):
            for row in range(FILTERS):
                text = excluded[row]
                if text is not None:
                    match[row, column] = self.codes.setdefault(text, len(self.codes) + 1)
                score[row, column] = scores[row]

    def _request(self, number: int, request: Request) -> dict[str, Any]:
        flavor = next(flavor for flavor in self.case.flavors if flavor.name == request.flavor)
        groups = sorted({other.group for other in self.case.requests if other.group is not None})
        bare = request.required or request.preferred
        if bare is None and (request.unconstrained or request.implied):
            bare = flavor.levels[-1]
        row: dict[str, Any] = {
            "tree": self.rows[request.flavor],
            "pod_set": number,
            "group": 100 + groups.index(request.group) if request.group is not None else number,
            "pods": self._class(request.requests),
            "filter": NONE if request.filter is None else request.filter,
            "count": request.count,
            "level_key": self._key(request.level_key(flavor.levels)),
            "bare_level_key": self._key(bare),
            "required": request.required is not None,
            "unconstrained": request.is_unconstrained,
            "layers": [(self._key(key), size or 0) for key, size in request.slices],
            "keep": request.keep and request.unhealthy is not None,
        }
        if request.previous is not None and (self.case.gates.elastic or request.unhealthy is not None):
            row["previous_workload"] = 0
            row["previous_pod_set"] = number
        if request.unhealthy is not None:
            row["unhealthy_place"] = self._place(flavor, (request.unhealthy,))
        return row

    def _write_classes(self) -> None:
        """One class a request, then one a leaf with use: its use but for the pod that `change` counts by itself."""
        self._uses: dict[tuple[str, Values], int] = {}
        for flavor in self.case.flavors:
            for leaf in flavor.leaves:
                if leaf.used:
                    used = dict(leaf.used)
                    used["pods"] = used.get("pods", 0) - 1
                    self._uses[flavor.name, leaf.values] = self._class(used)
        starts, lengths, items, amounts = [], [], [], []
        for made in self._classes:
            starts.append(len(items))
            lengths.append(len(made))
            for name in sorted(made):
                items.append(self.resources.index(name))
                amounts.append(made[name])
        self.topologies.pods_start = np.array(starts, np.int32)
        self.topologies.pods_length = np.array(lengths, np.int32)
        self.topologies.item_resource = np.array(items, np.int32)
        self.topologies.item_amount = np.array(amounts, np.int64)
        self.topologies.check()

    def _use(self, flavor: Flavor) -> None:
        for leaf, path in enumerate(self.paths[flavor.name]):
            pods = self._uses.get((flavor.name, path)) if path is not None else None
            if pods is not None:
                self.topologies.change_leaf(self.rows[flavor.name], leaf, pods, 1, self.journal)

    def _book(self) -> None:
        rows = []
        for number, request in enumerate(self.case.requests):
            flavor = next(flavor for flavor in self.case.flavors if flavor.name == request.flavor)
            rows += [
                (
                    self.rows[request.flavor],
                    number,
                    self._place(flavor, values),
                    self.requests[number]["pods"],
                    count,
                )
                for values, count in request.previous or ()
            ]
        self.topologies.write_bookings(0, np.array(rows, np.int64).reshape(-1, 5))

    # ---- answers in the oracle's words

    @property
    def view(self) -> int:
        return int(self.case.empty)

    def place(self) -> tuple[dict[str, Assignment], dict[str, Any] | None]:
        placed, failure = self.placer.place_python(self.requests, self.view)
        result = {}
        for request, domains in zip(self.case.requests, placed, strict=True):
            if domains is not None:
                flavor = next(flavor for flavor in self.case.flavors if flavor.name == request.flavor)
                paths = self.paths[request.flavor]
                result[request.pod_set] = [
                    (flavor.written(paths[leaf] or ("ghost",)), count) for leaf, count in domains
                ]
        return result, failure

    def can_place(self) -> bool:
        return self.placer.can_place_python(self.requests, self.view)

    def usage(self) -> list[list[int]]:
        """Every amount in use, of both views."""
        return [
            self.topologies.leaf_used(self.rows[flavor.name], leaf, view).tolist()
            for flavor in self.case.flavors
            for leaf in range(len(self.paths[flavor.name]))
            for view in (0, 1)
        ]

    def failure_in_words(self, failure: dict[str, Any]) -> dict[str, Any]:
        """The fields of the oracle's Failure."""
        words = {
            "pod_set": self.case.requests[failure["request"]].pod_set,
            "code": failure["code"],
        }
        if failure["code"] != "NOT_ENOUGH_ROOM":
            return words
        texts = {code: text for text, code in self.codes.items()}
        exclusions = {texts[code]: count for code, count in failure["excluded"].items()}
        exclusions |= {
            f'resource "{self.resources[resource]}"': count for resource, count in failure["scarce"].items()
        }
        if failure["outside"]:
            exclusions["topologyDomain"] = failure["outside"]
        layers = [
            (self.keys[self.requests[failure["workers"]]["layers"][layer][0]], fitted, needed)
            for layer, (fitted, needed) in enumerate(
                zip(failure["layer_fitted"], failure["layer_needed"], strict=True)
            )
            if needed or fitted
        ]
        return words | {
            "fitted": failure["first"],
            "needed": failure["second"],
            "in_slices": failure["in_slices"],
            "nodes": failure["leaves"],
            "exclusions": exclusions,
            "layers": layers,
        }


def oracle_failure(result: Result) -> dict[str, Any] | None:
    failure = result.failure
    if failure is None:
        return None
    words: dict[str, Any] = {"pod_set": failure.pod_set, "code": failure.code}
    if failure.code == "NOT_ENOUGH_ROOM":
        words |= {
            "fitted": failure.fitted,
            "needed": failure.needed,
            "in_slices": failure.in_slices,
            "nodes": failure.nodes,
            "exclusions": {key: count for key, count in failure.exclusions.items() if count},
            "layers": [layer for layer in failure.layers if layer[1] or layer[2]],
        }
    return words


def difference(case: Case, seed: int) -> str | None:
    """What the kernel answers otherwise than the oracle; None when all is the same."""
    want = place(case.flavors, case.requests, empty=case.empty, gates=case.gates)
    kernel = KernelCase(case, seed)
    before = kernel.usage()
    # The shortcut comes first once, last once: counts that either leaves behind must do for the other.
    shortcuts = [kernel.can_place()]
    got, failure = kernel.place()
    shortcuts.append(kernel.can_place())
    want_failure = oracle_failure(want)
    got_failure = None if failure is None else kernel.failure_in_words(failure)
    if got_failure != want_failure:
        return f"failure {got_failure}, the oracle says {want_failure}"
    kept = [request.pod_set for request in case.requests if request.keep]
    for name in want.assignments.keys() | got.keys():
        if name not in kept and want.assignments.get(name) != got.get(name):
            return f"{name}: {got.get(name)}, the oracle says {want.assignments.get(name)}"
    if shortcuts != [want_failure is None] * 2:
        return f"can_place says {shortcuts}, the oracle says {want_failure}"
    if kernel.usage() != before:
        return "usage is not what it was"
    return None
