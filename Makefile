# Everything a person does. `make` alone lists the targets.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
BENCHMARK ?= data/benchmarks/fieldnotes
RULES ?= random,in_model[2:7],in_model[0:5],structured_perturbation,entity_matched,lexical_overlap_matched,bm25
export OMP_WAIT_POLICY := passive
.DELETE_ON_ERROR:
.PHONY: help install demo serve test fast lint types check bench clean

help:
	@echo "make demo    install, measure the demo benchmark once, open the app"
	@echo "make serve   open the app (PORT=8501, or the next free one)"
	@echo "make test    install what tests need and run all of them"
	@echo "make fast    tests without browser and slow ones"
	@echo "make check   ruff and mypy"
	@echo "make bench   timings, as ratios measured in one run"
	@echo "make clean   remove caches (not the environment, not artifacts)"

install: $(VENV)/.installed

$(VENV)/.installed: requirements.txt pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps -e .
	@touch $@

$(VENV)/.test-installed: $(VENV)/.installed tests/requirements.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r tests/requirements.txt
	@touch $@

demo: $(VENV)/.installed
	@$(BIN)/observatory demo --benchmark $(BENCHMARK) --rules '$(RULES)'
	@$(BIN)/observatory serve $(if $(PORT),--port $(PORT))

serve: $(VENV)/.installed
	@$(BIN)/observatory serve $(if $(PORT),--port $(PORT))

test: $(VENV)/.test-installed check
	$(BIN)/python -m pytest

fast: $(VENV)/.test-installed
	$(BIN)/python -m pytest -m "not browser and not slow"

check: $(VENV)/.test-installed
	$(BIN)/ruff check .
	$(BIN)/mypy

bench: $(VENV)/.test-installed
	$(BIN)/python -m tests.bench.coverage
	$(BIN)/python -m tests.bench.screens build/big-store
	$(BIN)/python -m tests.bench.paint
	$(BIN)/python -m tests.bench.memory
	$(BIN)/python -m tests.bench.encoders $(if $(SCIFACT),--scifact $(SCIFACT) --whole)

clean:
	rm -rf .pytest_cache .hypothesis .mypy_cache .ruff_cache build *.egg-info
	find . -name __pycache__ -type d -not -path './$(VENV)/*' -exec rm -rf {} +
