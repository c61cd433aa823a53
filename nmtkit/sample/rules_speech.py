"""Rules for negation, questions and commands."""

from dataclasses import replace

from nmtkit.sample.clauses import Clause, Tense
from nmtkit.sample.compose import SIMPLE, clause
from nmtkit.sample.draw import Draw
from nmtkit.sample.entries import Determiner, Twin, Verb
from nmtkit.sample.phrases import BARE, NOT_A, Name, NounPhrase, Phrase, first_name, prepositional, titled
from nmtkit.sample.pronouns import NOBODY, WHO, YOU, YOU_ALL, YOU_POLITE, Pronoun
from nmtkit.sample.rule import rules
from nmtkit.sample.sentences import Sentence, command, joined, main, question, sentence

_TENSES: tuple[Tense, ...] = ("present", "past", "perfect", "future")
_WHEN = (Twin("when", "wann"), Twin("where", "wo"), Twin("why", "warum"))
_ACTIVITY = ("accusative", "accusative", "intransitive")


def not_with_definite(draw: Draw) -> Sentence:
    """Draw, for example, "I have not tried the orange today.", "Ich habe die Orange heute nicht probiert."."""
    verb = draw.verb("accusative", "dative", "preposition")
    object_ = draw.definite(draw.noun(verb.objects), plural=False)
    return sentence(main(clause(draw, draw.one(_TENSES), verb=verb, object=object_, negated=True)))


def not_at_all(draw: Draw) -> Sentence:
    """Draw, for example, "The sister has not moved out today.", "Die Schwester ist heute nicht ausgezogen."."""
    return sentence(main(clause(draw, draw.one(_TENSES), frames=("intransitive",), negated=True)))


def not_a(draw: Draw) -> Sentence:
    """Draw, for example, "He will not pay any bills tomorrow.", "Er wird morgen keine Rechnungen bezahlen."."""
    verb = draw.verb("accusative")
    return sentence(main(clause(draw, draw.one(_TENSES), verb=verb, object=_not_a(draw, verb), negated=True)))


def not_a_modal(draw: Draw) -> Sentence:
    """Draw, for example, "We do not want to reject a suggestion.", "Wir wollen keinen Vorschlag ablehnen."."""
    verb = draw.verb("accusative")
    modals = [
        entry for entry in draw.lexicon.modals if entry.english in {"can", "could", "wants to", "wanted to", "may"}
    ]
    made = clause(draw, verb=verb, object=_not_a(draw, verb), negated=True, modal=draw.one(modals))
    return sentence(main(made))


def no_one_does(draw: Draw) -> Sentence:
    """Draw, for example, "No teacher copies out the new book.", "Keine Lehrerin schreibt das neue Buch ab."."""
    verb = draw.verb("accusative", "intransitive", "dative")
    subject: Phrase = NOBODY
    if "person" not in verb.subjects or draw.chance(0.5):
        subject = NounPhrase(draw.noun(verb.subjects), draw.determiner("no"))
    return sentence(main(Clause(subject, verb, draw.object(verb, subject), tense=draw.one(_TENSES))))


def not_yet(draw: Draw) -> Sentence:
    """Draw, for example, "They have not rejected the plan yet.", "Sie haben den Plan noch nicht abgelehnt."."""
    verb = draw.verb("accusative")
    object_ = draw.definite(draw.noun(verb.objects))
    made = clause(draw, "perfect", verb=verb, object=object_, negated=True, particle="not yet", extras=0.0)
    return sentence(main(made))


def yes_or_no(draw: Draw) -> Sentence:
    """Draw, for example, "Does the grandfather lift up this harp?", "Hebt der Großvater diese Harfe hoch?"."""
    made = clause(draw, draw.one(("present", "past", "perfect", "future")), extras=0.7)
    return sentence(question(made), "?")


def yes_or_no_modal(draw: Draw) -> Sentence:
    """Draw, for example, "Should they give back the book to Tim?", "Sollten sie Tim das Buch zurückgeben?"."""
    modals = [entry for entry in draw.lexicon.modals if entry.english not in {"may", "would like to"}]
    return sentence(question(clause(draw, modal=draw.one(modals), extras=0.5)), "?")


def asking_you(draw: Draw) -> Sentence:
    """Draw, for example, "Are you introducing yourselves, children?", "Stellt ihr euch gerade vor, Kinder?"."""
    subject, called = _addressed(draw)
    made = clause(draw, draw.one(("present", "perfect", "progressive")), frames=SIMPLE, subject=subject, extras=0.5)
    return sentence(joined(question(made), Twin(",", ","), called), "?")


def who(draw: Draw) -> Sentence:
    """Draw, for example, "Who fetched the difficult contracts?", "Wer holte die schwierigen Verträge ab?"."""
    made = clause(draw, draw.one(_TENSES), frames=SIMPLE, subject=WHO, extras=0.6)
    return sentence(main(made), "?")


def whom_or_what(draw: Draw) -> Sentence:
    """Draw, for example, "What does this weak father understand?", "Was versteht dieser schwache Vater?"."""
    verb = draw.verb("accusative")
    noun = draw.noun(verb.objects)
    asked = Twin("whom", "wen") if "person" in noun.classes else Twin("what", "was")
    return sentence(question(_without_object(draw, verb), asked), "?")


def to_whom(draw: Draw) -> Sentence:
    """Draw, for example, "To whom have bosses offered the jam?", "Wem haben Chefs die Marmelade angeboten?"."""
    made = clause(draw, draw.one(_TENSES), frames=("two objects",), extras=0.4)
    return sentence(question(replace(made, recipient=None), Twin("to whom", "wem")), "?")


def for_what(draw: Draw) -> Sentence:
    """Draw, for example, "What did a hungry waiter finish with?", "Womit hörte ein hungriger Kellner auf?"."""
    verb = draw.verb("preposition", where=lambda verb: verb.government is not None and verb.government.english != "")
    noun = draw.noun(verb.objects)
    made = _without_object(draw, verb)
    assert verb.government is not None
    link = verb.government
    if "person" in noun.classes:
        return sentence(question(made, prepositional(Twin(link.english, link.german), WHO, link.case)), "?")
    compound = f"wo{'r' if link.german[0] in 'aeiouäöü' else ''}{link.german}"
    return sentence(question(replace(made, stranded=link.english), Twin("what", compound)), "?")


def when_where_why(draw: Draw) -> Sentence:
    """Draw, for example, "Where did we translate seven messages?", "Wo übersetzten wir sieben Nachrichten?"."""
    made = clause(draw, draw.one(_TENSES), frames=_ACTIVITY, needs="manner", extras=0.0)
    return sentence(question(made, draw.one(_WHEN)), "?")


def which(draw: Draw) -> Sentence:
    """Draw, for example, "Which warm kitchens will Clara clean?", "Welche warmen Küchen wird Clara putzen?"."""
    verb = draw.verb("accusative")
    noun = draw.noun(verb.objects, countable=True)
    asked = NounPhrase(noun, draw.determiner("which"), draw.chance(0.3), qualities=draw.qualities(noun, 0.3))
    front = Twin(asked.english(), asked.german("acc"))
    return sentence(question(_without_object(draw, verb), front), "?")


def how_many(draw: Draw) -> Sentence:
    """Draw, for example, "How many mothers did a policeman love?", "Wie viele Mütter liebte ein Polizist?"."""
    verb = draw.verb("accusative")
    noun = draw.noun(verb.objects, countable=True)
    asked = NounPhrase(
        noun, Determiner("", "how many", "wie viele", "fixed"), True, qualities=draw.qualities(noun, 0.2)
    )
    front = Twin(asked.english(), asked.german("acc"))
    return sentence(question(_without_object(draw, verb), front), "?")


def where_to(draw: Draw) -> Sentence:
    """Draw, for example, "Where do my tired grandmothers drive to?", "Wohin fahren meine müden Großmütter?"."""
    verb = draw.take(draw.lexicon.verb(draw.one(("travel", "drive", "go", "run"))))
    made = replace(clause(draw, draw.one(_TENSES), verb=verb, extras=0.3), place=None)
    return sentence(question(replace(made, stranded="to"), Twin("where", "wohin")), "?")


def to_one_friend(draw: Draw) -> Sentence:
    """Draw, for example, "Julia, bring the neighbour the ice cream!", "Julia, bring dem Nachbarn das Eis!"."""
    return _command(draw, first_name(draw.one(draw.lexicon.first_names)), YOU)


def to_several(draw: Draw) -> Sentence:
    """Draw, for example, "Pupils, hand the friend the drawer!", "Schüler, reicht dem Freund die Schublade!"."""
    noun = draw.noun(["child", "pupil", "student", "boy", "girl", "friend"])
    return _command(draw, NounPhrase(noun, BARE, True), YOU_ALL)


def to_a_stranger(draw: Draw) -> Sentence:
    """Draw, for example, "Please sing the melody, Mr Krüger.", "Bitte singen Sie die Melodie, Herr Krüger."."""
    return _command(draw, titled(draw.one(draw.lexicon.surnames), draw.one(("m", "f"))), YOU_POLITE)


def _not_a(draw: Draw, verb: Verb) -> Phrase:
    noun = draw.noun(verb.objects)
    plural = not noun.mass and draw.chance(0.3)
    return NounPhrase(noun, NOT_A, plural, qualities=draw.qualities(noun, 0.3))


def _without_object(draw: Draw, verb: Verb) -> Clause:
    return replace(clause(draw, draw.one(_TENSES), verb=verb, extras=0.3), object=None)


def _addressed(draw: Draw) -> tuple[Pronoun, Twin]:
    pick = draw.generator.random()
    if pick < 0.5:
        name: Name = first_name(draw.one(draw.lexicon.first_names))
        return YOU, name.words
    if pick < 0.7:
        noun = draw.noun(["child", "friend", "pupil"])
        return YOU_ALL, Twin(noun.english_plural, noun.plural)
    return YOU_POLITE, titled(draw.one(draw.lexicon.surnames), draw.one(("m", "f"))).words


def _command(draw: Draw, called: Name | NounPhrase, you: Pronoun) -> Sentence:
    verb = draw.verb(
        "accusative",
        "accusative",
        "two objects",
        "placing",
        "preposition",
        "dative",
        without=("stative",),
        where=lambda verb: "person" in verb.subjects and verb.english.base not in {"lose", "break"},
    )
    negated = draw.chance(0.2) and verb.frame == "accusative"
    object_: Phrase | None = None
    if verb.frame == "accusative":
        object_ = draw.definite(draw.noun(verb.objects), plural=False)
    made = clause(draw, verb=verb, subject=you, extras=0.0, object=object_, negated=negated)
    words = command(made)
    if you is YOU_POLITE:
        return sentence(
            Twin(f"please {words.english}, {called.english()}", f"bitte {words.german}, {called.german('nom')}")
        )
    return sentence(Twin(f"{called.english()}, {words.english}", f"{called.german('nom')}, {words.german}"), "!")


RULES = (
    *rules("negation", not_with_definite, not_at_all, not_a, not_a_modal, no_one_does, not_yet, weight=2.2),
    *rules("yes-no question", yes_or_no, yes_or_no_modal, asking_you, weight=1.7),
    *rules(
        "question word", who, whom_or_what, to_whom, for_what, when_where_why, which, how_many, where_to, weight=2.0
    ),
    *rules("imperative", to_one_friend, to_several, to_a_stranger, weight=1.4),
)
