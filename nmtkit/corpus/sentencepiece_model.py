"""SentencePiece models behind the Segmenter interface: our own, and those made elsewhere."""

from collections.abc import Callable, Iterable, Sequence

import sentencepiece

from nmtkit.corpus import sentencepiece_file as file
from nmtkit.corpus.lines import clean
from nmtkit.corpus.pieces import (
    CONTROLS,
    SPACE,
    STAND_IN,
    UNKNOWN,
    Table,
    WordSegmenter,
    byte_piece,
    byte_surface,
    tag_piece,
)
from nmtkit.corpus.sampling import Sampler, Ways
from nmtkit.corpus.vocabulary import UNK
from nmtkit.corpus.ways import BpeWays, UnigramWays
from nmtkit.errors import CheckpointError

UNKNOWN_PENALTY = 10.0
"""How much less likely than the least likely piece SentencePiece takes an unknown character for."""


class SentencePieceSegmenter(WordSegmenter):
    """A SentencePiece model. Its control ids are moved to where `corpus.vocabulary` has them."""

    def __init__(self, model: bytes, name: str) -> None:
        self._model = sentencepiece.SentencePieceProcessor()
        try:
            self._model.LoadFromSerializedProto(model)
            content = file.read(model)
        except (RuntimeError, ValueError):
            content = None
        controls = [] if content is None else self._control_ids()
        if content is None or min(controls) < 0 or len(content.pieces) != self._model.get_piece_size():
            raise CheckpointError(f"the vocabulary {name} is damaged or not made by nmtkit; run `nmtkit prepare` again")
        self._content = content
        self._theirs = [*controls, *(id_ for id_ in range(len(content.pieces)) if id_ not in controls)]
        self._ours = [0] * len(self._theirs)
        for ours, theirs in enumerate(self._theirs):
            self._ours[theirs] = ours
        self._moved = self._ours != list(range(len(self._ours)))
        super().__init__(model, name, _table([content.pieces[id_] for id_ in self._theirs]))
        spelled = self.table.spelled
        self._stand_in = spelled[0] if spelled else UNK
        self._space = [spelled[byte] for byte in SPACE.encode("utf-8")] if spelled else [UNK]
        self._exact: Ways | None = None

    def _control_ids(self) -> list[int]:
        """Return where the model has our control ids 0 to 3; -1 where it does not have one."""
        return [self._model.pad_id(), self._model.unk_id(), self._model.bos_id(), self._model.eos_id()]

    def encode(self, lines: Sequence[str]) -> list[list[int]]:
        """Return the ids of each line, without begin or end mark. No text yields a control id but UNK."""
        if self._content.by_word:
            return super().encode(lines)
        return [self._encode(line) for line in lines]

    def decode(self, sentences: Sequence[Sequence[int]]) -> list[str]:
        """Return the text of each sequence of ids, on one line each; PAD, BOS, EOS, tags vanish, UNK shows as ⁇."""
        if self._content.by_word:
            return super().decode(sentences)
        theirs = self._theirs
        return [clean(self._model.decode([theirs[id_] for id_ in ids])) if len(ids) else "" for ids in sentences]

    def segment_word(self, word: str) -> tuple[int, ...]:
        """Return the ids of a word, which a space precedes."""
        if any(symbol in word for symbol in self.table.symbols):
            return super().segment_word(word)
        # SentencePiece makes nothing of an empty line, whose only word is empty.
        return tuple(self._encode(word) if word else self.segment(SPACE))

    def segment(self, part: str) -> Iterable[int]:
        """Return the ids of a part of a word, where SPACE is a space and STAND_IN a SPACE of the text."""
        if self._exact is None:
            self._exact = self._ways(dropout=0.0, alpha=1.0)
        return self._exact.best(part)

    def sampler(self, *, dropout: float, alpha: float) -> Sampler:
        """Return what segments text in one of many ways, by BPE-dropout or by the probabilities of a unigram model."""
        if not self._content.by_word or self._content.model_type not in (file.BPE, file.UNIGRAM):
            return super().sampler(dropout=dropout, alpha=alpha)
        return Sampler(self, self._ways(dropout=dropout, alpha=alpha))

    def _ways(self, *, dropout: float, alpha: float) -> Ways:
        normal = {
            piece.text: (self._ours[id_], piece.score)
            for id_, piece in enumerate(self._content.pieces)
            if piece.type == file.NORMAL
        }
        if self._content.model_type == file.BPE:
            return BpeWays(normal, self.spell, dropout)
        lowest = min((score for _, score in normal.values()), default=0.0)
        return UnigramWays(normal, self.spell, alpha, lowest - UNKNOWN_PENALTY)

    def _encode(self, text: str) -> list[int]:
        """Return the ids that SentencePiece gives a text, with a space before it."""
        marked = text.replace(SPACE, STAND_IN) if SPACE in text else text
        ids: list[int] = self._model.encode(marked)
        if self._moved:
            ids = [self._ours[id_] for id_ in ids]
        if SPACE in text:
            ids = [part for id_ in ids for part in (self._space if id_ == self._stand_in else (id_,))]
        return ids


def _table(pieces: Sequence[file.Piece]) -> Table:
    surfaces: dict[int, Callable[[str], str]] = {
        file.CONTROL: lambda _: "",
        file.UNKNOWN: lambda _: UNKNOWN,
        file.BYTE: lambda piece: byte_surface(int(piece[3:5], 16)),
    }
    ids = {piece.text: id_ for id_, piece in enumerate(pieces)}
    named = {piece.text: id_ for id_, piece in enumerate(pieces) if piece.type == file.CONTROL}
    prefix, suffix = tag_piece("\0").split("\0")
    tags = {
        name[len(prefix) : -len(suffix)]: id_
        for name, id_ in named.items()
        if name.startswith(prefix) and name.endswith(suffix)
    }
    spelled = [ids.get(byte_piece(byte), -1) for byte in range(256)]
    return Table(
        [*CONTROLS.values(), *(piece.text for piece in pieces[len(CONTROLS) :])],
        [surfaces.get(piece.type, _spaced)(piece.text) for piece in pieces],
        spelled if min(spelled) >= 0 else [],
        {piece.text: id_ for id_, piece in enumerate(pieces) if piece.type == file.USER_DEFINED},
        tags,
    )


def _spaced(piece: str) -> str:
    return piece.replace(SPACE, " ")
