"""German conjugation: finite forms, infinitives, participles, imperatives."""

import re
from typing import Literal, NamedTuple

from nmtkit.sample.entries import GermanVerb

FiniteTense = Literal["present", "past", "conditional"]
_PAST_ENDINGS = (("", "st", ""), ("en", "t", "en"))
_PRESENT = {  # singular, plural
    "sein": (("bin", "bist", "ist"), ("sind", "seid", "sind")),
    "haben": (("habe", "hast", "hat"), ("haben", "habt", "haben")),
    "werden": (("werde", "wirst", "wird"), ("werden", "werdet", "werden")),
    "wissen": (("weiß", "weißt", "weiß"), ("wissen", "wisst", "wissen")),
    "können": (("kann", "kannst", "kann"), ("können", "könnt", "können")),
    "müssen": (("muss", "musst", "muss"), ("müssen", "müsst", "müssen")),
    "wollen": (("will", "willst", "will"), ("wollen", "wollt", "wollen")),
    "dürfen": (("darf", "darfst", "darf"), ("dürfen", "dürft", "dürfen")),
    "mögen": (("mag", "magst", "mag"), ("mögen", "mögt", "mögen")),
}
_PRETERITE = {
    "sein": "war",
    "haben": "hatte",
    "werden": "wurde",
    "können": "konnte",
    "müssen": "musste",
    "wollen": "wollte",
    "sollen": "sollte",
    "dürfen": "durfte",
}
_CONDITIONAL = {"sein": "wäre", "haben": "hätte", "werden": "würde", "mögen": "möchte"}
_INSEPARABLE = ("be", "ge", "er", "ver", "zer", "ent", "emp", "miss", "über", "unter")
_NEEDS_E = re.compile(r"(?:[dt]|[^aeiouäöülrhmn][mn]|chn)$")
_LAST_VOWEL = re.compile(r"(ie|ei|au|eu|äu|[aeiouäöü])[^aeiouäöü]*$")


class Parts(NamedTuple):
    """The regular principal parts of an infinitive."""

    third: str
    preterite: str
    participle: str


def regular_parts(infinitive: str) -> Parts:
    """Return what a weak verb makes of its infinitive (without separable prefix)."""
    stem = stem_of(infinitive)
    stem += "e" if _NEEDS_E.search(stem) else ""
    prefixed = infinitive.endswith("ieren") or infinitive.startswith(_INSEPARABLE)
    return Parts(stem + "t", stem + "te", ("" if prefixed else "ge") + stem + "t")


def stem_of(infinitive: str) -> str:
    """Return an infinitive without its ending."""
    return infinitive[:-2] if infinitive.endswith("en") else infinitive[:-1]


def finite(verb: GermanVerb, tense: FiniteTense, person: int, plural: bool) -> str:
    """Return a finite form without the separable prefix."""
    place = person - 1
    if tense == "conditional":
        return _past(_CONDITIONAL[verb.infinitive], place, plural)
    if tense == "past":
        return _past(verb.preterite, place, plural)
    if verb.infinitive in _PRESENT:
        return _PRESENT[verb.infinitive][plural][place]
    return _present(verb)[plural][place]


def auxiliary(infinitive: str, tense: FiniteTense, person: int, plural: bool) -> str:
    """Return a finite form of sein, haben, werden or a modal verb."""
    verb = GermanVerb(infinitive, infinitive, _PRETERITE.get(infinitive, ""), "")
    return finite(verb, tense, person, plural)


def infinitive(verb: GermanVerb, zu: bool = False) -> str:
    """Return the infinitive, with zu inside a separable one."""
    if not zu:
        return verb.prefix + verb.infinitive
    return f"{verb.prefix}zu{verb.infinitive}" if verb.prefix else f"zu {verb.infinitive}"


def participle(verb: GermanVerb) -> str:
    """Return the past participle."""
    return verb.prefix + verb.participle


def imperative(verb: GermanVerb, plural: bool) -> str:
    """Return the imperative to one or several friends, without the separable prefix."""
    if plural:
        return finite(verb, "present", 2, True)
    stem = stem_of(verb.infinitive)
    if _last_vowel(stem) == "e" and _last_vowel(verb.third) in {"i", "ie"}:
        return verb.third[:-1]
    if verb.infinitive.endswith("eln"):
        return stem[:-2] + "le"
    return stem + "e" if _NEEDS_E.search(stem) or stem.endswith(("ig", "er")) else stem


def _last_vowel(word: str) -> str:
    found = _LAST_VOWEL.search(word)
    return found[1] if found else ""


def _present(verb: GermanVerb) -> tuple[tuple[str, str, str], tuple[str, str, str]]:
    stem = stem_of(verb.infinitive)
    first = stem[:-2] + "le" if verb.infinitive.endswith("eln") else stem + "e"
    second_plural = stem + ("et" if _NEEDS_E.search(stem) else "t")
    return (first, _second(verb), verb.third), (verb.infinitive, second_plural, verb.infinitive)


def _second(verb: GermanVerb) -> str:
    stem = stem_of(verb.infinitive)
    if stem[-1] in "sßzx":
        return verb.third
    if stem[-1] == "t" and not verb.third.endswith("et"):  # hält, tritt: the ending has melted into the stem
        return verb.third + "st"
    return verb.third[:-1] + "st"


def _past(form: str, place: int, plural: bool) -> str:
    ending = _PAST_ENDINGS[plural][place]
    if form.endswith("e"):
        return form + ending.removeprefix("e")
    return form + ending
