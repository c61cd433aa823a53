"""Rules for clauses and phrases side by side: conditions, coordination, pronouns that refer back."""

from nmtkit.sample.clauses import Clause, Tense
from nmtkit.sample.compose import SIMPLE, clause, described
from nmtkit.sample.draw import Draw
from nmtkit.sample.entries import Noun, Twin, Verb
from nmtkit.sample.phrases import Both, Phrase, Quality
from nmtkit.sample.pronouns import Dropped, pronoun_for
from nmtkit.sample.rule import rules
from nmtkit.sample.sentences import Sentence, after_clause, final, joined, main, sentence

_OPPOSITES = (
    *(("old", "new"), ("old", "young"), ("old", "fresh"), ("big", "small"), ("long", "short"), ("heavy", "light")),
    *(("good", "bad"), ("beautiful", "ugly"), ("expensive", "cheap"), ("clean", "dirty"), ("warm", "cold")),
    *(("fast", "slow"), ("interesting", "boring"), ("exciting", "boring"), ("funny", "sad"), ("difficult", "easy")),
    *(("empty", "full"), ("ripe", "sour"), ("sweet", "sour"), ("old", "modern"), ("tasty", "good"), ("hot", "cold")),
    *(("hot", "warm"), ("interesting", "exciting"), ("dark", "bright"), ("long", "small"), ("big", "short")),
)
_COMMA = Twin("", ",")
_BOTH_COMMAS = Twin(",", ",")
_TENSES: tuple[Tense, ...] = ("present", "past", "perfect")


def if_there_were(draw: Draw) -> Sentence:
    """Draw, for example, "If Simon had more money, he would wash himself."."""
    subject = draw.person()
    thing = draw.one(
        (Twin("more time", "mehr Zeit"), Twin("more money", "mehr Geld"), Twin("a free day", "einen freien Tag"))
    )
    condition = Twin(
        f"if {subject.english()} had {thing.english}", f"wenn {subject.german('nom')} {thing.german} hätte"
    )
    made = clause(draw, "conditional", frames=SIMPLE, subject=pronoun_for(subject), extras=0.0)
    return sentence(joined(condition, _BOTH_COMMAS, after_clause(made)))


def if_it_were(draw: Draw) -> Sentence:
    """Draw, for example, "If the pillow were new, Tim would cook.", "Wenn das Kissen neu wäre, würde Tim kochen."."""
    noun = draw.noun(["goods", "building", "food"])
    phrase = draw.definite(noun, probability=0.0)
    quality = draw.quality(noun)
    if quality is None:
        return if_there_were(draw)
    condition = Twin(
        f"if {phrase.english()} were {quality.english}",
        f"wenn {phrase.german('nom')} {quality.adjective.german.positive} wäre",
    )
    made = clause(draw, "conditional", frames=SIMPLE, extras=0.0)
    return sentence(joined(condition, _BOTH_COMMAS, after_clause(made)))


def two_clauses(draw: Draw) -> Sentence:
    """Draw, for example, "She danced and he got dressed.", "Sie tanzte und er zog sich an."."""
    tense: Tense = draw.one(("present", "past", "future"))
    link = draw.one((Twin("and", "und"), Twin(", but", ", aber")))
    first = clause(draw, tense, frames=SIMPLE, extras=0.2)
    second = clause(draw, tense, frames=SIMPLE, extras=0.2)
    return sentence(joined(main(first), link, main(second)))


def two_subjects(draw: Draw) -> Sentence:
    """Draw, for example, "The shoemaker and Simon hide themselves.", "Der Schuster und Simon verstecken sich."."""
    verb = draw.verb("accusative", "intransitive", "preposition", where=lambda verb: "person" in verb.subjects)
    first, second = draw.person(), draw.person()
    return sentence(main(clause(draw, draw.one(_TENSES), verb=verb, subject=Both(first, second))))


def two_objects_joined(draw: Draw) -> Sentence:
    """Draw, for example, "He puts on her shirt and the sock.", "Er zieht ihr Hemd und die Socke an."."""
    verb = draw.verb("accusative", "preposition")
    first = draw.noun(verb.objects)
    second = draw.noun(verb.objects) if len(verb.objects) == 1 else draw.noun(verb.objects, but=[first])
    both = Both(draw.definite(first), draw.definite(second))
    return sentence(main(clause(draw, draw.one(_TENSES), verb=verb, object=both, extras=0.5)))


def two_verbs(draw: Draw) -> Sentence:
    """Draw, for example, "The musician gets lost and arrives.", "Der Musiker verirrt sich und kommt an."."""
    tense: Tense = draw.one(("present", "past"))
    subject = draw.person()
    first = clause(draw, tense, frames=SIMPLE, subject=subject, extras=0.2)
    second = clause(draw, tense, frames=SIMPLE, subject=Dropped(subject), extras=0.2)
    return sentence(joined(main(first), Twin("and", "und"), main(second)))


def takes_it_up(draw: Draw) -> Sentence:
    """Draw, for example, "Their ship is blue, but it is slow.", "Ihr Schiff ist blau, aber es ist langsam."."""
    noun = draw.noun(["goods", "building", "text", "food"], countable=True)
    phrase = draw.definite(noun, plural=draw.chance(0.25), probability=0.0)
    for _ in range(20):
        first, second = draw.quality(noun), draw.quality(noun)
        if first and second and _go_together(first, second):
            one, two = _with_quality(draw, phrase, first), _with_quality(draw, pronoun_for(phrase), second)
            return sentence(joined(main(one), Twin(", but", ", aber"), main(two)))
    return bought_and_used(draw)


def bought_and_used(draw: Draw) -> Sentence:
    """Draw, for example, "Leon weighed a picture and collected it.", "Leon wog ein Bild und sammelte es."."""
    tense: Tense = draw.one(("past", "present"))
    subject = draw.person()
    noun = draw.noun(["goods", "text"])
    phrase = draw.indefinite(noun) if draw.chance(0.6) else draw.definite(noun, plural=draw.chance(0.3))
    fitting = [verb for verb in draw.lexicon.verbs if _does_with(verb, noun)]
    one, two = draw.take(draw.one(fitting)), draw.take(draw.one(fitting))
    first = Clause(subject, one, phrase, tense=tense)
    second = Clause(Dropped(subject), two, pronoun_for(phrase), tense=tense)
    return sentence(joined(main(first), Twin("and", "und"), main(second)))


def found_and_gave(draw: Draw) -> Sentence:
    """Draw, for example, "Tim sought their photos and lent them to Nina."."""
    subject = draw.person()
    noun = draw.noun(["small", "vehicle"])
    phrase = draw.definite(noun, plural=draw.chance(0.25))
    fitting = [verb for verb in draw.lexicon.verbs if _does_with(verb, noun)]
    first = Clause(subject, draw.take(draw.one(fitting)), phrase, tense="past")
    gift = draw.take(draw.lexicon.verb(draw.one(("give", "show", "lend", "bring", "give back"))))
    second = Clause(Dropped(subject), gift, pronoun_for(phrase), draw.person(), tense="past")
    return sentence(joined(main(first), Twin("and", "und"), main(second)))


def because_of_it(draw: Draw) -> Sentence:
    """Draw, for example, "Peter fetched the boot because it was cheap."."""
    noun = draw.noun(["goods", "text", "fruit"], countable=True)
    phrase = draw.definite(noun, plural=draw.chance(0.3), probability=0.0)
    fitting = [verb for verb in draw.lexicon.verbs if _does_with(verb, noun)]
    verb = draw.take(draw.one(fitting))
    made = clause(draw, draw.one(_TENSES), verb=verb, subject=draw.person(), object=phrase, extras=0.0)
    reason = described(draw, pronoun_for(phrase), draw.one(("present", "past")), noun)
    return sentence(joined(main(made), _COMMA, final(reason, Twin("because", "weil"))))


def _does_with(verb: Verb, noun: Noun) -> bool:
    if verb.frame != "accusative" or "person" not in verb.subjects or verb.german.reflexive:
        return False
    return noun.english in verb.objects or not noun.classes.isdisjoint(verb.objects)


def _with_quality(draw: Draw, subject: Phrase, quality: Quality) -> Clause:
    be = draw.take(draw.lexicon.verb("be"))
    return Clause(subject, be, predicate=Twin(quality.english, quality.adjective.german.positive))


def _go_together(first: Quality, second: Quality) -> bool:
    """Say whether one thing can be both: not old and new, not red and blue."""
    names = {first.english, second.english}
    colours = all("coloured" in quality.adjective.classes for quality in (first, second))
    return len(names) == 2 and not colours and not any(names <= set(pair) for pair in _OPPOSITES)


RULES = (
    *rules("condition", if_there_were, if_it_were, weight=1.2),
    *rules("coordination", two_clauses, two_subjects, two_objects_joined, two_verbs, weight=1.7),
    *rules("pronoun", takes_it_up, bought_and_used, found_and_gave, because_of_it, weight=1.8),
)
