"""The words for failed placements."""

import pytest

from kueue_fast.model import topology_messages as words
from kueue_fast.model.topology_messages import Failure, LayerFit, PlacementError, placement_message

ROOM = PlacementError.NOT_ENOUGH_ROOM

MESSAGES: dict[str, tuple[Failure, str]] = {
    "nothing fits": (
        Failure(ROOM, "topo", needed=5),
        'topology "topo" doesn\'t allow to fit any of 5 pod(s)',
    ),
    "some pods fit": (
        Failure(ROOM, "topo", fitted=3, needed=5),
        'topology "topo" allows to fit only 3 out of 5 pod(s)',
    ),
    "some slices fit, with reasons in order": (
        Failure(
            ROOM,
            "topo",
            fitted=1,
            needed=2,
            in_slices=True,
            leaves=9,
            exclusions={
                'taint "spot=true:NoSchedule"': 1,
                "topologyDomain": 2,
                words.resource_key("cpu"): 3,
                words.resource_key("memory"): 0,
                "nodeSelector": 1,
                "affinity": 10,
            },
        ),
        'topology "topo" allows to fit only 1 out of 2 slice(s). Total nodes: 9; excluded: affinity: 10, '
        'nodeSelector: 1, resource "cpu": 3, taint "spot=true:NoSchedule": 1, topologyDomain: 2',
    ),
    "nothing excluded": (
        Failure(ROOM, "topo", needed=1, leaves=9, exclusions={"affinity": 0}),
        'topology "topo" doesn\'t allow to fit any of 1 pod(s)',
    ),
    "several layers": (
        Failure(
            ROOM,
            "topo",
            leaves=2,
            exclusions={words.resource_key("cpu"): 1},
            layers=[LayerFit("rack", 1, 2), LayerFit("host", 3, 4)],
        ),
        'topology "topo" doesn\'t allow to fit; 1/2 slice(s) fit on level rack; 3/4 slice(s) fit on level host'
        '. Total nodes: 2; excluded: resource "cpu": 1',
    ),
    "no level": (Failure(PlacementError.LEVEL_MISSING), "topology level not specified"),
    "unknown level": (
        Failure(PlacementError.LEVEL_UNKNOWN, keys=("zone",)),
        "no requested topology level: zone",
    ),
    "slices above the whole": (
        Failure(PlacementError.SLICE_ABOVE_MAIN, keys=("block", "rack")),
        "podset slice topology block is above the podset topology rack",
    ),
    "a layer that is not lower": (
        Failure(PlacementError.LAYER_NOT_LOWER, keys=("block", "rack")),
        "additional slice layer topology block must be at a lower level than rack",
    ),
    "a layer that does not divide": (
        Failure(PlacementError.LAYER_NOT_DIVIDING, keys=("3", "4")),
        "additional slice layer size 3 must evenly divide parent layer size 4",
    ),
    "braces in a reason": (
        Failure(PlacementError.INVALID_FILTER, keys=("&NodeSelector{}",)),
        "&NodeSelector{}",
    ),
    "a stale domain": (
        Failure(PlacementError.STALE_DOMAIN, keys=("n1",)),
        "Cannot replace the node, because the existing topologyAssignment is invalid, "
        "as it contains the stale domain n1",
    ),
    "no replacement": (
        Failure(PlacementError.NO_REPLACEMENT, keys=("n1",)),
        "cannot find replacement assignment for unhealthy node: n1",
    ),
}


@pytest.mark.parametrize(("failure", "want"), MESSAGES.values(), ids=MESSAGES)
def test_failed_placements_in_words(failure: Failure, want: str) -> None:
    assert placement_message(failure) == want


@pytest.mark.parametrize("code", [code for code in PlacementError if code != PlacementError.PLACED])
def test_every_error_has_words(code: PlacementError) -> None:
    assert placement_message(Failure(code, keys=("a", "b")))


def test_reasons_of_flavors() -> None:
    assert words.no_support("f") == 'Flavor "f" does not support TopologyAwareScheduling'
    assert words.not_cached("f") == 'Flavor "f" information missing in TAS cache'
    assert words.lacks_level("f") == 'Flavor "f" does not contain the requested level'
    assert words.only_topology("f") == 'Flavor "f" supports only TopologyAwareScheduling'
    assert words.several_flavors(["b", "a"]) == "more than one TAS flavor assigned: a, b"
