import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from toy.union import members

from nmtkit.corpus.lines import clean
from nmtkit.corpus.normalizers import (
    CountingChain,
    MosesPunctuationConfig,
    NormalizerConfig,
    UnicodeConfig,
    WhitespaceConfig,
)

MEMBERS = members(NormalizerConfig)
NOT_IDEMPOTENT = {"moses_punctuation": "its rules are tried once each, and some make room for an earlier one"}
CLEAN = st.text(max_size=60).map(clean)


over_members = pytest.mark.parametrize("config", [member() for member in MEMBERS], ids=lambda config: config.kind)


@over_members
@given(line=CLEAN)
def test_deterministic_and_still_one_clean_line(config: Any, line: str) -> None:
    once = config.build("de")(line)
    assert config.build("de")(line) == once
    assert clean(once) == once


@over_members
@given(line=CLEAN)
def test_a_second_time_changes_nothing(config: Any, line: str) -> None:
    if config.kind in NOT_IDEMPOTENT:
        return
    normalize = config.build("en")
    assert normalize(normalize(line)) == normalize(line)


@over_members
def test_an_ordinary_line_stays(config: Any) -> None:
    assert config.build("en")("An ordinary line, isn't it?") == "An ordinary line, isn't it?"


@over_members
def test_a_blank_line_stays_blank(config: Any) -> None:
    assert not config.build("en")("").strip()
    assert not config.build("en")(" \u00a0 \u3000").strip()


def test_unicode() -> None:
    assert UnicodeConfig().build("en")("e\u0301 ﬁ Ａ") == "é ﬁ Ａ"
    assert UnicodeConfig(form="NFKC").build("en")("e\u0301 ﬁ Ａ…") == "é fi A..."


def test_whitespace() -> None:
    assert WhitespaceConfig().build("en")(" a\u00a0 b\u3000\u2009c ") == "a b c"


def test_moses_punctuation_goes_by_language() -> None:
    assert MosesPunctuationConfig().build("en")("„so“ – ’ne") == '"so" - \'ne'
    assert MosesPunctuationConfig().build("en")("1\u00a05") == "1.5"
    assert MosesPunctuationConfig().build("de")("1\u00a05") == "1,5"


def test_the_chain_goes_in_order_and_counts_what_each_step_changes() -> None:
    configs = (UnicodeConfig(), WhitespaceConfig())
    lines = ["fine", "two  spaces", "e\u0301", "e\u0301  "]
    counting = CountingChain(configs, "en")
    expected = [" ".join(unicodedata.normalize("NFC", line).split()) for line in lines]
    assert [counting(line) for line in lines] == expected
    assert [CountingChain(configs, "en")(line) for line in lines] == expected
    assert (counting.lines, counting.changed) == (4, [2, 2])
    assert CountingChain((), "en")(" as is ") == " as is "
