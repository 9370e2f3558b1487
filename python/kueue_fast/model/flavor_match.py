"""Whether pods may run on the nodes that a ResourceFlavor stands for.

The answer depends on the flavor and the pod template alone, never on quota, so it is worked out
once for each pair. A reason is worded as Kueue words it, since people and tools search for it.

Source: QP-421..QP-423.
"""

from kueue_fast.api.core import NodeSelectorTerm, PodSpec, Taint
from kueue_fast.api.kueue import ResourceFlavor, ResourceFlavorSpec
from kueue_fast.errors import KueueFastError
from kueue_fast.model import selectors, taints


class FlavorMatchError(KueueFastError):
    """A node affinity that cannot be parsed; it ends the search for a flavor (mode NoFit)."""


def missing_flavor(name: str) -> str:
    """Why a flavor that a ClusterQueue names, but that does not exist, is no choice.

    Source: QP-421.
    """
    return f"flavor {name} not found"


def eligible(flavor: ResourceFlavor, pod: PodSpec) -> str | None:
    """None if pods of this spec may use the flavor, else the reason in Kueue's words.

    The tolerations are the pod's and the flavor's own. Node selector and required node affinity
    are held against the flavor's node labels, and only where they speak of a key that this
    flavor has: what they ask of other keys is for the Kubernetes scheduler to see to.

    Raises `FlavorMatchError` if no affinity term matches and some term is invalid.

    Source: QP-422, QP-423.
    """
    name = flavor.metadata.name
    spec = flavor.spec or ResourceFlavorSpec()
    taint = taints.first_untolerated(spec.node_taints, [*(pod.tolerations or ()), *(spec.tolerations or ())])
    if taint is not None:
        return f"untolerated taint {_taint_text(taint)} in flavor {name}"

    labels = spec.node_labels or {}
    mismatch = f"flavor {name} doesn't match node affinity"
    for key, value in (pod.node_selector or {}).items():
        if labels.get(key, value) != value:
            return mismatch
    terms = _terms_on_keys_of(labels, pod)
    if not terms:
        return None
    try:
        return None if selectors.node_matches_terms(terms, labels) else mismatch
    except selectors.SelectorError as error:
        raise FlavorMatchError(str(error)) from error


def _terms_on_keys_of(labels: dict[str, str], pod: PodSpec) -> list[NodeSelectorTerm]:
    """The required terms cut down to the flavor's keys; none if they do not restrict it.

    `matchFields` is cut too, as a flavor is no node. A term that loses everything matches any
    flavor, and as terms are ORed the other terms then do not matter.
    """
    affinity = pod.affinity.node_affinity if pod.affinity else None
    required = affinity.required_during_scheduling_ignored_during_execution if affinity else None
    if required is None:
        return []
    terms: list[NodeSelectorTerm] = []
    for term in required.node_selector_terms or ():
        kept = [e for e in term.match_expressions or () if e.key in labels]
        if not kept:
            return []
        terms.append(NodeSelectorTerm(match_expressions=kept))
    return terms


def _taint_text(taint: Taint) -> str:
    # Kueue prints the Go struct: key, value, effect and the time it was added.
    return f"{{{taint.key} {taint.value or ''} {taint.effect} {taint.time_added or '<nil>'}}}"
