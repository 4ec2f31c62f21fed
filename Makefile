# Needs a Python >= 3.12, make and the package registry; everything else goes into .venv.
#
#   PYTHON=/path/to/python   use this interpreter           EXTRAS=a,b   install these extras too
#   V=1                      name each test, and the slow ones
#   JOBS=N                   test processes (0: one, in the foreground)
#   ARGS='...'               more arguments for the command that the target runs

#   VENV=DIR                 another environment than .venv

VENV ?= .venv
BIN := $(VENV)/bin
JOBS ?= auto

# The parts that need engines; they have an environment of their own, so that `make demo` stays light.
ENGINES := cards,harbor,judge,mcp,mcp-clients,report,rewardkit,skill-loaders,skills,splits
ENGINE_TESTS := $(wildcard tests/cards tests/export tests/sandbox tests/benchmarks/harbor tests/importers/harbor \
	tests/adaptation tests/cli tests/examples tests/skills)

# Extras that the tests need, with no space between: an entry per engine that is tested here.
EXTRAS ?= report,splits

.PHONY: help venv demo test test-engines test-peers inspector check format bench calibrate pictures schemas lock clean distclean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-13s %s\n", $$1, $$2 }' Makefile

# The interpreter is looked for only when a target needs it, and make itself says what is missing.
venv: ## make or update .venv (the other targets do it by themselves)
	@$(eval FOUND := $(shell sh scripts/find-python.sh '$(PYTHON)' 2>&1 || echo :none))\
	$(if $(filter :none,$(FOUND)),$(error $(filter-out :none,$(FOUND))))\
	sh scripts/venv.sh '$(FOUND)' '$(EXTRAS)' '$(VENV)'

demo: venv ## the main job on the embedded benchmark: four arms, T0 to T2, about 20 seconds
	@$(BIN)/sip demo $(ARGS)

test: venv ## all tests; those that need engines are skipped, see test-engines
	$(BIN)/pytest -n $(JOBS) --maxprocesses 8 --dist worksteal $(if $(V),-v --durations=10) $(ARGS)

test-engines: inspector ## the tests of the parts that need engines (Harbor, cards, …), in .venv-engines
	@$(MAKE) --no-print-directory test VENV=.venv-engines EXTRAS='$(ENGINES)' ARGS="$(ENGINE_TESTS) $(ARGS)"

inspector: ## put the MCP Inspector and its Node into .node-engines, where npm is there
	@sh scripts/inspector.sh

test-peers: ## public tasks of others; PEERS=DIR is a checkout of yujianll/skill-usage, and the network is needed
	@test -n '$(PEERS)' || { echo 'make test-peers: PEERS=DIR is missing, a checkout of yujianll/skill-usage'; exit 2; }
	@SIPBENCH_PEERS='$(abspath $(PEERS))' $(MAKE) --no-print-directory test VENV=.venv-engines EXTRAS='$(ENGINES)' \
		JOBS=0 ARGS="tests/peers -s $(ARGS)"

check: venv ## format, lint, types, and the promises of the repository
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/pytest -q tests/repo

format: venv ## rewrite the sources as `make check` wants them
	$(BIN)/ruff check --fix-only --quiet .
	$(BIN)/ruff format .

bench: venv ## timings: start-up, synth, a million records
	@set -e; for script in benchmarks/bench_*.py; do $(BIN)/python "$$script" $(ARGS); done

calibrate: venv ## simulate every rule of estimation and write docs/calibration.md, about a minute
	$(BIN)/python -m sipbench.stats.calibrate --out docs/calibration.md $(ARGS)

pictures: ## docs/images from real runs of the demo and of skills-uplift, in .venv-engines; needs Chromium
	@$(MAKE) --no-print-directory venv VENV=.venv-engines EXTRAS='$(ENGINES)'
	.venv-engines/bin/python scripts/pictures.py $(ARGS)

schemas: venv ## write the JSON Schemas from the models
	$(BIN)/python -m sipbench.protocol.schemas $(ARGS)

# Keeps the versions that still fit; ARGS=--upgrade takes the newest.
lock: venv ## pin all versions again: constraints.txt
	sh scripts/lock.sh $(ARGS)

clean: ## remove what the tools left
	rm -rf .mypy_cache .pytest_cache .ruff_cache .hypothesis build dist
	find src tests examples benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +

distclean: clean ## ... and .venv
	rm -rf .venv .venv-engines .node-engines
