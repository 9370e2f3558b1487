"""Usage as it must be: the oracle's forest, built from the manifests and from the admissions that were decided."""

from collections.abc import Collection

from tests.invariants.live import LiveCluster
from tests.oracle.amounts import add
from tests.oracle.cluster import quotas_of
from tests.oracle.forest import Forest, Node, Quantities


def forest_of(cluster: LiveCluster, without: Collection[str] = ()) -> Forest:
    """The forest with the usage of all admitted workloads but some."""
    usage: dict[str, Quantities] = {}
    for key, admission in cluster.admissions.items():
        if key in without:
            continue
        own = usage.setdefault(admission.cluster_queue, {})
        for pod_set in admission.pod_sets:
            for resource, amount in pod_set.usage.items():
                fr = pod_set.flavors[resource], resource
                own[fr] = add(own.get(fr, 0), amount)
    forest = Forest()
    for manifest in cluster.manifests.values():
        name, spec = manifest["metadata"]["name"], manifest.get("spec") or {}
        if manifest["kind"] == "Cohort":
            forest.set_cohort(name, spec.get("parentName"), quotas_of(spec.get("resourceGroups")))
        elif manifest["kind"] == "ClusterQueue":
            quotas = quotas_of(spec.get("resourceGroups"))
            forest.set_cluster_queue(name, spec.get("cohortName"), quotas, usage.get(name, {}))
    forest.recompute()
    return forest


def booked(cluster: LiveCluster) -> dict[str, Quantities]:
    """Usage of every node, cohorts too, as the engine's tables have it; zeros left out."""
    tables = cluster.engine._state.tables
    found: dict[str, Quantities] = {}
    for (kind, name), row in tables.nodes.items():
        amounts = found.setdefault(f"{kind} {name}", {})
        for (flavor, resource), column in tables.columns.items():
            if tables.forest.usage[row, column]:
                amounts[tables.flavor_names[flavor], tables.resource_names[resource]] = tables.forest.usage[
                    row, column
                ]
    return found


def expected(forest: Forest) -> dict[str, Quantities]:
    """The same of a forest."""
    nodes: list[Node] = [*forest.cluster_queues.values(), *forest.cohorts.values()]
    return {
        f"{'ClusterQueue' if node.is_cluster_queue else 'Cohort'} {node.name}": {
            fr: amount for fr, amount in node.usage.items() if amount
        }
        for node in nodes
    }


def overdrawn(forest: Forest) -> dict[str, set[tuple[str, str]]]:
    """By root, of what some node of its tree uses more than quota and limits let it: less than 0 is available."""
    found: dict[str, set[tuple[str, str]]] = {}
    for node in [*forest.cluster_queues.values(), *forest.cohorts.values()]:
        mark = found.setdefault(node.root.name, set())
        for fr in {*node.usage, *node.subtree, *node.root.subtree}:
            if node.available(fr) < 0:
                mark.add(fr)
    return found
