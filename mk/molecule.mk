# The roles and playbooks on a real control plane.
MOLECULE = PATH=$(BIN):$$PATH PYTHONPATH=$(COLLECTIONS) CACHE=$(CACHE) $(BIN)/molecule

.PHONY: molecule
molecule: tools cluster-build ## Create, converge, idempotence, verify, destroy on the embedded cluster (SCENARIO=default POINTS='01_handoff ...')
	@POINTS="$(POINTS)" $(MOLECULE) test --scenario-name $(or $(SCENARIO),default)

.PHONY: kill-test
kill-test: tools cluster-build ## Kill the deploy playbook at KILLS=20 random moments (KILL_SEED=1) and run it again
	@KILLS=$(or $(KILLS),20) KILL_SEED=$(or $(KILL_SEED),1) $(BIN)/python -m pytest -q -s tests/integration/workflow/test_kill.py

.PHONY: bench-workflow
bench-workflow: tools cluster-build ## Requests and wall clock beside the recipe document's workflow in shell
	@PYTHONPATH=$(COLLECTIONS) $(BIN)/python -m ansible_collections.inference_ops.dynamo.tests.benchmarks.bench_workflow
