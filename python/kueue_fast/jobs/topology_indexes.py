"""Which labels of a pod say which of its job's pods it is: what ranks are read from.

Source: TP-306, TP-307, TP-308.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from kueue_fast.model import topology_names
from kueue_fast.model.integers import parse_int32

__all__ = [
    "INDEXES",
    "IndexLabels",
    "app_wrapper_indexes",
    "launcher_shifts_workers",
    "leader_shifts_workers",
    "pod_group_index",
]

COMPLETION_INDEX: Final = "batch.kubernetes.io/job-completion-index"
REPLICA_INDEX: Final = "training.kubeflow.org/replica-index"
APP_WRAPPER_PREFIX: Final = "workload.codeflare.dev.appwrapper/"


class IndexLabels(NamedTuple):
    """Label with the pod's index; label with the index of its sub group, and how many sub groups there are."""

    pod: str | None = None
    sub_group: str | None = None
    sub_group_count: int | None = None


NO_INDEXES: Final = IndexLabels()
_KUBEFLOW: Final = IndexLabels(REPLICA_INDEX)

INDEXES: Final[Mapping[str, IndexLabels]] = MappingProxyType(
    {
        "batch/job": IndexLabels(COMPLETION_INDEX),
        # The count is the replicas of each replicated job.
        "jobset.x-k8s.io/jobset": IndexLabels(COMPLETION_INDEX, "jobset.sigs.k8s.io/job-index"),
        "kubeflow.org/jaxjob": _KUBEFLOW,
        "kubeflow.org/mpijob": _KUBEFLOW,
        "kubeflow.org/paddlejob": _KUBEFLOW,
        "kubeflow.org/pytorchjob": _KUBEFLOW,
        "kubeflow.org/tfjob": _KUBEFLOW,
        "kubeflow.org/xgboostjob": _KUBEFLOW,
        # Workers only: a leader has no index.
        "leaderworkerset.x-k8s.io/leaderworkerset": IndexLabels("leaderworkerset.sigs.k8s.io/worker-index"),
        "pod": IndexLabels(topology_names.POD_GROUP_POD_INDEX),
        "statefulset": IndexLabels("apps.kubernetes.io/pod-index"),
    }
)
"""Labels by integration; one that is not named has none, AppWrappers say it themselves. Source: TP-306."""


def app_wrapper_indexes(annotations: Mapping[str, str]) -> IndexLabels:
    """Labels that a component of an AppWrapper names; a count that is no 32-bit number is none. Source: TP-306."""
    count = annotations.get(f"{APP_WRAPPER_PREFIX}tas-sub-group-count")
    return IndexLabels(
        annotations.get(f"{APP_WRAPPER_PREFIX}tas-pod-index-label"),
        annotations.get(f"{APP_WRAPPER_PREFIX}tas-sub-group-index-label"),
        None if count is None else parse_int32(count),
    )


def launcher_shifts_workers(
    run_launcher_as_worker: bool, launcher: Mapping[str, str] | None, worker: Mapping[str, str] | None
) -> bool:
    """Whether the workers of an MPIJob count from 1, the launcher being number 0: their template is marked with
    the offset `"1"` then.

    `launcher` and `worker` are the annotations of the two templates, None for one that does not exist. Pod sets of
    a group are counted through without a mark. Source: TP-307.
    """
    return (
        run_launcher_as_worker
        and launcher is not None
        and worker is not None
        and topology_names.POD_SET_GROUP not in launcher
    )


def leader_shifts_workers(has_leader_template: bool, worker: Mapping[str, str]) -> bool:
    """The same for the workers of a LeaderWorkerSet, whose group may be named on the workers. Source: TP-307."""
    return has_leader_template and topology_names.POD_SET_GROUP not in worker


def pod_group_index(annotations: Mapping[str, str], labels: Mapping[str, str]) -> str | None:
    """What the label of the pod's index in its group must say, None if the pod does not name a label for it.

    A named label that the pod does not have gives the empty text. Source: TP-308.
    """
    label = annotations.get(topology_names.POD_GROUP_POD_INDEX_LABEL)
    return None if label is None else labels.get(label, "")
