"""Reading what is scored: files that a person names, or the test sets of the configuration."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from nmtkit.commands.score_material import Material, System
from nmtkit.config import Config
from nmtkit.corpus.lines import read_lines
from nmtkit.corpus.reader import PairCounts, ParallelText, check_files, locate, resolve
from nmtkit.corpus.settings import TestFiles
from nmtkit.errors import ConfigError, DataError
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


@dataclass(frozen=True)
class Files:
    """The names of the files that a test set was read from, `hypotheses` by system."""

    source: str | None
    references: list[str]
    hypotheses: list[str]


class TestMaterial(NamedTuple):
    """A test set, and where it came from."""

    material: Material
    files: Files
    tag: str = ""
    """What stands before each source; empty where nothing does."""

    def translated_by(self, system: System, file: Path) -> "TestMaterial":
        """Return it with the translations of one more system, which lie in this file."""
        material = replace(self.material, systems=[*self.material.systems, system])
        files = replace(self.files, hypotheses=[*self.files.hypotheses, str(file)])
        return self._replace(material=material, files=files)


def read_given(given: Given) -> TestMaterial:
    """Read the files that a person named, at least a system and a reference.

    Raises ConfigError for two systems of one name, DataError, naming files and counts, where files differ in lines, and
    where one is missing, empty or not UTF-8.
    """
    systems = named_files(given.systems)
    texts = [list(read_lines(path)) for _, path in systems]
    references = [list(read_lines(path)) for path in given.references]
    for (_, path), text in zip(systems, texts, strict=True):
        _check_counts(path, len(text), given.references[0], len(references[0]))
    for path, text in zip(given.references[1:], references[1:], strict=True):
        _check_counts(path, len(text), given.references[0], len(references[0]))
    if not references[0]:
        raise DataError(f"{systems[0].path} and {given.references[0]} are empty: no lines to score; check the names")
    sources = None
    if given.source is not None:
        sources = list(read_lines(given.source))
        _check_counts(given.source, len(sources), given.references[0], len(references[0]))
    labels = read_labels(given.labels, given.references[0], len(references[0]))
    named = [System(system.name, text) for system, text in zip(systems, texts, strict=True)]
    return TestMaterial(
        Material(given.references[0].name, sources, references, named, labels),
        Files(
            None if given.source is None else str(given.source),
            [str(path) for path in given.references],
            [str(system.path) for system in systems],
        ),
    )


def read_test_sets(config: Config, base: Path, systems: Sequence[str] = ()) -> list[TestMaterial]:
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
    pairs = [_pairs(text) for text in texts]
    return [
        _test_set(config, base, files, text, known, systems)
        for files, text, known in zip(config.corpus.test, texts, pairs, strict=True)
    ]


def _test_set(
    config: Config,
    base: Path,
    files: TestFiles,
    text: ParallelText,
    pairs: tuple[list[str], list[str]],
    systems: Sequence[str],
) -> TestMaterial:
    sources, references = pairs[0], [pairs[1]]
    more = [resolve(base, config.corpus, name) for name in files.more_references]
    for path in more:
        references.append(list(read_lines(path)))
        _check_counts(path, len(references[-1]), text.files[-1], len(references[0]))
    labels = resolve(base, config.corpus, files.labels) if files.labels else None
    found = TestMaterial(
        Material(text.name, sources, references, [], read_labels(labels, text.files[-1], len(sources))),
        Files(text.source_name, [text.target_name, *map(str, more)], []),
        files.tag,
    )
    for system in named_files(systems, text.name):
        hypotheses = list(read_lines(system.path))
        _check_counts(system.path, len(hypotheses), text.files[-1], len(sources))
        found = found.translated_by(System(system.name, hypotheses), system.path)
    return found


def _pairs(text: ParallelText) -> tuple[list[str], list[str]]:
    text.count_pairs()
    pairs = list(text.pairs(PairCounts()))
    return [pair.source for pair in pairs], [pair.target for pair in pairs]


class NamedFile(NamedTuple):
    """A file and the name of the system that wrote it."""

    name: str
    path: Path


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


def read_labels(path: Path | None, beside: Path, lines: int) -> list[str]:
    """Return the labels of the lines of `beside`; none without a path. Raises DataError where there are not as many."""
    if path is None:
        return []
    labels = [label.strip() for label in read_lines(path)]
    if len(labels) != lines:
        raise DataError(
            f"{path} has {len(labels):,} lines but {beside} has {lines:,}; line n of the labels names what line n "
            "belongs to, so find where they part; nothing was scored"
        )
    return labels


def _check_counts(path: Path, lines: int, other: Path, others: int) -> None:
    if lines != others:
        raise DataError(
            f"{path} has {lines:,} lines but {other} has {others:,}; line n of the "
            "one must answer line n of the other, so find where they part; nothing was scored"
        )
