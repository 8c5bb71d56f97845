# make demo   the main job on built-in data        make test   everything that must pass
# make reproduce   the paper's figures and claims, reduced; goes on where it was stopped
# make golden   nothing that is computed, printed or written has changed
# They make a virtual environment on first use. Another Python: make PYTHON=python3.12 test
PYTHON ?= python3
VENV := .venv
OLDEST := .venv-oldest
PEERS := .venv-peers
BIN := $(VENV)/bin
TWO := -n 2 --dist loadfile

.PHONY: demo test test-full test-oldest lint bench bench-peers bench-two-levels bench-distribution reproduce reproduce-full reproduce-clean docs clean golden

demo: $(VENV)/.ready
	$(BIN)/python -m skewridge.demo

test: lint
	$(BIN)/python -m pytest -m "not full" $(TWO)

test-full: lint
	$(BIN)/python -m pytest $(TWO)

test-oldest: $(OLDEST)/.ready
	$(OLDEST)/bin/python -m pytest -m "not full" $(TWO)

golden: $(VENV)/.ready
	$(BIN)/python -m tests.golden.record --check

lint: $(VENV)/.ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(VENV)/.ready
	$(BIN)/python benchmarks/all.py

bench-peers: $(VENV)/.ready $(PEERS)/.ready
	$(BIN)/python benchmarks/peers/run.py
	$(BIN)/python benchmarks/peers/report.py

bench-two-levels: $(VENV)/.ready $(PEERS)/.ready
	$(BIN)/python benchmarks/two_levels.py --trees $(PEERS)/bin/python
	$(BIN)/python benchmarks/stated_risk.py

bench-distribution: $(VENV)/.ready $(PEERS)/.ready
	$(BIN)/python benchmarks/distribution.py --trees $(PEERS)/bin/python

reproduce: $(VENV)/.ready
	$(BIN)/python experiments/reproduce.py --scale reduced

reproduce-full: $(VENV)/.ready
	$(BIN)/python experiments/reproduce.py --scale full

# What was measured is kept by every other target: a full run takes days.
reproduce-clean:
	rm -rf experiments/cache

docs: $(VENV)/.docs
	$(BIN)/mkdocs build --strict

$(VENV)/.ready: pyproject.toml tools/environment.py
	$(PYTHON) tools/environment.py $(VENV)

$(OLDEST)/.ready: pyproject.toml tools/environment.py
	$(PYTHON) tools/environment.py $(OLDEST) --oldest

$(VENV)/.docs: $(VENV)/.ready
	$(PYTHON) tools/environment.py $(VENV) --extras dev,docs
	touch $@

$(PEERS)/.ready: benchmarks/peers/requirements.txt
	$(PYTHON) -m venv $(PEERS)
	$(PEERS)/bin/python -m pip install --quiet -r $<
	touch $@

clean:
	rm -rf $(VENV) $(OLDEST) $(PEERS) build dist site demo_output .pytest_cache .mypy_cache .ruff_cache .hypothesis
