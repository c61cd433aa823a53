"""Segmenters: text to ids of pieces and back. A segmenter's model file is the vocabulary."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

from pydantic import Field

from nmtkit.errors import CheckpointError, ConfigError
from nmtkit.section import Conflict, Section

if TYPE_CHECKING:
    from nmtkit.corpus.sampling import Sampler

LONGEST_PIECE = 16
"""Characters of the longest piece of a vocabulary learned here."""


class Segmenter(ABC):
    """Text to ids and back, for one language or a joint vocabulary. Ids 0-3 are those of `corpus.vocabulary`."""

    size: int
    """Pieces in the vocabulary, the control ids included."""
    fingerprint: str
    """SHA-256 of the model file, hexadecimal."""
    longest_piece: int = LONGEST_PIECE
    """Characters of the longest piece: a text of more than n × longest_piece characters has more than n pieces."""
    tags: Mapping[str, int] = {}
    """The ids of tags by their names: control pieces that no text yields, put before a sentence to say what it is."""

    @abstractmethod
    def encode(self, lines: Sequence[str]) -> list[list[int]]:
        """Return the ids of each line, without begin or end mark. No text yields a control id but UNK."""

    @abstractmethod
    def decode(self, sentences: Sequence[Sequence[int]]) -> list[str]:
        """Return the text of each sequence of ids, on one line each; PAD, BOS, EOS, tags vanish, UNK shows as ⁇."""

    @abstractmethod
    def pieces(self, ids: Sequence[int]) -> list[str]:
        """Return the surface form of each id, "▁" marking a space before it."""

    def tag(self, name: str) -> int:
        """Return the id of a tag. Raises CheckpointError where the vocabulary was made without it."""
        if name not in self.tags:
            raise CheckpointError(
                f"the vocabulary has no tag {name!r} ({', '.join(self.tags) or 'none at all'}); run `nmtkit prepare` "
                "again, or take away the tag"
            )
        return self.tags[name]

    def sampler(self, *, dropout: float, alpha: float) -> "Sampler":  # noqa: ARG002  not here
        """Return what segments text in one of many ways, drawn at random; each kind heeds one of the two strengths.

        `dropout` is the probability of passing over a merge (BPE) or the longest match (WordPiece), `alpha` the power
        to which the probabilities of a unigram model are raised. Raises ConfigError where there is but one way.
        """
        raise ConfigError(
            "train.sampling: the vocabulary of this run segments a text in one way only; take away train.sampling, or "
            "train another run with prepare.segmenter.kind = bpe, unigram or wordpiece"
        )


def _symbols() -> tuple[str, ...]:
    symbols: tuple[str, ...] = Field(
        (),
        strict=False,
        description=f"Strings, of at most {LONGEST_PIECE} characters without a space, that are one piece each wherever "
        "they stand in the text.",
    )
    return symbols


class LearnedConfig(Section):
    """What the kinds have in common that learn from the text."""

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
        description="Lines drawn, with a fixed seed, to learn the vocabulary from: half of them of each side. Of text "
        "too large for the memory, 3 GB, a half, a quarter and so on is taken.",
    )
    symbols: tuple[str, ...] = _symbols()

    def conflicts(self) -> Iterator[Conflict]:
        """Report symbols that cannot be."""
        yield from _symbol_conflicts(self.symbols)


class SizedConfig(LearnedConfig):
    """What the kinds of a chosen size have in common."""

    vocabulary_size: int = Field(
        37_000,
        ge=8,
        le=1_000_000,
        description="Pieces, control ids included; of each vocabulary where they are separate.",
    )

    @property
    def aim(self) -> str:
        """What is learned, in words."""
        return f"a vocabulary of {self.vocabulary_size:,} pieces"


class BpeConfig(SizedConfig):
    """Byte-pair encoding (Sennrich et al. 2016), by SentencePiece."""

    kind: Literal["bpe"] = "bpe"


class UnigramConfig(SizedConfig):
    """Pieces of a unigram language model (Kudo 2018), by SentencePiece."""

    kind: Literal["unigram"] = "unigram"


class WordPieceConfig(SizedConfig):
    """Pieces that raise the likelihood of the corpus most (Schuster and Nakajima 2012; Wu et al. 2016)."""

    kind: Literal["wordpiece"] = "wordpiece"


class CharactersConfig(LearnedConfig):
    """Single characters: as many as the corpus has, or as cover the given share of it."""

    kind: Literal["characters"] = "characters"

    @property
    def aim(self) -> str:
        """What is learned, in words."""
        return "a vocabulary of characters"


class GivenConfig(Section):
    """What the kinds have in common that learn nothing from the text: one vocabulary serves both languages."""

    symbols: tuple[str, ...] = _symbols()

    @property
    def joint(self) -> bool:
        """True."""
        return True

    @property
    def sample_size(self) -> int:
        """None."""
        return 0

    def conflicts(self) -> Iterator[Conflict]:
        """Report symbols that cannot be."""
        yield from _symbol_conflicts(self.symbols)


class BytesConfig(GivenConfig):
    """The bytes of UTF-8: 256 pieces for any language, nothing to learn."""

    kind: Literal["bytes"] = "bytes"

    @property
    def aim(self) -> str:
        """What there is, in words."""
        return "a vocabulary of bytes"


class FileConfig(GivenConfig):
    """A vocabulary that exists already: a SentencePiece model, or that of another run, RUN/data/source.model.

    Ids of a SentencePiece model are moved so that padding, unknown, begin and end mark come first; what it lacks of
    them, of tags and symbols is added. A model that lacks nothing stays the same to the byte.
    """

    kind: Literal["file"] = "file"
    path: str = Field(min_length=1, description="The model file, for both languages or for the source.")
    target_path: str = Field("", description="The model file for the target; empty: one vocabulary for both.")

    @property
    def joint(self) -> bool:
        """Whether there is one vocabulary for both languages."""
        return not self.target_path

    @property
    def aim(self) -> str:
        """What there is, in words."""
        return f"the vocabulary {self.path}" if self.joint else f"the vocabularies {self.path} and {self.target_path}"

    def file(self, side: Literal["source", "target"]) -> tuple[str, str]:
        """Return the key and the path of the model file of a side."""
        if side == "source" or self.joint:
            return "prepare.segmenter.path", self.path
        return "prepare.segmenter.target_path", self.target_path


SegmenterConfig = Annotated[
    BpeConfig | UnigramConfig | WordPieceConfig | CharactersConfig | BytesConfig | FileConfig,
    Field(discriminator="kind"),
]


def _symbol_conflicts(symbols: Sequence[str]) -> Iterator[Conflict]:
    from nmtkit.corpus.pieces import is_reserved

    for place, symbol in enumerate(symbols):
        if not symbol or len(symbol) > LONGEST_PIECE or len(symbol.split()) != 1 or symbol != symbol.strip():
            told = f"{symbol!r} is not 1 to {LONGEST_PIECE} characters without a space; give another"
            yield Conflict("symbols", told)
        elif is_reserved(symbol):
            yield Conflict("symbols", f"{symbol!r} has a meaning of its own in every vocabulary; give another")
        elif symbol in symbols[:place]:
            yield Conflict("symbols", f"{symbol!r} is given twice; take one away")


class Learned(NamedTuple):
    """A vocabulary fresh from learning: its model file's bytes, and the lines it was and was not learned from."""

    model: bytes
    lines: int
    too_long: int


def learn_segmenter(
    config: SegmenterConfig,
    lines: Iterable[str],
    *,
    of: str = "the text",
    side: Literal["source", "target"] = "source",
    tags: Sequence[str] = (),
    base: Path = Path(),
) -> Learned:
    """Learn a vocabulary from lines; `of` is what messages call them. Same lines, same bytes.

    `lines` is read once, and not at all where there is nothing to learn; then the settings may name a model file of
    each `side`. `tags` become control pieces; a relative path of the settings starts from the folder `base`. Raises
    DataError where the lines cannot fill the vocabulary or overfill it, with the nearest possible size; ConfigError
    where a model file given cannot be used.
    """
    if isinstance(config, BpeConfig | UnigramConfig):
        from nmtkit.corpus import sentencepiece_learning

        return sentencepiece_learning.learn(config, lines, of, tags)
    if isinstance(config, FileConfig):
        from nmtkit.corpus import given_model

        return Learned(given_model.adopt(*config.file(side), base, config.symbols, tags), 0, 0)
    from nmtkit.corpus import own_model

    return own_model.learn(config, lines, of, tags)


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
    """Open the bytes of a model file, of nmtkit or SentencePiece, which messages call `name`.

    Raises CheckpointError where they are damaged.
    """
    from nmtkit.corpus import own_model

    if own_model.is_own(model):
        return own_model.open_model(model, name)
    from nmtkit.corpus.sentencepiece_model import SentencePieceSegmenter

    return SentencePieceSegmenter(model, name)
