"""The files of examples/install: they fit each other, the command line, and what upstream's account may do.

Source: OP-2, OP-101..105, OP-160, OP-790..794, OP-914.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from kueue_fast.api.configuration import default_configuration
from kueue_fast.app.controller import KINDS
from kueue_fast.app.integrations import job_kinds
from kueue_fast.cli import cli
from kueue_fast.cluster.kube.resources import EVENTS, LEASES, RESOURCES
from kueue_fast.jobs.settings import JobSettings
from kueue_fast.model.features import FeatureGates

ROOT = Path(__file__).resolve().parent.parent.parent
INSTALL = ROOT / "examples/install"
NAMESPACE = "kueue-system"
# What upstream's three Services select.
UPSTREAMS_LABEL = "control-plane"


def documents(file: str) -> list[Any]:
    return list(yaml.safe_load_all((INSTALL / file).read_text(encoding="utf-8")))


@pytest.fixture
def deployment() -> Any:
    [found] = documents("beside/deployment.yaml")
    return found


@pytest.fixture
def container(deployment: Any) -> Any:
    [found] = deployment["spec"]["template"]["spec"]["containers"]
    return found


def dockerfile() -> list[tuple[str, str]]:
    """Instructions and their arguments, comments taken out and lines put together."""
    text = (INSTALL / "Dockerfile").read_text(encoding="utf-8")
    lines = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#"))
    instructions = re.sub(r"\s*\\\n\s*", " ", lines).splitlines()
    return [(name, rest) for line in instructions if line for name, _, rest in [line.partition(" ")]]


def arguments(instruction: str) -> list[str]:
    return [rest for name, rest in dockerfile() if name == instruction]


# --- kustomizations


@pytest.mark.parametrize("folder", ["beside", "shadow"])
def test_a_kustomization_names_what_is_there(folder: str) -> None:
    [found] = documents(f"{folder}/kustomization.yaml")
    assert found["namespace"] == NAMESPACE
    assert all((INSTALL / folder / each).exists() for each in found["resources"])


def test_every_manifest_is_of_a_kustomization() -> None:
    named = {
        (INSTALL / folder / each).resolve()
        for folder in ("beside", "shadow")
        for each in documents(f"{folder}/kustomization.yaml")[0]["resources"]
    }
    there = {path.resolve() for path in INSTALL.rglob("*.yaml") if path.name != "kustomization.yaml"}
    assert there <= named


def test_the_image_is_the_one_that_is_replaced(container: Any) -> None:
    [image] = documents("beside/kustomization.yaml")[0]["images"]
    assert container["image"] == image["name"]
    version = re.search(r'^version = "(.+)"$', (ROOT / "pyproject.toml").read_text(encoding="utf-8"), re.M)
    assert version is not None
    assert image["newTag"] == version[1]


def test_selectors_lead_to_these_pods_and_upstreams_services_to_others(deployment: Any) -> None:
    labels = deployment["spec"]["template"]["metadata"]["labels"]
    [service] = documents("beside/metrics-service.yaml")
    for selector in (deployment["spec"]["selector"]["matchLabels"], service["spec"]["selector"]):
        assert selector.items() <= labels.items()
    assert UPSTREAMS_LABEL not in labels
    [port] = service["spec"]["ports"]
    assert port["targetPort"] == "metrics"


def test_the_dry_run_has_pods_of_its_own(deployment: Any) -> None:
    [shadow] = documents("shadow/kustomization.yaml")
    [labels] = shadow["labels"]
    assert labels["includeSelectors"]
    [(name, value)] = labels["pairs"].items()
    assert deployment["spec"]["selector"]["matchLabels"][name] != value


# --- the Pod


def commands(container: Any) -> Iterator[list[str]]:
    """The arguments of each kustomization."""
    yield container["args"]
    [shadow] = documents("shadow/kustomization.yaml")
    [patch] = shadow["patches"]
    added = []
    for operation in yaml.safe_load(patch["patch"]):
        assert (operation["op"], operation["path"]) == ("add", "/spec/template/spec/containers/0/args/-")
        added.append(operation["value"])
    yield [*container["args"], *added]


def test_the_command_line_is_understood(container: Any) -> None:
    shadow = []
    for args in commands(container):
        command = cli.commands[args[0]]
        context = command.make_context(args[0], list(args[1:]))
        assert context.params["config"]
        shadow.append(context.params["shadow"])
    assert shadow == [False, True]
    # The image says no more than which command.
    assert arguments("CMD") == [f'["{container["args"][0]}"]']


def test_the_configuration_is_upstreams(deployment: Any, container: Any) -> None:
    [mount] = container["volumeMounts"]
    [volume] = deployment["spec"]["template"]["spec"]["volumes"]
    assert mount["name"] == volume["name"]
    assert volume["configMap"]["name"] == "kueue-manager-config"
    assert f"--config={mount['mountPath']}/controller_manager_config.yaml" in container["args"]


def test_probes_and_ports_are_those_of_the_default_configuration(container: Any) -> None:
    configuration = default_configuration()
    health, metrics = configuration.health, configuration.metrics
    assert health is not None
    assert metrics is not None
    port = int(str(health.health_probe_bind_address).rpartition(":")[2])
    for probe, path in (("livenessProbe", "/healthz"), ("readinessProbe", "/readyz")):
        assert container[probe]["httpGet"] == {"path": path, "port": port}
    [exposed] = container["ports"]
    assert exposed["containerPort"] == int(str(metrics.bind_address).rpartition(":")[2])


def test_nothing_is_written_and_nobody_is_root(deployment: Any, container: Any) -> None:
    pod = deployment["spec"]["template"]["spec"]
    assert pod["securityContext"] == {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert all(mount["readOnly"] for mount in container["volumeMounts"])
    assert container["resources"]["limits"]["memory"] == "512Mi"
    assert "PYTHONDONTWRITEBYTECODE=1" in arguments("ENV")[0]


def test_it_stops_within_the_time_that_it_is_given(deployment: Any) -> None:
    from kueue_fast.app.controller import WRITE_PATIENCE_S

    assert deployment["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] >= 2 * WRITE_PATIENCE_S


# --- the image


def test_the_image_has_a_user_without_a_name() -> None:
    [user] = arguments("USER")
    assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", user)


def test_two_stages_and_what_runs_is_in_the_second() -> None:
    built, run = arguments("FROM")
    assert built == f"{run} AS build"
    [entry] = arguments("ENTRYPOINT")
    folder = "/opt/kueue-fast"
    assert entry == f'["{folder}/bin/kueue-fast"]'
    assert f"--from=build {folder} {folder}" in arguments("COPY")
    assert any(
        f"venv --without-pip {folder}" in each and "kueue-fast[live]" in each for each in arguments("RUN")
    )


def test_what_is_copied_is_what_the_wheel_is_made_of() -> None:
    copied = {
        source for each in arguments("COPY") if not each.startswith("--from=") for source in each.split()[:-1]
    }
    assert all((ROOT / each).exists() for each in copied)
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    packages = re.search(r"^wheel\.packages = \[(.+)\]$", project, re.M)
    assert packages is not None
    wanted = {path.split("/")[0] for path in re.findall(r'"([^"]+)"', packages[1])}
    wanted |= set(re.findall(r'^readme = "(.+)"$', project, re.M))
    wanted |= set(re.findall(r'^license-files = \["(.+)"\]$', project, re.M))
    assert copied == wanted | {"pyproject.toml", "CMakeLists.txt"}
    ignored = (INSTALL / "Dockerfile.dockerignore").read_text(encoding="utf-8").splitlines()
    assert {line.removeprefix("!") for line in ignored if line.startswith("!")} == copied


# --- rights

READ = "get list watch"
# What upstream's account may do in v0.19, by API group and resource: its ClusterRoles kueue-manager-role and
# kueue-metrics-auth-role, and its Role kueue-leader-election-role. v0.17 allows as much, but for events of the group
# events.k8s.io.
ALLOWED: dict[str, dict[str, str]] = {
    "": {
        "limitranges namespaces nodes": READ,
        "pods": f"delete {READ} patch update",
        "pods/status": "get patch",
    },
    "apps": {"deployments replicasets statefulsets": READ},
    "authentication.k8s.io": {"tokenreviews": "create"},
    "authorization.k8s.io": {"subjectaccessreviews": "create"},
    "batch": {"jobs": f"delete {READ} patch update", "jobs/status": "get patch update"},
    "coordination.k8s.io": {"leases": f"create delete {READ} patch update"},
    "events.k8s.io": {"events": "create patch update watch"},
    "jobset.x-k8s.io": {"jobsets": f"delete {READ} patch update", "jobsets/status": "get patch update"},
    "kubeflow.org": {
        "jaxjobs": f"{READ} patch update",
        "mpijobs paddlejobs pytorchjobs tfjobs xgboostjobs": f"delete {READ} patch update",
        "jaxjobs/status mpijobs/status paddlejobs/status pytorchjobs/status tfjobs/status": "get patch update",
        "xgboostjobs/status": "get patch update",
    },
    "kueue.x-k8s.io": {
        "admissionchecks clusterqueues resourceflavors topologies": f"{READ} update",
        "admissionchecks/status clusterqueues/status cohorts/status localqueues/status": "get patch update",
        "workloads/status": "get patch update",
        "cohorts localqueues multikueueclusters multikueueconfigs provisioningrequestconfigs": READ,
        "workloadpriorityclasses": READ,
        "workloads": f"create delete {READ} patch update",
    },
    "leaderworkerset.x-k8s.io": {"leaderworkersets": READ, "leaderworkersets/status": "get patch update"},
    "node.k8s.io": {"runtimeclasses": READ},
    "ray.io": {
        "rayclusters rayjobs rayservices": f"delete {READ} patch update",
        "rayclusters/status rayjobs/status rayservices/status": "get patch update",
    },
    "scheduling.k8s.io": {"priorityclasses": READ},
    "sparkoperator.k8s.io": {"sparkapplications": f"delete {READ} patch update"},
    "trainer.kubeflow.org": {
        "clustertrainingruntimes trainingruntimes": READ,
        "trainjobs": f"{READ} patch update",
        "trainjobs/status": "get patch update",
    },
    "workload.codeflare.dev": {
        "appwrappers": f"delete {READ} patch update",
        "appwrappers/status": "get patch update",
    },
}
# Kinds whose objects run as one job each, and are started and stopped by a patch.
JOBS = [
    "AppWrapper",
    "Job",
    "JobSet",
    "RayCluster",
    "RayJob",
    "RayService",
    "SparkApplication",
    "TrainJob",
    *(f"{each}Job" for each in ("JAX", "MPI", "Paddle", "PyTorch", "TF", "XGBoost")),
]
# What is written, by who writes it: kind, subresource, verb.
WRITES: dict[str, list[tuple[str, str, str]]] = {
    "the elector": [("Lease", "", "get"), ("Lease", "", "create"), ("Lease", "", "update")],
    "the event recorder": [("Event", "", "create"), ("Event", "", "patch")],
    "statuses of Workloads": [("Workload", "status", "patch"), ("Workload", "", "get")],
    "the Workload controller": [("Workload", "", "patch"), ("Workload", "", "delete")],
    "job controllers": [
        ("Workload", "", "create"),
        *((kind, "", "patch") for kind in JOBS),
        # SparkApplications have no status that is Kueue's to write.
        *((kind, "status", "patch") for kind in JOBS if kind != "SparkApplication"),
        *((kind, "", "delete") for kind in ("Job", "RayCluster")),
    ],
    "controllers of pods": [("Pod", "", "patch"), ("Pod", "status", "patch"), ("Pod", "", "delete")],
    "finalizers": [
        (kind, "", verb)
        for kind in ("AdmissionCheck", "ClusterQueue", "ResourceFlavor", "Topology")
        for verb in ("get", "update")
    ],
    "statuses of queues": [(kind, "status", "patch") for kind in ("ClusterQueue", "LocalQueue", "Cohort")],
}


def may(group: str, resource: str, verb: str) -> bool:
    return any(
        verb in verbs.split()
        for resources, verbs in ALLOWED.get(group, {}).items()
        if resource in resources.split()
    )


def resource(kind: str, subresource: str = "") -> tuple[str, str]:
    """API group and resource."""
    found = {LEASES.kind: LEASES, EVENTS.kind: EVENTS}.get(kind) or RESOURCES[kind]
    group, separator, _ = found.api_version.partition("/")
    name = f"{found.plural}/{subresource}" if subresource else found.plural
    return (group if separator else ""), name


def test_upstreams_account_may_read_whatever_is_watched() -> None:
    configuration = default_configuration()
    assert configuration.integrations is not None
    frameworks = [
        *["batch/job", "pod", "deployment", "statefulset", "leaderworkerset.x-k8s.io/leaderworkerset"],
        *["jobset.x-k8s.io/jobset", "trainer.kubeflow.org/trainjob", "workload.codeflare.dev/appwrapper"],
        *["ray.io/raycluster", "ray.io/rayjob", "ray.io/rayservice", "sparkoperator.k8s.io/sparkapplication"],
        *(f"kubeflow.org/{each}job" for each in ("jax", "mpi", "paddle", "pytorch", "tf", "xgboost")),
    ]
    configuration.integrations.frameworks = frameworks
    gates = FeatureGates({"SparkApplicationIntegration": True})
    watched = {*KINDS, *job_kinds(JobSettings.read(configuration, gates))}
    assert {*JOBS} <= watched
    for kind in watched:
        assert [verb for verb in ("list", "watch") if not may(*resource(kind), verb)] == [], kind


@pytest.mark.parametrize("who", WRITES)
def test_upstreams_account_may_write_whatever_is_written(who: str) -> None:
    assert [each for each in WRITES[who] if not may(*resource(each[0], each[1]), each[2])] == []


def test_upstreams_account_may_ask_who_reads_metrics() -> None:
    assert may("authentication.k8s.io", "tokenreviews", "create")
    assert may("authorization.k8s.io", "subjectaccessreviews", "create")
