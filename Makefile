# What can be done here. Everything runs inside .venv, which the first target that needs it makes: the packages of
# requirements.lock, the project itself, and a browser; to work on it, those of requirements-dev.lock too. A second call
# does none of that again.

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.SUFFIXES:
.NOTPARALLEL:

# Another interpreter: `make demo PYTHON=/path/to/python3.12`. Else the first of these that is new enough.
PYTHON ?=
FIND_PYTHON := python=; for name in $(or $(PYTHON),python3 python3.14 python3.13 python3.12 python3.11); do \
	"$$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && python=$$name && break; done

# A download that hangs must not hang the set-up; where there is no `timeout` it has to be stopped by hand.
TIMEOUT := $(if $(shell command -v timeout),timeout 300)

AS_ROOT := $(filter 0,$(shell id -u))
APT := $(and $(AS_ROOT),$(shell command -v apt-get))

# uv installs several times as fast, where there is one.
PIP := $(if $(shell command -v uv),uv pip install --quiet --python .venv/bin/python,.venv/bin/python -m pip install -qq --disable-pip-version-check)

# Draws an empty page: a browser whose system libraries are missing can be found and yet not start.
BROWSER_STARTS := browser=$$(.venv/bin/python -m monitor.fetch.browser.launch 2>/dev/null) && \
	"$$browser" --headless --no-sandbox --disable-gpu --dump-dom about:blank >/dev/null 2>&1

## Look at it ------------------------------------------------------------------------------------------

.PHONY: help
help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-12s %s\n", $$1, $$2}' Makefile

.PHONY: demo
demo: .venv/.browser ## sweep the two sample sites and write their briefing to out/briefing.html
	@.venv/bin/python -m monitor demo --out out

## Work on it ------------------------------------------------------------------------------------------

# Two a core: much of what the tests do is wait for a server, a browser or a deadline.
WORKERS := $(shell echo $$((2 * $$(nproc 2>/dev/null || echo 1))))

.PHONY: test
test: .venv/.browser .venv/.dev ## run the tests; some of them: make test ARGS="tests/unit -k dates"
	@.venv/bin/python -m compileall -q monitor # once, and not in each of the processes that the tests start
	@.venv/bin/python -m pytest -n $(WORKERS) --dist worksteal $(ARGS)

.PHONY: check
check: .venv/.browser .venv/.dev ## ruff, mypy, the rules of imports, words and structure, and whether the documentation is complete
	@.venv/bin/ruff check --quiet .
	@.venv/bin/ruff format --quiet --check . || { echo "Not formatted; mend it with: .venv/bin/ruff format ."; exit 1; }
	@.venv/bin/mypy
	@.venv/bin/lint-imports
	@.venv/bin/python -m pytest tests/test_docs.py tests/test_words.py tests/test_structure.py

.PHONY: client
client: .venv/.browser .venv/.dev .venv/client/.packages ## write a typed Python client of the API to out/client, check its types, and use it
	@.venv/bin/python -m docs.tools.client
	@.venv/bin/mypy --strict --config-file= out/client/monitor_client
	@.venv/bin/python -m pytest tests/acceptance/test_client.py
	@command -v npx >/dev/null || { echo "no npx: spectral has not checked out/openapi.json"; exit 0; }; \
	npx --yes @stoplight/spectral-cli@6 lint out/openapi.json --ruleset docs/tools/spectral.yaml --fail-severity warn

.PHONY: soak
soak: .venv/.browser .venv/.dev ## run the long tests (memory, endurance) that `make test` leaves out
	@.venv/bin/python -m pytest -m soak $(ARGS)
	@.venv/bin/python -m pytest -m hypothesis --hypothesis-profile=explore

.PHONY: bench
bench: .venv/.browser .venv/.dev ## list the benchmarks, or run one: make bench NAME=startup JSON=1 ARGS=…
	@.venv/bin/python -m benchmarks $(or $(NAME),--help) $(if $(NAME),$(ARGS) $(if $(JSON),--json))

.PHONY: docs
docs: .venv/.packages .venv/docs/.packages ## write docs/reference from the program, and build the docs site in out/docs
	@.venv/bin/python docs/tools/reference.py
	@NO_MKDOCS_2_WARNING=1 .venv/docs/bin/mkdocs build --quiet
	@echo "out/docs/index.html"

.PHONY: screenshots
screenshots: .venv/.browser .venv/.dev ## take the screenshots of docs/images anew, from the sample sites
	@.venv/bin/python -m docs.tools.screenshots

## Ship it ---------------------------------------------------------------------------------------------

.PHONY: package
package: .venv/.dev ## build the sdist, and the wheel from it, into out/dist
	@rm -rf out/dist
	@.venv/bin/python -m build --outdir out/dist . >/dev/null
	@ls out/dist

.PHONY: package-test
package-test: .venv/.browser .venv/.dev ## install what is shipped in every supported way, and try each; takes many minutes
	@.venv/bin/python -m pytest -m package --timeout 1800 $(or $(ARGS),tests/package)

.PHONY: sbom
sbom: .venv/.dev ## write what ships, with its licences, to out/sbom.json and out/licences.md
	@.venv/bin/python -m tests.package.shipped out

## Set it up -------------------------------------------------------------------------------------------

.PHONY: browser
browser: .venv/.browser ## make .venv and find or install a browser, without running anything
	@.venv/bin/python -m monitor.fetch.browser.launch

EXPORT := uv export --quiet --locked --no-emit-project --no-header --no-annotate --format requirements-txt

.PHONY: lock
lock: ## choose the newest allowed packages anew and write the requirements*.lock (needs uv)
	@command -v uv >/dev/null || { echo "make lock needs uv: https://docs.astral.sh/uv/"; exit 1; }
	@uv lock --quiet --upgrade
	@$(EXPORT) --no-dev --all-extras --output-file requirements.lock
	@$(EXPORT) --only-group build --output-file requirements-build.lock
	@$(EXPORT) --group dev --group build --all-extras --output-file requirements-dev.lock
	@$(EXPORT) --only-group docs --output-file requirements-docs.lock
	@echo "openapi-python-client>=0.29" | uv pip compile --quiet --upgrade --generate-hashes --universal --no-annotate --no-header --python-version 3.11 - --output-file requirements-client.lock

.venv/.made:
	@$(FIND_PYTHON); \
	test -n "$$python" || { echo "Monitor needs Python 3.11 or newer: install it, or name it as PYTHON=…"; exit 1; }; \
	"$$python" -c 'import ensurepip' 2>/dev/null \
	|| { test -n "$(APT)" && echo "Installing python3-venv …" && apt-get update -qq >/dev/null \
		&& DEBIAN_FRONTEND=noninteractive apt-get install -y -qq python3-venv >/dev/null; } \
	|| { echo "Python's venv module is missing: install it, on Debian with: apt-get install python3-venv"; exit 1; }; \
	test -x .venv/bin/python || "$$python" -m venv .venv
	@touch $@

.venv/.packages: .venv/.made requirements.lock requirements-build.lock pyproject.toml
	@echo "Installing the locked packages into .venv …"
	@$(PIP) --require-hashes -r requirements.lock -r requirements-build.lock
	@$(PIP) --no-deps --no-build-isolation --editable .
	@touch $@

.venv/.dev: .venv/.packages requirements-dev.lock
	@echo "Installing the tools of development …"
	@$(PIP) --require-hashes -r requirements-dev.lock
	@touch $@

.venv/docs/.packages: .venv/.made requirements-docs.lock
	@.venv/bin/python -m venv .venv/docs
	@.venv/docs/bin/python -m pip install -qq --disable-pip-version-check --require-hashes -r requirements-docs.lock
	@touch $@

.venv/client/.packages: .venv/.made requirements-client.lock
	@.venv/bin/python -m venv .venv/client
	@.venv/client/bin/python -m pip install -qq --disable-pip-version-check --require-hashes -r requirements-client.lock
	@touch $@

.venv/.browser: .venv/.packages
	@{ $(BROWSER_STARTS); } \
	|| { echo "No browser yet; asking Playwright for its Chromium …" \
		&& $(TIMEOUT) .venv/bin/python -m playwright install chromium >/dev/null 2>&1 && { $(BROWSER_STARTS); }; } \
	|| { test -n "$(APT)" && echo "Installing chromium-headless-shell and fonts-noto-cjk …" && apt-get update -qq >/dev/null \
		&& DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium-headless-shell fonts-noto-cjk >/dev/null \
		&& { $(BROWSER_STARTS); }; } \
	|| { echo "There is no Chromium that starts: apt-get install chromium-headless-shell fonts-noto-cjk, or see docs/administrators/browser.md"; exit 1; }
	@touch $@
