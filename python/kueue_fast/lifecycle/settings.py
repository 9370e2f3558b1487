"""The part of the configuration and of the feature gates that the Workload controller reads, as plain fields."""

from __future__ import annotations

from typing import Final

import msgspec

from kueue_fast.api.configuration import Configuration, parse_duration
from kueue_fast.lifecycle.status import Reasons
from kueue_fast.model.features import FeatureGates

__all__ = ["LifecycleSettings", "PodsReadySettings"]

SECOND: Final = 1_000_000_000
MINUTE: Final = 60 * SECOND


class PodsReadySettings(msgspec.Struct, frozen=True, kw_only=True):
    """`waitForPodsReady` with its defaults; times in nanoseconds.

    No `recovery_timeout_ns`: a workload that lost a pod may take as long as it wants. No `backoff_limit`: it is
    requeued for ever. Source: LC-1101.
    """

    timeout_ns: int = 30 * MINUTE
    recovery_timeout_ns: int | None = 30 * MINUTE
    block_admission: bool = False
    backoff_limit: int | None = None
    backoff_base_seconds: int = 60
    backoff_max_seconds: int = 3600

    @classmethod
    def read(cls, configuration: Configuration | None, gates: FeatureGates) -> PodsReadySettings | None:
        """Settings of a Configuration, None where it or the gate DisableWaitForPodsReady turns this off.

        Without a Configuration Kueue's own defaults hold, which turn it on.
        """
        if gates.enabled("DisableWaitForPodsReady"):
            return None
        if configuration is None:
            return cls()
        wait = configuration.wait_for_pods_ready
        if wait is None:
            return None
        timeout = parse_duration(wait.timeout) if wait.timeout else 30 * MINUTE
        recovery = timeout if wait.recovery_timeout is None else parse_duration(wait.recovery_timeout)
        strategy = wait.requeuing_strategy
        base = strategy.backoff_base_seconds if strategy is not None else None
        most = strategy.backoff_max_seconds if strategy is not None else None
        return cls(
            timeout_ns=timeout,
            recovery_timeout_ns=recovery if recovery > 0 else None,
            block_admission=bool(wait.block_admission),
            backoff_limit=strategy.backoff_limit_count if strategy is not None else None,
            backoff_base_seconds=60 if base is None else base,
            backoff_max_seconds=3600 if most is None else most,
        )


class LifecycleSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What the Workload controller needs to know. Durations in nanoseconds; None: never.

    Source: LC-1101, LC-1405, LC-1602..1604.
    """

    pods_ready: PodsReadySettings | None = None
    after_finished_ns: int | None = None
    after_deactivated_ns: int | None = None
    finish_orphaned: bool = True
    admission_gated_by: bool = True
    reasons: Reasons = Reasons()

    @classmethod
    def read(cls, configuration: Configuration | None, gates: FeatureGates) -> LifecycleSettings:
        """Settings of a Configuration (None: the defaults) and the gates."""
        policies = configuration.object_retention_policies if configuration is not None else None
        workloads = policies.workloads if policies is not None else None
        return cls(
            pods_ready=PodsReadySettings.read(configuration, gates),
            after_finished_ns=_period(workloads.after_finished if workloads is not None else None),
            after_deactivated_ns=_period(
                workloads.after_deactivated_by_kueue if workloads is not None else None
            ),
            finish_orphaned=gates.enabled("FinishOrphanedWorkloads"),
            admission_gated_by=gates.enabled("AdmissionGatedBy"),
            reasons=Reasons.read(gates),
        )


def _period(duration: str | None) -> int | None:
    return None if duration is None else parse_duration(duration)
