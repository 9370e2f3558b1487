"""Tables and JSON of a result."""

import io
import json
import math
from dataclasses import replace
from pathlib import Path

import pytest

from kueue_fast.lifecycle import events
from kueue_fast.model import times
from kueue_fast.sim.json_report import SCHEMA, to_json
from kueue_fast.sim.report import MOST_ROWS, print_report, quantile
from kueue_fast.sim.report_cells import decimals, mean
from kueue_fast.sim.report_preemptions import MOST_PREEMPTIONS
from kueue_fast.sim.result import (
    FlavorRow,
    Outcome,
    PodSetRow,
    PreemptionRow,
    QueueRow,
    ResourceUse,
    SimulationResult,
    State,
    WorkloadRow,
)

SECOND = 10**9
START = times.parse("2026-01-01T00:00:00Z")
NO_ROOM = (
    "couldn't assign flavors to pod set main: insufficient unused quota for nvidia.com/gpu in flavor "
    "a-rather-long-flavor-name, 8 more needed, insufficient quota for cpu in flavor default, 40 > 8"
)
PREEMPTED = PreemptionRow(
    time_ns=START + 10 * SECOND,
    workload="team-a/job-done-aaaaa",
    path="/company/cohort/cq",
    preemptor="team-b/job-urgent-zzzzz",
    preemptor_path="/company/other",
    reason="InCohortReclamation",
)
PREEMPTION = {
    "time": 10,
    "workload": "team-a/job-done-aaaaa",
    "path": "/company/cohort/cq",
    "preemptor": "team-b/job-urgent-zzzzz",
    "preemptorPath": "/company/other",
    "reason": "InCohortReclamation",
}


def row(name: str, state: State = State.PENDING, **more: object) -> WorkloadRow:
    made = WorkloadRow(
        namespace="team-a",
        name=name,
        owner_kind="Job",
        owner_name=name.removeprefix("job-"),
        queue="lq",
        priority=100,
        priority_class="high",
        arrived_ns=START,
        cluster_queue="cq",
        state=state,
    )
    for field, value in more.items():
        setattr(made, field, value)
    return made


def result(rows: list[WorkloadRow] | None = None) -> SimulationResult:
    pod_sets = (PodSetRow("main", 2, (("cpu", "default"), ("memory", "default"))),)
    two_flavors = (
        PodSetRow("head", 1, (("cpu", "default"), ("nvidia.com/gpu", "a100"))),
        PodSetRow("workers", 4, (("cpu", "default"),)),
    )
    finished = {"reserved_ns": START, "admitted_ns": START + SECOND, "pod_sets": pod_sets}
    if rows is None:
        rows = [
            row("job-done-aaaaa", State.FINISHED, finished_ns=START + 90 * SECOND, **finished),
            row("job-broken-bbbbb", State.FINISHED, finished_ns=START + 5 * SECOND, **finished),
            row("job-runs-ccccc", State.RUNNING, **{**finished, "pod_sets": two_flavors}),
            row(
                "job-reserved-ddddd",
                State.RESERVED,
                reserved_ns=START,
                waiting_reason="UnsatisfiedChecks",
                waiting_message="quota is reserved; admission checks are not ready: prov (Pending)",
            ),
            row("job-waits-eeeee", waiting_reason="Pending", waiting_message=NO_ROOM),
            row("job-waits-fffff", waiting_reason="Pending", waiting_message=NO_ROOM),
        ]
        rows[0].outcome, rows[1].outcome = Outcome.SUCCEEDED, Outcome.FAILED
        rows[0].preemptions, rows[0].last_preemption, rows[0].lost_ns = 1, PREEMPTED, 5 * SECOND
        rows[2].evicting = True
        rows[4].waits_for = (rows[2].key,)
    use = ResourceUse(
        flavor="default",
        resource="cpu",
        nominal=8000,
        borrowing_limit=2**63 - 1,
        reserved=9500,
        admitted=9000,
        borrowed=1500,
        peak=12000,
        integral=100 * SECOND * 4250,
    )
    memory = ResourceUse(flavor="default", resource="memory", nominal=2**63 - 1, peak=3 * 2**30)
    queues = [
        QueueRow(
            "cq", "cohort", True, "Ready", "Can admit new workloads", [use, memory], 2, 2, 1, 2, 2.0, 62.5
        ),
        QueueRow(
            "held",
            None,
            False,
            "Stopped",
            "Can't admit new workloads: is stopped.",
            weight=0.0,
            weighted_share=math.inf,
        ),
    ]
    return SimulationResult(
        start_ns=START,
        end_ns=START + 100 * SECOND,
        stopped=False,
        cycles=7,
        workloads=rows,
        queues=queues,
        flavors=[FlavorRow("default", "cpu", 16000, 9500, 12000, 100 * SECOND * 4250)],
        events=[events.started("Job", "team-a", "done", "cq", START + SECOND)],
        notes=["Jobs without a queue name run outside Kueue and take no quota: team-a/free"],
        preemptions=[PREEMPTED],
    )


def text(of: SimulationResult, width: int | None = None) -> str:
    out = io.StringIO()
    print_report(of, out, width=width)
    return out.getvalue()


def words(of: str) -> list[str]:
    return of.split()


def line_with(of: str, part: str) -> list[str]:
    return next(line for line in of.splitlines() if part in line).split()


def test_tables_hold_what_people_ask_for() -> None:
    got = text(result(), 160)
    assert got.startswith(
        "The run started at 2026-01-01T00:00:00Z and took 1m40s: 6 workloads, 2 finished (1 failed), 1 running, "
        "1 with quota reserved, 2 pending; 7 scheduling cycles, 1 preemption.\nNote: Jobs without a queue name"
    )
    assert line_with(got, "job-done") == [
        "team-a/job-done-aaaaa",
        "lq",
        "100",
        "0s",
        "1s",
        "1s",
        "1m30s",
        "default",
        "1x",
    ]
    assert line_with(got, "job-broken")[6:8] == ["5s", "failed"]
    assert line_with(got, "job-runs")[6:] == words(
        "stopping head: default (cpu), a100 (nvidia.com/gpu); workers: default -"
    )
    assert line_with(got, "job-reserved") == [
        "team-a/job-reserved-ddddd",
        "lq",
        "100",
        "0s",
        "-",
        "-",
        "reserved",
        "-",
        "-",
    ]
    assert line_with(got, "cohort ") == words("cq cohort default/cpu 8 9500m 1500m 2 1 2 62.5")
    assert line_with(got, "held  ") == words("held - - - - - 0 0 0 infinite")
    assert line_with(got[got.index("\nPreemptions\n") :], "10s") == words(
        "10s team-a/job-done-aaaaa /company/cohort/cq team-b/job-urgent-zzzzz /company/other "
        "reclamation within the cohort"
    )
    assert "held is not active (Stopped): Can't admit new workloads: is stopped.\n" in got
    assert line_with(got, "53.1%") == words("cq default/cpu 8 12 4.25 53.1%")
    assert line_with(got, "all queues") == words("all queues default/cpu 16 12 4.25 26.6%")
    assert line_with(got, "Started") == words("1s Normal Started Job team-a/done Admitted by clusterQueue cq")


def test_equal_reasons_are_told_once_with_all_names() -> None:
    got = text(result())
    assert got.count(NO_ROOM) == 2
    assert f"  team-a/job-waits-fffff\n    Pending: {NO_ROOM}\n\n" in got
    assert f"    Pending: {NO_ROOM}\n    until these have stopped: team-a/job-runs-ccccc\n" in got
    same = result()
    same.workloads[4].waits_for = ()
    assert "  team-a/job-waits-eeeee, team-a/job-waits-fffff\n    Pending: couldn't" in text(same)
    assert "    UnsatisfiedChecks: quota is reserved; admission checks are not ready: prov (Pending)\n" in got


@pytest.mark.parametrize("width", [80, 120])
def test_nothing_is_cut_at_usual_widths(width: int) -> None:
    got = text(result(), width)
    tables = got[got.index("\nWorkloads\n") :]
    assert "…" not in got
    assert "\x1b" not in got
    for line in tables.splitlines():
        # Reasons are whole sentences: they are left to the terminal or to the pager.
        assert len(line) <= width or "Pending:" in line or "UnsatisfiedChecks:" in line
        assert line == line.rstrip()
    for header in ("Priority", "Admitted", "Finished", "Reserved", "Borrowed", "Pending", "Peak", "Mean"):
        assert header in words(tables)
    for number in ("9500m", "1500m", "4.25", "1m30s", "unlimited"):
        assert number in words(tables)


def test_width_follows_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert text(result()) == text(result(), 80)
    monkeypatch.setenv("COLUMNS", "wide")
    assert text(result()) == text(result(), 120)
    monkeypatch.delenv("COLUMNS")
    assert text(result()) == text(result(), 120)


def test_names_that_look_like_markup_are_printed_as_they_are() -> None:
    odd = row("x", waiting_reason="Pending", waiting_message="[red]no[/red] :smile: [1,2]")
    assert "Pending: [red]no[/red] :smile: [1,2]" in text(result([odd]))


def test_many_workloads_are_shortened_and_summed_up() -> None:
    rows = []
    for number in range(MOST_ROWS + 100):
        made = row(f"w-{number:04}", State.RUNNING)
        made.priority = 50 if number % 3 else 200
        made.admitted_ns = START + number * SECOND
        rows.append(made)
    got = text(result(rows))
    assert "w-0019" in got
    assert "w-0020" not in got
    assert "... and 280 more workloads: --json lists all of them." in got
    summary = got[got.index("Waiting time by priority") :]
    assert line_with(summary, "200 ")[:3] == ["200", "100", "100"]
    assert line_with(summary, "50 ") == words("50 200 200 0 2m30s 2m29s 4m29s 4m56s 4m59s")
    assert len(json.loads(to_json(result(rows)))["workloads"]) == MOST_ROWS + 100


def test_many_reasons_are_shortened() -> None:
    rows = [row(f"w-{n}", waiting_reason="Pending", waiting_message=f"reason {n}") for n in range(30)]
    got = text(result(rows))
    assert "reason 19" in got
    assert "reason 20" not in got
    assert "... and 10 more reasons" in got


def test_many_preemptions_are_shortened() -> None:
    many = result()
    many.preemptions = [replace(PREEMPTED, workload=f"team-a/w-{n}") for n in range(MOST_PREEMPTIONS + 5)]
    got = text(many)
    assert f"team-a/w-{MOST_PREEMPTIONS - 1} " in got
    assert f"team-a/w-{MOST_PREEMPTIONS} " not in got
    assert "... and 5 more preemptions: --json lists all of them." in got


def test_without_preemption_and_fair_sharing_there_are_no_columns_for_them() -> None:
    plain = result()
    plain.preemptions = []
    for queue in plain.queues:
        queue.weight = queue.weighted_share = None
    got = text(plain)
    for word in ("Preempted", "Preemptions", "Weight", "Share "):
        assert word not in got
    assert json.loads(to_json(plain))["clusterQueues"][0]["fairSharing"] is None


def test_an_empty_result_is_printed() -> None:
    nothing = SimulationResult(START, START, False, 0, [], [], [], [], [])
    assert "took 0s: 0 workloads, 0 finished; 0 scheduling cycles" in text(nothing)
    assert json.loads(to_json(nothing))["duration"] == 0


def test_json_holds_everything() -> None:
    document = to_json(result())
    got = json.loads(document)
    assert document.endswith(b"}\n")
    assert got["schema"] == SCHEMA
    assert (got["start"], got["duration"], got["stopped"], got["cycles"]) == (
        "2026-01-01T00:00:00Z",
        100,
        False,
        7,
    )
    assert got["workloads"][0] == {
        "namespace": "team-a",
        "name": "job-done-aaaaa",
        "owner": {"kind": "Job", "name": "done-aaaaa"},
        "localQueue": "lq",
        "clusterQueue": "cq",
        "priority": 100,
        "priorityClass": "high",
        "state": "Finished",
        "outcome": "Succeeded",
        "arrived": 0,
        "quotaReserved": 0,
        "admitted": 1,
        "finished": 90,
        "waited": 1,
        "evicting": False,
        "preemptions": 1,
        "lastPreemption": PREEMPTION,
        "lostRunTime": 5,
        "podSets": [{"name": "main", "count": 2, "flavors": {"cpu": "default", "memory": "default"}}],
        "waiting": None,
        "slice": None,
    }
    want_waiting = {"reason": "Pending", "message": NO_ROOM, "evictions": ["team-a/job-runs-ccccc"]}
    assert got["workloads"][4]["waiting"] == want_waiting
    assert (got["workloads"][2]["evicting"], got["preemptions"]) == (True, [PREEMPTION])
    assert got["clusterQueues"][0]["fairSharing"] == {"weight": 2, "weightedShare": 62.5}
    assert got["clusterQueues"][1]["fairSharing"] == {"weight": 0, "weightedShare": "infinite"}
    assert got["clusterQueues"][0]["resources"][0] == {
        "flavor": "default",
        "resource": "cpu",
        "nominalQuota": "8",
        "borrowingLimit": "unlimited",
        "lendingLimit": None,
        "reserved": "9500m",
        "admitted": "9",
        "borrowed": "1500m",
        "peak": "12",
        "mean": 4.25,
    }
    assert got["flavors"][0]["mean"] == 4.25
    assert got["events"][0]["reason"] == "Started"
    assert got["events"][0]["time"] == 1


def test_every_field_of_the_document_is_described() -> None:
    described = (Path(__file__).parents[2] / "docs" / "simulation-json.md").read_text()

    def check(value: object) -> None:
        if isinstance(value, list):
            for each in value:
                check(each)
        elif isinstance(value, dict):
            for name, inner in value.items():
                if name in ("cpu", "memory", "nvidia.com/gpu"):
                    continue
                assert name in described, name
                check(inner)

    check(json.loads(to_json(result())))


MEANS = {
    "cores": ("cpu", 4250, "4.25"),
    "a third of a core": ("cpu", 1000 / 3, "0.33"),
    "bytes": ("memory", 1536 * 2**20, "1.5Gi"),
    "few bytes": ("memory", 100, "100"),
    "pieces": ("nvidia.com/gpu", 2.5, "2.5"),
    "nothing": ("pods", 0, "0"),
}


@pytest.mark.parametrize("case", MEANS)
def test_means_are_written_short(case: str) -> None:
    resource, value, want = MEANS[case]
    assert mean(resource, value) == want


def test_small_helpers() -> None:
    assert decimals(10) == "10"
    assert [quantile([1, 2, 3, 4], percent) for percent in (1, 50, 75, 76, 100)] == [1, 2, 3, 4, 4]
