# The roles and playbooks on a real control plane.
MOLECULE = PATH=$(BIN):$$PATH PYTHONPATH=$(COLLECTIONS) CACHE=$(CACHE) $(BIN)/molecule

.PHONY: molecule
molecule: tools cluster-build ## Create, converge, idempotence, verify, destroy on the embedded cluster (SCENARIO=default)
	@$(MOLECULE) test --scenario-name $(or $(SCENARIO),default)
