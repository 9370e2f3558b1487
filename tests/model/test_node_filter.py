"""Which nodes pods accept."""

from typing import Any

import msgspec
import pytest

from kueue_fast.api.core import PodSpec, Taint, Toleration
from kueue_fast.api.kueue import PodSetUpdate
from kueue_fast.model.node_filter import (
    NO_UPDATES,
    NodeFilterError,
    Updates,
    merge_updates,
    node_filter,
)

SPOT = Taint(key="spot", value="true", effect="NoSchedule")
SLOW = Taint(key="slow", effect="NoExecute")
LEVEL = Taint(key="level", value="5", effect="NoSchedule")
LABELS = {"zone": "a", "cores": "8", "empty": ""}


def pod(**fields: Any) -> PodSpec:
    return msgspec.convert(fields, PodSpec)


def on(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"key": key, "operator": operator, "values": list(values)}


def affinity(*terms: dict[str, Any]) -> dict[str, Any]:
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(terms)}}
    return {"affinity": {"nodeAffinity": required}}


def labels(*expressions: dict[str, Any]) -> dict[str, Any]:
    return {"matchExpressions": list(expressions)}


def named(operator: str, *names: str) -> dict[str, Any]:
    return {"matchFields": [on("metadata.name", operator, *names)]}


def tolerating(*fields: dict[str, Any]) -> dict[str, Any]:
    return {"tolerations": list(fields)}


SPOT_TEXT, SLOW_TEXT, LEVEL_TEXT = (
    'taint "spot=true:NoSchedule"',
    'taint "slow:NoExecute"',
    'taint "level=5:NoSchedule"',
)

# Taints of the node, demands of the pods, tolerations of the flavor, the exclusion.
EXCLUSIONS: dict[str, tuple[list[Taint], dict[str, Any], list[Toleration], str | None]] = {
    "no demands": ([], {}, [], None),
    "a taint": ([SPOT], {}, [], SPOT_TEXT),
    "a taint without a value": ([SLOW], {}, [], SLOW_TEXT),
    "a taint that only discourages": ([Taint(key="x", effect="PreferNoSchedule")], {}, [], None),
    "tolerated by the pods": ([SPOT], tolerating({"key": "spot", "value": "true"}), [], None),
    "tolerated with another value": ([SPOT], tolerating({"key": "spot", "value": "no"}), [], SPOT_TEXT),
    "tolerated whatever the value": ([SPOT], tolerating({"key": "spot", "operator": "Exists"}), [], None),
    "tolerated by the flavor": ([SPOT], {}, [Toleration(key="spot", operator="Exists")], None),
    "the first of the node's taints counts": ([SLOW, SPOT], {}, [], SLOW_TEXT),
    "the first that is not tolerated": (
        [SLOW, SPOT],
        tolerating({"key": "slow", "operator": "Exists"}),
        [],
        SPOT_TEXT,
    ),
    "tolerated up to a number": (
        [LEVEL],
        tolerating({"key": "level", "operator": "Lt", "value": "6"}),
        [],
        None,
    ),
    "above the number": (
        [LEVEL],
        tolerating({"key": "level", "operator": "Lt", "value": "5"}),
        [],
        LEVEL_TEXT,
    ),
    "no number": ([SPOT], tolerating({"key": "spot", "operator": "Gt", "value": "1"}), [], SPOT_TEXT),
    "node selector met": ([], {"nodeSelector": {"zone": "a", "empty": ""}}, [], None),
    "node selector not met": ([], {"nodeSelector": {"zone": "b"}}, [], "nodeSelector"),
    "node selector with an empty value, label not there": (
        [],
        {"nodeSelector": {"x": ""}},
        [],
        "nodeSelector",
    ),
    "a taint comes before the selector": ([SPOT], {"nodeSelector": {"zone": "b"}}, [], SPOT_TEXT),
    "the selector comes before affinity": (
        [],
        {"nodeSelector": {"zone": "b"}} | affinity(labels(on("zone", "In", "c"))),
        [],
        "nodeSelector",
    ),
    "affinity met": ([], affinity(labels(on("zone", "In", "a", "b"), on("cores", "Gt", "7"))), [], None),
    "affinity not met": ([], affinity(labels(on("zone", "In", "a"), on("cores", "Gt", "8"))), [], "affinity"),
    "one term is enough": (
        [],
        affinity(labels(on("zone", "In", "x")), labels(on("zone", "Exists"))),
        [],
        None,
    ),
    "an affinity without terms matches no node": ([], affinity(), [], "affinity"),
    "an empty term matches no node": ([], affinity({}), [], "affinity"),
    "by name": ([], affinity(named("In", "n1")), [], None),
    "by another name": ([], affinity(named("In", "n2")), [], "affinity"),
    "not by another name": ([], affinity(named("NotIn", "n2")), [], None),
}


@pytest.mark.parametrize(("taints", "fields", "flavor", "want"), EXCLUSIONS.values(), ids=EXCLUSIONS)
def test_the_first_reason_excludes_a_node(
    taints: list[Taint], fields: dict[str, Any], flavor: list[Toleration], want: str | None
) -> None:
    asked = node_filter(pod(**fields), flavor, NO_UPDATES, by_host=True)
    assert asked.exclusion(taints, LABELS, "n1") == want


def test_updates_of_admission_checks_count() -> None:
    updates = Updates({"zone": "b"}, (Toleration(key="spot", operator="Exists"),))
    asked = node_filter(pod(nodeSelector={"cores": "8"}), None, updates, by_host=True)
    assert asked.exclusion([SPOT], LABELS, "n1") == "nodeSelector"
    assert asked.exclusion([SPOT], LABELS | {"zone": "b"}, "n1") is None


BAD_AFFINITY = affinity(labels(on("zone", "Exists")), labels(on("zone", "Like", "a")))

INVALID: dict[str, tuple[dict[str, Any], bool, str | None]] = {
    "an invalid selector": (
        {"nodeSelector": {"zone": "no spaces", "b": "x"}},
        True,
        'invalid node selectors: map[b:x zone:no spaces], reason: values[0][zone]: Invalid value: "no spaces"',
    ),
    "an invalid selector where nodes do not matter": ({"nodeSelector": {"zone": "no spaces"}}, False, None),
    "an invalid term, though another matches": (
        BAD_AFFINITY,
        True,
        "invalid affinity node selectors: &NodeSelector{NodeSelectorTerms:[]NodeSelectorTerm{"
        "NodeSelectorTerm{MatchExpressions:[]NodeSelectorRequirement{"
        "NodeSelectorRequirement{Key:zone,Operator:Exists,Values:[],},},MatchFields:[]NodeSelectorRequirement{},},"
        "NodeSelectorTerm{MatchExpressions:[]NodeSelectorRequirement{"
        "NodeSelectorRequirement{Key:zone,Operator:Like,Values:[a],},},MatchFields:[]NodeSelectorRequirement{},},},}"
        ', reason: nodeSelectorTerms[1].matchExpressions[0].operator: Unsupported value: "Like"',
    ),
    "an invalid affinity where nodes do not matter": (
        BAD_AFFINITY,
        False,
        "invalid affinity node selectors: ",
    ),
    "an invalid field": (
        affinity(named("In", "a", "b")),
        True,
        'reason: nodeSelectorTerms[0].matchFields[0].values: Invalid value: ["a","b"]: must have one element',
    ),
}


@pytest.mark.parametrize(("fields", "by_host", "want"), INVALID.values(), ids=INVALID)
def test_what_cannot_be_read_is_an_error(fields: dict[str, Any], by_host: bool, want: str | None) -> None:
    if want is None:
        assert node_filter(pod(**fields), None, NO_UPDATES, by_host=by_host).terms is None
        return
    with pytest.raises(NodeFilterError) as caught:
        node_filter(pod(**fields), None, NO_UPDATES, by_host=by_host)
    assert want in str(caught.value)


def preferring(*terms: tuple[int, dict[str, Any]]) -> dict[str, Any]:
    preferred = [{"weight": weight, "preference": term} for weight, term in terms]
    return {"affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}}}


BAD_TERM = labels(on("zone", "Like", "a"))

SCORES: dict[str, tuple[dict[str, Any], int]] = {
    "no preference": ({}, 0),
    "weights of all terms that are met": (
        preferring(
            (5, labels(on("zone", "In", "a"))), (7, labels(on("x", "Exists"))), (1, named("In", "n1"))
        ),
        6,
    ),
    "terms without weight or demands": (preferring((0, BAD_TERM), (5, {})), 0),
}


@pytest.mark.parametrize(("fields", "want"), SCORES.values(), ids=SCORES)
def test_preferred_affinity_scores(fields: dict[str, Any], want: int) -> None:
    asked = node_filter(pod(**fields), None, NO_UPDATES, by_host=True, prefers_affinity=True)
    assert asked.score(LABELS, "n1") == want
    assert node_filter(pod(**fields), None, NO_UPDATES, by_host=True).score(LABELS, "n1") == 0


def test_a_preferred_term_that_cannot_be_read_is_an_error_only_where_it_counts() -> None:
    spec = pod(**preferring((1, labels(on("zone", "In", "a"))), (2, BAD_TERM)))
    assert node_filter(spec, None, NO_UPDATES, by_host=True).preferred == ()
    with pytest.raises(NodeFilterError) as caught:
        node_filter(spec, None, NO_UPDATES, by_host=True, prefers_affinity=True)
    assert str(caught.value).startswith(
        "invalid preferred node affinity terms: [{1 {[{zone In [a]}] []}} {2 {[{zone Like [a]}] []}}], reason: "
    )


def update(**fields: Any) -> PodSetUpdate:
    return msgspec.convert({"name": "main", **fields}, PodSetUpdate)


def test_updates_add_up_in_order() -> None:
    first = update(nodeSelector={"a": "1"}, tolerations=[{"key": "x"}], labels={"l": "1"})
    second = update(nodeSelector={"a": "1", "b": "2"}, tolerations=[{"key": "y"}])
    got = merge_updates("main", pod(nodeSelector={"c": "3"}), {"l": "1"}, None, [first, second])
    assert got.node_selector == {"a": "1", "b": "2"}
    assert [toleration.key for toleration in got.tolerations] == ["x", "y"]
    assert merge_updates("main", pod(), None, None, []) is NO_UPDATES


CONFLICTS: dict[str, tuple[list[PodSetUpdate], str]] = {
    "a label of the template": (
        [update(labels={"l": "2"})],
        "labels: conflict for key=l, value1=1, value2=2",
    ),
    "an annotation of the template": (
        [update(annotations={"a": "2"})],
        "annotations: conflict for key=a, value1=1, value2=2",
    ),
    "the node selector of the template": (
        [update(nodeSelector={"n": "2"})],
        "nodeSelector: conflict for key=n, value1=1, value2=2",
    ),
    "an earlier update": (
        [update(nodeSelector={"m": "3"}), update(nodeSelector={"m": "4"})],
        "nodeSelector: conflict for key=m, value1=3, value2=4",
    ),
}


@pytest.mark.parametrize(("updates", "want"), CONFLICTS.values(), ids=CONFLICTS)
def test_updates_may_not_change_a_value(updates: list[PodSetUpdate], want: str) -> None:
    with pytest.raises(NodeFilterError) as caught:
        merge_updates("main", pod(nodeSelector={"n": "1"}), {"l": "1"}, {"a": "1"}, updates)
    start = "invalid podSetUpdate for PodSet main, error: invalid admission check PodSetUpdate: conflict for "
    assert str(caught.value) == start + want


def test_a_filter_names_all_that_it_looks_at() -> None:
    asked = node_filter(
        pod(
            nodeSelector={"zone": "a"},
            **affinity(
                labels(on("zone", "NotIn", "b", "c"), on("cores", "Lt", "9")),
                {**labels(on("gpu", "DoesNotExist"), on("disk", "Exists")), **named("In", "n1")},
            ),
        ),
        None,
        NO_UPDATES,
        by_host=True,
    )
    seen = asked.looks_at()
    assert seen.values == {"zone": {"a", "b", "c"}}
    assert seen.numbers == {"cores"}
    assert seen.presence == {"gpu", "disk"}
    assert seen.names == {"n1"}
