"""SentencePiece's model files, read and added to: a protocol buffer whose repeated pieces may be continued at its end.

The layout is that of sentencepiece_model.proto, and encoded as https://protobuf.dev/programming-guides/encoding says.
"""

import struct
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import sentencepiece

from nmtkit.corpus.pieces import CONTROLS, SPACE, tag_piece, taken
from nmtkit.corpus.vocabulary import BOS, EOS, PAD
from nmtkit.errors import ConfigError

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)
"""Types of pieces."""
UNIGRAM, BPE, WORD = 1, 2, 3
"""Types of models."""

_PIECES, _TRAINER, _NORMALIZER = 1, 2, 3
_MODEL_TYPE, _WHITESPACE_AS_SUFFIX = 3, 24
_CHARACTER_MAP, _ADD_DUMMY_PREFIX, _REMOVE_EXTRA_WHITESPACES, _ESCAPE_WHITESPACES = 2, 3, 4, 5
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


class Piece(NamedTuple):
    """A piece of a model."""

    text: str
    score: float
    type: int


class ModelFile(NamedTuple):
    """What a model file says."""

    pieces: list[Piece]
    model_type: int
    by_word: bool
    """True where text goes in as it is and no piece reaches across a space, so that words can be segmented alone."""


def read(model: bytes) -> ModelFile:
    """Read the bytes of a model file. Raises ValueError where they are none."""
    pieces: list[Piece] = []
    trainer: dict[int, int | bytes] = {}
    normalizer: dict[int, int | bytes] = {}
    for number, value in _fields(model):
        if isinstance(value, bytes):
            if number == _PIECES:
                pieces.append(_piece(value))
            elif number == _TRAINER:
                trainer.update(_fields(value))
            elif number == _NORMALIZER:
                normalizer.update(_fields(value))
    model_type = trainer.get(_MODEL_TYPE, UNIGRAM)
    if not pieces or not isinstance(model_type, int):
        raise ValueError("no pieces")
    as_it_is = (
        not normalizer.get(_CHARACTER_MAP)
        and normalizer.get(_ADD_DUMMY_PREFIX, 1) == 1
        and normalizer.get(_REMOVE_EXTRA_WHITESPACES, 1) == 0
        and normalizer.get(_ESCAPE_WHITESPACES, 1) == 1
        and not trainer.get(_WHITESPACE_AS_SUFFIX, 0)
        and model_type != WORD  # which makes unknown words that follow each other one
    )
    across = any(SPACE in piece.text[1:] or " " in piece.text for piece in pieces if piece.type != CONTROL)
    return ModelFile(pieces, model_type, as_it_is and not across)


def with_pieces(model: bytes, pieces: Sequence[Piece]) -> bytes:
    """Return a model with pieces added behind those that it has."""
    added = []
    for text, score, type_ in pieces:
        body = _field(1, text.encode("utf-8")) + b"\x15" + struct.pack("<f", score) + b"\x18" + bytes([type_])
        added.append(_field(_PIECES, body))
    return model + b"".join(added)


def adopt(model: bytes, key: str, symbols: Sequence[str], tags: Sequence[str]) -> bytes:
    """Return a model with what it lacks: control pieces, symbols and tags. `key` says in messages where it is given.

    Raises ConfigError where it is no model, or where a name is taken.
    """
    try:
        processor = sentencepiece.SentencePieceProcessor()
        processor.LoadFromSerializedProto(model)
        types = {piece.text: piece.type for piece in read(model).pieces}
    except (RuntimeError, ValueError):
        raise ConfigError(
            f"{key}: is no SentencePiece model or damaged; give the file named .model that SentencePiece wrote"
        ) from None
    lacking = {PAD: processor.pad_id(), BOS: processor.bos_id(), EOS: processor.eos_id()}
    added = [Piece(CONTROLS[ours], 0.0, CONTROL) for ours, theirs in lacking.items() if theirs < 0]
    added += [Piece(piece, 0.0, CONTROL) for piece in map(tag_piece, tags) if types.get(piece) != CONTROL]
    added += [Piece(symbol, 0.0, USER_DEFINED) for symbol in symbols if types.get(symbol) != USER_DEFINED]
    for piece in added:
        if piece.text in types:
            raise taken(key, piece.text, symbol=piece.type == USER_DEFINED)
    return with_pieces(model, added)


def _piece(message: bytes) -> Piece:
    text, score, type_ = "", 0.0, NORMAL
    for number, value in _fields(message):
        if number == 1 and isinstance(value, bytes):
            text = value.decode("utf-8")
        elif number == 2 and isinstance(value, bytes):
            (score,) = struct.unpack("<f", value)
        elif number == 3 and isinstance(value, int):
            type_ = value
    return Piece(text, score, type_)


def _fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Yield the fields of a message: its number, and an integer or the bytes. Raises ValueError where it is none."""
    at, end = 0, len(message)
    while at < end:
        key, at = _varint(message, at)
        kind = key & 7
        if kind == _VARINT:
            value, at = _varint(message, at)
            yield key >> 3, value
            continue
        if kind == _BYTES:
            size, at = _varint(message, at)
        elif kind in (_FIXED32, _FIXED64):
            size = 4 if kind == _FIXED32 else 8
        else:
            raise ValueError(f"wire type {kind}")
        if at + size > end:
            raise ValueError("cut short")
        yield key >> 3, message[at : at + size]
        at += size


def _varint(message: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while at < len(message) and shift < 64:
        byte = message[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
    raise ValueError("cut short")


def _field(number: int, content: bytes) -> bytes:
    size, length = len(content), bytearray()
    while size >= 0x80:
        length.append(size & 0x7F | 0x80)
        size >>= 7
    return bytes([number << 3 | _BYTES, *length, size]) + content
