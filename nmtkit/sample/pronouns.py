"""Pronouns: personal, interrogative, relative; and the subject that is left out when it would be said again."""

from dataclasses import dataclass

from nmtkit.sample import german_nouns
from nmtkit.sample.entries import Case, Gender
from nmtkit.sample.german_nouns import Form
from nmtkit.sample.phrases import Phrase


@dataclass(frozen=True)
class Pronoun(Phrase):
    """A personal or interrogative pronoun: English subject and object; German nominative, accusative, dative."""

    subject: str
    object_: str
    cases: tuple[str, str, str]
    person: int = 3
    plural: bool = False
    form_: Form = "m"
    light: bool = True

    def english(self, *, object: bool = False) -> str:
        """Return the English words."""
        return self.object_ if object else self.subject

    def german(self, case: Case) -> str:
        """Return the German words."""
        return self.cases[("nom", "acc", "dat").index(case)]

    @property
    def form(self) -> Form:
        """The gender, or plural."""
        return self.form_

    @property
    def personal(self) -> bool:
        """Whether English refers here by who, he and she."""
        return self.subject != "it"


I = Pronoun("I", "me", ("ich", "mich", "mir"), 1)  # noqa: E741
WE = Pronoun("we", "us", ("wir", "uns", "uns"), 1, True, "pl")
YOU = Pronoun("you", "you", ("du", "dich", "dir"), 2)
YOU_ALL = Pronoun("you", "you", ("ihr", "euch", "euch"), 2, True, "pl")
YOU_POLITE = Pronoun("you", "you", ("Sie", "Sie", "Ihnen"), 3, True, "pl")
HE = Pronoun("he", "him", ("er", "ihn", "ihm"))
SHE = Pronoun("she", "her", ("sie", "sie", "ihr"), form_="f")
THEY = Pronoun("they", "them", ("sie", "sie", "ihnen"), 3, True, "pl")
IT: dict[Gender, Pronoun] = {
    "m": Pronoun("it", "it", ("er", "ihn", "ihm")),
    "f": Pronoun("it", "it", ("sie", "sie", "ihr"), form_="f"),
    "n": Pronoun("it", "it", ("es", "es", "ihm"), form_="n"),
}
WHO = Pronoun("who", "whom", ("wer", "wen", "wem"))
NOBODY = Pronoun("nobody", "nobody", ("niemand", "niemanden", "niemandem"), light=False)


@dataclass(frozen=True)
class Relative(Phrase):
    """The relative pronoun that refers to a phrase, standing in its clause."""

    referent: Phrase
    light: bool = True

    @property
    def plural(self) -> bool:  # type: ignore[override]
        """The number of what it refers to."""
        return self.referent.plural

    def english(self, *, object: bool = False) -> str:
        """Return the English words."""
        if not self.referent.personal:
            return "which"
        return "whom" if object else "who"

    def german(self, case: Case) -> str:
        """Return the German words."""
        return german_nouns.relative_pronoun(self.referent.form, case)

    @property
    def form(self) -> Form:
        """The gender, or plural."""
        return self.referent.form

    @property
    def personal(self) -> bool:
        """Whether English refers here by who, he and she."""
        return self.referent.personal


@dataclass(frozen=True)
class Dropped(Phrase):
    """A subject that is not said again: buys the car and sells it."""

    referent: Phrase
    light: bool = True

    @property
    def plural(self) -> bool:  # type: ignore[override]
        """The number of what it refers to."""
        return self.referent.plural

    def english(self, *, object: bool = False) -> str:  # noqa: ARG002  most phrases have one form
        """Return the English words."""
        return ""

    def german(self, case: Case) -> str:  # noqa: ARG002
        """Return the German words."""
        return ""

    @property
    def form(self) -> Form:
        """The gender, or plural."""
        return self.referent.form

    @property
    def personal(self) -> bool:
        """Whether English refers here by who, he and she."""
        return self.referent.personal


def pronoun_for(phrase: Phrase) -> Pronoun:
    """Return the pronoun that takes up a phrase."""
    if phrase.plural:
        return THEY
    assert phrase.form != "pl"
    if phrase.personal:
        return SHE if phrase.form == "f" else HE
    return IT[phrase.form]
