"""The store: sentences as ids, packed into memory-mapped files. Imports no torch.

A side of a split is two files, each a header of 64 bytes and then plain little-endian numbers:

    train.source.ids.bin       the ids of all sentences, one behind the other: uint16, or int32 for large vocabularies
    train.source.offsets.bin   where each sentence begins, and the end of the last: int64, one more than sentences

Ids carry no begin or end mark. The same sentences make the same bytes.
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from nmtkit.errors import DataError
from nmtkit.run_folder import replacing

HEADER_BYTES = 64
FORMAT = 1
ID_TYPES = ("uint16", "int32")
REMEDY = "run `nmtkit prepare` for this run folder again"


class Sentences:
    """The sentences of one side, read from the disk as they are asked for. Opening costs the same for any size."""

    def __init__(self, ids: NDArray[Any], offsets: NDArray[np.int64], name: str = "sentences in memory") -> None:
        self._ids = ids
        self._offsets = offsets
        self._name = name

    @classmethod
    def open(cls, prefix: Path) -> "Sentences":
        """Open PREFIX.ids.bin and PREFIX.offsets.bin. Raises DataError where one is missing or damaged."""
        ids_file, offsets_file = side_files(prefix)
        offsets = _map(offsets_file, "offsets", ("int64",))
        ids = _map(ids_file, "ids", ID_TYPES)
        if not len(offsets) or offsets[0] != 0 or offsets[-1] != len(ids):
            raise DataError(f"{ids_file} and {offsets_file} do not belong together or are cut short; {REMEDY}")
        return cls(ids, offsets, str(offsets_file))

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def __getitem__(self, place: int) -> NDArray[np.int64]:
        """Return the ids of a sentence, int64, a copy."""
        if not -len(self) <= place < len(self):
            raise IndexError(f"sentence {place} of {len(self)}")
        place %= len(self)
        return self._ids[self._offsets[place] : self._offsets[place + 1]].astype(np.int64)

    @cached_property
    def lengths(self) -> NDArray[np.int32]:
        """Ids of each sentence. Raises DataError where offsets are damaged: opening does not look at all of them."""
        if (self._offsets[1:] < self._offsets[:-1]).any():
            raise DataError(f"{self._name}: damaged, a sentence ends before it begins; {REMEDY}")
        return np.diff(self._offsets).astype(np.int32)


@dataclass(frozen=True)
class PairStore:
    """Sentence pairs: sentence n of `target` translates sentence n of `source`."""

    source: Sentences
    target: Sentences

    @classmethod
    def open(cls, folder: Path, split: str) -> "PairStore":
        """Open a split ("train", "dev") of a run's data folder. Raises DataError where it is missing or damaged."""
        source, target = (Sentences.open(prefix) for prefix in prefixes(folder, split))
        if len(source) != len(target):
            raise DataError(f"{folder}: {split} has {len(source)} source but {len(target)} target sentences; {REMEDY}")
        return cls(source, target)

    def __len__(self) -> int:
        return len(self.source)


class SentenceWriter:
    """Appends sentences to the two files of a side."""

    def __init__(self, ids: BinaryIO, offsets: BinaryIO, id_type: str) -> None:
        self._ids, self._offsets, self._type = ids, offsets, np.dtype(id_type).newbyteorder("<")
        self._end = 0
        ids.write(_header("ids", id_type))
        offsets.write(_header("offsets", "int64"))
        offsets.write(np.zeros(1, "<i8").tobytes())

    def write(self, sentences: Sequence[Sequence[int]]) -> None:
        """Append sentences of ids."""
        ends = self._end + np.cumsum([len(ids) for ids in sentences], dtype="<i8")
        flat = np.fromiter((id_ for ids in sentences for id_ in ids), dtype=self._type)
        self._ids.write(flat.tobytes())
        self._offsets.write(ends.tobytes())
        self._end += len(flat)


class PairWriter:
    """Appends sentence pairs to both sides of a split."""

    def __init__(self, source: SentenceWriter, target: SentenceWriter) -> None:
        self._source, self._target = source, target

    def write(self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]) -> None:
        """Append as many source as target sentences."""
        if len(sources) != len(targets):
            raise ValueError(f"{len(sources)} source but {len(targets)} target sentences")
        self._source.write(sources)
        self._target.write(targets)


@contextmanager
def writing_pairs(folder: Path, split: str, sizes: tuple[int, int]) -> Iterator[PairWriter]:
    """Write a split for vocabularies of the given sizes (source, target); files appear once the block ends well."""
    with ExitStack() as stack:
        temporary = [
            stack.enter_context(replacing(path)) for prefix in prefixes(folder, split) for path in side_files(prefix)
        ]
        with ExitStack() as files:
            ids, offsets, target_ids, target_offsets = (files.enter_context(path.open("wb")) for path in temporary)
            yield PairWriter(
                SentenceWriter(ids, offsets, id_type(sizes[0])),
                SentenceWriter(target_ids, target_offsets, id_type(sizes[1])),
            )


def id_type(vocabulary: int) -> str:
    """Return the smallest number type that holds the ids of a vocabulary of this size."""
    return ID_TYPES[0] if vocabulary <= np.iinfo(np.uint16).max + 1 else ID_TYPES[1]


def prefixes(folder: Path, split: str) -> tuple[Path, Path]:
    """Return what the names of the files of a split begin with, source and target."""
    return folder / f"{split}.source", folder / f"{split}.target"


def side_files(prefix: Path) -> tuple[Path, Path]:
    """Return the two files of a side: ids, offsets."""
    return prefix.with_name(f"{prefix.name}.ids.bin"), prefix.with_name(f"{prefix.name}.offsets.bin")


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
