# The tests, cheap ones first; `make test` ends with pytest's summary.
CORE_VENV := $(BUILD)/venv-core

$(CORE_VENV)/.ready: requirements-dev.txt
	@echo "==> A venv without Ansible in $(CORE_VENV), for the pure core"
	@$(PYTHON) -m venv $(CORE_VENV)
	@$(CORE_VENV)/bin/pip install --quiet --disable-pip-version-check pytest hypothesis PyYAML jsonschema
	@touch $@

.PHONY: test-core
test-core: $(CORE_VENV)/.ready $(COLLECTION) ## The pure core under bare pytest, without Ansible
	@echo "==> core tests without Ansible"
	@$(CORE_VENV)/bin/python -m pytest -q tests/unit/test_architecture.py tests/unit/plugins/module_utils/core

.PHONY: test-package
test-package: tools ## Build the collection, install the tarball elsewhere and use it from there
	@echo "==> the built collection, installed into an empty folder"
	@bash tests/tools/package.sh $(BUILD)/package

.PHONY: test
test: tools ## Everything that must pass before a change lands
	@echo "==> lint"; $(MAKE) lint docs-lint
	@$(MAKE) test-core
	@echo "==> ansible-test sanity"; $(MAKE) sanity
	@echo "==> ansible-test units"; $(MAKE) units
	@echo "==> goldens"; $(MAKE) goldens
	@$(MAKE) test-package
	@echo "==> molecule"; $(MAKE) molecule
	@echo "==> a slice of the comparison with the real scheduler"; $(MAKE) differential-fit SEEDS=$(or $(CI_SEEDS),0-5)
	@echo "==> pytest"; $(BIN)/python -m pytest tests/unit tests/integration
