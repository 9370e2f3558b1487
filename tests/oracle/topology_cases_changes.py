"""Repairs of one node, and elastic workloads.

Rewritten from the tables of Kueue's own tests (topology of one flavor), and added to where the rules have corners.
"""

from tests.oracle.topology_table import Case

CASES = {
    "the only node is lost: any other": Case(
        "host",
        "x2=1",
        ("main:1 required=host previous=x1:1 unhealthy=x1",),
        want={"main": "x2:1"},
    ),
    "the workload of one pod keeps its node": Case(
        "host",
        "x2=1",
        ("main:1 required=host previous=x1:1 unhealthy=x1 keep",),
        want={"main": "x1:1"},
    ),
    "a slice is made whole in its rack": Case(
        "block rack host",
        "b1/r1/x1=1 b1/r1/x2=1 b1/r2/x4=1 b1/r2/x5=2",
        ("main:4 required=block slices=rack:2 previous=x1:1,x2:1,x3:1,x4:1 unhealthy=x3",),
        want={"main": "x1:1 x2:1 x4:2"},
    ),
    "the rack of the broken slice has no room": Case(
        "block rack host",
        "b1/r1/x1=1000 b1/r1/x2=1000 b1/r2/x4=500",
        ("main:4 cpu=1000 required=block slices=rack:2 previous=x1:1,x2:1,x3:1,x4:1 unhealthy=x3",),
        want_failure='main 0/1 pods, 3 leaves, resource "cpu" 1, topologyDomain 2',
    ),
    "a sibling flavor uses the room in the rack of the broken slice": Case(
        "block rack host",
        "b1/r1/x1=1 b1/r1/x2=1 b1/r2/x4=1-1",
        ("main:4 required=block slices=rack:2 previous=x1:1,x2:1,x3:1,x4:1 unhealthy=x3",),
        want_failure='main 0/1 pods, 3 leaves, resource "cpu" 1, topologyDomain 2',
    ),
    "a rack whose name begins like the required one": Case(
        "block rack host",
        "b1/rack-a/x2=1-1 b1/rack-ab/x3=1",
        ("main:2 required=rack previous=x1:1,x2:1 unhealthy=x1",),
        want_failure='main 0/1 pods, 2 leaves, resource "cpu" 1, topologyDomain 1',
    ),
    "the innermost layer that is broken says where": Case(
        "block rack switch host",
        "b1/r1/s1/x1=4 b1/r1/s1/x2=4 b1/r1/s2/x4=8 b1/r2/s3/x5=4 b1/r2/s3/x6=4 b1/r2/s4/x7=4 b1/r2/s4/x8=4",
        (
            "main:16 required=block slices=rack:8,switch:4,host:2"
            " previous=x1:2,x2:2,x3:2,x4:2,x5:2,x6:2,x7:2,x8:2 unhealthy=x3",
        ),
        want={"main": "x1:2 x2:2 x4:4 x5:2 x6:2 x7:2 x8:2"},
    ),
    "a pair needs one host": Case(
        "block rack host",
        "b1/r1/x1=2 b1/r1/x2=2 b1/r2/x4=1 b1/r2/x5=1",
        ("main:8 required=block slices=rack:4,host:2 previous=x1:2,x2:2,x3:2,x4:2 unhealthy=x3",),
        want_failure="main 0/1 slices, 4 leaves, topologyDomain 2",
    ),
    "the same count stays as it is": Case(
        "host",
        "x1=4 x2=4",
        ("main:3 unconstrained previous=x1:2,x2:1",),
        want={"main": "x1:2 x2:1"},
        gates=("elastic",),
    ),
    "fewer pods: cut from the end": Case(
        "host",
        "x1=4 x2=4",
        ("main:3 unconstrained previous=x1:3,x2:2",),
        want={"main": "x1:3"},
        gates=("elastic",),
    ),
    "fewer workers, the leader stays": Case(
        "host",
        "x1=4 x2=2",
        (
            "leader:1 unconstrained group=g previous=x2:1",
            "workers:3 unconstrained group=g previous=x1:3,x2:2",
        ),
        want={"workers": "x1:3", "leader": "x2:1"},
        gates=("elastic",),
    ),
    "the same count, the leader stays too": Case(
        "host",
        "x1=4 x2=4",
        (
            "leader:1 unconstrained group=g previous=x2:1",
            "workers:3 unconstrained group=g previous=x1:2,x2:1",
        ),
        want={"workers": "x1:2 x2:1", "leader": "x2:1"},
        gates=("elastic",),
    ),
    "more pods: those that run keep their host": Case(
        "host",
        "x1=2 x2=2 x3=2",
        ("main:4 unconstrained previous=x1:2",),
        want={"main": "x1:2 x2:2"},
        gates=("elastic",),
    ),
    "more pods: those that run keep their hosts": Case(
        "host",
        "x1=2 x2=2 x3=2",
        ("main:4 unconstrained previous=x1:1,x2:1",),
        want={"main": "x1:1 x2:1 x3:2"},
        gates=("elastic",),
    ),
    "more workers, the leader stays": Case(
        "host",
        "x1=2 x2=1 x3=2",
        (
            "leader:1 unconstrained group=g previous=x2:1",
            "workers:4 unconstrained group=g previous=x1:2",
        ),
        want={"workers": "x1:2 x3:2", "leader": "x2:1"},
        gates=("elastic",),
    ),
    "the leader's host is gone: all are placed anew": Case(
        "host",
        "x1=2 x2=3 x3=3",
        (
            "leader:1 unconstrained group=g previous=deleted-node:1",
            "workers:4 unconstrained group=g previous=x1:2",
        ),
        want={"leader": "x1:1", "workers": "x1:1 x2:3"},
        gates=("elastic",),
    ),
}
