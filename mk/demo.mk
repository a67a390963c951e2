# The main job on the embedded cluster: plan, deploy with a smoke test, and the way back.
DEMO := demo
DEMO_RECIPE ?= docs/examples/vllm-agg
DEMO_ROOT := $(BUILD)/demo
# What is skipped is left out, so that a newcomer reads only what happens.
DEMO_PLAY = ANSIBLE_DISPLAY_SKIPPED_HOSTS=false ANSIBLE_CALLBACK_RESULT_FORMAT=yaml ANSIBLE_LOCALHOST_WARNING=false ANSIBLE_INVENTORY_UNPARSED_WARNING=false $(BIN)/ansible-playbook -i localhost, \
	-e dynamo_kubeconfig=$(BUILD)/clusters/$(DEMO)/kubeconfig -e dynamo_context=kwok-$(DEMO) -e dynamo_namespace=serving \
	-e dynamo_experiment_root=$(DEMO_ROOT) -e dgd_src=$(CURDIR)/$(DEMO_RECIPE)/deploy.yaml \
	-e '{"dynamo_support_manifests": ["$(CURDIR)/$(DEMO_RECIPE)/model-cache.yaml", "$(CURDIR)/$(DEMO_RECIPE)/model-download.yaml", "$(CURDIR)/$(DEMO_RECIPE)/model-validate.yaml"]}'

.PHONY: demo demo-down
demo: tools ## Show the main job on an embedded cluster: plan, deploy, smoke test; results in build/demo
	@$(CLUSTER) start $(DEMO) --serve >/dev/null
	@$(CLUSTER) prepare $(DEMO) --namespace serving
	@mkdir -p $(DEMO_ROOT)
	@echo "==> plan: what will it become, and does it fit?"
	@$(DEMO_PLAY) inference_ops.dynamo.plan
	@echo "==> deploy: apply, wait, smoke test"
	@$(DEMO_PLAY) inference_ops.dynamo.deploy
	@echo "==> done. The cluster goes on running; 'make demo-down' removes all."
	@echo "    plan     $(DEMO_ROOT)/plan.json"
	@echo "    report   $(DEMO_ROOT)/report.html"
	@echo "    ledger   $(DEMO_ROOT)/artifacts/deploy-iter-000/deployment_ledger.json"
	@echo "    kubectl  --kubeconfig $(BUILD)/clusters/$(DEMO)/kubeconfig --context kwok-$(DEMO) -n serving"

demo-down: tools ## Take the demo's deployment, cluster and results away
	@$(CLUSTER) stop $(DEMO)
	@rm -rf $(DEMO_ROOT)
