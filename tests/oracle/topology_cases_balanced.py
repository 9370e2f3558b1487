"""Placements with TASBalancedPlacement.

Rewritten from the tables of Kueue's own tests (topology of one flavor), and added to where the rules have corners.
"""

from tests.oracle.topology_table import Case

CASES = {
    "two racks share evenly": Case(
        "block rack host",
        "b1/r1/x1=15 b1/r2/x2=15",
        ("main:25 preferred=rack",),
        want={"main": "x1:13 x2:12"},
        gates=("balanced",),
    ),
    "racks of different blocks are not shared between": Case(
        "block rack host",
        "b1/r1/x1=14 b1/r1/x2=11 b2/r2/x3=15 b2/r2/x4=10",
        ("main:25 preferred=rack",),
        want={"main": "x1:14 x2:11"},
        gates=("balanced",),
    ),
    "the block that shares evenly, not the one with the largest host": Case(
        "block rack host",
        "b1/r1/x1=20 b1/r1/x2=10 b2/r2/x3=15 b2/r2/x4=15",
        ("main:22 preferred=rack",),
        want={"main": "x3:11 x4:11"},
        gates=("balanced",),
    ),
    "hosts below the threshold do not count for their block": Case(
        "block rack host",
        "b1/r1/x1=5 b1/r1/x2=5 b1/r2/x3=5 b1/r2/x4=5 b2/r3/x5=10 b2/r3/x6=4 b2/r3/x7=4 b2/r3/x8=4 "
        "b2/r4/x9=5 b2/r5/x10=5",
        ("main:20 preferred=rack",),
        want={"main": "x1:5 x2:5 x3:5 x4:5"},
        gates=("balanced",),
    ),
    "one rack that takes all slices rather than two": Case(
        "block rack host",
        "b1/r1/x1=15 b1/r2/x2=15 b1/r3/x3=15 b1/r3/x4=15",
        ("main:25 preferred=rack slices=host:5",),
        want={"main": "x3:15 x4:10"},
        gates=("balanced",),
    ),
    "the hosts with the least room that suffices": Case(
        "block rack host",
        "b1/r1/x1=15 b1/r1/x2=13 b1/r1/x3=10",
        ("main:23 preferred=rack",),
        want={"main": "x1:12 x2:11"},
        gates=("balanced",),
    ),
    "slices over the hosts with the least room that suffices": Case(
        "block rack host",
        "b1/r1/x1=20 b1/r1/x2=15 b1/r1/x3=10",
        ("main:25 preferred=rack slices=host:5",),
        want={"main": "x2:15 x3:10"},
        gates=("balanced",),
    ),
    "the rack whose hosts are most even stands first": Case(
        "block rack host",
        "b1/r1/x1=8 b1/r1/x2=8 b1/r1/x3=8 b1/r2/x4=16 b1/r2/x5=8",
        ("main:24 preferred=rack",),
        want={"main": "x1:8 x2:8 x3:8"},
        gates=("balanced",),
    ),
    "the rack whose hosts are most even stands second": Case(
        "block rack host",
        "b1/r1/x1=10 b1/r1/x2=5 b1/r2/x3=5 b1/r2/x4=5 b1/r2/x5=5",
        ("main:15 preferred=rack",),
        want={"main": "x3:5 x4:5 x5:5"},
        gates=("balanced",),
    ),
    "hosts of one rack share, the requested level is the lowest": Case(
        "block rack host",
        "b1/r1/x1=20 b1/r1/x2=8 b1/r2/x3=15 b1/r2/x4=13 b1/r2/x5=10",
        ("main:22 preferred=host",),
        want={"main": "x3:11 x4:11"},
        gates=("balanced",),
    ),
    "hosts share whole slices": Case(
        "block rack host",
        "b1/r1/x1=15 b1/r1/x2=13 b1/r1/x3=10 b1/r2/x4=20 b1/r2/x5=8",
        ("main:22 preferred=host slices=host:2",),
        want={"main": "x2:12 x3:10"},
        gates=("balanced",),
    ),
    "racks at the top share": Case(
        "rack host",
        "r1/x1=21 r1/x2=9 r2/x3=11 r2/x4=10 r2/x5=10",
        ("main:23 preferred=rack",),
        want={"main": "x1:12 x3:11"},
        gates=("balanced",),
    ),
    "racks share slices, no hosts below": Case(
        "block subblock rack",
        "b1/sb1/r1=18 b1/sb1/r2=8 b1/sb2/r3=15 b1/sb2/r4=15",
        ("main:20 preferred=subblock slices=rack:2",),
        want={"main": "b1/sb2/r3:10 b1/sb2/r4:10"},
        gates=("balanced",),
    ),
    "racks share slices, hosts below fill by size": Case(
        "block subblock rack host",
        "b1/sb1/r1/x1=18 b1/sb1/r2/x2=8 b1/sb2/r3/x3=15 b1/sb2/r4/x4=9 b1/sb2/r4/x5=7",
        ("main:20 preferred=subblock slices=rack:2",),
        want={"main": "x3:10 x4:3 x5:7"},
        gates=("balanced",),
    ),
    "slices two levels below: hosts of a rack fill by slices": Case(
        "block subblock rack host",
        "b1/sb1/r1/x1=18 b1/sb1/r2/x2=8 b1/sb2/r3/x3=15 b1/sb2/r4/x4=9 b1/sb2/r4/x5=7",
        ("main:20 preferred=subblock slices=host:2",),
        want={"main": "x3:10 x4:8 x5:2"},
        gates=("balanced",),
    ),
    "the leader stands with slices on the smaller host": Case(
        "block rack host",
        "b1/r1/x1=20 b1/r1/x2=15 b1/r1/x3=12",
        (
            "leader:1 preferred=rack slices=host:None group=g",
            "workers:25 preferred=rack slices=host:5 group=g",
        ),
        want={"leader": "x3:1", "workers": "x2:15 x3:10"},
        gates=("balanced",),
    ),
    "room for the leader is kept on one host only": Case(
        "block rack host",
        "b1/r1/x1=7 b1/r1/x2=5",
        (
            "leader:1 preferred=rack slices=host:None group=g",
            "workers:10 preferred=rack group=g",
        ),
        want={"leader": "x1:1", "workers": "x1:5 x2:5"},
        gates=("balanced",),
    ),
    "a host without room for the leader keeps its workers": Case(
        "block rack host",
        "b1/r1/x1=6 b1/r1/x2=5",
        (
            "leader:1 preferred=rack slices=host:None group=g",
            "workers:10 preferred=rack group=g",
        ),
        want={"leader": "x1:1", "workers": "x1:5 x2:5"},
        gates=("balanced",),
    ),
    "no even share beside the leader: the usual placement": Case(
        "block rack host",
        "b1/r1/x1=3 b1/r2/x2=3 b1/r3/x3=8 b2/r1/x4=11",
        (
            "leader:1 cpu=5 preferred=block slices=host:None group=g",
            "workers:7 preferred=block group=g",
        ),
        want={"leader": "x3:1", "workers": "x1:3 x2:1 x3:3"},
        gates=("balanced",),
    ),
    "a required host is not balanced": Case(
        "block rack host",
        "b1/r1/x1=1 b1/r1/x2=1",
        ("main:1 required=host",),
        want={"main": "x1:1"},
        gates=("balanced",),
    ),
}
