"""A node fails, or comes back: what becomes of Workloads and pods."""

from typing import Any

import msgspec
import pytest

from kueue_fast.api.core import Node, Pod
from kueue_fast.api.kueue import ResourceFlavor, Workload
from kueue_fast.lifecycle.node_failures import (
    FAILURE_DELAY_NS,
    ClearNode,
    EvictWorkload,
    MarkNode,
    NodeOutcome,
    TerminatePod,
    View,
    reconcile_node,
)
from kueue_fast.lifecycle.node_gates import NodeGates
from kueue_fast.model.placements import nodes, placements
from tests.placed import (
    HOSTNAME,
    NOW,
    SLICE_NAME,
    WORKLOAD,
    assignment,
    node,
    on_hosts,
    placed,
    pod,
)

NO_EXECUTE = {"key": "foo", "effect": "NoExecute"}
NO_SCHEDULE = {"key": "foo", "effect": "NoSchedule"}
PREFER = {"key": "foo", "effect": "PreferNoSchedule"}
EARLIER = "2026-01-01T00:59:30Z"

BASE = placed(on_hosts("n1"))
RUNNING = pod("running", node="n1", phase="Running")
FAILED = pod("failed", node="n1", phase="Failed")
SUCCEEDED = pod("succeeded", node="n1", phase="Succeeded")
LEAVING = pod("leaving", node="n1", phase="Running", deleted=True)
WAITING = pod("waiting", select={HOSTNAME: "n1"})
GATED = pod("gated", gates=["kueue.x-k8s.io/topology"])
FOREIGN = {"annotations": {"kueue.x-k8s.io/podset-unconstrained-topology": None}}

DEFAULT = NodeGates()
BOTH_OFF = NodeGates(pod_termination=False)
FIXED_TIME = NodeGates(fixed_time=True)
FIXED_TIME_ONLY = NodeGates(fixed_time=True, pod_termination=False)
NO_TAINTS = NodeGates(taints=False)


def flavor(name: str) -> ResourceFlavor | None:
    specs: dict[str, dict[str, Any]] = {
        "flavor": {},
        "tolerant": {"tolerations": [{"key": "foo", "operator": "Exists"}]},
    }
    if name not in specs:
        return None
    return msgspec.convert({"metadata": {"name": name}, "spec": specs[name]}, ResourceFlavor)


def tolerating(**toleration: Any) -> Workload:
    spec = {"tolerations": [{"key": "foo", **toleration}]}
    pod_sets = [{"name": "main", "count": 1, "template": {"spec": spec}}]
    return placed(on_hosts("n1"), pod_sets=pod_sets)


def unhealthy(*names: str, hosts: tuple[str, ...] = ("n1",), **more: Any) -> Workload:
    return placed(on_hosts(*hosts), unhealthyNodes=[{"name": name} for name in names], **more)


def look(
    a_node: Node | None, workload: Workload, *pods: Pod, gates: NodeGates = DEFAULT, name: str = "n1"
) -> NodeOutcome:
    return reconcile_node(name, a_node, View([workload], pods, flavor, gates), NOW)


def words(outcome: NodeOutcome) -> list[str]:
    """The actions in short: what, and for a pod which."""
    found = []
    for action in outcome.actions:
        match action:
            case TerminatePod(ended, _):
                found.append(f"end {ended.metadata.name}")
            case MarkNode(changed) | ClearNode(changed) | EvictWorkload(changed, _):
                assert changed.status is not None
                names = ",".join(each.name for each in changed.status.unhealthy_nodes or ())
                kind = {MarkNode: "mark", ClearNode: "clear", EvictWorkload: "evict"}[type(action)]
                found.append(f"{kind} {names}".rstrip())
    return found


ROOMY = placed(on_hosts("n1", count=2))
MOVED = placed(on_hosts("n2"))
TWO = placed(on_hosts("n1", "n2"))
TWO_POD_SETS = placed(
    assignment("bears", (HOSTNAME,), (("n1",), 1), (("n2",), 1)),
    assignment("bears-not", (HOSTNAME,), (("n2",), 1)),
    pod_sets=[
        {
            "name": "bears",
            "count": 2,
            "template": {"spec": {"tolerations": [{"key": "foo", "operator": "Exists"}]}},
        },
        {"name": "bears-not", "count": 1, "template": {"spec": {}}},
    ],
)

Case = tuple[Node | None, Workload, tuple[Pod, ...], NodeGates, list[str]]
CASES: dict[str, Case] = {
    # upstream's table
    "a ready node": (node(), BASE, (RUNNING,), DEFAULT, []),
    "a node that came back": (node(), unhealthy("n1"), (RUNNING,), DEFAULT, ["clear"]),
    "not ready long enough, by the time alone": (
        node("False", since=EARLIER),
        BASE,
        (RUNNING,),
        FIXED_TIME_ONLY,
        ["mark n1"],
    ),
    "not ready for long, and a pod runs on": (node("False", since=EARLIER), BASE, (RUNNING,), DEFAULT, []),
    "not ready for long, a pod runs on, and the time counts": (
        node("False", since=EARLIER),
        BASE,
        (RUNNING,),
        FIXED_TIME,
        ["mark n1"],
    ),
    "not ready for long, and neither gate": (
        node("False", since=EARLIER),
        BASE,
        (RUNNING,),
        BOTH_OFF,
        ["mark n1"],
    ),
    "not ready for long, a pod leaves, neither gate": (
        node("False", since=EARLIER),
        BASE,
        (LEAVING,),
        BOTH_OFF,
        ["mark n1"],
    ),
    "not ready, and the last pod leaves": (
        node("False", since=EARLIER),
        BASE,
        (LEAVING,),
        DEFAULT,
        ["mark n1"],
    ),
    "not ready, and the last pod failed": (node("False"), BASE, (FAILED,), DEFAULT, ["mark n1"]),
    "unknown is not ready": (node("Unknown"), BASE, (FAILED,), DEFAULT, ["mark n1"]),
    "not ready, and a pod runs": (node("False"), BASE, (RUNNING,), DEFAULT, []),
    "not ready, some pods are done and one runs": (
        node("False"),
        ROOMY,
        (SUCCEEDED, pod("other", node="n1", phase="Running")),
        DEFAULT,
        [],
    ),
    "a pod that was sent to the node without Kueue's marks holds it": (
        node("False"),
        ROOMY,
        (pod("other", node="n1", **FOREIGN), FAILED),
        DEFAULT,
        [],
    ),
    "the node is gone": (None, BASE, (RUNNING,), DEFAULT, ["mark n1"]),
    "the node is gone, and a late pod of a Workload that moved": (None, MOVED, (WAITING,), DEFAULT, []),
    "nothing is known of the node": (node(None), BASE, (RUNNING,), DEFAULT, ["mark n1"]),
    "nothing is known, and a late pod of a Workload that moved": (node(None), MOVED, (WAITING,), DEFAULT, []),
    "a late pod of a Workload that moved is ended": (
        node("False", since=EARLIER),
        MOVED,
        (WAITING,),
        DEFAULT,
        ["end waiting"],
    ),
    "a second node fails": (
        node("False", since=EARLIER),
        unhealthy("n2", hosts=("n1", "n2")),
        (RUNNING,),
        FIXED_TIME_ONLY,
        ["evict"],
    ),
    "a taint throws pods off": (node(taints=[NO_EXECUTE]), BASE, (), DEFAULT, ["mark n1"]),
    "a taint that is borne for a time, and a pod runs": (
        node(taints=[NO_EXECUTE]),
        tolerating(operator="Exists", tolerationSeconds=60),
        (RUNNING,),
        DEFAULT,
        [],
    ),
    "a taint that is borne for a time, and the pod leaves": (
        node(taints=[NO_EXECUTE]),
        tolerating(operator="Exists", tolerationSeconds=60),
        (LEAVING,),
        DEFAULT,
        ["mark n1"],
    ),
    "the same whatever the gate: a pod runs": (
        node(taints=[NO_EXECUTE]),
        tolerating(operator="Exists", tolerationSeconds=60),
        (RUNNING,),
        BOTH_OFF,
        [],
    ),
    "the same whatever the gate: the pod leaves": (
        node(taints=[NO_EXECUTE]),
        tolerating(operator="Exists", tolerationSeconds=60),
        (LEAVING,),
        BOTH_OFF,
        ["mark n1"],
    ),
    "a taint, and a pod runs": (node(taints=[NO_EXECUTE]), BASE, (RUNNING,), DEFAULT, []),
    "a taint, and the pod leaves": (node(taints=[NO_EXECUTE]), BASE, (LEAVING,), DEFAULT, ["mark n1"]),
    "a taint, at once": (node(taints=[NO_EXECUTE]), BASE, (RUNNING,), BOTH_OFF, ["mark n1"]),
    "a taint that keeps new pods off, and a pod runs": (
        node(taints=[NO_SCHEDULE]),
        BASE,
        (RUNNING,),
        DEFAULT,
        [],
    ),
    "a taint that keeps new pods off, at once": (
        node(taints=[NO_SCHEDULE]),
        BASE,
        (RUNNING,),
        BOTH_OFF,
        ["mark n1"],
    ),
    "a taint that only warns": (node(taints=[PREFER]), BASE, (), BOTH_OFF, []),
    "taints do not count": (node(taints=[NO_EXECUTE]), BASE, (), NO_TAINTS, []),
    "a taint that the template bears": (
        node(taints=[NO_SCHEDULE]),
        tolerating(operator="Exists"),
        (),
        DEFAULT,
        [],
    ),
    "a comparison bears nothing": (
        node(taints=[{**NO_SCHEDULE, "value": "1"}]),
        tolerating(operator="Lt", value="2"),
        (),
        DEFAULT,
        ["mark n1"],
    ),
    "one of two taints": (
        node(taints=[NO_SCHEDULE, {"key": "bar", "effect": "NoSchedule"}]),
        tolerating(operator="Exists"),
        (),
        DEFAULT,
        ["mark n1"],
    ),
    "a taint that the flavor bears": (
        node(taints=[NO_SCHEDULE]),
        placed({**on_hosts("n1"), "flavors": {"cpu": "flavor", "gpu": "tolerant"}}),
        (),
        DEFAULT,
        [],
    ),
    "a taint that an admission check bears, ready or not": (
        node(taints=[NO_SCHEDULE]),
        placed(
            on_hosts("n1"),
            admissionChecks=[
                {
                    "name": "check",
                    "state": "Pending",
                    "podSetUpdates": [
                        {"name": "other", "tolerations": []},
                        {"name": "main", "tolerations": [{"key": "foo", "operator": "Exists"}]},
                    ],
                }
            ],
        ),
        (),
        DEFAULT,
        [],
    ),
    "only pod sets on the node have to bear its taints": (
        node(taints=[NO_SCHEDULE]),
        TWO_POD_SETS,
        (),
        DEFAULT,
        [],
    ),
    "each pod set on the node has to bear its taints": (
        node(taints=[NO_SCHEDULE], name="n2"),
        TWO_POD_SETS,
        (),
        DEFAULT,
        ["mark n2"],
    ),
    "only the first update of a check counts": (
        node(taints=[NO_SCHEDULE]),
        placed(
            on_hosts("n1"),
            admissionChecks=[
                {
                    "name": "check",
                    "state": "Ready",
                    "podSetUpdates": [
                        {"name": "main"},
                        {"name": "main", "tolerations": [{"key": "foo", "operator": "Exists"}]},
                    ],
                }
            ],
        ),
        (),
        DEFAULT,
        ["mark n1"],
    ),
    "a pod waits for a node that is not ready": (
        node("False"),
        BASE,
        (WAITING,),
        DEFAULT,
        ["mark n1", "end waiting"],
    ),
    "a gated pod holds nothing": (node("False"), BASE, (GATED,), DEFAULT, ["mark n1"]),
    "a pod waits for a tainted node": (
        node(taints=[NO_EXECUTE]),
        BASE,
        (WAITING,),
        DEFAULT,
        ["mark n1", "end waiting"],
    ),
    "a gated pod that was to go to a tainted node stays": (
        node(taints=[NO_SCHEDULE]),
        BASE,
        (pod("gated", gates=["kueue.x-k8s.io/topology"], select={HOSTNAME: "n1"}),),
        DEFAULT,
        ["mark n1"],
    ),
    "places above the host name say nothing of a node": (
        node("False"),
        placed(assignment("main", ("rack",), (("n1",), 1))),
        (pod("x", select={"rack": "n1"}),),
        DEFAULT,
        [],
    ),
    "only the pod that waits for this node is ended": (
        node(taints=[NO_SCHEDULE]),
        TWO,
        (WAITING, pod("elsewhere", select={HOSTNAME: "n2"})),
        DEFAULT,
        ["mark n1", "end waiting"],
    ),
    "a pod that waits, while another runs": (
        node(taints=[NO_SCHEDULE]),
        ROOMY,
        (WAITING, RUNNING),
        DEFAULT,
        ["end waiting"],
    ),
    "no pods at all": (node(taints=[NO_SCHEDULE]), BASE, (), DEFAULT, ["mark n1"]),
    "a Workload without admission, and a stray pod": (
        node(),
        placed(pod_sets=[{"name": "main", "count": 1, "template": {}}], conditions=()),
        (WAITING,),
        DEFAULT,
        ["end waiting"],
    ),
    "a Workload that is finished": (
        node("False", since=EARLIER),
        placed(on_hosts("n1"), conditions=("QuotaReserved", "Admitted", "Finished")),
        (WAITING,),
        DEFAULT,
        [],
    ),
    "a Workload that is evicted": (
        node("False", since=EARLIER),
        placed(on_hosts("n1"), conditions=("QuotaReserved", "Admitted", "Evicted")),
        (WAITING,),
        DEFAULT,
        [],
    ),
    # and what the rules say beyond it
    "a pod waits for a node that is good": (node(), BASE, (WAITING,), DEFAULT, []),
    "a pod waits for a node whose taints it bears": (
        node(taints=[NO_SCHEDULE]),
        tolerating(operator="Exists"),
        (WAITING,),
        DEFAULT,
        [],
    ),
    "where pods do not decide they are left alone": (
        node("False", since=EARLIER),
        BASE,
        (WAITING,),
        BOTH_OFF,
        ["mark n1"],
    ),
    "where pods do not decide they are left alone under a taint": (
        node(taints=[NO_SCHEDULE]),
        BASE,
        (WAITING,),
        BOTH_OFF,
        ["mark n1"],
    ),
    "not ready since nobody knows when": (node("False", since=None), BASE, (RUNNING,), BOTH_OFF, ["mark n1"]),
    "overdue, and a late pod of a Workload that moved": (
        node("False", since=EARLIER),
        unhealthy("n1", hosts=("n2",)),
        (WAITING,),
        FIXED_TIME,
        ["clear", "end waiting"],
    ),
    "a node without spec": (msgspec.structs.replace(node(), spec=None), BASE, (WAITING,), DEFAULT, []),
    "places that are not admitted yet are nobody's": (
        None,
        placed(on_hosts("n1"), conditions=("QuotaReserved",)),
        (),
        DEFAULT,
        [],
    ),
    "noted once": (node("False"), unhealthy("n1"), (FAILED,), DEFAULT, []),
    "noted once, by the time": (
        node("False", since=EARLIER),
        unhealthy("n1"),
        (RUNNING,),
        FIXED_TIME,
        [],
    ),
    "only this node is cleared": (
        node(),
        unhealthy("n2", "n1", hosts=("n1", "n2")),
        (RUNNING,),
        DEFAULT,
        ["clear n2"],
    ),
    "a node of a Workload that moved away is cleared by a late pod only": (
        node(),
        unhealthy("n1", hosts=("n2",)),
        (),
        DEFAULT,
        [],
    ),
    "and is then": (node(), unhealthy("n1", hosts=("n2",)), (WAITING,), DEFAULT, ["clear", "end waiting"]),
    "an eviction leaves the pods alone": (
        node("False"),
        unhealthy("n2", hosts=("n1", "n2")),
        (WAITING,),
        DEFAULT,
        ["evict"],
    ),
    "an eviction by the time leaves the pods alone": (
        node("False", since=EARLIER),
        unhealthy("n2", hosts=("n1", "n2")),
        (WAITING,),
        FIXED_TIME,
        ["evict"],
    ),
    "pods of another namespace do not hold the node": (
        node("False"),
        BASE,
        (pod("x", node="n1", namespace="other"),),
        DEFAULT,
        ["mark n1"],
    ),
    "pods of another Workload do not hold the node": (
        node("False"),
        BASE,
        (pod("x", node="n1", annotations={WORKLOAD: "other"}),),
        DEFAULT,
        ["mark n1"],
    ),
    "pods of a predecessor hold the node": (
        node("False"),
        placed(on_hosts("n1"), annotations={SLICE_NAME: "chain"}),
        (pod("x", node="n1", annotations={WORKLOAD: "before", SLICE_NAME: "chain"}),),
        DEFAULT,
        [],
    ),
    "a waiting pod without Kueue's marks is left alone": (
        node("False"),
        BASE,
        (pod("x", select={HOSTNAME: "n1"}, **FOREIGN),),
        DEFAULT,
        ["mark n1"],
    ),
    "a pod that is said to run nowhere is left alone": (
        node("False"),
        BASE,
        (pod("x", select={HOSTNAME: "n1"}, phase="Running"),),
        DEFAULT,
        ["mark n1"],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_nodes(case: str) -> None:
    a_node, workload, pods, gates, want = CASES[case]
    name = "n1" if a_node is None else a_node.metadata.name
    outcome = look(a_node, workload, *pods, gates=gates, name=name)
    assert words(outcome) == want
    assert outcome.requeue_after_ns is None


WAITS: dict[str, tuple[str, NodeGates, int | None]] = {
    "pods decide, so nothing is waited for": ("2026-01-01T01:00:00Z", DEFAULT, None),
    "the time decides": ("2026-01-01T01:00:00Z", FIXED_TIME_ONLY, FAILURE_DELAY_NS),
    "the rest of the time": ("2026-01-01T00:59:40Z", BOTH_OFF, FAILURE_DELAY_NS - 20_000_000_000),
    "the time is over": (EARLIER, FIXED_TIME_ONLY, None),
    "pods or the time decide: upstream forgets to look again": (
        "2026-01-01T00:59:40Z",
        FIXED_TIME,
        FAILURE_DELAY_NS - 20_000_000_000,
    ),
    "both, and the time is over": (EARLIER, FIXED_TIME, None),
}


@pytest.mark.parametrize("case", WAITS)
def test_a_node_that_is_not_ready_is_looked_at_again(case: str) -> None:
    since, gates, want = WAITS[case]
    assert look(node("False", since=since), BASE, RUNNING, gates=gates).requeue_after_ns == want


def test_before_its_time_nothing_is_done() -> None:
    assert look(node("False"), BASE, FAILED, WAITING, gates=BOTH_OFF).actions == []


def test_an_eviction_names_all_nodes() -> None:
    before = unhealthy("n2", hosts=("n1", "n2"))
    (action,) = look(None, before).actions
    assert isinstance(action, EvictWorkload)
    assert action.workload.status is not None
    evicted = next(each for each in action.workload.status.conditions or () if each.type == "Evicted")
    want = "Workload eviction triggered due to multiple TAS assigned node failures, including: n2, n1"
    assert (evicted.status, evicted.reason, evicted.message) == ("True", "NodeFailures", want)
    event = action.event
    assert (event.type, event.reason, event.kind, event.message) == (
        "Normal",
        "EvictedDueToNodeFailures",
        "Workload",
        want,
    )


def test_a_pod_is_ended_with_words() -> None:
    (action,) = look(node(), MOVED, WAITING).actions
    assert isinstance(action, TerminatePod)
    assert msgspec.to_builtins(action.pod.status) == {
        "phase": "Failed",
        "conditions": [
            {
                "type": "TerminatedByKueue",
                "status": "True",
                "reason": "UnschedulableOnAssignedNode",
                "message": "Pod terminated by Kueue NodeController due to node taint",
                "lastTransitionTime": "2026-01-01T01:00:00Z",
            }
        ],
    }
    assert (action.event.type, action.event.reason, action.event.kind, action.event.name) == (
        "Normal",
        "PodTerminatedByKueue",
        "Pod",
        "waiting",
    )
    assert WAITING.status is not None
    assert WAITING.status.phase == "Pending"


def test_the_last_node_leaves_no_list() -> None:
    (action,) = look(node(), unhealthy("n1"), RUNNING).actions
    assert isinstance(action, ClearNode)
    assert action.workload.status is not None
    assert action.workload.status.unhealthy_nodes is None


def test_workloads_and_pods_come_in_order() -> None:
    workloads = [placed(on_hosts("n1"), name=name) for name in ("b", "c", "a")]
    pods = [
        pod(f"{of}{n}", select={HOSTNAME: "n1"}, annotations={WORKLOAD: of}) for n in (2, 1) for of in "ba"
    ]
    outcome = reconcile_node("n1", node("False"), View(workloads, pods, flavor), NOW)
    assert [each.workload.metadata.name for each in outcome.actions if isinstance(each, MarkNode)] == [
        "a",
        "b",
        "c",
    ]
    assert words(outcome)[3:] == ["end a1", "end a2", "end b1", "end b2"]


def test_a_flavor_that_is_missing_is_named() -> None:
    workload = placed({**on_hosts("n1"), "flavors": {"cpu": "none"}})
    with pytest.raises(LookupError, match="none"):
        look(node(taints=[NO_SCHEDULE]), workload)


NODES: dict[str, tuple[Workload, set[str]]] = {
    "each host once, of all pod sets": (
        placed(
            assignment("a", (HOSTNAME,), (("x1",), 1), (("x2",), 2)),
            assignment("b", (HOSTNAME,), (("x2",), 1)),
            assignment("c", ("rack",), (("r1",), 1)),
            assignment("d", (HOSTNAME,)),
        ),
        {"x1", "x2"},
    ),
    "several levels down to the host": (
        placed(assignment("a", ("rack", HOSTNAME), (("r1", "x1"), 1))),
        {"x1"},
    ),
    "not admitted": (placed(on_hosts("x1"), conditions=("QuotaReserved",)), set()),
    "finished": (placed(on_hosts("x1"), conditions=("Admitted", "Finished")), set()),
    "evicted": (placed(on_hosts("x1"), conditions=("Admitted", "Evicted")), set()),
    "no places": (placed(assignment("a", (HOSTNAME,))), set()),
    "no admission": (placed(), set()),
}


@pytest.mark.parametrize("case", NODES)
def test_nodes_that_find_a_workload(case: str) -> None:
    workload, want = NODES[case]
    assert nodes(workload, placements(workload)) == want
