#!/bin/sh
# checked_build.sh bounds|sanitize PYTHON [TEST...]: build the package with bounds checks, or with the address and
# undefined-behaviour sanitizers, into build/<kind>; show that it notices planted mistakes; run the tests against it.
# PYTHON is the one of the environment that the Makefile made: its packages are used, its kueue_fast is not.
set -eu
kind=$1
python=$2
shift 2
cd "$(dirname "$0")/.."
target=$PWD/build/$kind

case $kind in
    bounds) option=KUEUECORE_BOUNDS_CHECK=ON ;;
    sanitize) option=KUEUECORE_SANITIZE=address,undefined ;;
    *) echo "checked_build.sh: no build called $kind (bounds or sanitize)" >&2; exit 2 ;;
esac

rm -rf "$target/package"
"$python" -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --no-warn-conflicts \
    --target "$target/package" --config-settings=build-dir="$target/cmake" \
    --config-settings=cmake.define.$option --config-settings=install.strip=false .

# -S leaves out site-packages, and with it the hook of the everyday (editable) install; PYTHONPATH brings its packages back.
packages=$("$python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
export PYTHONPATH="$target/package:$packages"
if [ "$kind" = sanitize ]; then
    [ "$(uname -s)" = Linux ] || { echo "checked_build.sh: the sanitizer run is written for Linux and GCC" >&2; exit 2; }
    # The runtime must come before everything else in the process, and the C++ one before numpy for its exceptions.
    preload=
    for library in libasan.so libubsan.so libstdc++.so.6; do
        path=$("${CC:-cc}" -print-file-name=$library)
        [ "$path" != "$library" ] || { echo "checked_build.sh: ${CC:-cc} has no $library (Debian: apt-get install gcc libstdc++6)" >&2; exit 2; }
        preload="$preload $path"
    done
    export LD_PRELOAD="${preload# }"
    # Python's own allocator hides overruns, and Python never frees everything at its end.
    export PYTHONMALLOC=malloc
    export ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1
fi

"$python" -S -c 'import kueuecore, sys; sys.exit(0 if kueuecore.__file__.startswith(sys.argv[1]) else "wrong kueuecore: " + kueuecore.__file__)' "$target"
"$python" -S tools/prove_checks.py "$kind"
[ $# -gt 0 ] || exit 0
# The bulk tests too (-m ""), and without output capture: it would swallow a sanitizer's report together with the process.
exec "$python" -S -m pytest -p no:cacheprovider -m "" --capture=no -q "$@"
