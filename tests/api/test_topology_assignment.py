"""TopologyAssignments: how slices are read, refused and written."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kueue_fast.api.topology_assignment import Domain, decode, encode
from kueue_fast.api.topology_encoding import HOSTNAME
from kueue_fast.errors import InputError


def individual(*roots: str, **ends: str) -> dict[str, Any]:
    return {"individual": {**ends, "roots": list(roots)}}


def part(count: int, counts: Any, *levels: Any) -> dict[str, Any]:
    pods = {"universal": counts} if isinstance(counts, int) else {"individual": counts}
    values = [{"universal": level} if isinstance(level, str) else level for level in levels]
    return {"domainCount": count, "valuesPerLevel": values, "podCounts": pods}


def text(levels: list[str], *slices: dict[str, Any]) -> bytes:
    return json.dumps({"levels": levels, "slices": list(slices)}).encode()


def hosts(*names: str, count: int = 1) -> list[Domain]:
    return [((name,), count) for name in names]


RACK_HOST = ["rack", "host"]

READ: dict[str, tuple[bytes, list[Domain]]] = {
    "no slices": (text(["host"]), []),
    "the field left out": (b'{"levels":["host"]}', []),
    "all universal": (text(RACK_HOST, part(2, 3, "r", "h")), [(("r", "h"), 3), (("r", "h"), 3)]),
    "prefix, suffix and empty roots": (
        text(["host"], part(2, [1, 2], individual("", "x", prefix="a-", suffix="-z"))),
        [(("a--z",), 1), (("a-x-z",), 2)],
    ),
    "only a suffix": (text(["host"], part(1, 1, individual("a", suffix="z"))), [(("az",), 1)]),
    "an empty universal value": (text(["host"], part(1, 1, "")), [(("",), 1)]),
    "several slices, in order": (
        text(RACK_HOST, part(1, 1, "r2", "h1"), part(2, 4, "r1", individual("h9", "h2"))),
        [(("r2", "h1"), 1), (("r1", "h9"), 4), (("r1", "h2"), 4)],
    ),
}


@pytest.mark.parametrize(("data", "want"), READ.values(), ids=READ)
def test_slices_expand_to_domains_in_order(data: bytes, want: list[Domain]) -> None:
    assert decode(data).domains == want


REFUSED: dict[str, tuple[bytes, str, str]] = {
    "no levels": (text([]), "$.levels", "length >= 1"),
    "17 levels": (text(["a"] * 17), "$.levels", "length <= 16"),
    "1001 slices": (text(["a"], *[part(1, 1, "h")] * 1001), "$.slices", "length <= 1000"),
    "a level key too long": (text(["a" * 318]), "$.levels[0]", "length <= 317"),
    "a value too long": (
        text(["a"], part(1, 1, "h" * 64)),
        "$.slices[0].valuesPerLevel[0].universal",
        "length <= 63",
    ),
    "no domains in a slice": (text(["a"], part(0, 1, "h")), "$.slices[0].domainCount", ">= 1"),
    "a count of 0": (text(["a"], part(1, 0, "h")), "$.slices[0].podCounts.universal", ">= 1"),
    "a negative count": (
        text(["a"], part(2, [1, -1], "h")),
        "$.slices[0].podCounts.individual[1]",
        ">= 1",
    ),
    "values for another number of levels": (
        text(RACK_HOST, part(1, 1, "r")),
        "$.slices[0].valuesPerLevel",
        "has 1 items (expected 2, one for each level)",
    ),
    "too few roots": (
        text(["a"], part(2, 1, individual("x"))),
        "$.slices[0].valuesPerLevel[0].individual.roots",
        "has 1 items (expected 2, one for each domain)",
    ),
    "too many counts": (
        text(["a"], part(1, [1, 1], "h")),
        "$.slices[0].podCounts.individual",
        "has 2 items (expected 1, one for each domain)",
    ),
    "both kinds of values": (
        text(["a"], part(1, 1, {"universal": "x", **individual("x")})),
        "$.slices[0].valuesPerLevel[0]",
        "has both or neither",
    ),
    "no kind of values": (
        text(["a"], part(1, 1, {})),
        "$.slices[0].valuesPerLevel[0]",
        "has both or neither",
    ),
    "no kind of counts": (
        text(["a"], {**part(1, 1, "h"), "podCounts": {}}),
        "$.slices[0].podCounts",
        "has both or neither",
    ),
    "more domains than memory holds": (
        text(["a"], part(2**31 - 1, 1, "h")),
        "$.slices[0].domainCount",
        "more domains than can be kept",
    ),
    "no JSON": (b"{", "$", "truncated"),
}


@pytest.mark.parametrize(("data", "want_field", "want"), REFUSED.values(), ids=REFUSED)
def test_what_the_api_server_refuses_is_refused_with_its_path(
    data: bytes, want_field: str, want: str
) -> None:
    with pytest.raises(InputError) as caught:
        decode(data, "$.status.topologyAssignment")
    assert caught.value.field == want_field.replace("$", "$.status.topologyAssignment", 1)
    assert want in str(caught.value)


GATES = {"by prefix": True, "in one slice": False}

WRITTEN: dict[str, tuple[list[str], list[Domain], list[Any]]] = {
    "nothing": (["host"], [], []),
    "one domain": (RACK_HOST, [(("r", "h"), 3)], [part(1, 3, "r", "h")]),
    "equal names, unequal counts": (["host"], [(("h",), 1), (("h",), 2)], [part(2, [1, 2], "h")]),
    "prefix and suffix may not overlap": (
        ["host"],
        hosts("ababa", "aba"),
        [part(2, 1, individual("ab", "", suffix="aba"))],
    ),
    "the prefix gives way": (
        ["host"],
        hosts("abacacada", "abacada"),
        [part(2, 1, individual("ac", "", prefix="ab", suffix="acada"))],
    ),
    "nothing in common": (["host"], hosts("x", "y"), [part(2, 1, individual("x", "y"))]),
    "a common rack": (
        RACK_HOST,
        [(("r1", "n-1"), 2), (("r1", "n-20"), 2)],
        [part(2, 2, "r1", individual("1", "20", prefix="n-"))],
    ),
}


@pytest.mark.parametrize("gate", GATES.values(), ids=GATES)
@pytest.mark.parametrize(("levels", "domains", "want"), WRITTEN.values(), ids=WRITTEN)
def test_one_slice_says_once_what_its_domains_share(
    levels: list[str], domains: list[Domain], want: list[Any], gate: bool
) -> None:
    got = json.loads(encode(levels, domains, by_hostname_prefix=gate))
    assert got == {"levels": levels, "slices": want}


def names(prefix: str, count: int, first: int = 0) -> list[str]:
    return [f"{prefix}{number}" for number in range(first, first + count)]


POOL_A, POOL_B = "cluster-with-a-long-name-pool-a-", "cluster-with-a-long-name-pool-b-"

# Names in order, and how many of them stand in each slice.
CUT: dict[str, tuple[list[str], list[int]]] = {
    "two pools": (names(POOL_A, 99) + names(POOL_B, 99), [99, 99]),
    "a name that shares nothing stands alone": ([*names(POOL_A, 30), "x"], [30, 1]),
    "a prefix used once is no key": (["a-1", "b-1", "c-1"], [3]),
    "pools in turns are shorter in one slice": (
        [name for n in range(600) for name in (f"a-{n}", f"b-{n}")],
        [1200],
    ),
    "1001 groups back off to the shorter key": (
        [f"cluster-x-group{n}-{host}" for n in range(1001) for host in range(2)] + names("other-", 2),
        [2002, 2],
    ),
    "a dash at the end is no key": (["a-", "a-", "bbbbbbbbbbbbbbbbbbbbb"], [3]),
    "a lone name keys by what it shares with others": (
        [*names("pool-a-x-", 12), "pool-b-1", *names("zone-with-a-long-name-", 12)],
        [12, 1, 12],
    ),
}


@pytest.mark.parametrize(("given_names", "want"), CUT.values(), ids=CUT)
def test_host_names_are_cut_where_their_beginning_changes(given_names: list[str], want: list[int]) -> None:
    domains = hosts(*given_names)
    got = json.loads(encode([HOSTNAME], domains))
    assert [one["domainCount"] for one in got["slices"]] == want
    assert decode(encode([HOSTNAME], domains)).domains == domains


def test_only_host_names_are_cut() -> None:
    domains = hosts(*CUT["two pools"][0])
    assert len(json.loads(encode(["rack"], domains))["slices"]) == 1


def test_a_slice_holds_at_most_100000_domains_with_the_gate_on() -> None:
    domains = hosts(*names("n", 150_000))
    for levels in (["rack"], [HOSTNAME]):
        data = encode(levels, domains)
        assert [one["domainCount"] for one in json.loads(data)["slices"]] == [100_000, 50_000]
        assert decode(data).domains == domains
    (only,) = json.loads(encode(["rack"], domains, by_hostname_prefix=False))["slices"]
    assert only["domainCount"] == 150_000


def test_the_shorter_text_wins_and_several_slices_win_a_tie() -> None:
    for count in range(1, 60):
        domains = hosts(*names(POOL_A, count), *names(POOL_B, count))
        by_prefix, single = encode([HOSTNAME], domains), encode([HOSTNAME], domains, by_hostname_prefix=False)
        slices = len(json.loads(by_prefix)["slices"])
        assert len(by_prefix) <= len(single)
        assert slices == (1 if by_prefix == single else 2)


def test_a_domain_without_a_value_for_a_level_is_refused() -> None:
    with pytest.raises(ValueError, match=r"domains\[1\] has 1 values for 2 levels"):
        encode(RACK_HOST, [(("r", "h"), 1), (("r",), 1)])


LABEL = st.text(st.sampled_from("ab-.01"), max_size=12)
COUNT = st.integers(1, 2**31 - 1) | st.integers(1, 2)


@given(st.data(), st.integers(1, 4), st.booleans(), st.booleans())
def test_what_was_written_reads_back_the_same(
    data: st.DataObject, depth: int, by_host: bool, gate: bool
) -> None:
    levels = [f"level-{number}" for number in range(depth)]
    if by_host:
        levels[-1] = HOSTNAME
    values = st.tuples(*[LABEL] * depth)
    domains = data.draw(st.lists(st.tuples(values, COUNT), max_size=40))
    got = decode(encode(levels, domains, by_hostname_prefix=gate))
    assert got == (tuple(levels), domains)
