"""What the lexicon holds: one frozen class for each kind of word."""

from dataclasses import dataclass
from typing import Literal, NamedTuple

Case = Literal["nom", "acc", "dat", "gen"]
Gender = Literal["m", "f", "n"]
ModalTense = Literal["present", "past", "conditional"]
Frame = Literal[
    "intransitive",
    "accusative",
    "dative",
    "two objects",
    "preposition",
    "position",
    "placing",
    "motion",
    "measure",
    "travel",
    "clause",
    "copula",
]

GENDERS: dict[str, Gender] = {"der": "m", "die": "f", "das": "n"}
CASES: tuple[Case, ...] = ("nom", "acc", "dat", "gen")


class Twin(NamedTuple):
    """An expression that does not inflect, in both languages."""

    english: str
    german: str


@dataclass(frozen=True)
class Noun:
    """A noun. A mass noun has empty plurals."""

    english: str
    english_plural: str
    german: str
    gender: Gender
    plural: str
    genitive: str
    oblique: str  # accusative and dative singular
    classes: frozenset[str]
    part_of: frozenset[str]

    @property
    def mass(self) -> bool:
        """Whether it has no plural."""
        return not self.plural


@dataclass(frozen=True)
class Compared:
    """The three degrees of an adjective in one language; the stems of German ones. Not compared: the last two empty."""

    positive: str
    comparative: str
    superlative: str


@dataclass(frozen=True)
class Adjective:
    """An adjective. `stem` is what German endings of the positive are put to."""

    english: Compared
    german: Compared
    stem: str
    classes: frozenset[str]


@dataclass(frozen=True)
class EnglishVerb:
    """The principal parts of the first word; `tail` is what follows it, as "up" or "oneself"."""

    base: str
    past: str
    participle: str
    tail: str


@dataclass(frozen=True)
class GermanVerb:
    """Principal parts without the separable `prefix`. `reflexive` is the case of its pronoun, or empty."""

    infinitive: str
    third: str
    preterite: str
    participle: str
    prefix: str = ""
    with_sein: bool = False
    reflexive: Literal["", "acc", "dat"] = ""


class Government(NamedTuple):
    """The preposition that a verb asks for. English may have none."""

    english: str
    german: str
    case: Case


@dataclass(frozen=True)
class Verb:
    """A verb of both languages: one meaning, one frame."""

    name: str
    english: EnglishVerb
    german: GermanVerb
    frame: Frame
    subjects: tuple[str, ...]
    objects: tuple[str, ...]
    flags: frozenset[str]
    government: Government | None = None


class Modal(NamedTuple):
    """A modal verb. `english` is the third person singular."""

    english: str
    german: str
    tense: ModalTense


class FirstName(NamedTuple):
    """A person's first name, the same in both languages."""

    name: str
    gender: Gender


class TimeWord(NamedTuple):
    """An expression of time and the tenses that it suits."""

    words: Twin
    tenses: frozenset[str]


class MannerWord(NamedTuple):
    """An adverb of manner and the verbs it goes with, all if none is named; "several" asks for a plural subject."""

    words: Twin
    verbs: tuple[str, ...]


class Measure(NamedTuple):
    """A unit of measure, and the classes of what is measured with it."""

    english: str
    english_plural: str
    german: str
    german_plural: str
    gender: Gender
    classes: tuple[str, ...]


class Determiner(NamedTuple):
    """Stands before adjectives. `declension` says how it and they inflect; an empty English form does not exist."""

    english: str
    english_plural: str
    stem: str
    declension: Literal["der", "ein", "dieser", "many", "fixed", "none"]


class Place(NamedTuple):
    """A two-way preposition: position takes the dative, motion the accusative."""

    english: str
    english_motion: str
    german: str
