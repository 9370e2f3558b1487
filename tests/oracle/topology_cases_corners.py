"""Corners of the rules that the other tables leave out; checked against Kueue itself where it does not crash."""

from tests.oracle.topology_table import Case

HOSTS = "block rack host"

CASES = {
    # TP-605, TP-802 to TP-804: what cannot be asked
    "both required and preferred: required says the level": Case(
        "rack host",
        "r1/x1=2 r2/x2=1",
        ("main:3 required=rack preferred=host",),
        want_failure="main 2/3 pods, 2 leaves",
    ),
    "no level at all": Case("rack host", "r1/x1=2", ("main:1",), want_failure="main LEVEL_MISSING"),
    "a level that the topology does not have": Case(
        "rack host", "r1/x1=2", ("main:1 preferred=block",), want_failure="main LEVEL_UNKNOWN block"
    ),
    "the level is looked at before the slice level": Case(
        "rack host",
        "r1/x1=2",
        ("main:1 required=zone slices=block:1",),
        want_failure="main LEVEL_UNKNOWN zone",
    ),
    "the size of the slices is looked at before the level": Case(
        "rack host",
        "r1/x1=2",
        ("main:1 required=zone slices=host:0",),
        want_failure="main SLICE_SIZE_MISSING",
    ),
    "an inner layer that the topology does not have": Case(
        HOSTS,
        "b1/r1/x1=2",
        ("main:1 required=block slices=rack:2,switch:1",),
        want_failure="main LAYER_UNKNOWN switch",
    ),
    "an inner layer above its outer one": Case(
        HOSTS,
        "b1/r1/x1=2",
        ("main:1 required=block slices=rack:2,block:1",),
        want_failure="main LAYER_NOT_LOWER block rack",
    ),
    "an inner layer that does not divide": Case(
        HOSTS,
        "b1/r1/x1=2",
        ("main:3 required=block slices=rack:3,host:2",),
        want_failure="main LAYER_NOT_DIVIDING 2 3",
    ),
    "a topology without nodes": Case(
        "rack", "", ("main:1 required=rack",), want_failure="main NO_DOMAINS rack"
    ),
    "a selector that cannot be read comes after the level": Case(
        "rack", "r1=1", ("main:1 required=block unreadable",), want_failure="main LEVEL_UNKNOWN block"
    ),
    "a selector that cannot be read": Case(
        "rack", "r1=1", ("main:1 required=rack unreadable",), want_failure="main INVALID_FILTER"
    ),
    # TP-2010
    "pods that make no whole slice are left out": Case(
        "rack host", "r1/x1=4 r1/x2=4", ("main:7 required=rack slices=host:2",), want={"main": "x1:4 x2:2"}
    ),
    "fewer pods than a slice stand nowhere, and that is no failure": Case(
        "rack host", "r1/x1=4", ("main:1 required=rack slices=host:2",), want={"main": ""}
    ),
    "no whole slice, balanced": Case(
        "rack host",
        "r1/x1=4",
        ("main:1 preferred=rack slices=host:2",),
        want={"main": ""},
        gates=("balanced",),
    ),
    "no pods": Case("rack host", "r1/x1=4 r2/x2=0", ("main:0 required=rack",), want={"main": ""}),
    # TP-705, TP-706
    "below zero is no room": Case(
        "host",
        "x1=-3 x2=4-6 x3=1",
        ("main:2 required=host",),
        want_failure='main 1/2 pods, 3 leaves, resource "cpu" 2',
    ),
    "a pod without requests counts as a pod": Case(
        "host", "x1=1,pods:2 x2=1,pods:3", ("main:3 required=host cpu=0",), want={"main": "x2:3"}
    ),
    "a resource that the node does not have": Case(
        "host", "x1=4 x2=4,gpu:1", ("main:1 required=host gpu=1 cpu=1",), want={"main": "x2:1"}
    ),
    "filters are for hosts: racks are not excluded": Case(
        "block rack", "b1/r1=1!nodeSelector b1/r2=2", ("main:1 required=rack",), want={"main": "b1/r1:1"}
    ),
    # TP-403
    "racks of the same name in two blocks are two racks": Case(
        HOSTS, "b1/r1/x1=2 b2/r1/x2=2", ("main:4 required=rack",), want_failure="main 2/4 pods, 2 leaves"
    ),
    "names are compared byte by byte": Case(
        "host", "x10=1 x2=1 X3=1", ("main:2 preferred=host",), want={"main": "X3:1 x10:1"}
    ),
    "paths are compared value by value": Case(
        "rack host", "a-b/x1=1 a/x2=1", ("main:1 required=rack",), want={"main": "x2:1"}
    ),
    # TP-801, TP-806, TP-808, TP-810
    "slices on the fullest hosts first": Case(
        "host",
        "x1=6 x2=5 x3=4 x4=3 x5=2",
        ("main:10 unconstrained slices=host:2",),
        want={"main": "x2:2 x3:4 x4:2 x5:2"},
    ),
    "unconstrained without the mixed profile: the largest hosts, then the tightest": Case(
        "host",
        "x1=1 x2=3 x3=5 x4=2",
        ("main:7 unconstrained",),
        want={"main": "x3:5 x4:2"},
        gates=("-mixed_profile",),
    ),
    "required and unconstrained at once counts pods of the largest": Case(
        "host", "x1=1 x2=3", ("main:4 required=host unconstrained",), want_failure="main 3/4 pods, 2 leaves"
    ),
    "unconstrained pods look at all hosts, however they are grouped": Case(
        HOSTS, "b1/r1/x1=3 b1/r1/x2=3 b2/r2/x3=1", ("main:4 unconstrained",), want={"main": "x1:3 x3:1"}
    ),
    "an empty cluster is looked at": Case(
        "host", "x1=4-4 x2=2", ("main:3 required=host",), want={"main": "x1:3"}, empty=True
    ),
    # TP-811, TP-813
    "below a block children are chosen over all racks": Case(
        HOSTS,
        "b1/r1/x1=3 b1/r1/x2=1 b1/r2/x3=3 b1/r2/x4=1",
        ("main:6 required=block",),
        want={"main": "x1:3 x3:3"},
    ),
    "a level between two layers rounds to the inner size": Case(
        "block rack host",
        "b1/r1/x1=3 b1/r1/x2=3 b1/r2/x3=2",
        ("main:6 required=block slices=block:6,host:2",),
        want={"main": "x1:2 x2:2 x3:2"},
    ),
    "below the slices the smallest host is used up first": Case(
        "rack host",
        "r1/x1=1 r1/x2=2 r1/x3=3",
        ("main:5 required=rack slices=rack:5",),
        want={"main": "x1:1 x2:2 x3:2"},
    ),
    "a leader takes the odd room that the inner layer leaves": Case(
        "rack host",
        "r1/x1=5 r1/x2=1",
        ("workers:4 required=rack slices=rack:2,host:2 group=g", "leader:1 required=rack group=g"),
        want={"workers": "x1:4", "leader": "x2:1"},
    ),
    # TP-904
    "a lower threshold keeps a block that can host the leader": Case(
        "block rack",
        "b1/r3=3,gpu:9 b1/r4=4,gpu:4 b2/r1=9,gpu:4 b2/r2=4,gpu:2",
        ("workers:11 preferred=block group=g cpu=1 gpu=1", "leader:1 preferred=block group=g cpu=1 gpu=0"),
        want={"workers": "b1/r3:3 b1/r4:4 b2/r1:4", "leader": "b2/r1:1"},
        gates=("balanced",),
    ),
    # TP-2008: upstream loses the pods that an even share has no room for below
    "balanced shares overrate the hosts two levels below": Case(
        "block rack switch tray host",
        "b1/r0/s0/t0/x1=3 b1/r0/s0/t0/x2=1 b1/r0/s0/t1/x3=4 b1/r0/s0/t1/x4=1 b1/r0/s1/t0/x5=2"
        " b1/r1/s0/t0/x6=1 b1/r1/s0/t1/x7=1",
        ("main:8 preferred=block slices=host:2",),
        want={"main": "x1:2 x3:4 x5:2"},
        gates=("balanced",),
    ),
    "balanced shares do not round to the inner layer": Case(
        "rack switch host",
        "r0/s0/x1=6 r0/s1/x2=3 r0/s1/x3=5",
        ("main:8 preferred=rack slices=switch:4,host:2",),
        want={"main": "x1:4 x2:2 x3:2"},
        gates=("balanced",),
    ),
    # TP-1101, TP-1102, TP-2011
    "of equal pod sets the second leads": Case(
        "host",
        "x1=3",
        ("one:1 required=host group=g", "two:1 required=host group=g cpu=2"),
        want={"one": "x1:1", "two": "x1:1"},
    ),
    "the larger pod set works whichever comes first": Case(
        "rack host",
        "r1/x1=2 r1/x2=1",
        ("one:1 required=host group=g", "two:2 required=rack group=g"),
        want={"two": "x1:1 x2:1", "one": "x1:1"},
    ),
    "a leader of two pods stands once": Case(
        "rack host",
        "r1/x1=9",
        ("workers:4 required=rack group=g", "leader:2 required=rack group=g"),
        want={"workers": "x1:4", "leader": "x1:1"},
    ),
    "three in a group": Case(
        "host",
        "x1=9",
        tuple(f"{name}:1 required=host group=g" for name in ("one", "two", "three")),
        want_failure="one TOO_MANY_IN_GROUP",
    ),
    "what was placed before a failure stays": Case(
        "host",
        "x1=2",
        ("one:1 required=host", "two:2 required=host", "three:1 required=host"),
        want={"one": "x1:1"},
        want_failure="two 1/2 pods, 1 leaves",
    ),
    "leaders are short: none of them fits": Case(
        "host",
        "x1=2 x2=2",
        ("workers:4 preferred=host group=g", "leader:1 preferred=host group=g cpu=3"),
        want_failure="workers 0/4 pods, 2 leaves",
    ),
    # TP-1503 to TP-1508
    "a node that the pod set does not use": Case(
        "host",
        "x1=4-2 x2=4",
        ("main:2 preferred=host previous=x1:2 unhealthy=x9",),
        want_failure="main NO_REPLACEMENT x9",
    ),
    "another node of the assignment is gone too": Case(
        "host",
        "x3=4",
        ("main:2 preferred=host previous=x1:1,x2:1 unhealthy=x1",),
        want_failure="main STALE_DOMAIN x2",
    ),
    "a pod set without assignment is passed over": Case(
        "host", "x1=4", ("main:2 required=host unhealthy=x1",)
    ),
    "preferred pods may move to another rack": Case(
        "rack host",
        "r1/x2=1-1 r2/x3=1",
        ("main:2 preferred=rack previous=x1:1,x2:1 unhealthy=x1",),
        want={"main": "x2:1 x3:1"},
    ),
    "required pods stay in their rack": Case(
        "rack host",
        "r1/x2=1-1 r2/x3=1",
        ("main:2 required=rack previous=x1:1,x2:1 unhealthy=x1",),
        want_failure='main 0/1 pods, 2 leaves, resource "cpu" 1, topologyDomain 1',
    ),
    "usage counts even if the cluster is taken as empty": Case(
        "host",
        "x2=1-1 x3=1",
        ("main:1 required=host previous=x1:1 unhealthy=x1",),
        want={"main": "x3:1"},
        empty=True,
    ),
    "the node itself if it is there and has room": Case(
        "host", "x1=4-2 x2=1", ("main:2 required=host previous=x1:2 unhealthy=x1",), want={"main": "x1:2"}
    ),
    "whole slices may go to any rack of the block": Case(
        HOSTS,
        "b1/r1/x2=2-2 b1/r2/x3=2 b2/r3/x4=2",
        ("main:4 required=block slices=host:2 previous=x1:2,x2:2 unhealthy=x1",),
        want={"main": "x2:2 x3:2"},
    ),
    "an odd rest goes to the rack whose slices it completes": Case(
        "block rack host",
        "b1/r1/x1=4-4 b1/r1/x4=9 b1/r2/x2=5-5 b1/r2/x5=3",
        ("main:12 required=block slices=rack:2 previous=x1:4,x2:5,x3:3 unhealthy=x3",),
        want={"main": "x1:4 x2:5 x5:3"},
    ),
    "slices alone lose their level once a slice is broken": Case(
        "rack host",
        "r1/x1=2-1 r1/x3=1",
        ("main:2 slices=rack:2 previous=x1:1,x2:1 unhealthy=x2",),
        want_failure="main LEVEL_MISSING",
    ),
    # TP-2009
    "half a slice on a host below a rack finds nothing": Case(
        "rack host",
        "r1/x1=4-1",
        ("main:2 required=rack slices=host:2 previous=x1:1,x2:1 unhealthy=x2",),
        want_failure="main 0/1 pods, 1 leaves, topologyDomain 1",
    ),
    "half a slice on a host without rack is made whole": Case(
        "host",
        "x1=4-1",
        ("main:2 required=host slices=host:2 previous=x1:1,x2:1 unhealthy=x2",),
        want={"main": "x1:2"},
    ),
    # TP-1302 to TP-1305
    "more pods: running ones count twice, in use and as assumed": Case(
        "host",
        "x1=3-2",
        ("main:3 unconstrained previous=x1:2",),
        want_failure='main 0/1 pods, 1 leaves, resource "cpu" 1',
        gates=("elastic",),
    ),
    "fewer pods: stored order, not order of names": Case(
        "host",
        "x1=3 x2=3",
        ("main:3 unconstrained previous=x2:2,x1:2",),
        want={"main": "x2:2 x1:1"},
        gates=("elastic",),
    ),
    "no pods left": Case(
        "host", "x1=3", ("main:0 unconstrained previous=x1:2",), want={"main": ""}, gates=("elastic",)
    ),
    "fewer pods need no room": Case(
        "host", "x1=0-2", ("main:1 unconstrained previous=x1:2",), want={"main": "x1:1"}, gates=("elastic",)
    ),
    "without the gate all pods are placed anew": Case(
        "host", "x1=1 x2=3", ("main:3 unconstrained previous=x1:1",), want={"main": "x2:3"}
    ),
    "a stale domain: all pods are placed anew": Case(
        "host",
        "x1=1 x2=3",
        ("main:3 unconstrained previous=x9:1,x1:1",),
        want={"main": "x2:3"},
        gates=("elastic",),
    ),
    "more workers and a leader that has no place yet": Case(
        "host",
        "x1=4 x2=4",
        ("workers:3 unconstrained group=g previous=x1:2", "leader:1 unconstrained group=g"),
        want={"workers": "x1:3", "leader": "x1:1"},
        gates=("elastic",),
    ),
    "fewer workers and a leader that has no place yet": Case(
        "host",
        "x1=2 x2=4",
        ("workers:1 unconstrained group=g previous=x1:2", "leader:1 unconstrained group=g"),
        want={"workers": "x1:1", "leader": "x1:1"},
        gates=("elastic",),
    ),
    "more workers than fit: only they fail": Case(
        "host",
        "x1=2",
        ("leader:1 unconstrained group=g previous=x1:1", "workers:3 unconstrained group=g previous=x1:1"),
        want_failure='workers 0/2 pods, 1 leaves, resource "cpu" 1',
        gates=("elastic",),
    ),
}
