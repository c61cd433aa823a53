"""The store: sentences as ids, packed into memory-mapped files. Imports no torch.

A side of a split is three files, each a header of 64 bytes and then plain little-endian numbers:

    train.source.ids.bin       the ids of all sentences, one behind the other: uint16, or int32 for large vocabularies
    train.source.offsets.bin   where each sentence begins, and the end of the last: int64, one more than sentences
    train.source.lengths.bin   ids of each sentence: int32, for the plan of batches

One more, train.lines.bin, says which line of its corpus each pair was.

Ids carry no begin or end mark. The same sentences make the same bytes. All processes of a machine that open a store
share one copy of it in memory, and only of what they read.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nmtkit.errors import DataError
from nmtkit.run_folder import replacing

HEADER_BYTES = 64
FORMAT = 2
ID_TYPES = ("uint16", "int32")
CONTENTS = {"ids": ID_TYPES, "offsets": ("int64",), "lengths": ("int32",)}
"""What the files of a side hold, and the number types they may hold it in."""
SIDES = ("source", "target")
LINES = "train.lines.bin"
"""The file that says which line of its corpus each training pair was: uint32, from 1."""
REMEDY = "run `nmtkit prepare` for this run folder again"


class Sentences:
    """The sentences of one side, read from the disk as they are asked for. Opening reads their lengths."""

    def __init__(
        self,
        ids: NDArray[Any],
        offsets: NDArray[np.int64],
        lengths: NDArray[np.int32],
        names: Sequence[Path] = (Path("ids in memory"), Path("offsets in memory")),
        pieces: int = 0,
    ) -> None:
        """`names`: the files; `pieces`: of the vocabulary, 0 where that is not known."""
        self._ids, self._offsets, self._names, self._pieces = ids, offsets, names, pieces
        self.lengths = lengths
        """Ids of each sentence."""

    @classmethod
    def open(cls, prefix: Path, pieces: int = 0) -> "Sentences":
        """Open the files of a side. Raises DataError where one is missing or damaged."""
        names = side_files(prefix)
        ids, offsets, lengths = (
            _map(path, content, types) for path, (content, types) in zip(names, CONTENTS.items(), strict=True)
        )
        ends = len(offsets) == len(lengths) + 1 and offsets[0] == 0 and offsets[-1] == len(ids)
        if not ends or lengths.min(initial=0) < 0 or lengths.sum(dtype=np.int64) != len(ids):
            raise DataError(f"{', '.join(map(str, names))} do not belong together or are damaged; {REMEDY}")
        return cls(ids, offsets, lengths, names, pieces)

    def __len__(self) -> int:
        return len(self.lengths)

    def __getitem__(self, place: int) -> NDArray[np.int64]:
        """Return the ids of a sentence, int64, a copy. Raises DataError where its place in the file is damaged."""
        if not -len(self) <= place < len(self):
            raise IndexError(f"sentence {place} of {len(self)}")
        place %= len(self)
        begin, length = self._offsets[place], self.lengths[place]
        if self._offsets[place + 1] - begin != length or begin < 0:
            raise DataError(f"{self._names[1]} is damaged at sentence {place + 1}; {REMEDY}")
        return self._ids[begin : begin + length].astype(np.int64)

    def check(self, lowest: int, highest: int) -> None:
        """Raise DataError where ids between these, which were read here, are not all of the vocabulary."""
        wrong = [id_ for id_ in (lowest, highest) if not 0 <= id_ < (self._pieces or math.inf)]
        if wrong:
            raise DataError(
                f"{self._names[0]} is damaged: it holds {wrong[0]}, no id of {self._pieces} pieces; {REMEDY}"
            )


@dataclass(frozen=True)
class PairStore:
    """Sentence pairs: sentence n of `target` translates sentence n of `source`."""

    source: Sentences
    target: Sentences

    @classmethod
    def open(cls, folder: Path, split: str, sizes: tuple[int, int] = (0, 0)) -> "PairStore":
        """Open a split ("train", "dev") of a run's data folder. Raises DataError where it is missing or damaged.

        With the sizes of the vocabularies, `make_batch` sees that all ids are theirs.
        """
        prefixes = [folder / f"{split}.{side}" for side in SIDES]
        source, target = (Sentences.open(prefix, size) for prefix, size in zip(prefixes, sizes, strict=True))
        if len(source) != len(target):
            raise DataError(f"{folder}: {split} has {len(source)} source but {len(target)} target sentences; {REMEDY}")
        return cls(source, target)

    def __len__(self) -> int:
        return len(self.source)


class Packed(NamedTuple):
    """Sentences of one side, one behind the other."""

    ids: NDArray[Any]
    lengths: NDArray[np.int32]


def pack_ids(sentences: Sequence[Sequence[int]], type_: str) -> Packed:
    """Return sentences of ids in the number type of their files."""
    lengths = np.fromiter(map(len, sentences), np.int32, len(sentences))
    ids = np.fromiter(chain.from_iterable(sentences), np.dtype(type_).newbyteorder("<"), int(lengths.sum()))
    return Packed(ids, lengths)


class PairWriter:
    """Appends sentence pairs to the files of a split, given by what writes bytes to each of their names."""

    def __init__(self, write: Callable[[str, bytes], None], split: str, sizes: tuple[int, int]) -> None:
        """Begin a split for vocabularies of these sizes (source, target)."""
        self.types = id_type(sizes[0]), id_type(sizes[1])
        self._write, self._names = write, [names_of(split, side) for side in SIDES]
        self.ends = [0, 0]
        """Ids written to each side. To go on with files that hold some already, set it and do not call `begin`."""

    def begin(self) -> None:
        """Write what files begin with."""
        for names, type_ in zip(self._names, self.types, strict=True):
            for name, (content, types) in zip(names, CONTENTS.items(), strict=True):
                self._write(name, _header(content, type_ if content == "ids" else types[0]))
            self._write(names[1], np.zeros(1, "<i8").tobytes())

    def write(self, source: Packed, target: Packed) -> None:
        """Append as many source as target sentences."""
        if len(source.lengths) != len(target.lengths):
            raise ValueError(f"{len(source.lengths)} source but {len(target.lengths)} target sentences")
        for side, packed in enumerate((source, target)):
            ids, offsets, lengths = self._names[side]
            ends = self.ends[side] + np.cumsum(packed.lengths, dtype="<i8")
            self._write(ids, packed.ids.tobytes())
            self._write(offsets, ends.tobytes())
            self._write(lengths, packed.lengths.astype("<i4", copy=False).tobytes())
            self.ends[side] += len(packed.ids)


@contextmanager
def writing_pairs(folder: Path, split: str, sizes: tuple[int, int]) -> Iterator[PairWriter]:
    """Write a split for vocabularies of the given sizes (source, target); files appear once the block ends well."""
    with ExitStack() as stack:
        temporary = {name: stack.enter_context(replacing(folder / name)) for name in split_files(split)}
        with ExitStack() as opened:
            files = {name: opened.enter_context(path.open("wb")) for name, path in temporary.items()}

            def write(name: str, content: bytes) -> None:
                files[name].write(content)

            writer = PairWriter(write, split, sizes)
            writer.begin()
            yield writer


def lines_header() -> bytes:
    """Return what the file of lines begins with."""
    return _header("lines", "uint32")


def open_lines(folder: Path) -> NDArray[np.uint32]:
    """Open the file of lines. Raises DataError where it is missing or damaged."""
    return _map(folder / LINES, "lines", ["uint32"])


def id_type(vocabulary: int) -> str:
    """Return the smallest number type that holds the ids of a vocabulary of this size."""
    return ID_TYPES[0] if vocabulary <= np.iinfo(np.uint16).max + 1 else ID_TYPES[1]


def names_of(split: str, side: str) -> list[str]:
    """Return the names of the files of a side: ids, offsets, lengths."""
    return [path.name for path in side_files(Path(f"{split}.{side}"))]


def split_files(split: str) -> list[str]:
    """Return the names of all files of a split."""
    return [name for side in SIDES for name in names_of(split, side)]


def side_files(prefix: Path) -> list[Path]:
    """Return the files of a side, whose names begin with `prefix`."""
    return [prefix.with_name(f"{prefix.name}.{content}.bin") for content in CONTENTS]


def _header(content: str, type_: str) -> bytes:
    return f"nmtkit {content} {FORMAT} {type_}".encode("ascii").ljust(HEADER_BYTES - 1) + b"\n"


def _map(path: Path, content: str, types: Sequence[str]) -> NDArray[Any]:
    """Map the numbers of a file into memory."""
    try:
        with path.open("rb") as stream:
            header = stream.read(HEADER_BYTES)
            size = path.stat().st_size - HEADER_BYTES
    except FileNotFoundError:
        raise DataError(f"{path} does not exist; {REMEDY}") from None
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror}); {REMEDY}") from None
    found = [type_ for type_ in types if header == _header(content, type_)]
    if not found:
        raise DataError(f"{path} is damaged or not written by this version of nmtkit; {REMEDY}")
    dtype = np.dtype(found[0]).newbyteorder("<")
    if size % dtype.itemsize:
        raise DataError(f"{path} is cut short; {REMEDY}")
    if not size:  # nothing to map
        return np.empty(0, dtype)
    return np.memmap(path, dtype, mode="r", offset=HEADER_BYTES)
