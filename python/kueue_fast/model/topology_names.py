"""Labels, annotations and the gate of topology-aware scheduling: the protocol between pods, jobs and Kueue.

Source: TP-301, TP-307, TP-308, TP-319, TP-1306, TP-1801.
"""

from __future__ import annotations

from typing import Final

from kueue_fast.api.topology_encoding import HOSTNAME as HOSTNAME

REQUIRED: Final = "kueue.x-k8s.io/podset-required-topology"
PREFERRED: Final = "kueue.x-k8s.io/podset-preferred-topology"
UNCONSTRAINED: Final = "kueue.x-k8s.io/podset-unconstrained-topology"
SLICE_REQUIRED: Final = "kueue.x-k8s.io/podset-slice-required-topology"
SLICE_SIZE: Final = "kueue.x-k8s.io/podset-slice-size"
SLICE_CONSTRAINTS: Final = "kueue.x-k8s.io/podset-slice-required-topology-constraints"
POD_SET_GROUP: Final = "kueue.x-k8s.io/podset-group-name"

POD_INDEX_OFFSET: Final = "kueue.x-k8s.io/pod-index-offset"
POD_GROUP_POD_INDEX: Final = "kueue.x-k8s.io/pod-group-pod-index"
POD_GROUP_POD_INDEX_LABEL: Final = "kueue.x-k8s.io/pod-group-pod-index-label"

TOPOLOGY_GATE: Final = "kueue.x-k8s.io/topology"
POD_SET: Final = "kueue.x-k8s.io/podset"
WORKLOAD: Final = "kueue.x-k8s.io/workload"
WORKLOAD_SLICE_NAME: Final = "kueue.x-k8s.io/workload-slice-name"
