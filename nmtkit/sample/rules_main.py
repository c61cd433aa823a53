"""Rules for main clauses: tenses, modal verbs, passive, separable and reflexive verbs."""

from dataclasses import replace

from nmtkit.sample.clauses import Clause, Tense
from nmtkit.sample.compose import FRAMES, adorned, clause
from nmtkit.sample.draw import Draw
from nmtkit.sample.entries import Verb
from nmtkit.sample.rule import rules
from nmtkit.sample.sentences import Sentence, main, sentence

_TENSES: tuple[Tense, ...] = ("present", "past", "past", "perfect", "future")


def present(draw: Draw) -> Sentence:
    """Draw, for example, "Seven newspapers please the gardener.", "Sieben Zeitungen gefallen dem Gärtner."."""
    return sentence(main(clause(draw)))


def past(draw: Draw) -> Sentence:
    """Draw, for example, "The colleague rented this new tent.", "Die Kollegin mietete dieses neue Zelt."."""
    return sentence(main(clause(draw, "past")))


def progressive(draw: Draw) -> Sentence:
    """Draw, for example, "A policeman was arresting players.", "Ein Polizist verhaftete gerade Spieler."."""
    return sentence(main(clause(draw, draw.one(("progressive", "past progressive")))))


def future(draw: Draw) -> Sentence:
    """Draw, for example, "Their dog will crawl under the bench.", "Ihr Hund wird unter die Bank kriechen."."""
    return sentence(main(clause(draw, "future")))


def perfect(draw: Draw) -> Sentence:
    """Draw, for example, "The clever dog has belonged to a boy.", "Der kluge Hund hat einem Jungen gehört."."""
    return sentence(main(clause(draw, "perfect")))


def perfect_already(draw: Draw) -> Sentence:
    """Draw, for example, "He has already turned off the radios.", "Er hat die Radios schon ausgeschaltet."."""
    return sentence(main(clause(draw, "perfect", particle="already", extras=0.0)))


def modal(draw: Draw) -> Sentence:
    """Draw, for example, "Mr Vogel must water the big garden.", "Herr Vogel muss den großen Garten gießen."."""
    return sentence(main(clause(draw, modal=draw.one(draw.lexicon.modals))))


def modal_with_time(draw: Draw) -> Sentence:
    """Draw, for example, "Clara was allowed to arrive in spring.", "Clara durfte im Frühling ankommen."."""
    modals = [
        entry for entry in draw.lexicon.modals if entry.tense == "past" and entry.english not in {"could", "should"}
    ]
    return sentence(main(clause(draw, modal=draw.one(modals), time=draw.time("past"))))


def passive_past(draw: Draw) -> Sentence:
    """Draw, for example, "Seven careful children were praised.", "Sieben vorsichtige Kinder wurden gelobt."."""
    return sentence(main(_passive(draw, "past", agent=0.6)))


def passive_progressive(draw: Draw) -> Sentence:
    """Draw, for example, "The policemen are being invited.", "Die Polizisten werden gerade eingeladen."."""
    return sentence(main(_passive(draw, "progressive", agent=0.4)))


def passive_perfect(draw: Draw) -> Sentence:
    """Draw, for example, "The cats have been stroked today.", "Die Katzen sind heute gestreichelt worden."."""
    return sentence(main(_passive(draw, "perfect", agent=0.4)))


def passive_future(draw: Draw) -> Sentence:
    """Draw, for example, "A shoemaker will be disturbed later.", "Ein Schuster wird später gestört werden."."""
    return sentence(main(_passive(draw, "future", agent=0.3)))


def passive_modal(draw: Draw) -> Sentence:
    """Draw, for example, "The big tulips had to be planted.", "Die großen Tulpen mussten gepflanzt werden."."""
    modals = [entry for entry in draw.lexicon.modals if entry.english in {"can", "must", "could", "had to", "should"}]
    return sentence(main(replace(_passive(draw, "present", agent=0.2), modal=draw.one(modals), time=None)))


def separable_present(draw: Draw) -> Sentence:
    """Draw, for example, "The saleswoman never rejects the idea.", "Die Verkäuferin lehnt nie die Idee ab."."""
    return sentence(main(clause(draw, "present", verb=_separable(draw))))


def separable_past(draw: Draw) -> Sentence:
    """Draw, for example, "Twelve experts invited Mrs Schuster.", "Zwölf Experten luden Frau Schuster ein."."""
    return sentence(main(clause(draw, "past", verb=_separable(draw))))


def separable_perfect(draw: Draw) -> Sentence:
    """Draw, for example, "Modern benches have fallen over today.", "Moderne Bänke sind heute umgefallen."."""
    return sentence(main(clause(draw, "perfect", verb=_separable(draw))))


def separable_modal(draw: Draw) -> Sentence:
    """Draw, for example, "Mr Schuster wanted to invite the son.", "Herr Schuster wollte den Sohn einladen."."""
    return sentence(main(clause(draw, verb=_separable(draw), modal=draw.one(draw.lexicon.modals))))


def reflexive(draw: Draw) -> Sentence:
    """Draw, for example, "This friendly hero has lain down.", "Dieser freundliche Held hat sich hingelegt."."""
    return sentence(main(clause(draw, draw.one(_TENSES), verb=_reflexive(draw))))


def reflexive_modal(draw: Draw) -> Sentence:
    """Draw, for example, "Oskar could take care of the garden.", "Oskar konnte sich um den Garten kümmern."."""
    return sentence(main(clause(draw, verb=_reflexive(draw), modal=draw.one(draw.lexicon.modals))))


def reflexive_inverted(draw: Draw) -> Sentence:
    """Draw, for example, "A week ago the witnesses rested.", "Vor einer Woche ruhten sich die Zeugen aus."."""
    tense: Tense = draw.one(("past", "present", "future"))
    made = clause(draw, tense, verb=_reflexive(draw), extras=0.5)
    return sentence(main(replace(made, time=None, frequency=None), front=draw.time(tense)))


def _passive(draw: Draw, tense: Tense, agent: float) -> Clause:
    verb = draw.verb("accusative", without=("active", "stative"))
    noun = draw.noun(verb.objects)
    made = Clause(draw.phrase(noun, subject=True), verb, tense=tense, passive=True)
    if draw.chance(agent):
        doers = draw.noun(verb.subjects, but=[noun])
        doer = draw.person(but=[noun]) if "person" in verb.subjects else draw.definite(doers)
        made = replace(made, agent=doer)
    time = draw.time(tense) if draw.chance(0.35) else None
    return adorned(draw, replace(made, time=time), 0.0)


def _separable(draw: Draw) -> Verb:
    return draw.verb(*dict.fromkeys(FRAMES), where=lambda verb: verb.german.prefix != "")


def _reflexive(draw: Draw) -> Verb:
    return draw.verb("intransitive", "preposition", "accusative", where=lambda verb: verb.german.reflexive != "")


RULES = (
    *rules("main clause", present, past, progressive, weight=2.2),
    *rules("future", future, weight=0.8),
    *rules("perfect", perfect, perfect_already, weight=1.4),
    *rules("modal verb", modal, modal_with_time, weight=1.4),
    *rules("passive", passive_past, passive_progressive, passive_perfect, passive_future, passive_modal, weight=1.8),
    *rules("separable verb", separable_present, separable_past, separable_perfect, separable_modal, weight=1.3),
    *rules("reflexive verb", reflexive, reflexive_modal, reflexive_inverted, weight=1.3),
)
