"""How long to wait before trying again."""

from __future__ import annotations

import random
from typing import NamedTuple

from kueue_fast.cluster.kube.errors import ApiError

__all__ = ["Backoff"]


class Backoff(NamedTuple):
    """Waits that double from `first_s` up to `longest_s`, each with up to half of it on top, by chance.

    The chance keeps clients that failed together from coming back together.
    """

    first_s: float = 0.5
    longest_s: float = 30.0
    jitter: float = 0.5

    def wait_s(self, failures: int, error: BaseException | None = None, chance: float | None = None) -> float:
        """Seconds to wait after so many failures in a row (at least one).

        A server that said how long to leave it alone is left alone that long. `chance` in [0, 1) takes the place of
        a random number.
        """
        drawn = random.random() if chance is None else chance
        # Beyond this exponent every start has reached the end; it would only overflow.
        doubled = min(self.longest_s, self.first_s * 2.0 ** min(failures - 1, 64))
        asked = error.retry_after_s if isinstance(error, ApiError) else None
        return max(doubled, asked or 0.0) * (1.0 + self.jitter * drawn)
