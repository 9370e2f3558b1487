"""The next step of any job of one object: a child of another job, elastic, or with one Workload.

Whoever knows the objects asks here, live or in the embedded cluster. Pods, and kinds whose pods are admitted in groups,
have reconcilers of their own.

Source: JS-041, JS-060..062, JS-130, JS-480.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol

from kueue_fast.api.kueue import Workload
from kueue_fast.api.meta import ObjectMeta
from kueue_fast.jobs import elastic, one_workload, reconciler
from kueue_fast.jobs.actions import GroupAction
from kueue_fast.jobs.children import bring_children_along, hold_child
from kueue_fast.jobs.integration import Integration
from kueue_fast.jobs.reconciler import View
from kueue_fast.jobs.validation import is_elastic, prebuilt_name
from kueue_fast.jobs.workload import is_managed

__all__ = ["Objects", "Step", "next_step", "owned_workloads"]


class Objects(Protocol):
    """What is known of the cluster."""

    def get(self, kind: str, namespace: str | None, name: str) -> Any | None:
        """The object, or None."""

    def dependents(self, uid: str, kind: str | None = None) -> Iterator[Any]:
        """Objects with an owner reference to `uid`; of a kind if given."""


class Step(NamedTuple):
    """What to do, in order, nothing where the job is where it should be; and the Workload that stands for it."""

    actions: Sequence[GroupAction] = ()
    workload: Workload | None = None


def next_step(
    job: Any,
    integration: Integration[Any],
    ancestor: Callable[[ObjectMeta], ObjectMeta | None],
    objects: Objects,
    view: View,
    now_ns: int,
) -> Step:
    """The next step of a job. `now_ns` is the time in ns since 1970.

    `ancestor` gives the metadata of the topmost managed job above an object, None if there is none. Raises what it
    raises, InputError when a priority class does not exist, or no pod sets can be made of the job, and LookupError
    when a flavor does not exist: all are retried live.
    """
    settings = view.settings
    above = ancestor(job.metadata)
    action: reconciler.Action | None
    if above is not None:
        sliced = any(is_elastic(each, settings) for each in (job.metadata, above))
        workloads = owned_workloads(objects, above)
        action = hold_child(job, integration, workloads, now_ns, elastic=sliced)
        return Step(() if action is None else (action,))
    if integration.skip(job, settings) or not is_managed(job.metadata, settings):
        return Step()
    owned = owned_workloads(objects, job.metadata)
    if elastic.is_elastic_job(job, integration, view):
        steps = _next_slice(job, integration, owned, objects, view, now_ns)
        return Step(steps or _children_steps(job, integration, owned, objects, now_ns))
    name = prebuilt_name(job.metadata, settings)
    named = objects.get(Workload.KIND, job.metadata.namespace, name) if name else None
    found = one_workload.find(job, integration, owned, named, view, now_ns)
    if found.actions:
        return Step(found.actions)
    action = reconciler.reconcile(job, integration, found.workload, view, now_ns)
    if action is not None:
        return Step((action,), found.workload)
    standing = () if found.workload is None else (found.workload,)
    return Step(_children_steps(job, integration, standing, objects, now_ns), found.workload)


def owned_workloads(objects: Objects, metadata: ObjectMeta) -> list[Workload]:
    """Workloads that the object controls, in the order in which they came to be its own.

    One that names it as a further owner belongs to another job, whose quota is not for two.
    """
    uid = metadata.uid
    return [
        each
        for each in objects.dependents(uid or "", Workload.KIND)
        if any(owner.controller and owner.uid == uid for owner in each.metadata.owner_references or ())
    ]


def _children_steps(
    job: Any, integration: Integration[Any], workloads: Sequence[Workload], objects: Objects, now_ns: int
) -> Sequence[GroupAction]:
    return bring_children_along(
        job, integration, workloads, objects.dependents(job.metadata.uid or ""), now_ns
    )


def _next_slice(
    job: Any,
    integration: Integration[Any],
    owned: Sequence[Workload],
    objects: Objects,
    view: View,
    now_ns: int,
) -> Sequence[GroupAction]:
    try:
        action = elastic.reconcile(job, integration, owned, view, now_ns)
    except elastic.TooManySlicesError:
        return ()  # The end of one of them brings the job back.
    if isinstance(action, reconciler.CreateWorkload):
        # The name of a slice is taken when one of the same generation of the job has ended: Kueue tries again and
        # again until the job changes.
        metadata = action.workload.metadata
        if objects.get(Workload.KIND, metadata.namespace, metadata.name) is not None:
            return ()
    return () if action is None else (action,)
