"""Labels, annotations, gate and finalizer by which pods and Kueue agree. Source: JS-001."""

from __future__ import annotations

from typing import Final

from kueue_fast.model.conditions import IS_GROUP_WORKLOAD as IS_GROUP_WORKLOAD

MANAGED: Final = "kueue.x-k8s.io/managed"
"""Label, with the value `true`, and finalizer of a pod that Kueue manages."""
TRUE: Final = "true"
ADMISSION_GATE: Final = "kueue.x-k8s.io/admission"
SUSPENDING_PARENT: Final = "kueue.x-k8s.io/pod-suspending-parent"
GROUP_NAME: Final = "kueue.x-k8s.io/pod-group-name"
GROUP_TOTAL_COUNT: Final = "kueue.x-k8s.io/pod-group-total-count"
GROUP_FAST_ADMISSION: Final = "kueue.x-k8s.io/pod-group-fast-admission"
GROUP_SERVING: Final = "kueue.x-k8s.io/pod-group-serving"
ROLE_HASH: Final = "kueue.x-k8s.io/role-hash"
RETRIABLE_IN_GROUP: Final = "kueue.x-k8s.io/retriable-in-group"
REVISION_LABEL: Final = "controller-revision-hash"
