import pytest

from nmtkit.sample import german_nouns
from nmtkit.sample.entries import CASES
from nmtkit.sample.lexicon import lexicon
from nmtkit.sample.phrases import BARE, NOT_A, NounPhrase, Quality
from nmtkit.sample.pronouns import pronoun_for

NOUNS = {  # nominative, accusative, dative, genitive singular; the same of the plural
    "baker": "Bäcker Bäcker Bäcker Bäckers, Bäcker Bäcker Bäckern Bäcker",
    "boy": "Junge Jungen Jungen Jungen, Jungen Jungen Jungen Jungen",
    "bear": "Bär Bären Bären Bären, Bären Bären Bären Bären",
    "name": "Name Namen Namen Namens, Namen Namen Namen Namen",
    "mother": "Mutter Mutter Mutter Mutter, Mütter Mütter Müttern Mütter",
    "teacher": "Lehrerin Lehrerin Lehrerin Lehrerin, Lehrerinnen Lehrerinnen Lehrerinnen Lehrerinnen",
    "child": "Kind Kind Kind Kindes, Kinder Kinder Kindern Kinder",
    "house": "Haus Haus Haus Hauses, Häuser Häuser Häusern Häuser",
    "car": "Auto Auto Auto Autos, Autos Autos Autos Autos",
    "prison": "Gefängnis Gefängnis Gefängnis Gefängnisses, Gefängnisse Gefängnisse Gefängnissen Gefängnisse",
    "table": "Tisch Tisch Tisch Tisches, Tische Tische Tischen Tische",
    "bus": "Bus Bus Bus Busses, Busse Busse Bussen Busse",
    "café": "Café Café Café Cafés, Cafés Cafés Cafés Cafés",
}

# With the adjective "old": determiner, then nominative, accusative, dative, genitive of man, woman, child, and several.
PHRASES = {
    "the": [
        "der alte Mann, den alten Mann, dem alten Mann, des alten Mannes",
        "die alte Frau, die alte Frau, der alten Frau, der alten Frau",
        "das alte Kind, das alte Kind, dem alten Kind, des alten Kindes",
        "die alten Männer, die alten Männer, den alten Männern, der alten Männer",
    ],
    "my": [
        "mein alter Mann, meinen alten Mann, meinem alten Mann, meines alten Mannes",
        "meine alte Frau, meine alte Frau, meiner alten Frau, meiner alten Frau",
        "mein altes Kind, mein altes Kind, meinem alten Kind, meines alten Kindes",
        "meine alten Männer, meine alten Männer, meinen alten Männern, meiner alten Männer",
    ],
    "this": [
        "dieser alte Mann, diesen alten Mann, diesem alten Mann, dieses alten Mannes",
        "diese alte Frau, diese alte Frau, dieser alten Frau, dieser alten Frau",
        "dieses alte Kind, dieses alte Kind, diesem alten Kind, dieses alten Kindes",
        "diese alten Männer, diese alten Männer, diesen alten Männern, dieser alten Männer",
    ],
    "": [
        "alter Mann, alten Mann, altem Mann, alten Mannes",
        "alte Frau, alte Frau, alter Frau, alter Frau",
        "altes Kind, altes Kind, altem Kind, alten Kindes",
        "alte Männer, alte Männer, alten Männern, alter Männer",
    ],
}


@pytest.mark.parametrize(("english", "forms"), NOUNS.items())
def test_declension(english, forms):
    noun = lexicon().noun(english)
    made = [" ".join(german_nouns.decline(noun, case, plural) for case in CASES) for plural in (False, True)]
    assert ", ".join(made) == forms


@pytest.mark.parametrize(("english", "rows"), PHRASES.items())
def test_articles_and_adjective_endings(english, rows):
    words = lexicon()
    determiner = words.determiner(english) if english else BARE
    old = Quality(words.adjective("old"))
    made = [
        ", ".join(NounPhrase(words.noun(noun), determiner, plural, qualities=[old]).german(case) for case in CASES)
        for noun, plural in (("man", False), ("woman", False), ("child", False), ("man", True))
    ]
    assert made == rows


@pytest.mark.parametrize(
    ("determiner", "plural", "english", "german"),
    [
        ("a", False, "an old apple", "einen alten Apfel"),
        ("every", False, "every old apple", "jeden alten Apfel"),
        ("all", True, "all old apples", "alle alten Äpfel"),
        ("many", True, "many old apples", "viele alte Äpfel"),
        ("some", True, "some old apples", "einige alte Äpfel"),
        ("few", True, "few old apples", "wenige alte Äpfel"),
        ("several", True, "several old apples", "mehrere alte Äpfel"),
        ("no", True, "no old apples", "keine alten Äpfel"),
        ("their", False, "their old apple", "ihren alten Apfel"),
        ("her", True, "her old apples", "ihre alten Äpfel"),
        ("which", False, "which old apple", "welchen alten Apfel"),
    ],
)
def test_determiners(determiner, plural, english, german):
    words = lexicon()
    qualities = [Quality(words.adjective("old"))]
    phrase = NounPhrase(words.noun("apple"), words.determiner(determiner), plural, qualities=qualities)
    assert (phrase.english(), phrase.german("acc")) == (english, german)


def test_not_a():
    words = lexicon()
    assert NounPhrase(words.noun("egg"), NOT_A).english() == "an egg"
    assert NounPhrase(words.noun("egg"), NOT_A, True).english() == "any eggs"
    assert NounPhrase(words.noun("milk"), NOT_A).english() == "any milk"
    assert NounPhrase(words.noun("milk"), NOT_A).german("acc") == "keine Milch"


@pytest.mark.parametrize(
    ("adjective", "degree", "german"),
    [
        ("expensive", 0, "ein teures Haus"),
        ("expensive", 1, "ein teureres Haus"),
        ("dark", 0, "ein dunkles Haus"),
        ("high", 0, "ein hohes Haus"),
        ("high", 1, "ein höheres Haus"),
        ("quiet", 0, "ein leises Haus"),
        ("quiet", 1, "ein leiseres Haus"),
        ("tired", 0, "ein müdes Haus"),
        ("good", 1, "ein besseres Haus"),
        ("old", 1, "ein älteres Haus"),
    ],
)
def test_stems_and_degrees(adjective, degree, german):
    words = lexicon()
    quality = Quality(words.adjective(adjective), degree)
    assert NounPhrase(words.noun("house"), words.determiner("a"), qualities=[quality]).german("nom") == german


@pytest.mark.parametrize(
    ("preposition", "phrase", "together"),
    [
        ("in", "dem alten Haus", "im alten Haus"),
        ("in", "das Haus", "ins Haus"),
        ("in", "der Stadt", "in der Stadt"),
        ("zu", "der Stadt", "zur Stadt"),
        ("zu", "dem Haus", "zum Haus"),
        ("von", "dem", "von dem"),  # a relative pronoun, not an article
        ("von", "den Kindern", "von den Kindern"),
        ("an", "dem Montag", "am Montag"),
    ],
)
def test_contraction(preposition, phrase, together):
    assert german_nouns.with_preposition(preposition, phrase) == together


def test_relative_pronouns():
    assert [german_nouns.relative_pronoun("m", case) for case in CASES] == ["der", "den", "dem", "dessen"]
    assert [german_nouns.relative_pronoun("f", case) for case in CASES] == ["die", "die", "der", "deren"]
    assert [german_nouns.relative_pronoun("n", case) for case in CASES] == ["das", "das", "dem", "dessen"]
    assert [german_nouns.relative_pronoun("pl", case) for case in CASES] == ["die", "die", "denen", "deren"]


@pytest.mark.parametrize(
    ("noun", "plural", "english", "german"),
    [
        ("lamp", False, "it", ("sie", "sie", "ihr")),
        ("table", False, "it", ("er", "ihn", "ihm")),
        ("car", False, "it", ("es", "es", "ihm")),
        ("car", True, "they", ("sie", "sie", "ihnen")),
        ("doctor", False, "she", ("sie", "sie", "ihr")),
        ("baker", False, "he", ("er", "ihn", "ihm")),
        ("dog", False, "it", ("er", "ihn", "ihm")),
    ],
)
def test_pronouns_take_the_gender_of_what_they_refer_to(noun, plural, english, german):
    words = lexicon()
    pronoun = pronoun_for(NounPhrase(words.noun(noun), words.determiner("the"), plural))
    assert pronoun.english() == english
    assert tuple(pronoun.german(case) for case in ("nom", "acc", "dat")) == german
