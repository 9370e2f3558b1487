"""Labels, annotations, gates and the names of Workloads: the protocol between jobs and Kueue.

Source: JS-001, JS-006, JS-100..103, LC-119.
"""

from __future__ import annotations

import hashlib

__all__ = ["workload_name"]

QUEUE_NAME_LABEL = "kueue.x-k8s.io/queue-name"
PRIORITY_CLASS_LABEL = "kueue.x-k8s.io/priority-class"
MAX_EXEC_TIME_LABEL = "kueue.x-k8s.io/max-exec-time-seconds"
JOB_UID_LABEL = "kueue.x-k8s.io/job-uid"
POD_SET_LABEL = "kueue.x-k8s.io/podset"
LOCAL_QUEUE_LABEL = "kueue.x-k8s.io/local-queue-name"
CLUSTER_QUEUE_LABEL = "kueue.x-k8s.io/cluster-queue-name"
MULTIKUEUE_ORIGIN_LABEL = "kueue.x-k8s.io/multikueue-origin"
PREBUILT_WORKLOAD = "kueue.x-k8s.io/prebuilt-workload-name"
WORKLOAD_ANNOTATION = "kueue.x-k8s.io/workload"
WORKLOAD_SLICE_NAME_ANNOTATION = "kueue.x-k8s.io/workload-slice-name"
JOB_OWNER_GVK_ANNOTATION = "kueue.x-k8s.io/job-owner-gvk"
JOB_OWNER_NAME_ANNOTATION = "kueue.x-k8s.io/job-owner-name"
COMPONENT_INDEX_ANNOTATION = "kueue.x-k8s.io/component-workload-index"
MULTIKUEUE_ORIGIN_UID_ANNOTATION = "kueue.x-k8s.io/multikueue-origin-uid"
MULTIKUEUE_CONTROLLER = "kueue.x-k8s.io/multikueue"
ADMISSION_GATED_BY_ANNOTATION = "kueue.x-k8s.io/admission-gated-by"
ELASTIC_JOB_ANNOTATION = "kueue.x-k8s.io/elastic-job"
ELASTIC_JOB_GATE = "kueue.x-k8s.io/elastic-job"
PROVISIONING_REQUEST_PREFIX = "provreq.kueue.x-k8s.io/"
RESOURCE_IN_USE_FINALIZER = "kueue.x-k8s.io/resource-in-use"
DEFAULT_LOCAL_QUEUE = "default"
DEFAULT_POD_SET = "main"
MAX_POD_SETS = 18

HASH_LENGTH = 5
MAX_NAME = 253
MAX_SHORT_NAME = 63


def workload_name(
    owner_name: str,
    owner_uid: str,
    group: str,
    kind: str,
    *,
    extra: str = "",
    short: bool = False,
) -> str:
    """Name of the Workload of a job: kind and name, cut to fit, and five hex digits of a hash.

    `extra` is the generation of an elastic job; `short` is the feature gate ShortWorkloadNames (63 characters,
    not 253).

    Source: JS-100..103.
    """
    limit = (MAX_SHORT_NAME if short else MAX_NAME) - HASH_LENGTH - 1
    parts = [kind, group, owner_name, owner_uid]
    if extra:
        parts.append(extra)
    # The hash is a name, not a secret: the algorithm is fixed by upstream.
    digest = hashlib.sha1("\n".join(parts).encode(), usedforsecurity=False).hexdigest()
    prefix = f"{kind.lower()}-{owner_name}".encode()[:limit].decode(errors="ignore")
    return f"{prefix}-{digest[:HASH_LENGTH]}"
