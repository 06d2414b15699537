# The only commands a newcomer needs. Each does all its own set-up: it asks for python3,
# builds an environment (with uv where uv is found, else with venv and pip), installs,
# compiles the kernels once, and then does its job. There are two environments:
#
#   .venv-lab   extra [lab]: `make lab`, and the kernels of `make notebooks`
#   .venv       extra [test]: everything else
#
# so that notebooks are tested with what a learner has and nothing more. Stamps in both
# remember every finished step: a second run starts at once, and an interrupted one goes
# on where it was. The compiled kernels are shared (MINIMX_CACHE).

PYTHON ?= python3
VENV := .venv
LAB := .venv-lab
BIN := $(VENV)/bin
STAMPS := $(VENV)/.stamps
UV := $(shell command -v uv 2>/dev/null)

# make lab FLAGS="--no-browser --port=9000" hands its flags to JupyterLab.
FLAGS ?=
# Where MXNet and PyTorch live, for comparisons.
PEERS ?= .peers
# Where checkouts of libraries live, for `make suites`.
SOURCES ?= .sources
# BROWSER=required makes the tests fail where no Chromium is found; auto leaves out.
BROWSER ?= auto
CHROMIUM := $(shell command -v chromium || command -v chromium-browser)
# nbval only where notebooks are run: to import it builds grammars for a second or more.
RUNS := $(BIN)/python -m pytest
PYTEST := $(RUNS) -p no:nbval

# Without files of bytecode each process would translate all that it imports again.
unexport PYTHONDONTWRITEBYTECODE

SHARED := $(shell find widgets/share widgets/etc -type f 2>/dev/null)
COMPILED := $(wildcard minimx/core/kernels/*.py minimx/core/kernels/cpu/*.py minimx/core/ops/*.py)

# One job after the other, but for the pairs of `make test`.
ifndef BESIDE
.NOTPARALLEL:
endif
.DELETE_ON_ERROR:
.PHONY: help lab pages test checked lint built unit alone kernels cuda onednn calls \
  each notebooks browser browser-alone book bench bench-cuda bench-peers compat third suites \
  same clean spotless

help:
	@echo "make lab      open the course in JupyterLab"
	@echo "make test     lint, types, floors, unit tests, notebooks, browser tests"
	@echo "make cuda     the part of it that runs CUDA kernels, in a simulator"
	@echo "make onednn   the part of it that computes through oneDNN, which it fetches"
	@echo "make calls    the part of it that calls operators, on a build by Cython"
	@echo "make each     all unit tests, once with oneDNN and once on a build by Cython"
	@echo "make pages    write the book's generated pages"
	@echo "make book     the same, then the static book in build/book/html"
	@echo "make bench    time minimx against its peers (make bench-peers fetches them)"
	@echo "make bench-cuda  time CUDA kernels, and compare training, on a real GPU"
	@echo "make compat   run the same programs under minimx and under MXNet 1.9.1"
	@echo "make third    run GluonCV, GluonNLP and GluonTS under minimx and under MXNet"
	@echo "make suites   run these libraries' own tests; SOURCES=folder has checkouts of them"
	@echo "make same     train the same networks under minimx and under PyTorch"
	@echo "make clean    remove caches; make spotless removes the environments as well"

# -- jobs ------------------------------------------------------------------------------

lab: $(LAB)/.stamps/lab $(LAB)/.stamps/compiled
	$(LAB)/bin/minimx lab $(FLAGS)

test: checked unit alone kernels notebooks browser browser-alone

# The book that `checked` builds is the one that the browser tests read.
test: export BUILT_BOOK := $(CURDIR)/build/book/html

# Pairs of jobs that keep one core busy each. What a job prints stays together.
PAIR := --jobs=2 --output-sync=target BESIDE=yes

# .venv and then mypy, beside .venv-lab, the compiler of the kernels, and the book.
checked:
	@$(MAKE) $(PAIR) lint built

kernels:
	@$(MAKE) $(PAIR) cuda onednn calls

lint: $(STAMPS)/test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# The lab's kernels first: its environment is complete while that of the tests is not.
built: $(LAB)/.stamps/compiled $(STAMPS)/compiled
	$(BIN)/python book/site/site_build.py

unit: $(STAMPS)/test $(STAMPS)/compiled
	$(PYTEST) -q -n 2 --dist loadgroup --durations=25 --durations-min=4 \
	  -m "not browser and not alone"

# What is measured by the clock, or starts processes enough for all cores.
alone: $(STAMPS)/test $(STAMPS)/compiled
	$(PYTEST) -q -m alone --durations=15 --durations-min=2 \
	  $$(grep -rl "mark\.alone" tests --include="test_*.py" --exclude-dir=browser)

# CUDA's kernels on any machine: numba's simulator, chosen when numba is imported.
cuda: $(STAMPS)/test
	NUMBA_ENABLE_CUDASIM=1 $(PYTEST) -q -m cuda tests/cuda/kernels

# Beside its own tests, `onednn` and `calls` each run a twentieth of all other files of
# unit tests: which one, the minute of the last commit says. `make each` runs them all.
UNIT := find tests -name "test_*.py" -not -path "tests/browser/*" | sort
TURN := $(shell expr $$(git log -1 --format=%ct 2>/dev/null || echo 0) / 60 % 20)
SOME = $$($(UNIT) | awk 'NR % 20 == $(TURN)')
WITH_ONEDNN = PYTHONPATH=$$(echo $(CURDIR)/$(VENV)/onednn/lib*/python*/site-packages | tr ' ' ':') $(PYTEST) -q -m "not alone"
COMPILED_CALLS = CALLS=compiled $(PYTEST) -q -m "not alone"

# oneDNN lies in a folder of its own, so that all else is tested without it.
onednn: $(STAMPS)/test $(STAMPS)/onednn
	$(WITH_ONEDNN) $(SOME) tests/fast/onednn/test_convolution.py \
	  tests/fast/onednn/test_bfloat16.py tests/fast/onednn/test_regions.py tests/fast/onednn/test_recurrent.py \
	  tests/fast/onednn/test_integers.py \
	  tests/core/knobs/test_onednn_liveness.py tests/core/knobs/test_onednn_layers_liveness.py \
	  tests/core/knobs/test_onednn_backend_liveness.py tests/graphs/test_onednn_backends.py \
	  tests/benchmarks/test_onednn_alone.py \
	  tests/tools/test_knob_examples.py

# The compiled call path. Its build goes at the end: notebooks are run as they are stored,
# in plain Python, whose sources their views show.
calls: $(STAMPS)/test $(STAMPS)/cython
	$(BIN)/minimx compile --cython
	$(COMPILED_CALLS) $(SOME) $(CALLED); found=$$?; $(FORGET_CALLS); exit $$found

FORGET_CALLS = $(BIN)/python -c "import shutil; from minimx.fast.compiled import fitting; \
  shutil.rmtree(fitting())"

# All unit tests in both ways: a quarter of an hour on two cores.
each: $(STAMPS)/test $(STAMPS)/compiled $(STAMPS)/onednn $(STAMPS)/cython
	$(WITH_ONEDNN) -n 2 --dist loadgroup $$($(UNIT))
	$(BIN)/minimx compile --cython
	$(COMPILED_CALLS) -n 2 --dist loadgroup $$($(UNIT)); found=$$?; \
	  $(FORGET_CALLS); exit $$found

# What makes arrays, calls operators, pushes, allocates and records, and shows its lines.
CALLED := tests/fast/compiled tests/core/arrays tests/core/engine tests/core/storage \
  tests/core/autograd/test_autograd.py tests/gluon/test_trainer.py \
  tests/gluon/test_block.py tests/gluon/parameter tests/widgets/code \
  tests/widgets/test_allocations.py

# pytest and nbval run in .venv; the notebooks themselves in .venv-lab.
notebooks: $(STAMPS)/test $(STAMPS)/kernel $(LAB)/.stamps/compiled
	$(RUNS) -q -n 2 --dist loadfile --nbval --nbval-kernel-name=minimx-lab \
	  --nbval-cell-timeout=240 \
	  --nbval-sanitize-with notebooks/sanitize.cfg notebooks

# One that fails is run once more, and named at the end: each such name is a fault to find.
RERUN := --reruns 1 -rR

browser: $(STAMPS)/test $(STAMPS)/compiled
ifneq ($(CHROMIUM),)
	$(PYTEST) -q -n 2 --dist loadfile --durations=15 $(RERUN) \
	  -m "browser and not alone" tests/browser
else ifeq ($(BROWSER),required)
	@echo "No Chromium was found, and BROWSER=required asks for the browser tests."
	@echo "On Debian and Ubuntu: apt-get install chromium fonts-dejavu-core"
	@exit 1
else
	@echo "The browser tests were left out: no Chromium was found on this machine."
	@echo "On Debian and Ubuntu: apt-get install chromium fonts-dejavu-core"
endif

# `browser` has said so already where there is no Chromium.
browser-alone: $(STAMPS)/test $(STAMPS)/compiled
ifneq ($(CHROMIUM),)
	$(PYTEST) -q $(RERUN) -m "browser and alone" tests/browser
endif

bench: $(STAMPS)/test $(STAMPS)/compiled $(STAMPS)/onednn
	$(BIN)/python -m tests.benchmarks --peers-dir $(PEERS) $(FLAGS)

# A table of what a real GPU does; where there is none it says so and fails.
bench-cuda: $(STAMPS)/test
	$(call INSTALL,$(VENV),-e ".[cuda]")
	$(BIN)/python -m tests.benchmarks.cuda $(FLAGS)

bench-peers: $(PEERS)/mxnet $(PEERS)/torch

# The same programs and operators under MXNet and under minimx, answer by answer.
compat: $(STAMPS)/test $(STAMPS)/compiled $(PEERS)/mxnet
	$(BIN)/python tests/compat/run.py --mxnet $(PEERS)/mxnet $(FLAGS)
	$(BIN)/python -m tests.compat.operators --mxnet $(PEERS)/mxnet $(FLAGS)
	$(BIN)/python tests/compat/exchange.py --mxnet $(PEERS)/mxnet $(FLAGS)
	$(BIN)/python tests/compat/zoo.py --mxnet $(PEERS)/mxnet $(FLAGS)

# Models of libraries that were built on MXNet, from the package index.
third: $(STAMPS)/test $(STAMPS)/compiled
	$(BIN)/python tests/compat/third/run.py --home .third --page book/third.md $(FLAGS)

# Their own unit tests, which need checkouts of them: make suites SOURCES=folder
suites: $(STAMPS)/test $(STAMPS)/compiled
	$(BIN)/python tests/compat/third/suites.py --home .third --sources $(SOURCES) $(FLAGS)

# The same weights and batches, three seeds: accuracy and perplexity, side by side; then
# the same network in float32, float16 and bfloat16.
same: $(STAMPS)/test $(STAMPS)/compiled $(PEERS)/torch
	$(BIN)/python -m tests.same --peers-dir $(PEERS) $(FLAGS)
	$(BIN)/python -m tests.same.narrow

$(PEERS)/%: | $(STAMPS)/test
	$(BIN)/python -m tests.benchmarks.peers $(PEERS) $*

# Pages that are written from the code, then the static book of pages and notebooks.
book: pages
	$(BIN)/python book/site/site_build.py

pages: $(STAMPS)/test
	$(BIN)/python -m minimx.tools.knob_page > book/knobs.md.new
	mv book/knobs.md.new book/knobs.md
	$(BIN)/python -m minimx.nd.page > book/operators.md.new
	mv book/operators.md.new book/operators.md
	MXNET_ENABLE_CYTHON=0 $(BIN)/python -m tests.ways
	$(BIN)/python -m tests.notebooks.places > book/where.md.new
	mv book/where.md.new book/where.md
	$(BIN)/python -m minimx_widgets.gallery book
	$(BIN)/python -m tests.benchmarks pages
	$(BIN)/minimx claims --markdown > book/claims.md.new
	mv book/claims.md.new book/claims.md
	$(BIN)/python -m minimx_widgets.course.teaching.lessons book/lessons

clean:
	rm -rf build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage \
	  .import_linter_cache
	find . -name __pycache__ -not -path "./$(VENV)*" -prune -exec rm -rf {} +

spotless: clean
	rm -rf $(VENV) $(LAB)

# -- set-up, one stamp a step -----------------------------------------------------------

define TOO_OLD
$(PYTHON) is missing or older than Python 3.11, which minimx needs.
Install a newer Python, or name one: make lab PYTHON=python3.12
endef
define NO_VENV
$(PYTHON) -m venv did not work; its own message stands above.
On Debian and Ubuntu: apt-get install python3-venv; anywhere: install uv and try again.
endef
export TOO_OLD NO_VENV

# An environment that works is kept; one that an interruption left half made is not.
$(STAMPS)/venv $(LAB)/.stamps/venv: %/.stamps/venv:
	@if ! $*/bin/python -c "" 2>/dev/null; then \
	  rm -rf $*; \
	  if $(PYTHON) -c "import sys; sys.exit(sys.version_info < (3, 11))" 2>/dev/null; \
	  then wanted=$(PYTHON); elif [ -n "$(UV)" ]; then wanted=">=3.11"; \
	  else echo "$$TOO_OLD"; exit 1; fi; \
	  echo "Making $*"; \
	  if [ -n "$(UV)" ]; then uv venv --quiet --python "$$wanted" $*; \
	  else $(PYTHON) -m venv $* \
	    || { rm -rf $*; echo "$$NO_VENV"; exit 1; }; \
	  fi; \
	fi
	@mkdir -p $*/.stamps && touch $@

# $(call INSTALL,environment,what): uv takes seconds, pip a minute or two.
# In .venv bytecode is written at the first import: most modules are never imported.
ifneq ($(UV),)
HOW := uv, some seconds
INSTALL = uv pip install --quiet --python $(1)/bin/python $(2)
else
HOW := pip, a minute or two
INSTALL = { $(1)/bin/python -m pip --version >/dev/null 2>&1 \
    || $(1)/bin/python -m ensurepip >/dev/null; } \
  && $(1)/bin/python -m pip install --quiet --disable-pip-version-check \
    $(if $(filter $(VENV),$(1)),--no-compile) $(2)
endif

$(STAMPS)/test: $(STAMPS)/venv
$(LAB)/.stamps/lab: $(LAB)/.stamps/venv
$(STAMPS)/test $(LAB)/.stamps/lab: pyproject.toml $(SHARED)
	@echo "Installing minimx and its extra [$(@F)] into $(@D:/.stamps=) with $(HOW)"
	@$(call INSTALL,$(@D:/.stamps=),-e ".[$(@F)]")
	@touch $@

# The tests' Jupyter knows the lab's Python as a kernel; the lab's own lists do not.
$(STAMPS)/kernel: $(STAMPS)/test $(LAB)/.stamps/lab
	@$(LAB)/bin/python -m ipykernel install --prefix $(VENV) --name minimx-lab \
	  --display-name "the lab's Python" >/dev/null
	@touch $@

# Cython comes after `test`, so that all other tests show what works without it.
$(STAMPS)/cython: $(STAMPS)/test
	@echo "Installing Cython into $(VENV), for its tests"
	@$(call INSTALL,$(VENV),-e ".[cython]")
	@touch $@

# --prefix, not --target: that would lose the library, which is data of the wheel.
ONEDNN := $(shell sed -n 's/^onednn = \["\(.*\)"\]$$/\1/p' pyproject.toml)
ONLY := ; sys_platform == 'linux' and platform_machine == 'x86_64'
$(STAMPS)/onednn: $(STAMPS)/venv pyproject.toml
	@echo "Installing oneDNN into $(VENV)/onednn, for its tests"
	@rm -rf $(VENV)/onednn
	@$(call INSTALL,$(VENV),--prefix $(VENV)/onednn "$(ONEDNN)$(ONLY)")
	@touch $@

# The first compilation shows its progress; numba keeps the result on disk.
$(STAMPS)/compiled: $(STAMPS)/test
$(LAB)/.stamps/compiled: $(LAB)/.stamps/lab
$(STAMPS)/compiled $(LAB)/.stamps/compiled: pyproject.toml $(COMPILED)
	@$(@D:/.stamps=)/bin/minimx compile
	@touch $@
