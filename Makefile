# Every target of the project. `make demo` shows the main job, `make test` passes the tests, `make help` lists the rest.
# Areas keep their targets in mk/*.mk; what they share stands here.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

PYTHON ?= python3
BUILD := $(CURDIR)/build
CACHE ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/inference-ops-dynamo
# Tools stay in the checkout; what takes long to make is kept in the user's cache folder by content hash.
VENV := $(BUILD)/venv
BIN := $(VENV)/bin
# Ansible wants the path ansible_collections/NAMESPACE/NAME: a link gives any checkout that path.
COLLECTIONS := $(BUILD)/collections
COLLECTION := $(COLLECTIONS)/ansible_collections/inference_ops/dynamo
GOLDENS ?= ../shared/goldens

export PATH := $(BIN):$(PATH)
export ANSIBLE_COLLECTIONS_PATH := $(COLLECTIONS)
export ANSIBLE_HOME := $(BUILD)/ansible
# Bytecode is kept, but never beside the sources; a shell that asks for none means the latter.
export PYTHONPYCACHEPREFIX := $(BUILD)/pycache
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help
help: ## List the targets
	@grep -hE '^[a-z][a-z0-9-]*:.*## ' $(MAKEFILE_LIST) | sort | awk -F ':.*## ' '{ printf "  %-22s %s\n", $$1, $$2 }'

$(VENV)/.ready: requirements-dev.txt meta/ee-requirements.txt
	@echo "==> Python tools in $(VENV) (about a minute the first time)"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/pip install --quiet --disable-pip-version-check -r requirements-dev.txt
	@touch $@

$(COLLECTION):
	@mkdir -p $(@D)
	@ln -sfn $(CURDIR) $@

.PHONY: tools
tools: $(VENV)/.ready $(COLLECTION) ## Install the Python tools and link the checkout as a collection

include $(sort $(wildcard mk/*.mk))
