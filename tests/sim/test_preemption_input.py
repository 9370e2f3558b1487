"""What is refused of manifests that say who may preempt whom: the message, and that nothing is simulated."""

from pathlib import Path

import pytest

from kueue_fast.errors import InputError
from kueue_fast.sim.manifests import load

QUEUE = """\
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata:
  name: cq
spec:
  cohortName: team
  preemption:
    reclaimWithinCohort: Never
  fairSharing:
    weight: 1
"""
WORKLOAD = """\
apiVersion: kueue.x-k8s.io/v1beta2
kind: Workload
metadata:
  name: w
  namespace: ns
  annotations:
    sim.kueue-fast.dev/grace-period: 5s
spec:
  queueName: lq
  priority: 1
  podSets:
  - name: main
    count: 1
    template: {spec: {containers: [{name: c}]}}
"""
BORROWING = "Never\n    borrowWithinCohort: {policy: LowerPriority}"
REFUSED: dict[str, tuple[str, str, str, str]] = {
    "policies that contradict each other": (
        QUEUE,
        "reclaimWithinCohort: Never",
        f"reclaimWithinCohort: {BORROWING}",
        "in.yaml:7: ClusterQueue cq: $.spec.preemption: Invalid value",
    ),
    "a policy that is none": (
        QUEUE,
        "Never",
        "Sometimes",
        "in.yaml:8: ClusterQueue cq: $.spec.preemption.reclaimWithinCohort: Unsupported value",
    ),
    "a threshold beyond 32 bits": (
        QUEUE,
        "Never",
        "Any\n    borrowWithinCohort: {policy: LowerPriority, maxPriorityThreshold: 2147483648}",
        "in.yaml:9: ClusterQueue cq: $.spec.preemption.borrowWithinCohort.maxPriorityThreshold",
    ),
    "a negative weight": (
        QUEUE,
        "weight: 1",
        "weight: -1",
        "in.yaml:9: ClusterQueue cq: $.spec.fairSharing: Invalid value: -1: must be greater than or equal to 0",
    ),
    "a weight that is too small": (
        QUEUE,
        "weight: 1",
        "weight: 1n",
        "in.yaml:9: ClusterQueue cq: $.spec.fairSharing: Invalid value",
    ),
    "a weight that is no quantity": (
        QUEUE,
        "weight: 1",
        "weight: heavy",
        "in.yaml:10: ClusterQueue cq: $.spec.fairSharing.weight: Invalid value",
    ),
    "a priority beyond 32 bits": (
        WORKLOAD,
        "priority: 1",
        "priority: 2147483648",
        "in.yaml:10: Workload ns/w: $.spec.priority",
    ),
    "a priority below 32 bits": (
        WORKLOAD,
        "priority: 1",
        "priority: -2147483649",
        "in.yaml:10: Workload ns/w: $.spec.priority",
    ),
    "a grace period that is none": (
        WORKLOAD,
        "5s",
        "soon",
        """in.yaml:7: Workload ns/w: $.metadata.annotations["sim.kueue-fast.dev/grace-period"]: is 'soon'""",
    ),
    "a negative grace period": (
        WORKLOAD,
        "5s",
        "-5s",
        """in.yaml:7: Workload ns/w: $.metadata.annotations["sim.kueue-fast.dev/grace-period"]: is '-5s'""",
    ),
    "a grace period of a queue": (
        QUEUE,
        "  name: cq",
        """  name: cq\n  annotations: {sim.kueue-fast.dev/grace-period: 5s}""",
        'in.yaml:5: ClusterQueue cq: $.metadata.annotations["sim.kueue-fast.dev/grace-period"]: has no meaning',
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(case: str, tmp_path: Path) -> None:
    text, old, new, want = REFUSED[case]
    file = tmp_path / "in.yaml"
    file.write_text(text)
    assert load([str(file)])
    assert old in text
    file.write_text(text.replace(old, new))
    with pytest.raises(InputError) as error:
        load([str(file)])
    assert str(error.value).removeprefix(f"{tmp_path}/").startswith(want)
