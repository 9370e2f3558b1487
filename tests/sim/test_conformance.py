"""Replay of conformance scenarios, and the report on files of them."""

import gzip
import io
import json
from pathlib import Path
from typing import Any

import pytest

from kueue_fast.errors import InputError, Unsupported
from kueue_fast.sim.conformance import CycleTimer, replay
from kueue_fast.sim.conformance_report import run_conformance

KUEUE = "kueue.x-k8s.io/v1beta2"


def workload(name: str, cpu: str, created: int, **spec: Any) -> dict[str, Any]:
    container = {"name": "c", "image": "x", "resources": {"requests": {"cpu": cpu}}}
    template = {"metadata": {}, "spec": {"restartPolicy": "Never", "containers": [container]}}
    return {
        "apiVersion": KUEUE,
        "kind": "Workload",
        "metadata": {
            "name": name,
            "namespace": "ns",
            "uid": f"uid-{name}",
            "creationTimestamp": f"2026-01-01T00:00:{created:02d}Z",
        },
        "spec": {
            "active": True,
            "queueName": "lq",
            "podSets": [{"name": "main", "count": 1, "template": template}],
            **spec,
        },
    }


def cluster_queue(cpu: str) -> dict[str, Any]:
    resources = [{"name": "cpu", "nominalQuota": cpu}]
    group = {"coveredResources": ["cpu"], "flavors": [{"name": "default", "resources": resources}]}
    return {
        "apiVersion": KUEUE,
        "kind": "ClusterQueue",
        "metadata": {"name": "cq", "uid": "uid-cq"},
        "spec": {"namespaceSelector": {}, "resourceGroups": [group]},
    }


def scenario(*steps: dict[str, Any], **parts: Any) -> dict[str, Any]:
    objects = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ns", "uid": "uid-ns"}},
        {
            "apiVersion": KUEUE,
            "kind": "ResourceFlavor",
            "metadata": {"name": "default", "uid": "uid-f"},
            "spec": {},
        },
        cluster_queue("2"),
        {
            "apiVersion": KUEUE,
            "kind": "LocalQueue",
            "metadata": {"name": "lq", "namespace": "ns", "uid": "uid-lq"},
            "spec": {"clusterQueue": "cq"},
        },
    ]
    return {"name": "case-1", "config": {}, "objects": objects, "steps": list(steps), **parts}


def admission(name: str, cpu: str, **parts: Any) -> dict[str, Any]:
    pod_set = {"name": "main", "count": 1, "flavors": {"cpu": "default"}, "usage": {"cpu": cpu}}
    return {
        "workload": f"ns/{name}",
        "clusterQueue": "cq",
        "podSets": [{**pod_set, **parts}],
        "admitted": True,
    }


TWO_WORKLOADS = scenario(
    {"at": 10, "create": [workload("a", "1500m", 1), workload("b", "1", 2)]},
    {"at": 20, "finish": ["ns/a"]},
)
WANT_TWO_WORKLOADS = [
    {
        "cycles": [{"admitted": [admission("a", "1500m")]}],
        "inadmissible": {"cq": ["ns/b"]},
        "usage": {"cq": {"default/cpu": 1500}},
    },
    {"cycles": [{"admitted": [admission("b", "1")]}], "usage": {"cq": {"default/cpu": 1000}}},
]


class TestReplay:
    REPLAYS = {
        "what does not fit is parked, and comes back when quota is released": (
            TWO_WORKLOADS["steps"],
            WANT_TWO_WORKLOADS,
        ),
        "without a workload nothing happens": ([{"at": 1}], [{"cycles": []}]),
        "a step stops after maxCycles": (
            [{"at": 10, "create": [workload("a", "1", 1), workload("b", "1", 2)], "maxCycles": 1}],
            [
                {
                    "cycles": [{"admitted": [admission("a", "1")]}],
                    "active": {"cq": ["ns/b"]},
                    "usage": {"cq": {"default/cpu": 1000}},
                    "truncated": True,
                }
            ],
        ),
        "an updated ClusterQueue brings parked workloads back": (
            [{"at": 10, "create": [workload("a", "3", 1)]}, {"at": 20, "update": [cluster_queue("4")]}],
            [
                {"cycles": [], "inadmissible": {"cq": ["ns/a"]}},
                {"cycles": [{"admitted": [admission("a", "3")]}], "usage": {"cq": {"default/cpu": 3000}}},
            ],
        ),
        "a deleted workload is gone": (
            [{"at": 10, "create": [workload("a", "3", 1)]}, {"at": 20, "delete": ["Workload/ns/a"]}],
            [{"cycles": [], "inadmissible": {"cq": ["ns/a"]}}, {"cycles": []}],
        ),
    }

    @pytest.mark.parametrize(("steps", "want"), REPLAYS.values(), ids=REPLAYS.keys())
    def test_replay(self, steps: list[dict[str, Any]], want: list[dict[str, Any]]) -> None:
        assert replay(scenario(*steps)) == want

    def test_same_scenario_same_decisions(self) -> None:
        assert replay(TWO_WORKLOADS) == replay(TWO_WORKLOADS)

    def test_messages_on_request(self) -> None:
        steps = replay(TWO_WORKLOADS, messages=True)
        assert list(steps[0]["messages"]) == ["ns/b"]
        assert "cpu" in steps[0]["messages"]["ns/b"]
        assert "messages" not in steps[1]

    def test_timer_counts_cycles_only(self) -> None:
        ticks = iter(range(0, 1000, 5))
        timer = CycleTimer(clock=lambda: next(ticks))
        replay(TWO_WORKLOADS, timer)
        # Two cycles in the first step (the second finds nothing that fits), one in the second.
        assert (timer.cycles, timer.spent_ns) == (3, 15)

    BROKEN = {
        "an update of what is not there": (
            {"at": 1, "update": [workload("z", "1", 1)]},
            "update of Workload/ns/z, which does not exist",
        ),
        "a finish of what is not there": (
            {"at": 1, "finish": ["ns/z"]},
            "finish of Workload/ns/z, which does not exist",
        ),
        "a delete of what is not there": (
            {"at": 1, "delete": ["Node/n"]},
            "delete of Node/n, which does not exist",
        ),
        "a failure of what is not there": (
            {"at": 1, "failed": ["n"]},
            "failure of Node/n, which does not exist",
        ),
        "an unknown kind": ({"at": 1, "create": [{"apiVersion": "v9", "kind": "Pudding"}]}, "Pudding"),
    }

    @pytest.mark.parametrize(("step", "want"), BROKEN.values(), ids=BROKEN.keys())
    def test_malformed_scenario(self, step: dict[str, Any], want: str) -> None:
        with pytest.raises(InputError, match=want):
            replay(scenario(step))

    UNSUPPORTED = {
        "a step key that is unknown": (scenario({"at": 1, "scale": ["n"]}), "'scale' in a step"),
    }

    @pytest.mark.parametrize(("case", "want"), UNSUPPORTED.values(), ids=UNSUPPORTED.keys())
    def test_unsupported(self, case: dict[str, Any], want: str) -> None:
        with pytest.raises(Unsupported, match=want):
            replay(case)


GOOD = {**TWO_WORKLOADS, "expect": WANT_TWO_WORKLOADS}
BAD = {**TWO_WORKLOADS, "name": "case-2", "expect": WANT_TWO_WORKLOADS[:1]}
NOT_BUILT = {**GOOD, "name": "case-3", "steps": [{"at": 1, "scale": ["ns/a"]}]}


def write(path: Path, *scenarios: dict[str, Any] | str) -> Path:
    lines = [line if isinstance(line, str) else json.dumps(line) for line in scenarios]
    text = "\n".join(lines).encode()
    path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)
    return path


def run(*files: Path, print_only: bool = False) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    code = run_conformance(files, print_only, out, err)
    return code, out.getvalue(), err.getvalue()


class TestReport:
    COUNTS = {
        "all match": ([GOOD], 0, ["family: 1/1 matched, 0 failed, 0 unsupported"]),
        "unsupported ones are apart from failures": (
            [GOOD, NOT_BUILT],
            0,
            ["family: 1/2 matched, 0 failed, 1 unsupported"],
        ),
        "a failure is told in words": (
            [GOOD, BAD, NOT_BUILT],
            1,
            ["family: 1/3 matched, 1 failed, 1 unsupported", "  case-2: want 1 step, got 2"],
        ),
        "blank lines do not count": ([GOOD, "", "  "], 0, ["family: 1/1 matched, 0 failed, 0 unsupported"]),
        "an expectation of another form fails": (
            [{**GOOD, "expect": [{"cycles": [{"admitted": [{}]}]}]}],
            1,
            [
                "family: 0/1 matched, 1 failed, 0 unsupported",
                "  case-1: the replay broke with KeyError: 'workload'",
            ],
        ),
    }

    @pytest.mark.parametrize("suffix", [".jsonl", ".jsonl.gz"])
    @pytest.mark.parametrize(("lines", "want_code", "want"), COUNTS.values(), ids=COUNTS.keys())
    def test_counts(
        self, tmp_path: Path, suffix: str, lines: list[Any], want_code: int, want: list[str]
    ) -> None:
        file = write(tmp_path / f"family{suffix}", *lines)
        assert run(file) == (want_code, "\n".join(want) + "\n", "")

    def test_one_line_a_family_and_the_worst_code(self, tmp_path: Path) -> None:
        one, two = write(tmp_path / "one.jsonl", BAD), write(tmp_path / "two.jsonl.gz", GOOD)
        code, out, _ = run(one, two)
        assert code == 1
        assert [line.split(":")[0] for line in out.splitlines()] == ["one", "  case-2", "two"]

    def test_print(self, tmp_path: Path) -> None:
        file = write(tmp_path / "family.jsonl", TWO_WORKLOADS, NOT_BUILT, BAD)
        code, out, err = run(file, print_only=True)
        first, second, third = map(json.loads, out.splitlines())
        assert (code, err) == (0, "")
        assert first == {"name": "case-1", "steps": replay(TWO_WORKLOADS, messages=True)}
        assert second == {"name": "case-3", "unsupported": "'scale' in a step"}
        assert third["steps"] == first["steps"]

    BAD_FILES = {
        "not gzip": ("a.jsonl.gz", b"{}", "a.jsonl.gz: cannot be unpacked: Not a gzipped file"),
        "gzip cut short": ("a.jsonl.gz", gzip.compress(b"\n" * 100_000)[:-20], "a.jsonl.gz"),
        "not JSON": ("a.jsonl", b"\n{]", "a.jsonl:2: not JSON: Expecting property name"),
        "not UTF-8": ("a.jsonl", b'{"name":"\xff"}', "a.jsonl:1: not UTF-8"),
        "not a number": ("a.jsonl", b'{"name":NaN}', "a.jsonl:1: not JSON: NaN is not a JSON number"),
        "nested too deep": ("a.jsonl", b"[" * 200_000, "a.jsonl:1: not JSON"),
        "not an object": ("a.jsonl", b"[]", "a.jsonl:1: not a scenario: expected `object`, got `array`"),
        "no steps": (
            "a.jsonl",
            b'{"name":"x"}',
            "a.jsonl:1: not a scenario: object missing required field `steps`",
        ),
        "a step without time": (
            "a.jsonl",
            b'{"name":"x","steps":[{}]}',
            "a.jsonl:1: $.steps[0]: not a scenario: object missing required field `at`",
        ),
        "nothing to compare with": (
            "a.jsonl",
            json.dumps(TWO_WORKLOADS).encode(),
            "a.jsonl:1: $.expect: nothing to compare with (expected it, or the option --print)",
        ),
        "an object that is malformed": (
            "a.jsonl",
            json.dumps({**GOOD, "objects": [{"apiVersion": "v9", "kind": "Pudding"}]}).encode(),
            "a.jsonl:1: ",
        ),
        "an unknown part of config": (
            "a.jsonl",
            json.dumps({**GOOD, "config": {"pudding": 1}}).encode(),
            "$.pudding: unknown field",
        ),
        "empty": ("a.jsonl", b"", "a.jsonl: holds no scenario"),
    }

    @pytest.mark.parametrize(("name", "data", "want"), BAD_FILES.values(), ids=BAD_FILES.keys())
    def test_bad_file(self, tmp_path: Path, name: str, data: bytes, want: str) -> None:
        file = tmp_path / name
        file.write_bytes(data)
        code, out, err = run(file)
        assert (code, out) == (2, "")
        assert err.startswith("error: ")
        assert want in err

    def test_missing_file_and_folder(self, tmp_path: Path) -> None:
        assert run(tmp_path / "none.jsonl")[2].endswith(
            "none.jsonl: cannot be read: No such file or directory (expected a readable file)\n"
        )
        assert run(tmp_path)[0] == 2
