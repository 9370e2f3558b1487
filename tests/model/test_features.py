"""Feature gates: the table of v0.19, overrides, and what is refused."""

import pytest

from kueue_fast.errors import InputError
from kueue_fast.model.features import (
    GATES,
    FeatureGates,
    dependency_errors,
    load_feature_gates,
    parse_feature_gates,
)


def test_the_table_is_that_of_v0_19() -> None:
    stages = [gate.stage for gate in GATES.values()]
    assert len(GATES) == 89
    assert {stage: stages.count(stage) for stage in set(stages)} == {
        "Alpha": 25,
        "Beta": 55,
        "GA": 7,
        "Deprecated": 2,
    }
    assert sum(gate.locked for gate in GATES.values()) == 8
    assert [gate.name for gate in GATES.values() if gate.stage == "Alpha" and gate.default] == []


DEFAULTS = {
    "PartialAdmission": True,
    "PrioritySortingWithinCohort": True,
    "PrioritizePreemptorWorkloads": False,
    "UnadmittedWorkloadsObservability": False,
    "HierarchicalCohorts": True,
    "TASReplaceNodeDueToNotReadyOverFixedTime": False,
}


@pytest.mark.parametrize(("name", "want_on"), DEFAULTS.items())
def test_default(name: str, want_on: bool) -> None:
    gates = FeatureGates()
    assert gates.enabled(name) is want_on
    assert gates[name] is want_on
    assert gates.warnings == ()


OVERRIDES: dict[str, tuple[dict[str, bool], dict[str, bool]]] = {
    "one gate on": ({"PriorityBoost": True}, {"PriorityBoost": True}),
    "AllAlpha sets alpha gates only, but not what is unsupported": (
        {"AllAlpha": True},
        {
            "DisableWaitForPodsReady": True,
            "UnadmittedWorkloadsObservability": False,
            "SchedulerLibraryIntegration": False,
        },
    ),
    "AllBeta sets beta gates that are off by default": (
        {"AllBeta": True},
        {"UnadmittedWorkloadsExplicitStatus": True, "PriorityBoost": False},
    ),
    "AllBeta=false leaves GA and deprecated gates alone": (
        {"AllBeta": False},
        {"PartialAdmission": False, "HierarchicalCohorts": True},
    ),
    "a named gate wins over AllAlpha, whatever the order": (
        {"PriorityBoost": False, "AllAlpha": True, "ShortWorkloadNames": False},
        {"PriorityBoost": False, "ShortWorkloadNames": False, "ConcurrentAdmission": True},
    ),
    "a locked gate takes its own default": ({"HierarchicalCohorts": True}, {"HierarchicalCohorts": True}),
    "a gate of the API server is passed over": ({"WatchList": True}, {}),
}


@pytest.mark.parametrize(("overrides", "want"), OVERRIDES.values(), ids=OVERRIDES)
def test_overrides(overrides: dict[str, bool], want: dict[str, bool]) -> None:
    gates = FeatureGates(overrides)
    assert {name: gates.enabled(name) for name in want} == want


WARNINGS: dict[str, tuple[dict[str, bool], list[str]]] = {
    "GA": ({"HierarchicalCohorts": True}, ["HierarchicalCohorts is GA"]),
    "deprecated": (
        {"TASReplaceNodeDueToNotReadyOverFixedTime": True},
        ["TASReplaceNodeDueToNotReadyOverFixedTime is Deprecated"],
    ),
    "API server": ({"WatchList": False}, ["WatchList belongs to the Kubernetes API server"]),
    "unsupported, by AllAlpha": ({"AllAlpha": True}, ["SchedulerLibraryIntegration is not supported"]),
    "beta": ({"PartialAdmission": False}, []),
}


@pytest.mark.parametrize(("overrides", "want_warnings"), WARNINGS.values(), ids=WARNINGS)
def test_warnings(overrides: dict[str, bool], want_warnings: list[str]) -> None:
    warnings = FeatureGates(overrides).warnings
    assert len(warnings) == len(want_warnings)
    assert all(got.startswith(want) for got, want in zip(warnings, want_warnings, strict=True))


REFUSED: dict[str, tuple[dict[str, bool], str]] = {
    "unknown": ({"NoSuchGate": True}, "unknown feature gate 'NoSuchGate'"),
    "of a newer or older release": ({"QueueVisibility": True}, "unknown feature gate 'QueueVisibility'"),
    "locked on": ({"ObjectRetentionPolicies": False}, "'ObjectRetentionPolicies' is locked to true"),
    "locked off": (
        {"MultiKueueAllowInsecureKubeconfigs": True},
        "'MultiKueueAllowInsecureKubeconfigs' is locked to false",
    ),
    "unsupported": ({"SchedulerLibraryIntegration": True}, "'SchedulerLibraryIntegration' is not supported"),
}


@pytest.mark.parametrize(("overrides", "want_message"), REFUSED.values(), ids=REFUSED)
def test_refused(overrides: dict[str, bool], want_message: str) -> None:
    with pytest.raises(InputError, match=want_message) as caught:
        FeatureGates(overrides)
    assert caught.value.field == "featureGates"
    assert caught.value.expected


def test_gates_do_not_change_and_compare_by_value() -> None:
    gates = FeatureGates({"PriorityBoost": True})
    with pytest.raises(AttributeError):
        gates.warnings = ()  # type: ignore[misc, unused-ignore]
    assert gates == FeatureGates({"PriorityBoost": True, "PartialAdmission": True})
    assert hash(gates) == hash(FeatureGates({"PriorityBoost": True}))
    assert gates != FeatureGates()
    assert gates.overridden() == {"PriorityBoost": True}
    assert repr(gates) == "FeatureGates({'PriorityBoost': True})"
    assert set(gates) == set(GATES)
    with pytest.raises(KeyError):
        gates.enabled("NoSuchGate")


TEXTS: dict[str, tuple[str, dict[str, bool]]] = {
    "nothing": ("", {}),
    "two": ("A=true,B=false", {"A": True, "B": False}),
    "spaces around tokens": (" A = true , B=F", {"A": True, "B": False}),
    "empty items": (",A=1,,B=0,", {"A": True, "B": False}),
    "the last of a name wins": ("A=true,A=False", {"A": False}),
}


@pytest.mark.parametrize(("text", "want"), TEXTS.values(), ids=TEXTS)
def test_parse(text: str, want: dict[str, bool]) -> None:
    assert parse_feature_gates(text) == want


@pytest.mark.parametrize("text", ["A", "A=true,B", " ", "A=yes", "A=", "A=TrUe", "A=true=true"])
def test_unreadable_text(text: str) -> None:
    with pytest.raises(InputError, match="feature gate"):
        parse_feature_gates(text)


NEEDED_WITHOUT_TAS = [
    "TASProfileMixed",
    "TASHandleOverlappingFlavors",
    "TASFailedNodeReplacement",
    "TASFailedNodeReplacementFailFast",
    "TASReplaceNodeOnPodTermination",
    "TASReplaceNodeOnNodeTaints",
    "TASMultiLayerTopology",
    "TASRecomputeAssignmentWithinSchedulingCycle",
]


def test_turning_topology_off_needs_eight_gates_more() -> None:
    gates = FeatureGates({"TopologyAwareScheduling": False})
    assert {error.split()[0] for error in dependency_errors(gates)} == set(NEEDED_WITHOUT_TAS)
    gates = FeatureGates(dict.fromkeys(["TopologyAwareScheduling", *NEEDED_WITHOUT_TAS], False))
    assert dependency_errors(gates) == []


DEPENDENCIES: dict[str, tuple[dict[str, bool], list[str]]] = {
    "explicit status without observability": (
        {"UnadmittedWorkloadsExplicitStatus": True},
        ["UnadmittedWorkloadsExplicitStatus requires UnadmittedWorkloadsObservability to be enabled"],
    ),
    "dynamic resources off, two more on": (
        {"KueueDRAIntegration": False},
        [
            "KueueDRAIntegrationExtendedResource requires KueueDRAIntegration to be enabled",
            "KueueDRAIntegrationPartitionableDevices requires KueueDRAIntegration to be enabled",
        ],
    ),
    "slices with topology without slices": (
        {"ElasticJobsViaWorkloadSlicesWithTAS": True, "ElasticJobsViaWorkloadSlices": False},
        ["ElasticJobsViaWorkloadSlicesWithTAS requires ElasticJobsViaWorkloadSlices to be enabled"],
    ),
    "node replacement off": (
        {"TASFailedNodeReplacement": False, "TASReplaceNodeOnPodTermination": False},
        ["TASFailedNodeReplacementFailFast requires TASFailedNodeReplacement to be enabled"],
    ),
}


@pytest.mark.parametrize(("overrides", "want_errors"), DEPENDENCIES.values(), ids=DEPENDENCIES)
def test_dependencies(overrides: dict[str, bool], want_errors: list[str]) -> None:
    assert dependency_errors(FeatureGates(overrides)) == want_errors
    with pytest.raises(InputError, match="to be enabled"):
        load_feature_gates("", overrides)


def test_load_takes_flag_or_configuration() -> None:
    assert load_feature_gates("PriorityBoost=true", None).enabled("PriorityBoost")
    assert load_feature_gates("", {"PriorityBoost": True}).enabled("PriorityBoost")
    assert load_feature_gates("", None) == FeatureGates()


@pytest.mark.parametrize("from_config", [{}, {"PriorityBoost": True}])
def test_load_refuses_both(from_config: dict[str, bool]) -> None:
    with pytest.raises(InputError, match="both by flag and by configuration"):
        load_feature_gates("PriorityBoost=true", from_config)
