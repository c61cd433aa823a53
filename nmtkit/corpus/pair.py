"""SentencePair: a source text and its translation."""

from typing import NamedTuple


class SentencePair(NamedTuple):
    """Two texts that say the same. Neither holds a line break."""

    source: str
    target: str
