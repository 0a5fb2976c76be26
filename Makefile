# make demo    train a network on handwritten digits
# make test    run the tests
# make test-cupy  run the tests on arrays of the real CuPy, in host memory: no GPU, no CUDA; a C++ compiler is needed
#                 (CXX=..., else g++, clang++, or the package ziglang). Kernels are kept in build/hostcupy.
#                 On a machine with a GPU: pytest -m gpu, or in four minutes: python tests/gpu/check.py
# make bench-rules  how much longer value and pullback take than the value alone, for every rule (ONLY=fft: for some)
# make bench-memory  what the pullback of a stencil written in place keeps, beside one written by hand
# make bench-release  how much memory the gradient of a network needs at most, on the double of a device and on NumPy
#                 (ON=cupy: on the real CuPy in host memory, after make test-cupy; ON=gpu: on a GPU)
# make bench-orders  how long derivatives of derivatives take; beside autograd, JAX and PyTorch where the environment has
#                 them (VENV=...)
# make lint    check style and types
# make format  lay out the code
# make clean   remove what the others made
#
# Each makes its own virtual environment when it needs one. Another Python in another place:
#   make test PYTHON=python3.12 VENV=.venv-3.12

PYTHON ?= python3
VENV ?= .venv
JOBS ?= 2
BIN := $(VENV)/bin
READY := $(VENV)/.installed
FARM := build/types

.PHONY: demo test test-cupy bench-rules bench-memory bench-release bench-orders lint format clean
.DEFAULT_GOAL := test

demo: $(READY)
	$(BIN)/python examples/digits.py

test: $(READY)
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal $(ARGS)

# CuPy goes into the same environment: its wheel is large, and needed for nothing else.
test-cupy: $(VENV)/.hostcupy
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal tests/hostcupy $(ARGS)

bench-rules: $(READY)
	$(BIN)/python benchmarks/rules.py $(ONLY)

bench-memory: $(READY)
	$(BIN)/python benchmarks/memory.py

bench-release: $(READY)
	$(BIN)/python benchmarks/release.py $(ON)

bench-orders: $(READY)
	$(BIN)/python benchmarks/orders.py

# mypy does not know that rules/ and runtime/ are inside the package: it is shown a folder of links where they are.
lint: $(READY)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	rm -rf $(FARM) && mkdir -p $(FARM)/adcompiler
	ln -s $(CURDIR)/adcompiler/* $(CURDIR)/rules $(CURDIR)/runtime $(FARM)/adcompiler/
	cd $(FARM) && $(abspath $(BIN))/mypy --config-file $(CURDIR)/pyproject.toml --cache-dir $(CURDIR)/.mypy_cache -p adcompiler

format: $(READY)
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

# Where Python comes without ensurepip, pip is put into the new environment by the pip outside.
$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "adcompiler needs Python 3.11 or later; name one: make PYTHON=python3.12")'
	$(PYTHON) -m venv $(VENV) || \
	  { $(PYTHON) -m venv --clear --without-pip $(VENV) && $(PYTHON) -m pip --python $(BIN)/python install --quiet pip; }
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	@touch $@

$(VENV)/.hostcupy: $(READY)
	$(BIN)/python -m pip install --quiet --editable '.[dev,hostcupy]'
	@touch $@

clean:
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
