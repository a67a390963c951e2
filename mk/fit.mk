# gpu_fit against the real scheduler, and how long it takes.
SEEDS ?= 0-99

.PHONY: differential-fit bench-fit
differential-fit: tools ## Judge random clusters beside the real kube-scheduler: SEEDS=0-99
	@CACHE=$(CACHE) PYTHONPATH=$(COLLECTIONS) $(BIN)/python -m ansible_collections.inference_ops.dynamo.tests.differential.fit $(SEEDS)

bench-fit: tools ## Time gpu_fit on large clusters, beside the real kube-scheduler (3 min): ARGS='--no-scheduler'
	@CACHE=$(CACHE) PYTHONPATH=$(COLLECTIONS) $(BIN)/python -m ansible_collections.inference_ops.dynamo.tests.benchmarks.bench_fit $(ARGS)
