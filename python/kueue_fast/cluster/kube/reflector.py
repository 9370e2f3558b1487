"""Keeps one kind in the cache as the API server has it: a list in pages, then a watch from there on, for ever.

What can go wrong, and what follows:

* the connection breaks, the server is busy (429) or fails (5xx): wait, each time longer, then go on from there;
* that version is no longer kept (410): list again;
* an object cannot be read: it is reported and passed over, and what was known of it before stays;
* the kind is not served, or may not be read: reported, and tried again with the longest waits.

Source: OP-130 (start), OP-741.
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Callable
from typing import Final

from kueue_fast.api.list_watch import Bookmark, Changed, Failed, Page, Undecodable, read_event, read_page
from kueue_fast.cluster.changes import key_of
from kueue_fast.cluster.errors import ClusterError, NotFoundError
from kueue_fast.cluster.kube.backoff import Backoff
from kueue_fast.cluster.kube.cache import ObjectCache
from kueue_fast.cluster.kube.errors import GoneError, status_error
from kueue_fast.cluster.kube.resources import Resource
from kueue_fast.cluster.kube.transport import Connection
from kueue_fast.errors import InputError

__all__ = ["PAGE_SIZE", "Reflector"]

PAGE_SIZE: Final = 500
# The server ends a watch after a while by itself; the range keeps all watches from ending at once.
WATCH_SECONDS: Final = (300, 600)
# A watch with bookmarks is silent for about a minute at most; longer is a dead connection.
IDLE_SECONDS: Final = 120.0
SHORT_SECONDS: Final = 1.0
# A list whose next page is gone (410) is begun anew so often, then asked for in one piece, as client-go does.
PAGED_ATTEMPTS: Final = 3

log = logging.getLogger("reflector")

Report = Callable[[Resource, Undecodable], None]


class Reflector:
    """List and watch of one resource into a cache.

    `synced` is set once the first list is in the cache, `answered` also when the kind turned out not to be served.
    `report` hears of what cannot be read. A listener of the cache that raises ends `run`.
    """

    def __init__(
        self,
        connection: Connection,
        resource: Resource,
        cache: ObjectCache,
        *,
        namespace: str | None = None,
        report: Report | None = None,
        backoff: Backoff = Backoff(),
        page_size: int = PAGE_SIZE,
        watch_seconds: tuple[int, int] = WATCH_SECONDS,
        idle_s: float = IDLE_SECONDS,
    ) -> None:
        self.resource = resource
        self.synced = asyncio.Event()
        self.answered = asyncio.Event()
        self.lists = 0
        self.watches = 0
        self.last_error: ClusterError | None = None
        self._connection = connection
        self._cache = cache
        self._path = resource.path(namespace)
        self._report = report or _log_undecodable
        self._backoff = backoff
        self._page_size = page_size
        self._watch_seconds = watch_seconds
        self._idle_s = idle_s
        self._failures = 0
        self._version = ""

    async def run(self) -> None:
        """Until it is cancelled."""
        while True:
            try:
                await self._list()
                while True:
                    await self._watch()
            except GoneError as error:
                # The next list is recent by nature: one at once, more only with waits.
                self._failures += 1
                if self._failures > 1:
                    await self._pause(error)
            except ClusterError as error:
                if isinstance(error, NotFoundError):
                    self.answered.set()
                self._failures += 1
                await self._pause(error)

    async def _list(self) -> None:
        """Everything there is, into the cache; the version to watch from is kept."""
        self.lists += 1
        pages: list[Page] = []
        attempts = 0
        query = {"limit": str(self._page_size)}
        while True:
            try:
                page = await self._page(query)
            except GoneError:
                attempts += 1
                pages.clear()
                query = {"limit": str(self._page_size)} if attempts < PAGED_ATTEMPTS else {}
                continue
            pages.append(page)
            if page.continue_token is None:
                break
            query = {**query, "continue": page.continue_token}
        undecodable = [each for page in pages for each in page.undecodable]
        for each in undecodable:
            self._report(self.resource, each)
        unread = {(self.resource.kind, each.namespace, each.name) for each in undecodable}
        self._cache.replace(self.resource.kind, (obj for page in pages for obj in page.objects), unread)
        self._version = pages[-1].resource_version
        self.last_error = None
        self.synced.set()
        self.answered.set()

    async def _page(self, query: dict[str, str]) -> Page:
        body = await self._connection.request("GET", self._path, query=query)
        try:
            page = read_page(body, self.resource.api_version, self.resource.kind)
        except InputError as error:
            raise ClusterError(f"list {self._path}: {error}") from error
        # Other kinds' watches and the writes have their turn between pages.
        await asyncio.sleep(0)
        return page

    async def _watch(self) -> None:
        """One watch, until the server ends it or it breaks. Raises GoneError when a list is due."""
        self.watches += 1
        seconds = random.randint(*self._watch_seconds)
        query = {
            "watch": "true",
            "resourceVersion": self._version,
            "allowWatchBookmarks": "true",
            "timeoutSeconds": str(seconds),
        }
        heard = False
        began = time.monotonic()
        try:
            async with self._connection.stream(self._path, query, idle_s=self._idle_s) as lines:
                async for line in lines:
                    self._take(line)
                    heard = True
                    self._failures = 0
                    self.last_error = None
        except (GoneError, NotFoundError):
            # Of what was kept there is no more, or of the kind; only a list tells what there is now.
            raise
        except ClusterError as error:
            self._failures += 1
            await self._pause(error)
            return
        if not heard and time.monotonic() - began < SHORT_SECONDS:
            # A server that ends watches at once must not be asked without a pause.
            self._failures += 1
            await self._pause(ClusterError(f"watch {self._path}: ended without an event"))

    def _take(self, line: bytes) -> None:
        kind = self.resource.kind
        try:
            message = read_event(line, self.resource.api_version, kind)
        except InputError as error:
            raise ClusterError(f"watch {self._path}: {error}") from error
        match message:
            case Failed(status):
                raise status_error(status, f"watch {self._path}")
            case Bookmark(version):
                self._version = version or self._version
            case Changed(type_, Undecodable() as unread):
                self._version = unread.resource_version or self._version
                if type_ == "DELETED":
                    self._cache.remove((kind, unread.namespace, unread.name))
                else:
                    self._report(self.resource, unread)
            case Changed(type_, obj):
                assert not isinstance(obj, Undecodable)
                self._version = obj.metadata.resource_version or self._version
                if type_ == "DELETED":
                    self._cache.remove(key_of(obj), obj)
                else:
                    self._cache.put(obj)

    async def _pause(self, error: ClusterError) -> None:
        self.last_error = error
        seconds = self._backoff.wait_s(self._failures, error)
        level = logging.WARNING if self._failures > 1 else logging.INFO
        log.log(level, "%s; again in %.1f s", error, seconds)
        await asyncio.sleep(seconds)


def _log_undecodable(resource: Resource, unread: Undecodable) -> None:
    name = f"{unread.namespace}/{unread.name}" if unread.namespace else unread.name
    log.error("%s %s is passed over: %s", resource.kind, name, unread.error)
