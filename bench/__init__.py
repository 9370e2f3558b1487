"""Benchmarks: against Kueue itself (`side_by_side`), memory and ingest (`memory`), pieces (`test_*.py`)."""
