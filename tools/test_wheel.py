"""Try an installed wheel from outside the checkout: the kernel loads, is the packaged one, and the command runs."""

import importlib.metadata
import subprocess
import sys
from pathlib import Path

import kueue_fast
import kueuecore

CHECKOUT = Path(__file__).resolve().parent.parent


def main() -> None:
    for package in (kueue_fast, kueuecore):
        folder = Path(package.__file__).resolve().parent
        assert not folder.is_relative_to(CHECKOUT / "python"), (
            f"{package.__name__} is the checkout's: {folder}"
        )
        assert not folder.is_relative_to(CHECKOUT / "src"), f"{package.__name__} is the checkout's: {folder}"
        assert (folder / "py.typed").is_file(), f"{package.__name__} has no py.typed"
    kernel = Path(kueuecore.__file__).parent
    assert not list(kernel.glob("*.pyx")), "the wheel carries Cython sources"
    assert not list(kernel.glob("_probe*.so")), "the wheel carries the planted mistakes"

    command = [
        sys.executable,
        "-m",
        "kueue_fast.cli",
        "simulate",
        "-f",
        str(CHECKOUT / "examples" / "quickstart"),
        "--json",
    ]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    print(f"kueue-fast {importlib.metadata.version('kueue-fast')} works on Python {sys.version.split()[0]}")


if __name__ == "__main__":
    main()
