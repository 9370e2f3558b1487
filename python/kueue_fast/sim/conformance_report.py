"""`kueue-fast conformance`: replays scenario files and compares, or prints what was decided.

A file holds one JSON scenario a line, gzipped or not. All scenarios of a file are one family.
"""

from __future__ import annotations

import gzip
import json
import sys
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NoReturn, TextIO

import msgspec

from kueue_fast.errors import InputError, Unsupported
from kueue_fast.sim.conformance import replay
from kueue_fast.sim.conformance_compare import first_difference

__all__ = ["read_scenarios", "run_conformance"]

MATCHED: Final = 0
DIFFERENT: Final = 1
BAD_INPUT: Final = 2

Scenario = dict[str, Any]


class _Step(msgspec.Struct):
    """Form of a step; what its keys mean is told in the corpus' README."""

    at: int
    create: list[dict[str, Any]] | None = None
    update: list[dict[str, Any]] | None = None
    delete: list[str] | None = None
    finish: list[str] | None = None
    max_cycles: int | None = msgspec.field(default=None, name="maxCycles")


class _Scenario(msgspec.Struct):
    """Form of a line."""

    name: str
    steps: list[_Step]
    config: dict[str, Any] | None = None
    objects: list[dict[str, Any]] | None = None
    expect: list[dict[str, Any]] | None = None


@dataclass
class Family:
    """Counts of one file. `failures` tells each scenario that did not match, in words."""

    name: str
    matched: int = 0
    unsupported: int = 0
    failures: list[str] = field(default_factory=list)

    @property
    def total(self) -> int:
        """All scenarios, those that are unsupported included."""
        return self.matched + self.unsupported + len(self.failures)

    def lines(self) -> Iterator[str]:
        """The family's line, and one for each failure."""
        yield (
            f"{self.name}: {self.matched}/{self.total} matched, "
            f"{len(self.failures)} failed, {self.unsupported} unsupported"
        )
        for failure in self.failures:
            yield f"  {failure}"


def run_conformance(
    files: Sequence[str | Path], print_only: bool, out: TextIO, err: TextIO | None = None
) -> int:
    """Replays every scenario of `files`; the exit code is 0, 1 if any fails, 2 for bad input.

    Writes to `out` one line a family, and the first difference of each scenario that does not match. With
    `print_only` nothing is compared: one JSON line a scenario is written, `{"name", "steps"}` with steps in
    the form of the corpus' `expect`, or `{"name", "unsupported"}` with the reason. A scenario on which the
    engine breaks fails, and is printed as `{"name", "error"}`. Bad input is told on `err` (standard error)
    with file and line, and ends the run.
    """
    code = MATCHED
    try:
        for file in files:
            if print_only:
                code = max(code, _print_decisions(file, out))
                continue
            family = _compare(file)
            for line in family.lines():
                print(line, file=out)
            if family.failures:
                code = DIFFERENT
    except InputError as error:
        out.flush()
        print(f"error: {error}", file=sys.stderr if err is None else err)
        return BAD_INPUT
    return code


def read_scenarios(file: str | Path) -> Iterator[tuple[str, Scenario]]:
    """(`file:line`, scenario) of each line that is not blank.

    Raises InputError naming file and line: unreadable, not gzip though named so, not JSON, not a scenario.
    """
    number = 0
    try:
        with _open(Path(file)) as lines:
            for number, line in enumerate(lines, 1):
                if line.strip():
                    place = f"{file}:{number}"
                    yield place, _parse(line, place)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        place = f"{file}:{number + 1}" if number else str(file)
        raise InputError(
            f"cannot be unpacked: {error}", file=place, expected="a whole gzip file, as its name says"
        ) from None
    except OSError as error:
        raise InputError(
            f"cannot be read: {error.strerror or error}", file=str(file), expected="a readable file"
        ) from None
    if not number:
        raise InputError("holds no scenario", file=str(file), expected="one JSON scenario a line")


def _open(path: Path) -> Any:
    return gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb")


def _parse(line: bytes, place: str) -> Scenario:
    expected = "one JSON scenario a line"
    try:
        scenario = json.loads(line, parse_constant=_no_constant)
    except UnicodeDecodeError as error:
        raise InputError(f"not UTF-8: {error.reason}", file=place, expected=expected) from None
    except json.JSONDecodeError as error:
        text = f"not JSON: {error.msg} at column {error.colno}"
        raise InputError(text, file=place, expected=expected) from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"not JSON: {error}", file=place, expected=expected) from None
    try:
        msgspec.convert(scenario, _Scenario)
    except msgspec.ValidationError as error:
        text, _, where = str(error).partition(" - at ")
        raise InputError(
            f"not a scenario: {text[:1].lower()}{text[1:]}",
            file=place,
            field=where.strip("`") or None,
            expected="an object with name, config, objects and steps",
        ) from None
    assert isinstance(scenario, dict)
    return scenario


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def _replay(place: str, scenario: Scenario, *, messages: bool) -> list[dict[str, Any]]:
    try:
        return replay(scenario, messages=messages)
    except InputError as error:
        raise error.located(file=place, object=f"scenario {scenario['name']}") from error


def _compare(file: str | Path) -> Family:
    family = Family(_family_name(file))
    for place, scenario in read_scenarios(file):
        want = scenario.get("expect")
        if want is None:
            raise InputError(
                "nothing to compare with", file=place, field="$.expect", expected="it, or the option --print"
            )
        try:
            difference = first_difference(want, _replay(place, scenario, messages=False))
        except InputError:
            raise
        except Unsupported:
            family.unsupported += 1
            continue
        except Exception as error:
            # Where the engine breaks, this scenario fails; the others are still worth comparing.
            difference = _breakage(error)
        if difference is None:
            family.matched += 1
        else:
            family.failures.append(f"{scenario['name']}: {difference}")
    return family


def _breakage(error: Exception) -> str:
    return f"the replay broke with {type(error).__name__}: {error}"


def _print_decisions(file: str | Path, out: TextIO) -> int:
    code = MATCHED
    for place, scenario in read_scenarios(file):
        decided: dict[str, Any] = {"name": scenario["name"]}
        try:
            decided["steps"] = _replay(place, scenario, messages=True)
        except InputError:
            raise
        except Unsupported as error:
            decided["unsupported"] = str(error)
        except Exception as error:
            decided["error"] = _breakage(error)
            code = DIFFERENT
        print(json.dumps(decided, separators=(",", ":"), ensure_ascii=False), file=out)
    return code


def _family_name(file: str | Path) -> str:
    return Path(file).name.removesuffix(".gz").removesuffix(".jsonl")
