"""Segmenters: text to ids of subword pieces and back. A segmenter's model file is the vocabulary."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

from pydantic import Field

from nmtkit.errors import CheckpointError
from nmtkit.section import Section

LONGEST_PIECE = 16
"""Characters of the longest piece: a text of more than n × LONGEST_PIECE characters has more than n pieces."""


class Segmenter(ABC):
    """Text to ids and back, for one language or a joint vocabulary. Ids 0-3 are those of `corpus.vocabulary`."""

    size: int
    """Pieces in the vocabulary, the control ids included."""
    fingerprint: str
    """SHA-256 of the model file, hexadecimal."""

    @abstractmethod
    def encode(self, lines: Sequence[str]) -> list[list[int]]:
        """Return the ids of each line, without begin or end mark. No text yields a control id but UNK."""

    @abstractmethod
    def decode(self, sentences: Sequence[Sequence[int]]) -> list[str]:
        """Return the text of each sequence of ids, on one line each; PAD, BOS and EOS vanish, UNK shows as ⁇."""

    @abstractmethod
    def pieces(self, ids: Sequence[int]) -> list[str]:
        """Return the surface form of each id, "▁" marking a space before it."""


class SentencePieceConfig(Section):
    """What the SentencePiece models have in common (Kudo and Richardson 2018)."""

    vocabulary_size: int = Field(
        37_000,
        ge=8,
        le=1_000_000,
        description="Pieces, control ids included; of each vocabulary where they are separate.",
    )
    joint: bool = Field(True, description="One vocabulary for both languages, learned from both sides.")
    byte_fallback: bool = Field(True, description="Spell characters without a piece in bytes: nothing is lost.")
    character_coverage: float = Field(
        1.0,
        gt=0.98,
        le=1,
        description="Share of the characters of the corpus that get a piece; 0.9995 for Chinese, Japanese.",
    )
    sample_size: int = Field(
        10_000_000,
        ge=2,
        description="Lines drawn, with a fixed seed, to learn the vocabulary from: half of them of each side.",
    )


class BpeConfig(SentencePieceConfig):
    """Byte-pair encoding (Sennrich et al. 2016)."""

    kind: Literal["bpe"] = "bpe"


class UnigramConfig(SentencePieceConfig):
    """Pieces of a unigram language model (Kudo 2018)."""

    kind: Literal["unigram"] = "unigram"


SegmenterConfig = Annotated[BpeConfig | UnigramConfig, Field(discriminator="kind")]


class Learned(NamedTuple):
    """A vocabulary fresh from learning: its model file's bytes, and the lines it was and was not learned from."""

    model: bytes
    lines: int
    too_long: int


def learn_segmenter(config: BpeConfig | UnigramConfig, lines: Iterable[str], *, of: str = "the text") -> Learned:
    """Learn a vocabulary from lines; `of` is what messages call them. Same lines, same bytes.

    Raises DataError where the lines cannot fill the vocabulary or overfill it, with the nearest possible size.
    """
    from nmtkit.corpus.sentencepiece_model import learn

    return learn(config, lines, of)


def load_segmenter(model_file: Path) -> Segmenter:
    """Open a model file. Raises CheckpointError where it is missing or damaged."""
    try:
        model = model_file.read_bytes()
    except OSError as error:
        raise CheckpointError(
            f"the vocabulary {model_file} cannot be read ({error.strerror}); run `nmtkit prepare` for this run folder"
        ) from None
    return open_segmenter(model, str(model_file))


def open_segmenter(model: bytes, name: str) -> Segmenter:
    """Open the bytes of a model file, which messages call `name`. Raises CheckpointError where they are damaged."""
    from nmtkit.corpus.sentencepiece_model import SentencePieceSegmenter

    return SentencePieceSegmenter(model, name)
