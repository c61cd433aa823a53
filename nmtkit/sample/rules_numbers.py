"""Rules for numbers, measures, times of day, dates and prices."""

from dataclasses import replace

from nmtkit.sample import numbers
from nmtkit.sample.clauses import Clause, Tense
from nmtkit.sample.compose import clause
from nmtkit.sample.draw import Draw
from nmtkit.sample.entries import Twin
from nmtkit.sample.phrases import BARE, Amount, NounPhrase, Quality
from nmtkit.sample.rule import rules
from nmtkit.sample.sentences import Sentence, main, question, sentence

_TENSES: tuple[Tense, ...] = ("present", "past", "perfect")
_ACTIVITY = ("accusative", "accusative", "accusative", "intransitive", "preposition")


def so_many(draw: Draw) -> Sentence:
    """Draw, for example, "She has left fourteen universities.", "Sie hat vierzehn Universitäten verlassen."."""
    verb = draw.verb("accusative", "preposition")
    noun = draw.noun(verb.objects, countable=True)
    amount = draw.number(2, 20) if draw.chance(0.5) else draw.number(21, 99)
    object_ = NounPhrase(noun, BARE, True, number=numbers.cardinal(amount), qualities=draw.qualities(noun, 0.4))
    return sentence(main(clause(draw, draw.one(_TENSES), verb=verb, object=object_)))


def the_nth(draw: Draw) -> Sentence:
    """Draw, for example, "They greet her ninth boss quickly.", "Sie begrüßen ihren neunten Chef schnell."."""
    verb = draw.verb("accusative", "preposition", "dative")
    noun = draw.noun(verb.objects, countable=True)
    nth = Quality(numbers.ordinal(draw.number(1, 10)))
    determiner = draw.determiner(draw.one(("the", "the", "my", "his", "her", "our")))
    return sentence(
        main(clause(draw, draw.one(_TENSES), verb=verb, object=NounPhrase(noun, determiner, qualities=(nth,))))
    )


def measured(draw: Draw) -> Sentence:
    """Draw, for example, "Emma has bought six slices of ham.", "Emma hat sechs Scheiben Schinken gekauft."."""
    measure = draw.one(draw.lexicon.measures)
    noun = draw.noun(measure.classes)
    many = draw.chance(0.7)
    object_ = Amount(numbers.cardinal(draw.number(2, 12)), many, measure, noun)
    names = ("buy", "order", "bring along", "need", "fetch", "pay")
    if noun.classes & {"drink"}:
        names = ("drink", "order", "buy", "bring along", "need", "like")
    elif noun.classes & {"food"}:
        names = ("eat", "order", "buy", "sell", "bring along", "need")
    fitting = [verb for verb in draw.lexicon.verbs if verb.frame == "accusative" and verb.name in names]
    verb = draw.take(draw.one([verb for verb in fitting if not noun.classes.isdisjoint(verb.objects)]))
    return sentence(main(clause(draw, draw.one(_TENSES), verb=verb, object=object_)))


def weighs_so_much(draw: Draw) -> Sentence:
    """Draw, for example, "The mirror weighed twenty-four kilos.", "Der Spiegel wog vierundzwanzig Kilo."."""
    verb = draw.take(draw.lexicon.verb("weigh", "measure"))
    noun = draw.noun(verb.subjects)
    if draw.chance(0.5):
        number = numbers.decimal(draw.number(11, 995), 1)
        words = Twin(f"{number.english} kilos", f"{number.german} Kilo")
    else:
        number = numbers.cardinal(draw.number(2, 99))
        words = Twin(f"{number.english} kilos", f"{number.german} Kilo")
    return sentence(main(Clause(draw.definite(noun), verb, predicate=words, tense=draw.one(("present", "past")))))


def lasts_so_long(draw: Draw) -> Sentence:
    """Draw, for example, "The course lasted forty-eight hours.", "Der Kurs dauerte achtundvierzig Stunden."."""
    verb = draw.take(draw.lexicon.verb("last"))
    number = numbers.cardinal(draw.number(2, 60))
    unit = draw.one(
        (Twin("hours", "Stunden"), Twin("minutes", "Minuten"), Twin("days", "Tage"), Twin("weeks", "Wochen"))
    )
    words = Twin(f"{number.english} {unit.english}", f"{number.german} {unit.german}")
    made = Clause(draw.definite(draw.noun(verb.subjects)), verb, predicate=words, tense=draw.one(("present", "past")))
    return sentence(main(made))


def at_a_spoken_time(draw: Draw) -> Sentence:
    """Draw, for example, "They clean the clock at five to twelve.", "Sie putzen um fünf vor zwölf die Uhr."."""
    return _at(draw, numbers.spoken_time(draw.number(1, 12), 5 * draw.number(0, 11)))


def at_a_written_time(draw: Draw) -> Sentence:
    """Draw, for example, "A lazy boy will cry at 11:10 am.", "Ein fauler Junge wird um 11.10 Uhr weinen."."""
    return _at(draw, numbers.written_time(draw.number(6, 23), draw.number(1, 59)))


def begins_at(draw: Draw) -> Sentence:
    """Draw, for example, "The film has begun at ten past four.", "Der Film hat um zehn nach vier begonnen."."""
    time = numbers.spoken_time(draw.number(1, 12), 5 * draw.number(0, 11))
    subject = draw.definite(draw.noun(["event"]))
    verb = draw.take(draw.lexicon.verb("begin"))
    when = Twin(f"at {time.english}", f"um {time.german}")
    made = Clause(subject, verb, predicate=when, tense=draw.one(("present", "past", "future", "perfect")))
    if draw.chance(0.4):
        day = draw.one(draw.lexicon.weekdays)
        made = replace(made, time=Twin(f"on {day.english}", f"am {day.german}"))
    return sentence(main(made))


def on_a_date(draw: Draw) -> Sentence:
    """Draw, for example, "On 7 February 1950 pilots took off.", "Am 7. Februar 1950 flogen Piloten ab."."""
    year = draw.number(1950, 2020) if draw.chance(0.5) else None
    day = numbers.date(draw.number(1, 28), draw.one(draw.lexicon.months), year)
    when = Twin(f"on {day.english}", f"am {day.german}")
    made = clause(draw, "past", frames=_ACTIVITY, time=when, extras=0.4)
    if draw.chance(0.4):
        return sentence(main(replace(made, time=None), when))
    return sentence(main(made))


def on_a_weekday(draw: Draw) -> Sentence:
    """Draw, for example, "We applied for the course on Friday.", "Wir bewarben uns am Freitag um den Kurs."."""
    day = draw.one(draw.lexicon.weekdays)
    part = draw.one(
        (Twin("", ""), Twin(" morning", "morgen"), Twin(" evening", "abend"), Twin(" afternoon", "nachmittag"))
    )
    when = Twin(f"on {day.english}{part.english}", f"am {day.german}{part.german}")
    made = clause(draw, draw.one(("past", "future")), frames=_ACTIVITY, time=when, extras=0.4)
    if draw.chance(0.4):
        return sentence(main(replace(made, time=None), when))
    return sentence(main(made))


def in_a_month(draw: Draw) -> Sentence:
    """Draw, for example, "In September the chef closed suitcases.", "Im September schloss der Koch Koffer."."""
    month = draw.one(draw.lexicon.months)
    year = f" {draw.number(1950, 2020)}" if draw.chance(0.5) else ""
    when = Twin(f"in {month.english}{year}", f"im {month.german}{year}")
    made = clause(draw, "past", frames=_ACTIVITY, time=when, extras=0.4)
    if draw.chance(0.5):
        return sentence(main(replace(made, time=None), when))
    return sentence(main(made))


def birthday(draw: Draw) -> Sentence:
    """Draw, for example, "The birthday of the uncle is on 18 May.", "Der Geburtstag des Onkels ist am 18. Mai."."""
    owner = draw.definite(draw.noun(["kin"]), probability=0.2)
    noun = draw.lexicon.noun("birthday")
    draw.used.add("noun birthday")
    subject = NounPhrase(noun, draw.determiner("the"), owner=owner)
    day = numbers.date(draw.number(1, 28), draw.one(draw.lexicon.months))
    be = draw.take(draw.lexicon.verb("be"))
    return sentence(main(Clause(subject, be, predicate=Twin(f"on {day.english}", f"am {day.german}"))))


def costs(draw: Draw) -> Sentence:
    """Draw, for example, "The cheap phones cost 141.40 euros.", "Die billigen Telefone kosten 141,40 Euro."."""
    verb = draw.take(draw.lexicon.verb("cost"))
    noun = draw.noun(["goods", "dish", "baked", "small"], countable=True)
    subject = draw.definite(noun, plural=draw.chance(0.3))
    made = Clause(
        subject, verb, predicate=_price(draw), tense="present" if subject.plural else draw.one(("present", "past"))
    )
    return sentence(main(made))


def sold_for(draw: Draw) -> Sentence:
    """Draw, for example, "The student bought the photo for €91.", "Die Studentin kaufte das Foto für 91 €."."""
    verb = draw.take(draw.lexicon.verb(draw.one(("buy", "sell"))))
    noun = draw.noun(["goods", "text"], countable=True)
    cost = _price(draw)
    made = clause(draw, draw.one(_TENSES), verb=verb, object=draw.phrase(noun), subject=draw.person(), extras=0.3)
    return sentence(
        main(replace(made, company=Twin(f"for {cost.english}", f"für {cost.german}"), place=None, manner=None))
    )


def how_much(draw: Draw) -> Sentence:
    """Draw, for example, "How much do his green pens cost?", "Wie viel kosten seine grünen Kugelschreiber?"."""
    verb = draw.take(draw.lexicon.verb(draw.one(("cost", "weigh")), "measure"))
    noun = draw.noun(verb.subjects, countable=True)
    made = Clause(draw.definite(noun, plural=draw.chance(0.4)), verb, tense=draw.one(("present", "past")))
    return sentence(question(made, Twin("how much", "wie viel")), "?")


def _price(draw: Draw) -> Twin:
    if draw.chance(0.35):
        return numbers.price(100 * draw.number(2, 99), draw.chance(0.4))
    if draw.chance(0.5):
        return numbers.price(10 * draw.number(15, 9999), draw.chance(0.4))
    return numbers.price(5000 * draw.number(20, 900), draw.chance(0.4))


def _at(draw: Draw, time: Twin) -> Sentence:
    when = Twin(f"at {time.english}", f"um {time.german}")
    tense: Tense = draw.one(("past", "present", "future"))
    made = clause(draw, tense, frames=_ACTIVITY, time=when, extras=0.4)
    if draw.chance(0.25):
        return sentence(main(replace(made, time=None), when))
    return sentence(main(made))


RULES = (
    *rules("number", so_many, the_nth, weight=1.3),
    *rules("measure", measured, weighs_so_much, lasts_so_long, weight=1.4),
    *rules("time of day", at_a_spoken_time, at_a_written_time, begins_at, weight=1.4),
    *rules("date", on_a_date, on_a_weekday, in_a_month, birthday, weight=1.4),
    *rules("price", costs, sold_for, how_much, weight=1.3),
)
