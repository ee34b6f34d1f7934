# make run · make test · make quick · make coverage · make bench · make faults · make fuzz · make soak. Everything happens in .venv, made when it is not there.
PYTHON ?= python3
BIN := .venv/bin
CHECKED := src tests benchmarks examples tools setup.py
PIP := $(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check --constraint constraints.txt
# one thread per process, because tests run side by side; the tests of one file on one worker, which makes its fixtures once
PYTEST := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder
# where it is set, every process would compile all it imports anew: ten seconds each
unexport PYTHONDONTWRITEBYTECODE

.PHONY: run test quick coverage lint types bench same lock faults fuzz soak export-check dist clean peers

run: .venv/ready
	$(BIN)/replab run cnn

test: lint types
	$(PYTEST)

# lint, types, and the tests of the rooms that differ from the branch's starting point
quick: lint types
	tests="$$($(BIN)/python tools/changed_tests.py)"; test -z "$$tests" || $(PYTEST) $$tests

# the share of lines that the tests run, room by room
coverage: .venv/dev
	$(PYTEST) --cov=src --cov-report=json:.coverage.json
	$(BIN)/python tools/coverage_by_room.py .coverage.json

lint: .venv/dev
	$(BIN)/ruff check $(CHECKED)
	$(BIN)/ruff format --check --quiet $(CHECKED) || { $(BIN)/ruff format --check $(CHECKED); exit 1; }

types: .venv/dev
	$(BIN)/mypy

bench: .venv/ready
	for file in benchmarks/*.py; do echo "== $$file"; $(BIN)/python $$file || failed="$$failed $$file"; done; \
		test -z "$$failed" || { echo "failed:$$failed (those of CIFAR-10 and MNIST need the images, or a network)"; exit 1; }

# replab against fastai, Lightning + Optuna and skorch, in an environment of their own; PEERS="--seeds 0,1,2" and the like
peers: .venv/ready .venv-peers/ready
	$(BIN)/python benchmarks/peers/run.py $(PEERS)

.venv-peers/ready: benchmarks/peers/constraints.txt
	$(PYTHON) -m venv .venv-peers
	.venv-peers/bin/python -m pip install --quiet --no-compile --disable-pip-version-check \
		--constraint benchmarks/peers/constraints.txt torch torchvision fastai lightning optuna skorch \
		|| { echo "make peers: fastai, Lightning, Optuna and skorch cannot be installed here"; exit 1; }
	touch $@

# make same OLD=COMMIT: does that commit compute the same bits as the working tree?
same: .venv/ready
	$(BIN)/python tools/same_numbers.py $(OLD)

# requirements.lock: every package that running needs, with hashes, for pip install --require-hashes
lock: .venv/dev
	$(BIN)/python tools/lock.py

# what tests/faults samples, all of it: under an hour
faults: .venv/dev
	OMP_NUM_THREADS=1 $(BIN)/python tests/faults/all_faults.py

# make fuzz MINUTES=10: mutated files for every reader, with limits of memory and time; what fails goes to tests/fuzz/corpus
MINUTES ?= 10
fuzz: .venv/dev
	OMP_NUM_THREADS=1 $(BIN)/python tests/fuzz/fuzzing.py --minutes $(MINUTES)

# 200 small runs in one folder by four processes that are killed, terminated and run out of disk
soak: .venv/dev
	OMP_NUM_THREADS=1 $(BIN)/python tests/faults/soak.py
# every registered model as ONNX, TorchScript, torch.export and safetensors; prints the table of docs/deploy.md
export-check: .venv/dev
	$(BIN)/python tools/export_check.py

# a wheel and an sdist in dist/, as PyPI would take them
dist: .venv/dev
	rm -rf dist
	$(BIN)/python -m build --quiet --no-isolation --outdir dist .
	$(BIN)/python -m twine check --strict dist/*

# What running needs. constraints.txt pins every package, those of other packages too. Most of their files are never
# imported: none is compiled.
.venv/ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(PIP) --editable .
	touch $@

# And what changing it needs.
.venv/dev: .venv/ready
	$(PIP) --editable '.[dev]'
	touch $@

clean:
	rm -rf .venv .venv-peers .mypy_cache .pytest_cache .ruff_cache .hypothesis .coverage .coverage.json build dist
