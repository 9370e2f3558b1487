"""One scheduling cycle on large inputs, from a full heap."""

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from bench.engines import NOW, blocked, filled_engine
from bench.load_cases import build


@pytest.mark.parametrize(
    ("case", "want_admitted"),
    [("drain-30x500", 30), ("drain-1000x20", 1000)],
)
def test_cycle_that_admits_every_head(benchmark: BenchmarkFixture, case: str, want_admitted: int) -> None:
    engine = filled_engine(build(case))
    # Each round is one further cycle on the same engine: all find a head in every queue.
    cycle = benchmark.pedantic(  # type: ignore[no-untyped-call]
        engine.cycle, args=(NOW,), rounds=15, warmup_rounds=1
    )
    assert len(cycle.admitted) == want_admitted


def test_cycle_without_heads(benchmark: BenchmarkFixture) -> None:
    """Nothing is pending: the fixed cost."""
    engine = filled_engine(build("drain-1000x20"))
    while engine.has_heads():
        engine.cycle(NOW)
    cycle = benchmark(engine.cycle, NOW)
    assert not cycle.admitted


def test_cycle_that_admits_nothing(benchmark: BenchmarkFixture) -> None:
    """Flavor assignment alone: 100 heads, each tried in 8 flavors of 2 resources and kept where it is."""
    engine = filled_engine(blocked(queues=100, flavors=8))
    cycle = benchmark(engine.cycle, NOW)
    assert (len(cycle.admitted), len(cycle.requeued)) == (0, 100)
