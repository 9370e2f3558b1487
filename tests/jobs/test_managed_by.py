"""Jobs that MultiKueue runs elsewhere."""

from __future__ import annotations

from typing import Any

import pytest

from kueue_fast.jobs.managed_by import OWN_CONTROLLERS, given_to_multikueue, managed_by
from tests.jobs.kinds import read

MULTIKUEUE = "kueue.x-k8s.io/multikueue"
PODS = "template: {spec: {containers: []}}"
# framework: apiVersion, kind, rest of the spec, and the mapping that says who runs the job
SPECS: dict[str, tuple[str, str, str, str]] = {
    "batch/job": ("batch/v1", "Job", PODS, "spec"),
    "jobset.x-k8s.io/jobset": ("jobset.x-k8s.io/v1alpha2", "JobSet", "replicatedJobs: []", "spec"),
    "ray.io/raycluster": ("ray.io/v1", "RayCluster", f"headGroupSpec: {{{PODS}}}", "spec"),
    "ray.io/rayjob": ("ray.io/v1", "RayJob", "entrypoint: x", "spec"),
    "ray.io/rayservice": (
        "ray.io/v1",
        "RayService",
        f"rayClusterConfig: {{headGroupSpec: {{{PODS}}}}}",
        "spec",
    ),
    "kubeflow.org/jaxjob": ("kubeflow.org/v1", "JAXJob", "jaxReplicaSpecs: {}", "run_policy"),
    "kubeflow.org/paddlejob": ("kubeflow.org/v1", "PaddleJob", "paddleReplicaSpecs: {}", "run_policy"),
    "kubeflow.org/pytorchjob": ("kubeflow.org/v1", "PyTorchJob", "pytorchReplicaSpecs: {}", "run_policy"),
    "kubeflow.org/tfjob": ("kubeflow.org/v1", "TFJob", "tfReplicaSpecs: {}", "run_policy"),
    "kubeflow.org/xgboostjob": ("kubeflow.org/v1", "XGBoostJob", "xgbReplicaSpecs: {}", "run_policy"),
    "kubeflow.org/mpijob": ("kubeflow.org/v2beta1", "MPIJob", "mpiReplicaSpecs: {}", "run_policy"),
    "trainer.kubeflow.org/trainjob": (
        "trainer.kubeflow.org/v1alpha1",
        "TrainJob",
        "runtimeRef: {name: r}",
        "spec",
    ),
    "workload.codeflare.dev/appwrapper": (
        "workload.codeflare.dev/v1beta2",
        "AppWrapper",
        "components: []",
        "spec",
    ),
}


def job(framework: str, who: str | None = None) -> Any:
    api_version, kind, rest, holder = SPECS[framework]
    said = f"managedBy: {who}" if who else ""
    more = f"runPolicy: {{{said}}}" if holder == "run_policy" and who else said
    return read(
        f"{{apiVersion: {api_version}, kind: {kind}, metadata: {{name: j}}, "
        f"spec: {{{', '.join(filter(None, (rest, more)))}}}}}"
    )


def test_the_table_is_complete() -> None:
    assert set(SPECS) == set(OWN_CONTROLLERS)


@pytest.mark.parametrize("framework", SPECS)
def test_jobs_are_given_to_multikueue(framework: str) -> None:
    assert managed_by(job(framework)) is None
    for who in (None, OWN_CONTROLLERS[framework]):
        assert managed_by(given_to_multikueue(job(framework, who), framework)) == MULTIKUEUE
    for who in (MULTIKUEUE, "example.com/mine"):
        other = job(framework, who)
        assert given_to_multikueue(other, framework) is other
        assert managed_by(other) == who


def test_other_kinds_are_not() -> None:
    deployment = read(f"{{apiVersion: apps/v1, kind: Deployment, metadata: {{name: d}}, spec: {{{PODS}}}}}")
    assert given_to_multikueue(deployment, "deployment") is deployment
    assert managed_by(deployment) is None
