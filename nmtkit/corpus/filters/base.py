"""What a filter is: a judge of each pair alone, or a key by which pairs repeat each other."""

import hashlib
import sys
from abc import ABC, abstractmethod
from array import array
from collections.abc import Sequence
from typing import NamedTuple

from nmtkit.corpus.pair import SentencePair


class FilterContext(NamedTuple):
    """What a filter may need to know: the languages, and the pairs of development and test sets, normalised."""

    source_language: str
    target_language: str
    held_out: Sequence[SentencePair] = ()


class Filter(ABC):
    """Keeps or drops a pair as a unit, by nothing but the pair itself. True keeps it."""

    def __call__(self, pair: SentencePair) -> bool:
        """Return whether the pair is kept."""
        return not self.objection(pair)

    @abstractmethod
    def objection(self, pair: SentencePair) -> str:
        """Return what speaks against the pair, the value measured and the limit, in words; empty where it is kept."""

    def dropped(self, sources: Sequence[str], targets: Sequence[str]) -> list[int]:
        """Return the places of the pairs that are dropped: what calling for each would give, but faster.

        No text holds a line feed.
        """
        pairs = enumerate(zip(sources, targets, strict=True))
        return [place for place, pair in pairs if not self(SentencePair(*pair))]


class Duplicates(ABC):
    """Gives pairs a key: of all pairs of one key, in the order of the corpora, the first is kept."""

    @abstractmethod
    def key(self, pair: SentencePair) -> str:
        """Return the key."""

    @abstractmethod
    def texts(self, sources: Sequence[str], targets: Sequence[str]) -> list[str]:
        """Return the key of each pair: what calling for each would give, but faster. No text holds a line feed."""

    def keys(self, sources: Sequence[str], targets: Sequence[str]) -> "array[int]":
        """Return a hash of 64 bits of the key of each pair: the first bytes of BLAKE2b, the same everywhere.

        Two of 100 million different pairs take each other's place with a probability of 1 in 3,700.
        """
        blake2b = hashlib.blake2b  # not hash(): Python salts it anew for each process
        texts = self.texts(sources, targets)
        digests = [blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest() for text in texts]
        keys = array("Q", b"".join(digests))
        if sys.byteorder == "big":
            keys.byteswap()
        return keys


def both_sides(pair: SentencePair) -> tuple[tuple[str, str], tuple[str, str]]:
    """Return each side with its name."""
    return ("source", pair.source), ("target", pair.target)
