import msgspec
import pytest

from kueue_fast.cluster.errors import AlreadyExistsError, ConflictError, NotFoundError
from kueue_fast.cluster.kube import errors


def status(reason="", **more):
    return msgspec.json.encode({"kind": "Status", "message": "told", "reason": reason, **more})


CASES = {
    "bad request": (400, status("BadRequest"), errors.RejectedError),
    "not known": (401, status("Unauthorized"), errors.UnauthorizedError),
    "not allowed": (403, status("Forbidden"), errors.ForbiddenError),
    "not there": (404, status("NotFound"), NotFoundError),
    "there already": (409, status("AlreadyExists"), AlreadyExistsError),
    "changed meanwhile": (409, status("Conflict"), ConflictError),
    "too old": (410, status("Expired"), errors.GoneError),
    "no valid object": (422, status("Invalid"), errors.RejectedError),
    "busy": (429, status("TooManyRequests"), errors.TooManyRequestsError),
    "failed": (500, status("InternalError"), errors.ServerError),
    "a proxy's page": (502, b"<html>bad gateway</html>", errors.ServerError),
    "nothing said": (503, b"", errors.ServerError),
}


@pytest.mark.parametrize(("code", "body", "want_class"), CASES.values(), ids=CASES)
def test_class(code, body, want_class):
    error = errors.api_error(code, body, None, "GET /x")
    assert isinstance(error, want_class)
    assert error.status == code
    assert str(error).startswith("GET /x: ")
    assert str(error).endswith(f" ({code})")


def test_message_says_what_the_server_said():
    assert str(errors.api_error(404, status("NotFound"), None, "GET /x")) == "GET /x: told (404)"


RETRY = {
    "a header": (b"{}", "3", 3.0),
    "a date in the header is not understood": (b"{}", "Wed, 21 Oct 2015 07:28:00 GMT", None),
    "in the body": (status(details={"retryAfterSeconds": 5}), None, 5.0),
    "nowhere": (b"{}", None, None),
}


@pytest.mark.parametrize(("body", "header", "want_seconds"), RETRY.values(), ids=RETRY)
def test_retry_after(body, header, want_seconds):
    assert errors.api_error(429, body, header, "GET /x").retry_after_s == want_seconds


def test_error_event_of_a_watch():
    assert isinstance(errors.status_error(status("Expired", code=410), "watch"), errors.GoneError)
    assert isinstance(errors.status_error(b"[]", "watch"), errors.ServerError)
