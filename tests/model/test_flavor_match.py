"""Whether pods may use a flavor."""

from typing import Any

import msgspec
import pytest

from kueue_fast.api.core import PodSpec
from kueue_fast.api.kueue import ResourceFlavor
from kueue_fast.model.flavor_match import FlavorMatchError, eligible, missing_flavor

MISMATCH = "flavor gpu doesn't match node affinity"
LABELS = {"zone": "z1", "gpus": "8"}
SPOT = {"key": "spot", "value": "true", "effect": "NoSchedule"}


def affinity(*terms: dict[str, Any] | None, preferred: bool = False) -> dict[str, Any]:
    if preferred:
        rules: dict[str, Any] = {
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {"weight": 1, "preference": each} for each in terms
            ]
        }
    else:
        rules = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(terms)}}
    return {"affinity": {"nodeAffinity": rules}}


def on(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"key": key, "operator": operator, "values": list(values)}


def term(*expressions: dict[str, Any]) -> dict[str, Any]:
    return {"matchExpressions": list(expressions)}


NODE_NAME = on("metadata.name", "In", "n1")

CASES: dict[str, tuple[dict[str, Any], dict[str, Any], str | None]] = {
    "a flavor without anything": ({}, {}, None),
    "no pod constraints": ({"nodeLabels": LABELS}, {}, None),
    "untolerated taint": (
        {"nodeTaints": [SPOT]},
        {},
        "untolerated taint {spot true NoSchedule <nil>} in flavor gpu",
    ),
    "untolerated taint without a value": (
        {"nodeTaints": [{"key": "spot", "effect": "NoExecute"}]},
        {},
        "untolerated taint {spot  NoExecute <nil>} in flavor gpu",
    ),
    "tolerated by the pod": ({"nodeTaints": [SPOT]}, {"tolerations": [{"operator": "Exists"}]}, None),
    "tolerated by the flavor": (
        {"nodeTaints": [SPOT], "tolerations": [{"key": "spot", "operator": "Exists"}]},
        {},
        None,
    ),
    "one taint by the pod, one by the flavor": (
        {
            "nodeTaints": [SPOT, {"key": "b", "effect": "NoExecute"}],
            "tolerations": [{"key": "b", "operator": "Exists"}],
        },
        {"tolerations": [{"key": "spot", "value": "true"}]},
        None,
    ),
    "a taint comes before affinity": (
        {"nodeTaints": [SPOT], "nodeLabels": LABELS},
        {"nodeSelector": {"zone": "z2"}},
        "untolerated taint {spot true NoSchedule <nil>} in flavor gpu",
    ),
    "node selector equal": ({"nodeLabels": LABELS}, {"nodeSelector": {"zone": "z1"}}, None),
    "node selector other": ({"nodeLabels": LABELS}, {"nodeSelector": {"zone": "z2"}}, MISMATCH),
    "node selector on a key that the flavor lacks": (
        {"nodeLabels": LABELS},
        {"nodeSelector": {"disk": "ssd", "zone": "z1"}},
        None,
    ),
    "a flavor without labels takes any selector": ({}, {"nodeSelector": {"zone": "z2"}}, None),
    "affinity that matches": ({"nodeLabels": LABELS}, affinity(term(on("zone", "In", "z1", "z2"))), None),
    "affinity that does not": ({"nodeLabels": LABELS}, affinity(term(on("zone", "NotIn", "z1"))), MISMATCH),
    "DoesNotExist on a key of the flavor": (
        {"nodeLabels": LABELS},
        affinity(term({"key": "zone", "operator": "DoesNotExist"})),
        MISMATCH,
    ),
    "Exists on a key that the flavor lacks": (
        {"nodeLabels": LABELS},
        affinity(term({"key": "disk", "operator": "Exists"})),
        None,
    ),
    "terms are ORed": (
        {"nodeLabels": LABELS},
        affinity(term(on("zone", "In", "z2")), term(on("gpus", "Gt", "4"))),
        None,
    ),
    "expressions are ANDed": (
        {"nodeLabels": LABELS},
        affinity(term(on("zone", "In", "z1"), on("gpus", "Lt", "4"))),
        MISMATCH,
    ),
    "expressions on other keys are dropped": (
        {"nodeLabels": LABELS},
        affinity(term(on("zone", "In", "z1"), on("disk", "In", "ssd"))),
        None,
    ),
    "a term that loses everything matches": (
        {"nodeLabels": LABELS},
        affinity(term(on("zone", "In", "z2")), term(on("disk", "In", "ssd"))),
        None,
    ),
    "an empty term matches": ({"nodeLabels": LABELS}, affinity(term(on("zone", "In", "z2")), {}), None),
    "no terms at all match": ({"nodeLabels": LABELS}, affinity(), None),
    "matchFields are dropped, and the term with them": (
        {"nodeLabels": LABELS},
        affinity(term(on("zone", "In", "z2")), {"matchFields": [NODE_NAME]}),
        None,
    ),
    "matchFields beside expressions are dropped alone": (
        {"nodeLabels": LABELS},
        affinity({**term(on("zone", "In", "z2")), "matchFields": [NODE_NAME]}),
        MISMATCH,
    ),
    "a node selector holds beside an affinity that matches anything": (
        {"nodeLabels": LABELS},
        {"nodeSelector": {"zone": "z2"}, **affinity({})},
        MISMATCH,
    ),
    "preferred affinity is ignored": (
        {"nodeLabels": LABELS},
        affinity(term(on("zone", "In", "z2")), preferred=True),
        None,
    ),
    "an invalid term is skipped if another matches": (
        {"nodeLabels": LABELS},
        affinity(term(on("gpus", "Gt", "x")), term(on("zone", "In", "z1"))),
        None,
    ),
    "an invalid expression on another key is dropped": (
        {"nodeLabels": LABELS},
        affinity(term(on("disk", "Gt", "x"), on("zone", "In", "z1"))),
        None,
    ),
    "a node selector that does not match comes before an invalid term": (
        {"nodeLabels": LABELS},
        {"nodeSelector": {"zone": "z2"}, **affinity(term(on("gpus", "Gt", "x")))},
        MISMATCH,
    ),
}


def make_flavor(spec: dict[str, Any]) -> ResourceFlavor:
    return msgspec.convert({"metadata": {"name": "gpu"}, "spec": spec}, ResourceFlavor)


@pytest.mark.parametrize(("flavor", "pod", "want_reason"), CASES.values(), ids=CASES)
def test_eligible(flavor: dict[str, Any], pod: dict[str, Any], want_reason: str | None) -> None:
    assert eligible(make_flavor(flavor), msgspec.convert(pod, PodSpec)) == want_reason


def test_a_flavor_without_spec_takes_any_pod() -> None:
    flavor = msgspec.convert({"metadata": {"name": "gpu"}}, ResourceFlavor)
    assert eligible(flavor, PodSpec(node_selector={"a": "b"})) is None


INVALID: dict[str, tuple[dict[str, Any], str]] = {
    "only an invalid term": (
        affinity(term(on("gpus", "Gt", "x"))),
        'nodeSelectorTerms[0].matchExpressions[0].values[0]: Invalid value: "x": Gt needs an integer',
    ),
    "an invalid term and one that does not match": (
        affinity(term(on("zone", "In", "z2")), term(on("gpus", "In"))),
        "nodeSelectorTerms[1].matchExpressions[0].values: Invalid value: []: In needs at least one value",
    ),
}


@pytest.mark.parametrize(("pod", "want_text"), INVALID.values(), ids=INVALID)
def test_invalid_affinity(pod: dict[str, Any], want_text: str) -> None:
    with pytest.raises(FlavorMatchError) as caught:
        eligible(make_flavor({"nodeLabels": LABELS}), msgspec.convert(pod, PodSpec))
    assert str(caught.value) == want_text


def test_missing_flavor() -> None:
    assert missing_flavor("gpu") == "flavor gpu not found"
