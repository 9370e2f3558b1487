"""Who runs a job: its own controller, or MultiKueue. Source: JS-205, JS-541."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, TypeVar

import msgspec

from kueue_fast.api.kubeflow import RunPolicy, TrainingJob
from kueue_fast.api.meta import KubernetesObject
from kueue_fast.jobs import names

__all__ = ["OWN_CONTROLLERS", "given_to_multikueue", "managed_by"]

JobType = TypeVar("JobType", bound=KubernetesObject)

KUBERAY: Final = "ray.io/kuberay-operator"
TRAINING_OPERATOR: Final = "kubeflow.org/training-operator"

OWN_CONTROLLERS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "batch/job": "kubernetes.io/job-controller",
        "jobset.x-k8s.io/jobset": "jobset.sigs.k8s.io/jobset-controller",
        "ray.io/raycluster": KUBERAY,
        "ray.io/rayjob": KUBERAY,
        "ray.io/rayservice": KUBERAY,
        "kubeflow.org/jaxjob": TRAINING_OPERATOR,
        "kubeflow.org/paddlejob": TRAINING_OPERATOR,
        "kubeflow.org/pytorchjob": TRAINING_OPERATOR,
        "kubeflow.org/tfjob": TRAINING_OPERATOR,
        "kubeflow.org/xgboostjob": TRAINING_OPERATOR,
        "kubeflow.org/mpijob": "kubeflow.org/mpi-operator",
        "trainer.kubeflow.org/trainjob": "trainer.kubeflow.org/trainjob-controller",
        "workload.codeflare.dev/appwrapper": "workload.codeflare.dev/appwrapper-controller",
    }
)
"""What the field says of a kind that may be run elsewhere while it is not. A kind that is not named cannot be."""


def managed_by(job: KubernetesObject) -> str | None:
    """What the job says, None if nothing; training jobs say it in their run policy."""
    holder: Any = getattr(job, "spec", None)
    if isinstance(job, TrainingJob):
        holder = job.spec.run_policy
    value: str | None = getattr(holder, "managed_by", None)
    return value


def given_to_multikueue(job: JobType, framework: str) -> JobType:
    """A new job whose queue has an admission check of MultiKueue: marked as its, unless somebody else runs it.

    The same object comes back if nothing changes. Source: JS-205.
    """
    own = OWN_CONTROLLERS.get(framework)
    if own is None or managed_by(job) not in (None, own):
        return job
    replace = msgspec.structs.replace
    spec: Any = getattr(job, "spec", None)
    if isinstance(job, TrainingJob):
        policy = replace(job.spec.run_policy or RunPolicy(), managed_by=names.MULTIKUEUE_CONTROLLER)
        return replace(job, spec=replace(spec, run_policy=policy))
    return replace(job, spec=replace(spec, managed_by=names.MULTIKUEUE_CONTROLLER))
