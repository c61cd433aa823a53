"""German word order: the verb second, first or last, its bracket, and the middle field between."""

from typing import NamedTuple

from nmtkit.sample import german_nouns, german_verbs
from nmtkit.sample.clauses import Clause
from nmtkit.sample.entries import Case, Twin
from nmtkit.sample.phrases import Phrase

_REFLEXIVES = {
    "acc": (("mich", "dich", "sich"), ("uns", "euch", "sich")),
    "dat": (("mir", "dir", "sich"), ("uns", "euch", "sich")),
}
_PARTICLES = {"already": "schon", "not yet": "noch nicht"}


class Bracket(NamedTuple):
    """The verbs: the finite one, its separable prefix, and the infinite ones in the order of the clause's end."""

    finite: str
    prefix: str
    end: list[str]


def main(clause: Clause, front: Twin | None = None) -> str:
    """Return a main clause: the finite verb second, after the subject or what stands in front."""
    bracket = _bracket(clause)
    first = front.german if front else clause.subject.german("nom")
    closing = [*bracket.end, bracket.prefix]
    return _join([first, bracket.finite, *_middle(clause, with_subject=front is not None), *closing])


def question(clause: Clause, word: str = "") -> str:
    """Return a question: the finite verb first, or after the question word."""
    bracket = _bracket(clause)
    return _join(
        [word, bracket.finite, *_middle(clause, with_subject=True), *bracket.end, bracket.prefix],
    )


def final(clause: Clause, front: str = "") -> str:
    """Return a subordinate clause without its conjunction: the finite verb last. `front` may be a relative pronoun."""
    bracket = _bracket(clause)
    closing = [*bracket.end, bracket.prefix + bracket.finite]
    return _join([front, *_middle(clause, with_subject=True), *closing])


def infinitive(clause: Clause) -> str:
    """Return the clause with zu and without its subject."""
    return _join([*_middle(clause, with_subject=False), german_verbs.infinitive(clause.verb.german, zu=True)])


def command(clause: Clause) -> str:
    """Return the clause as an imperative to its subject: du, ihr, or Sie, which is said."""
    verb = clause.verb.german
    if clause.subject.person == 2:
        first = german_verbs.imperative(verb, clause.subject.plural)
        return _join([first, *_middle(clause, with_subject=False), verb.prefix])
    return _join([verb.infinitive, *_middle(clause, with_subject=True), verb.prefix])


def _join(words: list[str]) -> str:
    return " ".join(word for word in words if word)


def _bracket(clause: Clause) -> Bracket:
    verb = clause.verb.german
    person, plural = clause.subject.person, clause.subject.plural
    past = clause.tense in {"past", "past progressive", "pluperfect"}
    base = [german_verbs.participle(verb), "werden"] if clause.passive else [german_verbs.infinitive(verb)]
    if clause.modal:
        return Bracket(german_verbs.auxiliary(clause.modal.german, clause.modal.tense, person, plural), "", base)
    if clause.tense == "future":
        return Bracket(german_verbs.auxiliary("werden", "present", person, plural), "", base)
    if clause.tense == "conditional":
        return Bracket(german_verbs.auxiliary("werden", "conditional", person, plural), "", base)
    if clause.tense in {"perfect", "pluperfect"}:
        helper = "sein" if verb.with_sein or clause.passive else "haben"
        end = [german_verbs.participle(verb), *(["worden"] if clause.passive else [])]
        return Bracket(german_verbs.auxiliary(helper, "past" if past else "present", person, plural), "", end)
    if clause.passive:
        helper_form = german_verbs.auxiliary("werden", "past" if past else "present", person, plural)
        return Bracket(helper_form, "", [german_verbs.participle(verb)])
    return Bracket(german_verbs.finite(verb, "past" if past else "present", person, plural), verb.prefix, [])


def _middle(clause: Clause, *, with_subject: bool) -> list[str]:
    """Return the middle field.

    Pronouns come first, then time, the recipient, adverbs, what is definite, the negation, manner, what is indefinite,
    place and what the verb governs. The reflexive pronoun goes before a subject that is no pronoun.
    """
    object_ = clause.plain_object
    case: Case = "dat" if clause.verb.frame == "dative" else "acc"
    light_object = object_ is not None and object_.light
    spoken = object_.german(case) if object_ else ""
    definite = object_ is not None and object_.definite and not light_object
    words = _beginning(clause, with_subject)
    words += [spoken] if light_object else []
    words += [clause.recipient.german("dat")] if clause.recipient and clause.recipient.light else []

    late = clause.particle != "" or (clause.negated and not clause.without_any)
    times = [clause.time.german] if clause.time else []
    early_adverbs = [clause.frequency.german] if clause.frequency else []
    early_adverbs += ["gerade"] if clause.tense in {"progressive", "past progressive"} else []
    words += [] if late else times
    if clause.recipient and not clause.recipient.light:
        words += [clause.recipient.german("dat")]
    words += [] if late else early_adverbs
    if clause.agent:
        words += [german_nouns.with_preposition("von", clause.agent.german("dat"))]
    words += [spoken] if definite else []
    words += [*times, *early_adverbs] if late else []
    words += [_PARTICLES[clause.particle]] if clause.particle else []
    if clause.negated and clause.particle != "not yet" and not clause.without_any:
        words += ["nicht"]
    words += [clause.manner.german] if clause.manner else []
    words += [clause.company.german] if clause.company else []
    indefinite = object_ is not None and not definite and not light_object
    directional = clause.verb.frame in {"placing", "motion"}
    words += [clause.place.german] if clause.place and not directional else []
    words += [spoken] if indefinite else []
    words += [clause.place.german] if clause.place and directional else []
    words += [clause.governed.german] if clause.governed else []
    words += [clause.predicate.german] if clause.predicate else []
    return words


def _beginning(clause: Clause, with_subject: bool) -> list[str]:
    reflexive = _reflexive(clause)
    if not with_subject:
        return [reflexive]
    subject = clause.subject.german("nom")
    return [subject, reflexive] if clause.subject.light else [reflexive, subject]


def _reflexive(clause: Clause) -> str:
    case = clause.verb.german.reflexive
    if not case:
        return ""
    subject: Phrase = clause.subject
    return _REFLEXIVES[case][subject.plural][subject.person - 1]
