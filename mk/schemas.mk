.PHONY: schemas
schemas: tools ## Write the JSON Schemas of the ledger and the smoke artifact from the core's rules
	@PYTHONPATH=$(COLLECTIONS) $(BIN)/python -m ansible_collections.inference_ops.dynamo.tests.tools.schemas
