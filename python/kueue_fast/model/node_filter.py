"""Which nodes the pods of a pod set accept: taints, node selector, required node affinity.

Asked in hostname topologies only, where a leaf is a node; still an affinity that cannot be read is an error everywhere.
Source: TP-701, TP-702, TP-707.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from kueue_fast.api.core import (
    NodeAffinity,
    NodeSelectorTerm,
    PodSpec,
    PreferredSchedulingTerm,
    Taint,
    Toleration,
)
from kueue_fast.api.kueue import PodSetUpdate
from kueue_fast.errors import KueueFastError
from kueue_fast.model.selectors import (
    aggregate,
    node_matches_terms,
    node_selector_problem,
    node_terms_problems,
)
from kueue_fast.model.taints import first_untolerated
from kueue_fast.model.topology_nodes import taint_text

BY_SELECTOR: Final = "nodeSelector"
BY_AFFINITY: Final = "affinity"


class NodeFilterError(KueueFastError):
    """Demands on nodes that cannot be read; the text is upstream's reason."""


class LooksAt(NamedTuple):
    """All that a filter looks at in a node's labels and name."""

    values: dict[str, set[str]]  # label -> the values that are told apart
    numbers: set[str]  # labels of which each value counts
    presence: set[str]  # labels of which it counts that they are there
    names: set[str]  # node names that are told apart


class NodeFilter(NamedTuple):
    """What pods demand of a node; `terms` is None without a required affinity, and no terms match no node."""

    tolerations: tuple[Toleration, ...]
    node_selector: dict[str, str]
    terms: tuple[NodeSelectorTerm, ...] | None
    preferred: tuple[PreferredSchedulingTerm, ...] = ()

    def exclusion(self, taints: Iterable[Taint], labels: Mapping[str, str], name: str) -> str | None:
        """Why a node is excluded, the first reason in the order taints, node selector, affinity; None if it is not.

        The text is the key under which the message counts the node. Source: TP-702.
        """
        taint = first_untolerated(taints, self.tolerations)
        if taint is not None:
            return f'taint "{taint_text(taint)}"'
        if any(labels.get(key) != value for key, value in self.node_selector.items()):
            return BY_SELECTOR
        if self.terms is not None and not node_matches_terms(self.terms, labels, name):
            return BY_AFFINITY
        return None

    def score(self, labels: Mapping[str, str], name: str) -> int:
        """Sum of the weights of the preferred terms that a node meets. Source: TP-707."""
        return sum(
            each.weight for each in self.preferred if node_matches_terms((each.preference,), labels, name)
        )

    def looks_at(self) -> LooksAt:
        """Nodes with equal taints that are equal in these have the same exclusion and score."""
        seen = LooksAt({key: {value} for key, value in self.node_selector.items()}, set(), set(), set())
        for term in (*(self.terms or ()), *(each.preference for each in self.preferred)):
            for requirement in term.match_expressions or ():
                key, values = requirement.key, requirement.values or ()
                if requirement.operator in ("In", "NotIn"):
                    seen.values.setdefault(key, set()).update(values)
                elif requirement.operator in ("Gt", "Lt"):
                    seen.numbers.add(key)
                else:
                    seen.presence.add(key)
            for requirement in term.match_fields or ():
                seen.names.update(requirement.values or ())
        return seen


class Updates(NamedTuple):
    """What admission checks add to the demands of a pod set."""

    node_selector: dict[str, str]
    tolerations: tuple[Toleration, ...]


NO_UPDATES: Final = Updates({}, ())


def node_filter(
    pod: PodSpec,
    flavor_tolerations: Sequence[Toleration] | None,
    updates: Updates,
    *,
    by_host: bool,
    prefers_affinity: bool = False,
) -> NodeFilter:
    """The demands of pods of this spec in a flavor with these tolerations; `by_host`: its lowest level is the hostname.

    `updates` come from `merge_updates`, `prefers_affinity` is the gate TASRespectNodeAffinityPreferred. Raises
    NodeFilterError if the node selector (asked only `by_host`) or the affinity cannot be read. Source: TP-702, TP-707.
    """
    node_selector = {**(pod.node_selector or {}), **updates.node_selector}
    if by_host:
        problem = node_selector_problem(node_selector)
        if problem is not None:
            raise NodeFilterError(f"invalid node selectors: {_map_text(node_selector)}, reason: {problem}")
    affinity = pod.affinity.node_affinity if pod.affinity else None
    required = affinity.required_during_scheduling_ignored_during_execution if affinity else None
    terms: tuple[NodeSelectorTerm, ...] | None = None
    if required is not None:
        terms = tuple(required.node_selector_terms or ())
        problems = node_terms_problems(terms)
        if problems:
            text = _terms_text(terms)
            raise NodeFilterError(f"invalid affinity node selectors: {text}, reason: {aggregate(problems)}")
    preferred = _preferred(affinity) if prefers_affinity and affinity is not None else ()
    tolerations = (*(pod.tolerations or ()), *updates.tolerations, *(flavor_tolerations or ()))
    return NodeFilter(tolerations, node_selector, terms, preferred)


def _preferred(affinity: NodeAffinity) -> tuple[PreferredSchedulingTerm, ...]:
    """The preferred terms that can count. Raises NodeFilterError for one that cannot be read."""
    every = affinity.preferred_during_scheduling_ignored_during_execution or ()
    terms = tuple(
        each
        for each in every
        if each.weight and (each.preference.match_expressions or each.preference.match_fields)
    )
    problems = node_terms_problems([each.preference for each in terms])
    if problems:
        reason = aggregate(problems)
        raise NodeFilterError(
            f"invalid preferred node affinity terms: {_preferred_text(every)}, reason: {reason}"
        )
    return terms


def merge_updates(
    pod_set: str,
    pod: PodSpec,
    labels: Mapping[str, str] | None,
    annotations: Mapping[str, str] | None,
    updates: Sequence[PodSetUpdate],
) -> Updates:
    """Additions of all PodSetUpdates for a pod set, in order; `labels` and `annotations` are its template's.

    Raises NodeFilterError if an update gives a label, annotation or node selector of the template or of an earlier
    update another value. Source: TP-701.
    """
    if not updates:
        return NO_UPDATES
    added: dict[str, str] = {}
    known = {
        "annotations": dict(annotations or {}),
        "labels": dict(labels or {}),
        "nodeSelector": dict(pod.node_selector or {}),
    }
    tolerations: list[Toleration] = []
    for update in updates:
        news = (update.annotations, update.labels, update.node_selector)
        for (what, mine), theirs in zip(known.items(), news, strict=True):
            for key, value in (theirs or {}).items():
                if mine.get(key, value) != value:
                    raise NodeFilterError(
                        f"invalid podSetUpdate for PodSet {pod_set}, error: invalid admission check PodSetUpdate: "
                        f"conflict for {what}: conflict for key={key}, value1={mine[key]}, value2={value}"
                    )
        for mine, theirs in zip(known.values(), news, strict=True):
            mine.update(theirs or {})
        added.update(update.node_selector or {})
        tolerations += update.tolerations or ()
    return Updates(added, tuple(tolerations))


def _map_text(entries: Mapping[str, str]) -> str:
    """As Go prints a map."""
    return f"map[{' '.join(f'{key}:{value}' for key, value in sorted(entries.items()))}]"


def _preferred_text(terms: Sequence[PreferredSchedulingTerm]) -> str:
    """As Go prints a slice of PreferredSchedulingTerms."""
    texts = []
    for term in terms:
        parts = [
            " ".join(f"{{{r.key} {r.operator} [{' '.join(r.values or ())}]}}" for r in requirements or ())
            for requirements in (term.preference.match_expressions, term.preference.match_fields)
        ]
        texts.append(f"{{{term.weight} {{[{parts[0]}] [{parts[1]}]}}}}")
    return f"[{' '.join(texts)}]"


def _terms_text(terms: Sequence[NodeSelectorTerm]) -> str:
    """As Go prints a pointer to a NodeSelector."""
    texts = []
    for term in terms:
        parts = []
        for name, requirements in (
            ("MatchExpressions", term.match_expressions),
            ("MatchFields", term.match_fields),
        ):
            each = "".join(
                f"NodeSelectorRequirement{{Key:{r.key},Operator:{r.operator},Values:[{' '.join(r.values or ())}],}},"
                for r in requirements or ()
            )
            parts.append(f"{name}:[]NodeSelectorRequirement{{{each}}},")
        texts.append(f"NodeSelectorTerm{{{''.join(parts)}}},")
    return f"&NodeSelector{{NodeSelectorTerms:[]NodeSelectorTerm{{{''.join(texts)}}},}}"
