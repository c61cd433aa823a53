import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from toy.union import members

from nmtkit.corpus.filters import (
    BlankConfig,
    DuplicateConfig,
    FilterConfig,
    LengthConfig,
    OverlapConfig,
    RatioConfig,
)
from nmtkit.corpus.pair import SentencePair

MEMBERS = members(FilterConfig)
SIDES = st.sampled_from(["", " ", "a", "b c", "d e f", "word " * 300, "x" * 50]) | st.text(max_size=20)
PAIRS = st.lists(st.builds(SentencePair, SIDES, SIDES), max_size=20)


def kept(config: Any, pairs: list[SentencePair], held_out: list[SentencePair] | None = None) -> list[SentencePair]:
    keep = config.build(held_out or [])
    return [pair for pair in pairs if keep(pair)]


@pytest.mark.parametrize("member", MEMBERS)
@given(pairs=PAIRS, held_out=PAIRS)
def test_a_filter_is_deterministic_and_made_anew_each_time(
    member: type, pairs: list[SentencePair], held_out: list[SentencePair]
) -> None:
    config = member()
    once = kept(config, pairs, held_out)
    assert kept(config, pairs, held_out) == once
    assert kept(config, pairs, list(held_out)) == once


@pytest.mark.parametrize("member", MEMBERS)
@given(pairs=PAIRS, held_out=PAIRS)
def test_what_was_kept_is_kept_again(member: type, pairs: list[SentencePair], held_out: list[SentencePair]) -> None:
    once = kept(member(), pairs, held_out)
    assert kept(member(), once, held_out) == once


@pytest.mark.parametrize("member", MEMBERS)
def test_a_filter_answers_true_or_false_and_leaves_the_pair_alone(member: type) -> None:
    pair = SentencePair("an ordinary sentence", "ein gewöhnlicher satz")
    assert member().build([])(pair) is True


@pytest.mark.parametrize("member", MEMBERS)
def test_the_kind_is_the_default_of_its_class(member: Any) -> None:
    assert member(kind=member().kind) == member()


def test_blank() -> None:
    pairs = [SentencePair("a", "b"), SentencePair("", "b"), SentencePair("a", " \u3000"), SentencePair("", "")]
    assert kept(BlankConfig(), pairs) == pairs[:1]


def test_length_counts_words_of_both_sides() -> None:
    pairs = [SentencePair("a b", "c d e"), SentencePair("a", "c d"), SentencePair("a b", "c d e f")]
    assert kept(LengthConfig(minimum=2, maximum=3), pairs) == pairs[:1]


def test_length_needs_a_range_that_holds_something() -> None:
    assert [conflict.key for conflict in LengthConfig(minimum=5, maximum=4).conflicts()] == ["minimum"]
    assert not list(LengthConfig(minimum=4, maximum=4).conflicts())


def test_ratio_counts_characters_either_way() -> None:
    pairs = [SentencePair("ab", "abcd"), SentencePair("ab", "abcde"), SentencePair("abcde", "ab")]
    assert kept(RatioConfig(maximum=2.0), pairs) == pairs[:1]
    assert kept(RatioConfig(), [SentencePair("", "a")]) == []


def test_duplicate_keeps_the_first_of_equal_pairs() -> None:
    pairs = [SentencePair("a", "b"), SentencePair("a", "c"), SentencePair("ab", ""), SentencePair("a", "b")]
    assert kept(DuplicateConfig(), pairs) == pairs[:3]


def test_duplicate_does_not_depend_on_the_process() -> None:
    script = (
        "from nmtkit.corpus.filters import DuplicateConfig as D; from nmtkit.corpus.pair import SentencePair as P\n"
        "import nmtkit.corpus.hash_set as h; seen = []\n"
        "add = h.HashSet.add; h.HashSet.add = lambda self, key: (seen.append(key), add(self, key))[1]\n"
        "D().build([])(P('grün', 'vert')); print(seen)"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", script], env={"PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in ("1", "2")
    }
    assert len(outputs) == 1


def test_overlap_looks_at_either_side_but_not_at_blank_ones() -> None:
    held_out = [SentencePair("test source", "test target"), SentencePair("", "")]
    pairs = [
        SentencePair("test source", "other"),
        SentencePair("other", "test target"),
        SentencePair("test target", "test source"),
        SentencePair("", "other"),
    ]
    assert kept(OverlapConfig(), pairs, held_out) == pairs[2:]
