"""Translation: from lines to hypotheses, in order, streaming."""
