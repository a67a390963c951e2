# Rendering: how fast, and how much memory.
.PHONY: bench-render
bench-render: tools ## Render all recorded inputs on all pathways in one process: seconds, megabytes, ratio to parsing
	@PYTHONPATH=$(COLLECTIONS) $(BIN)/python -m ansible_collections.inference_ops.dynamo.tests.benchmarks.bench_render "$(GOLDENS)"
