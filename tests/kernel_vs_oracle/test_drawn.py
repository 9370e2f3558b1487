"""The engine against the slow oracle on scenarios that hypothesis draws, and shrinks where they differ."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from tests.conftest import BULK_CYCLES
from tests.kernel_vs_oracle.comparison import difference
from tests.oracle.scenario_strategies import contended


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(contended())
def test_some_drawn_scenarios(scenario: dict[str, Any]) -> None:
    assert difference(scenario) is None


@pytest.mark.bulk
@settings(
    max_examples=max(10, BULK_CYCLES // 10),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(contended())
def test_many_drawn_scenarios(scenario: dict[str, Any]) -> None:
    assert difference(scenario) is None
