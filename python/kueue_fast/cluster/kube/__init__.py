"""A live cluster: the only code that speaks to a Kubernetes API server."""

from __future__ import annotations

import os
from pathlib import Path

# The package `kubernetes` wants the home folder as soon as it is imported, and the user of a container may have none.
try:
    Path.home()
except RuntimeError:
    os.environ["HOME"] = "/"
