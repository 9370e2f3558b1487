"""Kubernetes' own kinds, lightly: what would make scheduling read them wrongly."""

from collections.abc import Iterator

from kueue_fast.api.batch import Job
from kueue_fast.api.core import LimitRange, Node, Pod, PriorityClass, RuntimeClass
from kueue_fast.model.validation import names
from kueue_fast.model.validation.common import at_least, each, one_of, quantities, taints, unique
from kueue_fast.model.validation.field_error import FieldError, forbidden, required
from kueue_fast.model.validation.pod_template import validate_job_template, validate_pod_spec

HIGHEST_USER_PRIORITY = 1_000_000_000
SYSTEM_PREFIX = "system-"


def validate_limit_range(limit_range: LimitRange) -> Iterator[FieldError]:
    """What is wrong with a LimitRange: types once, quantities."""
    limits = (limit_range.spec.limits if limit_range.spec is not None else None) or []
    yield from unique("spec.limits", (limit.type for limit in limits), ".type")
    for index, limit in enumerate(limits):
        at = f"spec.limits[{index}]"
        if not limit.type:
            yield required(f"{at}.type")
        for field, values in (
            ("max", limit.max),
            ("min", limit.min),
            ("default", limit.default),
            ("defaultRequest", limit.default_request),
            ("maxLimitRequestRatio", limit.max_limit_request_ratio),
        ):
            yield from quantities(f"{at}.{field}", values, custom_resource=False, negative=False)


def validate_runtime_class(runtime_class: RuntimeClass) -> Iterator[FieldError]:
    """What is wrong with a RuntimeClass: handler, overhead."""
    yield from each("handler", runtime_class.handler, names.label(runtime_class.handler))
    if runtime_class.overhead is not None:
        fixed = runtime_class.overhead.pod_fixed
        yield from quantities("overhead.podFixed", fixed, custom_resource=False, negative=False)


def validate_priority_class(priority: PriorityClass) -> Iterator[FieldError]:
    """What is wrong with a PriorityClass: values that Kubernetes keeps for itself, the policy."""
    if priority.value > HIGHEST_USER_PRIORITY and not priority.metadata.name.startswith(SYSTEM_PREFIX):
        yield forbidden("value", f"the highest priority that users may define is {HIGHEST_USER_PRIORITY}")
    policies = ("PreemptLowerPriority", "Never")
    yield from one_of("preemptionPolicy", priority.preemption_policy, policies)


def validate_node(node: Node) -> Iterator[FieldError]:
    """What is wrong with a Node: taints, amounts."""
    if node.spec is not None:
        yield from taints("spec.taints", node.spec.taints)
    if node.status is not None:
        status = node.status
        yield from quantities("status.capacity", status.capacity, custom_resource=False, negative=False)
        yield from quantities("status.allocatable", status.allocatable, custom_resource=False, negative=False)


def validate_pod(pod: Pod) -> Iterator[FieldError]:
    """What is wrong with a Pod: containers, amounts."""
    yield from validate_pod_spec("spec", pod.spec)


def validate_job(job: Job) -> Iterator[FieldError]:
    """What is wrong with a Job: counts, its template."""
    spec = job.spec
    yield from at_least("spec.parallelism", spec.parallelism, 0)
    yield from at_least("spec.completions", spec.completions, 0)
    yield from at_least("spec.backoffLimit", spec.backoff_limit, 0)
    yield from at_least("spec.activeDeadlineSeconds", spec.active_deadline_seconds, 0)
    yield from at_least("spec.ttlSecondsAfterFinished", spec.ttl_seconds_after_finished, 0)
    yield from one_of("spec.completionMode", spec.completion_mode, ("NonIndexed", "Indexed"))
    if spec.completion_mode == "Indexed" and spec.completions is None:
        yield required("spec.completions", "must be set when completionMode is Indexed")
    yield from validate_job_template("spec.template", spec.template)
