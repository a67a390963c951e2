.PHONY: goldens
goldens: tools ## Compare with recorded answers of the real operator, scheduler and kubelet (PARTS=render ... for some)
	@$(BIN)/python tests/goldens/run.py $(GOLDENS) $(PARTS)
