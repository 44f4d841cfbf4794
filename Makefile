# Two commands for everybody: `make demo` and `make test`. The rest is for developers.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

KERNELS := $(VENV)/.kernels

.PHONY: demo test check format bench clean

demo: $(KERNELS)
	@$(BIN)/mottle demo

test: check
	$(BIN)/pytest -n auto --dist worksteal

check: $(KERNELS)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# Every figure the README and the docs name; writes benchmarks/results/.
bench: $(KERNELS)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[bench]"
	$(BIN)/python benchmarks/nh10.py
	$(BIN)/python benchmarks/walks.py
	$(BIN)/python benchmarks/foundation.py
	$(BIN)/python benchmarks/freeform.py
	$(BIN)/python benchmarks/fast07.py
	$(BIN)/python benchmarks/sensitive.py
	$(BIN)/python benchmarks/audit.py
	$(BIN)/python benchmarks/adversaries.py
	$(BIN)/python benchmarks/classic.py

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
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

# Numba does not notice when a kernel that another one calls has changed: start afresh then.
$(KERNELS): $(READY) $(shell find src -name '*.py')
	@find src -name '*.nb[ic]' -delete
	@touch $@

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis mottle-demo
