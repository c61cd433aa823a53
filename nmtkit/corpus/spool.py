"""The spool: clean training pairs on disk between their one reading and their two uses, learning and packing."""

import hashlib
import random
from collections.abc import Iterable, Iterator
from pathlib import Path

from nmtkit.corpus.cleaning import KeptPair
from nmtkit.corpus.pair import SentencePair
from nmtkit.errors import naming

SAMPLE_SEED = 1
"""Which lines a vocabulary is learned from is part of the method, not of an experiment."""


def write_spool(path: Path, pairs: Iterable[KeptPair]) -> str:
    """Write pairs and return the SHA-256 of their texts, hexadecimal; where they stood does not count towards it."""
    digest = hashlib.sha256()
    with naming(path), path.open("wb", buffering=1 << 20) as stream:
        for corpus, line, pair in pairs:
            text = f"{pair.source}\t{pair.target}\n".encode()  # clean text holds neither tab nor line feed
            digest.update(text)
            stream.write(b"%d\t%d\t" % (corpus, line))
            stream.write(text)
    return digest.hexdigest()


def read_spool(path: Path) -> Iterator[KeptPair]:
    """Yield the pairs again."""
    with path.open("rb", buffering=1 << 20) as stream:
        for raw in stream:  # a binary stream is cut at 0x0A only
            corpus, line, source, target = raw[:-1].decode("utf-8").split("\t")
            yield KeptPair(int(corpus), int(line), SentencePair(source, target))


def sample_spool(path: Path, pairs: int, size: int) -> Iterable[SentencePair]:
    """Return `size` of the `pairs` pairs of a spool drawn at random, or all of them, then without holding them.

    Each pair is as likely as any other (Vitter 1985, algorithm R); same spool, same sample.
    """
    if pairs <= size:
        return (kept.pair for kept in read_spool(path))
    generator = random.Random(SAMPLE_SEED)
    sample: list[SentencePair] = []
    for seen, kept in enumerate(read_spool(path)):
        if seen < size:
            sample.append(kept.pair)
        elif (place := generator.randrange(seen + 1)) < size:
            sample[place] = kept.pair
    return sample
