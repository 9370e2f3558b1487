"""Pending in plain Python: sets, sorted() and the rules as the spec writes them. Source: QC-20..30, QC-37, QC-46."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from tests.kueuecore.kernel import HEAP, NONE, NOWHERE, PARKED

FITS, LATER, NEVER = range(3)
NO_FIT, NO_CANDIDATES, MISMATCH, GENERIC = "NoFit", "NoCandidates", "Mismatch", "Generic"
OUTCOME = {NO_FIT: 1, NO_CANDIDATES: 2, MISMATCH: 6}


@dataclass
class Item:
    row: int
    queue: int
    request: int = 0
    priority: int = 0
    timestamp: int = 0
    namespace: int = 0
    shape: int = NONE
    requeue_at: int = 0
    blocked: bool = False
    checks_failed: bool = False
    place: int = NOWHERE
    counted: int = field(default=NONE)
    """Class that the heap knows it under: the one at the push."""

    @classmethod
    def random(cls, rng: random.Random, row: int, now: int, queue: int) -> Item:
        request = rng.choice((FITS, LATER, NEVER, NEVER))
        return cls(
            row,
            queue,
            request,
            rng.randrange(3),
            rng.randrange(50),
            0 if rng.random() < 0.8 else rng.randrange(1, 3),
            rng.choice((NONE, *range(4))),
            now + rng.randrange(20) if rng.random() < 0.2 else 0,
            rng.random() < 0.05,
            rng.random() < 0.1,
        )

    def order(self) -> tuple[int, int, str]:
        return -self.priority, self.timestamp, f"uid-{self.row:04d}"

    def backoff_is_over(self, now: int) -> bool:
        return not self.blocked and (self.requeue_at == 0 or now >= self.requeue_at)

    def outcome(self) -> str | None:
        """Why it is refused in a queue whose 10 cpu are all in use; None if it is admitted."""
        if self.checks_failed:
            return GENERIC
        if self.namespace == 1:
            return MISMATCH
        if self.namespace == 2:
            return GENERIC
        return {FITS: None, LATER: NO_CANDIDATES, NEVER: NO_FIT}[self.request]


class Model:
    """`strict`: the queues that are StrictFIFO."""

    def __init__(self, queues: int, strict: set[int]) -> None:
        self.queues = queues
        self.strict = strict
        self.items: dict[int, Item] = {}
        self.parked_classes: set[tuple[int, int]] = set()

    def rows(self, queue: int, place: int) -> list[int]:
        return sorted(row for row, item in self.items.items() if item.queue == queue and item.place == place)

    def put(self, new: Item, now: int, changed: bool) -> bool:
        old = self.items.get(new.row)
        new.place = NOWHERE if old is None else old.place
        new.counted = NONE if old is None else old.counted
        self.items[new.row] = new
        if new.place == PARKED and not changed:
            return False
        if new.place != HEAP:
            if not new.backoff_is_over(now):
                new.place = PARKED
                return False
            if new.queue not in self.strict and (new.queue, new.shape) in self.parked_classes:
                new.place = PARKED
                return False
        new.place, new.counted = HEAP, new.shape
        return True

    def put_back(self, new: Item) -> bool:
        self.items[new.row] = new
        new.place, new.counted = HEAP, new.shape
        return True

    def remove(self, row: int) -> None:
        self.items[row].place = NOWHERE

    def flush(self, queue: int, now: int) -> int:
        self.parked_classes = {one for one in self.parked_classes if one[0] != queue}
        moved = [
            self.items[row]
            for row in self.rows(queue, PARKED)
            if self.items[row].namespace == 0 and self.items[row].backoff_is_over(now)
        ]
        for item in moved:
            item.place, item.counted = HEAP, item.shape
        return len(moved)

    def close(self, queue: int) -> list[int]:
        rows = sorted(self.rows(queue, HEAP) + self.rows(queue, PARKED))
        for row in rows:
            self.items[row].place = NOWHERE
        self.parked_classes = {one for one in self.parked_classes if one[0] != queue}
        return rows

    def cycle(self, now: int) -> tuple[set[int], dict[int, int]]:
        """Rows that are admitted, and outcomes of those that go back."""
        admitted, refused = set(), {}
        for queue in range(self.queues):
            heap = [self.items[row] for row in self.rows(queue, HEAP)]
            if not heap:
                continue
            head = min(heap, key=Item.order)
            outcome = head.outcome()
            if outcome is None:
                head.place = NOWHERE
                admitted.add(head.row)
                continue
            refused[head.row] = OUTCOME.get(outcome, 4 if head.checks_failed else 5)
            stays = queue in self.strict and outcome != MISMATCH
            head.place = HEAP if stays and head.backoff_is_over(now) else PARKED
            if head.place == HEAP:
                head.counted = head.shape
            elif outcome in (NO_FIT, NO_CANDIDATES) and queue not in self.strict and head.shape != NONE:
                self.parked_classes.add((queue, head.shape))
                for item in heap:
                    if item.place == HEAP and item.counted == head.shape:
                        item.place = PARKED
        return admitted, refused
