"""Rules around nouns: predicates, comparison, genitive, there is."""

from dataclasses import replace

from nmtkit.sample.clauses import Clause, Tense
from nmtkit.sample.compose import SIMPLE, clause
from nmtkit.sample.draw import Draw
from nmtkit.sample.entries import Noun, Twin
from nmtkit.sample.phrases import BARE, NounPhrase, Phrase, Quality, first_name, owned_by, prepositional
from nmtkit.sample.rule import rules
from nmtkit.sample.sentences import Sentence, joined, main, sentence

_TENSES: tuple[Tense, ...] = ("present", "past", "perfect")
_DESCRIBED = ("goods", "building", "text", "food", "animal", "person", "outdoor", "sight", "show")


def is_so(draw: Draw) -> Sentence:
    """Draw, for example, "Their concert is interesting.", "Ihr Konzert ist interessant."."""
    noun, quality = _with_quality(draw)
    subject = replace(draw.phrase(noun, subject=True), qualities=())
    made = _being(draw, subject, _predicate(quality), draw.one(("present", "past")))
    return sentence(main(made))


def was_so(draw: Draw) -> Sentence:
    """Draw, for example, "The postcards will be interesting.", "Die Postkarten werden interessant sein."."""
    noun, quality = _with_quality(draw)
    subject = replace(draw.phrase(noun, subject=True), qualities=())
    made = _being(draw, subject, _predicate(quality), draw.one(("perfect", "future", "past")))
    return sentence(main(replace(made, negated=draw.chance(0.4))))


def is_by_trade(draw: Draw) -> Sentence:
    """Name a trade: German has no article there."""
    noun = draw.noun(["trade"])
    subject: Phrase = first_name(draw.one([name for name in draw.lexicon.first_names if name.gender == noun.gender]))
    if draw.chance(0.4):
        kin = draw.noun(["kin"])
        while kin.gender != noun.gender:
            kin = draw.noun(["kin"])
        subject = draw.definite(kin, probability=0.2)
    trade = NounPhrase(noun, draw.determiner("a"))
    words = Twin(trade.english(), noun.german)
    return sentence(main(_being(draw, subject, words, draw.one(("present", "past")))))


def more_than(draw: Draw) -> Sentence:
    """Draw, for example, "Their ship is newer than the sledge.", "Ihr Schiff ist neuer als der Schlitten."."""
    first, second, quality = _compared(draw)
    words = Twin(
        f"{Quality(quality.adjective, 1).english} than {second.english()}",
        f"{quality.adjective.german.comparative} als {second.german('nom')}",
    )
    return sentence(main(_being(draw, first, words, draw.one(("present", "past")))))


def as_much_as(draw: Draw) -> Sentence:
    """Draw, for example, "The bed was as modern as the armchair.", "Das Bett war so modern wie der Sessel."."""
    first, second, quality = _compared(draw)
    words = Twin(
        f"as {quality.adjective.english.positive} as {second.english()}",
        f"so {quality.adjective.german.positive} wie {second.german('nom')}",
    )
    return sentence(main(replace(_being(draw, first, words, draw.one(("present", "past"))), negated=draw.chance(0.5))))


def a_better_one(draw: Draw) -> Sentence:
    """Draw, for example, "Journalists found a cleaner suit.", "Journalisten fanden einen saubereren Anzug."."""
    verb = draw.take(draw.lexicon.verb(draw.one(("buy", "need", "seek", "find", "order", "see"))))
    noun, quality = _with_quality(draw, tuple(verb.objects), 1)
    object_ = NounPhrase(noun, BARE if noun.mass else draw.determiner("a"), qualities=(Quality(quality.adjective, 1),))
    return sentence(main(clause(draw, draw.one(_TENSES), verb=verb, object=object_, extras=0.6)))


def the_best_of_all(draw: Draw) -> Sentence:
    """Draw, for example, "Emma organised the shortest concert.", "Emma organisierte das kürzeste Konzert."."""
    verb = draw.verb("accusative")
    noun, quality = _with_quality(draw, tuple(verb.objects), 2)
    after = None
    if noun.classes & {"building", "sight"}:
        after = prepositional(Twin("in", "in"), NounPhrase(draw.noun(["town"]), draw.determiner("the")), "dat")
    object_ = NounPhrase(
        noun,
        draw.determiner("the"),
        draw.chance(0.25) and not noun.mass,
        qualities=(Quality(quality.adjective, 2),),
        after=after,
    )
    return sentence(main(clause(draw, draw.one(_TENSES), verb=verb, object=object_, extras=0.2)))


def it_is_the_best(draw: Draw) -> Sentence:
    """Draw, for example, "This owl is the tamest owl in the village.", "Diese Eule ist die zahmste Eule im Dorf."."""
    noun, quality = _with_quality(draw, ("building", "sight", "outdoor", "person", "animal"), 2)
    town = prepositional(Twin("in", "in"), NounPhrase(draw.noun(["town"]), draw.determiner("the")), "dat")
    best = NounPhrase(noun, draw.determiner("the"), qualities=(Quality(quality.adjective, 2),), after=town)
    one = NounPhrase(noun, draw.determiner("this"))
    return sentence(main(_being(draw, one, Twin(best.english(), best.german("nom")), draw.one(("present", "past")))))


def knows_a_part(draw: Draw) -> Sentence:
    """Draw, for example, "Oskar forgets the title of the play.", "Oskar vergisst den Titel des Theaterstücks."."""
    part, whole = _part(draw)
    names = ["describe", "notice", "forget", "like"] if "open" not in part.classes else ["open", "close", "repair"]
    fitting = [verb for verb in draw.lexicon.verbs if verb.frame == "accusative" and verb.name in names]
    verb = draw.take(draw.one(fitting))
    return sentence(main(clause(draw, draw.one(_TENSES), verb=verb, object=whole, subject=draw.person())))


def belongs_to_someone(draw: Draw) -> Sentence:
    """Draw, for example, "They cleaned the hotel of the engineer.", "Sie putzten das Hotel der Ingenieurin."."""
    verb = draw.verb("accusative", "preposition")
    noun = draw.noun(verb.objects, countable=True)
    owner = draw.definite(draw.noun(["person"], but=[noun]), plural=draw.chance(0.2), probability=0.3)
    object_ = NounPhrase(
        noun, draw.determiner("the"), draw.chance(0.2), qualities=draw.qualities(noun, 0.2), owner=owner
    )
    return sentence(main(clause(draw, draw.one(_TENSES), verb=verb, object=object_, extras=0.4)))


def with_a_name(draw: Draw) -> Sentence:
    """Draw, for example, "We have thought of Marie's inventors.", "Wir haben an Maries Erfinder gedacht."."""
    verb = draw.verb("accusative", "dative", "preposition")
    noun = draw.noun(verb.objects, countable=True)
    owner = owned_by(draw.one(draw.lexicon.first_names))
    object_ = NounPhrase(noun, owner, draw.chance(0.2), qualities=draw.qualities(noun, 0.5))
    return sentence(main(clause(draw, draw.one(_TENSES), verb=verb, object=object_, extras=0.4)))


def during_or_because(draw: Draw) -> Sentence:
    """Draw, for example, "Emma came back during the excursion.", "Emma kam während des Ausflugs zurück."."""
    links = (
        (Twin("during", "während"), ("event",)),
        (Twin("because of", "wegen"), ("noise", "mistake", "question", "exam", "letter", "person", "animal")),
        (Twin("despite", "trotz"), ("noise", "mistake", "problem", "exam", "rule")),
    )
    link, names = draw.one(links)
    cause = prepositional(link, draw.definite(draw.noun(names), probability=0.4), "gen")
    made = clause(draw, draw.one(("present", "past")), frames=SIMPLE, extras=0.0)
    if draw.chance(0.5):
        return sentence(main(made, cause))
    return sentence(main(replace(made, place=None, time=cause)))


def there_is(draw: Draw) -> Sentence:
    """Draw, for example, "There is a chef in this hotel.", "Es gibt einen Koch in diesem Hotel."."""
    noun = draw.noun(["building", "sight", "animal", "furniture", "trade", "vehicle"])
    inside = {"furniture": "room", "animal": "outdoor", "vehicle": "town", "trade": "building"}
    where = next((inside[name] for name in inside if name in noun.classes), "town")
    place = prepositional(Twin("in", "in"), NounPhrase(draw.noun([where], but=[noun]), draw.determiner("this")), "dat")
    phrase = draw.indefinite(noun)
    if draw.chance(0.6):
        amount = draw.determiner(draw.one(("many", "some", "few", "several", "no")))
        phrase = NounPhrase(noun, amount, True, qualities=phrase.qualities)
    past = draw.chance(0.4)
    be = ("were" if past else "are") if phrase.plural else ("was" if past else "is")
    give = "gab" if past else "gibt"
    return sentence(joined(Twin(f"there {be} {phrase.english()}", f"es {give} {phrase.german('acc')}"), place))


def _being(draw: Draw, subject: Phrase, predicate: Twin, tense: Tense) -> Clause:
    return Clause(subject, draw.take(draw.lexicon.verb("be")), tense=tense, predicate=predicate)


def _predicate(quality: Quality) -> Twin:
    return Twin(quality.english, quality.adjective.german.positive)


def _with_quality(draw: Draw, names: tuple[str, ...] = _DESCRIBED, degree: int = 0) -> tuple[Noun, Quality]:
    for _ in range(100):
        noun = draw.noun(names)
        quality = draw.quality(noun, degree)
        if quality is not None:
            return noun, quality
    return _with_quality(draw, _DESCRIBED, degree)


def _compared(draw: Draw) -> tuple[Phrase, Phrase, Quality]:
    """Return two things of one kind and an adjective that can compare them."""
    while True:
        kind = draw.one(("person", "animal", "building", "vehicle", "clothes", "furniture", "fruit", "show", "text"))
        one, quality = _with_quality(draw, (kind,), 1)
        other = draw.noun([kind], but=[one])
        if quality.adjective.classes & (other.classes | {other.english}):
            return draw.definite(one, probability=0.0), draw.definite(other, probability=0.0), quality


def _part(draw: Draw) -> tuple[Noun, NounPhrase]:
    part = draw.noun(["part"])
    names = sorted(part.part_of)
    owner = draw.definite(draw.noun(names), probability=0.35)
    return part, NounPhrase(part, draw.determiner("the"), qualities=draw.qualities(part, 0.1), owner=owner)


RULES = (
    *rules("predicate", is_so, was_so, is_by_trade, weight=1.6),
    *rules("comparison", more_than, as_much_as, a_better_one, the_best_of_all, it_is_the_best, weight=2.0),
    *rules("genitive", knows_a_part, belongs_to_someone, with_a_name, during_or_because, weight=1.8),
    *rules("there is", there_is, weight=0.8),
)
