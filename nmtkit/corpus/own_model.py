"""Segmenters of our own: WordPiece, characters and bytes. Their model file is JSON that says so in its first lines."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from nmtkit.corpus.learning import LearnableLines, WordSample, special_pieces, too_large, too_small
from nmtkit.corpus.pieces import (
    CONTROLS,
    SPACE,
    STAND_IN,
    UNKNOWN,
    Cutter,
    Table,
    WordSegmenter,
    as_text,
    byte_piece,
    byte_surface,
    tag_piece,
    taken,
)
from nmtkit.corpus.sampling import Sampler
from nmtkit.corpus.segmenters import BytesConfig, CharactersConfig, Learned, WordPieceConfig
from nmtkit.corpus.ways import GreedyWays
from nmtkit.errors import CheckpointError, ConfigError

FORMAT = "nmtkit segmenter"
VERSION = 1

MOST_OF_WORDS = 12_000_000
"""Characters of the different words that WordPiece is learned from: more would take many minutes, and tell no more."""


def learn(
    config: WordPieceConfig | CharactersConfig | BytesConfig, lines: Iterable[str], of: str, tags: Sequence[str]
) -> Learned:
    """Learn a vocabulary; see `segmenters.learn_segmenter`."""
    if isinstance(config, BytesConfig):
        return Learned(_model(config, tags, {}), 0, 0)
    text = LearnableLines(lines, tags)
    sample = WordSample(MOST_OF_WORDS)
    sample.take(text)
    if not text.lines:
        raise text.none_left(of)
    words = _without_symbols(config.symbols, sample.words())
    alphabet = _alphabet(words, config.character_coverage)
    pieces = alphabet
    if isinstance(config, WordPieceConfig):
        room = config.vocabulary_size - special_pieces(config, tags)
        if len(alphabet) > room:
            raise too_small(config, len(alphabet), tags, of)
        from nmtkit.corpus.wordpiece import learn_pieces

        pieces = learn_pieces(words, alphabet, room)
        if len(pieces) < room:
            raise too_large(config, special_pieces(config, tags) + len(pieces), of)
    return Learned(
        _model(config, tags, {"byte_fallback": config.byte_fallback, "pieces": pieces}), sample.lines, text.too_long
    )


def is_own(model: bytes) -> bool:
    """Tell whether the bytes of a model file are one of ours."""
    return model.startswith(b"{")


def open_model(model: bytes, name: str) -> "GreedySegmenter | ByteSegmenter":
    """Open the bytes of a model file of ours. Raises CheckpointError where they are damaged or of another kind."""
    try:
        content = json.loads(model)
        told = (content["format"], content["version"])
    except (ValueError, KeyError, TypeError):
        told = None
    if told is not None and told[0] == FORMAT and (told[1] != VERSION or content.get("kind") not in _KINDS):
        raise CheckpointError(
            f"the vocabulary {name} is of kind {content.get('kind')!r}, version {told[1]!r}, which this nmtkit does "
            "not know: it was made by another version; install that one, or run `nmtkit prepare` again"
        )
    try:
        if told is None or told[0] != FORMAT:
            raise ValueError("no segmenter")
        segmenter: GreedySegmenter | ByteSegmenter = _KINDS[content["kind"]](model, name, content)
    except (ValueError, KeyError, TypeError):
        raise CheckpointError(
            f"the vocabulary {name} is damaged or not made by nmtkit; run `nmtkit prepare` again"
        ) from None
    return segmenter


def adopt(model: bytes, key: str, symbols: Sequence[str], tags: Sequence[str]) -> bytes:
    """Return a model with the symbols and tags that it lacks; `key` says in messages where it is given.

    Raises ConfigError where it is damaged, or where a name is taken.
    """
    try:
        table = open_model(model, "in this file").table
    except CheckpointError as error:
        raise ConfigError(f"{key}: {error}") from None
    new_tags = [tag for tag in tags if tag not in table.tags]
    new_symbols = [symbol for symbol in symbols if symbol not in table.symbols]
    if not new_tags and not new_symbols:
        return model
    for symbol in new_symbols:
        if symbol in table.pieces:
            raise taken(key, symbol, symbol=True)
    content = json.loads(model)
    content.update(tags=[*table.tags, *new_tags], symbols=[*table.symbols, *new_symbols])
    return _file(content)


class GreedySegmenter(WordSegmenter):
    """WordPiece and characters: the longest piece that fits, from left to right (Wu et al. 2016, section 4.1)."""

    def __init__(self, model: bytes, name: str, content: Mapping[str, Any]) -> None:
        self._kind = content["kind"]
        pieces = _strings(content["pieces"])
        super().__init__(model, name, _table(content, content["byte_fallback"] is True, pieces))
        first = self.size - len(pieces)
        self._ids = {piece: first + place for place, piece in enumerate(pieces)}
        self._exact = GreedyWays(self._ids, self.spell, 0.0)

    def segment(self, part: str) -> Iterable[int]:
        """Return the ids of a part of a word, where SPACE is a space and STAND_IN a SPACE of the text."""
        return self._exact.best(part)

    def sampler(self, *, dropout: float, alpha: float) -> Sampler:
        """Return what passes over longest matches; single characters have but one way."""
        if self._kind != "wordpiece":
            return super().sampler(dropout=dropout, alpha=alpha)
        return Sampler(self, GreedyWays(self._ids, self.spell, dropout))


class ByteSegmenter(WordSegmenter):
    """Bytes: a space is one of them, so nothing stands before the first word."""

    def __init__(self, model: bytes, name: str, content: Mapping[str, Any]) -> None:
        table = _table(content, byte_fallback=True, pieces=[])
        shown = [
            SPACE if byte == 0x20 else chr(byte) if 0x20 < byte < 0x7F else byte_piece(byte) for byte in range(256)
        ]
        super().__init__(model, name, table._replace(pieces=[*table.pieces[:-256], *shown]))

    def encode(self, lines: Sequence[str]) -> list[list[int]]:
        """Return the ids of each line, without begin or end mark. No text yields a control id."""
        return [list(self.segment(line)) for line in lines]

    def decode(self, sentences: Sequence[Sequence[int]]) -> list[str]:
        """Return the text of each sequence of ids, on one line each; PAD, BOS, EOS, tags vanish, UNK shows as ⁇."""
        surfaces = self.table.surfaces
        return [as_text("".join([surfaces[id_] for id_ in ids])) for ids in sentences]

    def segment(self, part: str) -> Iterable[int]:
        """Return the ids of any text."""
        spelled = self.table.spelled
        ids: list[int] = []
        for piece in self.parts(part, before=""):
            ids += piece if isinstance(piece, tuple) else [spelled[byte] for byte in self._plain(piece)]
        return ids

    def _plain(self, piece: str) -> bytes:
        return piece.replace(STAND_IN, SPACE).encode("utf-8")


_KINDS: dict[str, type[GreedySegmenter] | type[ByteSegmenter]] = {
    "wordpiece": GreedySegmenter,
    "characters": GreedySegmenter,
    "bytes": ByteSegmenter,
}


def _model(
    config: WordPieceConfig | CharactersConfig | BytesConfig, tags: Sequence[str], content: Mapping[str, Any]
) -> bytes:
    header = {"format": FORMAT, "version": VERSION, "kind": config.kind}
    named = {"tags": list(tags), "symbols": list(config.symbols)}
    return _file({**header, **named, **content})


def _file(content: Mapping[str, Any]) -> bytes:
    return (json.dumps(content, ensure_ascii=False, indent=0) + "\n").encode("utf-8")


def _table(content: Mapping[str, Any], byte_fallback: bool, pieces: Sequence[str]) -> Table:
    """Return the table of a vocabulary: control ids, tags, symbols, bytes, and what was learned."""
    tags, symbols = _strings(content["tags"]), _strings(content["symbols"])
    spelled = range(256) if byte_fallback else range(0)
    first = len(CONTROLS)
    names = [*CONTROLS.values(), *map(tag_piece, tags), *symbols, *map(byte_piece, spelled), *pieces]
    controls = ["", UNKNOWN, "", "", *([""] * len(tags))]
    surfaces = [*controls, *symbols, *map(byte_surface, spelled), *(piece.replace(SPACE, " ") for piece in pieces)]
    after_tags = first + len(tags)
    after_symbols = after_tags + len(symbols)
    return Table(
        names,
        surfaces,
        [after_symbols + byte for byte in spelled],
        {symbol: after_tags + place for place, symbol in enumerate(symbols)},
        {tag: first + place for place, tag in enumerate(tags)},
    )


def _strings(value: Any) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(element, str) and element for element in value):
        raise ValueError("no list of strings")
    return value


def _without_symbols(symbols: Sequence[str], words: Mapping[str, int]) -> Mapping[str, int]:
    """Return the parts of words that are to be segmented, each with its SPACE, and their counts."""
    parts_of = Cutter(dict.fromkeys(symbols, 0))
    parts: Counter[str] = Counter()
    for word, count in words.items():
        for part in parts_of(word):
            if isinstance(part, str):
                parts[part] += count
    return parts


def _alphabet(words: Mapping[str, int], coverage: float) -> list[str]:
    """Return the characters that together make up a share of the text, the most frequent first; SPACE always."""
    counts: Counter[str] = Counter()
    for word, count in words.items():
        for character in word:
            counts[character] += count
    wanted, covered, alphabet = coverage * counts.total(), 0, []
    for character in sorted(counts, key=lambda character: (-counts[character], character)):
        if covered >= wanted:
            break
        covered += counts[character]
        alphabet.append(character)
    return alphabet if SPACE in alphabet else [*alphabet, SPACE]
