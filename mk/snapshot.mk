.PHONY: bench-snapshot
bench-snapshot: tools ## Measure a snapshot of 5,000 nodes and 50,000 pods: time, requests, memory below 1 GiB
	@PYTHONPATH=$(COLLECTIONS) $(BIN)/python -m ansible_collections.inference_ops.dynamo.tests.benchmarks.bench_snapshot
