"""Models: what a model promises (`base`), shared layers, and one folder per architecture."""
