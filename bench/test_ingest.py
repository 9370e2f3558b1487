"""Ingest of Workloads from JSON: decoding alone, and up to the engine's heap."""

import json

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from bench import memory_shapes
from kueue_fast import Engine
from kueue_fast.api.decode import decode, decode_object

COUNT = 1000


def lines(shape: str) -> list[bytes]:
    return [memory_shapes.encode(workload) for workload in memory_shapes.SHAPES[shape](COUNT)]


@pytest.mark.parametrize("shape", memory_shapes.SHAPES)
def test_json_loads(benchmark: BenchmarkFixture, shape: str) -> None:
    """What the others are compared with."""
    texts = lines(shape)

    def load_all() -> None:
        for text in texts:
            json.loads(text)

    benchmark(load_all)


@pytest.mark.parametrize("shape", memory_shapes.SHAPES)
def test_decode(benchmark: BenchmarkFixture, shape: str) -> None:
    texts = lines(shape)

    def decode_all() -> None:
        for text in texts:
            decode(text)

    benchmark(decode_all)


@pytest.mark.parametrize("shape", memory_shapes.SHAPES)
def test_ingest(benchmark: BenchmarkFixture, shape: str) -> None:
    texts = lines(shape)

    def fresh() -> tuple[tuple[Engine], dict[str, object]]:
        engine = Engine()
        for manifest in memory_shapes.queues():
            engine.upsert(decode_object(manifest))
        return (engine,), {}

    def ingest(engine: Engine) -> None:
        for text in texts:
            engine.upsert(decode(text))

    benchmark.pedantic(ingest, setup=fresh, rounds=10)  # type: ignore[no-untyped-call]
