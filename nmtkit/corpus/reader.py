"""Readers of parallel text: pairs from two files or from one of tab-separated pairs, never a pair out of step."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple, overload

from nmtkit.corpus.lines import Invalid, LineCounts, clean, count_lines, decode, raw_lines, read_lines
from nmtkit.corpus.pair import SentencePair
from nmtkit.corpus.settings import CorpusConfig, ParallelFiles
from nmtkit.errors import ConfigError, DataError


@dataclass
class PairCounts:
    """What was met on each side while reading."""

    source: LineCounts = field(default_factory=LineCounts)
    target: LineCounts = field(default_factory=LineCounts)


class ParallelText(NamedTuple):
    """A parallel text by the paths of its files: `target` is None where `source` holds tab-separated pairs."""

    name: str
    source: Path
    target: Path | None

    @property
    def files(self) -> tuple[Path, ...]:
        """The files it consists of."""
        return (self.source,) if self.target is None else (self.source, self.target)

    def count_pairs(self) -> int:
        """Return the number of pairs. Raises DataError where a file is empty or the files differ in lines."""
        lines = count_lines(self.source)
        if self.target is not None:
            _check_counts(self.source, lines, self.target, count_lines(self.target))
        return lines

    @overload
    def pairs(self, counts: PairCounts, invalid: Literal["error", "replace"] = "error") -> Iterator[SentencePair]: ...

    @overload
    def pairs(self, counts: PairCounts, invalid: Invalid) -> Iterator[SentencePair | None]: ...

    def pairs(
        self, counts: PairCounts, invalid: Invalid = "error"
    ) -> Iterator[SentencePair] | Iterator[SentencePair | None]:
        """Yield the pairs in order, one for each line: None where invalid is "mark" and a side is not UTF-8.

        Raises DataError as `read_lines` does, where one file ends before the other (after counting the rest), and
        where a line of a TSV file has not two columns.
        """
        if self.target is None:
            return _read_tsv(self.source, counts, invalid)
        return _read_two(self.source, self.target, counts, invalid)


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


def locate(folder: Path, corpus: CorpusConfig, files: ParallelFiles) -> ParallelText:
    """Return a parallel text of the configuration with its paths resolved."""
    if files.tsv:
        return ParallelText(files.name, resolve(folder, corpus, files.tsv), None)
    source, target = (resolve(folder, corpus, name) for name in (files.source, files.target))
    return ParallelText(files.name, source, target)


def check_files(texts: list[ParallelText]) -> None:
    """Raise one DataError that names every file that is missing, empty, a folder or unreadable."""
    problems = []
    for text in texts:
        for path in text.files:
            problem = _problem(path)
            if problem:
                problems.append(f"corpus {text.name!r}: {path} {problem}")
    if problems:
        raise DataError("\n".join(problems))


def _problem(path: Path) -> str:
    try:
        if path.is_dir():
            return "is a folder; give a file with one sentence a line"
        if not path.exists():
            return "does not exist; check the name, and that corpus.folder is right"
        if not path.is_file():
            return "is no regular file, but is read more than once; write its content to a file"
        with path.open("rb") as stream:
            return "" if stream.read(1) else "is empty; give a file with one sentence a line"
    except OSError as error:
        return f"cannot be read: {error.strerror}; check its name and permissions"


def _check_counts(source: Path, source_lines: int, target: Path, target_lines: int) -> None:
    if source_lines != target_lines:
        raise DataError(
            f"{source} has {source_lines} lines but {target} has {target_lines}; line n of the one must translate "
            "line n of the other, so find where they part and repair the files"
        )


def _read_two(source: Path, target: Path, counts: PairCounts, invalid: Invalid) -> Iterator[SentencePair | None]:
    sources = read_lines(source, invalid=invalid, counts=counts.source)
    targets = read_lines(target, invalid=invalid, counts=counts.target)
    end = object()
    while True:
        source_line, target_line = next(sources, end), next(targets, end)
        if source_line is end or target_line is end:
            break
        yield _pair(source_line, target_line)
    if source_line is not end or target_line is not end:
        _check_counts(source, count_lines(source), target, count_lines(target))


def _pair(source: object, target: object) -> SentencePair | None:
    return SentencePair(source, target) if isinstance(source, str) and isinstance(target, str) else None


def _read_tsv(path: Path, counts: PairCounts, invalid: Invalid) -> Iterator[SentencePair | None]:
    for raw in raw_lines(path):
        counts.source.lines += 1
        counts.target.lines += 1
        text = decode(raw, str(path), counts.source, invalid)
        if text is None:
            yield None
            continue
        columns = text.split("\t")
        if len(columns) != 2:
            raise DataError(
                f"{path}, line {counts.source.lines}: {len(columns)} columns where 2 are needed, "
                "source TAB target; remove further tabs and columns, and blank lines"
            )
        yield SentencePair(clean(columns[0], counts.source), clean(columns[1], counts.target))
