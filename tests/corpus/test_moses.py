from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from toy.texts import ANY, LINES

from nmtkit.corpus.lines import clean
from nmtkit.corpus.moses import MARK
from nmtkit.corpus.normalizers import MosesTokensConfig, UnicodeConfig, WhitespaceConfig, build_restorer
from nmtkit.errors import ConfigError

LANGUAGES = ["en", "de", "fr", "cs", "fi", "it", "zh"]
EXACT = [
    MosesTokensConfig(restore="marks", aggressive_hyphens=aggressive, escape=escape)
    for aggressive in (False, True)
    for escape in (False, True)
]


def test_tokens_are_those_of_moses() -> None:
    line = 'He said: "I don\'t know, Mr. Smith & Co. (well-known)".'
    plain = MosesTokensConfig().build("en")
    assert plain(line) == 'He said : " I don \'t know , Mr. Smith & Co . ( well-known ) " .'
    escaped = MosesTokensConfig(escape=True, aggressive_hyphens=True).build("en")
    assert escaped("a well-known R&D [x]") == "a well @-@ known R &amp; D &#91; x &#93;"
    assert MosesTokensConfig().build("fr")("l'eau") == "l' eau"


@pytest.mark.parametrize("config", [MosesTokensConfig(), MosesTokensConfig(escape=True, aggressive_hyphens=True)])
@pytest.mark.parametrize(
    ("language", "line"),
    [
        ("en", "Hello, world! It isn't (really) the dog's; is it? 1,234.5 is 5%."),
        ("de", "Das kostet 3,50 Euro (ungefähr): „gut“ so, Herr Meier!"),
        ("fr", "L'eau d'ici n'est pas chère, n'est-ce pas ?"),
        ("cs", "Dobrý den, jak se máte? Děkuji; dobře!"),
    ],
)
def test_what_moses_puts_together_again(config: Any, language: str, line: str) -> None:
    tokens = config.build(language)(line)
    assert tokens != line
    assert build_restorer((config,), language)(tokens) == line


@pytest.mark.parametrize(
    ("line", "restored"),
    [
        ("Wie geht's?", "Wie geht 's?"),
        ("3,50 € (ungefähr)", "3,50 €(ungefähr)"),
        ("Eine A/B-Sache", "Eine A / B-Sache"),
        ("Hunde ,die bellen", "Hunde, die bellen"),
    ],
)
def test_what_moses_does_not_put_together_again(line: str, restored: str) -> None:
    config = MosesTokensConfig()
    assert build_restorer((config,), "de")(config.build("de")(line)) == restored


WORDS = st.text(st.sampled_from("abcdefghXYZäöüß0123456789"), min_size=1, max_size=6)
SENTENCES = st.lists(st.tuples(WORDS, st.sampled_from(["", "", ",", ";", ":", "!", "?"])), min_size=1, max_size=8)


@given(words=SENTENCES)
def test_words_and_common_punctuation_come_back_by_moses(words: list[tuple[str, str]]) -> None:
    line = " ".join(word + mark for word, mark in words)
    for config in (MosesTokensConfig(), MosesTokensConfig(escape=True, aggressive_hyphens=True)):
        for language in ("en", "de"):
            assert build_restorer((config,), language)(config.build(language)(line)) == line


@cache
def there(config: MosesTokensConfig, language: str) -> Callable[[str], str]:
    return config.build(language)


@cache
def back(config: MosesTokensConfig, language: str) -> Callable[[str], str]:
    return build_restorer((UnicodeConfig(), config), language)


over_all = {"config": st.sampled_from(EXACT), "language": st.sampled_from(LANGUAGES)}


def check_the_way_back(config: MosesTokensConfig, language: str, line: str) -> None:
    assert back(config, language)(there(config, language)(line)) == " ".join(line.split())


@given(**over_all, line=LINES)
@settings(max_examples=300)
def test_with_marks_every_line_comes_back(config: MosesTokensConfig, language: str, line: str) -> None:
    check_the_way_back(config, language, line)


@pytest.mark.full
@given(**over_all, line=LINES)
@settings(max_examples=10_000)
def test_with_marks_ten_thousand_lines_come_back(config: MosesTokensConfig, language: str, line: str) -> None:
    check_the_way_back(config, language, line)


def test_what_marks_look_like() -> None:
    config = MosesTokensConfig(restore="marks")
    assert config.build("en")("Well, it's (so).") == f"Well {MARK}, it {MARK}'s ( {MARK}so {MARK}) {MARK}."
    assert config.build("en")(f"a {MARK}b") == f"a {2 * MARK} {MARK}b"


@given(text=st.one_of(ANY.map(clean), LINES))
@settings(max_examples=50)
def test_a_model_may_write_anything(text: str) -> None:
    for config in (MosesTokensConfig(), MosesTokensConfig(escape=True, aggressive_hyphens=True), *EXACT):
        for language in LANGUAGES:
            restored = back(config, language)(text)
            assert clean(restored) == restored


def test_a_rule_of_sacremoses_that_fails_leaves_the_text() -> None:
    restore = build_restorer((MosesTokensConfig(),), "cs")
    assert restore("bude' - li") in ("bude' - li", "bude'-li")


def test_other_normalizers_have_no_way_back() -> None:
    restore = build_restorer((UnicodeConfig(), WhitespaceConfig()), "xx")
    assert restore(" as  it is ") == " as  it is "
    assert build_restorer((), "en")("x") == "x"


def test_the_language_must_be_known_or_replaced() -> None:
    with pytest.raises(ConfigError, match=r"no abbreviations of the language 'xx'; give another .* key language"):
        MosesTokensConfig().build("xx")
    with pytest.raises(ConfigError, match="'xx'"):
        build_restorer((MosesTokensConfig(),), "xx")
    assert MosesTokensConfig(language="en").build("xx")("so.") == "so ."
    assert MosesTokensConfig().build("en-GB")("so.") == "so ."


def test_the_mark_is_named_in_the_description() -> None:
    assert MARK in (MosesTokensConfig.__doc__ or "")
