# Everything happens in $(VENV): the runtime first, and on top of it, only where it is needed, what development needs.

PYTHON ?= python3
VENV ?= .venv
MINUTES ?= 30
SAMPLE ?= 300
SEED ?= 1
COUNT ?= 1000000
BROKER ?= redis

BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
RUNTIME := $(VENV)/.runtime-is-installed
DEVELOPMENT := $(VENV)/.development-is-installed
CLIENTS := $(VENV)/.clients-are-installed

.DEFAULT_GOAL := help
.PHONY: help venv demo test check docs frontend bench soak siege mutants servers clean

# Tests start hundreds of interpreters: what one compiles is there for all others, even where the environment forbids it.
unexport PYTHONDONTWRITEBYTECODE

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

venv: $(DEVELOPMENT) ## Install the package and what development needs into .venv

demo: $(RUNTIME) ## Create a stack on this machine, look at it and delete it again; needs no server
	$(BIN)/python examples/demo.py

test: $(DEVELOPMENT) $(CLIENTS) servers ## Run all tests; installs Redis, memcached, PostgreSQL and RabbitMQ where missing
	$(BIN)/python -m pytest --numprocesses logical --dist worksteal

check: $(DEVELOPMENT) ## Check formatting, style, types, which package may import which, and known weaknesses
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/bandit --quiet --recursive --configfile pyproject.toml orchestrator workers cache hooks isotherm

docs: $(DEVELOPMENT) ## Write the pages in docs/ that are made of the code, and a site about all types in build/docs
	for page in settings types language access; do PYTHONPATH=. $(BIN)/python docs/make_$$page.py || exit 1; done
	$(BIN)/isotherm docs build --output build/docs

frontend: ## Fetch the dashboard's libraries again with npm, and check that they are what it brings
	$(PYTHON) docs/make_frontend.py

bench: $(DEVELOPMENT) servers ## Measure the engine on real servers
	$(BIN)/python -m tests.bench

soak: $(DEVELOPMENT) servers ## Put a mixed load on real servers for MINUTES, and check that everything ended right
	$(BIN)/python -m tests.load --minutes $(MINUTES)

siege: $(DEVELOPMENT) servers ## Send COUNT=1000000 hostile messages to an installation by BROKER=redis, and check that it is unharmed
	$(BIN)/python -m tests.load.siege --count $(COUNT) --broker $(BROKER)

mutants: $(DEVELOPMENT) servers ## Put SAMPLE=300 small faults into the core, by SEED=1, and list what no test notices; takes hours
	$(PIP) install --editable '.[mutants]'
	$(BIN)/python -m tests.mutants --sample $(SAMPLE) --seed $(SEED)

# The clients of OpenStack have an environment of their own, as their users' is: they are tested against as they are.
$(CLIENTS): $(DEVELOPMENT)
	$(PYTHON) -m venv $(VENV)/clients
	$(VENV)/clients/bin/python -m pip --disable-pip-version-check --quiet install \
	  'python-openstackclient>=10.5' 'python-heatclient>=5.3' 'os-collect-config>=14.1'
	@touch $@

servers:
	@bash .ci/servers

clean: ## Remove .venv and everything that tools left behind
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Without ensurepip, venv fails half-way and leaves a directory behind that looks finished.
$(RUNTIME): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo 'Isotherm needs Python 3.11 or newer; "$(PYTHON)" is not. Name another: make PYTHON=python3.12' >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null \
	  || { echo '"$(PYTHON)" cannot make virtual environments: apt-get install python3-venv' >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(PIP) install --editable .
	@touch $@

$(DEVELOPMENT): $(RUNTIME)
	$(PIP) install --editable '.[dev,postgres,memcached,api,keystone,dashboard,openstack,policy,prometheus,otel]'
	@touch $@
