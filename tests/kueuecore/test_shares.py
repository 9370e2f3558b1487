"""Dominant resource shares of nodes. Source: QP-331..335."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kueuecore._forest import Forest
from kueuecore._share import Shares

COLUMNS = ["one/cpu", "two/cpu", "one/gpu"]
RESOURCES = ["cpu", "gpu"]
UNLIMITED = 2**63 - 1

Row = dict[str, Any]


def queue(parent: str | None, quota: Row, used: Row, weight: float = 1.0) -> Row:
    """Quota: amount, or (amount, borrowing limit), or (amount, borrowing limit, lending limit)."""
    return {"queue": True, "parent": parent, "quota": quota, "used": used, "weight": weight}


def cohort(parent: str | None = None, quota: Row | None = None, weight: float = 1.0) -> Row:
    return {"queue": False, "parent": parent, "quota": quota or {}, "used": {}, "weight": weight}


def share_of(name: str, tree: dict[str, Row]) -> tuple[float, float, bool]:
    """(ratio, weight, borrows) of a node; parents stand before their children in `tree`."""
    forest = Forest()
    forest.reserve(len(tree), len(COLUMNS))
    forest.reserve_resources(len(RESOURCES))
    rows = {node: row for row, node in enumerate(tree)}
    for column, pair in enumerate(COLUMNS):
        forest.column_resource[column] = RESOURCES.index(pair.partition("/")[2])
    for node, facts in tree.items():
        row = rows[node]
        forest.parent[row] = -1 if facts["parent"] is None else rows[facts["parent"]]
        forest.is_queue[row] = facts["queue"]
        forest.in_snapshot[row] = 1
        forest.weight[row] = facts["weight"]
        for pair, amount in facts["quota"].items():
            nominal, borrow, lend = (
                (*amount, None, None)[:3] if isinstance(amount, tuple) else (amount, None, None)
            )
            column = COLUMNS.index(pair)
            forest.has_quota[row, column] = 1
            forest.nominal[row, column] = nominal
            forest.has_borrow_limit[row, column], forest.borrow_limit[row, column] = (
                borrow is not None,
                borrow or 0,
            )
            forest.has_lend_limit[row, column], forest.lend_limit[row, column] = lend is not None, lend or 0
        for pair, amount in facts["used"].items():
            forest.usage[row, COLUMNS.index(pair)] = amount
    forest.recompute(np.arange(len(tree), dtype=np.int32)[::-1].copy())
    return Shares(forest).find(rows[name])


# The share of `q`, as (ratio, borrows).
CASES: dict[str, tuple[dict[str, Row], tuple[float, bool]]] = {
    "within nominal nothing is borrowed": (
        {"all": cohort(), "q": queue("all", {"one/cpu": 5}, {"one/cpu": 5})}, (0.0, False),
    ),
    "a node without a parent borrows nothing": ({"q": queue(None, {"one/cpu": 5}, {"one/cpu": 9})}, (0.0, False)),
    "thousandths of what the cohort can lend": (
        {"all": cohort(quota={"one/cpu": 6}), "q": queue("all", {"one/cpu": 2}, {"one/cpu": 3})}, (125.0, True),
    ),
    "the exact double": (
        {"all": cohort(quota={"one/cpu": 1}), "q": queue("all", {"one/cpu": 2}, {"one/cpu": 3})}, (1000.0 / 3, True),
    ),
    "first times a thousand, then divided: the other order is another double": (
        {"all": cohort(quota={"one/cpu": 9}), "q": queue("all", {"one/cpu": 0}, {"one/cpu": 1})},
        (1 * 1000.0 / 9, True),
    ),
    "the product is rounded before the quotient": (
        {"all": cohort(quota={"one/cpu": 2**60 - 2}), "q": queue("all", {"one/cpu": 1}, {"one/cpu": 2**59 + 2})},
        (float(2**59 + 1) * 1000.0 / float(2**60 - 1), True),
    ),
    "flavors of a resource add up": (
        {"all": cohort(quota={"one/cpu": 4, "two/cpu": 4}),
         "q": queue("all", {"one/cpu": 1, "two/cpu": 1}, {"one/cpu": 2, "two/cpu": 3})},
        (300.0, True),
    ),
    "a flavor under nominal does not offset another": (
        {"all": cohort(quota={"one/cpu": 4, "two/cpu": 4}),
         "q": queue("all", {"one/cpu": 1, "two/cpu": 1}, {"one/cpu": 2, "two/cpu": 0})},
        (100.0, True),
    ),
    "the larger of two resources": (
        {"all": cohort(quota={"one/cpu": 9, "one/gpu": 3}),
         "q": queue("all", {"one/cpu": 1, "one/gpu": 1}, {"one/cpu": 3, "one/gpu": 2})},
        (250.0, True),
    ),
    "the larger of two resources, the other way round": (
        {
            "all": cohort(quota={"one/cpu": 3, "one/gpu": 9}),
            "q": queue("all", {"one/cpu": 1, "one/gpu": 1}, {"one/cpu": 2, "one/gpu": 3}),
        },
        (250.0, True),
    ),
    "a flavor without a quota entry has no part in it": (
        {"all": cohort(quota={"one/cpu": 8}), "q": queue("all", {"two/cpu": 1}, {"one/cpu": 8, "two/cpu": 1})},
        (0.0, False),
    ),
    "an entry of nothing has": (
        {"all": cohort(quota={"one/cpu": 8}), "q": queue("all", {"one/cpu": 0}, {"one/cpu": 2})}, (250.0, True),
    ),
    "a cohort has the entries of those below it": (
        {"root": cohort(quota={"one/cpu": 8}), "q": cohort("root"), "x": queue("q", {"one/cpu": 0}, {"one/cpu": 2})},
        (250.0, True),
    ),
    "and only theirs": (
        {"root": cohort(quota={"one/cpu": 8}), "q": cohort("root"), "x": queue("q", {"two/cpu": 0}, {"one/cpu": 2})},
        (0.0, False),
    ),
    "who borrows where nothing can be lent borrows, with ratio 0": (
        {"all": cohort(), "q": queue("all", {"one/cpu": 0, "one/gpu": 0}, {"one/gpu": 3})}, (0.0, True),
    ),
    "only resources that can be lent count": (
        {"all": cohort(quota={"one/cpu": 8}), "q": queue("all", {"one/cpu": 0, "one/gpu": 0}, {"one/cpu": 1,
        "one/gpu": 3})},
        (125.0, True),
    ),
    "what a sibling keeps for itself cannot be lent": (
        {"all": cohort(), "q": queue("all", {"one/cpu": 0}, {"one/cpu": 2}),
         "x": queue("all", {"one/cpu": (9, None, 4)}, {})},
        (500.0, True),
    ),
    "what comes from above the parent can": (
        {"root": cohort(quota={"one/cpu": 6}), "mid": cohort("root", {"one/cpu": 2}),
         "q": queue("mid", {"one/cpu": 0}, {"one/cpu": 2})},
        (250.0, True),
    ),
    "up to the borrowing limit of the parent": (
        {"root": cohort(quota={"one/cpu": 6}), "mid": cohort("root", {"one/cpu": (2, 2)}),
         "q": queue("mid", {"one/cpu": 0}, {"one/cpu": 2})},
        (500.0, True),
    ),
    "its own borrowing limit does not matter": (
        {"all": cohort(quota={"one/cpu": 8}), "q": queue("all", {"one/cpu": (0, 2)}, {"one/cpu": 2})}, (250.0, True),
    ),
    "flavors of the whole tree can be lent, also those that it has no entry for": (
        {"all": cohort(quota={"one/cpu": 4, "two/cpu": 4}), "q": queue("all", {"one/cpu": 0}, {"one/cpu": 2})},
        (250.0, True),
    ),
    "also those that its cohort has no entry for": (
        {"root": cohort(quota={"one/cpu": 4, "two/cpu": 4}), "mid": cohort("root"),
         "q": queue("mid", {"one/cpu": 0}, {"one/cpu": 2})},
        (250.0, True),
    ),
    "an unlimited lender makes a tiny share": (
        {"all": cohort(quota={"one/cpu": UNLIMITED}), "q": queue("all", {"one/cpu": 0}, {"one/cpu": 2})},
        (2 * 1000.0 / float(UNLIMITED), True),
    ),
}  # fmt: skip


@pytest.mark.parametrize(("tree", "want"), CASES.values(), ids=CASES)
def test_share(tree: dict[str, Row], want: tuple[float, bool]) -> None:
    ratio, _, borrows = share_of("q", tree)
    assert (ratio, borrows) == want


def test_the_weight_is_told_beside_the_ratio() -> None:
    tree = {
        "all": cohort(quota={"one/cpu": 8}),
        "q": queue("all", {"one/cpu": 0}, {"one/cpu": 2}, weight=0.25),
    }
    assert share_of("q", tree) == (250.0, 0.25, True)


def test_a_row_that_is_none() -> None:
    forest = Forest()
    forest.reserve(1, 1)
    with pytest.raises(ValueError, match="node 1: expected a row from 0 to 0"):
        Shares(forest).find(1)
