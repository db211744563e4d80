# Two commands matter: `make run` starts the page, `make test` runs every test. Both install what they need into .venv.

PYTHON ?= python3
BIN := .venv/bin
export RAG_HOME ?= data
# pip shows what it downloads on a terminal, and in a log only what goes wrong.
INSTALL = $(BIN)/pip install --disable-pip-version-check $$(test -t 1 || echo -qq) --constraint constraints.txt

.PHONY: run test check lint format install pins screenshot clean

# A small language model writes the answers once it is fetched and loaded; RAG_LLM=off make run does without.
run: export RAG_LLM ?= local
run: .venv/installed
	@ls "$(RAG_HOME)"/talks/*.json > /dev/null 2>&1 || $(BIN)/python -m ingest eval/data/talks
	@$(BIN)/python app.py $(ARGS)

test: .venv/installed-dev
	@$(BIN)/python -m pytest --numprocesses 2 --dist loadfile $(ARGS)

check: lint
	@$(BIN)/python -m pytest -m "not browser and not llm and not slow" --numprocesses 2 $(ARGS)

lint: .venv/installed-dev
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy

format: .venv/installed-dev
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

install: .venv/installed

# Refresh the pins: newest versions that work together, except torch, whose CPU build is chosen by hand.
pins:
	rm -rf .venv-pins
	$(PYTHON) -m venv .venv-pins
	.venv-pins/bin/pip install --quiet torch==2.13.0 '.[dev,youtube]'
	{ sed '/^# ---/q' constraints.txt; .venv-pins/bin/pip freeze --all --exclude pip --exclude talkcite | sed 's/+cpu//'; } > constraints.new
	mv constraints.new constraints.txt
	rm -rf .venv-pins

screenshot: .venv/installed-dev
	@$(BIN)/python docs/make_screenshot.py

clean:
	rm -rf .venv build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis

.venv/installed: pyproject.toml constraints.txt
	@echo "installing into .venv (about 2.3 GB; several minutes the first time)"
	@$(PYTHON) -m venv .venv
	@$(INSTALL) --editable '.[local]'
	@touch $@

.venv/installed-dev: .venv/installed
	@$(INSTALL) --editable '.[dev]'
	@touch $@
