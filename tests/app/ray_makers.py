"""Ray clusters, jobs and services as Kueue's webhooks leave them, and what is asked of them."""

import asyncio

import pytest

from tests.controlplane.world import KUEUE

RAY = "ray.io/v1"
FRAMEWORKS = ("batch/job", "ray.io/raycluster", "ray.io/rayjob", "ray.io/rayservice")
GATE = "kueue.x-k8s.io/elastic-job"
SECONDS = 60


def container(name, cpu="1"):
    return {"name": name, "image": "rayproject/ray:2.46.0", "resources": {"requests": {"cpu": cpu}}}


def cluster_spec(workers=1, *, suspend=None, elastic=False):
    """A head and a group of workers of one CPU each; an elastic one scales itself, and its autoscaler costs nothing."""

    def template(name):
        spec = {"containers": [container(name)]}
        return {"spec": {**spec, "schedulingGates": [{"name": GATE}]} if elastic else spec}

    spec = {
        "headGroupSpec": {"rayStartParams": {}, "template": template("ray-head")},
        "workerGroupSpecs": [
            {
                "groupName": "workers",
                "replicas": workers,
                "minReplicas": 0,
                "maxReplicas": 9,
                "rayStartParams": {},
                "template": template("ray-worker"),
            }
        ],
    }
    if elastic:
        spec["enableInTreeAutoscaling"] = True
        spec["autoscalerOptions"] = {"resources": {"requests": {"cpu": "0"}, "limits": {"cpu": "0"}}}
    if suspend is not None:
        spec["suspend"] = suspend
    return spec


def made(world, kind, name, spec, *, priority=None, elastic=False):
    labels = {"kueue.x-k8s.io/queue-name": "main"}
    if priority is not None:
        labels["kueue.x-k8s.io/priority-class"] = priority
    metadata = {"name": name, "namespace": world.namespace, "labels": labels}
    if elastic:
        metadata["annotations"] = {GATE: "true"}
    return {"apiVersion": RAY, "kind": kind, "metadata": metadata, "spec": spec}


def ray_cluster(world, name, workers=1, *, elastic=False):
    spec = cluster_spec(workers, suspend=True, elastic=elastic)
    return made(world, "RayCluster", name, spec, elastic=elastic)


def ray_job(world, name, workers=1, *, priority=None, elastic=False):
    """One that a submitter of 100m starts; its cluster goes when it has ended."""
    spec = {
        "suspend": True,
        "entrypoint": "python -c pass",
        "shutdownAfterJobFinishes": True,
        "submitterPodTemplate": {
            "spec": {"containers": [container("submitter", "100m")], "restartPolicy": "Never"}
        },
        "rayClusterSpec": cluster_spec(workers, elastic=elastic),
    }
    return made(world, "RayJob", name, spec, priority=priority, elastic=elastic)


async def ask_for(world, workers):
    """What Ray's autoscaler writes into the one RayCluster of the namespace."""
    [cluster] = await world.call(world.client.list, RAY, "RayCluster", world.namespace)
    change = {"op": "replace", "path": "/spec/workerGroupSpecs/0/replicas", "value": workers}
    await world.call(world.client.patch, {"apiVersion": RAY, "kind": "RayCluster", **cluster}, [change])


def ray_service(world, name, workers=1, *, elastic=False, priority=None):
    applications = (
        "applications:\n- name: fruit\n  import_path: fruit.graph\n  deployments: [{name: Mango}]\n"
    )
    spec = {
        "serveConfigV2": applications,
        "rayClusterConfig": cluster_spec(workers, suspend=True, elastic=elastic),
    }
    return made(world, "RayService", name, spec, elastic=elastic, priority=priority)


async def priority_class(world, name, value):
    manifest = {"apiVersion": KUEUE, "kind": "WorkloadPriorityClass", "metadata": {"name": name}}
    await world.call(world.client.apply, {**manifest, "value": value, "description": "of a test"})


async def until(look, holds):
    """Return what `look` finds once it holds; says how it was if that never comes."""
    found = None
    try:
        async with asyncio.timeout(SECONDS):
            while not holds(found := await look()):
                await asyncio.sleep(0.05)
    except TimeoutError:
        pytest.fail(f"stayed: {found}")
    return found


async def until_pods(world, running, gated=0, waiting=0):
    """Wait until so many pods run, so many are held by a gate, and so many wait for a node, and there are no others."""

    async def look():
        pods = await world.call(world.client.list, "v1", "Pod", world.namespace)
        return [
            "gated"
            if each["spec"].get("schedulingGates")
            else each["status"]["phase"] + (" going" if "deletionTimestamp" in each["metadata"] else "")
            for each in pods
        ]

    want = sorted(["Running"] * running + ["gated"] * gated + ["Pending"] * waiting)
    await until(look, lambda found: sorted(found) == want)


async def slices(world, name):
    """Workloads of a job: pods by pod set, and what became of it; in the order of these."""
    found = await world.call(world.client.list, KUEUE, "Workload", world.namespace)
    own = [
        each
        for each in found
        if any(owner["name"] == name for owner in each["metadata"].get("ownerReferences", []))
    ]
    return sorted((tuple(each["count"] for each in one["spec"]["podSets"]), state(one)) for one in own)


def state(workload):
    conditions = {
        each["type"]: each
        for each in workload.get("status", {}).get("conditions", [])
        if each["status"] == "True"
    }
    if "Finished" in conditions:
        return conditions["Finished"]["reason"]
    return "Admitted" if "Admitted" in conditions else "waits"


async def until_slices(world, name, *want):
    await until(lambda: slices(world, name), lambda found: found == sorted(want))
