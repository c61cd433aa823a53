"""What fills the places of a clause: noun phrases, names, pronouns, coordinations. Each speaks both languages."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from nmtkit.sample import english, german_nouns
from nmtkit.sample.entries import Adjective, Case, Determiner, FirstName, Gender, Measure, Noun, Twin
from nmtkit.sample.german_nouns import Form

BARE = Determiner("", "", "", "none")
NOT_A = Determiner("a", "any", "kein", "ein")
"""What "not" and an indefinite article make together: not a, kein."""


class Phrase(ABC):
    """Something that can be a subject or object."""

    person: int = 3
    plural: bool = False
    light: bool = False  # a pronoun: German moves it forward
    definite: bool = True

    @abstractmethod
    def english(self, *, object: bool = False) -> str:
        """Return the English words."""

    @abstractmethod
    def german(self, case: Case) -> str:
        """Return the German words, between commas where they end in a clause."""

    @property
    @abstractmethod
    def form(self) -> Form:
        """The gender, or plural, that pronouns referring here take."""

    @property
    def personal(self) -> bool:
        """Whether English refers here by who, he and she."""
        return False


@dataclass(frozen=True)
class Name(Phrase):
    """A person's name, perhaps with a title: Anna, Mr Keller."""

    words: Twin
    gender: Gender
    titled: bool = False

    def english(self, *, object: bool = False) -> str:  # noqa: ARG002  most phrases have one form
        """Return the English words."""
        return self.words.english

    def german(self, case: Case) -> str:
        """Return the German words."""
        if self.titled and self.gender == "m" and case != "nom":
            return self.words.german.replace("Herr", "Herrn", 1)
        return self.words.german

    @property
    def form(self) -> Form:
        """The gender, or plural."""
        return self.gender

    @property
    def personal(self) -> bool:
        """Whether English refers here by who, he and she."""
        return True


def first_name(entry: FirstName) -> Name:
    """Return a first name as a phrase."""
    return Name(Twin(entry.name, entry.name), entry.gender)


def titled(surname: str, gender: Gender) -> Name:
    """Return a surname with Mr or Mrs."""
    titles = ("Mr", "Herr") if gender == "m" else ("Mrs", "Frau")
    return Name(Twin(f"{titles[0]} {surname}", f"{titles[1]} {surname}"), gender, True)


def owned_by(name: FirstName) -> Determiner:
    """Return a first name as a determiner: Anna's, Annas."""
    return Determiner(f"{name.name}'s", f"{name.name}'s", f"{name.name}s", "fixed")


@dataclass(frozen=True)
class Quality:
    """An adjective in one of its degrees."""

    adjective: Adjective
    degree: int = 0  # 0 positive, 1 comparative, 2 superlative

    @property
    def english(self) -> str:
        """The English form."""
        forms = self.adjective.english
        return (forms.positive, forms.comparative, forms.superlative)[self.degree]

    @property
    def stem(self) -> str:
        """What German endings are put to."""
        forms = self.adjective.german
        return (self.adjective.stem, forms.comparative, forms.superlative)[self.degree]


@dataclass(frozen=True)
class NounPhrase(Phrase):
    """A noun with what belongs to it.

    `pointed` says that a relative clause follows later in the sentence: "von dem Bruder, der" is not contracted.
    `number` stands between determiner and adjectives; `after` follows the noun, as "in the garden"; `relative` is a
    relative clause, whose German the phrase sets between commas.
    """

    noun: Noun
    determiner: Determiner = BARE
    plural: bool = False
    number: Twin | None = None
    qualities: Sequence[Quality] = ()
    owner: Phrase | None = None
    after: Twin | None = None
    relative: Twin | None = None
    pointed: bool = False

    def __post_init__(self) -> None:
        if self.plural and self.noun.mass:
            raise ValueError(f"{self.noun.english} has no plural")

    def english(self, *, object: bool = False) -> str:  # noqa: ARG002  it has one form
        """Return the English words."""
        noun = self.noun.english_plural if self.plural else self.noun.english
        words = [self.number.english] if self.number else []
        words += [quality.english for quality in self.qualities]
        words += [noun]
        words += [f"of {self.owner.english()}"] if self.owner else []
        words += [extra.english for extra in (self.after, self.relative) if extra]
        text = " ".join(words)
        first = self.determiner.english_plural if self.plural or self.noun.mass else self.determiner.english
        if first == "a":
            first = english.article(text)
        return f"{first} {text}" if first else text

    def german(self, case: Case) -> str:
        """Return the German words."""
        words = [german_nouns.determiner(self.determiner, self.form, case)]
        words += [self.number.german] if self.number else []
        words += [german_nouns.adjective(quality.stem, self.determiner, self.form, case) for quality in self.qualities]
        words += [german_nouns.decline(self.noun, case, self.plural)]
        words += [self.owner.german("gen")] if self.owner else []
        words += [self.after.german] if self.after else []
        text = " ".join(word for word in words if word)
        return f"{text}, {self.relative.german}," if self.relative else text

    @property
    def definite(self) -> bool:  # type: ignore[override]
        """Whether what is meant is known: the, this, my and Anna's, but not a, no, many or nothing at all."""
        return self.determiner.declension in {"der", "fixed"} or self.determiner.stem not in {
            *("", "ein", "kein", "viel", "einig", "wenig", "mehrer"),
        }

    @property
    def form(self) -> Form:
        """The gender, or plural."""
        return german_nouns.form_of(self.noun, self.plural)

    @property
    def personal(self) -> bool:
        """Whether English refers here by who, he and she."""
        return "person" in self.noun.classes


@dataclass(frozen=True)
class Amount(Phrase):
    """A measured amount: two bottles of water."""

    count: Twin
    many: bool
    measure: Measure
    noun: Noun
    definite: bool = False

    @property
    def plural(self) -> bool:  # type: ignore[override]
        """Whether there is more than one of the measure."""
        return self.many

    def english(self, *, object: bool = False) -> str:  # noqa: ARG002  it has one form
        """Return the English words."""
        unit = self.measure.english_plural if self.many else self.measure.english
        content = self.noun.english if self.noun.mass else self.noun.english_plural
        first = self.count.english if self.many else english.article(unit)
        return f"{first} {unit} of {content}"

    def german(self, case: Case) -> str:
        """Return the German words."""
        content = self.noun.german if self.noun.mass else self.noun.plural
        if self.many:
            return f"{self.count.german} {self.measure.german_plural} {content}"
        article = german_nouns.determiner(Determiner("a", "", "ein", "ein"), self.measure.gender, case)
        return f"{article} {self.measure.german} {content}"

    @property
    def form(self) -> Form:
        """The gender, or plural."""
        return "pl" if self.many else self.measure.gender


@dataclass(frozen=True)
class Both(Phrase):
    """Two phrases joined by "and"."""

    first: Phrase
    second: Phrase
    plural: bool = True

    def english(self, *, object: bool = False) -> str:
        """Return the English words."""
        return f"{self.first.english(object=object)} and {self.second.english(object=object)}"

    def german(self, case: Case) -> str:
        """Return the German words."""
        return f"{self.first.german(case)} und {self.second.german(case)}"

    @property
    def form(self) -> Form:
        """The gender, or plural."""
        return "pl"

    @property
    def personal(self) -> bool:
        """Whether English refers here by who, he and she."""
        return self.first.personal


def prepositional(preposition: Twin, phrase: Phrase, case: Case) -> Twin:
    """Put a preposition before a phrase, contracted in German where it must be."""
    german = german_nouns.with_preposition(preposition.german, phrase.german(case))
    if isinstance(phrase, NounPhrase) and (phrase.relative or phrase.pointed):
        german = f"{preposition.german} {phrase.german(case)}"
    return Twin(f"{preposition.english} {phrase.english(object=True)}".strip(), german)
