import shutil
from pathlib import Path

import numpy as np
import pytest

from nmtkit.appending import Appender
from nmtkit.corpus import cleaning
from nmtkit.corpus.blocks import TextFile, TwoFiles
from nmtkit.corpus.cleaning import (
    clean_held_out,
    clean_into,
    clean_more_references,
    corpus_cleaners,
    drop_duplicates,
)
from nmtkit.corpus.counts import CleanCounts, Drops
from nmtkit.corpus.filters import BlankConfig, DuplicateConfig, LengthConfig, OverlapConfig
from nmtkit.corpus.pair import SentencePair
from nmtkit.corpus.reader import ParallelText
from nmtkit.corpus.settings import LanguagesConfig, PrepareConfig, TrainFiles
from nmtkit.corpus.spool import FILES, Spool
from nmtkit.errors import DataError

LANGUAGES = LanguagesConfig(source="en", target="de")
CONFIG = PrepareConfig(
    filters=(BlankConfig(), LengthConfig(maximum=10), DuplicateConfig(), OverlapConfig()), invalid_utf8="drop"
)


def text(folder: Path, name: str, pairs: list[tuple[bytes, bytes]]) -> ParallelText:
    sides = []
    for side, place in (("en", 0), ("de", 1)):
        path = folder / f"{name}.{side}"
        path.write_bytes(b"".join(pair[place] + b"\n" for pair in pairs))
        sides.append(TextFile(path, str(path)))
    return ParallelText(name, (TwoFiles(*sides),))


def corpora(*filters: tuple[object, ...] | None) -> list[TrainFiles]:
    return [TrainFiles(name=f"{n}", source="s", target="t", filters=each) for n, each in enumerate(filters)]


def clean(
    folder: Path, texts: list[ParallelText], named: list[TrainFiles], processes: int = 1, config: PrepareConfig = CONFIG
) -> tuple[list[tuple[int, int, str, str]], list[CleanCounts], Spool]:
    """Clean and return the kept pairs: place of the corpus, line, source, target."""
    cleaners = corpus_cleaners(config, LANGUAGES, named, [SentencePair("held out", "gehalten")])
    with Appender(folder, "key", FILES) as files:
        counts = clean_into(files, texts, cleaners, processes=processes, advance=lambda _: None)
    spool = Spool(folder)
    drop_duplicates(spool, cleaners, counts)
    kept = [
        (block.corpus, *pair)
        for block in spool
        for pair in zip(block.lines.tolist(), block.sources, block.targets, strict=True)
    ]
    return kept, counts, spool


def test_pairs_are_normalised_then_filtered_and_every_one_is_accounted_for(tmp_path: Path) -> None:
    first = text(
        tmp_path,
        "first",
        [
            (b"  a  b ", b"c d"),
            (b"", b"blank source"),
            (b"a b", b"c d"),  # a duplicate once normalised
            (b"held out", b"x"),
            (b"\xff", b"invalid"),
            (b"w " * 20, b"v"),
        ],
    )
    second = text(tmp_path, "second", [(b"a b", b"c d"), (b"e", b"f")])
    kept, counts, _ = clean(tmp_path / "spool", [first, second], corpora(None, None))
    assert kept == [(0, 1, "a b", "c d"), (1, 2, "e", "f")]
    assert counts[0].drops == {
        "invalid_utf8": Drops(1, [5]),
        "blank": Drops(1, [2]),
        "length": Drops(1, [6]),
        "overlap": Drops(1, [4]),
        "duplicate": Drops(1, [3]),
    }
    assert list(counts[0].drops) == ["invalid_utf8", "blank", "length", "overlap", "duplicate"]
    assert counts[1].drops["duplicate"] == Drops(1, [1])
    for of, repeats, kept_line in ((counts[0], "repeats line 1", 1), (counts[1], "repeats line 1 of 0", 2)):
        (duplicate,) = of.examples.dropped["duplicate"]
        assert (duplicate.source, duplicate.target, duplicate.objection) == ("a b", "c d", repeats)
        assert [example.line for example in of.examples.kept] == [kept_line]  # one that was drawn has been forgotten
    for of in counts:
        assert of.read == of.kept + sum(drops.count for drops in of.drops.values())
    assert counts[0].source.first_invalid == 5


def test_a_corpus_may_have_filters_of_its_own(tmp_path: Path) -> None:
    pairs = [(b"Haus", b"house"), (b"haus", b"house"), (b"haus", b"house")]
    texts = [text(tmp_path, name, pairs) for name in ("0", "1", "2", "3")]
    folding = (DuplicateConfig(case=True),)
    kept, counts, _ = clean(tmp_path / "spool", texts, corpora((), None, folding, folding))
    # One without filters, one with the usual one, two that look at each other, in their own way.
    assert [place[:2] for place in kept] == [(0, 1), (0, 2), (0, 3), (1, 1), (1, 2), (2, 1)]
    assert [sum(drops.count for drops in of.drops.values()) for of in counts] == [0, 1, 2, 3]
    assert [of.kept for of in counts] == [3, 2, 1, 0]


def many(folder: Path) -> list[ParallelText]:
    """Return two corpora of many small blocks, with duplicates within and across."""
    generator = np.random.default_rng(3)
    lines = [(b"a %d" % n, b"b %d" % n) for n in generator.integers(0, 300, 900).tolist()]
    return [text(folder, "first", lines[:500]), text(folder, "second", lines[500:])]


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cleaning, "BLOCKS_PER_STEP", 5)
    monkeypatch.setattr(ParallelText.blocks, "__defaults__", (64,))


def files(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in FILES}


@pytest.mark.usefixtures("small_blocks")
def test_how_many_processes_work_makes_no_difference(tmp_path: Path) -> None:
    texts = many(tmp_path)
    alone, together = (clean(tmp_path / str(n), texts, corpora(None, None), processes=n) for n in (1, 2))
    assert alone[:2] == together[:2]
    assert files(tmp_path / "1") == files(tmp_path / "2")
    assert len(alone[2].places) > 20
    assert alone[2].digest() == together[2].digest()


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("steps", [0, 1, 5, 17, 40])
def test_what_was_interrupted_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, steps: int) -> None:
    texts = many(tmp_path)
    straight = clean(tmp_path / "straight", texts, corpora(None, None))
    appended, read = cleaning.append_block, []

    def append(*arguments: object) -> None:
        if len(read) == steps:
            raise KeyboardInterrupt
        read.append(1)
        appended(*arguments)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(cleaning, "append_block", append)
        with pytest.raises(KeyboardInterrupt):
            clean(tmp_path / "resumed", texts, corpora(None, None))
    shutil.copytree(tmp_path / "resumed", tmp_path / "moved")
    resumed = clean(tmp_path / "moved", texts, corpora(None, None))
    assert resumed[:2] == straight[:2]
    assert files(tmp_path / "moved") == files(tmp_path / "straight")


def test_the_digest_is_that_of_texts_in_order_wherever_they_stand(tmp_path: Path) -> None:
    pairs = [(b"a %d" % n, b"b %d" % n) for n in range(20)]
    plain = clean(tmp_path / "0", [text(tmp_path, "plain", pairs)], corpora(None))[2].digest()
    blanks = [pair for known in pairs for pair in ((b"", b""), known)]
    assert clean(tmp_path / "1", [text(tmp_path, "blanks", blanks)], corpora(None))[2].digest() == plain
    parts = [text(tmp_path, "one", pairs[:7]), text(tmp_path, "two", pairs[7:])]
    assert clean(tmp_path / "2", parts, corpora(None, None))[2].digest() == plain
    assert clean(tmp_path / "3", [text(tmp_path, "back", pairs[::-1])], corpora(None))[2].digest() != plain
    swapped = [(b"b 0", b"a 0"), *pairs[1:]]
    assert clean(tmp_path / "4", [text(tmp_path, "swapped", swapped)], corpora(None))[2].digest() != plain


def test_held_out_pairs_are_normalised_and_blank_ones_counted(tmp_path: Path) -> None:
    dev = text(tmp_path, "dev", [(b" a  b", b"c"), (b"", b"x"), (b"y", b" "), (b"d", b"e")])
    chunk = clean_held_out(dev, PrepareConfig(), LANGUAGES)
    assert (chunk.sources, chunk.targets, chunk.lines.tolist()) == (["a b", "d"], ["c", "e"], [1, 4])
    assert (chunk.counts.read, chunk.counts.kept, chunk.counts.drops["blank"]) == (4, 2, Drops(2, [2, 3]))


def test_more_references_are_held_out_too(tmp_path: Path) -> None:
    test = text(tmp_path, "test", [(b"a", b"b"), (b"c", b"d"), (b"e", b"")])
    (tmp_path / "other").write_bytes(b" b  2\n\nf\n")
    test = test._replace(more_references=(TextFile(tmp_path / "other", "other"),))
    (chunk,) = clean_more_references(test, PrepareConfig(), LANGUAGES)
    assert (chunk.sources, chunk.targets, chunk.lines.tolist()) == (["a", "e"], ["b 2", "f"], [1, 3])
    assert clean_more_references(test._replace(more_references=()), PrepareConfig(), LANGUAGES) == []
    (tmp_path / "other").write_bytes(b"b 2\nf\n")
    with pytest.raises(DataError, match=r"^other has 2 lines but test has 3 pairs; line n of more_references"):
        clean_more_references(test, PrepareConfig(), LANGUAGES)
