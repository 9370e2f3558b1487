"""Interned names: an index a name, given out again once forgotten."""

import pytest

from kueue_fast.arrays.names import Names


def test_a_name_keeps_its_index() -> None:
    names: Names[str] = Names()
    assert [names.intern(name) for name in ("a", "b", "a")] == [0, 1, 0]
    assert (names[0], names[1], len(names)) == ("a", "b", 2)
    assert (names.find("b"), names.find("c")) == (1, None)
    assert "a" in names
    assert "c" not in names


def test_a_forgotten_index_is_given_out_again() -> None:
    names: Names[tuple[str, int]] = Names()
    for number in range(3):
        names.intern(("a", number))
    assert names.forget(("a", 1)) == 1
    with pytest.raises(KeyError):
        names[1]
    assert names.find(("a", 1)) is None
    assert names.intern(("b", 0)) == 1
    assert names.intern(("a", 1)) == 3
    assert len(names) == 4
    assert sorted(names.items()) == [(("a", 0), 0), (("a", 1), 3), (("a", 2), 2), (("b", 0), 1)]


def test_an_unknown_name_is_not_forgotten() -> None:
    names: Names[str] = Names()
    with pytest.raises(KeyError):
        names.forget("a")
    assert names.intern("a") == 0
