# What a person does here; `make` alone lists it. Needs make and Python 3.11 or newer, nothing else.
# The first target that is run sets up .venv from the package registry; from then on nothing is downloaded (but by `make wheel`).

PYTHON ?= python3
EXAMPLES ?= 10000
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --quiet --quiet --disable-pip-version-check
PACKAGES := engine/statewright engine/statewright_evidence states/statewright_states providers/statewright_providers

# what scripts under tests/ import from each other
TEST_FOLDERS := tests/evidence:tests/house:tests/states:tests/engine/loop:tests/contract

# pyright comes whole in its wheel and is not to ask for newer versions of itself
export PYRIGHT_PYTHON_IGNORE_WARNINGS := 1

# what changed in a table, in the words of whoever changed it: quotes in them are no business of the shell
export SUMMARY

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help setup demo test fuzz lint format types version generated diagrams traceability evidence coverage browser journals wheel check bench clean

help: ## list these targets
	@echo "Needs Python 3.11 or newer. The first target that is run sets up .venv over the network, in a minute or two."
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(VENV)/development ## make .venv with everything that developing needs (once)

demo: $(VENV)/runtime ## run an agent on a scripted model: no key, no server; ten seconds, and 100 MB for .venv
	@$(BIN)/statewright demo

test: $(VENV)/development ## run the tests, on all cores: five minutes on two, 470 MB for .venv, no network
	$(BIN)/python -m pytest -n auto --dist loadfile

fuzz: $(VENV)/development ## live EXAMPLES random lives of the engine (10000), on all cores; SEED=n repeats them
	$(BIN)/python tests/engine/loop/fuzz.py --examples $(EXAMPLES) $(if $(SEED),--seed $(SEED))

lint: $(VENV)/development ## check style, format and the floors (who may import whom)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/lint-imports --no-logo

format: $(VENV)/development ## put imports and format in order
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

types: $(VENV)/development ## check types: mypy --strict and pyright
	$(BIN)/mypy --strict $(PACKAGES)
	$(BIN)/mypy --strict examples
	$(BIN)/mypy tests
	$(BIN)/pyright --pythonpath $(BIN)/python

version: $(VENV)/development ## put each changed table on record as a new version: make version SUMMARY="what changed"
	@$(BIN)/python tests/house/table_versions.py --summary "$$SUMMARY"

generated: diagrams traceability ## write everything anew that is made from the tables (versions excepted: those are acts)
	$(BIN)/python -m statewright_states.requirements_document > docs/requirements.md

diagrams: $(VENV)/development ## draw diagrams/ anew from the tables
	$(BIN)/python -m statewright_evidence.drawing --out diagrams

traceability: $(VENV)/development ## write docs/traceability.md anew from the tables and the tests' scenarios
	$(BIN)/python tests/house/traceability.py

evidence: $(VENV)/development ## write build/evidence, the folder for auditors: proofs, coverage, mutations, traceability ...
	-@test -d build/xstate || $(MAKE) --no-print-directory build/xstate
	@PYTHONPATH=$(TEST_FOLDERS) $(BIN)/python tests/evidence/make.py $(if $(ONLY),--only $(ONLY))

# A check gives the same answer twice: random inputs come from one seed here, and from a fresh one in every `make test`.
coverage: $(VENV)/development ## run the tests and demand 100 % of states/ and 95 % of the rest (lines)
	@$(BIN)/coverage erase
	@HYPOTHESIS_SEED=$${HYPOTHESIS_SEED:-1} COVERAGE_PROCESS_START=$(CURDIR)/pyproject.toml COVERAGE_FILE=$(CURDIR)/.coverage \
		$(MAKE) --no-print-directory test
	@$(BIN)/coverage combine --quiet
	$(BIN)/coverage report --include 'states/*' --fail-under 100
	$(BIN)/coverage report --omit 'states/*' --fail-under 95

# Its tests are no part of `make test`, which needs Python and make alone. Nothing is sent anywhere: the network of the browser is off.
browser: $(VENV)/development build/axe ## look at the reports in Chromium, with axe-core; needs chromium, poppler-utils and npm
	@for program in chromium pdftotext pdfinfo; do command -v $$program >/dev/null || { \
		echo >&2 "'make browser' needs $$program; Debian: apt-get install chromium poppler-utils npm"; exit 1; }; done
	@AXE_CORE=$(CURDIR)/build/axe/node_modules/axe-core/axe.min.js $(BIN)/python -m pytest -q tests/browser

journals: $(VENV)/development ## run the tests and measure in their journals which rows, cells and answers they show
	$(BIN)/python -m pytest -n auto --dist loadfile --journals=build/journals
	PYTHONPATH=tests/engine/loop:tests/house $(BIN)/python tests/evidence/coverage_run.py build/journals build/coverage

wheel: $(VENV)/development ## build the wheel, install it alone as a stranger would, and run its first commands (needs the network)
	@$(BIN)/python tests/house/installed_wheel.py

check: lint types $(VENV)/development ## everything that must hold before a change lands
	$(BIN)/python -m statewright_evidence.drawing --out diagrams --check
	$(BIN)/python tests/house/traceability.py --check
	$(BIN)/python tests/house/table_versions.py --check
	@$(MAKE) --no-print-directory wheel
	@$(MAKE) --no-print-directory coverage

bench: $(VENV)/runtime ## measure the engine beside a bare loop (every benchmarks/bench_*.py)
	@for file in benchmarks/bench_*.py; do echo "$$file"; $(BIN)/python $$file || exit 1; done

clean: ## remove .venv and everything else that was made here
	rm -rf $(VENV) build dist .coverage .coverage.* .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache

# XState, which the evidence asks for a third opinion; without npm it goes on without one, and says so.
build/xstate:
	@npm install --silent --no-audit --no-fund --ignore-scripts --prefix $@.new 'xstate@5' && mv $@.new $@

# axe-core judges what assistive technology is told, and contrast; held to one release, so that a green check stays green.
build/axe:
	@command -v npm >/dev/null || { echo >&2 "'make browser' needs npm, for axe-core; Debian: apt-get install npm"; exit 1; }
	@npm install --silent --no-audit --no-fund --ignore-scripts --prefix $@.new 'axe-core@4.14.1' && mv $@.new $@

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo >&2 "Statewright needs Python 3.11 or newer; '$(PYTHON)' is not. Name another: make PYTHON=python3.12 setup"; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { \
		rm -rf $(VENV); echo >&2 "'$(PYTHON) -m venv' failed: install the venv module of this Python (Debian: python3-venv)"; exit 1; }

$(VENV)/runtime: pyproject.toml | $(BIN)/python
	@echo "installing Statewright into $(VENV)"
	@$(PIP) install --editable .
	@touch $@

$(VENV)/development: $(VENV)/runtime
	@echo "installing what developing needs into $(VENV)"
	@$(PIP) install --editable '.[dev]'
	@touch $@
