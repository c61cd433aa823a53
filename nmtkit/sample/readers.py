"""From rows of the tables to entries; a row that makes no sense is an error that names its line."""

import re
from typing import cast, get_args

from nmtkit.sample import english, german_nouns, german_verbs
from nmtkit.sample.entries import (
    GENDERS,
    Adjective,
    Case,
    Compared,
    EnglishVerb,
    Frame,
    GermanVerb,
    Government,
    Noun,
    Verb,
)
from nmtkit.sample.tables import Row

_NOUN = re.compile(r"([\w' -]+?)(?: \(([\w' -]+)\))?$")
_FLAGS = {"manner", "stative", "active", "that", "whether", "to", "outside"}


def noun(row: Row) -> Noun:
    """Read English (plural) | der Deutsche | plural | flags."""
    said, german, plural, flags = row.columns
    found = _NOUN.match(said)
    article, _, word = german.partition(" ")
    if found is None or article not in GENDERS or not word or not plural:
        raise row.wrong("not of the form: English (plural) | der German | plural | flags")
    mass = plural == "-"
    plural = "" if mass else plural
    classes, part_of = set(row.section.split()), set[str]()
    genitive = word if article == "die" else german_nouns.genitive(word)
    oblique = word
    for flag in flags.split():
        key, _, value = flag.partition("=")
        if flag == "weak":
            genitive = oblique = plural
        elif key == "gen":
            genitive = value
        elif key == "of":
            part_of |= set(value.split(","))
        elif flag.startswith("+"):
            classes.add(flag[1:])
        else:
            raise row.wrong(f"unknown flag {flag}")
    several = "" if mass else found[2] or english.plural(found[1])
    return Noun(
        found[1],
        several,
        word,
        GENDERS[article],
        plural,
        genitive,
        oblique,
        frozenset(classes),
        frozenset(part_of),
    )


def verb(row: Row) -> Verb:
    """Read English | German | subjects | objects | flags."""
    said, german, subjects, objects, flag_text = row.columns
    if row.section not in get_args(Frame):
        raise row.wrong(f"no such frame: {row.section}")
    flags, government = set(flag_text.split()), None
    for flag in list(flags):
        if flag.startswith("to="):
            government = _government(row, flag)
            flags.remove(flag)
    if unknown := flags - _FLAGS:
        raise row.wrong(f"unknown flag {sorted(unknown)[0]}")
    if (row.section == "preposition") != (government is not None):
        raise row.wrong("a preposition belongs to the frame of that name, and to no other")
    spoken = _english_verb(said)
    return Verb(
        f"{spoken.base} {spoken.tail}".strip(),
        spoken,
        _german_verb(row, german),
        cast(Frame, row.section),
        tuple(subjects.split()),
        tuple(objects.split()),
        frozenset(flags),
        government,
    )


def adjective(row: Row) -> Adjective:
    """Read English degrees | German degrees | classes."""
    said, german, classes = row.columns
    words = said.split()
    if words[1:] == ["-"]:
        spoken = Compared(words[0], "", "")
    elif len(words) in {1, 3}:
        spoken = Compared(*words) if len(words) == 3 else Compared(words[0], *english.degrees(words[0]))
    else:
        raise row.wrong("one degree of comparison is missing, or one too many")
    forms = german.split()
    positive, _, stem = forms[0].partition("/")
    if len(forms) == 1:
        regular = stem or positive
        link = "e" if re.search(r"(?:[dtsßxz]|sch)$", positive) and not positive.endswith("end") else ""
        forms = [positive, regular.removesuffix("e") + "er", f"{positive}{link}st"]
    if len(forms) != 3:
        raise row.wrong("one degree of comparison is missing, or one too many")
    if not classes:
        raise row.wrong("no class of nouns goes with it")
    return Adjective(spoken, Compared(positive, forms[1], forms[2]), stem or positive, frozenset(classes.split()))


def _english_verb(said: str) -> EnglishVerb:
    """Two words at most are a base and its tail; of more, the last two are past and participle."""
    words = said.split()
    if len(words) > 2:
        past, participle = words[-2:]
        words = words[:-2]
    else:
        past = participle = english.past(words[0])
    return EnglishVerb(words[0], past, participle, " ".join(words[1:]))


def _german_verb(row: Row, german: str) -> GermanVerb:
    words = german.split()
    reflexive = {"sich": "acc", "sich:dat": "dat"}.get(words[0], "")
    if reflexive:
        words = words[1:]
    with_sein = len(words) in {2, 5} and words[-1 if len(words) == 2 else -2] == "ist"
    if with_sein:
        del words[1 if len(words) == 2 else 3]
    prefix, _, base = words[0].rpartition("·")
    if len(words) == 1:
        third, preterite, participle = german_verbs.regular_parts(base)
    elif len(words) == 4:
        third, preterite, participle = words[1:]
    else:
        raise row.wrong("not an infinitive alone or with third person, preterite and participle")
    return GermanVerb(base, third, preterite, participle, prefix, with_sein, reflexive)  # type: ignore[arg-type]


def _government(row: Row, flag: str) -> Government:
    parts = flag.removeprefix("to=").split(":")
    if len(parts) != 3 or parts[2] not in get_args(Case):
        raise row.wrong(f"{flag} is not of the form to=ENGLISH:GERMAN:CASE")
    spoken = "" if parts[0] == "-" else parts[0]
    return Government(spoken, parts[1], cast(Case, parts[2]))
