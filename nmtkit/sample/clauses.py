"""A clause before it has an order: who does what, how, where and when. Each language orders it in its own way."""

from dataclasses import dataclass
from typing import Literal

from nmtkit.sample.entries import Modal, Twin, Verb
from nmtkit.sample.phrases import NounPhrase, Phrase, prepositional

Tense = Literal["present", "past", "progressive", "past progressive", "perfect", "pluperfect", "future", "conditional"]


@dataclass(frozen=True)
class Clause:
    """One clause. In a passive one the subject suffers the action and `agent` does it.

    What a question asks for, or a relative pronoun stands for, is left out and given as the front of the clause.
    """

    subject: Phrase
    verb: Verb
    object: Phrase | None = None  # whatever the verb's frame governs, but for the recipient
    recipient: Phrase | None = None
    tense: Tense = "present"
    modal: Modal | None = None
    passive: bool = False
    agent: Phrase | None = None
    negated: bool = False
    particle: Literal["", "already", "not yet"] = ""
    frequency: Twin | None = None
    time: Twin | None = None
    manner: Twin | None = None
    company: Twin | None = None  # with whom, with what, for whom
    place: Twin | None = None  # position or direction
    predicate: Twin | None = None  # what follows "to be"
    stranded: str = ""  # an English preposition whose object stands in front

    @property
    def governed(self) -> Twin | None:
        """The object with the preposition that the verb asks for."""
        if self.object is None or self.verb.government is None:
            return None
        english, german, case = self.verb.government
        return prepositional(Twin(english, german), self.object, case)

    @property
    def plain_object(self) -> Phrase | None:
        """The object where no preposition stands before it."""
        return None if self.verb.government else self.object

    @property
    def without_any(self) -> bool:
        """Whether the negation sits in the object, as kein."""
        return isinstance(self.object, NounPhrase) and self.object.determiner.stem == "kein"
