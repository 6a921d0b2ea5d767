# Each target sets itself up in .venv. CORES=4, ARGS="--config …" and MIRROR=/folder are passed on.

# The user's values are plain text. Without this, make would expand each $ in them.
$(foreach name,$(.VARIABLES),$(if $(filter command,$(firstword $(origin $(name)))),\
  $(eval override $(name) := $$(value $(name)))))

PYTHON ?= python3
CORES ?= all
ARGS ?=
MIRROR ?=
DATA ?=
CORRECTIONS ?=
# Only from the command line: some systems set NAME to the name of the machine.
ifneq ($(filter environment%,$(origin NAME)),)
NAME :=
endif
NAME ?=
# Recipes read these from the environment. In the text of a recipe the shell would expand them.
export PYTHON CORES ARGS MIRROR DATA NAME CORRECTIONS

override BIN := .venv/bin
override READY := .venv/.requirements-installed
override SNAKEMAKE := $(BIN)/snakemake
override START := $(BIN)/python workflow/start.py $(SNAKEMAKE)
override QUICK := $(SNAKEMAKE) --profile profiles/quick --workflow-profile none
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Snakemake keeps a cache in the home folder. Containers and cluster nodes may have none.
ifneq ($(shell test -w "$$HOME" && echo yes),yes)
export XDG_CACHE_HOME ?= $(CURDIR)/.cache
endif

.PHONY: quick reproduce suspects report publish test test-fast test-long test-slurm lint format benchmark lock help

help:
	@echo "make quick      the whole workflow on embedded data, with report: a few minutes, no download"
	@echo "make reproduce  the paper's setting on real CIFAR-10 (snakemake --cores all)"
	@echo "make suspects DATA=/folder/or/file   find labels of your own data that look wrong; results in runs/<name>"
	@echo "make report     HTML report of the full run"
	@echo "make publish    copy the full run's figures, tables and provenance to results/published"
	@echo "make test       every test; make test-fast leaves out those that run the workflow"
	@echo "make test-long     slow tests: re-runs after edits and settings, kills, determinism, mutations"
	@echo "make test-slurm    the workflow on a SLURM of one node (Debian, root)"
	@echo "make lint       check code and rules: snakemake --lint, snakefmt, ruff"
	@echo "make benchmark  time the heavy stages at the paper's size against this machine's own rate"

$(READY): envs/requirements.txt
	@"$$PYTHON" -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "Python 3.11 or newer is needed; say which with: make PYTHON=/path/to/python3.11"; exit 1; }
	@echo "Setting up .venv (PyTorch is several GB; a few minutes the first time) ..."
	@"$$PYTHON" -m venv .venv
	@$(BIN)/python -m pip install --quiet --require-hashes -r envs/requirements.txt
	@touch $@

quick: $(READY)
	$(QUICK) --quiet host reason
	@$(QUICK) --quiet all --report results/report.html
	@echo
	@echo "Start here: runs/quick/results/index.html (verdicts, figures and tables; open it in a browser)"
	@echo "Report:     runs/quick/results/report.html (the same results with code, times and rule graph)"

reproduce: $(READY)
	$(START) all
	@echo "Start here: results/index.html (verdicts, figures and tables; open it in a browser)"

suspects: $(READY)
	@$(START) suspects --profile profiles/suspects --workflow-profile none --quiet host reason

report: $(READY)
	$(SNAKEMAKE) --report results/report.html
	@echo "Report: results/report.html (open it in a browser)"

publish: $(READY)
	$(START) publish

# Two processes with one thread each: small fits are slower on two threads than on one.
override PYTEST := OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist loadfile

test: $(READY)
	$(PYTEST) -m "not matrix and not faults and not mutation and not slurm"

test-fast: $(READY)
	$(PYTEST) -m "not slow and not matrix and not faults and not mutation and not slurm"

test-long: $(READY)
	$(BIN)/python -m pytest -m "matrix or faults or mutation"

# If the packages cannot be installed, the tests are skipped and say so.
test-slurm: $(READY)
	@command -v slurmctld slurmd sbatch > /dev/null \
	  || { apt-get update -qq && apt-get install -y -qq --no-install-recommends \
	       slurmctld slurmd slurm-client; } > /dev/null || true
	$(BIN)/python -m pip install --quiet --require-hashes -r envs/slurm.txt || true
	$(BIN)/python -m pytest -m slurm -rs

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/snakefmt --check Snakefile workflow profiles
	$(SNAKEMAKE) --lint

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/snakefmt Snakefile workflow profiles

benchmark: $(READY)
	$(BIN)/python tests/benchmark.py

# Pins with hashes for every platform, without download addresses.
lock:
	uv pip compile --universal --python-version 3.11 --generate-hashes --no-header --no-annotate \
	  --quiet envs/requirements.in --output-file envs/requirements.txt
