"""Whether a ClusterQueue admits workloads, and why not. Source: QP-205, QP-206."""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Mapping
from typing import NamedTuple

from kueue_fast.api.kueue import AdmissionCheck, AdmissionCheckStrategyRule, ClusterQueueSpec, ResourceFlavor
from kueue_fast.model import conditions

MULTIKUEUE = "kueue.x-k8s.io/multikueue"
PROVISIONING = "kueue.x-k8s.io/provisioning-request"
ACTIVE = "Active"


class Activity(NamedTuple):
    """Whether a ClusterQueue is active, and reason and message of its condition Active."""

    active: bool
    reason: str
    message: str


READY = Activity(True, "Ready", "Can admit new workloads")


def flavors_of(spec: ClusterQueueSpec) -> list[str]:
    """Names of the flavors of all resource groups, in spec order."""
    return [flavor.name for group in spec.resource_groups or () for flavor in group.flavors or ()]


def rules_of(spec: ClusterQueueSpec) -> list[AdmissionCheckStrategyRule]:
    """Admission checks of a ClusterQueue and the flavors that they are for."""
    strategy = spec.admission_checks_strategy
    return list(strategy.admission_checks or ()) if strategy else []


def stopped(policy: str | None) -> bool:
    """Whether a stop policy holds a queue: anything but None (QP-204)."""
    return (policy or "None") != "None"


def missing_topologies(
    spec: ClusterQueueSpec, flavors: Mapping[str, ResourceFlavor], exists: Callable[[str, str], bool]
) -> dict[str, str]:
    """Topologies that are not there, by the flavors of the ClusterQueue that name them (TP-507).

    `exists(flavor, topology)` says whether the flavor has its topology.
    """
    missing = {}
    for name in flavors_of(spec):
        flavor = flavors.get(name)
        topology = flavor.spec.topology_name if flavor is not None and flavor.spec is not None else None
        if topology and not exists(name, topology):
            missing[name] = topology
    return missing


def activity(
    spec: ClusterQueueSpec,
    flavors: Container[str],
    checks: Mapping[str, AdmissionCheck],
    missing_topologies: Mapping[str, str],
) -> Activity:
    """Activity of a ClusterQueue, given the ResourceFlavors and AdmissionChecks that exist.

    `missing_topologies`: names of Topologies that are not there, by flavor; they do not matter where MultiKueue places
    pods (TP-507). The reason is that of the first finding, the message lists all.
    """
    findings: list[tuple[str, str]] = []
    if stopped(spec.stop_policy):
        findings.append(("Stopped", "is stopped"))
    missing = [name for name in flavors_of(spec) if name not in flavors]
    if missing:
        findings.append(("FlavorNotFound", f"references missing ResourceFlavor(s): {','.join(missing)}"))
    findings += _check_findings(spec, checks)
    if missing_topologies and (findings or not _places_elsewhere(spec, checks)):
        findings += [
            ("TopologyNotFound", f'there is no Topology "{topology}" for TAS flavor "{flavor}"')
            for flavor, topology in sorted(missing_topologies.items())
        ]
    if not findings:
        return READY
    message = f"Can't admit new workloads: {', '.join(text for _, text in findings)}."
    return Activity(False, findings[0][0], conditions.cut_condition_message(message))


def _places_elsewhere(spec: ClusterQueueSpec, checks: Mapping[str, AdmissionCheck]) -> bool:
    return any(
        rule.name in checks and checks[rule.name].spec.controller_name == MULTIKUEUE
        for rule in rules_of(spec)
    )


def _check_findings(spec: ClusterQueueSpec, checks: Mapping[str, AdmissionCheck]) -> list[tuple[str, str]]:
    rules = rules_of(spec)
    names = sorted({rule.name for rule in rules})
    findings = []
    absent = [name for name in names if name not in checks]
    if absent:
        findings.append(
            ("AdmissionCheckNotFound", f"references missing AdmissionCheck(s): {','.join(absent)}")
        )
    known = {name: checks[name] for name in names if name in checks}
    inactive = [
        name
        for name, check in known.items()
        if not conditions.is_true(check.status.conditions if check.status else None, ACTIVE)
    ]
    if inactive:
        findings.append(
            ("AdmissionCheckInactive", f"references inactive AdmissionCheck(s): {','.join(inactive)}")
        )
    multikueue = [name for name, check in known.items() if check.spec.controller_name == MULTIKUEUE]
    provisioning = [name for name, check in known.items() if check.spec.controller_name == PROVISIONING]
    if len(multikueue) > 1:
        findings.append(
            (
                "MultipleMultiKueueAdmissionChecks",
                "Cannot use multiple MultiKueue AdmissionChecks on the same ClusterQueue, "
                f"found: {','.join(multikueue)}",
            )
        )
    per_flavor = sorted({rule.name for rule in rules if rule.on_flavors and rule.name in multikueue})
    if per_flavor:
        findings.append(
            (
                "MultiKueueAdmissionCheckAppliedPerFlavor",
                f"Cannot specify MultiKueue AdmissionCheck per flavor, found: {','.join(per_flavor)}",
            )
        )
    if multikueue and provisioning:
        findings.append(
            (
                "MultiKueueWithProvisioningRequest",
                "Cannot use both MultiKueue and ProvisioningRequest AdmissionChecks together, "
                f"found: {','.join(multikueue)}, {','.join(provisioning)}",
            )
        )
    return findings


def required_checks(rules: list[AdmissionCheckStrategyRule], flavors: Collection[str]) -> tuple[str, ...]:
    """Checks that an assignment of these flavors needs, in spec order (QC-137).

    A rule without flavors is for all of the ClusterQueue's; so an assignment without any flavor needs none.
    """
    if not flavors:
        return ()
    return tuple(
        rule.name
        for rule in rules
        if not rule.on_flavors or any(flavor in flavors for flavor in rule.on_flavors)
    )
