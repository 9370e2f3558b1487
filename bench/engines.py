"""Engines to measure on."""

import json

from bench.load_cases import LoadCase
from kueue_fast import Engine
from kueue_fast.api.configuration import load_configuration
from kueue_fast.api.decode import decode_object
from kueue_fast.model import times

NOW = times.parse("2026-01-01T02:00:00Z")


def empty_engine(case: LoadCase) -> Engine:
    """An engine with the configuration of a load case, and nothing in it yet."""
    document = {"apiVersion": "config.kueue.x-k8s.io/v1beta2", "kind": "Configuration", **case.config}
    return Engine(configuration=load_configuration(json.dumps(document).encode(), case.name))


def filled_engine(case: LoadCase) -> Engine:
    """An engine with all objects and workloads of a load case, no cycle run yet."""
    engine = empty_engine(case)
    for manifest in case.objects:
        engine.upsert(decode_object(manifest))
    for step in case.steps:
        for manifest in step["create"]:
            engine.upsert(decode_object(manifest))
    engine.flush(NOW, all=True)
    return engine


def blocked(queues: int, flavors: int) -> LoadCase:
    """Every queue's head asks for more than any of its flavors has left, and StrictFIFO keeps it in front."""
    case = LoadCase("blocked")
    names = [f"flavor{number}" for number in range(flavors)]
    for name in names:
        case.add("ResourceFlavor", name, {})
    workloads = []
    for number in range(queues):
        queue = f"queue{number:03d}"
        quota = {"cpu": {"nominalQuota": "4"}, "memory": {"nominalQuota": "4Gi"}}
        case.add_queue(queue, "cohort", quota, preemption={}, flavors=names, strategy="StrictFIFO")
        requests = {"cpu": "1", "memory": "1Gi"}
        workloads.append(case.workload(f"{queue}-head", queue, requests, number, count=queues * 4 + 1))
    case.step(workloads)
    return case
