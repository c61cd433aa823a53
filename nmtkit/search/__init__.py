"""Search: from a model's next-token scores to hypotheses."""
