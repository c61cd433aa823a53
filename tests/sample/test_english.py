import pytest

from nmtkit.sample import english
from nmtkit.sample.lexicon import lexicon


@pytest.mark.parametrize(
    ("noun", "plural"),
    [
        ("cat", "cats"),
        ("bus", "buses"),
        ("box", "boxes"),
        ("church", "churches"),
        ("party", "parties"),
        ("boy", "boys"),
    ],
)
def test_plural(noun, plural):
    assert english.plural(noun) == plural


def test_irregular_plurals():
    plurals = {
        "man": "men",
        "child": "children",
        "mouse": "mice",
        "goose": "geese",
        "knife": "knives",
        "potato": "potatoes",
    }
    assert {noun: lexicon().noun(noun).english_plural for noun in plurals} == plurals


@pytest.mark.parametrize(
    ("base", "third", "past", "gerund"),
    [
        ("work", "works", "worked", "working"),
        ("wash", "washes", "washed", "washing"),
        ("carry", "carries", "carried", "carrying"),
        ("play", "plays", "played", "playing"),
        ("stop", "stops", "stopped", "stopping"),
        ("open", "opens", "opened", "opening"),
        ("travel", "travels", "travelled", "travelling"),
        ("bake", "bakes", "baked", "baking"),
        ("lie", "lies", "lied", "lying"),
        ("begin", "begins", "beginned", "beginning"),  # its past is in the lexicon
        ("be", "is", "bed", "being"),
    ],
)
def test_verbs(base, third, past, gerund):
    assert (english.third_person(base), english.past(base), english.gerund(base)) == (third, past, gerund)


@pytest.mark.parametrize(
    ("positive", "comparative", "superlative"),
    [
        ("old", "older", "oldest"),
        ("big", "bigger", "biggest"),
        ("heavy", "heavier", "heaviest"),
        ("wide", "wider", "widest"),
        ("clean", "cleaner", "cleanest"),
        ("expensive", "more expensive", "most expensive"),
    ],
)
def test_degrees(positive, comparative, superlative):
    assert english.degrees(positive) == (comparative, superlative)


@pytest.mark.parametrize(
    ("words", "article"),
    [
        ("old man", "an"),
        ("apple", "an"),
        ("university", "a"),
        ("uniform", "a"),
        ("umbrella", "an"),
        ("hour", "an"),
        ("cat", "a"),
    ],
)
def test_article(words, article):
    assert english.article(words) == article
