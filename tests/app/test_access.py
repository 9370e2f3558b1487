"""Who may read metrics, and for how long an answer is remembered; on the control plane too. Source: OP-500."""

from __future__ import annotations

import json
from typing import Any

from kueue_fast.app.access import Access, Answer
from kueue_fast.cluster.kube.errors import UnreachableError


class ApiServer:
    """Knows the token `good`; its user may read while `allowed`."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.allowed = True
        self.is_there = True
        self.seconds = 0.0

    async def post(self, path: str, body: bytes) -> bytes:
        if not self.is_there:
            raise UnreachableError("no answer")
        spec = json.loads(body)["spec"]
        self.asked.append(path.rpartition("/")[2])
        status: dict[str, Any]
        if path.endswith("tokenreviews"):
            known = spec["token"] == "good"
            status = {
                "authenticated": known,
                "user": {"username": "scraper", "groups": ["g"]} if known else {},
            }
        else:
            assert (spec["user"], spec["groups"]) == ("scraper", ["g"])
            assert spec["nonResourceAttributes"] == {"path": "/metrics", "verb": "get"}
            status = {"allowed": self.allowed}
        return json.dumps({"status": status}).encode()

    def access(self) -> Access:
        return Access(self.post, lambda: self.seconds)


async def test_answers() -> None:
    server = ApiServer()
    access = server.access()
    assert await access.check("Bearer good", "/metrics") is Answer.ALLOWED
    assert await access.check("bearer  good ", "/metrics") is Answer.ALLOWED
    assert await access.check("Bearer other", "/metrics") is Answer.UNKNOWN
    for header in (None, "", "Bearer", "Bearer ", "Basic good", "good"):
        assert await access.check(header, "/metrics") is Answer.UNKNOWN
    assert server.asked == ["tokenreviews", "subjectaccessreviews", "tokenreviews"]


async def test_answers_are_remembered_for_a_while() -> None:
    server = ApiServer()
    access = server.access()
    await access.check("Bearer good", "/metrics")
    server.seconds = 61
    assert await access.check("Bearer good", "/metrics") is Answer.ALLOWED
    assert server.asked == ["tokenreviews", "subjectaccessreviews", "tokenreviews"]
    server.allowed = False
    server.seconds = 301
    assert await access.check("Bearer good", "/metrics") is Answer.DENIED
    server.allowed = True
    server.seconds = 330
    assert await access.check("Bearer good", "/metrics") is Answer.DENIED
    server.seconds = 332
    assert await access.check("Bearer good", "/metrics") is Answer.ALLOWED


async def test_a_review_that_fails_is_not_remembered() -> None:
    server = ApiServer()
    access = server.access()
    server.is_there = False
    assert await access.check("Bearer good", "/metrics") is Answer.FAILED
    server.is_there = True
    assert await access.check("Bearer good", "/metrics") is Answer.ALLOWED
