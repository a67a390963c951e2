# What the roles' papers are made from.
.PHONY: docs-roles
docs-roles: tools ## Write the roles' READMEs from their argument specifications
	@$(BIN)/python tests/tools/role_readmes.py roles

.PHONY: docs-check
docs-check: tools ## Check that the roles' READMEs and defaults agree with their argument specifications
	@$(BIN)/python tests/tools/role_readmes.py roles --check

docs-lint: docs-check
