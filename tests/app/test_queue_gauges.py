"""Gauges of queues as Prometheus reads them, and statuses of queues that are due, from one engine."""

from __future__ import annotations

import math
from typing import Any

import msgspec
import pytest
from prometheus_client.parser import text_string_to_metric_families

from kueue_fast.api.configuration import Configuration
from kueue_fast.api.configuration_types import ControllerMetrics
from kueue_fast.api.decode import decode_object
from kueue_fast.app.gauges import amount, text, waited_for
from kueue_fast.app.metrics import Metrics
from kueue_fast.app.observability import shows_local_queue
from kueue_fast.app.queue_gauges import GaugeOptions, gauges
from kueue_fast.app.servers import Address, read_address
from kueue_fast.cluster.kube.cache import ObjectCache
from kueue_fast.engine import Engine
from kueue_fast.errors import InputError
from kueue_fast.model.features import FeatureGates
from tests.app.queue_world import FAIR, NOW, world
from tests.arrays import objects as o


def samples(engine: Engine, cache: ObjectCache, **options: Any) -> dict[tuple[str, ...], float]:
    """Name, and label values in order of the labels' names without the role, as read back from the text."""
    families = gauges(engine.metric_numbers(), cache, {}, GaugeOptions("leader", **options))
    found = {}
    for family in text_string_to_metric_families(text([Metrics(lambda: NOW).registry], families).decode()):
        for sample in family.samples:
            labels = {name: each for name, each in sample.labels.items() if name != "replica_role"}
            found[sample.name.removeprefix("kueue_"), *labels.values()] = sample.value
    return found


def test_cluster_queues() -> None:
    got = samples(*world())
    for want_key, want in {
        ("pending_workloads", "q", "active"): 1,
        ("pending_workloads", "q", "inadmissible"): 0,
        ("reserving_active_workloads", "q"): 2,
        ("admitted_active_workloads", "q"): 2,
        ("finished_workloads", "q"): 1,
        ("cluster_queue_status", "q", "active"): 1,
        ("cluster_queue_status", "q", "pending"): 0,
        ("cluster_queue_status", "q", "terminating"): 0,
        ("cluster_queue_info", "q", "team", "root"): 1,
    }.items():
        assert got[want_key] == want, want_key
    assert not any(key[0] == "cluster_queue_nominal_quota" for key in got)


def test_all_that_waits_in_a_stopped_queue_is_inadmissible() -> None:
    got = samples(*world(stopPolicy="Hold"))
    assert got["pending_workloads", "q", "active"] == 0
    assert got["pending_workloads", "q", "inadmissible"] == 1
    assert got["local_queue_pending_workloads", "lq", "default", "inadmissible"] == 1
    assert got["cluster_queue_status", "q", "pending"] == 1


def test_resources_are_shown_where_asked_for() -> None:
    got = samples(*world(), resources=True)
    where = ("q", "team", "spot", "cpu")
    assert got["cluster_queue_resource_reservation", *where] == 3
    assert got["cluster_queue_resource_usage", *where] == 3
    assert got["cluster_queue_nominal_quota", *where] == 4
    assert got["cluster_queue_borrowing_limit", *where] == 1
    assert got["cluster_queue_lending_limit", *where] == math.inf


def test_shares() -> None:
    got = samples(*world(config=FAIR), resources=True, fair_sharing=True)
    assert got["cluster_queue_weighted_share", "q", "team"] == 0
    assert got["cohort_weighted_share", "team"] == 0


def test_local_queues() -> None:
    got = samples(*world())
    assert got["local_queue_pending_workloads", "lq", "default", "active"] == 1
    assert got["local_queue_reserving_active_workloads", "lq", "default"] == 2
    assert got["local_queue_admitted_active_workloads", "lq", "default"] == 2
    assert got["local_queue_status", "Unknown", "lq", "default"] == 1
    assert got["local_queue_resource_usage", "spot", "lq", "default", "cpu"] == 3
    hidden = samples(*world(), shows=lambda namespace, name: False)
    assert not any(key[0].startswith("local_queue_") for key in hidden)


def test_what_waits_for_a_cluster_queue_that_is_not_there_is_not_counted() -> None:
    got = samples(*world(o.local_queue("lost", "none"), o.workload("waits-too", "lost", o.pod_set())))
    assert ("local_queue_pending_workloads", "lost", "default", "inadmissible") not in got
    assert got["local_queue_status", "Unknown", "lost", "default"] == 1


def test_finished_workloads_of_local_queues() -> None:
    got = samples(*world())
    assert got["local_queue_finished_workloads", "lq", "default"] == 1


def test_what_is_waited_for() -> None:
    got = samples(*world(), resources=True)
    assert got["cluster_queue_resource_pending", "q", "cpu"] == 2
    assert not any(key[0] == "cluster_queue_resource_pending" for key in samples(*world()))


@pytest.mark.parametrize(
    ("resource", "value", "want_held", "want_waited_for"),
    [
        pytest.param(
            "cpu", 2010, 2.01, 2.0100000000000002, id="cores differ in the last digit, as upstream's do"
        ),
        pytest.param("cpu", 2000, 2.0, 2.0, id="whole cores"),
        pytest.param("memory", 2010, 2010.0, 2010.0, id="what is not cores"),
    ],
)
def test_amounts(resource: str, value: int, want_held: float, want_waited_for: float) -> None:
    assert (amount(resource, value), waited_for(resource, value)) == (want_held, want_waited_for)


def test_cohorts() -> None:
    # Without a Cohort of its name, too.
    implied = o.cluster_queue("other", o.group(spot=[o.quota("cpu", 1)]), cohort="implied")
    got = samples(*world(implied))
    for want_key, want in {
        ("cohort_info", "team", "root", "root"): 1,
        ("cohort_info", "root", "", "root"): 1,
        ("cohort_subtree_quota", "root", "spot", "cpu"): 4,
        ("cohort_subtree_quota", "team", "spot", "cpu"): 4,
        ("cohort_subtree_quota", "implied", "spot", "cpu"): 1,
        ("cohort_subtree_resource_reservations", "root", "spot", "cpu"): 3,
        ("cohort_subtree_admitted_active_workloads", "root"): 2,
        ("cohort_subtree_admitted_active_workloads", "team"): 2,
        ("cohort_subtree_admitted_active_workloads", "implied"): 0,
    }.items():
        assert got[want_key] == want, want_key
    # Information is on trees with an object; what there is nothing of has no series.
    assert ("cohort_info", "implied", "", "implied") not in got
    assert ("cohort_subtree_resource_reservations", "implied", "spot", "cpu") not in got
    without = samples(*world(), cohorts=False)
    assert not any(key[0] == "cohort_info" for key in without)
    assert without["cohort_subtree_quota", "root", "spot", "cpu"] == 4


def test_a_cohort_without_an_object_is_known_in_a_tree_with_one() -> None:
    got = samples(*world(o.cohort("below", parent="implied")))
    assert got["cohort_info", "implied", "", "implied"] == 1
    assert got["cohort_info", "below", "implied", "implied"] == 1


def test_why_workloads_are_not_admitted() -> None:
    blocked = o.workload_json("blocked", "lq", o.pod_set())
    blocked["status"] = {
        "conditions": [
            o.condition("QuotaReserved", "False", "WaitingForQuota"),
            o.condition("Admitted", "False", "NoReservation"),
        ]
    }
    checked = decode_object(
        o.reserved(
            o.workload_json("checked", "lq", o.pod_set()),
            "q",
            ("main", 1, {"cpu": "spot"}, {"cpu": 1}),
            admitted=False,
        )
    )
    got = samples(*world(decode_object(blocked), checked), unadmitted=True)
    for want_key, want in {
        ("unadmitted_workloads", "q", "NoReservation", "PendingEvaluation"): 1,
        ("unadmitted_workloads", "q", "NoReservation", "WaitingForQuota"): 1,
        ("unadmitted_workloads", "q", "NoReservation", ""): 1,
        ("local_queue_unadmitted_workloads", "q", "lq", "default", "NoReservation", "WaitingForQuota"): 1,
    }.items():
        assert got[want_key] == want, want_key
    assert not any("unadmitted" in key[0] for key in samples(*world()))


def test_past_use_of_local_queues() -> None:
    sharing = msgspec.convert(
        {"admissionFairSharing": {"usageHalfLifeTime": "1m", "usageSamplingInterval": "1m"}}, Configuration
    )
    scope = {"admissionMode": "UsageBasedAdmissionFairSharing"}
    engine, cache = world(config=sharing, admissionScope=scope)
    key = ("local_queue_admission_fair_sharing_usage", "q", "lq", "default")
    engine.sample(NOW)
    assert samples(engine, cache)[key] == 0
    engine.sample(NOW + 60 * o.SECOND)
    # Half of what it held all the time.
    assert samples(engine, cache)[key] == 1.5
    assert key not in samples(*world())


@pytest.mark.parametrize(
    ("settings", "gates", "want"),
    [
        ({"localQueueMetrics": {"enable": True}}, {}, True),
        ({"localQueueMetrics": {}}, {}, False),
        ({}, {}, False),
        ({"localQueueMetrics": {"enable": True}}, {"LocalQueueMetrics": False}, False),
        (
            {"localQueueMetrics": {"enable": True, "localQueueSelector": {"matchLabels": {"a": "b"}}}},
            {},
            False,
        ),
    ],
)
def test_which_local_queues_are_shown(settings: Any, gates: dict[str, bool], want: bool) -> None:
    _, cache = world()
    shows = shows_local_queue(msgspec.convert(settings, ControllerMetrics), FeatureGates(gates), cache)
    assert shows("default", "lq") is want
    assert shows("default", "none") is False


# --- addresses


@pytest.mark.parametrize(
    ("value", "want"),
    [
        (":8081", Address(None, 8081)),
        ("127.0.0.1:0", Address("127.0.0.1", 0)),
        ("[::1]:8443", Address("::1", 8443)),
        ("0", None),
    ],
)
def test_addresses(value: str, want: Address | None) -> None:
    assert read_address(value, "metrics.bindAddress") == want


@pytest.mark.parametrize("value", ["8081", ":http", "localhost:", ":70000", ""])
def test_what_is_no_address(value: str) -> None:
    with pytest.raises(InputError, match=r"Configuration: metrics\.bindAddress: .* is no address"):
        read_address(value, "metrics.bindAddress")
