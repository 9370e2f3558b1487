"""The oracle of topology placement against tables whose answers are known."""

import pytest

from tests.oracle.topology import place
from tests.oracle.topology_cases_balanced import CASES as BALANCED
from tests.oracle.topology_cases_changes import CASES as CHANGES
from tests.oracle.topology_cases_corners import CASES as CORNERS
from tests.oracle.topology_cases_groups import CASES as GROUPS
from tests.oracle.topology_cases_plain import CASES as PLAIN
from tests.oracle.topology_cases_slices import CASES as SLICES
from tests.oracle.topology_model import Gates
from tests.oracle.topology_table import Case, failure_in_words, flavor, in_words, request

TABLES = {
    "plain": PLAIN,
    "slices": SLICES,
    "groups": GROUPS,
    "balanced": BALANCED,
    "changes": CHANGES,
    "corners": CORNERS,
}


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, id=f"{table}: {sentence}")
        for table, cases in TABLES.items()
        for sentence, case in cases.items()
    ],
)
def test_pods_stand_where_the_rules_put_them(case: Case) -> None:
    result = case.result()
    found = {pod_set: in_words(domains) for pod_set, domains in result.assignments.items()}
    assert found == case.want
    assert failure_in_words(result.failure) == case.want_failure


def test_the_order_of_nodes_has_no_say() -> None:
    case = PLAIN["fewest racks come before fewest hosts"]
    backwards = case.flavor()
    backwards.leaves.reverse()
    result = place([backwards], case.asked(), empty=False)
    assert result == case.result()


@pytest.mark.parametrize(
    ("levels", "overlapping", "want_failure"),
    [
        pytest.param("host", True, 'b 0/2 pods, 1 leaves, resource "cpu" 1', id="hosts are shared"),
        pytest.param("host", False, "", id="hosts are not shared without the gate"),
        pytest.param("rack", True, "", id="racks are not shared"),
    ],
)
def test_room_that_a_sibling_flavor_already_assumes(
    *, levels: str, overlapping: bool, want_failure: str
) -> None:
    flavors = [flavor(levels, "x1=2", name=name) for name in ("one", "two")]
    requests = [
        request(f"{pod_set}:2 required={levels}", flavor=name)
        for pod_set, name in (("a", "one"), ("b", "two"))
    ]
    result = place(flavors, requests, empty=False, gates=Gates(overlapping=overlapping))
    assert failure_in_words(result.failure) == want_failure


def test_flavors_go_by_name_and_failures_by_pod_set() -> None:
    """The failure of the first flavor ends that flavor alone, and the first failing pod set is told."""
    flavors = [flavor("host", "x1=2", name="b"), flavor("host", "x1=2", name="a")]
    requests = [
        request("first:9 required=host", flavor="b"),
        request("second:9 required=host", flavor="a"),
        request("third:1 required=host", flavor="a"),
    ]
    result = place(flavors, requests, empty=False)
    assert result.assignments == {}
    assert result.failure is not None
    assert result.failure.pod_set == "first"
