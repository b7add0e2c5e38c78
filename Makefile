# `make` alone lists the targets. Each of them sets up what it needs first.

PROFILE ?= quick
PYTEST_ARGS ?=
BIN := .venv/bin
READY := .venv/.ready
ENOUGH := import sys; sys.exit(sys.version_info < (3, 11))

.DEFAULT_GOAL := help

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-11s %s\n", $$1, $$2 }' Makefile
	@echo
	@echo 'PROFILE=quick|full|nightly  how much `make verify` checks (now: $(PROFILE))'
	@echo 'PYTEST_ARGS="..."           further arguments for `make test`'
	@echo 'PYTHON=...                  the Python, 3.11 or later, to make .venv with'

.PHONY: verify
verify: $(READY) ## Hold the SQLite implementation against the specification
	$(BIN)/admit-one verify --profile $(PROFILE)

.PHONY: test
test: $(READY) ## Run the test suite on every core
	$(BIN)/python -m pytest --numprocesses auto --dist worksteal $(PYTEST_ARGS)

.PHONY: check
check: lint types contracts ## Run lint, types and contracts

.PHONY: lint
lint: $(READY) ## Check style and formatting
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

.PHONY: types
types: $(READY) ## Check types
	$(BIN)/mypy

.PHONY: contracts
contracts: $(READY) ## Check that imports point one way
	$(BIN)/lint-imports --no-logo
	@! grep -rnE '^[[:space:]]*(from|import)[[:space:]].*(^|[^[:alnum:]_])test_' --include='*.py' \
	  bench conformance crash_harness impl model stateful_tests workbench \
	  || { echo 'A test_* module must not be imported.' >&2; exit 1; }

.PHONY: experiment
experiment: $(READY) ## Run the frozen scenarios of the source articles
	$(BIN)/admit-one experiment --check

.PHONY: bench
bench: $(READY) ## Measure speed
	$(BIN)/python -m bench

# cosmic-ray is a tool for this target alone, and is kept apart from the rest.
.PHONY: mutation
mutation: .venv/cosmic-ray/.ready ## Set the searches on every small change of the code (hours)
	PYTHONPATH=.venv/cosmic-ray $(BIN)/python -m workbench.mutation $(FILES)

.venv/cosmic-ray/.ready: requirements-mutation.txt $(READY)
	rm -rf .venv/cosmic-ray
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes \
	  --target .venv/cosmic-ray --requirement requirements-mutation.txt
	touch $@

.PHONY: format
format: $(READY) ## Rewrite the code in the project's format
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

.PHONY: lock
lock: ## Choose the pinned versions anew (needs uv)
	@{ sed '/^[^#]/,$$d' requirements.txt; \
	  uv pip compile --quiet --universal --generate-hashes --python-version 3.11 \
	    --all-extras --no-header pyproject.toml; } > requirements.new
	@mv requirements.new requirements.txt
	@{ sed '/^[^#]/,$$d' requirements-mutation.txt; \
	  grep -oE '^cosmic-ray==[^ ]+' requirements-mutation.txt | uv pip compile --quiet --universal \
	    --generate-hashes --python-version 3.11 --no-header -; } > requirements.new
	@mv requirements.new requirements-mutation.txt

.PHONY: clean
clean: ## Remove .venv and every cache
	rm -rf .venv .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The environment is made once and brought up to date when the pins or the project change.
$(READY): requirements.txt pyproject.toml
	@if ! $(BIN)/python -c '$(ENOUGH)' 2>/dev/null; then \
	  for python in $(or $(PYTHON),python3 python3.14 python3.13 python3.12 python3.11 python); do \
	    if "$$python" -c '$(ENOUGH)' 2>/dev/null; then found=$$python; break; fi; \
	  done; \
	  if [ -z "$$found" ]; then \
	    echo 'Python 3.11 or later is needed, and none was found.' >&2; \
	    echo 'Name one: make PYTHON=/path/to/python3' >&2; \
	    exit 1; \
	  fi; \
	  echo "Making .venv with $$("$$found" --version)"; \
	  "$$found" -m venv --clear .venv; \
	fi
	@echo 'Installing the pinned packages into .venv'
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check \
	  --require-hashes --requirement requirements.txt
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check \
	  --no-deps --no-build-isolation --editable .
	@touch $@
