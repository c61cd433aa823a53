"""Pieces: the table behind every segmenter, how text is cut into words and parts for it, and how ids become text.

No piece reaches across a space, so a line is segmented word by word, and words repeat: each is segmented once.
Within, a space is written SPACE, at the beginning of the word behind it; the line's first word has one too.
"""

import hashlib
import re
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

from nmtkit.corpus.lines import clean
from nmtkit.corpus.segmenters import LONGEST_PIECE, Segmenter, open_segmenter
from nmtkit.corpus.vocabulary import BOS, EOS, PAD, UNK
from nmtkit.errors import ConfigError

CONTROLS = {PAD: "<pad>", UNK: "<unk>", BOS: "<s>", EOS: "</s>"}
SPACE = "\u2581"
STAND_IN = "\0"
"""No clean text holds it, so it stands for a SPACE of the text itself."""
UNKNOWN = "\u2047"

MOST_CACHED = 200_000
"""Words kept segmented, about 60 MB."""
LONGEST_CACHED = 40
"""Characters of the longest word kept: what is longer is a sentence without spaces and does not come again."""

_RESERVED = re.compile(f"<pad>|<unk>|</?s>|<0x[0-9A-F]{{2}}>|<tag:.*>|.*[{SPACE}\u2585].*", re.DOTALL)
_BYTES_WITHIN = re.compile("[\udc80-\udcff]")


def tag_piece(name: str) -> str:
    """Return the piece that stands for a tag."""
    return f"<tag:{name}>"


def byte_piece(byte: int) -> str:
    """Return the piece that stands for a byte."""
    return f"<0x{byte:02X}>"


def is_reserved(text: str) -> bool:
    """Tell whether no piece of text may be called so."""
    return _RESERVED.fullmatch(text) is not None


def taken(key: str, name: str, *, symbol: bool) -> ConfigError:
    """Return the error of a model that has an ordinary piece of a name that is needed for a symbol or control piece."""
    needed, remedy = ("symbol", ", or take away that symbol") if symbol else ("control piece", "")
    return ConfigError(
        f"{key}: has an ordinary piece {name!r}, which is needed as a {needed}; give another model{remedy}"
    )


def byte_surface(byte: int) -> str:
    """Return how a byte stands in text until all bytes are together: as Python's "surrogateescape" has it."""
    return chr(byte) if byte < 0x80 else chr(0xDC00 + byte)


class Table(NamedTuple):
    """A vocabulary: by id, the surface form of each piece and the text that it stands for."""

    pieces: list[str]
    surfaces: list[str]
    spelled: list[int]
    """The ids of the 256 bytes; empty without byte fallback."""
    symbols: dict[str, int]
    tags: dict[str, int]


class WordSegmenter(Segmenter):
    """Segments word by word; what a word becomes is the matter of the kind."""

    def __init__(self, model: bytes, name: str, table: Table) -> None:
        self._source = (model, name)
        self.table = table
        self.size = len(table.pieces)
        self.tags = table.tags
        self.fingerprint = hashlib.sha256(model).hexdigest()
        self.longest_piece = max([LONGEST_PIECE, *map(len, table.surfaces)])
        self.parts = Cutter(table.symbols)
        self._words = WordCache(self.segment_word)

    def __reduce__(self) -> tuple[Callable[..., Segmenter], tuple[bytes, str]]:
        """Travel to another process as the model file."""
        return open_segmenter, self._source

    def encode(self, lines: Sequence[str]) -> list[list[int]]:
        """Return the ids of each line, without begin or end mark. No text yields a control id but UNK."""
        ids_of, join = self._words.__getitem__, chain.from_iterable
        return [list(join(map(ids_of, line.split(" ")))) if line else [] for line in lines]

    def decode(self, sentences: Sequence[Sequence[int]]) -> list[str]:
        """Return the text of each sequence of ids, on one line each; PAD, BOS, EOS, tags vanish, UNK shows as ⁇."""
        surfaces = self.table.surfaces
        return [as_text("".join([surfaces[id_] for id_ in ids]).removeprefix(" ")) for ids in sentences]

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """Return the surface form of each id, "▁" marking a space before it."""
        return [self.table.pieces[id_] for id_ in ids]

    @abstractmethod
    def segment(self, part: str) -> Iterable[int]:
        """Return the ids of a part of a word, where SPACE is a space and STAND_IN a SPACE of the text."""

    def segment_word(self, word: str) -> tuple[int, ...]:
        """Return the ids of a word, which a space precedes."""
        ids: list[int] = []
        for part in self.parts(word):
            ids += part if isinstance(part, tuple) else self.segment(part)
        return tuple(self.joined(ids))

    def joined(self, ids: list[int]) -> list[int]:
        """Return ids with each run of UNK made one, as SentencePiece has it."""
        if self.table.spelled or UNK not in ids:
            return ids
        return [id_ for place, id_ in enumerate(ids) if id_ != UNK or place == 0 or ids[place - 1] != UNK]

    def spell(self, character: str) -> tuple[int, ...]:
        """Return the ids of a character that has no piece: its bytes, or UNK."""
        if not self.table.spelled:
            return (UNK,)
        spelled = (SPACE if character == STAND_IN else character).encode("utf-8")
        return tuple(self.table.spelled[byte] for byte in spelled)


class Cutter:
    """Cuts words where a symbol stands."""

    def __init__(self, symbols: Mapping[str, int]) -> None:
        self._ids = symbols
        longest_first = sorted(symbols, key=len, reverse=True)
        self._symbols = re.compile(f"({'|'.join(map(re.escape, longest_first))})") if symbols else None

    def __call__(self, word: str, before: str = SPACE) -> list[str | tuple[int, ...]]:
        """Return the parts of a word, where STAND_IN stands for SPACE, and between them the ids of symbols.

        `before` is put before the word.
        """
        marked = before + (word.replace(SPACE, STAND_IN) if SPACE in word else word)
        if self._symbols is None:
            return [marked]
        pieces = enumerate(self._symbols.split(marked))
        return [(self._ids[piece],) if place % 2 else piece for place, piece in pieces if piece]


class WordCache(dict[str, Any]):
    """What was made of each word; makes it where it is not there yet."""

    def __init__(self, make: Callable[[str], Any], most: int = MOST_CACHED) -> None:
        super().__init__()
        self._make, self._most = make, most

    def __missing__(self, word: str) -> Any:
        """Make it, and keep it where the word may come again."""
        made = self._make(word)
        if len(word) <= LONGEST_CACHED:
            if len(self) >= self._most:
                self.clear()
            self[word] = made
        return made


def as_text(text: str) -> str:
    """Return clean text, its bytes put together; bytes that are no character become U+FFFD."""
    if not text.isascii() and _BYTES_WITHIN.search(text):
        text = text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return clean(text)
