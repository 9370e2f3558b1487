"""Random flavors and pod templates that fit each other, or nearly."""

import random
from typing import Any, TypeAlias

Json: TypeAlias = dict[str, Any]

GPU = "example.com/gpu"
UNKNOWN = "vendor.io/unknown"  # in no resource group
SLICE = "vendor.io/slice"  # what transformations take
ARCHITECTURES = ("arm64", "amd64")
GENERATIONS = ("1", "2", "10", "new")
REQUESTS = ["1", "1", "2", "3", "500m", "1000m", "250m", "0", "1e0"]


class Pods:
    def __init__(
        self, source: random.Random, flavors: list[str], resources: list[str], *, rich: bool
    ) -> None:
        self.random = source
        self.flavors = flavors
        self.resources = [resource for resource in resources if resource != "pods"]
        self.rich = rich

    def maybe(self, probability: float) -> bool:
        return self.random.random() < probability

    def flavor_spec(self, name: str) -> Json:
        spec: Json = {}
        if self.maybe(0.6):
            spec["nodeLabels"] = {"pool": name}
            if self.maybe(0.5):
                spec["nodeLabels"]["arch"] = self.random.choice(ARCHITECTURES)
            if self.maybe(0.5):
                spec["nodeLabels"]["generation"] = self.random.choice(GENERATIONS)
        if self.maybe(0.25):
            effect = self.random.choice(["NoSchedule", "NoSchedule", "NoExecute", "PreferNoSchedule"])
            spec["nodeTaints"] = [
                {"key": self.random.choice(["spot", "gpu"]), "value": "true", "effect": effect}
            ]
            if self.maybe(0.2):
                spec["tolerations"] = [{"key": "spot", "operator": "Exists"}]
        return spec

    def limits(self) -> list[Json]:
        """Items of a LimitRange."""
        container: Json = {"type": "Container", "default": {"cpu": self.random.choice(["2", "16"])}}
        container["defaultRequest"] = {"cpu": self.random.choice(["500m", "1"])}
        if self.maybe(0.3):
            container["max"] = {"cpu": "4"}
        if self.maybe(0.2):
            container["min"] = {"cpu": "100m"}
        return (
            [container, {"type": "Pod", "max": {"cpu": self.random.choice(["5", "20"])}}]
            if self.maybe(0.3)
            else [container]
        )

    def resources_config(self) -> Json:
        """The `resources` part of the configuration."""
        config: Json = {}
        if self.maybe(0.2):
            config["quotaCheckStrategy"] = "IgnoreUndeclared"
        elif self.rich and self.maybe(0.4):
            config["excludeResourcePrefixes"] = ["vendor.io/unknown"]
        if self.rich and self.maybe(0.5):
            outputs = {self.random.choice(self.resources): self.random.choice(["1", "500m", "3m", "-1"])}
            rule: Json = {
                "input": SLICE,
                "strategy": self.random.choice(["Retain", "Replace"]),
                "outputs": outputs,
            }
            if self.maybe(0.3):
                rule["multiplyBy"] = self.random.choice(self.resources)
            config["transformations"] = [rule]
        return config

    def spec(self, extra: list[str]) -> Json:
        spec: Json = {
            "restartPolicy": "Never",
            "containers": [self.container("main", self.main_requests(extra))],
        }
        if self.rich:
            self._enrich(spec)
        if self.maybe(0.3):
            spec["tolerations"] = [self.toleration()]
        if self.maybe(0.15):
            key, values = self.random.choice(
                [
                    ("pool", self.flavors),
                    ("arch", ARCHITECTURES),
                    ("generation", GENERATIONS),
                    ("zone", ("z",)),
                ]
            )
            spec["nodeSelector"] = {key: self.random.choice(values)}
        if self.maybe(0.15):
            terms = [
                {"matchExpressions": [self.expression() for _ in range(self.random.choice([1, 1, 2]))]}
                for _ in range(self.random.choice([1, 2]))
            ]
            spec["affinity"] = {
                "nodeAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}
                }
            }
        return spec

    def main_requests(self, extra: list[str]) -> Json:
        requests = {resource: self.amount(resource) for resource in self.resources if self.maybe(0.9)}
        for resource in extra:
            if self.maybe(0.3 if resource == GPU else 0.04):
                requests[resource] = self.random.choice(["0", "1", "1", "2"])
        if self.rich and self.maybe(0.2):
            requests[SLICE] = self.random.choice(["1", "2"])
        return requests

    def amount(self, resource: str) -> str:
        if resource == "memory":
            return self.random.choice(["1Gi", "2Gi", "512Mi", "1073741824", "3Gi", "1500m", "0"])
        return self.random.choice(REQUESTS)

    def container(self, name: str, requests: Json) -> Json:
        return {"name": name, "image": "registry/none", "resources": {"requests": requests}}

    def toleration(self) -> Json:
        return self.random.choice([
            {"operator": "Exists"},
            {"key": "spot", "operator": "Exists"},
            {"key": "spot", "operator": "Equal", "value": "true", "effect": "NoSchedule"},
            {"key": "gpu", "value": "true"},
            {"key": "spot", "value": "false"},
        ])  # fmt: skip

    def expression(self) -> Json:
        key = self.random.choice(["pool", "arch", "generation", "zone"])
        operator = self.random.choice(
            ["In", "In", "NotIn", "Exists", "DoesNotExist", *(("Gt", "Lt") if key == "generation" else ())]
        )
        expression: Json = {"key": key, "operator": operator}
        if operator in ("In", "NotIn"):
            expression["values"] = self.random.sample([*self.flavors, *ARCHITECTURES, *GENERATIONS], 2)
        elif operator in ("Gt", "Lt"):
            expression["values"] = [self.random.choice(["1", "2", "9"])]
        return expression

    def _enrich(self, spec: Json) -> None:
        """Limits, more containers, init containers, sidecars, overhead."""
        resources = spec["containers"][0]["resources"]
        kind = self.random.choice(["requests", "requests", "limits", "both", "none"])
        if kind == "limits":
            resources["limits"] = resources.pop("requests")
        elif kind == "both":
            resources["limits"] = {resource: self.amount(resource) for resource in self.resources}
        elif kind == "none":
            spec["containers"][0]["resources"] = {}
        if self.maybe(0.3):
            spec["containers"].append(self.container("second", {"cpu": self.random.choice(["100m", "1"])}))
        if self.maybe(0.4):
            spec["initContainers"] = [
                self._init_container(f"init-{i}") for i in range(self.random.randint(1, 3))
            ]
        if self.maybe(0.25):
            spec["runtimeClassName"] = self.random.choice(["heavy", "heavy", "missing"])
        if self.maybe(0.1):
            spec["overhead"] = {"cpu": "100m"}
        if self.maybe(0.1):
            spec["resources"] = {"requests": {"cpu": self.random.choice(["1", "5"])}}

    def _init_container(self, name: str) -> Json:
        container = self.container(name, {"cpu": self.random.choice(["500m", "2", "4"])})
        if self.maybe(0.5):
            container["restartPolicy"] = "Always"
        return container
