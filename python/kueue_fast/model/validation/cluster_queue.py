"""ClusterQueue: what its schema and webhook refuse on create. Source: LC-109, LC-206, LC-304..309."""

from collections.abc import Iterator

from kueue_fast.api.kueue import (
    AdmissionChecksStrategy,
    ClusterQueue,
    ClusterQueuePreemption,
    ClusterQueueSpec,
    ConcurrentAdmissionPolicy,
    FlavorFungibility,
)
from kueue_fast.model.features import FeatureGates
from kueue_fast.model.validation import names
from kueue_fast.model.validation.common import (
    each,
    fair_sharing,
    items,
    label_selector,
    length,
    one_of,
    optional_subdomain,
    unique,
)
from kueue_fast.model.validation.field_error import (
    FieldError,
    forbidden,
    invalid,
    not_supported,
    required,
)
from kueue_fast.model.validation.resource_groups import validate_resource_groups, validate_totals
from kueue_fast.model.validation.status import validate_cluster_queue_status

QUEUEING_STRATEGIES = ("StrictFIFO", "BestEffortFIFO")
STOP_POLICIES = ("None", "Hold", "HoldAndDrain")
FUNGIBILITY = ("MayStopSearch", "TryNextFlavor")
PREFERENCES = ("BorrowingOverPreemption", "PreemptionOverBorrowing")
RECLAIM_POLICIES = ("Never", "LowerPriority", "Any")
WITHIN_POLICIES = ("Never", "LowerPriority", "LowerOrNewerEqualPriority")
BORROW_POLICIES = ("Never", "LowerPriority")
ADMISSION_MODES = ("UsageBasedAdmissionFairSharing", "NoAdmissionFairSharing")
MIGRATION_MODES = ("TryPreferredFlavors", "RetainFirstAdmission")
CHECKS_MAX = 64
CHECK_NAME_MAX = 316
ON_FLAVORS_MAX = 64
CONCURRENT_FLAVORS_MAX = 16


def validate_cluster_queue(queue: ClusterQueue, gates: FeatureGates, v1beta2: bool) -> Iterator[FieldError]:
    """What is wrong with a ClusterQueue. `v1beta2`: whether that version's own bounds apply too."""
    if queue.spec is not None:
        yield from _spec(queue.spec, gates, v1beta2)
    if queue.status is not None:
        yield from validate_cluster_queue_status(queue.status, v1beta2)


def _spec(spec: ClusterQueueSpec, gates: FeatureGates, v1beta2: bool) -> Iterator[FieldError]:
    yield from optional_subdomain("spec.cohortName" if v1beta2 else "spec.cohort", spec.cohort_name)
    yield from validate_resource_groups(spec.resource_groups, bool(spec.cohort_name), is_cohort=False)
    yield from one_of("spec.queueingStrategy", spec.queueing_strategy, QUEUEING_STRATEGIES)
    yield from label_selector("spec.namespaceSelector", spec.namespace_selector)
    if spec.preemption is not None:
        yield from _preemption(spec.preemption)
    if spec.flavor_fungibility is not None:
        yield from _flavor_fungibility(spec.flavor_fungibility)
    yield from one_of("spec.stopPolicy", spec.stop_policy, STOP_POLICIES)
    yield from fair_sharing("spec.fairSharing", spec.fair_sharing)
    if spec.admission_scope is not None and v1beta2:
        mode = spec.admission_scope.admission_mode
        if mode is None:
            yield required("spec.admissionScope.admissionMode")
        yield from one_of("spec.admissionScope.admissionMode", mode, ADMISSION_MODES)
    yield from validate_totals(spec.resource_groups)
    if spec.concurrent_admission_policy is not None:
        yield from _concurrent_admission(spec.concurrent_admission_policy, spec, gates)
    if spec.admission_checks_strategy is not None:
        yield from _admission_checks(spec.admission_checks_strategy, spec, v1beta2)


def _flavors(spec: ClusterQueueSpec) -> list[str]:
    return sorted({flavor.name for group in spec.resource_groups or () for flavor in group.flavors or ()})


def _preemption(preemption: ClusterQueuePreemption) -> Iterator[FieldError]:
    path = "spec.preemption"
    yield from one_of(f"{path}.reclaimWithinCohort", preemption.reclaim_within_cohort, RECLAIM_POLICIES)
    yield from one_of(f"{path}.withinClusterQueue", preemption.within_cluster_queue, WITHIN_POLICIES)
    borrow = preemption.borrow_within_cohort
    if borrow is None:
        return
    yield from one_of(f"{path}.borrowWithinCohort.policy", borrow.policy, BORROW_POLICIES)
    # Absent policies read as Never: the schema's defaults come before the rule.
    reclaim_never = preemption.reclaim_within_cohort in (None, "Never")
    if reclaim_never and borrow.policy not in (None, "Never"):
        value = {"reclaimWithinCohort": "Never", "borrowWithinCohort": {"policy": borrow.policy}}
        yield invalid(path, value, "reclaimWithinCohort=Never and borrowWithinCohort.Policy!=Never")


def _flavor_fungibility(fungibility: FlavorFungibility) -> Iterator[FieldError]:
    path = "spec.flavorFungibility"
    yield from one_of(f"{path}.whenCanBorrow", fungibility.when_can_borrow, FUNGIBILITY)
    yield from one_of(f"{path}.whenCanPreempt", fungibility.when_can_preempt, FUNGIBILITY)
    yield from one_of(f"{path}.preference", fungibility.preference, PREFERENCES)
    # An absent whenCanBorrow reads as MayStopSearch, an absent whenCanPreempt as TryNextFlavor.
    tries_next = (
        fungibility.when_can_borrow == "TryNextFlavor"
        and (fungibility.when_can_preempt or "TryNextFlavor") == "TryNextFlavor"
    )
    if fungibility.preference is not None and not tries_next:
        message = "preference needs both whenCanBorrow and whenCanPreempt to be TryNextFlavor"
        yield invalid(f"{path}.preference", fungibility.preference, message)


def _admission_checks(
    strategy: AdmissionChecksStrategy, spec: ClusterQueueSpec, v1beta2: bool
) -> Iterator[FieldError]:
    path = "spec.admissionChecksStrategy.admissionChecks"
    checks = strategy.admission_checks or []
    if v1beta2:
        if not checks:
            yield required(path, "must have at least 1 item")
        yield from items(path, checks, CHECKS_MAX)
        yield from unique(path, (check.name for check in checks), ".name")
    flavors = _flavors(spec)
    for index, check in enumerate(checks):
        at = f"{path}[{index}]"
        yield from length(f"{at}.name", check.name, CHECK_NAME_MAX, least=1 if v1beta2 else 0)
        if v1beta2:
            yield from items(f"{at}.onFlavors", check.on_flavors, ON_FLAVORS_MAX)
            yield from unique(f"{at}.onFlavors", check.on_flavors or ())
        for position, flavor in enumerate(check.on_flavors or ()):
            yield from each(f"{at}.onFlavors[{position}]", flavor, names.subdomain(flavor))
            if flavor not in flavors:
                yield not_supported(f"{at}.onFlavors[{position}]", flavor, flavors)


def _concurrent_admission(
    policy: ConcurrentAdmissionPolicy, spec: ClusterQueueSpec, gates: FeatureGates
) -> Iterator[FieldError]:
    path = "spec.concurrentAdmissionPolicy.migration"
    if policy.migration is None:
        yield required(path)
        return
    mode = policy.migration.mode
    if mode is None:
        yield required(f"{path}.mode")
    yield from one_of(f"{path}.mode", mode, MIGRATION_MODES)
    constraints = policy.migration.constraints
    last = None if constraints is None else constraints.last_acceptable_flavor_name
    yield from optional_subdomain(f"{path}.constraints.lastAcceptableFlavorName", last)
    if not gates.enabled("ConcurrentAdmission"):
        return
    groups = spec.resource_groups or []
    when = "when concurrentAdmissionPolicy is set"
    if len(groups) != 1:
        yield invalid("spec.resourceGroups", len(groups), f"must have exactly one resource group {when}")
    elif len(groups[0].flavors or ()) > CONCURRENT_FLAVORS_MAX:
        count = len(groups[0].flavors or ())
        message = f"must have at most {CONCURRENT_FLAVORS_MAX} flavors {when}"
        yield invalid("spec.resourceGroups[0].flavors", count, message)
    if constraints is not None:
        if mode and mode != "TryPreferredFlavors":
            message = f"may only be set when migration.mode is TryPreferredFlavors, not {mode}"
            yield forbidden(f"{path}.constraints", message)
        elif last is not None and last not in _flavors(spec):
            message = f"must be one of the flavors of the ClusterQueue: {', '.join(_flavors(spec))}"
            yield invalid(f"{path}.constraints.lastAcceptableFlavorName", last, message)
    if spec.queueing_strategy == "StrictFIFO":
        yield invalid("spec.queueingStrategy", "StrictFIFO", f"must not be StrictFIFO {when}")
