"""What holds for whatever pods there are: nobody goes twice, or anywhere but to a place of the assignment."""

from collections import Counter
from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from kueue_fast.lifecycle.ungating import pods_to_ungate
from kueue_fast.model.placements import placements
from tests.placed import GATE, assignment, placed, pod

RACK = "rack"
INDEX = "index"


class Case(NamedTuple):
    """Pods in each rack; index and, unless it is gated, rack of each pod; whether ranks are asked for."""

    counts: list[int]
    pods: list[tuple[str | None, str | None]]
    ranked: bool


@st.composite
def cases(draw: st.DrawFn) -> Case:
    counts = draw(st.lists(st.integers(1, 3), min_size=1, max_size=3))
    index = st.one_of(st.none(), st.integers(0, sum(counts)).map(str))
    rack = st.one_of(st.none(), st.sampled_from([*(f"r{n}" for n in range(len(counts))), "elsewhere"]))
    return Case(counts, draw(st.lists(st.tuples(index, rack), max_size=8)), draw(st.booleans()))


@given(cases())
def test_pods_go_to_free_places(case: Case) -> None:
    made = assignment("main", (RACK,), *(((f"r{n}",), count) for n, count in enumerate(case.counts)))
    request = {"podIndexLabel": INDEX} if case.ranked else {}
    pod_set = {"name": "main", "count": sum(case.counts), "template": {}, "topologyRequest": request}
    workload = placed(made, pod_sets=[pod_set])
    pods = [
        pod(
            f"p{n}",
            labels={INDEX: index},
            gates=[] if rack else [GATE],
            select={RACK: rack} if rack else None,
        )
        for n, (index, rack) in enumerate(case.pods)
    ]
    went = pods_to_ungate(workload, placements(workload), pods)
    gated = {f"p{n}" for n, (_, rack) in enumerate(case.pods) if rack is None}
    names = [each.metadata.name for each in went]
    assert len(set(names)) == len(names)
    assert set(names) <= gated
    # No rack gets more pods than belong there, but for those that were there.
    before = Counter(rack for _, rack in case.pods)
    after = before + Counter((each.spec.node_selector or {})[RACK] for each in went)
    room = {f"r{n}": count for n, count in enumerate(case.counts)}
    assert all(after[rack] <= max(count, before[rack]) for rack, count in room.items())
    # And none waits while there is room.
    free = sum(max(count - before[rack], 0) for rack, count in room.items())
    assert len(went) == min(len(gated), free)
