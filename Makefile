# Two commands do it all: make report, make test. Everything they need goes into .venv.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c requirements.lock

.PHONY: report test check lab bench clean

report: .venv/report.ok
	$(BIN)/poolkit report data/demo

test: check
	$(BIN)/python -m pytest

check: .venv/test.ok
	$(BIN)/ruff format --check --quiet .
	$(BIN)/ruff check --quiet .
	$(BIN)/mypy --no-error-summary
	$(BIN)/nbstripout --keep-id --verify notebooks/*.ipynb

lab: .venv/report.ok
	$(BIN)/jupyter lab notebooks

bench: .venv/test.ok
	$(BIN)/python tests/benchmarks/bench.py

clean:
	rm -rf .venv build *.egg-info .mypy_cache .ruff_cache .pytest_cache

.venv/python.ok:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "poolkit needs Python 3.11 or later; found `$(PYTHON) --version`. Try: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	$(PYTHON) -m venv .venv
	@touch $@

.venv/report.ok: .venv/python.ok pyproject.toml requirements.lock
	$(PIP) -e .
	@touch $@

.venv/test.ok: .venv/report.ok
	$(PIP) -e ".[test,retrieve]"
	@touch $@
