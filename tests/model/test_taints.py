"""Which taints tolerations tolerate."""

from typing import Any

import msgspec
import pytest

from kueue_fast.api.core import Taint, Toleration
from kueue_fast.model.taints import first_untolerated, tolerates

SPOT = {"key": "spot", "value": "true", "effect": "NoSchedule"}
BARE = {"key": "spot", "effect": "NoSchedule"}


def numeric(value: str) -> dict[str, str]:
    return {"key": "age", "value": value, "effect": "NoSchedule"}


def compare(operator: str, value: str) -> dict[str, str]:
    return {"key": "age", "operator": operator, "value": value}


CASES: dict[str, tuple[dict[str, Any], dict[str, Any], bool]] = {
    "equal key, value and effect": (SPOT, SPOT, True),
    "no operator means Equal": ({"key": "spot", "value": "true"}, SPOT, True),
    "Equal with another value": ({"key": "spot", "operator": "Equal", "value": "no"}, SPOT, False),
    "an absent value equals an absent one": ({"key": "spot"}, BARE, True),
    "an absent value equals an empty one": ({"key": "spot", "value": ""}, BARE, True),
    "an absent value is not any value": ({"key": "spot"}, SPOT, False),
    "another key": ({"key": "gpu", "operator": "Exists"}, SPOT, False),
    "another effect": ({"key": "spot", "operator": "Exists", "effect": "NoExecute"}, SPOT, False),
    "no effect is any": ({"key": "spot", "operator": "Exists"}, SPOT, True),
    "an empty effect is any": ({"key": "spot", "operator": "Exists", "effect": ""}, SPOT, True),
    "Exists with any value": ({"key": "spot", "operator": "Exists", "value": "x"}, SPOT, True),
    "an empty key with Exists tolerates all": ({"operator": "Exists"}, SPOT, True),
    "an empty key with Equal compares values": ({"operator": "Equal", "value": "true"}, SPOT, True),
    "an empty key with another value": ({"key": "", "value": "x"}, SPOT, False),
    "an empty toleration and a taint without value": ({}, BARE, True),
    "unknown operator": ({"key": "spot", "operator": "Like", "value": "true"}, SPOT, False),
    "Lt: taint below": (compare("Lt", "5"), numeric("4"), True),
    "Lt: taint equal": (compare("Lt", "5"), numeric("5"), False),
    "Lt: taint above": (compare("Lt", "5"), numeric("10"), False),
    "Gt: taint above": (compare("Gt", "5"), numeric("10"), True),
    "Gt: taint equal": (compare("Gt", "5"), numeric("5"), False),
    "Gt: negative": (compare("Gt", "-5"), numeric("-4"), True),
    "Gt: zero": (compare("Gt", "0"), numeric("1"), True),
    "Gt: toleration is no integer": (compare("Gt", "x"), numeric("5"), False),
    "Gt: taint is no integer": (compare("Gt", "1"), numeric("x"), False),
    "Gt: leading zero": (compare("Gt", "01"), numeric("5"), False),
    "Gt: plus sign": (compare("Gt", "1"), numeric("+5"), False),
    "Gt: minus zero": (compare("Gt", "-0"), numeric("5"), False),
    "Gt: no value": ({"key": "age", "operator": "Gt"}, numeric("5"), False),
    "Gt: largest": (compare("Gt", "9223372036854775806"), numeric("9223372036854775807"), True),
    "Gt: beyond 64 bits": (compare("Gt", "1"), numeric("9223372036854775808"), False),
    "Lt: another key": ({**compare("Lt", "5"), "key": "x"}, numeric("4"), False),
}


@pytest.mark.parametrize(("toleration", "taint", "want"), CASES.values(), ids=CASES)
def test_tolerates(toleration: dict[str, Any], taint: dict[str, Any], want: bool) -> None:
    assert tolerates(msgspec.convert(toleration, Toleration), msgspec.convert(taint, Taint)) is want


SETS: dict[str, tuple[list[dict[str, Any]] | None, list[dict[str, Any]], str | None]] = {
    "no taints": (None, [], None),
    "all tolerated": ([SPOT], [{"operator": "Exists"}], None),
    "none tolerated": ([SPOT], [], "spot"),
    "PreferNoSchedule keeps nobody off": ([{**SPOT, "effect": "PreferNoSchedule"}], [], None),
    "NoExecute does": ([{**SPOT, "effect": "NoExecute"}], [], "spot"),
    "an unknown effect does not": ([{**SPOT, "effect": "Other"}], [], None),
    "the first one that is not tolerated": (
        [SPOT, {"key": "b", "effect": "NoExecute"}, {"key": "c", "effect": "NoSchedule"}],
        [{"key": "spot", "operator": "Exists"}],
        "b",
    ),
    "each by another toleration": (
        [SPOT, {"key": "b", "effect": "NoExecute"}],
        [{"key": "b"}, {"key": "spot", "value": "true"}],
        None,
    ),
}


@pytest.mark.parametrize(("taints", "tolerations", "want_key"), SETS.values(), ids=SETS)
def test_first_untolerated(
    taints: list[dict[str, Any]] | None, tolerations: list[dict[str, Any]], want_key: str | None
) -> None:
    found = first_untolerated(
        msgspec.convert(taints, list[Taint] | None), msgspec.convert(tolerations, list[Toleration])
    )
    assert (found.key if found else None) == want_key
