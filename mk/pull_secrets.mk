.PHONY: bench-pull-secrets
bench-pull-secrets: tools ## Time the pull secret judge: 5,000 secrets and 200 images in under 1 s
	@PYTHONPATH=$(COLLECTIONS) $(BIN)/python -m ansible_collections.inference_ops.dynamo.tests.benchmarks.bench_pull_secrets
