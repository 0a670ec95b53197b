# For a fresh machine with Python >= 3.11, a C compiler and make: `make demo`, `make view` and `make test`.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
SOURCES := pyproject.toml setup.py MANIFEST.in $(shell find cffi_build drivers fmus master models studio -type f \
             \( -name '*.py' -o -name '*.pyi' -o -name '*.c' -o -name '*.h' -o -name '*.xml' \
             -o -name '*.html' -o -name '*.css' -o -name '*.js' \))
PIP    := $(BIN)/python -m pip --disable-pip-version-check -qq
WARN   := -std=c11 -Wall -Wextra -Wpedantic -Wshadow -Werror -fsyntax-only
# Strict: the editable package is a folder of links, which mypy can resolve; a new file needs `make` again.
EDITABLE := --config-settings editable_mode=strict --editable

.PHONY: demo view gallery test lint unit stress fuzz wheel lowest bench bench-gjk bench-masters docs clean

demo: $(VENV)/.installed
	$(BIN)/simloop run sphere-step --step 1/2000 --set plant.mass_error=0.1 --out runs/demo --open

# A moving arm in the browser; SCENARIO=teleop is one that you steer.
SCENARIO ?= yumi-step
view: $(VENV)/.installed-view
	$(BIN)/simloop run $(SCENARIO) --view --open

test: lint unit stress wheel

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit("simloop needs Python 3.11 or newer, this is " + sys.version.split()[0] if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)
	$(PIP) install --upgrade pip setuptools

$(VENV)/.installed: $(BIN)/python $(SOURCES)
	$(PIP) install $(EDITABLE) .
	touch $@

$(VENV)/.installed-view: $(BIN)/python $(SOURCES)
	$(PIP) install $(EDITABLE) '.[view]'
	touch $@ $(VENV)/.installed

$(VENV)/.installed-test: $(BIN)/python $(SOURCES)
	$(PIP) install $(EDITABLE) '.[test]'
	touch $@ $(VENV)/.installed $(VENV)/.installed-view

lint: $(VENV)/.installed-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(CC) $(WARN) -O2 cffi_build/gjk.c cffi_build/gjk_motion.c cffi_build/gjk_scene.c cffi_build/resolution.c cffi_build/executor.c cffi_build/native_*.c tests/c/*.c
	$(CC) $(WARN) -DPy_LIMITED_API=0x030b0000 -isystem $$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("include"))') cffi_build/fmi2_*.c

unit: $(VENV)/.installed-test
	$(BIN)/pytest -n 2

# Random and degenerate pairs against the definition: with the sanitisers on and every query's certificate checked, on
# this machine's path and on the plain one; then at full speed.
STRESS := tests/c/stress_gjk.c cffi_build/gjk_motion.c cffi_build/gjk_scene.c
SANITISED := $(CC) -std=c11 -g -O1 -fsanitize=address,undefined -fno-sanitize-recover=all
CHECKED := $(SANITISED) $(STRESS) tests/c/gjk_checked.c

stress:
	mkdir -p build/c
	$(CHECKED) -o build/c/checked -lm
	build/c/checked 50000
	$(CHECKED) -DGJK_PLAIN -o build/c/plain -lm
	build/c/plain 20000
	$(CC) -std=c11 -O3 $(STRESS) cffi_build/gjk.c -o build/c/stress -lm
	build/c/stress 1000000
	$(SANITISED) cffi_build/executor.c tests/c/stress_executor.c -o build/c/executor -lm
	build/c/executor 2000

fuzz: stress
	for seed in $$(seq 2 21); do build/c/stress 1000000 $$seed || exit 1; done

# The wheel is what users get: a file missing from it shows only here.
wheel: $(VENV)/.installed-test
	rm -rf dist .venv-wheel
	$(BIN)/python -m build --outdir dist . > /dev/null
	$(PYTHON) -m venv .venv-wheel
	.venv-wheel/bin/python -m pip --disable-pip-version-check --quiet install dist/*.whl pytest
	.venv-wheel/bin/python -m pytest -p no:cacheprovider tests/wheel

# The oldest versions that pyproject.toml admits. coal and pinocchio need a newer numpy, so the comparisons with them
# stay out.
lowest:
	rm -rf .venv-lowest
	$(PYTHON) -m venv .venv-lowest
	$(PYTHON) -c 'import tomllib; p = tomllib.load(open("pyproject.toml", "rb"))["project"]; e = p["optional-dependencies"]; print(*(d.replace(">=", "==") for d in p["dependencies"] + e["canopen"] + e["view"] + e["figures"]), sep="\n")' > .venv-lowest/constraints.txt
	.venv-lowest/bin/python -m pip --disable-pip-version-check --quiet install -c .venv-lowest/constraints.txt '.[canopen,figures,planning,view]' pytest pytest-xdist hypothesis protobuf
	.venv-lowest/bin/python -m pytest -n 2 --ignore=tests/models/test_references.py --ignore=tests/models/test_robots.py --ignore=tests/models/test_goal.py --ignore=tests/studio/test_iiwa.py

bench: $(VENV)/.installed-test
	$(BIN)/python benchmarks/macro_step.py
	$(BIN)/python benchmarks/scene.py
	$(BIN)/python benchmarks/resolution.py
	$(BIN)/python benchmarks/viewer.py

# coal's headers need Eigen's, of the version that coal's wheel was built with.
bench-gjk: $(VENV)/.installed-test
	$(PIP) install 'cmeel-eigen<4' 'matplotlib>=3.8'
	$(BIN)/python benchmarks/gjk/run.py

# cofmupy pins other versions of what simloop needs, so it is installed with only what its master imports, and the peers
# live apart. ecospy needs Debian's libtbb12; where that is not, it is left out and the script says so.
PEERS := $(PYTHON) -m venv .venv-peers && .venv-peers/bin/python -m pip --disable-pip-version-check -qq install

bench-masters:
	$(PEERS) . 'libcosimpy>=0.0.6' 'ecospy>=0.7.2' pandas confluent-kafka matplotlib
	$(PEERS) --no-deps 'cofmupy>=1.0'
	PYTHONPATH=. .venv-peers/bin/python benchmarks/masters.py docs/masters.md

# The README's pictures; those of pages need Chromium.
docs: $(VENV)/.installed-test
	$(BIN)/python docs/make_pictures.py
	$(BIN)/python docs/make_screenshots.py

gallery: $(VENV)/.installed-test
	$(BIN)/python docs/make_gallery.py

clean:
	rm -rf $(VENV) .venv-wheel .venv-lowest .venv-peers build dist runs *.egg-info
