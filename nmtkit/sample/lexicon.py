"""The lexicon: every word of the sample corpus, read from the tables beside this module."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import TypeVar, cast

from nmtkit.sample import readers
from nmtkit.sample.entries import (
    Adjective,
    Determiner,
    FirstName,
    Gender,
    MannerWord,
    Measure,
    Modal,
    ModalTense,
    Noun,
    Place,
    TimeWord,
    Twin,
    Verb,
)
from nmtkit.sample.tables import Row, packaged, read_rows

Entry = TypeVar("Entry")


@dataclass(frozen=True)
class Lexicon:
    """All entries, in the order of the tables."""

    nouns: tuple[Noun, ...]
    verbs: tuple[Verb, ...]
    adjectives: tuple[Adjective, ...]
    first_names: tuple[FirstName, ...]
    surnames: tuple[str, ...]
    cities: tuple[Twin, ...]
    countries: tuple[Twin, ...]
    manner: tuple[MannerWord, ...]
    frequency: tuple[Twin, ...]
    time: tuple[TimeWord, ...]
    weekdays: tuple[Twin, ...]
    months: tuple[Twin, ...]
    measures: tuple[Measure, ...]
    determiners: tuple[Determiner, ...]
    places: tuple[Place, ...]
    modals: tuple[Modal, ...]
    conjunctions: tuple[Twin, ...]

    def __len__(self) -> int:
        return sum(len(entries) for entries in vars(self).values())

    def noun(self, english: str) -> Noun:
        """Return a noun by its English singular."""
        return _only(entry for entry in self.nouns if entry.english == english)

    def verb(self, name: str, frame: str | None = None) -> Verb:
        """Return a verb by its English base and tail, and its frame where there are several."""
        return _only(entry for entry in self.verbs if entry.name == name and frame in {None, entry.frame})

    def adjective(self, english: str) -> Adjective:
        """Return an adjective by its English positive."""
        return _only(entry for entry in self.adjectives if entry.english.positive == english)

    def determiner(self, english: str) -> Determiner:
        """Return a determiner by its English form for one, or else for several."""
        return _only(entry for entry in self.determiners if english == (entry.english or entry.english_plural))

    def modal(self, english: str) -> Modal:
        """Return a modal verb by its English third person."""
        return _only(entry for entry in self.modals if entry.english == english)

    def place(self, english: str) -> Place:
        """Return a two-way preposition by its English of position."""
        return _only(entry for entry in self.places if entry.english == english)


@cache
def lexicon() -> Lexicon:
    """Read and check the tables; ValueError names the line that is wrong."""
    words: dict[str, list[Row]] = {}
    for row in read_rows("words.txt", packaged("words.txt"), None):
        words.setdefault(row.section, []).append(row)
    nouns = tuple(readers.noun(row) for row in read_rows("nouns.txt", packaged("nouns.txt"), 4))
    verbs = tuple(readers.verb(row) for row in read_rows("verbs.txt", packaged("verbs.txt"), 5))
    adjectives = tuple(readers.adjective(row) for row in read_rows("adjectives.txt", packaged("adjectives.txt"), 3))
    made = Lexicon(
        nouns,
        verbs,
        adjectives,
        _read(words["first names"], lambda cells: FirstName(cells[0], cast(Gender, cells[1]))),
        _read(words["surnames"], lambda cells: cells[0]),
        _read(words["cities"], _twin),
        _read(words["countries"], _twin),
        _read(words["manner"], lambda cells: MannerWord(_twin(cells), tuple(" ".join(cells[2:]).split()))),
        _read(words["frequency"], _twin),
        _read(words["time"], lambda cells: TimeWord(_twin(cells), frozenset(cells[2].split()))),
        _read(words["weekdays"], _twin),
        _read(words["months"], _twin),
        _read(words["measures"], _measure),
        _read(words["determiners"], _determiner),
        _read(words["places"], lambda cells: Place(cells[0], cells[1], cells[2])),
        _read(words["modals"], lambda cells: Modal(cells[0], cells[1], cast(ModalTense, cells[2]))),
        _read(words["conjunctions"], _twin),
    )
    check(made)
    return made


def check(made: Lexicon) -> None:
    """Raise ValueError where one English word would have two translations, or a class that is asked for is empty."""
    known = {name for noun in made.nouns for name in (noun.english, *noun.classes)}
    for names in (
        [noun.english for noun in made.nouns],
        [f"{verb.name} ({verb.frame})" for verb in made.verbs],
        [adjective.english.positive for adjective in made.adjectives],
    ):
        twice = [name for name, times in Counter(names).items() if times > 1]
        if twice:
            raise ValueError(f"{twice[0]}: stands in the lexicon twice")
    asked = {name for verb in made.verbs for name in (*verb.subjects, *verb.objects)}
    asked |= {name for adjective in made.adjectives for name in adjective.classes}
    asked |= {name for noun in made.nouns for name in noun.part_of}
    asked |= {name for measure in made.measures for name in measure.classes}
    if asked - known:
        raise ValueError(f"{sorted(asked - known)[0]}: no noun is, or belongs to, this")


def _read(rows: list[Row], make: Callable[[list[str]], Entry]) -> tuple[Entry, ...]:
    entries = []
    for row in rows:
        try:
            entries.append(make(row.columns))
        except (IndexError, ValueError) as error:
            raise row.wrong("columns are missing, or there are too many") from error
    return tuple(entries)


def _twin(cells: list[str]) -> Twin:
    return Twin(cells[0], cells[1])


def _measure(cells: list[str]) -> Measure:
    one, several, german, german_several, gender, classes = cells
    return Measure(one, several, german, german_several, cast(Gender, gender), tuple(classes.split()))


def _determiner(cells: list[str]) -> Determiner:
    one, several, stem, declension = ("" if cell == "-" else cell for cell in cells)
    return Determiner(one, several, stem, declension)  # type: ignore[arg-type]


def _only(found: Iterator[Entry]) -> Entry:
    entries = list(found)
    if len(entries) != 1:
        raise KeyError(f"{len(entries)} entries, not one")
    return entries[0]
