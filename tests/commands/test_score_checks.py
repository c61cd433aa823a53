"""What `nmtkit score` warns of: text that was prepared in another way than scores of text need."""

import pytest

from nmtkit.commands.score_checks import check_scripts, suspicions
from nmtkit.commands.score_material import Material, System
from nmtkit.errors import ConfigError
from nmtkit.metrics.settings import ScoreConfig, build_metrics

METRICS = build_metrics(ScoreConfig(), "de").metrics
GOOD = [
    "Der Hund läuft, und die Katze schläft.",
    "Wer hat das gesagt?",
    "Komm her!",
    "„Nein“, sagte sie, „heute nicht.“",
    "Um 18:30 Uhr kostet es 1.250,50 €; morgen mehr.",
    "Das ist's: ein Plan-B.",
    "Rock 'n' Roll, die 1990er und R&D.",
    "Ende.",
]


def said(hypotheses, references=GOOD, *more):
    systems = [System(f"system {n}", lines) for n, lines in enumerate([hypotheses, *more])]
    return list(suspicions(Material("test", None, [references], systems, []), METRICS))


def test_text_as_it_should_be_is_passed_over():
    assert said([line.replace("Hund", "Wolf") for line in GOOD]) == []
    assert said(GOOD, [line.replace("Hund", "Wolf") for line in GOOD]) == []


def test_french_and_czech_are_not_taken_for_tokenized():
    lines = ["« Où vas-tu ? » dit-il !", "C'est vrai : il pleut ; non ?", "L'été, c'est demain."]
    assert said(lines, lines) == []


TOKENIZED = ["Der Hund läuft , und die Katze schläft .", "Wer hat das gesagt ?", "Komm her .", "Ein Plan @-@ B ."]


@pytest.mark.parametrize(
    ("hypotheses", "references", "text"),
    [(TOKENIZED, GOOD[:4], "hypotheses"), (GOOD[:4], TOKENIZED, "references")],
)
def test_tokenized_text(hypotheses, references, text):
    (warning,) = said(hypotheses, references)
    assert warning == (
        f"test: 3 of 4 {text} have a space before a full stop or comma, so they look tokenized; scores of tokenized "
        "text compare with nobody's: detokenize first"
    )
    assert said([*GOOD, TOKENIZED[0]], [*GOOD, GOOD[0]]) == [], "one line of nine is no rule"


def test_lower_cased_text():
    lower = [line.lower() for line in GOOD]
    (warning,) = said(lower)
    assert warning.startswith("test: 0 of 8 hypotheses have a capital letter, but 8 references; if case was taken away")
    assert said(GOOD, lower)[0].startswith("test: 0 of 8 references have a capital letter, but 8 hypotheses")
    assert said(lower, lower) == [], "a language of its own, perhaps"
    assert said(["你好"] * 8, GOOD) == [], "nothing that could be a capital"


def test_spaces_of_another_language():
    french = ["Où vas-tu ?", "Non !", "C'est vrai : il pleut ;", "Et toi ?", "L'été ?"]
    closed = [line.replace(" ?", "?").replace(" !", "!").replace(" :", ":").replace(" ;", ";") for line in french]
    (warning,) = said(closed, french)
    assert warning == (
        "test: spaces before ? ! : ;: 0% in the hypotheses, 100% in the references; one of them was detokenized by the "
        "rules of another language"
    )
    assert said(french, closed)[0].startswith("test: spaces before ? ! : ;: 100% in the hypotheses, 0%")
    assert said(french[:3], closed[:3]) == [], "too few to say"


def test_spaces_behind_apostrophes():
    open_ = ["c' est l' été", "d' autres qu' eux", "l' homme"]
    closed = [line.replace("' ", "'") for line in open_]
    assert said(open_, closed)[0].startswith("test: spaces behind apostrophes: 100% in the hypotheses, 0% in the")


def test_escapes():
    (warning,) = said(["&quot; Ja &quot;", *GOOD[1:]])
    assert warning.startswith("test: 1 of 8 hypotheses hold escapes such as &quot; or &apos;, which are compared as")
    assert said(GOOD, ["R&amp;D", *GOOD[1:]])[0].startswith("test: 1 of 8 references hold escapes")
    assert said(["&c. & so on; AT&T;", *GOOD[1:]]) == []


@pytest.mark.parametrize("line", ["▁Der ▁Hund ▁läuft", "Der Hu@@ nd läuft", "läu@@"])
def test_pieces(line):
    assert said([line, *GOOD[1:]])[0].startswith("test: 1 of 8 hypotheses hold ▁ or @@, so they look like pieces")


def test_blank_hypotheses():
    (warning,) = said(["", " ", *GOOD[2:]])
    assert warning == (
        "test: 2 of 8 lines of system 0 are blank (first line 1); they count, as translations in which everything is "
        "missing"
    )
    assert said(["", *GOOD[1:]], ["", *GOOD[1:]]) == [], "as blank as the reference"


def test_blank_references():
    assert said(GOOD, [*GOOD[:5], " ", *GOOD[6:]]) == [
        "test: 1 of 8 references are blank (first line 6), though translated; they count, as references in which "
        "nothing is said"
    ]
    assert said(["", *GOOD[1:] * 20], [*GOOD, *GOOD[1:] * 19]) == [], "less than one in a hundred"


def test_several_systems_are_named():
    lower = [line.lower() for line in GOOD]
    assert said(GOOD[::-1][::-1], GOOD, lower)[0].startswith("test: 0 of 8 hypotheses of system 1 have a capital")
    assert said(lower, lower, list(lower)) == ["test: system 0 and system 1 are the same text"]


def test_several_references_are_numbered():
    material = Material("test", None, [GOOD[:4], TOKENIZED], [System("a", GOOD[:4])], [])
    assert next(suspicions(material, METRICS)).startswith("test: 3 of 4 references 2 have a space before")


@pytest.mark.parametrize(("words", "warned"), [(200, False), (201, True)])
def test_a_line_that_ter_takes_long_for(words, warned):
    lines = ["Kurz", " ".join(map(str, range(words)))]
    material = Material("test", None, [lines], [System("a", lines)], [])
    found = list(suspicions(material, METRICS))
    assert any("a line has 201 words, for which TER may take minutes to hours" in each for each in found) == warned
    without = [metric for metric in METRICS if metric.name != "TER"]
    assert list(suspicions(material, without)) == []


def test_each_character_is_a_word_where_ter_makes_words_of_them():
    material = Material("test", None, [["狗" * 201]], [System("a", ["狗" * 201])], [])
    (warning,) = suspicions(material, build_metrics(ScoreConfig(), "zh").metrics)
    assert warning.startswith("test: a line has 201 words, for which TER may take minutes to hours")


# Scripts without spaces


def with_references(*lines):
    return Material("test", None, [list(lines)], [], [])


@pytest.mark.parametrize(
    ("line", "script"), [("我有一只狗", "Han"), ("ฉันมีสุนัข", "Thai"), ("これはペンです", "Hiragana"), ("ຂ້ອຍມີໝາ", "Lao"),
                         ("ខ្ញុំមានឆ្កែ", "Khmer"), ("ကျွန်တော့်မှာ", "Myanmar"), ("ང་ལ་ཁྱི", "Tibetan")]
)  # fmt: skip
def test_a_script_without_spaces_needs_its_language(line, script):
    material = with_references("BBC 2014", line, line)
    with pytest.raises(ConfigError, match=f"the references are written in {script}, .*--set languages.target=zh"):
        check_scripts(material, "und")
    (warning,) = check_scripts(material, "de")
    assert f'test: the references are written in {script}, but the target language is "de", whose' in warning
    assert len(check_scripts(material, "zho")) == (script != "Han")
    assert len(check_scripts(material, "no such language")) == 1


@pytest.mark.parametrize("line", ["Der Hund", "Пёс бежит", "개가 달린다", "", "2014 - 5"])
def test_other_scripts_are_as_they_should_be(line):
    assert check_scripts(with_references(line, "BMW"), "und") == []
    assert check_scripts(with_references("Das Zeichen 狗 heißt Hund und steht in vielen Büchern."), "de") == []
    assert check_scripts(with_references("BMWとVWの車が好き"), "ja") == []
    assert check_scripts(with_references("Пёс бежит"), "no such language") == []
    assert check_scripts(with_references("ꦱꦸꦒꦼꦁ"), "jv_Java") == []
    assert (
        check_scripts(with_references("Der Hund"), "deu_Latn") == check_scripts(with_references("狗"), "zh_Hant") == []
    )


def test_each_text_in_another_script_is_named():
    """Directions that were exchanged, and systems that did not translate."""
    material = Material(
        "test",
        None,
        [["犬が好き"], ["I like dogs"]],
        [System("one", ["犬が好き"]), System("two", ["Ich mag Hunde"])],
        [],
    )
    assert check_scripts(material, "ja") == [
        f'test: the {text} are written in Latin, but the target language is "ja", whose tokens are not theirs; check '
        "the files and languages.target"
        for text in ("hypotheses of two", "references 2")
    ]
