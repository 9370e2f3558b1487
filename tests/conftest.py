"""What every test folder shares: how many random cases run, and how hypothesis runs them."""

import os

import pytest
from hypothesis import HealthCheck, settings

# No deadline in either: how long an example takes says nothing about the code on a shared machine.
settings.register_profile("everyday", deadline=None)
settings.register_profile(
    "ci", deadline=None, derandomize=True, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("ci" if os.environ.get("CI") else "everyday")

BULK_CYCLES = int(os.environ.get("KUEUE_FAST_BULK_CYCLES", "20000"))


@pytest.fixture(scope="session")
def bulk_cycles() -> int:
    """How many seeded random cases a test marked `bulk` compares with the slow oracle."""
    return BULK_CYCLES
