# Everything from nothing but python3 (3.11 to 3.13): each target first makes .venv and leaves it up to date.
# make PYTHON=/path/to/python3 chooses the Python; make test ARGS="-k queue" passes options on.

BIN := .venv/bin
# The snippets of the docs are among the tests as well: make check SNIPPETS= leaves them to make test.
SNIPPETS = tests/docs
export PYTHON

.DEFAULT_GOAL := help
.PHONY: help venv setup compiled demo test check bench bench-pipeline fuzz crash mutation clean

help:  ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-14s %s\n", $$1, $$2 }' Makefile

venv:
	@scripts/setup.sh

setup: venv  ## make .venv, install everything, say which Java Spark will use
	@$(BIN)/python -c "from pointsman.pipeline.spark.java import main; raise SystemExit(main())" || echo "Everything but the Spark pipeline works without Java."

demo: compiled  ## play an hour of a shop through a pipeline on Spark
	@$(BIN)/pointsman demo $(ARGS)

compiled: venv
	@$(BIN)/python scripts/compile_matching.py

test: compiled  ## run the tests
	$(BIN)/python -m pytest $(ARGS)

check: venv  ## lint, formatting, types, import rules, the snippets of the docs
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy --strict
	$(BIN)/lint-imports
	$(if $(SNIPPETS),$(BIN)/python -m pytest $(SNIPPETS))

bench: venv  ## measure, and print the numbers the docs quote
	@$(BIN)/pointsman bench $(ARGS)

bench-pipeline: compiled  ## measure the pipeline beside jobs written by hand for Spark
	@$(BIN)/python -m benchmarks.pipeline $(ARGS)

fuzz: venv  ## look for inputs on which two implementations disagree
	$(BIN)/python -m tests.fuzz $(ARGS)
	$(BIN)/python -m tests.agree

crash: venv  ## kill processes at random instants, hundreds of times, and see whether anything is lost
	$(BIN)/python -m tests.crash $(ARGS)

mutation: venv  ## change the code in many places and see whether the tests notice
	$(BIN)/python scripts/mutation.py $(ARGS)

clean:  ## remove everything the other targets made, .venv too
	rm -rf .venv build dist htmlcov .coverage .coverage.* .hypothesis .import_linter_cache .mypy_cache
	rm -rf .pytest_cache .ruff_cache spark-warehouse metastore_db derby.log artifacts pointsman-demo
	find src tests scripts docs -name __pycache__ -type d -prune -exec rm -rf {} +
