# Checks of form: what a reviewer should not have to look for.
PYVERSION = $(shell $(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])')
SOURCES := plugins tests

.PHONY: lint
lint: tools ## ruff, mypy strict, yamllint, ansible-lint (production profile)
	@$(BIN)/ruff check $(SOURCES)
	@$(BIN)/ruff format --check $(SOURCES)
	@$(BIN)/mypy $(addprefix $(COLLECTION)/,$(SOURCES))
	@$(BIN)/yamllint --strict .
	@$(BIN)/ansible-lint --offline --profile production

.PHONY: format
format: tools ## Format the Python code
	@$(BIN)/ruff check --fix --quiet $(SOURCES) || true
	@$(BIN)/ruff format $(SOURCES)

.PHONY: sanity
sanity: tools ## ansible-test sanity
	@$(BIN)/python tests/tools/run_ansible_test.py $(BUILD) sanity --color no --python $(PYVERSION) $(SANITY)

.PHONY: units
units: tools ## ansible-test units: the unit tests as Ansible's own runner sees them
	@$(BIN)/python tests/tools/run_ansible_test.py $(BUILD) units --color no --python $(PYVERSION) $(UNITS)
