"""Configuration and feature gates, as far as they reach quota decisions."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

# Gates that change what this oracle decides, with their default in Kueue v0.19.
DEFAULT_GATES = {
    "FairSharingPreemptWithinNominal": True,
    "FairSharingPrioritizeNonBorrowing": True,
    "FlavorFungibility": True,
    "FlavorFungibilityPreserveScanProgress": True,
    "PartialAdmission": True,
    "PrioritizePreemptorWorkloads": False,
    "PriorityBoost": False,
    "PrioritySortingWithinCohort": True,
    "QuotaCheckStrategy": True,
    "RecomputeAssignmentUponPreemptionTargetsOverlap": False,
    "SchedulerTimestampPreemptionBuffer": False,
    "SchedulingEquivalenceHashing": True,
}
# Gates without effect on scenarios that this oracle takes: they act on topology alone.
HARMLESS_GATES = frozenset(
    {
        "TASBalancedPlacement",
        "TASFailedNodeReplacementFailFast",
        "TASProfileMixed",
        "TASRecomputeAssignmentWithinSchedulingCycle",
    }
)

FINAL_SHARE = "LessThanOrEqualToFinalShare"
INITIAL_SHARE = "LessThanInitialShare"
BOTH_STRATEGIES = (FINAL_SHARE, INITIAL_SHARE)  # where the configuration names none (QP-720)


@dataclass(frozen=True)
class Settings:
    gates: Mapping[str, bool] = field(default_factory=dict)
    excluded_prefixes: tuple[str, ...] = ()
    transformations: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    quota_check_strategy: str = "BlockUndeclared"
    slow_evictions: bool = False
    fair_sharing: bool = False
    strategies: tuple[str, ...] = BOTH_STRATEGIES

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> "Settings":
        resources = config.get("resources") or {}
        return cls(
            gates=config.get("featureGates") or {},
            excluded_prefixes=tuple(resources.get("excludeResourcePrefixes") or ()),
            transformations={rule["input"]: rule for rule in resources.get("transformations") or ()},
            quota_check_strategy=resources.get("quotaCheckStrategy") or "BlockUndeclared",
            slow_evictions=bool(config.get("slowEvictions")),
            fair_sharing=config.get("fairSharing") is not None,
            strategies=tuple(
                (config.get("fairSharing") or {}).get("preemptionStrategies") or BOTH_STRATEGIES
            ),
        )

    def enabled(self, gate: str) -> bool:
        return self.gates.get(gate, DEFAULT_GATES[gate])

    @property
    def ignores_undeclared(self) -> bool:
        """Source: QP-411."""
        return self.enabled("QuotaCheckStrategy") and self.quota_check_strategy == "IgnoreUndeclared"
