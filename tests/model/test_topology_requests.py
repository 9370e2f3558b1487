"""What topology requests ask for."""

from typing import Any

import msgspec
import pytest

from kueue_fast.api.kueue import PodSetTopologyRequest
from kueue_fast.model.topology_requests import (
    has_levels,
    is_explicit,
    is_required,
    is_unconstrained,
    main_level,
    slice_layers,
)

LEVELS = ("block", "rack", "host")


def request(fields: dict[str, Any] | None) -> PodSetTopologyRequest | None:
    return None if fields is None else msgspec.convert(fields, PodSetTopologyRequest)


def layers(*pairs: tuple[str, int]) -> dict[str, Any]:
    constraints = [{"topology": topology, "size": size} for topology, size in pairs]
    return {"podsetSliceRequiredTopologyConstraints": constraints}


OLD_SLICE = {"podSetSliceRequiredTopology": "rack", "podSetSliceSize": 4}

LAYERS: dict[str, tuple[dict[str, Any] | None, list[tuple[str, int]]]] = {
    "no request": (None, []),
    "nothing asked": ({}, []),
    "the older form": (OLD_SLICE, [("rack", 4)]),
    "the older form without a size": ({"podSetSliceRequiredTopology": "rack"}, [("rack", 0)]),
    "a lone size": ({"podSetSliceSize": 4}, []),
    "constraints, outermost first": (layers(("rack", 4), ("host", 2)), [("rack", 4), ("host", 2)]),
    "constraints win over the older form": (OLD_SLICE | layers(("host", 2)), [("host", 2)]),
    "no constraints leave the older form": (OLD_SLICE | layers(), [("rack", 4)]),
}


@pytest.mark.parametrize(("fields", "want"), LAYERS.values(), ids=LAYERS)
def test_slice_layers(fields: dict[str, Any] | None, want: list[tuple[str, int]]) -> None:
    assert list(slice_layers(request(fields))) == want


# Fields -> explicit, required, unconstrained, main level; for an implied request: unconstrained, main level.
KINDS: dict[str, tuple[dict[str, Any] | None, tuple[bool, bool, bool, str | None], str | None]] = {
    "no request": (None, (False, False, False, None), "host"),
    "only labels and a group": (
        {"podIndexLabel": "x", "podSetGroupName": "g"},
        (False, False, False, None),
        "host",
    ),
    "required": ({"required": "rack"}, (True, True, False, "rack"), "rack"),
    "a level that the Topology lacks": ({"required": "zone"}, (True, True, False, "zone"), "zone"),
    "preferred": ({"preferred": "rack"}, (True, False, False, "rack"), "rack"),
    "required before preferred": (
        {"required": "rack", "preferred": "block"},
        (True, True, False, "rack"),
        "rack",
    ),
    "unconstrained": ({"unconstrained": True}, (True, False, True, "host"), "host"),
    "unconstrained false": ({"unconstrained": False}, (True, False, False, None), "host"),
    "slices only": (OLD_SLICE, (True, False, True, "block"), "block"),
    "slices only, by constraints": (layers(("host", 2)), (True, False, True, "block"), "block"),
    "slices beside preferred": (OLD_SLICE | {"preferred": "block"}, (True, False, False, "block"), "block"),
    "slices beside unconstrained": (
        OLD_SLICE | {"unconstrained": True},
        (True, False, True, "block"),
        "block",
    ),
    "a lone slice size": ({"podSetSliceSize": 2}, (True, False, False, None), "host"),
    "required and unconstrained": (
        {"required": "rack", "unconstrained": True},
        (True, True, True, "rack"),
        "rack",
    ),
}


@pytest.mark.parametrize(("fields", "want", "want_implied_level"), KINDS.values(), ids=KINDS)
def test_kind_and_main_level(
    fields: dict[str, Any] | None,
    want: tuple[bool, bool, bool, str | None],
    want_implied_level: str | None,
) -> None:
    asked = request(fields)
    got = (
        is_explicit(asked),
        is_required(asked),
        is_unconstrained(asked, implied=False),
        main_level(asked, LEVELS),
    )
    assert got == want
    assert is_unconstrained(asked, implied=True)
    assert main_level(asked, LEVELS, implied=True) == want_implied_level


FOUND: dict[str, tuple[dict[str, Any] | None, bool]] = {
    "nothing asked": ({}, False),
    "unconstrained": ({"unconstrained": True}, True),
    "unconstrained false": ({"unconstrained": False}, False),
    "a level that is there": ({"required": "rack"}, True),
    "a level that is not": ({"preferred": "zone"}, False),
    "the slice level is not there": ({"preferred": "rack", "podSetSliceRequiredTopology": "zone"}, False),
    "an inner layer is not there": (layers(("rack", 4), ("zone", 2)), False),
    "all layers are there": (layers(("rack", 4), ("host", 2)), True),
}


@pytest.mark.parametrize(("fields", "want"), FOUND.values(), ids=FOUND)
def test_a_topology_must_have_all_levels(fields: dict[str, Any] | None, want: bool) -> None:
    assert has_levels(request(fields), LEVELS) is want
