"""Booleans as Go reads them."""

import pytest

from kueue_fast.model.booleans import parse_bool

BOOLEANS: dict[str, bool | None] = {
    "1": True,
    "t": True,
    "TRUE": True,
    "True": True,
    "0": False,
    "F": False,
    "false": False,
    "tRUE": None,
    "yes": None,
    "": None,
    " true": None,
}


@pytest.mark.parametrize(("text", "want"), BOOLEANS.items())
def test_parse_bool(text: str, want: bool | None) -> None:
    assert parse_bool(text) is want
