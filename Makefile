# make run · make test · make bench · make lint. Everything happens in .venv, made when it is not there.
PYTHON ?= python3
BIN := .venv/bin
# where it is set, every process would compile all it imports anew: ten seconds each
unexport PYTHONDONTWRITEBYTECODE

.PHONY: run test bench lint types clean

run: .venv/ready
	$(BIN)/replab run cnn

# a file's tests on one worker: its fixtures are made once
test: lint types
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder

lint: .venv/ready
	$(BIN)/ruff check src tests benchmarks examples

types: .venv/ready
	$(BIN)/mypy

bench: .venv/ready
	for file in benchmarks/*.py; do echo "== $$file"; $(BIN)/python $$file || exit 1; done

# constraints.txt pins every package, those of other packages too. Most of their files are never imported: none is compiled.
.venv/ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	touch $@

clean:
	rm -rf .venv .mypy_cache .pytest_cache .ruff_cache .hypothesis
