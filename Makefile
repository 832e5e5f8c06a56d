# Two commands do all the set-up: `make demo` and `make test` build their own environment.
PYTHON ?= python3
BIN := .venv/bin
SIZE ?= full
CHROMIUM ?= chromium
BUILT_FROM := pyproject.toml CMakeLists.txt $(shell find cpp tests/cpp -type f)

SECONDS ?= 600
TIER ?= quick
WORKERS ?= 2
# Tests start many processes: what one has compiled the next need not, whatever the environment says.
export PYTHONDONTWRITEBYTECODE :=
PYTEST := $(BIN)/python -m pytest --numprocesses $(WORKERS) --dist worksteal
NINJA := -G Ninja -DCMAKE_MAKE_PROGRAM=$(abspath $(BIN)/ninja)

.PHONY: help demo test test-all lint check-types test-python test-cpp test-sanitize test-address test-thread
.PHONY: test-gpu test-browser test-clang test-no-threads test-versions docs fuzz mutants bench clean
.PHONY: wheel release-check
help:
	@echo "make demo    train on small data, print a report, leave model and pictures in demo/"
	@echo "make test    lint, types, layers, and the tests to wait for: grids in pairs, some seeds, nothing slow"
	@echo "make test-all   everything: also C++, cluster, killed processes, pages, browser; times at the end"
	@echo "make test-sanitize  tests of the compiled code under sanitizers, with GCC"
	@echo "make test-clang  the compiled code by clang; test-no-threads: without threads, same bits"
	@echo "make test-versions  quick tests with other versions: PINS='scikit-learn==1.8.*'"
	@echo "make test-browser   the playground in Chromium, as a person uses it"
	@echo "make docs    the pages in build/docs/index.html, with every picture drawn anew"
	@echo "make fuzz    random fits, and hostile files and requests (SECONDS=600 for all together)"
	@echo "make mutants whether the tests notice 20 small mistakes (ONLY=name, TIER=all)"
	@echo "make bench   race the peers at equal quality (ONLY=name or ONLY=--list, SIZE=small)"
	@echo "make wheel   wheels in dist/: built twice, repaired, checked, tried (PYTHONS='python3.11 python3.12')"
	@echo "make release-check   version, changelog, licences, types for Windows, vulnerabilities, pages"
	@echo "make clean   remove everything that these commands made"

$(BIN)/python:
	$(PYTHON) -m venv .venv

# native: the module has the loops of this machine's instruction set, which takes half of
# the time. all: those of every instruction set, and the C++ tests. Each keeps its objects.
LEVELS ?= $(if $(filter test-all test-cpp,$(MAKECMDGOALS)),all,native)
export LEVELS
MODULE = --editable . --config-settings=build-dir=build/$1 \
  --config-settings=cmake.define.SEPARATRIX_LEVELS=$1 \
  --config-settings=cmake.define.SEPARATRIX_TESTS=$(if $(filter all,$1),ON,OFF)

# Packages are fetched while the compiler works; Python compiles what is imported, and no more.
# A module with all levels also serves where native would do.
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile
NEEDS := import sys, tomllib; \
  p = tomllib.load(open("pyproject.toml", "rb"))["project"]; \
  extras = [p["optional-dependencies"][extra] for extra in sys.argv[1].split(",")]; \
  print(*p["dependencies"], *sum(extras, []), sep="\n")
INSTALLED := .venv/$(if $(filter all,$(LEVELS)),all-levels,installed)-
$(INSTALLED)%: $(BIN)/python $(BUILT_FROM)
	@$(BIN)/python -c '$(NEEDS)' $* > .venv/needs
	@rm -f .venv/all-levels-*
	$(PIP) --requirement .venv/needs & $(PIP) --no-deps $(call MODULE,$(LEVELS)) && wait $$!
	@touch .venv/installed-$* $@

# Tests start many processes, which would otherwise compile every module again.
unexport PYTHONDONTWRITEBYTECODE

# One environment for tests and pages: the compiled module is built once for both.
DEVELOPMENT := $(INSTALLED)docs,test

demo: $(INSTALLED)demo
	$(BIN)/separatrix demo

# What a contributor waits for; tests/tiers.py says which tests that are. Types take one core: they
# are checked next to the tests, and reported after them.
test: $(DEVELOPMENT) lint
	@mkdir -p build; { $(TYPES); } > build/types 2>&1 & types=$$!; \
	trap 'kill $$types' INT TERM; echo $(PYTEST) --tier=quick; $(PYTEST) --tier=quick; failed=$$?; \
	wait $$types || failed=1; cat build/types; exit $$failed

# Everything, part by part, with the seconds of each. Types and pages take one core each: they run
# side by side. The tests of Python take all cores.
PARTS := lint "--jobs 3 check-types test-cpp docs" test-python
test-all: $(DEVELOPMENT)
	@mkdir -p build; : > build/times; trap 'cat build/times' EXIT; \
	part() { start=$$(date +%s); $(MAKE) --no-print-directory $$1 || exit 1; \
	  echo "$$(($$(date +%s) - start)) s  make $$1" >> build/times; }; \
	for goals in $(PARTS); do part "$$goals"; done; \
	if command -v $(CHROMIUM) > /dev/null; then part test-browser; else \
	  echo "NO BROWSER: $(CHROMIUM) is not installed, make test-browser was not run" >> build/times; fi

lint: $(DEVELOPMENT)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

TYPES := $(BIN)/mypy && $(BIN)/lint-imports
check-types: $(DEVELOPMENT)
	$(TYPES)

# Needs a GPU, CuPy and torch in the environment; the tests are skipped without a GPU.
test-gpu: $(DEVELOPMENT)
	SCIPY_ARRAY_API=1 $(BIN)/python -m pytest -p no:xdist tests/gpu

test-python: $(DEVELOPMENT)
	$(PYTEST) --durations=20

test-cpp: $(DEVELOPMENT)
	$(BIN)/ctest --test-dir build/all --parallel $(WORKERS) --output-on-failure

# A report of a sanitizer aborts its test.
test-sanitize: test-address test-thread

# The module under AddressSanitizer and UndefinedBehaviorSanitizer, in an environment of its own: it
# uses the packages of .venv, but not the import hook of the editable install there.
, := ,
PURELIB := -c "import sysconfig; print(sysconfig.get_path('purelib'))"
define own_module
	$(BIN)/python -m venv --clear --without-pip build/$1
	$(BIN)/python $(PURELIB) > "$$(build/$1/bin/python $(PURELIB))/packages.pth"
	$(BIN)/python -m pip --python build/$1 install --quiet --no-deps --ignore-installed . \
	  --config-settings=build-dir=build/$1-objects $(patsubst %,--config-settings=cmake.define.%,$2)
endef
test-address: $(DEVELOPMENT)
	$(call own_module,sanitized,SEPARATRIX_SANITIZE=address$(,)undefined)
	LD_PRELOAD="$$($(CXX) -print-file-name=libasan.so) $$($(CXX) -print-file-name=libstdc++.so)" \
	ASAN_OPTIONS=abort_on_error=1:detect_leaks=0 UBSAN_OPTIONS=abort_on_error=1 \
	  $(PYTEST:$(BIN)/%=build/sanitized/bin/%) tests/loops tests/solvers tests/data tests/models

# The C++ tests under ThreadSanitizer.
test-thread: $(DEVELOPMENT)
	$(BIN)/cmake -S . -B build/thread $(NINJA) -DSEPARATRIX_TESTS=ON -DSEPARATRIX_MODULE=OFF \
	  -DSEPARATRIX_SANITIZE=thread
	MAKEFLAGS= $(BIN)/cmake --build build/thread
	$(BIN)/ctest --test-dir build/thread --output-on-failure

# The module by clang: its C++ tests, and those of the loops.
NATIVE := SEPARATRIX_LEVELS=native SEPARATRIX_TESTS=ON
test-clang: $(DEVELOPMENT)
	$(call own_module,clang,$(NATIVE) CMAKE_CXX_COMPILER=clang++)
	$(BIN)/ctest --test-dir build/clang-objects --output-on-failure
	$(PYTEST:$(BIN)/%=build/clang/bin/%) --tier=quick tests/loops

# Without threads, as for WebAssembly: the same fits have the same bits.
test-no-threads: $(DEVELOPMENT)
	$(call own_module,no-threads,$(NATIVE) SEPARATRIX_THREADS=OFF)
	$(BIN)/ctest --test-dir build/no-threads-objects --output-on-failure
	$(PYTEST:$(BIN)/%=build/no-threads/bin/%) --tier=quick tests/loops tests/solvers
	$(BIN)/python release/bits.py > build/bits
	build/no-threads/bin/python release/bits.py | diff build/bits -

# The quick tests with other versions of what the package needs, in an environment of its own.
PINS ?= scikit-learn==1.8.* numpy==2.0.* scipy==1.13.*
test-versions:
	$(PYTHON) -m venv --clear build/versions
	build/versions/bin/python -m pip install --quiet --config-settings=cmake.define.SEPARATRIX_LEVELS=native \
	  '.[test]' $(foreach pin,$(PINS),'$(pin)')
	build/versions/bin/python -m pytest --numprocesses $(WORKERS) --tier=quick tests

BROWSED := CHROMIUM=$(CHROMIUM) $(PYTEST) $(wildcard tests/apps/playground/browser*.py)
test-browser: $(DEVELOPMENT)
	@command -v $(CHROMIUM) > /dev/null || { echo "no $(CHROMIUM): apt-get install chromium fonts-dejavu-core, or CHROMIUM=/path/to/it"; exit 1; }
	$(BROWSED) || { echo "a browser may miss a click: what failed is run once more"; \
	  $(BROWSED) --last-failed --last-failed-no-failures none; }

docs: $(DEVELOPMENT)
	$(BIN)/codespell docs examples src README.md CONTRIBUTING.md CHANGELOG.md
	SOURCE_DATE_EPOCH=0 $(BIN)/sphinx-build --fail-on-warning --keep-going --quiet docs build/docs
	$(BIN)/python docs/links.py build/docs
	cp build/docs/_images/index-picture-1.svg docs/images/proofs.svg
	@echo "open build/docs/index.html"

PYTHONS ?= $(PYTHON)
wheel:
	$(PYTHON) release/wheel.py $(PYTHONS) --again

release-check: $(DEVELOPMENT) docs
	$(BIN)/python -m pip install --quiet pip-audit
	$(BIN)/python release/check.py build/docs

fuzz: $(DEVELOPMENT)
	$(BIN)/python tests/fuzz.py --seconds $(SECONDS)

mutants: $(DEVELOPMENT)
	$(BIN)/python tests/mutants.py --tier $(TIER) --workers $(WORKERS) $(ONLY)

.venv/installed-bench: $(BIN)/python $(BUILT_FROM)
	@rm -f .venv/all-levels-*
	$(PIP) $(call MODULE,native)
	$(BIN)/python -m benchmarks.install
	@touch $@

bench: .venv/installed-bench
	$(BIN)/python -m benchmarks --size $(SIZE) $(ONLY)

clean:
	rm -rf .venv build dist .hypothesis .mypy_cache .pytest_cache .ruff_cache .import_linter_cache
	rm -rf demo benchmarks/results docs/generated docs/gallery
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
