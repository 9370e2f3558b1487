"""Usage of workloads in leaves. Source: TP-509, TP-705, TP-1105 to TP-1107."""

import pytest

from tests.oracle.amounts import MAX
from tests.oracle.topology_model import Assignment
from tests.oracle.topology_table import assignment, flavor
from tests.oracle.topology_usage import Item, book, change_usage, fits, net_usage, pods_that_fit, times


@pytest.mark.parametrize(
    ("requests", "room", "want_pods", "want_limiting"),
    [
        pytest.param(
            {"cpu": 2, "pods": 1}, {"cpu": 5, "pods": 9}, 2, "cpu", id="the scarcest resource limits"
        ),
        pytest.param({"gpu": 1, "cpu": 1}, {}, 0, "cpu", id="of equals the first by name"),
        pytest.param({"cpu": 2}, {"cpu": -3}, 0, "cpu", id="less than nothing is nothing"),
        pytest.param({"cpu": 0}, {}, 2**31 - 1, "cpu", id="nothing fits as often as can be counted"),
        pytest.param({"cpu": 1}, {"cpu": MAX}, 2**31 - 1, "cpu", id="what fits is counted up to a limit"),
        pytest.param({}, {"cpu": 4}, 0, None, id="without any request nothing fits"),
    ],
)
def test_pods_that_fit(
    requests: dict[str, int], room: dict[str, int], want_pods: int, want_limiting: str | None
) -> None:
    assert pods_that_fit(requests, room) == (want_pods, want_limiting)


def test_pods_use_their_requests_and_themselves() -> None:
    assert times({"cpu": 3, "memory": MAX}, 2) == {"cpu": 6, "memory": MAX, "pods": 2}


@pytest.mark.parametrize(
    ("overlapping", "want_used"),
    [
        pytest.param(
            True, {"one": 2, "two": 2, "racks": 0}, id="hosts are shared by the flavors that have them"
        ),
        pytest.param(False, {"one": 2, "two": 0, "racks": 0}, id="without the gate each flavor has its own"),
    ],
)
def test_booking(*, overlapping: bool, want_used: dict[str, int]) -> None:
    flavors = [
        flavor("rack host", "r1/x1=4", name="one"),
        flavor("host", "x1=4", name="two"),
        flavor("rack", "x1=4", name="racks"),
    ]
    items = [Item("one", ("x1",), {"cpu": 1}, 2), Item("one", ("gone",), {"cpu": 1}, 1)]
    book(flavors, items, overlapping=overlapping)
    assert {each.name: each.leaves[0].used.get("cpu", 0) for each in flavors} == want_used


def test_usage_within_a_cycle_comes_and_goes_in_one_flavor() -> None:
    hosts = flavor("host", "x1=4 x2=4-1")
    item = Item("default", ("x2",), {"cpu": 2}, 1)
    change_usage(hosts, [item])
    assert hosts.leaves[1].used == {"cpu": 3, "pods": 1}
    change_usage(hosts, [item], sign=-1)
    assert hosts.leaves[1].used == {"cpu": 1, "pods": 0}


@pytest.mark.parametrize(
    ("items", "want"),
    [
        pytest.param([("x1", {"cpu": 1}, 3)], True, id="as much as is left"),
        pytest.param([("x1", {"cpu": 1}, 4)], False, id="more than is left"),
        pytest.param([("x1", {"cpu": 1}, 3), ("x1", {"cpu": 1}, 3)], True, id="items are not summed"),
        pytest.param([("x2", {"cpu": 1}, 2)], True, id="the number of pods is not looked at"),
        pytest.param([("x3", {"cpu": 1}, 1)], False, id="a leaf that is gone"),
        pytest.param([("x1", {}, 1)], False, id="pods without requests never fit"),
        pytest.param([], True, id="nothing fits"),
    ],
)
def test_fits(*, items: list[tuple[str, dict[str, int], int]], want: bool) -> None:
    hosts = flavor("host", "x1=4-1 x2=4,pods:1")
    claims = [Item("default", (host,), requests, count) for host, requests, count in items]
    assert fits(hosts, claims) is want


@pytest.mark.parametrize(
    ("now", "admitted", "want"),
    [
        pytest.param("x1:2 x2:1", None, "x1:2 x2:1", id="all of a new assignment"),
        pytest.param("x1:2 x3:2", "x1:2 x2:2", "x3:2", id="what has moved"),
        pytest.param("x1:1", "x1:3", "", id="nothing is given back"),
        pytest.param("x1:3", "x1:1 x1:1", "x1:1", id="a domain named twice counts twice"),
    ],
)
def test_net_usage(now: str, admitted: str | None, want: str) -> None:
    before: Assignment | None = None if admitted is None else assignment(admitted)
    items = net_usage("default", {"cpu": 1}, assignment(now), before)
    assert items == [Item("default", values, {"cpu": 1}, count) for values, count in assignment(want)]
