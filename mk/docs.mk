TOOL = PYTHONPATH=$(COLLECTIONS) $(BIN)/python -m ansible_collections.inference_ops.dynamo.tests.tools

.PHONY: docs
docs: tools ## Write the generated pages: reason codes (and the roles' READMEs: docs-roles)
	@$(TOOL).reason_codes

.PHONY: docs-lint
docs-lint: tools ## Generated pages up to date, module docs valid
	@$(TOOL).reason_codes --check
	@$(BIN)/antsibull-docs lint-collection-docs --plugin-docs --skip-rstcheck .
	@$(BIN)/antsibull-changelog lint
