# A kind cluster with real kubelets and containers. tests/kind/README.md tells what it needs.
KIND = CACHE=$(CACHE) PYTHONPATH=$(COLLECTIONS) $(BIN)/python -m ansible_collections.inference_ops.dynamo.tests.kind

.PHONY: kind-up kind-down kind-status molecule-kind kind-failures
kind-up: tools ## Start a kind cluster NAME with the model served from pods (KIND_NODE_IMAGE names the node image)
	@$(KIND) up $(NAME)

kind-down: tools ## Remove the kind cluster NAME
	@$(KIND) down $(NAME)

kind-status: tools ## Describe the kind cluster NAME
	@$(KIND) status $(NAME)

molecule-kind: tools ## The roles on real kubelets: create, converge, idempotence, verify, destroy
	@CACHE=$(CACHE) PYTHONPATH=$(COLLECTIONS) PATH=$(BIN):$$PATH $(BIN)/molecule test -s kind

kind-failures: tools ## Real failures on a kind cluster, each triaged (starts and removes one; KIND_TESTS='-k WORDS' for some)
	@CACHE=$(CACHE) $(BIN)/pytest tests/kind $(KIND_TESTS)

.PHONY: kind-where-possible
kind-where-possible: tools ## The kind scenario and the real failures, where a node image can be had; else say why not
	@if $(KIND) available; then $(MAKE) molecule-kind kind-failures; else echo "==> kind: skipped, for the reason above"; fi
