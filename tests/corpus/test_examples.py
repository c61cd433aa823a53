import json
from dataclasses import asdict

import numpy as np
import pytest
from toy.corpora import sentence_pair

from nmtkit.corpus.blocks import Block
from nmtkit.corpus.chunk_cleaning import ChunkCleaner
from nmtkit.corpus.examples import DRAWN, DROPPED, LONGEST, Examples, examples_of, shortened
from nmtkit.corpus.settings import LanguagesConfig, PrepareConfig

CLEANER = ChunkCleaner(PrepareConfig(invalid_utf8="drop"), LanguagesConfig(source="en", target="de"))
PAIRS = [tuple(side.encode() for side in sentence_pair(7 * place)) for place in range(200)]
BROKEN = [(b"", b"leer"), (b"a\xff dog", b"ein hund"), (b"cafe\xcc\x81  .\r", b"kaffee\t ."), (b"x", b"y" * 20)]


def block(begin: int, end: int) -> Block:
    rows = [*PAIRS, *BROKEN * 5][begin:end]
    return Block(begin + 1, [row[0] for row in rows], [row[1] for row in rows])


def examples(begin: int, end: int) -> Examples:
    some = block(begin, end)
    return examples_of(some, CLEANER(some), CLEANER)


@pytest.mark.parametrize("cuts", [[220], [1, 60, 199, 220], [203, 220], list(range(1, 221))])
def test_how_the_text_is_cut_makes_no_difference(cuts: list[int]) -> None:
    merged = Examples()
    for begin, end in zip([0, *cuts], cuts, strict=False):
        merged.merge(Examples.from_json(json.loads(json.dumps(asdict(examples(begin, end))))))
    whole = examples(0, 220)
    whole.merge(Examples())
    assert merged == whole
    assert len(whole.kept) == DRAWN


def test_pairs_are_drawn_from_everywhere() -> None:
    lines = [one.line for one in examples(0, 200).kept]
    assert len(set(lines)) == DRAWN
    assert 60 < np.mean(lines) < 140
    assert lines != sorted(lines)


def test_a_kept_pair_is_shown_raw_and_clean() -> None:
    some = block(202, 203)
    (one,) = examples_of(some, CLEANER(some), CLEANER).kept
    assert (one.line, one.raw_source, one.raw_target) == (203, "cafe\u0301  .", "kaffee\t .")
    assert (one.source, one.target) == ("caf\xe9 .", "kaffee .")


def test_the_first_dropped_pairs_are_shown_with_the_objection() -> None:
    dropped = examples(0, 220).dropped
    assert {reason: [one.line for one in some] for reason, some in dropped.items()} == {
        "invalid_utf8": [202, 206, 210],
        "blank": [201, 205, 209],
        "ratio": [204, 208, 212],
    }
    assert all(len(some) == DROPPED for some in dropped.values())
    assert dropped["invalid_utf8"][0].source == "a\ufffd dog"
    assert dropped["blank"][0].objection == "the source is blank"
    assert dropped["ratio"][0].objection == "1 characters against 20: a ratio of more than maximum = 9"


def test_units_that_are_no_pair_are_passed_over() -> None:
    some = Block(3, [b"a dog"], [b"ein hund"], given_numbers=[3], left_out=[("missing_language", 2)])
    shown = examples_of(some, CLEANER(some), CLEANER)
    assert ([one.line for one in shown.kept], shown.dropped) == ([3], {})


def test_what_was_dropped_later_is_forgotten() -> None:
    some = examples(0, 30)
    lines = [one.line for one in some.kept]
    some.forget(frozenset(lines[:5]))
    assert [one.line for one in some.kept] == lines[5:]


def test_long_text_does_not_fill_the_page() -> None:
    long = b"word " * (LONGEST // 5 + 1)
    some = Block(1, [long, b"", b"a"], [long, long, b"a"])
    shown = examples_of(some, CLEANER(some), CLEANER)
    assert [one.line for one in shown.kept] == [3]
    assert shown.dropped["blank"][0].target == shortened(long.decode())
    assert len(shortened(long.decode())) == 301
