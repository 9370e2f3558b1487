#!/bin/sh
# make_venv.sh DIR: a virtual environment with pip in DIR, made by the oldest-named Python that will do.
# What is missing on the machine is said in words, with the Debian package that has it.
set -eu
venv=$1

fail() {
    echo "make: $1" >&2
    exit 1
}

works() {
    "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1
}

python=
for candidate in ${PYTHON:-python3 python3.14 python3.13 python3.12 python3.11}; do
    if works "$candidate"; then
        python=$candidate
        break
    fi
done
[ -n "$python" ] || fail "no Python 3.11 or newer found as ${PYTHON:-python3} (Debian: apt-get install python3; or name one: make PYTHON=/path/to/python3 ...)"

include=$("$python" -c 'import sysconfig; print(sysconfig.get_path("include"))')
[ -f "$include/Python.h" ] || fail "the C headers of $python are missing: no $include/Python.h (Debian: apt-get install python3-dev)"
command -v "${CC:-cc}" >/dev/null 2>&1 || fail "no C compiler found as ${CC:-cc} (Debian: apt-get install gcc libc6-dev)"

if [ -x "$venv/bin/python" ] && works "$venv/bin/python" && "$venv/bin/python" -m pip --version >/dev/null 2>&1; then
    exit 0
fi
if "$python" -c 'import ensurepip, venv' >/dev/null 2>&1; then
    "$python" -m venv --clear "$venv"
elif "$python" -c 'import venv' >/dev/null 2>&1 && "$python" -m pip --version >/dev/null 2>&1; then
    # Debian's Python without python3-venv cannot put pip into an environment; the machine's pip can.
    "$python" -m venv --clear --without-pip "$venv"
    "$python" -m pip --python "$venv/bin/python" install --quiet --disable-pip-version-check pip
else
    fail "$python can make no virtual environment with pip (Debian: apt-get install python3-venv)"
fi
