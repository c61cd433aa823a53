"""English word order: subject, verb, object, manner, place, time; do-support; the place of "not" and of adverbs."""

from typing import NamedTuple

from nmtkit.sample import english
from nmtkit.sample.clauses import Clause
from nmtkit.sample.entries import EnglishVerb, Twin
from nmtkit.sample.phrases import Phrase

_BE = EnglishVerb("be", "was", "been", "")
_HAVE = EnglishVerb("have", "had", "had", "")
_WANT = EnglishVerb("want", "wanted", "wanted", "")
_HALF_MODALS = {
    "wants to": (_WANT, "present", ["to"]),
    "wanted to": (_WANT, "past", ["to"]),
    "had to": (_HAVE, "past", ["to"]),
    "was allowed to": (_BE, "past", ["allowed", "to"]),
}
_REFLEXIVES = {"I": "myself", "we": "ourselves", "you": "yourself", "he": "himself", "she": "herself"}


class Chain(NamedTuple):
    """The verbs of a clause. `helper`: the first is an auxiliary, else `base` and `past` say what "do" replaces."""

    first: str
    rest: list[str]
    helper: bool
    base: str
    past: bool


def statement(clause: Clause, front: Twin | None = None) -> str:
    """Return the words of a main or subordinate clause; `front` is an adverbial, or a relative pronoun as object."""
    chain = _chain(clause)
    words = [front.english] if front else []
    words += [clause.subject.english()]
    adverbs = [clause.frequency.english] if clause.frequency else []
    adverbs += ["already"] if clause.particle == "already" else []
    if clause.negated:
        words += _negated(chain, clause.subject)
    elif chain.helper:
        words += [chain.first, *adverbs, *chain.rest]
    else:
        words += [*adverbs, chain.first, *chain.rest]
    return " ".join(word for word in [*words, *_after_verb(clause)] if word)


def question(clause: Clause, word: str = "") -> str:
    """Return the words of a question; `word` asks for what is not the subject, or is empty."""
    chain = _chain(clause)
    subject = clause.subject.english()
    words = [word] if word else []
    adverbs = [clause.frequency.english] if clause.frequency else []
    adverbs += ["already"] if clause.particle == "already" else []
    negation = ["not"] if clause.negated else []
    if chain.helper:
        words += [chain.first, subject, *negation, *adverbs, *chain.rest]
    else:
        words += [_do(clause.subject, chain.past), subject, *negation, *adverbs, chain.base, *chain.rest]
    return " ".join([*words, *_after_verb(clause)])


def infinitive(clause: Clause) -> str:
    """Return the clause with "to" and without its subject."""
    return " ".join(["to", clause.verb.english.base, *_after_verb(clause)])


def command(clause: Clause) -> str:
    """Return the clause as an imperative."""
    base = clause.verb.english.base
    return " ".join([*(["do", "not"] if clause.negated else []), base, *_after_verb(clause)])


def _chain(clause: Clause) -> Chain:
    """Spell the verbs out: each auxiliary says the form of the next verb."""
    main = clause.verb.english
    verbs, forms = ([_BE, main], ["", "participle"]) if clause.passive else ([main], [""])
    head = "present"
    if clause.modal:
        if clause.modal.english not in _HALF_MODALS:
            forms[0] = "base"
            first, *link = clause.modal.english.split(" ")
            return Chain(first, [*link, *_spell(verbs, forms)], True, "", False)
        verb, head, link = _HALF_MODALS[clause.modal.english]
        forms[0] = "base"
        rest = [*link, *_spell(verbs, forms)]
        return Chain(_finite(verb, head, clause.subject), rest, verb is _BE, verb.base, head == "past")
    if clause.tense in {"future", "conditional"}:
        forms[0] = "base"
        return Chain("will" if clause.tense == "future" else "would", _spell(verbs, forms), True, "", False)
    if clause.tense in {"past", "past progressive", "pluperfect"}:
        head = "past"
    if clause.tense in {"progressive", "past progressive"}:
        verbs, forms = [_BE, *verbs], ["", "gerund", *forms[1:]]
    if clause.tense in {"perfect", "pluperfect"}:
        verbs, forms = [_HAVE, *verbs], ["", "participle", *forms[1:]]
    helper = len(verbs) > 1 or verbs[0].base == "be"
    rest = _spell(verbs[1:], forms[1:])
    return Chain(_finite(verbs[0], head, clause.subject), rest, helper, verbs[0].base, head == "past")


def _spell(verbs: list[EnglishVerb], forms: list[str]) -> list[str]:
    spelled = []
    for verb, form in zip(verbs, forms, strict=True):
        shapes = {"base": verb.base, "gerund": english.gerund(verb.base), "participle": verb.participle}
        spelled.append(shapes[form])
    return spelled


def _finite(verb: EnglishVerb, head: str, subject: Phrase) -> str:
    first_person = subject.person == 1 and not subject.plural
    singular = subject.person == 3 and not subject.plural
    if verb.base == "be":
        if head == "past":
            return "was" if singular or first_person else "were"
        return "am" if first_person else "is" if singular else "are"
    if head == "past":
        return verb.past
    return english.third_person(verb.base) if singular else verb.base


def _do(subject: Phrase, past: bool) -> str:
    if past:
        return "did"
    return "does" if subject.person == 3 and not subject.plural else "do"


def _negated(chain: Chain, subject: Phrase) -> list[str]:
    if not chain.helper:
        return [_do(subject, chain.past), "not", chain.base, *chain.rest]
    first = ["cannot"] if chain.first == "can" else [chain.first, "not"]
    return [*first, *chain.rest]


def _after_verb(clause: Clause) -> list[str]:
    """Return what follows the verb."""
    object_ = clause.plain_object
    words: list[str] = []
    tail = [clause.verb.english.tail.replace("oneself", _reflexive(clause.subject))]
    if (
        object_ is not None and object_.light and clause.verb.frame in {"accusative", "two objects"}
    ):  # turns it off, turns off the radio
        words += [object_.english(object=True), *tail]
        words += [f"to {clause.recipient.english(object=True)}"] if clause.recipient else []
    else:
        words += [*tail, *(_objects(clause))]
    words += [f"by {clause.agent.english(object=True)}"] if clause.agent else []
    words += [clause.manner.english] if clause.manner else []
    words += [clause.governed.english] if clause.governed else []
    words += [clause.predicate.english] if clause.predicate else []
    words += [clause.stranded]
    words += [part.english for part in (clause.company, clause.place, clause.time) if part]
    words += ["yet"] if clause.particle == "not yet" else []
    return [word for word in words if word]


def _objects(clause: Clause) -> list[str]:
    """Return the objects: gives the boy a book, but gives it to the boy."""
    object_, recipient = clause.plain_object, clause.recipient
    if recipient is None:
        return [object_.english(object=True)] if object_ else []
    if object_ is None:
        return [f"to {recipient.english(object=True)}"]
    if object_.light or clause.verb.english.base == "recommend" or clause.verb.english.tail:
        return [object_.english(object=True), f"to {recipient.english(object=True)}"]
    return [recipient.english(object=True), object_.english(object=True)]


def _reflexive(subject: Phrase) -> str:
    if subject.person == 2 and subject.plural:
        return "yourselves"
    if subject.english() in _REFLEXIVES:
        return _REFLEXIVES[subject.english()]
    if subject.plural:
        return "themselves"
    if not subject.personal:
        return "itself"
    return "herself" if subject.form == "f" else "himself"
