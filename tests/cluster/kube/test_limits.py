import math

import pytest

from kueue_fast.cluster.kube.backoff import Backoff
from kueue_fast.cluster.kube.errors import api_error
from kueue_fast.cluster.kube.limits import RateLimit


class Clock:
    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


LIMITS = {
    "a burst goes out at once, the next one waits for its token": (2, 3, [0, 0, 0, 0], [0, 0, 0, 0.5]),
    "those who wait are served one after the other": (2, 1, [0, 0, 0], [0, 0.5, 1.0]),
    "tokens come back with time": (2, 1, [0, 0.5, 0.5], [0, 0, 0]),
    "no more than a burst is saved up": (2, 2, [0, 1000, 0, 0], [0, 0, 0, 0.5]),
    "a negative qps is no limit": (-1, 1, [0] * 5, [0] * 5),
    "with a qps of zero there is one burst and then nothing": (
        0,
        2,
        [0, 0, 0, 9e9],
        [0, 0, math.inf, math.inf],
    ),
}


@pytest.mark.parametrize(("qps", "burst", "pauses", "want_waits"), LIMITS.values(), ids=LIMITS)
def test_rate_limit(qps, burst, pauses, want_waits):
    clock = Clock()
    limit = RateLimit(qps, burst, clock)
    waits = []
    for pause in pauses:
        clock.now += pause
        waits.append(limit.reserve())
    assert waits == pytest.approx(want_waits)


BUSY = api_error(429, b"{}", "7", "GET /")
WAITS = {
    "the first wait": (1, None, 0.0, 0.5),
    "it doubles": (3, None, 0.0, 2.0),
    "up to an end": (50, None, 0.0, 30.0),
    "also after very many failures": (10**9, None, 0.0, 30.0),
    "chance adds up to half": (1, None, 0.999, 0.74975),
    "what the server asks for is the least": (1, BUSY, 0.0, 7.0),
    "but it may be longer": (50, BUSY, 0.0, 30.0),
}


@pytest.mark.parametrize(("failures", "error", "chance", "want_seconds"), WAITS.values(), ids=WAITS)
def test_backoff(failures, error, chance, want_seconds):
    assert Backoff().wait_s(failures, error, chance) == pytest.approx(want_seconds)


def test_waits_differ_by_chance():
    assert len({Backoff().wait_s(3) for _ in range(20)}) > 1
