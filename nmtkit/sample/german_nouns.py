"""German declension: nouns, articles, adjectives, pronouns, and the contraction of prepositions with articles."""

import re
from typing import Literal

from nmtkit.sample.entries import Case, Determiner, Noun

_PLACE: dict[Case, int] = {"nom": 0, "acc": 1, "dat": 2, "gen": 3}
_DER = {
    "m": ("der", "den", "dem", "des"),
    "f": ("die", "die", "der", "der"),
    "n": ("das", "das", "dem", "des"),
    "pl": ("die", "die", "den", "der"),
}
_DIESER = {
    "m": ("er", "en", "em", "es"),
    "f": ("e", "e", "er", "er"),
    "n": ("es", "es", "em", "es"),
    "pl": ("e", "e", "en", "er"),
}
_EIN = {**_DIESER, "m": ("", "en", "em", "es"), "n": ("", "", "em", "es")}
_RELATIVE = {
    "m": ("der", "den", "dem", "dessen"),
    "f": ("die", "die", "der", "deren"),
    "n": ("das", "das", "dem", "dessen"),
    "pl": ("die", "die", "denen", "deren"),
}
_WEAK = {
    "m": ("e", "en", "en", "en"),
    "f": ("e", "e", "en", "en"),
    "n": ("e", "e", "en", "en"),
    "pl": ("en", "en", "en", "en"),
}
_MIXED = {**_WEAK, "m": ("er", "en", "en", "en"), "n": ("es", "es", "en", "en")}
_STRONG = {
    "m": ("er", "en", "em", "en"),
    "f": ("e", "e", "er", "er"),
    "n": ("es", "es", "em", "en"),
    "pl": ("e", "e", "en", "er"),
}
_ADJECTIVES = {"der": _WEAK, "dieser": _WEAK, "ein": _MIXED, "many": _STRONG, "fixed": _STRONG, "none": _STRONG}
_CONTRACTED = {
    "in dem": "im",
    "an dem": "am",
    "zu dem": "zum",
    "zu der": "zur",
    "von dem": "vom",
    "bei dem": "beim",
    "in das": "ins",
    "an das": "ans",
}
_ONE_SYLLABLE = re.compile(r"[^aeiouäöüy]*(?:[aeiouäöüy]|aa|ee|oo|ie|ei|au|äu|eu|ai)[^aeiouäöüyé]+$", re.IGNORECASE)

Form = Literal["m", "f", "n", "pl"]


def genitive(noun: str) -> str:
    """Return the regular genitive singular of a masculine or neuter noun."""
    if noun.endswith("nis"):
        return noun + "ses"
    if noun.endswith(("s", "ß", "x", "z", "sch")) or _ONE_SYLLABLE.match(noun):
        return noun + "es"
    return noun + "s"


def form_of(noun: Noun, plural: bool) -> Form:
    """Return the row of the tables that a noun is declined by."""
    return "pl" if plural else noun.gender


def decline(noun: Noun, case: Case, plural: bool) -> str:
    """Return a form of a noun."""
    if plural:
        return noun.plural + "n" if case == "dat" and not noun.plural.endswith(("n", "s")) else noun.plural
    return {"nom": noun.german, "acc": noun.oblique, "dat": noun.oblique, "gen": noun.genitive}[case]


def determiner(entry: Determiner, form: Form, case: Case) -> str:
    """Return a form of a determiner."""
    place = _PLACE[case]
    match entry.declension:
        case "der":
            return _DER[form][place]
        case "ein":
            return entry.stem + _EIN[form][place]
        case "dieser" | "many":
            return entry.stem + _DIESER[form][place]
    return entry.stem


def adjective(stem: str, entry: Determiner, form: Form, case: Case) -> str:
    """Return the form of an adjective after a determiner."""
    ending = _ADJECTIVES[entry.declension][form][_PLACE[case]]
    return stem[:-1] + ending if stem.endswith("e") else stem + ending


def relative_pronoun(form: Form, case: Case) -> str:
    """Return a form of the relative pronoun."""
    return _RELATIVE[form][_PLACE[case]]


def with_preposition(preposition: str, phrase: str) -> str:
    """Put a preposition before a phrase: "in" and "dem Garten" make "im Garten"."""
    first, _, rest = phrase.partition(" ")
    contracted = _CONTRACTED.get(f"{preposition} {first}") if rest else None
    return f"{contracted} {rest}" if contracted else f"{preposition} {phrase}"
