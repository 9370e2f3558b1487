"""A client of the control plane for tests: plain requests, nothing of the code under test."""

import http.client
import json
import ssl
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

MERGE = "application/merge-patch+json"
APPLY = "application/apply-patch+yaml"
# A kind whose storage has just been made is answered with 429 for a moment.
ATTEMPTS = 100
PAUSE_SECONDS = 0.1


class RequestError(Exception):
    """The apiserver's refusal."""

    def __init__(self, status: int, body: Any) -> None:
        message = body.get("message") if isinstance(body, dict) else str(body)
        super().__init__(f"{status}: {message}")
        self.status = status
        self.body = body


class Client:
    """Requests with an administrator's token, one connection each."""

    def __init__(self, server: str, token: str, authority: Path) -> None:
        self.server = server
        self.token = token
        self.authority = authority
        self._address = urlsplit(server).netloc
        self._tls = ssl.create_default_context(cafile=str(authority))
        self._plurals: dict[tuple[str, str], tuple[str, bool]] = {}

    def request(
        self, method: str, path: str, body: Any = None, content_type: str = "application/json", **query: str
    ) -> Any:
        """The decoded answer: JSON, else text. Raises RequestError, OSError."""
        connection = self.open(30)
        try:
            connection.request(
                method,
                path + ("?" + urlencode(query) if query else ""),
                None if body is None else json.dumps(body),
                {**self.authorization, "Content-Type": content_type},
            )
            answer = connection.getresponse()
            text = answer.read().decode()
        finally:
            connection.close()
        found = json.loads(text) if "json" in (answer.getheader("Content-Type") or "") else text
        if answer.status >= 400:
            raise RequestError(answer.status, found)
        return found

    def open(self, timeout_s: float) -> http.client.HTTPSConnection:
        """A connection of one's own."""
        return http.client.HTTPSConnection(self._address, context=self._tls, timeout=timeout_s)

    @property
    def authorization(self) -> dict[str, str]:
        """The header that says who asks."""
        return {"Authorization": f"Bearer {self.token}"}

    def ready(self) -> bool:
        """Whether the apiserver says so."""
        try:
            return bool(self.request("GET", "/readyz") == "ok")
        except RequestError:
            return False

    def path(self, api_version: str, kind: str, namespace: str | None = None, name: str | None = None) -> str:
        """Where objects of the kind are; asks the apiserver for the plural. Raises KeyError if it is not served."""
        prefix = "/api/" if "/" not in api_version else "/apis/"
        if (api_version, kind) not in self._plurals:
            for each in self.request("GET", prefix + api_version)["resources"]:
                if "/" not in each["name"]:
                    self._plurals[api_version, each["kind"]] = each["name"], each["namespaced"]
        plural, namespaced = self._plurals[api_version, kind]
        parts = [prefix + api_version]
        if namespaced and namespace is not None:
            parts += ["namespaces", namespace]
        parts.append(plural)
        return "/".join(parts if name is None else [*parts, name])

    def path_of(self, manifest: dict[str, Any]) -> str:
        metadata = manifest["metadata"]
        namespace = metadata.get("namespace", "default")
        return self.path(manifest["apiVersion"], manifest["kind"], namespace, metadata["name"])

    def apply(self, manifest: dict[str, Any], manager: str = "tests") -> Any:
        """Server-side apply; goes on trying while the kind is still being set up."""
        for attempt in range(ATTEMPTS):
            try:
                path = self.path_of(manifest)
                return self.request("PATCH", path, manifest, APPLY, fieldManager=manager, force="true")
            except (KeyError, RequestError) as error:
                passing = isinstance(error, KeyError) or error.status in (404, 429, 500, 503)
                if not passing or attempt == ATTEMPTS - 1:
                    raise
                time.sleep(PAUSE_SECONDS)

    def install(self, manifest: dict[str, Any]) -> Any:
        """Create what is usually not there yet: cheaper than an apply, by far for CRDs."""
        try:
            return self.create(manifest)
        except RequestError as error:
            if error.status != 409:
                raise
        return self.apply(manifest)

    def get(self, api_version: str, kind: str, name: str, namespace: str | None = None) -> Any:
        return self.request("GET", self.path(api_version, kind, namespace, name))

    def list(self, api_version: str, kind: str, namespace: str | None = None) -> list[Any]:
        items: list[Any] = self.request("GET", self.path(api_version, kind, namespace))["items"]
        return items

    def create(self, manifest: dict[str, Any]) -> Any:
        path = self.path_of(manifest).rsplit("/", 1)[0]
        return self.request("POST", path, manifest)

    def merge(self, manifest: dict[str, Any], change: dict[str, Any], subresource: str = "") -> Any:
        path = self.path_of(manifest) + (f"/{subresource}" if subresource else "")
        return self.request("PATCH", path, change, MERGE)

    def patch(self, manifest: dict[str, Any], operations: Sequence[dict[str, Any]]) -> Any:
        """A JSON patch: of a list it changes what it names alone."""
        return self.request("PATCH", self.path_of(manifest), [*operations], "application/json-patch+json")

    def delete(self, manifest: dict[str, Any]) -> Any:
        return self.request("DELETE", self.path_of(manifest))
