"""The Deployment integration: every pod of a Deployment is admitted by itself. Source: JS-410, JS-411."""

from __future__ import annotations

import msgspec

from kueue_fast.api.apps import Deployment
from kueue_fast.jobs import pod_names
from kueue_fast.jobs.pod_templates import marked
from kueue_fast.jobs.serving import is_held, propagated_labels, validate_serving, validate_serving_update
from kueue_fast.jobs.settings import JobSettings
from kueue_fast.jobs.validation import validate_elastic_annotation, validate_queue_name
from kueue_fast.model.validation.field_error import FieldError

__all__ = ["Deployments"]


class Deployments:
    """apps/v1 Deployment: there is no Workload of its own, only marks on the pods."""

    framework = "deployment"
    api_version = "apps/v1"
    group = "apps"
    kind = "Deployment"
    prebuilt = False
    elastic = False

    def default(self, job: Deployment, settings: JobSettings) -> Deployment:
        """The pods carry queue and class, and who holds them. At creation and at every update. Source: JS-410."""
        if not is_held(job.metadata, settings):
            return job
        template = marked(
            job.spec.template,
            {pod_names.MANAGED: pod_names.TRUE, **propagated_labels(job.metadata)},
            {pod_names.SUSPENDING_PARENT: self.framework},
        )
        return msgspec.structs.replace(job, spec=msgspec.structs.replace(job.spec, template=template))

    def validate(self, job: Deployment, settings: JobSettings) -> list[FieldError]:
        """What is wrong with a new object. Source: JS-411."""
        return validate_serving(job.metadata, self, settings)

    def validate_update(self, old: Deployment, new: Deployment, settings: JobSettings) -> list[FieldError]:
        """What is wrong with a change: anything about the pods may change. Source: JS-411."""
        ready = (old.status.ready_replicas if old.status is not None else None) or 0
        return [
            *validate_queue_name(new.metadata),
            *validate_elastic_annotation(new.metadata, self, settings),
            *validate_serving_update(old, new, ready, settings),
        ]
