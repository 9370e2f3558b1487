"""What the controller is told at its start: the Configuration, gates, and who it is.

Source: OP-180, OP-181, OP-250..253, OP-273, OP-274.
"""

from __future__ import annotations

import socket
import uuid
from dataclasses import dataclass, field
from typing import Final

from kueue_fast.api.configuration import Configuration, parse_duration
from kueue_fast.cluster.kube.lease import LeaseSettings
from kueue_fast.cluster.kube.transport import ConnectionSettings
from kueue_fast.errors import InputError

__all__ = ["ControllerSettings", "lease_settings"]

SECOND: Final = 1_000_000_000
LEASE_NAME: Final = "c1f6bfd2.kueue.x-k8s.io"


@dataclass(frozen=True)
class ControllerSettings:
    """`shadow` decides and logs and writes nothing; it needs no Lease."""

    configuration: Configuration
    feature_gates: dict[str, bool] = field(default_factory=dict)
    kubeconfig: str | None = None
    shadow: bool = False
    user_agent: str = "kueue/unknown"
    hostname: str = field(default_factory=socket.gethostname)
    sync_timeout_s: float = 120.0

    def connection(self) -> ConnectionSettings:
        """Speed limits and user agent."""
        client = self.configuration.client_connection
        qps = 300.0 if client is None or client.qps is None else client.qps
        burst = 500 if client is None or client.burst is None else client.burst
        return ConnectionSettings(qps=qps, burst=burst, user_agent=self.user_agent)


def lease_settings(settings: ControllerSettings, pod_namespace: str | None) -> LeaseSettings | None:
    """The Lease to hold, None where election is off. `pod_namespace` is that of our own Pod, None outside of one.

    Raises InputError where the namespace of the Lease cannot be known, or its times do not fit together.
    """
    election = settings.configuration.leader_election
    if settings.shadow or (election is not None and election.leader_elect is False):
        return None
    namespace = (election.resource_namespace if election is not None else None) or pod_namespace
    if not namespace:
        raise InputError(
            "is not set, and we do not run in a pod that would tell it",
            object="Configuration",
            field="leaderElection.resourceNamespace",
            expected="the namespace of the Lease, such as kueue-system",
        )

    def seconds(duration: str | None, default: float) -> float:
        return parse_duration(duration) / SECOND if duration else default

    found = LeaseSettings(
        namespace=namespace,
        name=(election.resource_name if election is not None else None) or LEASE_NAME,
        identity=f"{settings.hostname}_{uuid.uuid4()}",
        duration_s=seconds(election.lease_duration if election is not None else None, 15.0),
        renew_deadline_s=seconds(election.renew_deadline if election is not None else None, 10.0),
        retry_period_s=seconds(election.retry_period if election is not None else None, 2.0),
    )
    found.check()
    return found
