"""SentencePiece behind the Segmenter interface: it learns silently, and text survives the way to ids and back."""

import hashlib
import io
import re
import signal
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import sentencepiece

from nmtkit.corpus.lines import clean
from nmtkit.corpus.segmenters import LONGEST_PIECE, Learned, Segmenter
from nmtkit.corpus.vocabulary import BOS, EOS, PAD, UNK
from nmtkit.errors import CheckpointError, DataError, raise_terminated

if TYPE_CHECKING:
    from nmtkit.corpus.segmenters import BpeConfig, UnigramConfig

CONTROLS = {PAD: "<pad>", UNK: "<unk>", BOS: "<s>", EOS: "</s>"}
LONGEST_LINE = 16_384
"""Bytes of the longest line that a vocabulary is learned from; longer ones are counted and left out."""
PARALLEL_FROM = 512
"""Lines from which it pays to encode with all cores."""

SPACE = "\u2581"  # how SentencePiece writes a space, and so loses this character of the text
STAND_IN = "\0"  # no clean text holds it, so it can stand for a SPACE of the text while encoding
# SentencePiece leaves lines with this character out when it learns, and cuts the names of its control ids out of text.
_UNLEARNABLE = re.compile(f"[{SPACE}\u2585]")
_CONTROL_NAME = re.compile(r"<(?=(?:pad|unk|s|/s|0x[0-9A-F]{2})>)")


def learn(config: "BpeConfig | UnigramConfig", lines: Iterable[str], of: str) -> Learned:
    """Learn a vocabulary; see `segmenters.learn_segmenter`."""
    text = _LearnableLines(lines)
    model = io.BytesIO()
    try:
        with _interruptible():
            # Lines and model pass through memory: SentencePiece would write their file names into the model.
            sentencepiece.SentencePieceTrainer.train(
                sentence_iterator=iter(text),
                model_writer=model,
                model_type=config.kind,
                vocab_size=config.vocabulary_size,
                byte_fallback=config.byte_fallback,
                character_coverage=config.character_coverage,
                pad_id=PAD,
                unk_id=UNK,
                bos_id=BOS,
                eos_id=EOS,
                pad_piece=CONTROLS[PAD],
                unk_piece=CONTROLS[UNK],
                bos_piece=CONTROLS[BOS],
                eos_piece=CONTROLS[EOS],
                unk_surface="\u2047",
                normalization_rule_name="identity",
                remove_extra_whitespaces=False,
                max_sentencepiece_length=LONGEST_PIECE,
                max_sentence_length=LONGEST_LINE,
                minloglevel=3,
            )
    except RuntimeError as error:
        raise _explain(config, str(error), text, of) from None
    return Learned(model.getvalue(), text.lines, text.too_long)


class _LearnableLines:
    """Gives lines to SentencePiece so that it leaves out none in silence, and counts them."""

    def __init__(self, lines: Iterable[str]) -> None:
        self._lines = lines
        self.lines = self.too_long = 0

    def __iter__(self) -> Iterator[str]:
        for line in self._lines:
            learnable = _CONTROL_NAME.sub("< ", _UNLEARNABLE.sub(" ", line))
            if len(learnable.encode("utf-8")) > LONGEST_LINE:
                self.too_long += 1
            elif learnable.strip():
                self.lines += 1
                yield learnable


@contextmanager
def _interruptible() -> Iterator[None]:
    """Let signals end the process at once: C++ code, minutes long here, does not listen to Python's handlers."""
    ours = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: raise_terminated}
    usual = {number: handler for number, handler in ours.items() if signal.getsignal(number) is handler}
    if threading.current_thread() is not threading.main_thread():
        usual = {}
    for number in usual:
        signal.signal(number, signal.SIG_DFL)
    try:
        yield
    finally:
        for number, handler in usual.items():
            signal.signal(number, handler)


def _explain(config: "BpeConfig | UnigramConfig", message: str, text: _LearnableLines, of: str) -> DataError:
    """Return what SentencePiece's message means for the configuration."""
    key = f"prepare.segmenter.vocabulary_size = {config.vocabulary_size}"
    if not text.lines:
        return DataError(f"{of}: no line is left to learn a vocabulary from ({text.too_long} are too long)")
    if largest := re.search(r"too high.*<= (\d+)", message):
        return DataError(
            f"{key} is too large: {of} yields at most {largest[1]} pieces; "
            f"set it to {largest[1]} or less, or give more text"
        )
    if smallest := re.search(r"smaller than required_chars\. \d+ vs (\d+)", message):
        needed = int(smallest[1])
        special = len(CONTROLS) + (256 if config.byte_fallback else 0)
        spelled = " and 256 bytes" if config.byte_fallback else ""
        return DataError(
            f"{key} is too small: {of} has {needed - special} different characters, which with {len(CONTROLS)} control "
            f"ids{spelled} need {needed}; set it well above {needed}, or lower prepare.segmenter.character_coverage"
        )
    return DataError(f"{of}: SentencePiece cannot learn a vocabulary from it: {message.strip()}")


class SentencePieceSegmenter(Segmenter):
    """A SentencePiece model, made by `learn`."""

    def __init__(self, model: bytes, name: str) -> None:
        self._model = sentencepiece.SentencePieceProcessor()
        try:
            self._model.LoadFromSerializedProto(model)
            size = self._model.get_piece_size()
            pieces = [self._model.id_to_piece(id_) for id_ in range(size)]
            ours = size > len(CONTROLS) and all(pieces[id_] == piece for id_, piece in CONTROLS.items())
            self._model.decode([UNK])
        except (RuntimeError, UnicodeDecodeError):  # it parses where pieces, or what UNK shows as, are not UTF-8
            ours = False
        if not ours:
            raise CheckpointError(f"the vocabulary {name} is damaged or not made by nmtkit; run `nmtkit prepare` again")
        self.size = size
        self.fingerprint = hashlib.sha256(model).hexdigest()
        self._stand_in: int = self._model.piece_to_id("<0x00>")  # UNK where there is no byte fallback
        spelled: list[int] = [self._model.piece_to_id(f"<0x{byte:02X}>") for byte in SPACE.encode("utf-8")]
        self._space = [UNK] if UNK in spelled else spelled

    def encode(self, lines: Sequence[str]) -> list[list[int]]:
        """Return the ids of each line, without begin or end mark. No text yields a control id but UNK."""
        if not lines:
            return []
        marked = [line.replace(SPACE, STAND_IN) if SPACE in line else line for line in lines]
        threads = -1 if len(marked) >= PARALLEL_FROM else 1
        sentences: list[list[int]] = self._model.encode(marked, num_threads=threads)
        for place, (line, ids) in enumerate(zip(lines, sentences, strict=True)):
            if SPACE in line:
                sentences[place] = [part for id_ in ids for part in (self._space if id_ == self._stand_in else (id_,))]
        return sentences

    def decode(self, sentences: Sequence[Sequence[int]]) -> list[str]:
        """Return the text of each sequence of ids, on one line each; PAD, BOS and EOS vanish, UNK shows as ⁇."""
        return [clean(self._model.decode([int(id_) for id_ in ids])) if len(ids) else "" for ids in sentences]

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """Return the surface form of each id, "▁" marking a space before it."""
        return [self._model.id_to_piece(int(id_)) for id_ in ids]
