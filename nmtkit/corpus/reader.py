"""Readers of parallel text: pairs from the files that the configuration names, never a pair out of step."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple, overload

from nmtkit.corpus.archives import opened
from nmtkit.corpus.blocks import BLOCK, Block, Part, TextFile, TmxFile, TsvFile, TwoFiles, is_cheap
from nmtkit.corpus.lines import Invalid, LineCounts, Place, clean, decode
from nmtkit.corpus.pair import SentencePair
from nmtkit.corpus.patterns import Found, find, pair_up
from nmtkit.corpus.settings import CorpusConfig, LanguagesConfig, ParallelFiles, TestFiles
from nmtkit.errors import ConfigError, DataError


@dataclass
class PairCounts:
    """What was met on each side while reading, and by reason the numbers of what is no pair."""

    source: LineCounts = field(default_factory=LineCounts)
    target: LineCounts = field(default_factory=LineCounts)
    left_out: dict[str, list[int]] = field(default_factory=dict)


class ParallelText(NamedTuple):
    """A parallel text: its name and what it consists of, in order."""

    name: str
    parts: tuple[Part, ...]
    more_references: tuple[TextFile, ...] = ()
    """Of a test set: files of other translations of its sources, a line for each pair."""

    @property
    def files(self) -> tuple[Path, ...]:
        """The files that its pairs are read from."""
        return tuple(file.path for part in self.parts for file in part.files)

    @property
    def source_name(self) -> str:
        """What messages call its source."""
        return _names([part.files[0].name for part in self.parts])

    @property
    def target_name(self) -> str:
        """What messages call its target."""
        return _names([part.files[-1].name for part in self.parts])

    @property
    def manner(self) -> list[list[str]]:
        """How its files are read: beside their content all that the pairs depend on."""
        return [part.manner for part in self.parts]

    def named_files(self) -> Iterator[tuple[str, TextFile]]:
        """Yield each file under the key that it was given by, numbered where there may be several."""
        for number, part in enumerate(self.parts, start=1):
            keys = ("source", "target") if isinstance(part, TwoFiles) else (part.manner[0],)
            for key, file in zip(keys, part.files, strict=True):
                yield f"{key} {number}" if len(self.parts) > 1 else key, file
        for number, file in enumerate(self.more_references, start=1):
            yield f"more_references {number}", file

    def count_pairs(self) -> int:
        """Return the number of pairs, and of units of a TMX file that are none.

        Reads everything. Raises DataError where a file is empty, damaged, or differs in lines from its other side.
        """
        return sum(part.count_pairs() for part in self.parts)

    def count_soon(self) -> int | None:
        """Return the number of pairs, or None where some file would have to be unpacked or parsed for it.

        Files that are plain lines are counted at the speed of the disk. Raises DataError, as `count_pairs`, for these.
        """
        counts = [part.count_pairs() if is_cheap(part) else None for part in self.parts]
        return None if None in counts else sum(count for count in counts if count is not None)

    def bytes(self) -> int:
        """Return the size of the files; the `read` of all blocks add up to it, or nearly."""
        return sum(path.stat().st_size for path in self.files)

    def blocks(self, size: int = BLOCK) -> Iterator[Block]:
        """Yield all pairs in order, raw, in blocks of about `size` bytes of source.

        Raises DataError where a file cannot be read, is damaged, or differs in lines from its other side (after
        yielding what both have), and where a line of a TSV file lacks a column.
        """
        last = 0
        for part in self.parts:
            for block in part.blocks(size, last):
                yield block
                last = block.last

    @overload
    def pairs(self, counts: PairCounts, invalid: Literal["error", "replace"] = "error") -> Iterator[SentencePair]: ...

    @overload
    def pairs(self, counts: PairCounts, invalid: Invalid) -> Iterator[SentencePair | None]: ...

    def pairs(
        self, counts: PairCounts, invalid: Invalid = "error"
    ) -> Iterator[SentencePair] | Iterator[SentencePair | None]:
        """Yield the pairs in order, clean: None where invalid is "mark" and a side is not UTF-8.

        Raises DataError as `blocks` does, and EncodingError as `read_lines` does.
        """
        for block in self.blocks():
            for reason, number in block.left_out:
                counts.left_out.setdefault(reason, []).append(number)
            for number, *raws in zip(block.numbers, block.sources, block.targets, strict=True):
                source = _text(raws[0], block.source_place, number, counts.source, invalid)
                target = _text(raws[1], block.target_place, number, counts.target, invalid)
                yield None if source is None or target is None else SentencePair(source, target)


def _text(raw: bytes, place: Place, number: int, counts: LineCounts, invalid: Invalid) -> str | None:
    counts.lines += 1
    text = decode(raw, place, counts, invalid, number)
    return None if text is None else clean(text, counts, number)


def _names(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"


def resolve(folder: Path, corpus: CorpusConfig, name: str) -> Path:
    """Return the path of a file named in the configuration, whose own folder is `folder`."""
    return corpus_folder(folder, corpus) / _expanded(name)


def corpus_folder(folder: Path, corpus: CorpusConfig) -> Path:
    """Return the folder that file names of the configuration start from. Raises ConfigError where ~NAME is no user."""
    return folder / _expanded(corpus.folder)


def _expanded(name: str) -> Path:
    try:
        return Path(name).expanduser()
    except RuntimeError:
        raise ConfigError(f"corpus: {name!r}: there is no home folder of that user; write the path in full") from None


def locate(
    folder: Path,
    corpus: CorpusConfig,
    files: ParallelFiles,
    languages: LanguagesConfig,
    standard_input: Path | None = None,
) -> ParallelText:
    """Return a parallel text of the configuration in `folder`, its patterns and paths resolved.

    `standard_input` is the file that holds a copy of it, where a name is `-`. Raises ConfigError for names that mean no
    file, DataError where a pattern matches none and where files do not pair up.
    """
    start = corpus_folder(folder, corpus)

    def found(names: str | tuple[str, ...]) -> list[Found]:
        names = (names,) if isinstance(names, str) else names
        return [file for name in names for file in files_of(name)]

    def files_of(name: str) -> list[Found]:
        if name == "-":
            assert standard_input is not None, "standard input was not copied"
            return [Found(TextFile(standard_input, "standard input"))]
        return find(start, _expanded(name), files.name)

    parts: list[Part]
    if files.tsv:
        parts = [TsvFile(each.file, files.columns) for each in found(files.tsv)]
    elif files.tmx:
        codes = files.codes or (languages.source, languages.target)
        if codes[0] == codes[1]:
            raise ConfigError(
                f"corpus {files.name!r}: {codes[0]!r} is source and target; give two languages as `codes`"
            )
        parts = [TmxFile(each.file, codes) for each in found(files.tmx)]
    else:
        parts = [TwoFiles(*both) for both in pair_up(files.name, found(files.source), found(files.target))]
    names = files.more_references if isinstance(files, TestFiles) else ()
    paths = [start / _expanded(name) for name in names]
    return ParallelText(files.name, tuple(parts), tuple(TextFile(path, str(path)) for path in paths))


def check_files(texts: list[ParallelText]) -> None:
    """Raise one DataError that names every file that is missing, empty, a folder, unreadable or no archive we know."""
    problems = []
    for text in texts:
        for _, file in text.named_files():
            problem = _problem(file)
            if problem:
                problems.append(f"corpus {text.name!r}: {problem}")
    if problems:
        raise DataError("\n".join(problems))


def _problem(file: TextFile) -> str:
    path, name = file
    try:
        if path.is_dir():
            return f"{name} is a folder; give a file with one sentence a line"
        if not path.exists():
            return f"{name} does not exist; check the name, and that corpus.folder is right"
        if not path.is_file():
            return f"{name} is no regular file, but is read more than once; write its content to a file"
    except OSError as error:
        return f"{name} cannot be read: {error.strerror}; check its name and permissions"
    try:
        with opened(path, name) as (stream, _):
            return "" if stream.read(1) else f"{name} is empty; give a file with one sentence a line"
    except DataError as error:
        return str(error)
