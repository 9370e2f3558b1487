"""The memory benchmark: its inputs and rows. No timing, no child process."""

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from bench import memory, memory_shapes
from bench.memory import COLUMNS, RUNS, Cost, cost, table_line, write_list


class TestWriteList:
    @pytest.mark.parametrize("count", [0, 1, 3])
    def test_one_document_of_the_same_objects(self, count: int, tmp_path: Path) -> None:
        lines, document = tmp_path / "lines", tmp_path / "document"
        workloads = list(memory_shapes.load_shape(count))
        lines.write_bytes(b"".join(memory_shapes.encode(workload) for workload in workloads))
        write_list(lines, document)
        assert json.loads(document.read_bytes()) == {"apiVersion": "v1", "kind": "List", "items": workloads}


class TestCost:
    def test_medians_and_both_ratios(self) -> None:
        def rounds(*milliseconds: int) -> list[dict[str, int]]:
            return [{"ns": ms * 1_000_000, "resident": ms * 10_000} for ms in milliseconds]

        runs = {
            "ingest": rounds(20, 900, 10),
            "loads": rounds(40, 40, 1),
            "list-ingest": rounds(30, 30, 30),
            "list-loads": rounds(10, 20, 30),
        }
        assert cost("load", 100, 45_199, runs) == Cost(
            shape="load",
            count=100,
            json_bytes=451,
            resident_bytes=2000,
            ingest_us=200.0,
            json_loads_us=400.0,
            ratio=0.5,
            list_ingest_us=300.0,
            list_json_loads_us=200.0,
            list_ratio=1.5,
        )


class TestRuns:
    @pytest.mark.parametrize("name", RUNS)
    def test_each_reading_takes_its_file(self, name: str, tmp_path: Path) -> None:
        lines, document = tmp_path / "lines", tmp_path / "document"
        lines.write_bytes(b"".join(memory_shapes.encode(one) for one in memory_shapes.live_shape(3)))
        write_list(lines, document)
        got = RUNS[name](document if name.startswith("list") else lines)
        assert set(got) == {"ns", "resident"}
        assert got["ns"] > 0


class TestOutput:
    ROW = Cost("live", 100_000, 3607, 2044, 14.07, 30.2, 0.466, 15.5, 41.01, 0.378)

    def test_columns_are_the_keys(self) -> None:
        assert list(asdict(self.ROW)) == list(COLUMNS)

    def test_table_line(self) -> None:
        header = table_line([column.replace("_", " ") for column in COLUMNS])
        line = table_line([str(value) for value in asdict(self.ROW).values()])
        assert line.split()[-3:] == ["15.5", "41.01", "0.378"]
        assert len(line) == len(header)

    @pytest.mark.parametrize("name", ["--count", "--rounds"])
    def test_bad_arguments(self, name: str, capsys: pytest.CaptureFixture[str]) -> None:
        with pytest.raises(SystemExit) as stop:
            memory.main([name, "0"])
        assert stop.value.code == 2
        assert f"argument {name}: expected 1 or more, got 0" in capsys.readouterr().err
