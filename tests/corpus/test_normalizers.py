import sys
import unicodedata
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from toy.texts import LINES
from toy.union import members

from nmtkit.corpus.characters import CONTROLS, SEPARATORS, WHITE, Lines
from nmtkit.corpus.counts import Drops
from nmtkit.corpus.lines import clean
from nmtkit.corpus.normalizers import (
    CountingChain,
    InvisibleConfig,
    MosesPunctuationConfig,
    MosesTokensConfig,
    NormalForm,
    NormalizerConfig,
    SpacesConfig,
    UnicodeConfig,
    WhitespaceConfig,
)

MEMBERS = members(NormalizerConfig)
VARIANTS = [
    *(member() for member in MEMBERS),
    UnicodeConfig(form="NFKC"),
    UnicodeConfig(form="none"),
    InvisibleConfig(joiners=True),
    InvisibleConfig(controls=False, zero_width=False, soft_hyphens=False, directions=False),
    SpacesConfig(no_break=False, ideographic=False),
    MosesTokensConfig(restore="marks", escape=True, aggressive_hyphens=True),
]
NOT_IDEMPOTENT = {
    "moses_punctuation": "its rules are tried once each, and some make room for an earlier one",
    "moses_tokens": "an escaped character is escaped again, a marked one marked again",
}

over_variants = pytest.mark.parametrize("config", VARIANTS, ids=str)


@over_variants
@given(line=LINES)
@settings(max_examples=50)
def test_deterministic_and_still_one_clean_line(config: Any, line: str) -> None:
    once = config.build("de")(line)
    assert config.build("de")(line) == once
    assert clean(once) == once


@over_variants
@given(lines=st.lists(LINES, min_size=1, max_size=8))
@settings(max_examples=50)
def test_many_lines_at_once_are_what_each_is(config: Any, lines: list[str]) -> None:
    for language in ("en", "fr"):
        normalize = config.build(language)
        expected = [(place, new) for place, old in enumerate(lines) if (new := normalize(old)) != old]
        assert sorted(config.build(language).changes(Lines(lines))) == expected


@over_variants
@given(line=LINES)
@settings(max_examples=50)
def test_a_second_time_changes_nothing(config: Any, line: str) -> None:
    if config.kind in NOT_IDEMPOTENT:
        return
    normalize = config.build("en")
    assert normalize(normalize(line)) == normalize(line)


@over_variants
def test_an_ordinary_line_stays(config: Any) -> None:
    if config.kind != "moses_tokens":
        assert config.build("en")("An ordinary line, isn't it?") == "An ordinary line, isn't it?"


@over_variants
def test_a_blank_line_stays_blank(config: Any) -> None:
    assert not config.build("en")("").strip()
    assert not config.build("en")(" \u00a0 \u3000").strip()


def test_the_tables_of_characters_are_those_of_python_and_of_reading() -> None:
    every = [chr(code) for code in range(sys.maxunicode + 1)]
    assert {character for character in every if character.isspace()} - set(" \n") == WHITE
    assert {character for character in every if clean(character) == " "} - set(" \n") == SEPARATORS
    assert {character for character in every if clean(character) == ""} == CONTROLS


def test_what_is_seen_of_many_lines() -> None:
    lines = Lines(["plain ASCII ~", "aé\tb\x7f", "", " x", "y ", "é é", "z  z", "\u2028\ud800😀é", ""])
    assert lines.unusual == set("é\t\x7f\u2028\ud800😀")
    assert lines.with_any({"é"}) == [1, 5, 7]
    assert lines.with_any({"😀", "\x7f", "q"}) == [1, 7]
    assert lines.with_any({"ß"}) == []
    assert lines.with_loose_spaces() == [3, 4, 6]
    assert Lines([" "]).with_loose_spaces() == [0]
    assert Lines(["a b", "c"]).with_loose_spaces() == []
    assert Lines([]).with_loose_spaces() == []


@pytest.mark.parametrize("form", ["NFC", "NFKC"])
def test_what_is_passed_over_as_inert_neither_composes_nor_moves(form: Any) -> None:
    every = list(map(chr, range(0x30000)))  # beyond, nothing composes
    parts = [unicodedata.decomposition(character).split() for character in every]
    seconds = {chr(int(part[1], 16)) for part in parts if len(part) == 2 and not part[0].startswith("<")}
    seconds |= {unicodedata.normalize("NFD", syllable)[-1] for syllable in every[0xAC00:0xD7A4]}
    inert = set(filter(NormalForm(form)._is_inert, every))
    assert len(seconds) > 100
    assert len(inert) > 40_000
    assert not inert & seconds
    assert not any(map(unicodedata.combining, inert))
    assert unicodedata.is_normalized(form, "".join(sorted(inert)))


def test_unicode() -> None:
    assert UnicodeConfig().build("en")("e\u0301 ﬁ Ａ") == "é ﬁ Ａ"
    assert UnicodeConfig(form="NFKC").build("en")("e\u0301 ﬁ Ａ…") == "é fi A..."
    assert UnicodeConfig(form="none").build("en")("e\u0301 ﬁ") == "e\u0301 ﬁ"


def test_invisible() -> None:
    line = "a\u200bb\u00adc\u200ed\u200de\x90f\x7f\ufeff"
    assert InvisibleConfig().build("en")(line) == "abcd\u200def"
    assert InvisibleConfig(joiners=True, soft_hyphens=False).build("en")(line) == "ab\u00adcdef"
    shown = {chr(code) for code in range(sys.maxunicode + 1) if unicodedata.category(chr(code)) not in ("Cf", "Cc")}
    assert not InvisibleConfig(joiners=True).build("en")._characters & shown


def test_spaces() -> None:
    assert SpacesConfig().build("en")(" a\u00a0 b\u3000\u2009c ") == " a  b  c "
    assert SpacesConfig(no_break=False).build("en")("a\u00a0b\u202f\u2009") == "a\u00a0b\u202f "
    assert SpacesConfig(ideographic=False).build("en")("a\u00a0b\u3000") == "a b\u3000"


def test_whitespace() -> None:
    assert WhitespaceConfig().build("en")(" a\u00a0 b\u3000\u2009c ") == "a b c"


def test_moses_punctuation_goes_by_language() -> None:
    assert MosesPunctuationConfig().build("en")("„so“ – ’ne") == '"so" - \'ne'
    assert MosesPunctuationConfig().build("en")("1\u00a05") == "1.5"
    for language in ("de", "de-AT", "de_CH"):
        assert MosesPunctuationConfig().build(language)("1\u00a05") == "1,5"


@given(line=LINES)
def test_moses_punctuation_is_that_of_sacremoses(line: str) -> None:
    from sacremoses import MosesPunctNormalizer

    for language in ("en", "de", "fr", "ja"):
        assert MosesPunctuationConfig().build(language)(line) == MosesPunctNormalizer(language).normalize(line)


def test_the_chain_goes_in_order_and_counts_what_each_step_changes() -> None:
    configs = (UnicodeConfig(), WhitespaceConfig())
    lines = ["fine", "two  spaces", "e\u0301", "e\u0301  "]
    counting = CountingChain(configs, "en")
    expected = [" ".join(unicodedata.normalize("NFC", line).split()) for line in lines]
    assert [counting(line) for line in lines] == expected
    assert (counting.seen, counting.changed) == (4, [Drops(2, [3, 4]), Drops(2, [2, 4])])
    assert counting.take() == [Drops(2, [3, 4]), Drops(2, [2, 4])]
    assert counting.changed == [Drops(), Drops()]
    assert counting.lines(lines, [10, 20, 30, 40]) == expected
    assert (counting.seen, counting.changed) == (8, [Drops(2, [30, 40]), Drops(2, [20, 40])])
    assert counting.forms("e\u0301  ") == [("unicode", "é  "), ("whitespace", "é")]
    assert CountingChain((), "en")(" as is ") == " as is "
    assert CountingChain((), "en").lines([" as is ", ""]) == [" as is ", ""]
    assert CountingChain(configs, "en").lines([]) == []


CHAINS = st.lists(st.sampled_from(VARIANTS), max_size=4)


def check_a_chain(configs: list[Any], lines: list[str]) -> None:
    one, many = CountingChain(configs, "en"), CountingChain(configs, "en")
    assert many.lines(lines) == [one(line) for line in lines]
    assert (many.seen, many.changed) == (one.seen, one.changed)


@given(configs=CHAINS, lines=st.lists(LINES, max_size=8))
def test_a_chain_over_many_lines_is_one_over_each(configs: list[Any], lines: list[str]) -> None:
    check_a_chain(configs, lines)


@pytest.mark.full
@given(configs=CHAINS, lines=st.lists(LINES, max_size=8))
@settings(max_examples=10_000)
def test_ten_thousand_chains(configs: list[Any], lines: list[str]) -> None:
    check_a_chain(configs, lines)
