"""Rules for order and case: what comes first, two-way prepositions, directions, governed cases, endings."""

from dataclasses import replace

from nmtkit.sample.clauses import Clause, Tense
from nmtkit.sample.compose import clause
from nmtkit.sample.draw import Draw
from nmtkit.sample.entries import Twin, Verb
from nmtkit.sample.phrases import BARE, NounPhrase, prepositional
from nmtkit.sample.places import scene
from nmtkit.sample.pronouns import pronoun_for
from nmtkit.sample.rule import rules
from nmtkit.sample.sentences import Sentence, main, sentence

_TENSES: tuple[Tense, ...] = ("present", "past", "past", "perfect", "future")


def time_first(draw: Draw) -> Sentence:
    """Draw, for example, "Every year Julian meets the queens.", "Jedes Jahr trifft Julian die Königinnen."."""
    tense: Tense = draw.one(("past", "present", "future"))
    made = clause(draw, tense, extras=0.5)
    return sentence(main(replace(made, time=None, frequency=None), front=draw.time(tense)))


def place_first(draw: Draw) -> Sentence:
    """Draw, for example, "In the cave they danced last month.", "In der Höhle tanzten sie letzten Monat."."""
    verb = draw.verb("accusative", "intransitive", needs="manner")
    made = clause(draw, draw.one(("past", "present")), verb=verb, extras=0.6)
    return sentence(main(replace(made, place=None), front=scene(draw, verb)))


def frequency_first(draw: Draw) -> Sentence:
    """Draw, for example, "Often a tourist bought the red beds.", "Oft kaufte ein Tourist die roten Betten."."""
    adverbs = [entry for entry in draw.lexicon.frequency if entry.english in {"sometimes", "usually", "often"}]
    made = clause(draw, draw.one(("past", "present")), extras=0.6)
    return sentence(main(replace(made, frequency=None, time=None), front=draw.one(adverbs)))


def position(draw: Draw) -> Sentence:
    """Draw, for example, "She has sat in the small supermarket.", "Sie hat im kleinen Supermarkt gesessen."."""
    return sentence(main(clause(draw, draw.one(("present", "past", "perfect")), frames=("position",))))


def position_first(draw: Draw) -> Sentence:
    """Draw, for example, "On the carpet a rich girl plays.", "Auf dem Teppich spielt ein reiches Mädchen."."""
    made = clause(draw, draw.one(("present", "past")), frames=("position",), extras=0.3)
    return sentence(main(replace(made, place=None), front=made.place))


def placing(draw: Draw) -> Sentence:
    """Draw, for example, "He puts a new ticket in the box.", "Er legt eine neue Fahrkarte in die Kiste."."""
    return sentence(main(clause(draw, draw.one(_TENSES), frames=("placing",))))


def motion(draw: Draw) -> Sentence:
    """Draw, for example, "Mr Vogel has jumped under the tree.", "Herr Vogel ist unter den Baum gesprungen."."""
    return sentence(main(clause(draw, draw.one(_TENSES), frames=("motion",))))


def to_a_building(draw: Draw) -> Sentence:
    """Draw, for example, "Julian drives to the flat in the mornings.", "Julian fährt morgens zur Wohnung."."""
    verb = draw.take(draw.lexicon.verb(draw.one(("go", "run", "drive", "come"))))
    target = prepositional(Twin("to", "zu"), draw.definite(draw.noun(["building"])), "dat")
    return sentence(main(_moving(draw, verb, target)))


def to_a_city(draw: Draw) -> Sentence:
    """Draw, for example, "They have come to Copenhagen today.", "Sie sind heute nach Kopenhagen gekommen."."""
    verb = draw.take(draw.lexicon.verb(draw.one(("travel", "drive", "come", "return"))))
    name = draw.one((*draw.lexicon.cities, *draw.lexicon.countries))
    return sentence(main(_moving(draw, verb, Twin(f"to {name.english}", f"nach {name.german}"))))


def lives_in(draw: Draw) -> Sentence:
    """Draw, for example, "They lived in a flat last month.", "Sie wohnten letzten Monat in einer Wohnung."."""
    verb = draw.take(draw.lexicon.verb("live"))
    home = draw.one(draw.lexicon.cities)
    place = Twin(f"in {home.english}", f"in {home.german}")
    if draw.chance(0.5):
        noun = draw.noun(["home"])
        place = prepositional(Twin("in", "in"), draw.indefinite(noun), "dat")
    return sentence(main(_moving(draw, verb, place, ("present", "past"))))


def comes_from(draw: Draw) -> Sentence:
    """Draw, for example, "The strong bosses come from Austria.", "Die starken Chefs kommen aus Österreich."."""
    verb = draw.take(draw.lexicon.verb("come"))
    home = draw.one((*draw.lexicon.cities, *draw.lexicon.countries))
    made = clause(draw, "present", verb=verb, extras=0.0)
    return sentence(main(replace(made, place=Twin(f"from {home.english}", f"aus {home.german}"))))


def out_of_a_place(draw: Draw) -> Sentence:
    """Draw, for example, "Every child climbs out of the prison.", "Jedes Kind klettert aus dem Gefängnis."."""
    verb = draw.verb("motion")
    made = clause(draw, draw.one(("present", "past", "perfect")), verb=verb)
    place = prepositional(Twin("out of", "aus"), draw.definite(draw.noun(["inside"])), "dat")
    return sentence(main(replace(made, place=place)))


def through_or_around(draw: Draw) -> Sentence:
    """Draw, for example, "A lawyer has run through the garden.", "Ein Anwalt ist durch den Garten gerannt."."""
    verb = draw.take(draw.lexicon.verb(draw.one(("run", "go", "drive", "climb", "crawl"))))
    link, names = draw.one(
        (
            (Twin("through", "durch"), ("outdoor", "window", "gate")),
            (Twin("around", "um"), ("building", "lake", "tree")),
        )
    )
    place = prepositional(link, draw.definite(draw.noun(names)), "acc")
    return sentence(main(_moving(draw, verb, place)))


def for_or_without(draw: Draw) -> Sentence:
    """Draw, for example, "Martin baked their cake without the uncle.", "Martin backte ihren Kuchen ohne den Onkel."."""
    verb = draw.verb("accusative", needs="manner")
    subject = draw.person()
    link = draw.one((Twin("for", "für"), Twin("without", "ohne")))
    noun = draw.noun(["kin"])
    company = prepositional(link, draw.definite(noun, plural=draw.chance(0.3)), "acc")
    made = clause(
        draw, draw.one(_TENSES), subject=subject if "person" in verb.subjects else None, verb=verb, extras=0.3
    )
    return sentence(main(replace(made, company=company, manner=None)))


def governed(draw: Draw) -> Sentence:
    """Draw, for example, "Mrs Vogel will ask about his name.", "Frau Vogel wird nach seinem Namen fragen."."""
    return sentence(main(clause(draw, draw.one(_TENSES), frames=("preposition",))))


def dative(draw: Draw) -> Sentence:
    """Draw, for example, "The expert always believed Mrs Krüger.", "Der Experte glaubte immer Frau Krüger."."""
    return sentence(main(clause(draw, draw.one(_TENSES), frames=("dative",))))


def two_objects(draw: Draw) -> Sentence:
    """Draw, for example, "She recommends the musician the films.", "Sie empfiehlt dem Musiker die Filme."."""
    return sentence(main(clause(draw, draw.one(_TENSES), frames=("two objects",))))


def object_pronoun(draw: Draw) -> Sentence:
    """Draw, for example, "The musician offers him our chairs.", "Der Musiker bietet ihm unsere Stühle an."."""
    made = clause(draw, draw.one(_TENSES), frames=("two objects",), extras=0.6)
    assert made.recipient is not None
    return sentence(main(replace(made, recipient=pronoun_for(made.recipient))))


def adjectives_everywhere(draw: Draw) -> Sentence:
    """Draw, for example, "A good son took down his new picture.", "Ein guter Sohn nahm sein neues Bild ab."."""
    verb = draw.verb("accusative", "two objects")
    made = clause(draw, draw.one(("present", "past")), verb=verb, extras=0.5)
    subject, object_ = made.subject, made.object
    if isinstance(subject, NounPhrase):
        subject = replace(subject, qualities=subject.qualities or draw.qualities(subject.noun, 1.0))
    if isinstance(object_, NounPhrase):
        object_ = replace(object_, qualities=object_.qualities or draw.qualities(object_.noun, 1.0))
    return sentence(main(replace(made, subject=subject, object=object_)))


def strong_endings(draw: Draw) -> Sentence:
    """Draw, for example, "This father tidies up grey desks.", "Dieser Vater räumt graue Schreibtische auf."."""
    verb = draw.verb("accusative", "preposition")
    made = clause(draw, draw.one(("present", "past")), verb=verb, extras=0.5)
    noun = draw.noun(verb.objects)
    object_ = NounPhrase(noun, BARE, not noun.mass, qualities=draw.qualities(noun, 1.0))
    return sentence(main(replace(made, object=object_)))


def _moving(draw: Draw, verb: Verb, place: Twin, tenses: tuple[Tense, ...] = _TENSES) -> Clause:
    made = clause(draw, draw.one(tenses), verb=verb, extras=1.2)
    return replace(made, place=place)


RULES = (
    *rules("verb second", time_first, place_first, frequency_first, weight=1.4),
    *rules("two-way preposition", position, position_first, placing, motion, weight=1.7),
    *rules("direction", to_a_building, to_a_city, lives_in, comes_from, out_of_a_place, through_or_around, weight=1.5),
    *rules("governed case", for_or_without, governed, dative, two_objects, object_pronoun, weight=1.8),
    *rules("adjective endings", adjectives_everywhere, strong_endings, weight=1.4),
)
