import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from toy.texts import LINES, PAIRS
from toy.union import members

from nmtkit.corpus.filters import (
    BlankConfig,
    CharactersConfig,
    DuplicateConfig,
    Duplicates,
    FilterConfig,
    FilterContext,
    Filters,
    LengthConfig,
    OverlapConfig,
    RatioConfig,
    SameConfig,
)
from nmtkit.corpus.pair import SentencePair

MEMBERS = members(FilterConfig)
VARIANTS = [
    *(member() for member in MEMBERS),
    LengthConfig(minimum=0, maximum=3),
    LengthConfig(minimum=2, maximum=4),
    CharactersConfig(minimum=3, maximum=5),
    RatioConfig(maximum=1.5),
    RatioConfig(maximum=1.5, unit="words"),
    SameConfig(case=False, punctuation=False, minimum_words=2),
    DuplicateConfig(by="source", case=True, punctuation=True, digits=True),
    DuplicateConfig(by="target", punctuation=True),
    DuplicateConfig(case=True, punctuation=True),
    OverlapConfig(case=True, punctuation=True, digits=True),
]


def context(held_out: list[tuple[str, str]] | None = None) -> FilterContext:
    return FilterContext("en", "de", [SentencePair(*pair) for pair in held_out or []])


def built(config: Any, held_out: list[tuple[str, str]] | None = None) -> Any:
    if config.kind == "language":
        pytest.importorskip("eldc")
    return config.build(context(held_out))


def kept(config: Any, pairs: list[tuple[str, str]], held_out: list[tuple[str, str]] | None = None) -> list[Any]:
    """Return the pairs that stay, one by one."""
    filter_ = built(config, held_out)
    if not isinstance(filter_, Duplicates):
        return [pair for pair in pairs if filter_(SentencePair(*pair))]
    first = dict[str, tuple[str, str]]()
    for pair in pairs:
        first.setdefault(filter_.key(SentencePair(*pair)), pair)
    return list(first.values())


over_variants = pytest.mark.parametrize("config", VARIANTS, ids=str)


@over_variants
@given(pairs=PAIRS, held_out=PAIRS)
@settings(max_examples=25)
def test_deterministic_and_what_was_kept_is_kept_again(config: Any, pairs: list[Any], held_out: list[Any]) -> None:
    once = kept(config, pairs, held_out)
    assert kept(config, pairs, held_out) == once
    assert kept(config, once, held_out) == once


@over_variants
@given(pairs=PAIRS, held_out=PAIRS)
@settings(max_examples=25)
def test_many_pairs_at_once_are_judged_as_each_is(config: Any, pairs: list[Any], held_out: list[Any]) -> None:
    check_many_pairs(config, pairs, held_out)


@pytest.mark.full
@given(config=st.sampled_from(VARIANTS), pairs=PAIRS, held_out=PAIRS)
@settings(max_examples=10_000)
def test_ten_thousand_lists_of_pairs(config: Any, pairs: list[Any], held_out: list[Any]) -> None:
    check_many_pairs(config, pairs, held_out)


def check_many_pairs(config: Any, pairs: list[Any], held_out: list[Any]) -> None:
    filter_ = built(config, held_out)
    sides = [source for source, _ in pairs], [target for _, target in pairs]
    each = [SentencePair(*pair) for pair in pairs]
    if isinstance(filter_, Duplicates):
        assert filter_.texts(*sides) == [filter_.key(pair) for pair in each]
        assert len(filter_.keys(*sides)) == len(pairs)
    else:
        assert filter_.dropped(*sides) == [place for place, pair in enumerate(each) if not filter_(pair)]


@over_variants
@given(source=LINES, target=LINES)
@settings(max_examples=25)
def test_a_pair_is_kept_where_nothing_speaks_against_it(config: Any, source: str, target: str) -> None:
    filter_ = built(config, [("a", "b")])
    if not isinstance(filter_, Duplicates):
        pair = SentencePair(source, target)
        assert filter_(pair) is (filter_.objection(pair) == "")


@pytest.mark.parametrize("member", MEMBERS)
def test_an_ordinary_pair_is_kept(member: Any) -> None:
    assert kept(member(), [("an old dog runs", "ein alter hund rennt")]) == [
        ("an old dog runs", "ein alter hund rennt")
    ]


@pytest.mark.parametrize("member", MEMBERS)
def test_the_kind_is_the_default_of_its_class(member: Any) -> None:
    assert member(kind=member().kind) == member()


def objection(config: Any, source: str, target: str, held_out: list[tuple[str, str]] | None = None) -> str:
    said: str = built(config, held_out).objection(SentencePair(source, target))
    return said


def test_blank() -> None:
    pairs = [("a", "b"), ("", "b"), ("a", " \u3000"), ("", "")]
    assert kept(BlankConfig(), pairs) == pairs[:1]
    assert objection(BlankConfig(), "a", " ") == "the target is blank"


def test_length_counts_words_of_both_sides() -> None:
    pairs = [("a b", "c d e"), ("a", "c d"), ("a b", "c d e f")]
    assert kept(LengthConfig(minimum=2, maximum=3), pairs) == pairs[:1]
    said = "the source has 1 words, less than minimum = 2"
    assert objection(LengthConfig(minimum=2, maximum=3), "a", "c d e f") == said


@pytest.mark.parametrize("member", [LengthConfig, CharactersConfig])
def test_a_range_must_hold_something(member: Any) -> None:
    assert [conflict.key for conflict in member(minimum=5, maximum=4).conflicts()] == ["minimum"]
    assert not list(member(minimum=4, maximum=4).conflicts())


def test_characters() -> None:
    pairs = [("ab", "abc"), ("a", "abc"), ("ab", "abcd")]
    assert kept(CharactersConfig(minimum=2, maximum=3), pairs) == pairs[:1]
    said = "the target has 4 characters, more than maximum = 3"
    assert objection(CharactersConfig(minimum=2, maximum=3), "ab", "abcd") == said


def test_ratio_counts_characters_either_way() -> None:
    pairs = [("ab", "abcd"), ("ab", "abcde"), ("abcde", "ab")]
    assert kept(RatioConfig(maximum=2.0), pairs) == pairs[:1]
    assert kept(RatioConfig(), [("", "a")]) == []
    said = "2 characters against 5: a ratio of more than maximum = 2"
    assert objection(RatioConfig(maximum=2.0), "ab", "abcde") == said
    assert objection(RatioConfig(maximum=2.0, unit="words"), "a b", "abcde") == ""


def test_same() -> None:
    pairs = [("Berlin", "Wien"), ("Berlin!", "berlin"), ("...", "!!!"), ("a b", "A-B")]
    assert kept(SameConfig(), pairs) == [pairs[0], pairs[2]]
    assert kept(SameConfig(punctuation=False), pairs) == pairs
    assert kept(SameConfig(minimum_words=2), pairs) == pairs[:3]
    assert "the same text of 1 words, at least minimum_words = 1" in objection(SameConfig(), "x", "x")


def test_duplicate_keeps_the_first_of_equal_pairs() -> None:
    pairs = [("a", "b"), ("a", "c"), ("ab", ""), ("a", "b"), ("", "ab")]
    assert kept(DuplicateConfig(), pairs) == [*pairs[:3], pairs[4]]


def test_duplicate_may_look_at_one_side_and_fold() -> None:
    pairs = [("Am 3. Mai", "x"), ("am 4. mai!", "y"), ("Am 3. Mai", "z"), ("am mai", "x")]
    assert kept(DuplicateConfig(by="source"), pairs) == [pairs[0], pairs[1], pairs[3]]
    assert kept(DuplicateConfig(by="target"), pairs) == pairs[:3]
    assert kept(DuplicateConfig(by="source", case=True, punctuation=True), pairs) == [pairs[0], pairs[1], pairs[3]]
    assert kept(DuplicateConfig(by="source", case=True, punctuation=True, digits=True), pairs) == [pairs[0], pairs[3]]
    # Vowel signs are no punctuation.
    assert len(kept(DuplicateConfig(punctuation=True), [("कि", "a"), ("का", "a")])) == 2


def test_keys_are_the_same_in_every_process_and_tell_sides_apart() -> None:
    keys = DuplicateConfig().build(context()).keys(["grün", "a\tb", ""], ["vert", "", "a\tb"])
    assert len(set(keys)) == 3
    script = (
        "from nmtkit.corpus.filters import *\n"
        "print(list(DuplicateConfig().build(FilterContext('en', 'fr')).keys(['grün'], ['vert'])))"
    )
    for seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", script], env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        assert done.stdout == f"[{keys[0]}]\n"


def test_overlap_looks_at_either_side_but_not_at_blank_ones() -> None:
    held_out = [("test source", "test target"), ("", "")]
    pairs = [
        ("test source", "other"),
        ("other", "test target"),
        ("test target", "test source"),
        ("", "other"),
        ("Test source!", "other"),
    ]
    assert kept(OverlapConfig(), pairs, held_out) == pairs[2:]
    assert kept(OverlapConfig(case=True, punctuation=True), pairs, held_out) == pairs[2:4]
    said = "the target is one of the 1 of the development and test sets"
    assert objection(OverlapConfig(), "other", "test target", held_out) == said


def test_filters_of_one_kind_are_told_apart_and_duplicates_come_last() -> None:
    configs = (LengthConfig(maximum=5), DuplicateConfig(), BlankConfig(), LengthConfig(minimum=2))
    filters = Filters(configs, context())
    assert filters.reasons == ["length_1", "blank", "length_2", "duplicate"]
    assert list(filters.duplicates) == ["duplicate"]
