import sys
from typing import Any

import pytest

from nmtkit.corpus.filters import FilterContext, LanguageConfig, NumbersConfig, ScriptConfig, UrlsConfig
from nmtkit.corpus.filters.scripts import _SCRIPTS, scripts_of
from nmtkit.corpus.pair import SentencePair
from nmtkit.errors import ConfigError


def objection(config: Any, source: str, target: str, languages: tuple[str, str] = ("en", "de")) -> str:
    said: str = config.build(FilterContext(*languages)).objection(SentencePair(source, target))
    return said


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("1,234.50 dollars", "1.234,50 Dollar"),
        ("12,000 people", "12 000 personnes"),
        ("12,000 people", "12\u202f000 personnes"),
        ("from 1990 to 2010", "2010 und 1990"),
        ("room 007", "Raum 07"),
        ("on 05/06/2010", "am 5.6.2010"),
        ("1990-2010 at 12:30", "1990 bis 2010 um 12.30"),
        ("1234.5", "1.234,5"),
        ("two dogs", "2 Hunde"),
        ("42", "٤٢"),
        ("in 1990 200 men", "1990 waren es 200"),
    ],
)
def test_the_same_numbers(source: str, target: str) -> None:
    assert objection(NumbersConfig(minimum_digits=2), source, target) == ""


def test_different_numbers() -> None:
    assert objection(NumbersConfig(), "12 of 45 and 45", "12 von 54 und 45") == (
        "different numbers: only in the source: 45; only in the target: 54"
    )
    assert objection(NumbersConfig(), "45 and 45", "45") == "different numbers: only in the source: 45"
    assert objection(NumbersConfig(minimum_digits=1), "2 dogs", "zwei Hunde") != ""
    assert objection(NumbersConfig(minimum_digits=3), "45", "46") == ""


def test_urls() -> None:
    assert objection(UrlsConfig(), "See http://x.org/a?b=1.", "Siehe HTTP://X.ORG/a?b=1!") == ""
    assert objection(UrlsConfig(), "(www.x.org)", "„www.x.org“") == ""
    assert objection(UrlsConfig(), "no address", "x.y.z ist keine") == ""
    assert objection(UrlsConfig(), "See http://x.org", "Siehe dort") == (
        "different addresses: only in the source: http://x.org"
    )


def test_scripts_of_languages() -> None:
    assert scripts_of("en") == ["Latin"]
    assert scripts_of("zh_Hant") == ["Han"]
    assert scripts_of("ja-JP") == ["Hiragana", "Katakana", "Han"]
    assert scripts_of("sr") == ["Cyrillic", "Latin"]
    assert scripts_of("sr-latn") == ["Latin"]
    assert scripts_of("arb_Arab") == scripts_of("ar")
    assert scripts_of("tha_Thai") == scripts_of("th") == ["Thai"]
    assert scripts_of("ja-Jpan") == scripts_of("ja")
    assert scripts_of("xx") == []
    codes = [code for codes in _SCRIPTS.values() for code in codes.split()]
    assert len(codes) == len(set(codes))
    for code in codes:
        assert ScriptConfig().build(FilterContext(code, "en"))


def test_script() -> None:
    config = ScriptConfig()
    assert objection(config, "a dog", "ein Hund") == ""
    assert objection(config, "1984 — 2", "...") == ""
    assert objection(config, "5 µm in Ελλάδα today", "5 µm") == ""
    assert objection(config, "a dog", "собака") == (
        "0 of 6 letters of the target are Latin, a share of 0.00, less than minimum = 0.5"
    )
    assert objection(config, "犬がいる。", "a dog", ("ja", "en")) == ""
    assert objection(config, "Inu ga iru.", "a dog", ("ja", "en")).endswith("are Hiragana or Katakana or Han, a share"
        " of 0.00, less than minimum = 0.5")  # fmt: skip
    assert objection(ScriptConfig(minimum=0.9), "das Wort собака", "x", ("de", "en")).startswith(
        "7 of 13 letters of the"
    )


def test_a_script_can_be_given_and_must_exist() -> None:
    assert objection(ScriptConfig(source="Runic Latin"), "ᚠᚢᚦ abc", "x", ("xx", "en")) == ""
    with pytest.raises(ConfigError, match=r'the script of languages.target = "xx" is not known; .* target = "Latin"'):
        objection(ScriptConfig(), "a", "b", ("en", "xx"))
    with pytest.raises(ConfigError, match=r'languages.source = "en-Abcd" is not known'):
        objection(ScriptConfig(), "a", "b", ("en-Abcd", "de"))
    assert [conflict.message for conflict in ScriptConfig(target="Latin Klingon").conflicts()] == [
        "Unicode has no script 'Klingon'; give names like Latin, Cyrillic or Han"
    ]
    assert not list(ScriptConfig(source="Ol_Chiki Latn").conflicts())


GERMAN = "Der alte Mann geht mit seinem kleinen Hund durch den verschneiten Wald spazieren."
ENGLISH = "The old man goes for a walk with his little dog through the snowy forest."


def test_language() -> None:
    pytest.importorskip("eldc")
    assert objection(LanguageConfig(), ENGLISH, GERMAN) == ""
    assert objection(LanguageConfig(), "1984!", "OK") == ""
    said = objection(LanguageConfig(), ENGLISH, ENGLISH)
    assert said.startswith("the target looks like en, not de (scores: en 0.")
    assert objection(LanguageConfig(target="de en"), ENGLISH, ENGLISH) == ""
    assert objection(LanguageConfig(), ENGLISH, GERMAN, ("en-GB", "de_AT")) == ""
    short = [LanguageConfig(strict=strict) for strict in (False, True)]
    assert [bool(objection(config, ENGLISH, "Stop!")) for config in short] == [False, True]


def test_a_language_must_be_one_that_is_told_apart() -> None:
    pytest.importorskip("eldc")
    with pytest.raises(
        ConfigError, match=r'languages.target = "xx" is not a language that is told apart; give as targe'
    ):
        objection(LanguageConfig(), "a", "b", ("en", "xx"))
    with pytest.raises(ConfigError, match=r'source = "en xx" is not a language'):
        objection(LanguageConfig(source="en xx"), "a", "b")


def test_without_the_extra_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "eldc", None)
    with pytest.raises(ConfigError, match=r'run pip install "nmtkit\[language\]", or remove the filter'):
        objection(LanguageConfig(), "a", "b")
