"""Whether a ClusterQueue admits, and why not: the table of QP-206."""

from __future__ import annotations

from typing import Any

import pytest

from kueue_fast.engine.activity import activity, required_checks, rules_of
from tests.arrays import objects as o

MULTIKUEUE = "kueue.x-k8s.io/multikueue"
PROVISIONING = "kueue.x-k8s.io/provisioning-request"
FLAVORS = {"a", "b"}
CHECKS = {
    "plain": o.check("plain"),
    "plain2": o.check("plain2"),
    "asleep": o.check("asleep", active="False"),
    "new": o.check("new", active=None),
    "mk1": o.check("mk1", controller=MULTIKUEUE),
    "mk2": o.check("mk2", controller=MULTIKUEUE),
    "prov": o.check("prov", controller=PROVISIONING),
}


def spec(*flavors: str, checks: list[str | o.Json] | None = None, **rest: Any) -> Any:
    rules = [{"name": one} if isinstance(one, str) else one for one in checks or []]
    groups = [o.group(**{name: [o.quota("cpu", 1)]}) for name in flavors]
    return o.cluster_queue("q", *groups, admissionChecksStrategy={"admissionChecks": rules}, **rest).spec


CANNOT = "Can't admit new workloads: "

# Spec, then reason and message.
TABLE: dict[str, tuple[Any, str, str]] = {
    "nothing is wrong": (spec("a", "b", checks=["plain"]), "Ready", "Can admit new workloads"),
    "no groups and no checks": (spec(), "Ready", "Can admit new workloads"),
    "stop policy None": (spec("a", stopPolicy="None"), "Ready", "Can admit new workloads"),
    "held": (spec("a", stopPolicy="Hold"), "Stopped", CANNOT + "is stopped."),
    "held and drained": (spec("a", stopPolicy="HoldAndDrain"), "Stopped", CANNOT + "is stopped."),
    "missing flavors, in spec order": (
        spec("z", "a", "c"),
        "FlavorNotFound",
        CANNOT + "references missing ResourceFlavor(s): z,c.",
    ),
    "missing checks, sorted": (
        spec("a", checks=["y", "plain", "x"]),
        "AdmissionCheckNotFound",
        CANNOT + "references missing AdmissionCheck(s): x,y.",
    ),
    "inactive checks, sorted": (
        spec("a", checks=["new", "asleep"]),
        "AdmissionCheckInactive",
        CANNOT + "references inactive AdmissionCheck(s): asleep,new.",
    ),
    "several MultiKueue checks": (
        spec("a", checks=["mk2", "mk1"]),
        "MultipleMultiKueueAdmissionChecks",
        CANNOT + "Cannot use multiple MultiKueue AdmissionChecks on the same ClusterQueue, found: mk1,mk2.",
    ),
    "one MultiKueue check for all flavors": (spec("a", checks=["mk1"]), "Ready", "Can admit new workloads"),
    "a MultiKueue check for some flavors": (
        spec("a", checks=[{"name": "mk1", "onFlavors": ["a"]}]),
        "MultiKueueAdmissionCheckAppliedPerFlavor",
        CANNOT + "Cannot specify MultiKueue AdmissionCheck per flavor, found: mk1.",
    ),
    "MultiKueue with ProvisioningRequest": (
        spec("a", checks=["prov", "mk1"]),
        "MultiKueueWithProvisioningRequest",
        CANNOT
        + "Cannot use both MultiKueue and ProvisioningRequest AdmissionChecks together, found: mk1, prov.",
    ),
    "all of it: the first reason, every message": (
        spec(
            "z", checks=["x", "asleep", "mk1", {"name": "mk2", "onFlavors": ["z"]}, "prov"], stopPolicy="Hold"
        ),
        "Stopped",
        CANNOT
        + "is stopped, references missing ResourceFlavor(s): z, references missing AdmissionCheck(s): x, "
        "references inactive AdmissionCheck(s): asleep, "
        "Cannot use multiple MultiKueue AdmissionChecks on the same ClusterQueue, found: mk1,mk2, "
        "Cannot specify MultiKueue AdmissionCheck per flavor, found: mk2, "
        "Cannot use both MultiKueue and ProvisioningRequest AdmissionChecks together, found: mk1,mk2, prov.",
    ),
}


@pytest.mark.parametrize("case", TABLE.values(), ids=TABLE)
def test_activity(case: tuple[Any, str, str]) -> None:
    given, want_reason, want_message = case
    found = activity(given, FLAVORS, CHECKS, {})
    assert (found.active, found.reason, found.message) == (want_reason == "Ready", want_reason, want_message)


def test_a_message_is_cut_where_a_condition_ends() -> None:
    found = activity(spec(*(f"flavor-{number:04d}" for number in range(4_000))), FLAVORS, CHECKS, {})
    assert len(found.message.encode()) == 32 * 1024
    assert found.message.endswith(" ...")


REQUIRED = {
    "a rule for all flavors": ([{"name": "k"}], {"a"}, ("k",)),
    "a rule for another flavor": ([{"name": "k", "onFlavors": ["b"]}], {"a"}, ()),
    "spec order, not the names'": ([{"name": "z"}, {"name": "k", "onFlavors": ["a"]}], {"a"}, ("z", "k")),
    "an assignment without flavors needs none": ([{"name": "k"}], set(), ()),
    "no rules": ([], {"a"}, ()),
}


@pytest.mark.parametrize("case", REQUIRED.values(), ids=REQUIRED)
def test_required_checks(case: tuple[list[o.Json], set[str], tuple[str, ...]]) -> None:
    rules, flavors, want = case
    assert required_checks(rules_of(spec("a", checks=rules)), flavors) == want
