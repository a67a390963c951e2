# Readiness and triage.
.PHONY: bench-triage bench-wait test-triage
bench-triage: tools ## Time the judgement of 2,000 pods and 20,000 events
	@PYTHONPATH=$(COLLECTIONS) $(BIN)/python -m ansible_collections.inference_ops.dynamo.tests.benchmarks.bench_triage

bench-wait: tools ## Time event to verdict (20 runs) and count API requests of a wait, on the embedded cluster
	@$(BIN)/python -m pytest -q -s tests/integration/triage/test_waiting.py

test-triage: tools ## Bring every category of triage about on the embedded cluster, and the recorded states
	@$(BIN)/python -m pytest -q tests/unit/plugins/module_utils/core/triage tests/integration/triage
	@$(MAKE) goldens PARTS=triage
