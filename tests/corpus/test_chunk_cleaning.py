import pickle
from dataclasses import asdict
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from toy.texts import PAIRS

from nmtkit.corpus.blocks import Block
from nmtkit.corpus.chunk_cleaning import ChunkCleaner
from nmtkit.corpus.counts import FIRST_LINES, CleanCounts, Drops
from nmtkit.corpus.filters import (
    BlankConfig,
    DuplicateConfig,
    FilterContext,
    Filters,
    LengthConfig,
    NumbersConfig,
    RatioConfig,
    SameConfig,
)
from nmtkit.corpus.lines import LineCounts, Place, clean, decode
from nmtkit.corpus.normalizers import CountingChain, InvisibleConfig, MosesPunctuationConfig, WhitespaceConfig
from nmtkit.corpus.pair import SentencePair
from nmtkit.corpus.settings import LanguagesConfig, PrepareConfig
from nmtkit.errors import DataError

LANGUAGES = LanguagesConfig(source="en", target="de")
CONFIGS = [
    PrepareConfig(invalid_utf8="drop"),
    PrepareConfig(
        normalizers=(InvisibleConfig(), WhitespaceConfig(), MosesPunctuationConfig()),
        filters=(LengthConfig(maximum=3), SameConfig(), LengthConfig(minimum=0), NumbersConfig(), DuplicateConfig()),
        invalid_utf8="drop",
    ),
    PrepareConfig(normalizers=(), filters=(), invalid_utf8="drop"),
]

SOME = [
    b"plain",
    b"two  spaces ",
    b"",
    b"a\tb\x00",
    b"\xc2\x85\xe2\x80\xa8",
    b"\xff",
    b"crlf\r",
    b"\r\r",
    b"e\xcc\x81",
    b"12",
]
RAW = st.sampled_from(SOME) | PAIRS.map(lambda pairs: "".join(side for pair in pairs for side in pair).encode())
BLOCKS = st.lists(st.tuples(RAW, RAW | st.binary(max_size=6).map(lambda raw: raw.replace(b"\n", b""))), max_size=10)
HELD_OUT = [SentencePair("plain", "x"), SentencePair("y", "two spaces")]


@cache
def cleaner(config: int) -> ChunkCleaner:
    return ChunkCleaner(CONFIGS[config], LANGUAGES, HELD_OUT)


def one_by_one(config: PrepareConfig, block: Block) -> tuple[list[Any], CleanCounts]:
    """Return what becomes of a block in the plain way, which says what the fast one must do."""
    filters = Filters(config.filters, FilterContext("en", "de", HELD_OUT))
    chains = [CountingChain(config.normalizers, language) for language in ("en", "de")]
    counts = CleanCounts(drops={reason: Drops() for reason in ("invalid_utf8", *filters.reasons)})
    changed = [[Drops() for _ in config.normalizers] for _ in chains]
    kept = []
    for raws in zip(block.numbers, block.sources, block.targets, strict=True):
        number, sides = raws[0], []
        counts.read += 1
        for raw, side_counts in zip(raws[1:], (counts.source, counts.target), strict=True):
            side_counts.lines += 1
            text = decode(raw, Place(""), side_counts, "mark", number)
            sides.append(None if text is None else clean(text, side_counts, number))
        if None in sides:
            counts.drops["invalid_utf8"].add(number)
            continue
        for side, (chain, drops) in enumerate(zip(chains, changed, strict=True)):
            before = sides[side]
            for (_, form), drop in zip(chain.forms(before), drops, strict=True):
                if form != before:
                    drop.add(number)
                before = form
            sides[side] = chain(sides[side])
        pair = SentencePair(*sides)
        for reason, keep in filters.alone.items():
            if not keep(pair):
                counts.drops[reason].add(number)
                break
        else:
            counts.kept += 1
            kept.append((number, *pair, *(filter_.key(pair) for filter_ in filters.duplicates.values())))
    counts.source_changed, counts.target_changed = changed
    return kept, counts


def block_of(pairs: list[tuple[bytes, bytes]], first: int = 1) -> Block:
    return Block(first, [source for source, _ in pairs], [target for _, target in pairs])


over_configs = pytest.mark.parametrize("config", range(len(CONFIGS)))


def check_a_block(config: int, block: Block) -> None:
    """Check that a block is cleaned as its pairs would be, one by one."""
    chunk = cleaner(config)(block)
    kept, counts = one_by_one(CONFIGS[config], block)
    assert list(zip(chunk.lines.tolist(), chunk.sources, chunk.targets, strict=True)) == [row[:3] for row in kept]
    assert chunk.counts == counts
    assert list(chunk.counts.drops) == list(counts.drops) == cleaner(config).reasons
    assert chunk.keys.shape == (len(kept), len(cleaner(config).duplicates))
    assert chunk.lines.dtype == np.int64
    assert chunk.keys.dtype == np.uint64
    for column, _ in enumerate(chunk.keys[:1].T):
        texts, hashes = [row[3 + column] for row in kept], chunk.keys[:, column].tolist()
        assert len(set(zip(texts, hashes, strict=True))) == len(set(texts)) == len(set(hashes))
    assert counts.read == len(block.sources) == counts.kept + sum(drops.count for drops in counts.drops.values())


@over_configs
@given(pairs=BLOCKS, first=st.integers(1, 1000))
@settings(max_examples=50)
def test_a_block_at_once_is_pair_by_pair(config: int, pairs: list[Any], first: int) -> None:
    check_a_block(config, block_of(pairs, first))


@pytest.mark.full
@given(config=st.integers(0, len(CONFIGS) - 1), pairs=BLOCKS, first=st.integers(1, 1000))
@settings(max_examples=10_000)
def test_ten_thousand_blocks(config: int, pairs: list[Any], first: int) -> None:
    check_a_block(config, block_of(pairs, first))


@over_configs
@given(pairs=BLOCKS, cut=st.integers(0, 10))
@settings(max_examples=50)
def test_parts_make_the_whole(config: int, pairs: list[Any], cut: int) -> None:
    cut = min(cut, len(pairs))
    whole = cleaner(config)(block_of(pairs))
    parts = [cleaner(config)(block_of(pairs[:cut])), cleaner(config)(block_of(pairs[cut:], cut + 1))]
    assert [*parts[0].sources, *parts[1].sources] == whole.sources
    assert np.array_equal(np.concatenate([part.keys for part in parts]), whole.keys)
    merged = CleanCounts()
    for part in parts:
        merged.merge(part.counts)
    assert merged == whole.counts
    assert merged.kept == len(whole.sources) == len(whole.targets) == len(whole.lines)
    for drops in [*merged.drops.values(), *merged.source_changed, *merged.target_changed]:
        assert len(drops.first_lines) == min(FIRST_LINES, drops.count)


def test_it_can_be_sent_to_another_process() -> None:
    own = ChunkCleaner(CONFIGS[1], LANGUAGES, HELD_OUT, filters=(BlankConfig(), RatioConfig()))
    copy = pickle.loads(pickle.dumps(own))
    block = block_of([(raw, raw) for raw in SOME])
    ours, theirs = own(block), pickle.loads(pickle.dumps(copy(block)))
    assert copy.reasons == own.reasons == ["invalid_utf8", "blank", "ratio"]
    assert (ours.sources, asdict(ours.counts)) == (theirs.sources, asdict(theirs.counts))


def test_numbers_and_what_was_left_out_come_with_the_block() -> None:
    block = Block(3, [b"", b"a"], [b"", b"b"], given_numbers=[3, 7], left_out=[("missing_language", 5)])
    chunk = ChunkCleaner(PrepareConfig(), LANGUAGES)(block)
    assert chunk.lines.tolist() == [7]
    assert (chunk.counts.read, chunk.counts.kept) == (3, 1)
    assert chunk.counts.drops["missing_language"] == Drops(1, [5])
    assert chunk.counts.drops["blank"] == Drops(1, [3])


def test_an_empty_block() -> None:
    chunk = ChunkCleaner(PrepareConfig(), LANGUAGES)(Block(1, [], []))
    assert (chunk.sources, chunk.targets, len(chunk.lines), chunk.counts.read) == ([], [], 0, 0)
    assert chunk.counts.source == LineCounts()


def test_a_block_out_of_step_is_refused() -> None:
    with pytest.raises(ValueError, match="1 sources beside 2 targets"):
        ChunkCleaner(PrepareConfig(), LANGUAGES)(Block(1, [b"a"], [b"b", b"c"]))


def test_what_is_not_utf8_is_named_unless_it_is_dropped() -> None:
    block = Block(5, [b"a", b"b\xff"], [b"c", b"d"], Place("f.en", 2), Place("f.de", 2))
    with pytest.raises(DataError, match=r"f\.en, line 4, byte 2: 0xff is not UTF-8"):
        ChunkCleaner(PrepareConfig(), LANGUAGES)(block)


def test_explain() -> None:
    config = PrepareConfig(filters=(BlankConfig(), LengthConfig(maximum=2), DuplicateConfig(by="source")))
    explain = ChunkCleaner(config, LANGUAGES).explain
    told = explain(SentencePair("e\u0301  a b", "x"))
    assert told.source == [("unicode", "é  a b"), ("whitespace", "é a b")]
    assert told.target == [("unicode", "x"), ("whitespace", "x")]
    assert told.pair == SentencePair("é a b", "x")
    assert (told.reason, told.objection) == ("length", "the source has 3 words, more than maximum = 2")
    told = explain(SentencePair(" a ", "x"))
    assert (told.reason, told.objection, told.keys) == ("", "", {"duplicate": "a"})
    assert ChunkCleaner(PrepareConfig(normalizers=()), LANGUAGES).explain(SentencePair(" a", "x")).pair.source == " a"
