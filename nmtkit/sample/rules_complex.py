"""Rules for subordinate clauses: relative clauses, conjunctions, that, whether, to."""

from collections.abc import Callable
from dataclasses import replace

from nmtkit.sample.clauses import Clause, Tense
from nmtkit.sample.compose import SIMPLE, clause, described
from nmtkit.sample.draw import Draw
from nmtkit.sample.entries import Determiner, Noun, Twin, Verb
from nmtkit.sample.phrases import NounPhrase, Phrase, prepositional
from nmtkit.sample.pronouns import WHO, Relative, pronoun_for
from nmtkit.sample.rule import rules
from nmtkit.sample.sentences import Sentence, after_clause, final, infinitive, joined, main, sentence

_COMMA = Twin("", ",")
_BOTH_COMMAS = Twin(",", ",")
_TENSES: tuple[Tense, ...] = ("present", "past", "perfect")

_PAIRS: dict[str, tuple[tuple[Tense, Tense], ...]] = {  # tenses of the main and the subordinate clause
    "when": (("past", "past"),),
    "if": (("present", "present"), ("future", "present")),
    "while": (("present", "present"), ("past", "past")),
    "because": (("present", "present"), ("past", "past"), ("present", "perfect")),
    "although": (("present", "present"), ("past", "past"), ("present", "perfect")),
}
_OTHER_PAIRS: tuple[tuple[Tense, Tense], ...] = (("present", "present"), ("past", "past"), ("future", "present"))


def relative_subject(draw: Draw) -> Sentence:
    """Draw, for example, "The queen liked the nervous guest who smiled."."""

    def attach(phrase: NounPhrase) -> Twin:
        made = clause(draw, draw.one(_TENSES), frames=SIMPLE, subject=Relative(phrase), extras=0.3)
        return final(made)

    return _with_relative(draw, ["person"], attach)


def relative_object(draw: Draw) -> Sentence:
    """Draw, for example, "Peter tries the big nut which Anna ate.", "Peter probiert die große Nuss, die Anna aß."."""
    verb = draw.verb("accusative", where=lambda verb: "person" in verb.subjects)

    def attach(phrase: NounPhrase) -> Twin:
        made = replace(clause(draw, draw.one(_TENSES), verb=verb, subject=draw.person(but=[phrase.noun]), extras=0.0))
        return _fronted(
            replace(made, object=None), Relative(phrase).english(object=True), Relative(phrase).german("acc")
        )

    return _with_relative(draw, verb.objects, attach)


def relative_dative(draw: Draw) -> Sentence:
    """Draw, for example, "A librarian whom Leon trusts hurried."."""
    verb = draw.verb("dative", where=lambda verb: verb.objects == ("person",) and "person" in verb.subjects)

    def attach(phrase: NounPhrase) -> Twin:
        made = clause(draw, draw.one(_TENSES), verb=verb, subject=draw.person(but=[phrase.noun]), extras=0.0)
        head = Relative(phrase)
        english = "to whom" if verb.english.tail == "to" else head.english(object=True)
        if verb.english.tail == "to":
            made = replace(made, verb=replace(verb, english=replace(verb.english, tail="")))
        return _fronted(replace(made, object=None), english, head.german("dat"))

    return _with_relative(draw, ["person"], attach)


def relative_preposition(draw: Draw) -> Sentence:
    """Draw, for example, "The boy of whom Clara thought combed himself."."""
    verb = draw.verb("preposition", where=lambda verb: verb.government is not None and verb.government.english != "")

    def attach(phrase: NounPhrase) -> Twin:
        made = clause(draw, draw.one(_TENSES), verb=verb, subject=draw.person(but=[phrase.noun]), extras=0.0)
        assert verb.government is not None
        link, german, case = verb.government
        head = prepositional(Twin(link, german), Relative(phrase), case)
        return _fronted(replace(made, object=None), head.english, head.german)

    return _with_relative(draw, verb.objects, attach)


def relative_place(draw: Draw) -> Sentence:
    """Draw, for example, "Oskar cleans the cellar in which Sophie laughed."."""

    def attach(phrase: NounPhrase) -> Twin:
        verb = draw.verb("accusative", "intransitive", needs="manner")
        made = replace(clause(draw, draw.one(_TENSES), verb=verb, extras=0.0), place=None)
        head = prepositional(Twin("in", "in"), Relative(phrase), "dat")
        return _fronted(made, head.english, head.german)

    return _with_relative(draw, ["inside"], attach)


def relative_whose(draw: Draw) -> Sentence:
    """Draw, for example, "The lawyer whose dog was wild watches a game."."""

    def attach(phrase: NounPhrase) -> Twin:
        whose = "deren" if phrase.form in {"f", "pl"} else "dessen"
        owned = draw.noun(["kin", "pet", "vehicle", "clothes"], but=[phrase.noun])
        subject = NounPhrase(owned, Determiner("whose", "whose", whose, "fixed"), draw.chance(0.25))
        return final(described(draw, subject, draw.one(("present", "past"))))

    return _with_relative(draw, ["person"], attach)


def conjunction_after(draw: Draw) -> Sentence:
    """Draw, for example, "Colleagues arrived when Mr Winter got up."."""
    word = draw.one(draw.lexicon.conjunctions)
    first, second = _pair(draw, word)
    return sentence(joined(main(first), _COMMA, final(second, word)))


def conjunction_before(draw: Draw) -> Sentence:
    """Draw, for example, "Because Ben cooked, she invited gardeners.", "Weil Ben kochte, lud sie Gärtner ein."."""
    word = draw.one([entry for entry in draw.lexicon.conjunctions if entry.english not in {"until"}])
    first, second = _pair(draw, word)
    return sentence(joined(final(second, word), _BOTH_COMMAS, after_clause(first)))


def after_had(draw: Draw) -> Sentence:
    """Draw, for example, "After Peter had apologised, he woke up."."""
    subject = draw.person()
    first = clause(draw, "pluperfect", frames=SIMPLE, subject=subject, extras=0.0)
    second = clause(draw, "past", frames=SIMPLE, subject=pronoun_for(subject), extras=0.0)
    return sentence(joined(final(first, Twin("after", "nachdem")), _BOTH_COMMAS, after_clause(second)))


def that(draw: Draw) -> Sentence:
    """Draw, for example, "Martin hoped that he will wake up.", "Martin hoffte, dass er aufwachen wird."."""
    verb = draw.verb("clause", needs="that")
    first = clause(draw, draw.one(("present", "past")), verb=verb, extras=0.0)
    second = clause(draw, draw.one(("past", "perfect", "future")), frames=SIMPLE, extras=0.5)
    return sentence(joined(main(first), _COMMA, final(second, Twin("that", "dass"))))


def it_is_good_that(draw: Draw) -> Sentence:
    """Draw, for example, "It is important that his train stops.", "Es ist wichtig, dass sein Zug anhält."."""
    word = draw.one(("good", "bad", "important", "sad", "beautiful", "interesting", "funny"))
    adjective = draw.lexicon.adjective(word)
    draw.used.add(f"adjective {word}")
    head = Twin(f"it is {adjective.english.positive}", f"es ist {adjective.german.positive}")
    second = clause(draw, draw.one(_TENSES), frames=SIMPLE, extras=0.5)
    return sentence(joined(head, _COMMA, final(second, Twin("that", "dass"))))


def whether(draw: Draw) -> Sentence:
    """Draw, for example, "I wondered whether she lifted up this child."."""
    verb = draw.verb("clause", needs="whether")
    known = verb.name == "know"
    first = clause(draw, "present" if known else draw.one(("present", "past")), verb=verb, extras=0.0, negated=known)
    second = clause(draw, draw.one(("past", "perfect")), frames=SIMPLE, extras=0.5)
    return sentence(joined(main(first), _COMMA, final(second, Twin("whether", "ob"))))


def indirect_question(draw: Draw) -> Sentence:
    """Draw, for example, "They wonder who laughs at the joke.", "Sie fragen sich, wer über den Witz lacht."."""
    verb = draw.take(draw.lexicon.verb(draw.one(("know", "wonder")), "clause"))
    first = clause(draw, draw.one(("present", "past")), verb=verb, extras=0.0, negated=verb.name == "know")
    if draw.chance(0.35):
        second = clause(draw, draw.one(_TENSES), frames=SIMPLE, subject=WHO, extras=0.0)
        return sentence(joined(main(first), _COMMA, final(second)))
    word = draw.one((Twin("when", "wann"), Twin("where", "wo"), Twin("why", "warum")))
    second = clause(draw, draw.one(_TENSES), frames=("accusative", "intransitive"), needs="manner", extras=0.0)
    return sentence(joined(main(first), _COMMA, final(second, word)))


def to_do(draw: Draw) -> Sentence:
    """Draw, for example, "She forgot to take away brown candles.", "Sie vergaß, braune Kerzen wegzunehmen."."""
    verb = draw.verb("clause", needs="to")
    first = clause(draw, draw.one(("present", "past", "perfect")), verb=verb, extras=0.0)
    second = _also(draw, first.subject)
    return sentence(joined(main(first), _COMMA, infinitive(second)))


def in_order_to(draw: Draw) -> Sentence:
    """Draw, for example, "Tim appears in order to take care of the dogs."."""
    first = clause(draw, draw.one(("present", "past")), frames=SIMPLE, subject=draw.person(), extras=0.0)
    second = _also(draw, first.subject)
    return sentence(joined(main(first), _COMMA, Twin("in order", "um"), infinitive(second)))


def it_is_hard_to(draw: Draw) -> Sentence:
    """Draw, for example, "It is important to solve five tasks.", "Es ist wichtig, fünf Aufgaben zu lösen."."""
    word = draw.one(("difficult", "easy", "important", "dangerous", "interesting", "boring", "beautiful"))
    adjective = draw.lexicon.adjective(word)
    draw.used.add(f"adjective {word}")
    head = Twin(f"it is {adjective.english.positive}", f"es ist {adjective.german.positive}")
    verb = draw.verb("accusative", where=lambda verb: "person" in verb.subjects and not verb.german.reflexive)
    made = Clause(draw.name(), verb, draw.object(verb))
    return sentence(joined(head, _COMMA, infinitive(made)))


def _with_relative(draw: Draw, names: list[str] | tuple[str, ...], attach: Callable[[NounPhrase], Twin]) -> Sentence:
    """Put a noun with its relative clause into a main clause, as subject or object of a verb that takes it.

    After an object the relative clause stands at the end of the sentence, behind all verbs.
    """
    while True:
        noun = draw.noun(names, countable=True)
        verbs = [verb for verb in draw.lexicon.verbs if _takes(verb, noun)]
        if verbs:
            break
    plural = draw.chance(0.25)
    head = NounPhrase(noun, draw.determiner("the"), plural, qualities=draw.qualities(noun, 0.2))
    if draw.chance(0.25) and not plural:
        head = replace(head, determiner=draw.determiner("a"))
    relative = attach(head)
    if "person" in noun.classes and draw.chance(0.5):
        phrase = replace(head, relative=relative)
        return sentence(main(clause(draw, draw.one(_TENSES), frames=SIMPLE, subject=phrase, extras=0.0)))
    verb = draw.take(draw.one(verbs))
    doer = draw.person(but=[noun]) if "person" in verb.subjects else draw.phrase(draw.noun(verb.subjects, but=[noun]))
    made = clause(draw, draw.one(_TENSES), verb=verb, subject=doer, object=replace(head, pointed=True), extras=0.0)
    return sentence(joined(main(made), _COMMA, relative))


def _takes(verb: Verb, noun: Noun) -> bool:
    if verb.frame not in {"accusative", "dative", "preposition"} or "person" not in verb.subjects:
        return False
    return noun.english in verb.objects or not noun.classes.isdisjoint(verb.objects)


def _fronted(made: Clause, english: str, german: str) -> Twin:
    spoken = main(made, Twin(english, ""))
    return Twin(spoken.english, f"{german} {final(made).german}")


def _pair(draw: Draw, word: Twin) -> tuple[Clause, Clause]:
    """Return a main clause and the one that its conjunction begins, in tenses that go together."""
    first, second = draw.one(_PAIRS.get(word.english, _OTHER_PAIRS))
    one, two = (clause(draw, tense, frames=SIMPLE, extras=0.0) for tense in (first, second))
    return one, two


def _also(draw: Draw, subject: Phrase) -> Clause:
    """Return a clause that the same person does."""
    verb = draw.verb(
        "accusative",
        "accusative",
        "two objects",
        "preposition",
        "placing",
        without=("stative",),
        where=lambda verb: "person" in verb.subjects,
    )
    return clause(draw, verb=verb, subject=subject, extras=0.0)


RULES = (
    *rules(
        "relative clause",
        relative_subject,
        relative_object,
        relative_dative,
        relative_preposition,
        relative_place,
        relative_whose,
        weight=2.6,
    ),
    *rules("subordinate clause", conjunction_after, conjunction_before, after_had, weight=2.2),
    *rules("that clause", that, it_is_good_that, weight=1.4),
    *rules("indirect question", whether, indirect_question, weight=1.3),
    *rules("infinitive clause", to_do, in_order_to, it_is_hard_to, weight=1.6),
)
