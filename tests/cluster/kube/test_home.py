"""In a container the user need not have a name, nor a home. Source: OP-102."""

import os
import subprocess
import sys

PROGRAM = """
import pwd
pwd.getpwuid = lambda uid: {}[uid]
from kueue_fast.cluster.kube import credentials
from pathlib import Path
print(Path.home())
"""


def test_a_user_without_a_home() -> None:
    environment = {name: value for name, value in os.environ.items() if name != "HOME"}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=environment, check=True, capture_output=True, text=True
    )
    assert done.stdout == "/\n"
