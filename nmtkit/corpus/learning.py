"""Learning: what every vocabulary is learned from, lines made safe and counted, and what is wrong with a size."""

import re
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from nmtkit.corpus.pieces import CONTROLS, SPACE, tag_piece
from nmtkit.corpus.segmenters import LearnedConfig, SizedConfig
from nmtkit.errors import DataError

LONGEST_LINE = 16_384
"""Bytes of the longest line that a vocabulary is learned from; longer ones are counted and left out."""

# SPACE would be taken for a space, and SentencePiece leaves lines with the other one out.
_UNLEARNABLE = re.compile(f"[{SPACE}\u2585]")
_LAYERS = 16
_LINES_AT_ONCE = 4_096


class LearnableLines:
    """Lines as a vocabulary may be learned from them, counted: none is left out in silence.

    Names of control pieces in the text are broken up, so that no ordinary piece is called like one.
    """

    def __init__(self, lines: Iterable[str], tags: Sequence[str] = ()) -> None:
        self._lines = lines
        names = [*(name[1:-1] for name in CONTROLS.values()), *(tag_piece(tag)[1:-1] for tag in tags)]
        self._control = re.compile(f"<(?=(?:{'|'.join(map(re.escape, names))}|0x[0-9A-F]{{2}})>)")
        self.lines = self.too_long = 0

    def __iter__(self) -> Iterator[str]:
        lines = iter(self._lines)
        while chunk := list(islice(lines, _LINES_AT_ONCE)):
            text = "\n".join(chunk)
            text = _UNLEARNABLE.sub(" ", text) if SPACE in text or "\u2585" in text else text
            text = self._control.sub("< ", text) if "<" in text else text
            for line in text.split("\n"):
                if len(line) * 4 > LONGEST_LINE and len(line.encode("utf-8")) > LONGEST_LINE:
                    self.too_long += 1
                elif line and not line.isspace():
                    self.lines += 1
                    yield line

    def none_left(self, of: str) -> DataError:
        """Return what there is to say where no line was left."""
        return DataError(f"{of}: no line is left to learn a vocabulary from ({self.too_long} are too long)")


class Sample:
    """Lines, or their words counted, within a bound of memory.

    Each line falls by its hash into a layer: half of all lines into the first, a quarter into the second, and so on.
    When all become too large, the first layer still there is given up for good, and with it half of the text: what is
    left is all of the lines whose hash is in a certain set, wherever in the corpus they stand.
    """

    def __init__(self, most_characters: int) -> None:
        self._most = most_characters
        self._waiting: list[list[str]] = [[] for _ in range(_LAYERS)]
        self._lines = [0] * _LAYERS
        self.first = 0
        """The first layer that is kept: 2^-first of the text is."""

    @property
    def lines(self) -> int:
        """Lines that were kept."""
        return sum(self._lines[self.first :])

    def take(self, lines: Iterable[str]) -> None:
        """Take in lines."""
        for line in lines:
            number = zlib.crc32(line.encode("utf-8"))
            layer = min(((number + 1) & ~number).bit_length() - 1, _LAYERS - 1)
            if layer >= self.first:
                waiting = self._waiting[layer]
                waiting.append(line)
                if len(waiting) == _LINES_AT_ONCE:
                    self._flush(layer)
        for layer in range(_LAYERS):
            self._flush(layer)

    def _flush(self, layer: int) -> None:
        if layer < self.first:
            return
        waiting, self._waiting[layer] = self._waiting[layer], []
        self._lines[layer] += len(waiting)
        self.keep(layer, waiting)
        while self.first < _LAYERS - 1 and self.is_too_large():
            self._waiting[self.first] = []
            self.give_up(self.first)
            self.first += 1

    def is_too_large(self) -> bool:
        """Tell whether what is kept has more characters than there may be."""
        raise NotImplementedError

    def keep(self, layer: int, lines: list[str]) -> None:
        """Take lines into a layer."""
        raise NotImplementedError

    def give_up(self, layer: int) -> None:
        """Empty a layer."""
        raise NotImplementedError


class LineSample(Sample):
    """Whole lines."""

    def __init__(self, most_characters: int) -> None:
        super().__init__(most_characters)
        self._layers: list[list[str]] = [[] for _ in range(_LAYERS)]
        self._characters = [0] * _LAYERS

    def keep(self, layer: int, lines: list[str]) -> None:
        """Take lines into a layer."""
        self._layers[layer] += lines
        self._characters[layer] += sum(map(len, lines))

    def is_too_large(self) -> bool:
        """Tell whether what is kept has more characters than there may be."""
        return sum(self._characters) > self._most

    def give_up(self, layer: int) -> None:
        """Empty a layer."""
        self._layers[layer], self._characters[layer] = [], 0

    def __iter__(self) -> Iterator[str]:
        for layer in self._layers:
            yield from layer


class WordSample(Sample):
    """Words, cut at spaces, and how often each occurs; a text without spaces is one word a line."""

    def __init__(self, most_characters: int) -> None:
        super().__init__(most_characters)
        self._layers: list[Counter[str]] = [Counter() for _ in range(_LAYERS)]
        self._next_look = 0

    def keep(self, layer: int, lines: list[str]) -> None:
        """Take lines into a layer."""
        self._layers[layer].update(" ".join(lines).split(" "))

    def is_too_large(self) -> bool:
        """Tell whether the different words have more characters than there may be."""
        words = sum(map(len, self._layers))
        if words < self._next_look:
            return False
        characters = sum(sum(map(len, layer)) for layer in self._layers)
        # Adding up all lengths takes as long as it takes: only once the words have grown by a twentieth.
        self._next_look = 0 if characters > self._most else words + words // 20
        return characters > self._most

    def give_up(self, layer: int) -> None:
        """Empty a layer."""
        self._layers[layer] = Counter()

    def words(self) -> dict[str, int]:
        """Return the count of each word; leaves the sample empty."""
        layers = sorted(self._layers, key=len, reverse=True)
        self._layers = [Counter() for _ in range(_LAYERS)]
        counts = layers.pop(0)
        while layers:
            counts.update(layers.pop(0))
        counts.pop("", None)
        return counts


def too_large(config: SizedConfig, largest: int, of: str) -> DataError:
    """Return what there is to say about a vocabulary that the text cannot fill."""
    return DataError(
        f"prepare.segmenter.vocabulary_size = {config.vocabulary_size} is too large: {of} yields at most {largest} "
        f"pieces; set it to {largest} or less, or give more text"
    )


def too_small(config: SizedConfig, characters: int, tags: Sequence[str], of: str) -> DataError:
    """Return what there is to say about a vocabulary that cannot hold even all characters."""
    named = len(config.symbols) + len(tags)
    parts = [f"{len(CONTROLS)} control ids"]
    parts += [f"{named} symbols and tags"] if named else []
    parts += ["256 bytes"] if config.byte_fallback else []
    needed = characters + special_pieces(config, tags)
    return DataError(
        f"prepare.segmenter.vocabulary_size = {config.vocabulary_size} is too small: {of} has {characters} different "
        f"characters, which with {' and '.join(parts)} need {needed}; set it well above {needed}, or lower "
        "prepare.segmenter.character_coverage"
    )


def special_pieces(config: LearnedConfig, tags: Sequence[str]) -> int:
    """Return how many pieces are not learned."""
    return len(CONTROLS) + len(tags) + len(config.symbols) + (256 if config.byte_fallback else 0)
