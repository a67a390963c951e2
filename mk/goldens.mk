.PHONY: goldens
goldens: tools ## Compare with recorded answers of the real operator, scheduler and kubelet (PARTS=render ... for some)
	@PYTHONPATH=$(COLLECTIONS) $(BIN)/python -m ansible_collections.inference_ops.dynamo.tests.goldens.run "$(GOLDENS)" $(PARTS)
