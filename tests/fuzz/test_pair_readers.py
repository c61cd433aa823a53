"""Pairs come in step, each under its number, or not at all; what is between cleaning and packing comes back."""

import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from toy.formats import tmx_file, tmx_of, tsv_file, two_files

from fuzz import oracle
from fuzz.cases import each_tier, try_cases
from fuzz.damage import damages
from fuzz.messages import check_message
from fuzz.taking import taken
from fuzz.text import as_utf8, documents, lines, numbered, plain
from nmtkit.appending import Appender
from nmtkit.corpus.lines import clean
from nmtkit.corpus.reader import PairCounts, ParallelText
from nmtkit.corpus.spool import FILES, Spool, append_block, to_bytes
from nmtkit.errors import DataError


def taken_blocks(text: ParallelText, size: int) -> list[tuple[int, bytes, bytes]]:
    """Return the raw pairs that come in blocks of a size, each with its number, up to an error."""
    blocks, _ = taken(text.blocks(size))
    assert all(block.sources for block in blocks)
    assert all(block.last == block.numbers[-1] for block in blocks)
    return [
        (number, source.removesuffix(b"\r"), target.removesuffix(b"\r"))
        for block in blocks
        for number, source, target in zip(block.numbers, block.sources, block.targets, strict=True)
    ]


@each_tier
def test_two_files(tier: str, tmp_path: Path) -> None:
    text = two_files(tmp_path / "a.en", tmp_path / "a.de")
    any_lines = st.integers(0, 5).flatmap(lambda count: st.tuples(numbered(count), numbered(count)))
    equal = st.one_of(
        any_lines, any_lines.flatmap(lambda sides: st.tuples(*(as_utf8(st.just(side)) for side in sides)))
    )

    @given(sides=st.one_of(equal, st.tuples(documents(5), documents(5))), size=st.integers(1, 200))
    @example(sides=(b"", b"\n"), size=1)
    @example(sides=(b"one\n\xff", b"\xfe"), size=2)
    def check(sides: tuple[bytes, bytes], size: int) -> None:
        assume(all(plain(side) for side in sides))
        for path, side in zip(text.files, sides, strict=True):
            path.write_bytes(side)
        raws = [oracle.raw_lines(side) for side in sides]
        counts = [oracle.count(side) for side in sides]
        wanted = [(oracle.strict(one), oracle.strict(other)) for one, other in zip(raws[0], raws[1], strict=False)]
        marked = [None if None in pair else pair for pair in wanted]

        both = zip(raws[0], raws[1], strict=False)
        assert taken_blocks(text, size) == [(number, *pair) for number, pair in enumerate(both, start=1)]
        found, error = taken(text.pairs(PairCounts(), "mark"))
        assert found == marked
        if counts[0] != counts[1]:
            assert error is not None
            if all(counts):
                check_message(error, *(f"{path} has {n}" for path, n in zip(text.files, counts, strict=True)))
            else:
                check_message(error, text.files[counts.index(0)], "is empty")
        else:
            assert error is None

        found, error = taken(text.pairs(PairCounts()))
        broken = marked.index(None) if None in marked else None
        assert found == marked[:broken]
        assert (error is None) == (broken is None and counts[0] == counts[1])
        if broken is not None:
            check_message(error, f"line {broken + 1}, byte ")
        if counts[0] == counts[1] and all(counts):
            assert text.count_pairs() == counts[0]
        else:
            with pytest.raises(DataError) as refused:
                text.count_pairs()
            check_message(refused.value)

    try_cases(check, tier)


@each_tier
def test_tab_separated_pairs(tier: str, tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    cells = lines().map(lambda cell: cell.translate(None, b"\t\n"))

    def tables(usual: int) -> st.SearchStrategy[bytes]:
        counts = st.sampled_from([usual] * 12 + [1, 2, 3, 4])
        row = counts.flatmap(lambda count: st.lists(cells, min_size=count, max_size=count))
        return st.lists(row.map(lambda found: b"\t".join(found) + b"\n"), max_size=6).map(b"".join)

    usual = tables(2)

    @given(
        content=st.one_of(usual, usual, tables(3), documents(5)),
        columns=st.sampled_from([(), (), (1, 2), (2, 1), (3, 1), (2, 3)]),
        size=st.integers(1, 200),
    )
    @example(content=b"\xef\xbb\xbf\t\r\n\t", columns=(), size=1)
    @example(content=b"a\r\tb\r\nc\td\r\r\n", columns=(2, 1), size=5)
    def check(content: bytes, columns: tuple[()] | tuple[int, int], size: int) -> None:
        assume(plain(content))
        path.write_bytes(content)
        text = tsv_file(path, columns)
        rows = [raw.split(b"\t") for raw in oracle.raw_lines(content)]
        # A cell loses a CR at its end, as a line does.
        table = [[*(cell.removesuffix(b"\r") for cell in row[:-1]), row[-1]] for row in rows]
        width = len(table[0]) if columns and table else 2
        chosen = columns or (1, 2)
        missing = next((column for column in chosen if table and column > width), None)
        wrong = next((place for place, row in enumerate(table) if missing or len(row) != width), None)
        pairs = [tuple(row[column - 1] for column in chosen) for row in table[:wrong]]
        texts = [tuple(map(oracle.strict, pair)) for pair in pairs]
        marked = [None if None in pair else pair for pair in texts]

        def check_wrong(error: DataError | None) -> None:
            if wrong is None:
                assert error is None
            elif missing:
                check_message(error, f"{path}, line 1: {width} column", f"no column {missing}")
            else:
                check_message(error, f"{path}, line {wrong + 1}: {len(table[wrong])} column")

        assert taken_blocks(text, size) == [(number, *pair) for number, pair in enumerate(pairs, start=1)]
        found, error = taken(text.pairs(PairCounts(), "mark"))
        assert found == marked
        check_wrong(error)
        found, error = taken(text.pairs(PairCounts()))
        if None in marked:
            broken = marked.index(None)
            assert found == marked[:broken]
            column = chosen[texts[broken].index(None)]
            byte = oracle.broken_byte(table[broken][column - 1])
            check_message(error, f"{path}, line {broken + 1}, column {column}, byte {byte}:")
        else:
            assert found == marked
            check_wrong(error)
        if table:
            assert text.count_pairs() == len(table)

    try_cases(check, tier)


@each_tier
def test_a_translation_memory(tier: str, tmp_path: Path) -> None:
    """Each unit is a pair or counted as none; a damaged file is refused, or what is left of its texts is read."""
    path = tmp_path / "a.tmx"
    text = tmx_file(path)
    xml = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"], exclude_characters="\ufffe\uffff"))
    texts = st.one_of(xml, lines().map(lambda line: "".join(filter(str.isprintable, line.decode("utf-8", "ignore")))))
    pairs = st.lists(st.tuples(texts, texts), min_size=1, max_size=5)

    @given(pairs=pairs, encoding=st.sampled_from(["utf-8", "utf-16"]), damage=damages(), size=st.integers(1, 200))
    @example(pairs=[("a", "b")], encoding="utf-8", damage=lambda _: b"", size=1)
    @example(pairs=[("a", "b")], encoding="utf-8", damage=lambda _: b"\0", size=1)
    def check(pairs: list[tuple[str, str]], encoding: str, damage: Any, size: int) -> None:
        whole = tmx_of(pairs, encoding=encoding)
        path.write_bytes(whole)
        wanted = [tuple(oracle.mended(side.encode()) for side in pair) for pair in pairs]
        assert list(text.pairs(PairCounts())) == wanted
        assert [number for number, *_ in taken_blocks(text, size)] == list(range(1, len(pairs) + 1))
        assert text.count_pairs() == len(pairs)

        path.write_bytes(damage(whole))
        assume(plain(path.read_bytes()))
        counts = PairCounts()
        found, error = taken(text.pairs(counts))
        if error is not None:
            check_message(error, path)
            with pytest.raises(DataError):
                text.count_pairs()
        else:
            assert len(found) + sum(map(len, counts.left_out.values())) == text.count_pairs()
            assert found
        assert all(oracle.is_one_line(side) for pair in found for side in pair)

    try_cases(check, tier)


@each_tier
def test_pairs_between_cleaning_and_packing(tier: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was committed comes back, but for what is no longer kept; what was not is gone."""
    folder = tmp_path / "spool"
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)
    texts = lines().map(lambda line: clean(line.decode("utf-8", "replace")))
    pairs = st.tuples(texts, texts, st.integers(1, 2**40), st.integers(0, 2**64 - 1), st.booleans())

    def append(spool: Appender, corpus: int, block: list[Any]) -> None:
        sources, targets, numbers, keys = ([pair[place] for pair in block] for place in range(4))
        lines_, rows = np.array(numbers, np.int64), np.array(keys, np.uint64).reshape(-1, 1)
        append_block(spool, corpus, lines_, to_bytes(sources, targets), rows)

    @given(blocks=st.lists(st.lists(pairs, max_size=4), max_size=4), lost=st.lists(pairs, max_size=2))
    def check(blocks: list[list[Any]], lost: list[Any]) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        for corpus, block in enumerate(blocks):
            with Appender(folder, "key", FILES) as spool:
                assert spool.state == ({"corpus": corpus - 1} if corpus else None)
                append(spool, corpus, block)
                spool.commit({"corpus": corpus})
                append(spool, corpus, lost)
        with Appender(folder, "key", FILES):
            pass
        whole = [pair for block in blocks for pair in block]
        kept = np.array([pair[4] for pair in whole], np.bool_)
        found = Spool(folder, kept)
        sides = [(block.sources, block.targets, block.lines.tolist()) for block in found]
        again = [row for columns in sides for row in zip(*columns, strict=True)]
        assert again == [pair[:3] for pair in whole if pair[4]]
        assert [block.corpus for block in found] == [corpus for corpus, block in enumerate(blocks) if block]
        assert found.keys(1)[:, 0].tolist() == [pair[3] for pair in whole]
        assert [found.pair(number)[1:] for number in range(len(whole))] == [(pair[:2], pair[2]) for pair in whole]

    try_cases(check, tier)
