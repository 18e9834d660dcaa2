# Two commands do everything on a fresh machine with Python 3.11 or newer:
#   make run    the dashboard on its bundled city
#   make test   every check, the browser's included
# They build .venv once and reuse it until a requirements file changes.

SHELL := /bin/sh
VENV := .venv
BIN := $(VENV)/bin
PORT ?= 8501

# The first Python that really runs and is new enough; a shim that only complains is passed over.
FIND_PYTHON = for candidate in "$$PYTHON" python3 python3.11 python3.12 python3.13 python3.14; do \
	  if [ -n "$$candidate" ] && "$$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; \
	  then echo "$$candidate"; break; fi; done

.PHONY: run test check lint types unit bench screenshots clean

run: $(VENV)/.runtime static $(VENV)/.kernels
	$(BIN)/python -m streamlit run app.py --server.port $(PORT)

test: check

check: lint types unit

lint: $(VENV)/.tools
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.tools
	$(BIN)/mypy

# Everything but the browser on all cores, file by file; then the browser alone, so that nothing else keeps it waiting.
unit: $(VENV)/.tools static $(VENV)/.kernels
	$(BIN)/pytest -n auto --maxprocesses 4 --dist loadfile --ignore tests/browser
	$(BIN)/pytest tests/browser

# The map's browser bundle comes out of the installed pydeck; nothing is downloaded.
.PHONY: static
static: $(VENV)/.runtime
	@$(BIN)/python -m ui.assets

# Kernels that make reports are compiled here, never while somebody waits for a page.
$(VENV)/.kernels: $(wildcard ldpcore/mechanisms/kernels/*.py) $(VENV)/.runtime
	@echo "compiling the kernels, some ten seconds"
	@$(BIN)/python -m ldpcore.mechanisms.compile
	@touch $@

# Every benchmark, on a quiet machine; `make bench QUICK=--quick` is a smoke run. See benchmarks/README.md.
bench: $(VENV)/.tools static $(VENV)/.kernels
	$(BIN)/python -m benchmarks $(QUICK)

# Breaks trip files for ten minutes, guided by coverage; what it finds is in .fuzz. `SECONDS=60` is a short run.
.PHONY: fuzz
fuzz: $(VENV)/.tools
	@$(BIN)/python -c "import atheris" 2>/dev/null || \
	  $(BIN)/python -m pip install --quiet --disable-pip-version-check atheris==3.0.0 || \
	  echo "Atheris has no build for this machine; files are broken at random instead."
	$(BIN)/python -m tests.trips.fuzz_guided --seconds $(or $(SECONDS),600)

screenshots: $(VENV)/.tools static
	$(BIN)/python -m tests.browser.screenshots

$(VENV)/bin/python:
	@python="$$($(FIND_PYTHON))"; \
	if [ -z "$$python" ]; then \
	  echo "LDP Atlas needs Python 3.11 or newer; none was found. Install one, or name it: make run PYTHON=/path/to/python3" >&2; exit 1; fi; \
	"$$python" -m venv $(VENV) || { \
	  echo "The module venv is missing. On Debian and Ubuntu: apt-get install python3-venv" >&2; rm -rf $(VENV); exit 1; }

$(VENV)/.runtime: requirements.txt $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.txt
	@touch $@

$(VENV)/.tools: requirements-dev.txt $(VENV)/.runtime
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-dev.txt
	@touch $@

clean:
	rm -rf $(VENV) .bench static .mypy_cache .ruff_cache .pytest_cache .hypothesis
