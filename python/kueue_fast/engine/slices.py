"""Which slice takes the place of which: workloads of one elastic job in a row. Source: JS-603, QP-905."""

from __future__ import annotations

from collections.abc import Mapping

from kueue_fast.arrays.tables import NONE, Tables
from kueue_fast.arrays.workloads import Record
from kueue_fast.model.elastic import ELASTIC_JOB, REPLACEMENT_FOR


class Slices:
    """Keeps the kernel's `replaces` in step with the records of both slices, whichever comes first."""

    def __init__(self, tables: Tables, records: Mapping[str, Record]) -> None:
        self._kernel = tables.workloads
        self._records = records
        self._replaced: dict[str, str] = {}  # key of a slice -> key of the older one
        self._replacing: dict[str, set[str]] = {}

    def write(self, record: Record, annotations: Mapping[str, str] | None) -> None:
        """A workload came or changed. A slice of another namespace is none."""
        self._kernel.elastic[record.row] = (
            bool(annotations) and (annotations or {}).get(ELASTIC_JOB) == "true"
        )
        old = annotations.get(REPLACEMENT_FOR) if annotations else None
        if old is not None and old.partition("/")[0] != record.namespace:
            old = None
        before = self._replaced.get(record.key)
        if before != old:
            if before is not None:
                self._replacing[before].discard(record.key)
                del self._replaced[record.key]
            if old is not None:
                self._replaced[record.key] = old
                self._replacing.setdefault(old, set()).add(record.key)
        if old is not None or before is not None:
            self._kernel.replaces[record.row] = self._row(old)
        for newer in self._replacing.get(record.key, ()):
            self._point(newer, record.row)

    def came(self, record: Record) -> None:
        """A workload without the annotation is new; others may name it already."""
        if self._replacing:
            for newer in self._replacing.get(record.key, ()):
                self._point(newer, record.row)

    def remove(self, record: Record) -> None:
        """A workload is gone, and its row with it."""
        before = self._replaced.pop(record.key, None)
        if before is not None:
            self._replacing[before].discard(record.key)
            if not self._replacing[before]:
                del self._replacing[before]
        for newer in self._replacing.get(record.key, ()):
            self._point(newer, NONE)

    def _point(self, newer: str, row: int) -> None:
        record = self._records.get(newer)
        if record is not None:
            self._kernel.replaces[record.row] = row

    def _row(self, key: str | None) -> int:
        record = self._records.get(key) if key is not None else None
        return NONE if record is None else record.row
