"""Draws words and phrases that make sense together, and remembers which words a sentence has used."""

import random
from collections.abc import Callable, Sequence
from typing import TypeVar

from nmtkit.sample import numbers
from nmtkit.sample.entries import Adjective, Determiner, Noun, Twin, Verb
from nmtkit.sample.lexicon import Lexicon
from nmtkit.sample.phrases import BARE, NounPhrase, Phrase, Quality, first_name, owned_by, prepositional, titled
from nmtkit.sample.pronouns import HE, SHE, THEY, WE, I

Item = TypeVar("Item")


class NoWordError(LookupError):
    """No word of the lexicon fits here; what was begun must be given up and drawn anew."""


class Draw:
    """Random choices out of a lexicon, all by one generator.

    `used` holds the keys of the nouns, verbs and adjectives drawn since `start`.
    """

    def __init__(self, lexicon: Lexicon, generator: random.Random) -> None:
        self.lexicon = lexicon
        self.generator = generator
        self.used: set[str] = set()
        self._classes: dict[str, list[Noun]] = {}
        for noun in lexicon.nouns:
            for name in noun.classes:
                self._classes.setdefault(name, []).append(noun)
        for noun in lexicon.nouns:
            self._classes.setdefault(noun.english, [noun])
        self._nouns: dict[tuple[bool | str, ...], list[Noun]] = {}
        self._fitting: dict[Noun, list[Adjective]] = {}
        self._of_frames: dict[tuple[str, ...], list[Verb]] = {}
        self._things = {entry.english or entry.english_plural: entry for entry in lexicon.determiners}

    def start(self) -> None:
        """Forget which words have been used."""
        self.used = set()

    # Chance

    def chance(self, probability: float) -> bool:
        """Return true as often as that."""
        return self.generator.random() < probability

    def one(self, items: Sequence[Item]) -> Item:
        """Return any of the items. Raises NoWordError where there are none."""
        if not items:
            raise NoWordError
        return items[int(self.generator.random() * len(items))]

    def number(self, low: int, high: int) -> int:
        """Return a whole number from low to high."""
        return low + int(self.generator.random() * (high - low + 1))

    # Words

    def determiner(self, english: str) -> Determiner:
        """Return a determiner by its English."""
        return self._things[english]

    def noun(self, names: Sequence[str], *, but: Sequence[Noun | None] = (), countable: bool = False) -> Noun:
        """Return a noun that is, or belongs to the class of, one of the names. Raises NoWordError."""
        key: tuple[bool | str, ...] = (countable, *names)
        if key not in self._nouns:
            found = dict.fromkeys(noun for name in names for noun in self._classes[name])
            self._nouns[key] = [noun for noun in found if not (countable and noun.mass)]
        noun = self.one(self._nouns[key])
        if len(names) > 1 and not countable and self.chance(0.5):  # so that small classes are not rare
            noun = self.one(self._classes[self.one(names)])
        if noun in but:
            noun = self.one([other for other in self._nouns[key] if other not in but])
        self.used.add(f"noun {noun.english}")
        return noun

    def verb(
        self,
        *frames: str,
        needs: str = "",
        without: Sequence[str] = (),
        where: Callable[[Verb], bool] | None = None,
    ) -> Verb:
        """Return a verb of one of the frames, with a flag, without others, of which `where` is true."""
        if frames not in self._of_frames:
            self._of_frames[frames] = [verb for verb in self.lexicon.verbs if verb.frame in frames]
        while True:
            verb = self.one(self._of_frames[frames])
            if (
                (not needs or needs in verb.flags)
                and not verb.flags.intersection(without)
                and (where is None or where(verb))
            ):
                return self.take(verb)

    def take(self, verb: Verb) -> Verb:
        """Note a verb as used."""
        self.used.add(f"verb {verb.name} ({verb.frame})")
        return verb

    def quality(self, noun: Noun, degree: int = 0) -> Quality | None:
        """Return an adjective that goes with a noun, or None where there is none."""
        if noun not in self._fitting:
            names = noun.classes | {noun.english}
            self._fitting[noun] = [entry for entry in self.lexicon.adjectives if entry.classes & names]
        fitting = [entry for entry in self._fitting[noun] if not degree or entry.english.comparative]
        if not fitting:
            return None
        adjective = self.one(fitting)
        self.used.add(f"adjective {adjective.english.positive}")
        return Quality(adjective, degree)

    def qualities(self, noun: Noun, probability: float = 0.35) -> tuple[Quality, ...]:
        """Return no adjective, or one, or a second of colour."""
        first = self.quality(noun) if self.chance(probability) else None
        if first is None:
            return ()
        if "coloured" in noun.classes and "coloured" not in first.adjective.classes and self.chance(0.15):
            second = self.quality(noun)
            if second and "coloured" in second.adjective.classes:
                return (first, second)
        return (first,)

    # Phrases

    def definite(self, noun: Noun, *, plural: bool = False, probability: float = 0.25) -> NounPhrase:
        """Return a noun with the, or a possessive."""
        return NounPhrase(noun, self._known(noun), plural, qualities=self.qualities(noun, probability))

    def phrase(self, noun: Noun, *, subject: bool = False) -> NounPhrase:
        """Return a noun with any determiner or number that suits it."""
        qualities = self.qualities(noun)
        if noun.mass:
            determiner = self.one([BARE, BARE, self._things["the"], self._things["the"], self._known(noun)])
            return NounPhrase(noun, determiner, qualities=qualities)
        if self.chance(0.32) and not _single(noun):
            return self._several(noun, qualities)
        pick = self.generator.random()
        if pick < 0.42:
            determiner = self._things["the"]
        elif pick < 0.66:
            determiner = self._things["a"]
        elif pick < 0.76:
            determiner = self._things["this"]
        elif pick < 0.8 and subject:
            determiner = self._things["every"]
        elif not _ownable(noun):
            determiner = self._things[self.one(("the", "a"))]
        elif pick < 0.87:
            determiner = owned_by(self.one(self.lexicon.first_names))
        else:
            determiner = self._owned()
        return NounPhrase(noun, determiner, qualities=qualities)

    def indefinite(self, noun: Noun) -> NounPhrase:
        """Return a noun with a, or as a mass or several without anything."""
        determiner = BARE if noun.mass else self._things["a"]
        return NounPhrase(noun, determiner, qualities=self.qualities(noun))

    def person(self, *, but: Sequence[Noun | None] = (), third: bool = True) -> Phrase:
        """Return a person: name or noun phrase in the third person singular, of masculine or feminine gender."""
        if self.chance(0.35):
            return self.name()
        while True:
            noun = self.noun(["person"], but=but)
            if noun.gender != "n" or not third:
                return self.definite(noun)

    def name(self) -> Phrase:
        """Return a first name, or a surname with a title."""
        if self.chance(0.7):
            return first_name(self.one(self.lexicon.first_names))
        return titled(self.one(self.lexicon.surnames), self.one(("m", "f")))

    def subject(self, verb: Verb) -> Phrase:
        """Return who does what the verb says."""
        if "person" in verb.subjects:
            pick = self.generator.random()
            if pick < 0.22:
                return self.one((I, HE, SHE, WE, THEY))
            if pick < 0.42:
                return self.name()
        return self.phrase(self.noun(verb.subjects), subject=True)

    def object(self, verb: Verb, subject: Phrase | None = None) -> Phrase | None:
        """Return what the verb is done to, or None where its frame has no object."""
        if not verb.objects:
            return None
        noun = self.noun(verb.objects, but=[noun_of(subject)])
        if "person" in noun.classes and self.chance(0.2):
            return self.name() if self.chance(0.5) else self.definite(noun)
        if verb.frame in {"two objects", "preposition"}:
            return self.phrase(noun) if self.chance(0.4) else self.definite(noun, plural=self._more(noun, 0.25))
        return self.phrase(noun)

    def manner(self, verb: Verb, subject: Phrase) -> Twin:
        """Return an adverb of manner that goes with a verb."""
        names = {verb.english.base, "several" if subject.plural else ""}
        return self.one(
            [entry.words for entry in self.lexicon.manner if not entry.verbs or names.intersection(entry.verbs)]
        )

    def company(self, but: Phrase) -> Twin:
        """Return with whom something is done."""
        noun = self.noun(["kin"], but=[noun_of(but)])
        return prepositional(Twin("with", "mit"), NounPhrase(noun, self._owned()), "dat")

    def time(self, tense: str) -> Twin:
        """Return an expression of time that suits a tense."""
        return self.one([entry.words for entry in self.lexicon.time if tense in entry.tenses])

    def _known(self, noun: Noun) -> Determiner:
        return self._owned() if _ownable(noun) and self.chance(0.33) else self._things["the"]

    def _owned(self) -> Determiner:
        return self._things[self.one(("my", "his", "her", "our", "their"))]

    def _more(self, noun: Noun, probability: float) -> bool:
        return not noun.mass and not _single(noun) and self.chance(probability)

    def _several(self, noun: Noun, qualities: tuple[Quality, ...]) -> NounPhrase:
        pick = self.generator.random()
        if pick < 0.15:
            return NounPhrase(noun, BARE, True, number=numbers.cardinal(self.number(2, 12)), qualities=qualities)
        if pick < 0.35:
            return NounPhrase(noun, BARE, True, qualities=qualities)
        if pick < 0.6:
            return NounPhrase(noun, self._things["the"], True, qualities=qualities)
        names = ("this", "this", "all", "many", "some", "few", "several")
        name = self.one((*names, "my", "his", "her", "our", "their") if _ownable(noun) else names)
        return NounPhrase(noun, self._things[name], True, qualities=qualities)


def _single(noun: Noun) -> bool:
    """Say whether a whole has one of it, as the name and the price, but not the doors."""
    return "part" in noun.classes and "open" not in noun.classes


def _ownable(noun: Noun) -> bool:
    """Say whether one can well say "my" of it: my brother and my hat, but not my queen."""
    return not noun.classes.isdisjoint(
        {"kin", "pet", "thing", "food", "drink", "home", "room", "event", "abstract", "part"}
    )


def noun_of(phrase: Phrase | None) -> Noun | None:
    """Return the noun of a noun phrase, and None of anything else."""
    return phrase.noun if isinstance(phrase, NounPhrase) else None
