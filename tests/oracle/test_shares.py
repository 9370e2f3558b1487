"""Shares of single nodes: the corner cases of QP-331 to QP-335, and weights as upstream reads them (QP-301)."""

import math

import pytest

from tests.oracle.amounts import UNLIMITED, to_double
from tests.oracle.forest import Forest, Quantities, Quotas
from tests.oracle.shares import Share, dominant_share

ONE, TWO, GPU = ("one", "cpu"), ("two", "cpu"), ("one", "gpu")

# Nominal quota and usage of a ClusterQueue, and what another one of its cohort lends.
SHARES: dict[str, tuple[Quantities, Quantities, Quantities, float, bool]] = {
    "within its quota": ({ONE: 500}, {ONE: 500}, {ONE: 1000}, 0.0, False),
    "one unit above it": ({ONE: 500}, {ONE: 501}, {ONE: 1000}, 1000.0 / 1500.0, True),
    "flavors of a resource add up": ({ONE: 1, TWO: 1}, {ONE: 3, TWO: 2}, {ONE: 4, TWO: 4}, 300.0, True),
    "a flavor below its quota does not offset another": (
        {ONE: 1, TWO: 5},
        {ONE: 3},
        {ONE: 4},
        200.0,
        True,
    ),
    "the resource with the larger ratio counts": (
        {ONE: 2, GPU: 2},
        {ONE: 3, GPU: 4},
        {ONE: 8, GPU: 8},
        200.0,
        True,
    ),
    "nothing comes from a pair without a quota": ({ONE: 5}, {ONE: 5, GPU: 9}, {GPU: 9}, 0.0, False),
    "borrowing what nobody can lend has the ratio 0": ({GPU: 0}, {GPU: 3}, {ONE: 1}, 0.0, True),
    "an unlimited lender makes a tiny ratio": (
        {ONE: 0},
        {ONE: 1},
        {ONE: UNLIMITED},
        1000.0 / float(UNLIMITED),
        True,
    ),
}


@pytest.mark.parametrize(
    ("nominal", "usage", "lent", "want_ratio", "want_borrows"), SHARES.values(), ids=SHARES
)
def test_a_share(
    nominal: Quantities, usage: Quantities, lent: Quantities, want_ratio: float, want_borrows: bool
) -> None:
    forest = Forest()
    node = forest.set_cluster_queue("queue", "cohort", Quotas(nominal), usage)
    forest.set_cluster_queue("lender", "cohort", Quotas(lent))
    forest.recompute()
    share = dominant_share(node)
    assert share.ratio == want_ratio
    assert share.borrows == want_borrows


def test_a_node_without_parent_borrows_nothing() -> None:
    forest = Forest()
    node = forest.set_cluster_queue("queue", None, Quotas({ONE: 1}), {ONE: 5})
    forest.recompute()
    assert not dominant_share(node).borrows


def share(ratio: float, weight: float) -> Share:
    return Share(ratio, weight, frozenset({ONE}) if ratio else frozenset())


def test_shares_in_order() -> None:
    """Source: QP-334. Weight 0 comes last as soon as it borrows, and among its like by the ratio."""
    want = [share(0, 0), share(100, 4), share(200, 2), share(100, 0.5), share(1, 0), share(2, 0)]
    mixed = want[3:] + want[:3]
    assert sorted(mixed, key=lambda one: one.order) == want
    assert share(0, 0).order == share(0, 3).order
    assert math.isinf(share(1, 0).weighted)


WEIGHTS = {"0": 0.0, "0.5": 0.5, "1500m": 1.5, "0.3": 0.3, "1e3": 1000.0, "2Ki": 2048.0, "0.000000002": 2e-9}


@pytest.mark.parametrize(("text", "want_weight"), WEIGHTS.items())
def test_a_weight(text: str, want_weight: float) -> None:
    assert to_double(text) == want_weight


def test_a_weight_is_rounded_twice() -> None:
    """To 64 bits, then to 53: one in some thousand weights of nine decimals is another double for it."""
    assert to_double("275.515086814") != 275.515086814
    assert math.isclose(to_double("275.515086814"), 275.515086814, rel_tol=1e-15)
