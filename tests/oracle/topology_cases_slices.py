"""Placements in slices, of one layer or of several.

Rewritten from the tables of Kueue's own tests (topology of one flavor), and added to where the rules have corners.
"""

from tests.oracle.topology_table import Case

CASES = {
    "a slice leaves the odd pod of each host free": Case(
        "block rack host",
        "b1/r1/x1=3 b1/r1/x3=3 b1/r1/x5=3",
        ("main:6 required=block slices=host:2",),
        want={"main": "x1:2 x3:2 x5:2"},
    ),
    "the last slice goes to the tightest host": Case(
        "block rack host",
        "b1/r1/x1=2 b1/r1/x3=4 b1/r1/x5=3",
        ("main:6 required=block slices=host:2",),
        want={"main": "x1:2 x3:4"},
    ),
    "as many slices, less rest: the smaller of two hosts that hold the same slices": Case(
        "block rack host",
        "b1/r1/x1=4 b1/r1/x3=6 b1/r1/x5=5 b1/r1/x6=2",
        ("main:12 required=block slices=host:2",),
        want={"main": "x1:4 x3:6 x6:2"},
    ),
    "two hosts without rest rather than one with": Case(
        "block rack host",
        "b1/r1/x1=2 b1/r1/x3=3 b1/r1/x5=2",
        ("main:4 required=block slices=host:2",),
        want={"main": "x1:2 x5:2"},
    ),
    "three hosts of the largest block and one of the next": Case(
        "block rack host",
        "b1/r1/x1=3 b1/r1/x3=3 b1/r1/x5=3 b2/r1/x6=6",
        ("main:12 preferred=block slices=host:3",),
        want={"main": "x1:3 x3:3 x6:6"},
    ),
    "slices of a rack, over blocks": Case(
        "block rack host",
        "b1/r1/x3=1 b1/r2/x1=1 b1/r2/x5=1 b1/r2/x6=1 b2/r1/x2=1 b2/r2/x4=2",
        ("main:4 preferred=block slices=rack:2",),
        want={"main": "x1:1 x5:1 x4:2"},
    ),
    "slices of a rack, in one block": Case(
        "block rack host",
        "b1/r1/x3=1 b1/r1/x5=1 b1/r2/x1=1 b1/r2/x2=1 b1/r2/x6=1 b2/r1/x4=1 b2/r1/x7=1",
        ("main:4 required=block slices=rack:2",),
        want={"main": "x3:1 x5:1 x1:1 x2:1"},
    ),
    "one slice finds a rack, the other does not": Case(
        "block rack host",
        "b1/r1/x3=3 b1/r2/x5=1 b1/r3/x1=1 b1/r4/x6=1",
        ("main:6 required=block slices=rack:3",),
        want_failure="main 1/2 slices, 4 leaves",
    ),
    "the block has the room, no rack has": Case(
        "block rack host",
        "b1/r1/x3=2 b1/r2/x5=2 b1/r3/x1=2",
        ("main:6 required=block slices=rack:3",),
        want_failure="main 0/2 slices, 3 leaves",
    ),
    "both blocks have the room, one has the racks": Case(
        "block rack host",
        "b1/r1/x3=2 b1/r2/x5=2 b1/r3/x1=2 b2/r4/x6=3 b2/r5/x2=3",
        ("main:6 required=block slices=rack:3",),
        want={"main": "x6:3 x2:3"},
    ),
    "slices alone stand in whatever block": Case(
        "block rack host",
        "b1/r1/x1=3 b1/r1/x3=3 b1/r1/x5=3",
        ("main:6 slices=host:2",),
        want={"main": "x1:2 x3:2 x5:2"},
    ),
    "slices alone may spread over blocks": Case(
        "block rack host",
        "b1/r1/x1=1 b1/r1/x3=4 b1/r1/x5=1 b2/r1/x2=1 b2/r1/x6=2",
        ("main:6 slices=host:2",),
        want={"main": "x3:4 x6:2"},
    ),
    "slices of a rack alone start with the least room": Case(
        "block rack host",
        "b1/r1/x3=1 b1/r2/x1=1 b1/r2/x5=1 b1/r2/x6=1 b2/r1/x2=1 b2/r2/x4=2",
        ("main:4 slices=rack:2",),
        want={"main": "x1:1 x5:1 x4:2"},
    ),
    "a slice level that the topology does not have": Case(
        "block rack host",
        "b1/r1/x3=1 b1/r2/x1=1 b1/r2/x5=1 b1/r2/x6=1 b2/r1/x2=1 b2/r2/x4=2",
        ("main:1 required=block slices=shelf:1",),
        want_failure="main SLICE_LEVEL_UNKNOWN shelf",
    ),
    "a slice level above the level of the pod set": Case(
        "block rack host",
        "b1/r1/x3=1 b1/r2/x1=1 b1/r2/x5=1 b1/r2/x6=1 b2/r1/x2=1 b2/r2/x4=2",
        ("main:1 required=host slices=block:1",),
        want_failure="main SLICE_ABOVE_MAIN block host",
    ),
    "a slice level without size": Case(
        "block rack host",
        "b1/r1/x3=1 b1/r2/x1=1 b1/r2/x5=1 b1/r2/x6=1 b2/r1/x2=1 b2/r2/x4=2",
        ("main:1 required=block slices=host:None",),
        want_failure="main SLICE_SIZE_MISSING",
    ),
    "hosts of a rack take pairs only": Case(
        "block rack host",
        "b1/r1/x1=1 b1/r1/x2=4 b1/r2/x3=3 b1/r2/x4=4",
        ("main:8 required=block slices=rack:4,host:2",),
        want={"main": "x2:4 x3:2 x4:2"},
    ),
    "without the inner layer the odd pods are used": Case(
        "block rack host",
        "b1/r1/x1=1 b1/r1/x2=4 b1/r2/x3=3 b1/r2/x4=4",
        ("main:8 required=block slices=rack:4",),
        want={"main": "x1:1 x2:3 x3:3 x4:1"},
    ),
    "pairs leave too little of a rack": Case(
        "block rack host",
        "b1/r1/x1=3 b1/r1/x2=3 b1/r1/x3=0",
        ("main:6 required=block slices=rack:6,host:2",),
        want_failure='main 0/1 slices, 3 leaves, resource "cpu" 1; rack 0/1; host 2/3',
    ),
    "enough pairs, no rack for six": Case(
        "block rack host",
        "b1/r1/x1=4 b1/r2/x2=4 b1/r3/x3=4",
        ("main:12 required=block slices=rack:6,host:2",),
        want_failure="main 0/2 slices, 3 leaves; rack 0/2; host 6/6",
    ),
    "a small host spoils the slice of its rack": Case(
        "block rack host",
        "b1/r1/x1=7 b1/r1/x2=4 b1/r2/x3=7 b1/r2/x4=3",
        ("main:16 required=block slices=rack:8,host:4",),
        want_failure="main 1/2 slices, 4 leaves; rack 1/2; host 3/4",
    ),
    "three layers: small hosts spoil the block above": Case(
        "datacenter block rack host",
        "dc1/b1/r1/x1=4 dc1/b1/r1/x2=4 dc1/b1/r2/x3=4 dc1/b1/r2/x4=4 dc1/b2/r3/x5=4 dc1/b2/r3/x6=4 "
        "dc1/b2/r4/x7=1 dc1/b2/r4/x8=1",
        ("main:24 required=datacenter slices=block:12,rack:6,host:3",),
        want_failure="main 1/2 slices, 8 leaves; block 1/2; rack 3/4; host 6/8",
    ),
    "slices of zones and racks with a level between": Case(
        "datacenter aizone block rack",
        "dc0/aizone0/block0/r0=36 dc0/aizone0/block0/r1=36 dc0/aizone0/block1/r2=36 "
        "dc0/aizone0/block1/r3=36 dc0/aizone1/block2/r4=36 dc0/aizone1/block2/r5=36 "
        "dc0/aizone1/block3/r6=36 dc0/aizone1/block3/r7=36",
        ("main:96 cpu=2 required=datacenter slices=aizone:48,rack:16",),
        want={
            "main": "dc0/aizone0/block0/r0:16 dc0/aizone0/block0/r1:16 dc0/aizone0/block1/r2:16 "
            "dc0/aizone1/block2/r4:16 dc0/aizone1/block2/r5:16 dc0/aizone1/block3/r6:16"
        },
    ),
    "preferred slices by score, then by room": Case(
        "host",
        "x1=2~10 x2=1~10 x3=2 x4=2 x5=1",
        ("main:4 preferred=host slices=host:2",),
        want={"main": "x1:2 x3:2"},
        gates=("prefers_affinity",),
    ),
    "slices on unconstrained hosts by score": Case(
        "host",
        "x1=2~10 x2=1~10 x3=2 x4=2 x5=1",
        ("main:4 unconstrained slices=host:2",),
        want={"main": "x1:2 x3:2"},
        gates=("prefers_affinity",),
    ),
}
