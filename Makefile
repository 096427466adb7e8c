# make demo: an environment, the package, a demonstration.   make test: an environment, lint, types, every test.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

.PHONY: demo test lint types browser bench clean

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

test: lint types browser
	$(BIN)/python -m pytest -n auto --dist worksteal

lint: $(VENV)/.tested
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-logo

types: $(VENV)/.tested
	$(BIN)/mypy

# Debian's Chromium for the tests of the page, where it may be installed; elsewhere they are skipped
browser:
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null \
	|| { test "$$(id -u)" = 0 && command -v apt-get >/dev/null \
	&& { apt-get install -y -q chromium || { apt-get update -q && apt-get install -y -q chromium; }; } \
	>/dev/null 2>&1; } || echo "there is no Chromium: the tests of the page in a browser are skipped"

bench: $(VENV)/.tested
	$(BIN)/python benchmarks/rounds.py

clean:
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
