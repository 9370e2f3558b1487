"""Feature gates of Kueue v0.19: the table, its overrides, and what each gate asks of others.

`FeatureGates` is an immutable answer to "is this gate on?". It is made once at start; whoever
runs in a loop reads the gates it needs into plain fields first.

Source: OP-400..OP-407, OP-410..OP-499.
"""

from collections.abc import Iterator, Mapping
from typing import Final, Literal, NamedTuple

from kueue_fast.errors import InputError

Stage = Literal["Alpha", "Beta", "GA", "Deprecated"]

FIELD: Final = "featureGates"


class Gate(NamedTuple):
    """One gate as it stands in v0.19."""

    name: str
    default: bool
    stage: Stage
    locked: bool = False  # accepts only its own default


def _stage(stage: Stage, default: bool, names: str, *, locked: bool = False) -> list[Gate]:
    return [Gate(name, default, stage, locked) for name in names.split()]


_ALL: Final = [
    *_stage(
        "Beta",
        True,
        """
        PartialAdmission FlavorFungibility VisibilityOnDemand PrioritySortingWithinCohort
        FairSharingPreemptWithinNominal FairSharingPrioritizeNonBorrowing MultiKueue
        TopologyAwareScheduling LocalQueueMetrics TASProfileMixed AdmissionFairSharing
        TASFailedNodeReplacement ElasticJobsViaWorkloadSlices TASFailedNodeReplacementFailFast
        TASReplaceNodeOnPodTermination SkipReassignmentForPodOwnedWorkloads
        TASAssignmentsEncodingByHostnamePrefix KueueDRAIntegration
        KueueDRAIntegrationExtendedResource KueueDRARejectWorkloadsWhenDRADisabled
        KueueDRAIntegrationPartitionableDevices MultiKueueAdaptersForCustomJobs ReclaimablePods
        TLSOptions RemoveFinalizersWithStrictPatch TASReplaceNodeOnNodeTaints
        AssignQueueLabelsForPods TASMultiLayerTopology SchedulingEquivalenceHashing
        AdmissionGatedBy FinishOrphanedWorkloads MultiKueueIncrementalDispatcherConfig
        MultiKueueIncrementalDispatcherRespectConfigOrder QuotaCheckStrategy
        MetricForWorkloadCreationLatency WorkloadIdentifierAnnotations MetricsForCohorts
        CleanupProvisioningRequestsOnEviction TASHandleOverlappingFlavors
        TASRecomputeAssignmentWithinSchedulingCycle DeferRayServiceFinalizationForRedisCleanup
        TASCacheNodeMatchResults TASCachingRemainingResources VectorizedResourceRequests
        WorkloadValidateResourcesAreNonNegative TASValidateWorkloadSliceSize
        WorkloadValidationForPodSetMetadata LWSImmutableGroupSize
        FlavorFungibilityPreserveScanProgress SkipAncestorCheckForDeletedWorkloads
        MultiKueueRemoteSpecSync PodIntegrationValidateGroupOwner ValidateRayAndSparkJobUpdates
        """,
    ),
    *_stage(
        "Beta",
        False,
        "UnadmittedWorkloadsObservability UnadmittedWorkloadsExplicitStatus",
    ),
    *_stage(
        "Alpha",
        False,
        """
        DisableWaitForPodsReady ElasticJobsViaWorkloadSlicesWithTAS TASBalancedPlacement
        KueueDRAIntegrationConsumableCapacity WorkloadRequestUseMergePatch
        MultiKueueKubeConfigPathValidation MultiKueueClusterProfile FailureRecoveryPolicy
        SchedulerLongRequeueInterval SchedulerTimestampPreemptionBuffer CustomMetricLabels
        SparkApplicationIntegration MultiKueueOrchestratedPreemption PriorityBoost
        ShortWorkloadNames FastQuotaReleaseInPodIntegration RejectUpdatesToCQWithInvalidOnFlavors
        ConcurrentAdmission TASRespectNodeAffinityPreferred MultiKueueManagerQuotaAutomation
        WorkloadPriorityClassDefaulting TASCacheTopologyTree SchedulerLibraryIntegration
        PrioritizePreemptorWorkloads RecomputeAssignmentUponPreemptionTargetsOverlap
        """,
    ),
    *_stage(
        "GA",
        True,
        """
        HierarchicalCohorts ObjectRetentionPolicies ManagedJobsNamespaceSelectorAlwaysRespected
        PropagateBatchJobLabelsToWorkload SkipFinalizersForPodsSuspendedByParent
        MultiKueueWaitForWorkloadAdmitted MultiKueueRedoAdmissionOnEvictionInWorker
        """,
        locked=True,
    ),
    *_stage("Deprecated", False, "TASReplaceNodeDueToNotReadyOverFixedTime"),
    *_stage("Deprecated", False, "MultiKueueAllowInsecureKubeconfigs", locked=True),
]

GATES: Final[Mapping[str, Gate]] = {gate.name: gate for gate in _ALL}
"""Every gate of Kueue v0.19 by name."""

_DEFAULTS: Final = {gate.name: gate.default for gate in _ALL}

# Kueue shares its gate registry with the API-server library, so its users may set these too.
_API_SERVER_GATE_NAMES: Final = """
    APIResponseCompression APIServerIdentity APIServerTracing APIServingWithRoutine
    AggregatedDiscoveryRemoveBetaType AllowParsingUserUIDFromCertAuth
    AllowUnsafeMalformedObjectDeletion AnonymousAuthConfigurableEndpoints AuthorizeWithSelectors
    BtreeWatchCache CBORServingAndStorage ComponentFlagz ComponentStatusz
    ConcurrentWatchObjectDecode ConsistentListFromCache ConstrainedImpersonation
    CoordinatedLeaderElection DeclarativeValidation DeclarativeValidationBeta
    DeclarativeValidationTakeover DetectCacheInconsistency KMSv1 ListFromCacheSnapshot
    ManifestBasedAdmissionControlConfig MutatingAdmissionPolicy OpenAPIEnums
    RemoteRequestHeaderUID ResilientWatchCacheInitialization RetryGenerateName
    SeparateCacheWatchRPC ShardedListAndWatch SizeBasedListCostEstimate StorageVersionAPI
    StorageVersionHash StreamingCollectionEncodingToJSON StreamingCollectionEncodingToProtobuf
    StructuredAuthenticationConfiguration StructuredAuthenticationConfigurationEgressSelector
    StructuredAuthenticationConfigurationJWKSMetrics TokenRequestServiceAccountUIDValidation
    UnauthenticatedHTTP2DOSMitigation UnknownVersionInteroperabilityProxy
    WatchCacheInitializationPostStartHook WatchList
"""
_API_SERVER_GATES: Final = frozenset(_API_SERVER_GATE_NAMES.split())

_TAS: Final = "TopologyAwareScheduling"
_NODE_REPLACEMENT: Final = "TASFailedNodeReplacement"
_DRA: Final = "KueueDRAIntegration"

# A gate that is on needs each of these on as well (OP-406).
_REQUIRES: Final[Mapping[str, tuple[str, ...]]] = {
    "TASProfileMixed": (_TAS,),
    "TASHandleOverlappingFlavors": (_TAS,),
    "TASFailedNodeReplacement": (_TAS,),
    "TASFailedNodeReplacementFailFast": (_TAS, _NODE_REPLACEMENT),
    "TASReplaceNodeOnPodTermination": (_TAS, _NODE_REPLACEMENT),
    "TASReplaceNodeDueToNotReadyOverFixedTime": (_TAS, _NODE_REPLACEMENT),
    "TASBalancedPlacement": (_TAS,),
    "TASReplaceNodeOnNodeTaints": (_TAS,),
    "TASMultiLayerTopology": (_TAS,),
    "TASRespectNodeAffinityPreferred": (_TAS,),
    "TASRecomputeAssignmentWithinSchedulingCycle": (_TAS,),
    "UnadmittedWorkloadsExplicitStatus": ("UnadmittedWorkloadsObservability",),
    "ElasticJobsViaWorkloadSlicesWithTAS": ("ElasticJobsViaWorkloadSlices", _TAS),
    "KueueDRAIntegrationExtendedResource": (_DRA,),
    "KueueDRAIntegrationPartitionableDevices": (_DRA,),
    "KueueDRAIntegrationConsumableCapacity": (_DRA,),
}

# Asks an external Go library for decisions, which this program cannot load (OP-499).
_UNSUPPORTED: Final = "SchedulerLibraryIntegration"

_TRUE: Final = frozenset({"1", "t", "T", "TRUE", "true", "True"})
_FALSE: Final = frozenset({"0", "f", "F", "FALSE", "false", "False"})


class FeatureGates:
    """The gates of one run: v0.19's defaults under the given overrides. Immutable.

    `overrides` may name `AllAlpha` and `AllBeta`, which set every gate of that stage that is not
    set by name. `warnings` tells what a user should hear of: names that are ignored, and gates
    on their way out.

    Dependencies between gates are not checked here but by `dependency_errors`: Kueue checks
    them at start, and a library user may want a single gate flipped.

    Raises `InputError` for an unknown gate, a locked gate set to another value than its own,
    or a gate that cannot be had here.

    Source: OP-400, OP-401, OP-404, OP-405, OP-407, OP-499.
    """

    __slots__ = ("_enabled", "warnings")

    _enabled: Mapping[str, bool]
    warnings: tuple[str, ...]

    def __init__(self, overrides: Mapping[str, bool] | None = None) -> None:
        enabled, warnings = _resolve(overrides or {})
        object.__setattr__(self, "_enabled", enabled)
        object.__setattr__(self, "warnings", tuple(warnings))

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("FeatureGates is immutable")

    def enabled(self, name: str) -> bool:
        """Whether the gate is on. Raises `KeyError` for a name that v0.19 does not have."""
        return self._enabled[name]

    __getitem__ = enabled

    def __iter__(self) -> Iterator[str]:
        return iter(self._enabled)

    def overridden(self) -> dict[str, bool]:
        """The gates that stand on another value than their default."""
        return {name: on for name, on in self._enabled.items() if on != _DEFAULTS[name]}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FeatureGates) and self._enabled == other._enabled

    def __hash__(self) -> int:
        return hash(frozenset(self._enabled.items()))

    def __repr__(self) -> str:
        return f"FeatureGates({self.overridden()!r})"


def load_feature_gates(flag: str, from_config: Mapping[str, bool] | None) -> FeatureGates:
    """The gates as Kueue reads them at start, from the flag or from the configuration.

    `flag` is the text of `--feature-gates`, empty if not given; `from_config` is the map
    `featureGates` of the configuration, None if not given.

    Raises `InputError` naming `featureGates`: both given, anything `FeatureGates` refuses, or
    a gate whose requirements are off.

    Source: OP-402, OP-403, OP-406.
    """
    if flag and from_config is not None:
        raise InputError(
            "feature gates are given both by flag and by configuration",
            field=FIELD,
            expected="only one of the two",
        )
    gates = FeatureGates(parse_feature_gates(flag) if flag else from_config)
    problems = dependency_errors(gates)
    if problems:
        raise InputError("; ".join(problems), field=FIELD)
    return gates


def parse_feature_gates(text: str) -> dict[str, bool]:
    """Reads `A=true,B=false`; a name given twice takes its last value.

    Raises `InputError` for an item without `=` or with anything but a boolean as Go writes it.

    Source: OP-402.
    """
    overrides: dict[str, bool] = {}
    for item in text.split(","):
        if not item:
            continue
        name, equals, value = (part.strip() for part in item.partition("="))
        if not equals:
            raise InputError(f"feature gate {name!r} has no value", field=FIELD, expected="NAME=true|false")
        if value not in _TRUE and value not in _FALSE:
            raise InputError(
                f"feature gate {name!r} has the value {value!r}",
                field=FIELD,
                expected="true or false",
            )
        overrides[name] = value in _TRUE
    return overrides


def dependency_errors(gates: FeatureGates) -> list[str]:
    """One message for each gate that is on while a gate it requires is off. Source: OP-406."""
    return [
        f"{name} requires {required} to be enabled"
        for name, requirements in _REQUIRES.items()
        if gates.enabled(name)
        for required in requirements
        if not gates.enabled(required)
    ]


def _resolve(overrides: Mapping[str, bool]) -> tuple[dict[str, bool], list[str]]:
    enabled = dict(_DEFAULTS)
    warnings: list[str] = []
    for every, stage in (("AllAlpha", "Alpha"), ("AllBeta", "Beta")):
        if every in overrides:
            enabled.update((gate.name, overrides[every]) for gate in GATES.values() if gate.stage == stage)
    if enabled[_UNSUPPORTED]:
        enabled[_UNSUPPORTED] = False
        if _UNSUPPORTED not in overrides:
            warnings.append(f"{_UNSUPPORTED} is not supported here and stays off")
    for name, value in overrides.items():
        if name in ("AllAlpha", "AllBeta"):
            continue
        gate = GATES.get(name)
        if gate is None:
            if name not in _API_SERVER_GATES:
                raise InputError(
                    f"unknown feature gate {name!r}",
                    field=FIELD,
                    expected="a feature gate of Kueue v0.19",
                )
            warnings.append(f"{name} belongs to the Kubernetes API server and is ignored")
            continue
        _check(gate, value)
        enabled[name] = value
        if gate.stage in ("GA", "Deprecated"):
            warnings.append(f"{name} is {gate.stage} and will be removed in a later release")
    return enabled, warnings


def _check(gate: Gate, value: bool) -> None:
    if not isinstance(value, bool):
        raise InputError(
            f"feature gate {gate.name!r} has the value {value!r}",
            field=FIELD,
            expected="true or false",
        )
    if gate.locked and value != gate.default:
        raise InputError(
            f"feature gate {gate.name!r} is locked to {str(gate.default).lower()}",
            field=FIELD,
            expected=str(gate.default).lower(),
        )
    if gate.name == _UNSUPPORTED and value:
        raise InputError(
            f"feature gate {gate.name!r} is not supported: it needs an external Go library",
            field=FIELD,
            expected="false",
        )
