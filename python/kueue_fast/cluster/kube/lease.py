"""Leader election by a Lease as client-go does it, so that upstream's replicas and ours take turns on one Lease.

Time is measured on a clock that never goes back, from when we saw the Lease change: what other machines take for
the time does not matter. Any error counts as "not renewed". What leads is stopped before the Lease is given up.

Source: OP-180, OP-181, OP-182, OP-148.
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Awaitable, Callable
from typing import Any, Final, NamedTuple

import msgspec

from kueue_fast.cluster.errors import ClusterError, ConflictError, NotFoundError
from kueue_fast.cluster.kube.resources import LEASES
from kueue_fast.cluster.kube.times import micro_time
from kueue_fast.cluster.kube.transport import Connection
from kueue_fast.errors import InputError

__all__ = ["LeaderElector", "LeaseLostError", "LeaseSettings"]

JITTER: Final = 1.2
# Between when the last holder must have stopped and when we begin.
MARGIN_S: Final = 2.0
USER_AGENT_SUFFIX: Final = "/leader-election"

log = logging.getLogger("leader-election")


class LeaseLostError(ClusterError):
    """The Lease could not be renewed in time; what led has been stopped."""


class LeaseSettings(NamedTuple):
    """`leaderElection` of the Configuration; times in seconds. `identity` must be no other process's."""

    namespace: str
    name: str
    identity: str
    duration_s: float = 15.0
    renew_deadline_s: float = 10.0
    retry_period_s: float = 2.0

    def check(self) -> None:
        """Raises InputError where the times do not fit together. Source: OP-181."""
        for field, value, least, words in (
            ("retryPeriod", self.retry_period_s, 0.0, "more than 0"),
            (
                "renewDeadline",
                self.renew_deadline_s,
                JITTER * self.retry_period_s,
                f"more than {JITTER} x retryPeriod",
            ),
            ("leaseDuration", self.duration_s, self.renew_deadline_s, "more than renewDeadline"),
        ):
            if value <= least:
                raise InputError(f"is {value:g} s", field=f"leaderElection.{field}", expected=words)
        if self.duration_s < 1:
            raise InputError(
                f"is {self.duration_s:g} s", field="leaderElection.leaseDuration", expected="at least 1s"
            )


class LeaderElector:
    """Waits for the Lease, keeps it while something leads, and gives it back.

    `monotonic` returns seconds, `now` ns since 1970 (for what others read in the Lease).
    """

    def __init__(
        self,
        connection: Connection,
        settings: LeaseSettings,
        *,
        monotonic: Callable[[], float] = time.monotonic,
        now: Callable[[], int] = time.time_ns,
    ) -> None:
        settings.check()
        self._connection = connection
        self._settings = settings
        self._monotonic = monotonic
        self._now = now
        self._lease: dict[str, Any] = {}
        # The holder's part of the Lease as it was seen last, and when it was seen to change.
        self._seen: tuple[Any, ...] | None = None
        self._seen_at = 0.0
        self._renewed_at: float | None = None
        # A holder that lived may go on until then.
        self._others_until = 0.0

    @property
    def holder(self) -> str:
        """Who held the Lease when it was last seen; "" for nobody."""
        return str(self._lease.get("spec", {}).get("holderIdentity") or "")

    def holds(self) -> bool:
        """Whether we may act as the leader at this moment: the last renewal is younger than the renew deadline."""
        renewed = self._renewed_at
        return renewed is not None and self._monotonic() - renewed < self._settings.renew_deadline_s

    async def run(self, lead: Callable[[], Awaitable[None]]) -> None:
        """Wait for the Lease, then run `lead`; return when that has returned and the Lease is released.

        `lead` is cancelled when the Lease is lost or this is cancelled, and waited for. Raises LeaseLostError, and
        what `lead` raised.
        """
        await self._acquire()
        leading = asyncio.ensure_future(lead())
        try:
            await self._keep(leading)
        finally:
            leading.cancel()
            await asyncio.wait([leading])
            await self._release()
        leading.result()

    async def _acquire(self) -> None:
        settings = self._settings
        log.info("waiting for lease %s/%s as %s", settings.namespace, settings.name, settings.identity)
        while not await self._try():
            await asyncio.sleep(self._wait_s(random.random()))
        log.info("took lease %s/%s", settings.namespace, settings.name)
        while (left := self._others_until - self._monotonic()) > 0:
            log.info("its last holder may go on for %.1f s", left)
            await asyncio.sleep(min(left, settings.retry_period_s))
            await self._try()

    def _wait_s(self, chance: float) -> float:
        """Seconds until the next look at a Lease that others hold.

        Earlier than client-go: a replica that starts again after its death reads the Lease anew and counts from then,
        as does a late look, and who counts from the earliest time is first.
        """
        usual = self._settings.retry_period_s / 2 * (1 + JITTER * chance)
        spec = self._lease.get("spec") or {}
        left = self._seen_at + float(spec.get("leaseDurationSeconds") or 0) - self._monotonic()
        return min(usual, left) if left > 0 else usual

    async def _keep(self, leading: asyncio.Future[None]) -> None:
        """Renew until the leading task is done. Raises LeaseLostError."""
        while True:
            done, _ = await asyncio.wait([leading], timeout=self._settings.retry_period_s)
            if done:
                return
            await self._try()
            if not self.holds():
                self._renewed_at = None
                raise LeaseLostError(
                    f"lease {self._settings.namespace}/{self._settings.name} was not renewed for "
                    f"{self._settings.renew_deadline_s:g} s; its holder is {self.holder or 'nobody'}"
                )

    async def _try(self) -> bool:
        """Take or renew the Lease; False if it is held by others or anything went wrong."""
        # From before the request: the server may have written it at any moment since.
        started = self._monotonic()
        try:
            await self._take()
        except _HeldError:
            # Ours no more, if it ever was.
            self._renewed_at = None
            return False
        except Exception as error:
            log.warning("lease not renewed: %s", error)
            # An optimistic write failed; the next attempt begins by reading.
            self._lease = {}
            return False
        self._renewed_at = started
        return True

    async def _take(self) -> None:
        if self._renewed_at is None or not self._lease:
            try:
                lease = await self._request("GET")
            except NotFoundError:
                await self._write("POST", {"apiVersion": LEASES.api_version, "kind": LEASES.kind}, None)
                return
            self._observe(lease)
        spec = self._lease.get("spec") or {}
        holder = spec.get("holderIdentity") or ""
        if holder and holder != self._settings.identity:
            lasts = float(spec.get("leaseDurationSeconds") or 0)
            if self._monotonic() < self._seen_at + lasts:
                raise _HeldError(holder)
            # It gives up at its renew deadline, which we do not know; ours is the usual one.
            self._others_until = self._seen_at + self._settings.renew_deadline_s + MARGIN_S
        await self._write("PUT", self._lease, spec)

    def _observe(self, lease: dict[str, Any]) -> None:
        spec = lease.get("spec") or {}
        fields = ("holderIdentity", "leaseDurationSeconds", "acquireTime", "renewTime", "leaseTransitions")
        seen = tuple(spec.get(field) for field in fields)
        if seen != self._seen:
            self._seen = seen
            self._seen_at = self._monotonic()
        self._lease = lease

    async def _write(self, method: str, lease: dict[str, Any], before: dict[str, Any] | None) -> None:
        """Write us as the holder; the version that was read makes a conflict if anybody was faster."""
        settings = self._settings
        now = micro_time(self._now())
        held = before is not None and before.get("holderIdentity") == settings.identity
        transitions = int((before or {}).get("leaseTransitions") or 0)
        spec = {
            **(before or {}),
            "holderIdentity": settings.identity,
            "leaseDurationSeconds": int(settings.duration_s),
            "renewTime": now,
            "acquireTime": (before or {}).get("acquireTime", now) if held else now,
            "leaseTransitions": transitions if held or before is None else transitions + 1,
        }
        metadata = lease.get("metadata") or {"namespace": settings.namespace, "name": settings.name}
        self._observe(await self._request(method, {**lease, "metadata": metadata, "spec": spec}))

    async def _release(self) -> None:
        """Name nobody as the holder, if we are it; the next one need not wait then."""
        if self._renewed_at is None or self.holder != self._settings.identity:
            return
        self._renewed_at = None
        try:
            try:
                await self._give_up()
            except ConflictError:
                # A renewal that was cancelled on its way may have been written all the same.
                self._observe(await self._request("GET"))
                if self.holder != self._settings.identity:
                    return
                await self._give_up()
        except ClusterError as error:
            log.warning("lease not released: %s", error)
        else:
            log.info("released lease %s/%s", self._settings.namespace, self._settings.name)

    async def _give_up(self) -> None:
        now = micro_time(self._now())
        transitions = self._lease["spec"].get("leaseTransitions", 0)
        spec = {
            "holderIdentity": "",
            "leaseDurationSeconds": 1,
            "renewTime": now,
            "acquireTime": now,
            "leaseTransitions": transitions,
        }
        await self._request("PUT", {**self._lease, "spec": spec})

    async def _request(self, method: str, lease: dict[str, Any] | None = None) -> dict[str, Any]:
        name = None if method == "POST" else self._settings.name
        answer = await self._connection.request(
            method,
            LEASES.path(self._settings.namespace, name),
            body=None if lease is None else msgspec.json.encode(lease),
            timeout_s=max(1.0, self._settings.renew_deadline_s / 2),
            # A full bucket of other writes must not cost us the Lease.
            limited=False,
            user_agent_suffix=USER_AGENT_SUFFIX,
        )
        return dict(msgspec.json.decode(answer, type=dict[str, Any]))


class _HeldError(Exception):
    """Another process holds the Lease."""
