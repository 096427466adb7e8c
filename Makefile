# make demo: an environment, the package, a demonstration. The lanes of the tests, shortest first
# (CONTRIBUTING.md has a table): make quick, make check, make test, make test-all.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PYTEST := $(BIN)/python -m pytest -n auto --dist worksteal

LOWEST := $(shell sed -n 's/.*"numba>=\([0-9.]*\)".*/\1/p' pyproject.toml)

.PHONY: demo quick check test test-all versions lint types bench clean

$(BIN)/python:
	$(PYTHON) -c "import sys; sys.exit('combgame needs Python 3.11 or newer; try make PYTHON=python3.12') if sys.version_info < (3, 11) else None"
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	@touch $@

$(VENV)/.tested: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[test,frames,excel]"
	@touch $@ $(VENV)/.installed

demo: $(VENV)/.installed
	$(BIN)/combgame demo

# lint, and the tests of what is not committed yet
quick: $(VENV)/.tested
	$(BIN)/ruff check .
	$(BIN)/python -m tests.changed

# before a commit: nothing here compiles
check: lint types
	$(PYTEST) tests/unit tests/docs/test_names.py tests/docs/test_docstrings.py \
	    tests/docs/test_package.py::test_nobody_imports_an_underscored_module_of_another_package \
	    --interpreted -m "not late"

# before a push
test: check
	$(PYTEST) src tests/docs tests/storage tests/service tests/engine -m "not late"

# what `make test` leaves out
test-all: $(VENV)/.tested versions
	$(PYTEST) -m late

# the covering matrix and the time of its rounds under the lowest numba that pyproject.toml allows
versions: $(VENV)-lowest/.tested
	$(VENV)-lowest/bin/python -m pytest -n auto -W "ignore:under numba" \
	    tests/engine/test_matrix.py tests/engine/test_speed.py

$(VENV)-lowest/.tested: pyproject.toml
	$(PYTHON) -m venv $(VENV)-lowest
	$(VENV)-lowest/bin/python -m pip install --quiet --disable-pip-version-check -e . \
	    "numba==$(LOWEST).0" pytest pytest-xdist hypothesis
	@touch $@

lint: $(VENV)/.tested
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-logo

types: $(VENV)/.tested
	$(BIN)/mypy

bench: $(VENV)/.tested
	$(BIN)/python benchmarks/rounds.py

clean:
	rm -rf $(VENV) $(VENV)-lowest .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
