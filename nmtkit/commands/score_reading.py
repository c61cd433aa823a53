"""Reading what is scored: files that a person names, or the test sets of the configuration."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from nmtkit.commands.score_material import Material, System
from nmtkit.config import Config
from nmtkit.corpus.lines import LineCounts, read_lines
from nmtkit.corpus.reader import PairCounts, ParallelText, check_files, locate, resolve
from nmtkit.corpus.settings import TestFiles
from nmtkit.errors import ConfigError, DataError
from nmtkit.log import Log
from nmtkit.run_folder import as_file_name

SET = "{set}"
"""Stands for the name of a test set in the name of a file."""


@dataclass(frozen=True)
class Given:
    """The files that a person named: of systems, as FILE or NAME=FILE, of references, sources and labels."""

    systems: tuple[str, ...] = ()
    references: tuple[Path, ...] = ()
    source: Path | None = None
    labels: Path | None = None


class NamedFile(NamedTuple):
    """A file and the name of the system that wrote it."""

    name: str
    path: Path


def read_given(given: Given, log: Log) -> Material:
    """Read the files that a person named, at least a system and a reference.

    Raises ConfigError for two systems of one name, DataError, naming files and counts, where files differ in lines, and
    where one is missing, empty or not UTF-8.
    """
    first, *more = given.references
    systems = named_files(given.systems)
    references = [_lines(first, log)]
    beside = Beside(first, len(references[0]), log)
    found = [_system(each, beside) for each in systems]
    if not beside.lines:
        raise DataError(f"{systems[0].path} and {first} are empty: no lines to score; check the names")
    return Material(
        name=first.name,
        sources=None if given.source is None else beside.read(given.source),
        references=references + [beside.read(path) for path in more],
        systems=found,
        labels=_labels(given.labels, beside),
        source_file=None if given.source is None else str(given.source),
        reference_files=tuple(map(str, given.references)),
        files=tuple(file for file in (given.source, *given.references, given.labels) if file is not None),
    )


def read_test_sets(config: Config, base: Path, log: Log, systems: Sequence[str] = ()) -> list[Material]:
    """Read every [[corpus.test]] of a configuration whose paths start at `base`, and the files of systems if any.

    The name of such a file holds {set} for the name of the test set, where there are several sets. Raises ConfigError
    where there is no test set or no {set}, DataError as `read_given` does, for all files that are missing at once.
    """
    if not config.corpus.test:
        raise ConfigError(
            "corpus.test: there is no test set; add one as [[corpus.test]] with name, source and target, "
            "or give nmtkit score the files of translations and references (--system, --reference)"
        )
    for given in systems:
        if len(config.corpus.test) > 1 and SET not in given:
            raise ConfigError(
                f"--system {given}: there are {len(config.corpus.test)} test sets; write {SET} where the name of the "
                "file has that of the test set, or give --reference too"
            )
    texts = [locate(base, config.corpus, files, config.languages) for files in config.corpus.test]
    check_files(texts)
    for text in texts:
        text.count_pairs()  # what is wrong with a later set is told before the first is read
    both = zip(config.corpus.test, texts, strict=True)
    found = []
    for files, text in both:
        labels = resolve(base, config.corpus, files.labels) if files.labels else None
        found.append(_test_set(files, text, labels, named_files(systems, text.name), log))
    return found


def _test_set(
    files: TestFiles, text: ParallelText, labels: Path | None, systems: Sequence[NamedFile], log: Log
) -> Material:
    counts = PairCounts()
    pairs = list(text.pairs(counts))
    _tell(text.target_name, counts.target, log)
    beside = Beside(text.files[-1], len(pairs), log)
    return Material(
        name=text.name,
        sources=[pair.source for pair in pairs],
        references=[[pair.target for pair in pairs], *(beside.read(file.path) for file in text.more_references)],
        systems=[_system(each, beside) for each in systems],
        labels=_labels(labels, beside),
        source_file=text.source_name,
        reference_files=(text.target_name, *(file.name for file in text.more_references)),
        files=(*text.files, *(file.path for file in text.more_references), *([labels] if labels else [])),
        tag=files.tag,
    )


def named_files(given: Sequence[str], test_set: str = "") -> list[NamedFile]:
    """Return the files of systems, given as FILE or NAME=FILE; {set} in FILE stands for the test set, if there is one.

    A file without a name of its own is called as the file is, or by its whole path where two are called so or it holds
    {set}. Raises ConfigError where two systems have one name, or one has none.
    """
    found = list(_named(given))
    plain = [Path(path).name for name, path in found if not name]

    def called(path: str) -> str:
        return path if SET in path or plain.count(Path(path).name) > 1 else Path(path).name

    names = [name or called(path) for name, path in found]
    for name in names:
        if names.count(name) > 1:
            raise ConfigError(f"--system {name}: two systems have this name; give names, as in --system NAME=FILE")
    filled = as_file_name(test_set) if test_set else SET
    return [NamedFile(name, Path(path.replace(SET, filled))) for name, (_, path) in zip(names, found, strict=True)]


def _named(given: Sequence[str]) -> Iterator[tuple[str, str]]:
    for each in given:
        name, equals, path = each.partition("=")
        # The name of a file may hold an equals sign too.
        if not equals or "/" in name or Path(each).exists():
            yield "", each
        elif not (name.strip() and path):
            raise ConfigError(f"--system {each}: write NAME=FILE, or FILE alone")
        else:
            yield name.strip(), path


class Beside(NamedTuple):
    """A file of references, and how many lines it has: as many as every file beside it."""

    path: Path
    lines: int
    log: Log

    def read(self, path: Path) -> list[str]:
        """Return the lines of another file. Raises DataError where there are not as many."""
        found = _lines(path, self.log)
        if len(found) != self.lines:
            raise DataError(
                f"{path} has {len(found):,} lines but {self.path} has {self.lines:,}; line n of the one belongs to "
                "line n of the other, so find where they part; nothing was scored"
            )
        return found


def _lines(path: Path, log: Log) -> list[str]:
    counts = LineCounts()
    lines = list(read_lines(path, counts=counts))
    _tell(str(path), counts, log)
    return lines


def _tell(name: str, counts: LineCounts, log: Log) -> None:
    """Warn of what other scorers may take for part of a word."""
    if counts.controls_removed:
        log.warn(
            f"{name}: control characters removed: {counts.controls_removed:,} (first line {counts.first_control:,})"
        )


def _system(named: NamedFile, beside: Beside) -> System:
    return System(named.name, beside.read(named.path), str(named.path))


def _labels(path: Path | None, beside: Beside) -> list[str]:
    return [] if path is None else [label.strip() for label in beside.read(path)]
