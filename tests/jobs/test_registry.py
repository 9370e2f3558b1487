"""Which kinds are known, which are on, and whose job a job is."""

from __future__ import annotations

from typing import Any

import pytest

from kueue_fast.api.configuration_types import Configuration, Integrations
from kueue_fast.api.meta import ObjectMeta, OwnerReference
from kueue_fast.errors import InputError
from kueue_fast.jobs.ancestors import AncestorError, managed_ancestor, owner_is_managed
from kueue_fast.jobs.registry import Registry
from kueue_fast.jobs.settings import JobSettings
from kueue_fast.model.config_validation import FRAMEWORKS
from kueue_fast.model.features import FeatureGates
from tests.jobs.kinds import QUEUE, read

ALL = JobSettings(frameworks=tuple(FRAMEWORKS), spark_applications=True)


def test_every_framework_of_the_configuration_is_known() -> None:
    registry = Registry(ALL)
    for framework, text in FRAMEWORKS.items():
        kind, version, *group = text.split(".", 2)
        api_version = f"{group[0]}/{version}" if group else version
        found = registry.find(api_version, kind)
        assert found is not None
        assert (found.framework, found.api_version, found.kind) == (framework, api_version, kind)
        assert found.group == (group[0] if group else "")
        assert registry.enabled(framework)
        assert not registry.implicit(framework)


# Upstream's lists of kinds that may be elastic, and that may adopt a prebuilt Workload.
ELASTIC = {"Job", "RayCluster", "RayJob", "RayService"}
PREBUILT = ELASTIC | {
    "AppWrapper",
    "JobSet",
    "MPIJob",
    "PaddleJob",
    "Pod",
    "PyTorchJob",
    "TFJob",
    "TrainJob",
    "XGBoostJob",
}


def test_facts_of_all_kinds() -> None:
    registry = Registry(ALL)
    elastic, prebuilt = set(), set()
    for text in FRAMEWORKS.values():
        kind, version, *group = text.split(".", 2)
        found = registry.find(f"{group[0]}/{version}" if group else version, kind)
        assert found is not None
        elastic |= {kind} if found.elastic else set()
        prebuilt |= {kind} if found.prebuilt else set()
    assert (elastic, prebuilt) == (ELASTIC, PREBUILT)


ENABLED: dict[str, tuple[tuple[str, ...], dict[str, bool], bool]] = {
    "the default": (
        JobSettings().frameworks,
        {"batch/job": True, "pod": False, "ray.io/rayjob": False},
        False,
    ),
    "pods": (("pod",), {"batch/job": False, "pod": True, "deployment": False}, False),
    "pods of others": (("deployment",), {"pod": True, "deployment": True, "statefulset": False}, True),
    "pods, and others": (("deployment", "pod"), {"pod": True, "deployment": True}, False),
}


@pytest.mark.parametrize("case", ENABLED)
def test_what_is_on(case: str) -> None:
    frameworks, want, want_implicit = ENABLED[case]
    registry = Registry(JobSettings(frameworks=frameworks))
    assert {name: registry.enabled(name) for name in want} == want
    assert registry.implicit("pod") is want_implicit


def test_an_integration_that_is_off_is_refused_in_words() -> None:
    job = read(
        "{apiVersion: ray.io/v1, kind: RayJob, metadata: {name: j, namespace: ns}, "
        "spec: {clusterSelector: {a: b}}}"
    )
    refusal = Registry(JobSettings()).refusal(job)
    assert str(refusal) == (
        'the integration "ray.io/rayjob" is off (expected it in integrations.frameworks of the configuration)'
    )
    assert Registry(JobSettings(frameworks=("ray.io/rayjob",))).refusal(job) is None
    node = read("{apiVersion: v1, kind: Node, metadata: {name: n}}")
    assert Registry(JobSettings()).refusal(node) is None


WRONG: dict[str, tuple[JobSettings, str]] = {
    "a framework that is not known": (
        JobSettings(frameworks=("ray.io/job",)),
        r'the integration "ray.io/job" is not known',
    ),
    "Spark without its gate": (
        JobSettings(frameworks=("sparkoperator.k8s.io/sparkapplication",)),
        "the feature gate SparkApplicationIntegration on",
    ),
    "an external framework without group": (
        JobSettings(external_frameworks=("Foo.v1",)),
        r"has 'Foo.v1' \(expected Kind.version.group\)",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_configurations_that_are_wrong(case: str) -> None:
    settings, words = WRONG[case]
    with pytest.raises(InputError, match=words):
        Registry(settings)


def test_settings_are_read_from_the_configuration() -> None:
    integrations = Integrations(frameworks=["pod"], external_frameworks=["Foo.v1.example.com"])
    settings = JobSettings.read(Configuration(integrations=integrations), FeatureGates())
    assert (settings.frameworks, settings.external_frameworks) == (("pod",), ("Foo.v1.example.com",))
    assert JobSettings.read(None, FeatureGates()) == JobSettings(wait_for_pods_ready=True)


# ---- ancestors ----

KINDS = {
    "Pod": "v1",
    "ReplicaSet": "apps/v1",
    "Deployment": "apps/v1",
    "Job": "batch/v1",
    "CronJob": "batch/v1",
    "JobSet": "jobset.x-k8s.io/v1alpha2",
    "AppWrapper": "workload.codeflare.dev/v1beta2",
}


def owner(kind: str, uid: str | None = None) -> OwnerReference:
    return OwnerReference(
        api_version=KINDS[kind], kind=kind, name=kind.lower(), uid=uid or f"uid-{kind}", controller=True
    )


def chain(text: str) -> dict[str, ObjectMeta]:
    """Objects of a chain such as `Job q > JobSet > AppWrapper q`, by kind; `q` has a queue."""
    links = [(part.split()[0], part.endswith(" q")) for part in text.split(" > ")]
    objects = {}
    for number, (kind, queued) in enumerate(links):
        above = links[number + 1][0] if number + 1 < len(links) else None
        objects[kind] = ObjectMeta(
            name=kind.lower(),
            namespace="ns",
            uid=f"uid-{kind}",
            labels={QUEUE: "lq"} if queued else None,
            owner_references=[owner(above)] if above else None,
        )
    return objects


def found(objects: dict[str, ObjectMeta], settings: JobSettings) -> str | None:
    got = managed_ancestor(
        next(iter(objects.values())), Registry(settings), settings, lambda ref, _: objects.get(ref.kind)
    )
    return None if got is None else got[0].kind


FULL = ("batch/job", "jobset.x-k8s.io/jobset", "workload.codeflare.dev/appwrapper")
WITHOUT_SETS = ("batch/job", "workload.codeflare.dev/appwrapper")
CRON = {"external_frameworks": ("CronJob.v1.batch",)}
ANCESTORS: dict[str, tuple[str, tuple[str, ...], dict[str, Any], str | None]] = {
    "no queues": ("Job > JobSet > AppWrapper", FULL, {}, None),
    "a queue in the middle": ("Job q > JobSet q > AppWrapper", FULL, {}, "JobSet"),
    "a queue at the top": ("Job q > JobSet > AppWrapper q", FULL, {}, "AppWrapper"),
    "past a kind that is off": ("Job > JobSet > AppWrapper q", WITHOUT_SETS, {}, "AppWrapper"),
    "a kind that is off": ("Job > JobSet q", WITHOUT_SETS, {}, None),
    "no queues, all managed": (
        "Job > JobSet > AppWrapper",
        FULL,
        {"manage_jobs_without_queue_name": True},
        "AppWrapper",
    ),
    "some queues, all managed": (
        "Job q > JobSet q > AppWrapper",
        FULL,
        {"manage_jobs_without_queue_name": True},
        "AppWrapper",
    ),
    "past a ReplicaSet": ("Pod > ReplicaSet > Deployment q", ("deployment",), {}, "Deployment"),
    "a CronJob ends the way": ("Job > CronJob > AppWrapper q", FULL, {}, None),
    "a CronJob that is configured does not": ("Job > CronJob > AppWrapper q", FULL, CRON, "AppWrapper"),
    "a CronJob that is configured counts": ("Job > CronJob q", FULL, CRON, "CronJob"),
    "nobody": ("Job q", FULL, {}, None),
}


@pytest.mark.parametrize("case", ANCESTORS)
def test_ancestors(case: str) -> None:
    text, frameworks, more, want = ANCESTORS[case]
    assert found(chain(text), JobSettings(frameworks=frameworks, **more)) == want


def test_an_owner_of_another_life_ends_the_way() -> None:
    objects = chain("Job > JobSet q > AppWrapper q")
    objects["AppWrapper"].uid = "new"
    assert found(objects, JobSettings(frameworks=FULL)) == "JobSet"


def test_an_owner_that_is_not_there() -> None:
    objects = chain("Job > JobSet > AppWrapper q")
    del objects["AppWrapper"]
    with pytest.raises(AncestorError, match="workload owner not found: AppWrapper appwrapper") as caught:
        found(objects, JobSettings(frameworks=FULL))
    assert not caught.value.too_deep


def test_owners_in_a_circle() -> None:
    objects = chain("Job > JobSet")
    objects["JobSet"].owner_references = [owner("Job")]
    with pytest.raises(AncestorError, match="cyclic ownership"):
        found(objects, JobSettings(frameworks=FULL))


@pytest.mark.parametrize(("length", "want"), [(11, False), (12, True)])
def test_a_chain_that_is_too_long(length: int, want: bool) -> None:
    objects = {
        f"j{number}": ObjectMeta(
            name=f"j{number}",
            uid=f"j{number}",
            owner_references=[
                OwnerReference(
                    api_version="batch/v1",
                    kind="Job",
                    name=f"j{number + 1}",
                    uid=f"j{number + 1}",
                    controller=True,
                )
            ]
            if number + 1 < length
            else None,
        )
        for number in range(length)
    }
    settings = JobSettings()
    registry = Registry(settings)

    def walk() -> object:
        return managed_ancestor(objects["j0"], registry, settings, lambda ref, _: objects.get(ref.name))

    if want:
        with pytest.raises(AncestorError) as caught:
            walk()
        assert caught.value.too_deep
    else:
        assert walk() is None


def test_the_direct_owner() -> None:
    registry = Registry(JobSettings(frameworks=("jobset.x-k8s.io/jobset",)))
    assert owner_is_managed(chain("Job > JobSet")["Job"], registry)
    assert not owner_is_managed(chain("Job > AppWrapper")["Job"], registry)
    assert not owner_is_managed(chain("Pod > ReplicaSet")["Pod"], registry)
    assert not owner_is_managed(chain("Job")["Job"], registry)
