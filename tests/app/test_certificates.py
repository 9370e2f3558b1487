"""The certificate of the metrics server. Source: OP-102, OP-206, OP-207."""

import ssl
import tempfile
from pathlib import Path

import pytest

from kueue_fast.app.certificates import metrics_context
from kueue_fast.errors import InputError


def test_nothing_has_to_be_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """The root file system of a container (Linux) is read-only, with no folder for temporary files."""

    def refuse(*_: object, **__: object) -> None:
        raise OSError("read-only")

    monkeypatch.setattr(tempfile, "NamedTemporaryFile", refuse)
    monkeypatch.setattr(tempfile, "gettempdir", refuse)
    assert isinstance(metrics_context(external=False), ssl.SSLContext)


def test_files_that_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"tls\.crt and tls\.key"):
        metrics_context(external=True, folder=tmp_path)
