# Every target sets up what it needs in .venv; nothing has to be installed by hand beforehand.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

VENV := .venv
BIN := $(VENV)/bin
ARGS ?=
# Each worker holds up to 1.5 GB; 0 runs the tests in one process, as a debugger wants it.
PYTEST_WORKERS ?= 2

ifndef INTERPRET_DP_DATA
ifneq ($(wildcard ../shared/data),)
export INTERPRET_DP_DATA := $(abspath ../shared/data)
endif
endif

# Tests start hundreds of processes: each loads what another has compiled, wherever Python may write.
export PYTHONDONTWRITEBYTECODE :=

# Where other libraries' objects come in and go out; the whole takes as long as `make test`.
NEWEST_PART := tests/contract tests/schema tests/explanation
LOWEST_PART := $(NEWEST_PART) tests/mechanisms tests/accounting tests/ledger
# One thread a worker: tables are small, and threads of two workers wait for each other's cores.
# What goes to which worker, and when: tests/scheduling.py.
RUN_TESTS := -m pytest -n $(PYTEST_WORKERS) --dist loadfile --durations=20 --durations-min=2
PYTEST := OMP_NUM_THREADS=1 $(BIN)/python $(RUN_TESTS)
UNIT_TESTS := not slow and not statistical and not browser and not notebook and not benchmark \
	and not thorough
# With other versions of libraries, few examples of each property: `make test` looks for rare ones.
# Versions that are not ours may warn about each other, so a warning is no failure.
OTHER_VERSIONS := $(RUN_TESTS) --hypothesis-profile=fast -W default -m "$(UNIT_TESTS)"
INNER_LOOP := $(UNIT_TESTS) and not lengthy

.PHONY: help demo demo-sites fuzz mutants test test-fast test-newest newest-versions lint format docs bench \
	bench-accuracy bench-tuned bench-scale bench-lime bench-llm bench-dask bench-compare papers audit examples check-release clean chromium postgres

help:
	@echo "make demo           train on the simulated cohort and serve the dashboard (ARGS=--no-serve writes HTML)"
	@echo "make demo-sites     the same model, fitted at three hospitals that share no rows (ARGS as above)"
	@echo "make test           lint, types, docstrings and all tests but the slowest, browser tests included"
	@echo "make test-fast      the quick unit tests, for the inner loop (ARGS=path runs all unit tests there)"
	@echo "make fuzz           property tests with fresh examples and noise (ARGS=\"--minutes 5\")"
	@echo "make mutants        plants 500 faults in the code of the guarantee and counts what tests notice"
	@echo "make test-newest    the unit tests with the newest release of every dependency (ARGS=path narrows them)"
	@echo "make lint           ruff, mypy, import-linter, and words that must not come back"
	@echo "make docs           the documentation as pages of HTML, into docs/_build; warnings are errors"
	@echo "make format         rewrite the sources as the linter wants them"
	@echo "make papers         the three papers' tables and figures, into docs/papers.md; an hour (ARGS=\"nori table2\": one)"
	@echo "make bench          every measurement below, into tables, pages and figures; takes hours"
	@echo "make bench-accuracy accuracy and fit time against the reference (ARGS is passed on, here and below)"
	@echo "make bench-tuned    the reference at its best settings, beside that"
	@echo "make bench-scale    speed and memory of DP-EBM by the number of rows"
	@echo "make bench-lime     explanations from a background against lime: time of one row and of 1,000"
	@echo "make bench-llm      an epoch of DP-LLM against Opacus, and where its time goes"
	@echo "make bench-dask     round trips on Dask workers"
	@echo "make bench-compare  times this checkout against another commit, in turns (BASE=REVISION)"
	@echo "make audit          attack our own claims, into docs/audit.md and docs/figures (ARGS=--quick: a minute, only printed)"
	@echo "make examples       run all notebooks and scripts of examples/ and store the outputs (ARGS=NAME: some)"
	@echo "make check-release  wheel, sdist, clean install, slow tests, lowest and newest versions"
	@echo "make clean          remove environments, caches and what the tests left behind"

$(VENV)/.ready: pyproject.toml scripts/create_environment.sh scripts/constraints.txt
	scripts/create_environment.sh $(VENV)
	$(BIN)/python -m pip install --quiet --constraint scripts/constraints.txt \
		--editable '.[docs,llm,onnx,test]'
	touch $@

demo: $(VENV)/.ready
	$(BIN)/interpret-dp demo $(ARGS)

demo-sites: .venv-sites/.ready
	.venv-sites/bin/interpret-dp demo --sites 3 $(ARGS)

# Apart from .venv: NVIDIA FLARE holds Flask, which Dash needs too, at one version.
.venv-sites/.ready: pyproject.toml scripts/create_environment.sh
	scripts/create_environment.sh .venv-sites
	.venv-sites/bin/python -m pip install --quiet --editable '.[flare,sites]'
	touch $@

# Made anew at each call: what is newest changes from day to day. No constraints and no extra `llm`.
newest-versions:
	rm -rf .venv-newest
	scripts/create_environment.sh .venv-newest
	.venv-newest/bin/python -m pip install --quiet --upgrade --upgrade-strategy eager --editable '.[test]'
	.venv-newest/bin/python scripts/installed_versions.py pyproject.toml

test-newest: newest-versions
	OMP_NUM_THREADS=1 .venv-newest/bin/python $(OTHER_VERSIONS) $(ARGS)

lint: $(VENV)/.ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m scripts.check_words

format: $(VENV)/.ready
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# Generated pages go first: one of a name that is gone would stay.
docs: $(VENV)/.ready
	rm -rf docs/_build docs/api/generated
	$(BIN)/python -m sphinx -b html -c docs -n -W --keep-going --quiet . docs/_build/html $(ARGS)
	@echo "The pages are in docs/_build/html/index.html"

chromium:
	scripts/install_chromium.sh

postgres:
	scripts/install_postgres.sh

test: lint chromium postgres
	$(PYTEST) -m "not slow" $(or $(ARGS),--doctest-modules --ignore interpret_dp/cli/flare.py interpret_dp tests)

test-fast: $(VENV)/.ready
	$(PYTEST) --hypothesis-profile=fast -m "$(INNER_LOOP)" $(ARGS)

fuzz: $(VENV)/.ready
	$(BIN)/python scripts/fuzz.py $(ARGS)

mutants: $(VENV)/.ready
	$(BIN)/python -m scripts.mutants $(ARGS)

# The papers' peers need older versions of scikit-learn and numpy.
.venv-peers/.ready: scripts/create_environment.sh
	scripts/create_environment.sh .venv-peers
	.venv-peers/bin/python -m pip install --quiet dp-xgboost==0.2.10 "scikit-learn<1.5" "numpy<2" joblib setuptools
	.venv-peers/bin/python -m pip install --quiet --no-deps diffprivlib==0.6.6
	touch $@

papers: $(VENV)/.ready .venv-peers/.ready
	$(BIN)/python -m benchmarks.papers $(or $(ARGS),all)

bench: bench-accuracy bench-tuned bench-scale bench-lime bench-llm bench-dask

bench-accuracy: $(VENV)/.ready
	$(BIN)/python -m benchmarks.accuracy $(ARGS)

bench-tuned: $(VENV)/.ready
	$(BIN)/python -m benchmarks.tuned_reference $(ARGS)

bench-scale: $(VENV)/.ready
	$(BIN)/python -m benchmarks.scale $(ARGS)

# One thread: what is compared has one, and processor seconds of several add up.
bench-lime: $(VENV)/.ready
	OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks.lime_speed $(ARGS)

bench-llm: $(VENV)/.ready
	$(BIN)/python -m benchmarks.llm_speed $(ARGS)

bench-dask: $(VENV)/.ready
	$(BIN)/python -m benchmarks.dask_scale $(ARGS)

bench-compare: $(VENV)/.ready
	$(BIN)/python -m benchmarks.compare $(or $(BASE),$(error BASE is empty; name a commit: make bench-compare BASE=main)) $(ARGS)

# What is quick, or a part, says too little for the page.
audit: PART = $(filter --quick --only,$(ARGS))
audit: $(VENV)/.ready
	$(BIN)/python -m benchmarks.audit $(if $(PART),,--out docs/figures) $(ARGS)
	$(if $(PART),,$(BIN)/python -m benchmarks.audit_page docs/figures/audit.json docs/audit.md)

examples: $(VENV)/.ready chromium
	$(BIN)/python scripts/run_examples.py $(ARGS)

# The slow tests build the documentation as `make docs` does: tests/docs/test_site.py.
check-release: $(VENV)/.ready .venv-sites/.ready chromium postgres
	$(PYTEST) -m slow
	# Both at once: pip uses one core.
	$(MAKE) -j 2 .venv-minimum/.ready newest-versions
	OMP_NUM_THREADS=1 .venv-minimum/bin/python $(OTHER_VERSIONS) $(LOWEST_PART)
	OMP_NUM_THREADS=1 .venv-newest/bin/python $(OTHER_VERSIONS) $(NEWEST_PART)

# Without the extra `llm`: that all but its engine works without torch is tested here.
.venv-minimum/.ready: pyproject.toml scripts/create_environment.sh scripts/minimum_versions.py
	scripts/create_environment.sh .venv-minimum
	.venv-minimum/bin/python scripts/minimum_versions.py pyproject.toml > .venv-minimum/constraints.txt
	.venv-minimum/bin/python -m pip install --quiet --constraint .venv-minimum/constraints.txt \
		--editable '.[test]'
	touch $@

clean:
	rm -rf .venv .venv-minimum .venv-newest .venv-peers .venv-sites build dist .mutants .mypy_cache .pytest_cache \
		.ruff_cache .hypothesis .import_linter_cache \
		demo_output tests/browser/screenshots
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
	rm -rf docs/_build docs/api/generated
