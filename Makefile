# Every target sets up what it needs in .venv; nothing has to be installed by hand beforehand.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

VENV := .venv
BIN := $(VENV)/bin
ARGS ?=
# Two workers were not faster than one process on two cores: the browser tests mostly wait.
PYTEST_WORKERS ?= 0

ifndef INTERPRET_DP_DATA
ifneq ($(wildcard ../shared/data),)
export INTERPRET_DP_DATA := $(abspath ../shared/data)
endif
endif

PYTEST := $(BIN)/python -m pytest -n $(PYTEST_WORKERS) --dist loadfile
NEWEST_PART := tests/contract tests/schema tests/explanation
INNER_LOOP := not slow and not statistical and not browser and not notebook and not benchmark

.PHONY: help demo test test-fast test-newest lint format bench audit check-release clean chromium postgres

help:
	@echo "make demo           train on the simulated cohort and serve the dashboard (ARGS=--no-serve writes HTML)"
	@echo "make test           lint, types and all tests but the slowest, browser tests included"
	@echo "make test-fast      the unit tests alone, for the inner loop (ARGS=path narrows them)"
	@echo "make test-newest    the unit tests with the newest release of every dependency (ARGS=path narrows them)"
	@echo "make lint           ruff and mypy"
	@echo "make format         rewrite the sources as the linter wants them"
	@echo "make bench          accuracy and time against the reference (ARGS is passed on)"
	@echo "make audit          attack our own claims, into docs/audit.md and docs/figures (ARGS=--quick: a minute)"
	@echo "make check-release  wheel, sdist, clean install, slow tests, lowest and newest versions"
	@echo "make clean          remove environments, caches and what the tests left behind"

$(VENV)/.ready: pyproject.toml scripts/create_environment.sh scripts/constraints.txt
	scripts/create_environment.sh $(VENV)
	$(BIN)/python -m pip install --quiet --constraint scripts/constraints.txt \
		--editable '.[llm,test]'
	touch $@

demo: $(VENV)/.ready
	$(BIN)/interpret-dp demo $(ARGS)

# Made anew at each call: what is newest changes from day to day. No constraints and no extra `llm`.
test-newest:
	rm -rf .venv-newest
	scripts/create_environment.sh .venv-newest
	.venv-newest/bin/python -m pip install --quiet --upgrade --upgrade-strategy eager --editable '.[test]'
	.venv-newest/bin/python scripts/installed_versions.py pyproject.toml
	# Versions of tomorrow may warn about each other, so here a warning is no failure.
	.venv-newest/bin/python -m pytest -n $(PYTEST_WORKERS) --dist loadfile \
		-m "$(INNER_LOOP)" -W default $(ARGS)

lint: $(VENV)/.ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/.ready
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

chromium:
	scripts/install_chromium.sh

postgres:
	scripts/install_postgres.sh

test: lint chromium postgres
	$(PYTEST) -m "not slow" $(ARGS)

test-fast: $(VENV)/.ready
	$(PYTEST) -m "$(INNER_LOOP)" $(ARGS)

bench: $(VENV)/.ready
	$(BIN)/python -m benchmarks.run $(ARGS)

audit: $(VENV)/.ready
	$(BIN)/interpret-dp audit --out docs/figures --page docs/audit.md $(ARGS)

check-release: $(VENV)/.ready chromium postgres .venv-minimum/.ready
	$(PYTEST) -m slow
	# The lowest versions may warn about each other, so here a warning is no failure.
	.venv-minimum/bin/python -m pytest -n $(PYTEST_WORKERS) --dist loadfile \
		-m "$(INNER_LOOP)" -W default
	# Where other libraries' objects come in and go out; the whole takes as long as `make test`.
	$(MAKE) test-newest ARGS="$(NEWEST_PART)"

# Without the extra `llm`: that the package works without torch is tested here.
.venv-minimum/.ready: pyproject.toml scripts/create_environment.sh scripts/minimum_versions.py
	scripts/create_environment.sh .venv-minimum
	.venv-minimum/bin/python scripts/minimum_versions.py pyproject.toml > .venv-minimum/constraints.txt
	.venv-minimum/bin/python -m pip install --quiet --constraint .venv-minimum/constraints.txt \
		--editable '.[test]'
	touch $@

clean:
	rm -rf .venv .venv-minimum .venv-newest build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis \
		demo_output tests/browser/screenshots
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
