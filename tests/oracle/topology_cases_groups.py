"""Leaders with their workers.

Rewritten from the tables of Kueue's own tests (topology of one flavor), and added to where the rules have corners.
"""

from tests.oracle.topology_table import Case

CASES = {
    "the leader stands with as many workers as fit beside it": Case(
        "block rack host",
        "b1/r1/x1=20,gpu:4 b1/r1/x2=20,gpu:2 b1/r1/x3=20,gpu:2 b1/r1/x4=20,gpu:2",
        (
            "leader:1 gpu=0 preferred=block group=g cpu=1",
            "workers:6 gpu=1 preferred=block slices=host:2 group=g cpu=1",
        ),
        want={"leader": "x1:1", "workers": "x1:4 x2:2"},
    ),
    "the leader needs a host without what the workers need": Case(
        "zone host",
        "z1/x1=32,memory:128,gpu:0 z2/x2=8,memory:32,gpu:8 z2/x3=8,memory:32,gpu:8",
        (
            "leader:1 cpu=16 memory=64 gpu=0 preferred=zone slices=host:1 group=g",
            "workers:2 cpu=4 memory=32 gpu=8 preferred=zone slices=host:1 group=g",
        ),
        want={"leader": "x1:1", "workers": "x2:1 x3:1"},
        gates=("prefers_affinity",),
    ),
    "leader and worker fit in the small rack": Case(
        "block rack host",
        "b1/r1/x1=6000 b1/r2/x2=2800 b1/r2/x3=300",
        (
            "leader:1 cpu=1000 required=rack group=g",
            "workers:1 cpu=1000 required=rack group=g",
        ),
        want={"leader": "x2:1", "workers": "x2:1"},
    ),
    "small workers fit in the small rack, the leader does not": Case(
        "block rack host",
        "b1/r1/x1=6000 b1/r2/x2=2800 b1/r2/x3=300",
        (
            "leader:1 cpu=2500 required=rack group=g",
            "workers:2 cpu=500 required=rack group=g",
        ),
        want={"leader": "x1:1", "workers": "x1:2"},
    ),
    "the small rack takes a worker but no leader beside it": Case(
        "block rack host",
        "b1/r1/x1=6000 b1/r2/x2=2800 b1/r2/x3=300",
        (
            "leader:1 cpu=2500 required=rack group=g",
            "workers:1 cpu=2500 required=rack group=g",
        ),
        want={"leader": "x1:1", "workers": "x1:1"},
    ),
    "leader and worker on different hosts of a slice": Case(
        "rack host",
        "r1/x1=1,gpu:0 r1/x2=0,gpu:1",
        (
            "leader:1 gpu=0 required=rack slices=rack:1 group=g cpu=1",
            "workers:1 cpu=0 gpu=1 required=rack slices=rack:1 group=g",
        ),
        want={"leader": "x1:1", "workers": "x2:1"},
    ),
    "the leader stands where it costs no worker": Case(
        "rack host",
        "r1/h1=2 r1/h2=4 r1/h3=3",
        (
            "leader:1 required=rack group=g",
            "workers:4 cpu=2 required=rack group=g",
        ),
        want={"leader": "h3:1", "workers": "h1:1 h2:2 h3:1"},
    ),
    "the leader moves to the other host to save room for workers": Case(
        "host",
        "h1=8 h2=3",
        (
            "leader:1 preferred=host group=g",
            "workers:5 cpu=2 preferred=host group=g",
        ),
        want={"leader": "h2:1", "workers": "h1:4 h2:1"},
    ),
    "the leader stands where it costs no slice": Case(
        "rack host",
        "r1/h1=2 r1/h2=4 r1/h3=3",
        (
            "leader:1 required=rack group=g",
            "workers:8 required=rack slices=host:2 group=g",
        ),
        want={"leader": "h3:1", "workers": "h1:2 h2:4 h3:2"},
    ),
    "the one block that takes both": Case(
        "block",
        "b1=2,gpu:2 b2=5,gpu:4 b3=2,gpu:2",
        (
            "leader:1 gpu=0 required=block group=g cpu=1",
            "workers:4 gpu=1 required=block group=g cpu=1",
        ),
        want={"leader": "b2:1", "workers": "b2:4"},
    ),
    "no leader fits: the message counts the workers alone": Case(
        "block",
        "b1=4,gpu:4 b2=4,gpu:4",
        (
            "leader:1 cpu=10 gpu=0 required=block group=g",
            "workers:4 gpu=1 required=block group=g cpu=1",
        ),
        want_failure="leader 4/4 pods, 2 leaves",
    ),
    "workers fit exactly, no room for the leader": Case(
        "block",
        "b1=1,gpu:0 b2=4,gpu:4",
        (
            "leader:1 gpu=0 required=block group=g cpu=1",
            "workers:4 gpu=1 required=block group=g cpu=1",
        ),
        want_failure='leader 4/4 pods, 2 leaves, resource "gpu" 1',
    ),
    "the leader takes a host of its own": Case(
        "block rack host",
        "b1/r1/x1=2,gpu:1 b1/r1/x3=2,gpu:1 b1/r1/x5=2,gpu:1 b2/r4/x6=1,gpu:1 b2/r5/x2=2,gpu:1 "
        "b2/r6/x4=2,gpu:1",
        (
            "leader:1 cpu=2 gpu=0 required=block group=g",
            "workers:2 gpu=1 required=block group=g cpu=1",
        ),
        want={"leader": "x1:1", "workers": "x3:1 x5:1"},
    ),
    "leader and workers ask for the same and share the racks": Case(
        "block rack host",
        "b1/r1/x3=1,gpu:1 b1/r1/x5=1,gpu:1 b1/r2/x1=1,gpu:1 b1/r2/x6=1,gpu:1 b2/r3/x2=1,gpu:1 "
        "b2/r3/x4=1,gpu:1 b2/r4/x7=1,gpu:1 b2/r4/x8=1,gpu:1",
        (
            "leader:1 gpu=1 required=block group=g cpu=1",
            "workers:2 gpu=1 required=block group=g cpu=1",
        ),
        want={"leader": "x3:1", "workers": "x5:1 x1:1"},
    ),
    "the tighter block has no room for the leader": Case(
        "block",
        "b1=11,gpu:8 b2=4,gpu:4",
        (
            "leader:1 gpu=0 required=block group=g cpu=1",
            "workers:4 gpu=1 required=block group=g cpu=1",
        ),
        want={"leader": "b1:1", "workers": "b1:4"},
    ),
    "workers that need two each": Case(
        "block",
        "b1=2,gpu:2 b2=8,gpu:8 b3=2,gpu:2",
        (
            "leader:1 gpu=0 required=block group=g cpu=1",
            "workers:4 gpu=2 required=block group=g cpu=1",
        ),
        want={"leader": "b2:1", "workers": "b2:4"},
    ),
    "the tightest zone that takes both": Case(
        "zone rack host",
        "z1/r1/x1=10,memory:10 z2/r2/x2=6,memory:10",
        (
            "leader:1 memory=1 required=zone slices=rack:1 group=g cpu=1",
            "workers:5 memory=1 required=zone slices=rack:1 group=g cpu=1",
        ),
        want={"leader": "x2:1", "workers": "x2:5"},
    ),
    "an unconstrained group stands on two hosts": Case(
        "host",
        "h1=1,gpu:0 h2=0,gpu:1",
        (
            "leader:1 gpu=0 unconstrained group=g cpu=1",
            "workers:1 cpu=0 gpu=1 unconstrained group=g",
        ),
        want={"leader": "h1:1", "workers": "h2:1"},
    ),
}
