"""The dashboards of all Ray clusters: nobody runs Ray here, and KubeRay asks it how jobs and services are.

KubeRay asks each head's service by its name, which leads nowhere on a machine without cluster network. Given this
server as its HTTP proxy it asks here instead, whatever the name. A job runs from when it is first asked for until a
test ends it; applications of a service run as soon as they are there.
"""

import json
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

from tests.controlplane.ports import HOST

RUNNING = "RUNNING"


class Dashboards:
    """Serves from when it is made until `close`."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._jobs: dict[str, str] = {}
        self._applications: dict[str, list[dict[str, Any]]] = {}
        self._server = _Server(self)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    @property
    def environment(self) -> Mapping[str, str]:
        """What KubeRay has to be started with."""
        return {"HTTP_PROXY": f"http://{HOST}:{self._server.server_address[1]}", "NO_PROXY": HOST}

    def end(self, submission: str, status: str = "SUCCEEDED") -> None:
        """End a job, which a RayJob names in `status.jobId`."""
        with self._lock:
            self._jobs[submission] = status

    def close(self) -> None:
        """Answer no more."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def answer(self, method: str, host: str, path: str, body: bytes) -> Any:
        """What the dashboard at `host` says, None for what no test needs."""
        with self._lock:
            match path.strip("/").split("/"):
                case ["api", "jobs"] if method == "POST":
                    return self._job(json.loads(body)["submission_id"])
                case ["api", "jobs", name] if method == "GET":
                    return self._job(name)
                case ["api", "jobs", name, "stop"]:
                    self._jobs[name] = "STOPPED"
                    return {"stopped": True}
                case ["api", "serve", "applications"] if method == "PUT":
                    self._applications[host] = json.loads(body).get("applications", [])
                    return {}
                case ["api", "serve", "applications"]:
                    return {"applications": {each["name"]: _runs(each) for each in self._at(host)}}
                case ["-", "healthz"]:
                    return "success"
        return None

    def _job(self, name: str) -> dict[str, Any]:
        status = self._jobs.setdefault(name, RUNNING)
        times = {"start_time": 1} if status == RUNNING else {"start_time": 1, "end_time": 2}
        return {
            "submission_id": name,
            "job_id": name,
            "status": status,
            "entrypoint": "",
            "message": "",
            **times,
        }

    def _at(self, host: str) -> list[dict[str, Any]]:
        return self._applications.get(host, [])


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, dashboards: Dashboards) -> None:
        super().__init__((HOST, 0), _Request)
        self.dashboards = dashboards


class _Request(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def _answer(self) -> None:
        asked = urlsplit(self.path)
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        found = self.server.dashboards.answer(self.command, asked.netloc, asked.path, body)
        text = (found if isinstance(found, str) else json.dumps(found)).encode()
        self.send_response(404 if found is None else 200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    do_GET = do_POST = do_PUT = do_DELETE = _answer

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: KubeRay asks all the time."""


def _runs(application: dict[str, Any]) -> dict[str, Any]:
    deployments = {
        each["name"]: {"name": each["name"], "status": "HEALTHY", "message": ""}
        for each in application.get("deployments", [])
    }
    return {"name": application["name"], "status": RUNNING, "message": "", "deployments": deployments}
