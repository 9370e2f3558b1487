"""Integrations whose jobs hold one pod template a pod set: what they share.

A kind says which roles a job has, in order, and how templates are written back; pod sets, start, stop and the checks
of the topology follow from that.

Source: JS-008, JS-164, JS-446.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from kueue_fast.api.core import PodTemplateSpec
from kueue_fast.api.kueue import PodSet
from kueue_fast.api.meta import KubernetesObject
from kueue_fast.errors import InputError
from kueue_fast.jobs import validation
from kueue_fast.jobs.integration import Capabilities, Stopped
from kueue_fast.jobs.pod_set_info import (
    PodSetInfo,
    StartError,
    annotations_of,
    merge_template,
    restore_template,
)
from kueue_fast.jobs.pod_templates import unique_env
from kueue_fast.jobs.settings import JobSettings
from kueue_fast.jobs.topology_indexes import NO_INDEXES, IndexLabels
from kueue_fast.jobs.topology_request import topology_request
from kueue_fast.jobs.topology_validation import (
    validate_groups,
    validate_slice_bound,
    validate_topology_annotations,
)
from kueue_fast.model.validation.field_error import FieldError, invalid

__all__ = ["Role", "RoleIntegration", "pod_sets_of", "validate_topology"]

JobType = TypeVar("JobType", bound=KubernetesObject)


@dataclass(frozen=True, slots=True)
class Role:
    """The pods of one pod set, as the job states them."""

    name: str
    """Name of the pod set."""
    count: int
    template: PodTemplateSpec
    path: str
    """Path of the template in the job, such as `spec.headGroupSpec.template`; empty for the job itself."""
    indexes: IndexLabels = NO_INDEXES
    """Labels that number the pods."""
    counted: PodTemplateSpec | None = None
    """The template as the Workload carries it, where the kind's controller changes it; None: as it is."""
    checked: bool = True
    """Whether the kind's webhook looks at the topology that the template asks for."""

    metadata_at: str | None = None
    """Path of the template's metadata, where it is not the one below the template's."""

    @property
    def metadata_path(self) -> str:
        """Path of the template's metadata."""
        if self.metadata_at is not None:
            return self.metadata_at
        return f"{self.path}.metadata" if self.path else "metadata"


class RoleIntegration(ABC, Capabilities[JobType]):
    """A kind whose pod sets are the roles of a job."""

    framework: str
    api_version: str
    group: str
    kind: str
    grouped = False
    """Whether the kind's webhook looks at groups of pod sets. Source: TP-316."""
    repeats_create_checks = True
    """Whether a changed job is checked as a new one too; its topology always is. Source: JS-210, JS-211."""
    checks_topology = True
    """Whether the kind's webhook looks at the topology of the templates at all."""

    @abstractmethod
    def roles(self, job: JobType) -> list[Role]:
        """The roles, in the order of the pod sets. Raises InputError for a job that makes none."""

    @abstractmethod
    def replace(
        self, job: JobType, templates: Sequence[PodTemplateSpec] | None, *, suspended: bool
    ) -> JobType:
        """The job with other templates, in the order of the roles (None: its own), held or released."""

    @abstractmethod
    def suspended(self, job: JobType) -> bool:
        """Whether the job is held."""

    def validate(self, job: JobType, settings: JobSettings) -> list[FieldError]:
        """What is wrong with the job: with its kind, its metadata, its topology."""
        errors = self.validate_kind(job, settings)
        errors += validation.validate_create(job.metadata, self, settings)
        return errors + self._topology(job, settings)

    def validate_kind(self, job: JobType, settings: JobSettings) -> list[FieldError]:
        """What is special to the kind: nothing, here."""
        return []

    def validate_update(
        self, old: JobType, new: JobType, settings: JobSettings, default_queue_exists: bool
    ) -> list[FieldError]:
        """What is wrong with a change. Source: JS-210, JS-211."""
        suspended = (self.suspended(old), self.suspended(new))
        errors = validation.validate_update(old, new, suspended, self, settings, default_queue_exists)
        if not self.repeats_create_checks:
            return errors + self._topology(new, settings)
        return errors + self.validate(new, settings)

    def _topology(self, job: JobType, settings: JobSettings) -> list[FieldError]:
        wanted = self.checks_topology and settings.topology_aware_scheduling
        return self.validate_topology(job, settings) if wanted else []

    def validate_topology(self, job: JobType, settings: JobSettings) -> list[FieldError]:
        """What is wrong with the topology that the templates ask for. Source: TP-309..316, JS-236."""
        try:
            roles = self.roles(job)
        except InputError as error:
            return [_as_field_error(error)]
        return validate_topology(roles, settings, grouped=self.grouped)

    def pod_sets(self, job: JobType, settings: JobSettings) -> list[PodSet]:
        """One pod set a role. Raises InputError for templates that make none."""
        return pod_sets_of(self.roles(job), settings)

    def suspend(self, job: JobType) -> JobType:
        """The job held, nothing else changed."""
        return self.replace(job, None, suspended=True)

    def start(self, job: JobType, infos: list[PodSetInfo]) -> JobType:
        """The job released, each template with what admission adds. Raises StartError."""
        roles = self.roles(job)
        if len(infos) != len(roles):
            raise StartError(f"invalid podset infos: expecting {len(roles)} podset, got {len(infos)}")
        templates = [merge_template(role.template, info) for role, info in zip(roles, infos, strict=True)]
        return self.replace(job, templates, suspended=False)

    def stop(self, job: JobType, infos: list[PodSetInfo]) -> Stopped[JobType]:
        """The job held and, if the pod sets are still those of the job, its templates as before. Source: JS-164."""
        if self.suspended(job):
            return Stopped(job, False)
        roles = self.roles(job)
        if len(infos) != len(roles):
            return Stopped(self.suspend(job), True)
        templates = [
            restore_template(role.template, info, ()) for role, info in zip(roles, infos, strict=True)
        ]
        return Stopped(self.replace(job, templates, suspended=True), True)


def pod_sets_of(roles: Sequence[Role], settings: JobSettings) -> list[PodSet]:
    """One pod set a role, with what its annotations ask of the topology.

    Raises InputError for annotations from which no request can be made. Source: JS-008, JS-230.
    """
    made = []
    for role in roles:
        request = None
        if settings.topology_aware_scheduling:
            request = topology_request(
                annotations_of(role.template),
                role.indexes,
                multi_layer=settings.multi_layer_topology,
                path=f"$.{role.metadata_path}",
            )
        template = role.template if role.counted is None else role.counted
        made.append(
            PodSet(
                name=role.name,
                count=role.count,
                template=PodTemplateSpec(metadata=template.metadata, spec=unique_env(template.spec)),
                topology_request=request,
            )
        )
    return made


def validate_topology(roles: Sequence[Role], settings: JobSettings, *, grouped: bool) -> list[FieldError]:
    """What is wrong with the topology annotations of the roles, one by one and then as groups."""
    multi_layer = settings.multi_layer_topology
    try:
        pod_sets = pod_sets_of(roles, settings)
    except InputError as error:
        found = _each(roles, multi_layer, bound=False)
        return found or [_as_field_error(error)]
    errors = _each(roles, multi_layer, bound=True)
    if grouped:
        errors += validate_groups(
            pod_sets, {role.name: f"{role.metadata_path}.annotations" for role in roles}
        )
    return errors


def _each(roles: Sequence[Role], multi_layer: bool, *, bound: bool) -> list[FieldError]:
    errors: list[FieldError] = []
    for role in roles:
        if not role.checked:
            continue
        annotations, path = annotations_of(role.template), role.metadata_path
        errors += validate_topology_annotations(path, annotations, multi_layer=multi_layer)
        if bound:
            errors += validate_slice_bound(path, annotations, role.count)
    return errors


def _as_field_error(error: InputError) -> FieldError:
    """A mistake that the pod sets could not be made for, where field errors are told."""
    expected = f" (expected {error.expected})" if error.expected else ""
    return invalid((error.field or "$").removeprefix("$."), None, f"{error.message}{expected}")
