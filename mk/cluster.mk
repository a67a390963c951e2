# The embedded cluster: a real control plane with KWOK for kubelets. tests/cluster/README.md tells more.
NAME ?= dev
CLUSTER = CACHE=$(CACHE) PYTHONPATH=$(COLLECTIONS) $(BIN)/python -m ansible_collections.inference_ops.dynamo.tests.cluster

.PHONY: cluster-build cluster-up cluster-down cluster-status cluster-serve
cluster-build: tools ## Build the embedded cluster's programs (once per content of its go.mod)
	@$(CLUSTER) build

cluster-up: tools ## Start an embedded cluster: NAME=dev, ARGS='--pools FILE --release 1.1 --apis dynamo,lws,grove --serve'
	@$(CLUSTER) start $(NAME) $(ARGS)

cluster-down: tools ## Stop the embedded cluster NAME and remove its folder
	@$(CLUSTER) stop $(NAME)

cluster-status: tools ## Describe the embedded cluster NAME
	@$(CLUSTER) status $(NAME)

cluster-serve: tools ## Start the real frontend and mocker behind the embedded cluster NAME
	@$(CLUSTER) serve $(NAME)
