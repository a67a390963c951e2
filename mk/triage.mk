# Readiness and triage.
.PHONY: bench-triage
bench-triage: tools ## Time the judgement of 2,000 pods and 20,000 events
	@PYTHONPATH=$(COLLECTIONS) $(BIN)/python -m ansible_collections.inference_ops.dynamo.tests.benchmarks.bench_triage
