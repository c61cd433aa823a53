"""The ids every vocabulary begins with. No text can produce them."""

PAD = 0
"""Fills a row of a batch beyond the sentence's own length."""
UNK = 1
"""A character that the vocabulary does not hold (never with byte fallback)."""
BOS = 2
"""The first input of the decoder; never predicted."""
EOS = 3
"""The end mark of source and target."""
