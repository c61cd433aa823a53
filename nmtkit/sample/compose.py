"""Draws whole clauses: a verb, who and what go with it, and adverbials that suit."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from nmtkit.sample.clauses import Clause, Tense
from nmtkit.sample.draw import Draw, NoWordError, noun_of
from nmtkit.sample.entries import Noun, Twin, Verb
from nmtkit.sample.phrases import NounPhrase, Phrase
from nmtkit.sample.places import place, scene
from nmtkit.sample.pronouns import Dropped, Relative

FRAMES = (
    *("accusative",) * 9,
    *("intransitive",) * 4,
    *("two objects",) * 2,
    *("preposition",) * 3,
    *("dative", "dative", "position", "placing", "motion"),
)
"""The frames of verbs, each as often as it is to be drawn."""

SIMPLE = (
    "accusative",
    "accusative",
    "accusative",
    "intransitive",
    "intransitive",
    "dative",
    "preposition",
    "two objects",
)
"""Frames of short clauses."""


def clause(
    draw: Draw,
    tense: Tense = "present",
    *,
    frames: Sequence[str] = FRAMES,
    verb: Verb | None = None,
    subject: Phrase | None = None,
    needs: str = "",
    extras: float = 1.0,
    **changes: Any,
) -> Clause:
    """Return a clause that makes sense.

    `verb` and `subject` fix these; a subject must be a person then. `needs` is a flag that the verb must have. `extras`
    scales how likely adverbials are. `changes` are fields of the clause that stand fast.
    """
    without = ("stative",) if tense in {"progressive", "past progressive"} else ()
    while verb is None:
        verb = draw.verb(draw.one(frames), needs=needs, without=without)
        if subject is not None and "person" not in verb.subjects:
            verb = None
    doer = subject or draw.subject(verb)
    if (
        changes.get("negated")
        and isinstance(doer, NounPhrase)
        and doer.determiner.stem in {"all", "jed", "viel", "wenig"}
    ):
        doer = replace(doer, determiner=draw.determiner("the"))  # "all do not" would say two things
    if verb.english.base == verb.english.past and tense == "past" and (doer.plural or doer.person != 3):
        raise NoWordError  # "they read" would be present and past
    made = Clause(doer, verb, tense=tense, **changes)
    if made.object is None:
        made = replace(made, object=draw.object(verb, _referent(doer)))
    if verb.frame == "two objects" and made.recipient is None:
        made = replace(made, recipient=draw.person(but=[noun_of(_referent(doer))]))
    if verb.frame in {"position", "placing", "motion"}:
        moved = made.object if verb.frame == "placing" and made.object else _referent(doer)
        made = replace(made, place=place(draw, verb, moved))
    return adorned(draw, made, extras)


def adorned(draw: Draw, made: Clause, extras: float = 1.0) -> Clause:
    """Add adverbials, each with its probability times `extras`; a negated clause gets an expression of time at most."""
    activity = "manner" in made.verb.flags
    if made.time is None and draw.chance(0.3 * extras):
        suits = {"past progressive": "past", "conditional": "", "pluperfect": ""}.get(made.tense, made.tense)
        if suits and not made.modal:
            made = replace(made, time=draw.time(suits))
    if made.negated:
        return made
    person = made.subject.personal and not isinstance(made.subject, Relative | Dropped)
    if activity and made.manner is None and draw.chance(0.22 * extras):
        made = replace(made, manner=draw.manner(made.verb, made.subject))
    elif activity and person and made.company is None and draw.chance(0.14 * extras):
        made = replace(made, company=draw.company(made.subject))
    if activity and person and made.place is None and draw.chance(0.25 * extras):
        made = replace(made, place=scene(draw, made.verb))
    plain = made.tense in {"present", "past"} and made.modal is None and not made.passive
    if plain and made.time is None and made.frequency is None and draw.chance(0.16 * extras):
        made = replace(made, frequency=draw.one(draw.lexicon.frequency))
    return made


def _referent(phrase: Phrase) -> Phrase:
    return phrase.referent if isinstance(phrase, Relative | Dropped) else phrase


def described(draw: Draw, subject: Phrase, tense: Tense, noun: Noun | None = None) -> Clause:
    """Say that something is as an adjective says."""
    be = draw.take(draw.lexicon.verb("be"))
    noun = noun or (subject.noun if isinstance(subject, NounPhrase) else None)
    quality = draw.quality(noun) if noun else None
    words = Twin(quality.english, quality.adjective.german.positive) if quality else Twin("here", "hier")
    return Clause(subject, be, tense=tense, predicate=words)
