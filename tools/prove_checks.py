"""Show that a checked build of the kernel notices mistakes: `prove_checks.py bounds` or `prove_checks.py sanitize`.

The planted mistakes are in src/kueuecore/_probe.pyx, which only checked builds have. Without this, a build option that
silently does nothing would pass every test.
"""

import array
import subprocess
import sys


def read_past_end() -> None:
    from kueuecore import _probe

    _probe.read_past_end(array.array("q", [1, 2, 3]))


def overflow() -> None:
    from kueuecore import _probe

    _probe.overflow(2**63 - 1)


def report_of(mistake: str) -> str:
    """What a process that makes `mistake` writes to its standard error; empty if it ends as if nothing were wrong."""
    # -S as here: the paths of the checked build stand in PYTHONPATH, and those of the everyday one must not come back.
    command = [sys.executable, "-S", __file__, mistake]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    return done.stderr if done.returncode != 0 else ""


WANT = {
    "bounds": {"read_past_end": "IndexError: Out of bounds on buffer access"},
    "sanitize": {
        "read_past_end": "AddressSanitizer: heap-buffer-overflow",
        "overflow": "signed integer overflow",
    },
}


def main(build: str) -> int:
    failed = 0
    for mistake, want in WANT[build].items():
        report = report_of(mistake)
        noticed = want in report
        print(f"{'noticed' if noticed else 'NOT NOTICED'}: {mistake} ({want})")
        if not noticed:
            print(report or "the process ended as if nothing were wrong", file=sys.stderr)
        failed += not noticed
    return 1 if failed else 0


if __name__ == "__main__":
    name = sys.argv[1]
    if name in WANT:
        sys.exit(main(name))
    {"read_past_end": read_past_end, "overflow": overflow}[name]()
