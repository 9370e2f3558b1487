"""What can be told of jobs before a simulation starts: nothing runs until every job is known to be simulable."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from kueue_fast.api.batch import Job
from kueue_fast.api.core import PriorityClass
from kueue_fast.api.kueue import WorkloadPriorityClass
from kueue_fast.api.meta import KubernetesObject, ObjectMeta, OwnerReference
from kueue_fast.errors import InputError
from kueue_fast.jobs import names
from kueue_fast.jobs.ancestors import AncestorError, managed_ancestor
from kueue_fast.jobs.job import BatchJob, is_elastic
from kueue_fast.jobs.registry import Registry
from kueue_fast.jobs.settings import JobSettings
from kueue_fast.jobs.validation import prebuilt_name
from kueue_fast.jobs.workload import priority_of, queue_name
from kueue_fast.sim.arrivals import identity
from kueue_fast.sim.controllers import SYSTEM_PRIORITY_CLASSES
from kueue_fast.sim.kind_input import check_kind, refused
from kueue_fast.sim.kinds import is_played, registry_of
from kueue_fast.sim.lifecycle_facts import POD_LOSS, READY_AFTER
from kueue_fast.sim.manifest import RESIZE, ErrorCollector, Manifest, describe
from kueue_fast.sim.resizes import resized
from kueue_fast.sim.yaml_scalars import shortened

__all__ = ["check_jobs"]


def check_jobs(manifests: Sequence[Manifest], settings: JobSettings, integration: BatchJob) -> None:
    """Refuse what the webhook of Jobs refuses, and what the simulator cannot play yet.

    Raises ManifestErrors with one entry each, naming file, object and field.
    """
    errors = ErrorCollector()
    workload_classes = {
        each.metadata.name: each for each in objects(manifests) if isinstance(each, WorkloadPriorityClass)
    }
    pod_classes = {each.metadata.name: each for each in SYSTEM_PRIORITY_CLASSES}
    pod_classes.update(
        {each.metadata.name: each for each in objects(manifests) if isinstance(each, PriorityClass)}
    )
    by_key = {identity(manifest.object): manifest.object for manifest in manifests}
    registry = registry_of(settings, lambda *key: by_key.get(key))
    for error in same_uids(manifests):
        errors.add(error)
    for manifest in manifests:
        obj = manifest.object
        found: list[InputError] = []
        if isinstance(obj, Job):
            found = [refused(wrong) for wrong in integration.validate(obj, settings)]
            found += unsupported(obj, settings, integration)
            found += wrong_resizes(obj, manifest, settings, integration)
            found += unready(manifest, elastic=is_elastic(obj.metadata) and settings.elastic_jobs)
            if queue_name(obj.metadata):
                try:
                    pod_sets = integration.pod_sets(obj, settings)
                except InputError:
                    pod_sets = []  # `validate` has told it already
                try:
                    priority_of(obj.metadata, pod_sets, workload_classes, pod_classes)
                except InputError as missing:
                    found.append(missing)
        elif is_played(obj):
            found = check_kind(manifest, registry, settings, (workload_classes, pod_classes))
        if is_played(obj) and obj.metadata.owner_references:
            found += endless_owners(obj.metadata, registry, settings, by_key)
        for error in found:
            errors.add(error.located(file=manifest.place, object=describe(obj)))
    errors.raise_if_any()


def objects(manifests: Iterable[Manifest]) -> Iterable[object]:
    """The objects of the manifests."""
    return (manifest.object for manifest in manifests)


def endless_owners(
    metadata: ObjectMeta,
    registry: Registry,
    settings: JobSettings,
    objects_by_key: Mapping[tuple[str, str, str], KubernetesObject],
) -> list[InputError]:
    """Owners that go in a circle, or are more than Kueue looks at: its webhook refuses both. Source: JS-042.

    One that is not there is no mistake: manifests of a live cluster may leave it out.
    """

    def read(owner: OwnerReference, namespace: str) -> ObjectMeta | None:
        found = objects_by_key.get((owner.kind, namespace, owner.name))
        return None if found is None else found.metadata

    try:
        managed_ancestor(metadata, registry, settings, read)
    except AncestorError as error:
        if not error.missing:
            return [
                InputError(
                    str(error), field="$.metadata.ownerReferences", expected="a way up that comes to an end"
                )
            ]
    return []


def same_uids(manifests: Iterable[Manifest]) -> Iterable[InputError]:
    """Objects with the uid of another one: what one of them owns would belong to both."""
    first: dict[str, Manifest] = {}
    for manifest in manifests:
        uid = manifest.object.metadata.uid
        other = first.setdefault(uid, manifest) if uid else manifest
        if other is not manifest and identity(other.object) != identity(manifest.object):
            yield InputError(
                f"is {shortened(repr(uid))}, as that of {describe(other.object)} ({other.place})",
                file=manifest.place,
                object=describe(manifest.object),
                field="$.metadata.uid",
                expected="another uid for each object, or none",
            )


def unsupported(job: Job, settings: JobSettings, integration: BatchJob) -> list[InputError]:
    """What a Job asks for that is not built yet, or that the configuration has switched off."""
    found = []
    if integration.framework not in settings.frameworks:
        found.append(
            InputError(
                f'the integration "{integration.framework}" is off',
                expected="it in integrations.frameworks of the configuration",
            )
        )
    if is_elastic(job.metadata) and settings.elastic_jobs and prebuilt_name(job.metadata, settings):
        found.append(
            InputError(
                f"elastic Jobs with a Workload made beforehand ({names.PREBUILT_WORKLOAD}) "
                "cannot be simulated yet"
            )
        )
    return found


def wrong_resizes(
    job: Job, manifest: Manifest, settings: JobSettings, integration: BatchJob
) -> list[InputError]:
    """Resizes of a Job that cannot be resized, or to a size that the webhook refuses."""
    resizes = manifest.facts.resizes
    if not resizes:
        return []
    path = f'$.metadata.annotations["{RESIZE}"]'
    if not is_elastic(job.metadata) or not settings.elastic_jobs:
        expected = f'the annotation {names.ELASTIC_JOB_ANNOTATION}: "true", and the gate ElasticJobsViaWorkloadSlices'
        return [InputError("only an elastic Job can be resized", field=path, expected=expected)]
    if not queue_name(job.metadata) and not settings.manage_jobs_without_queue_name:
        return [InputError("only a Job with a queue can be resized", field=path)]
    known = {str(refused(wrong)) for wrong in integration.validate(job, settings)}
    found: dict[str, InputError] = {}
    for _, parallelism in resizes:
        changed = resized(job, parallelism)
        for held in (True, False):
            old, new = (
                msgspec.structs.replace(each, spec=msgspec.structs.replace(each.spec, suspend=held))
                for each in (job, changed)
            )
            for wrong in integration.validate_update(old, new, settings, True):
                error = refused(wrong)
                if str(error) not in known:
                    found.setdefault(str(error), error)
    return list(found.values())


def unready(manifest: Manifest, *, elastic: bool) -> list[InputError]:
    """Pods of an elastic Job are ready when their slice was admitted: when it was is all that can be said of them."""
    facts = manifest.facts.lifecycle
    if not elastic or not (facts.ready_after or facts.pod_loss):
        return []
    name = READY_AFTER if facts.ready_after else POD_LOSS
    return [InputError("has no meaning on an elastic Job", field=f'$.metadata.annotations["{name}"]')]
