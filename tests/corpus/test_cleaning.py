from pathlib import Path

from nmtkit.corpus.cleaning import (
    Cleaner,
    CorpusCounts,
    Drops,
    KeptPair,
    Normalizers,
    build_filters,
    read_held_out,
)
from nmtkit.corpus.filters import BlankConfig, DuplicateConfig, LengthConfig, OverlapConfig
from nmtkit.corpus.pair import SentencePair
from nmtkit.corpus.reader import ParallelText
from nmtkit.corpus.settings import LanguagesConfig, PrepareConfig

LANGUAGES = LanguagesConfig(source="en", target="de")


def text(folder: Path, name: str, pairs: list[tuple[bytes, bytes]]) -> ParallelText:
    for side, place in (("en", 0), ("de", 1)):
        (folder / f"{name}.{side}").write_bytes(b"".join(pair[place] + b"\n" for pair in pairs))
    return ParallelText(name, folder / f"{name}.en", folder / f"{name}.de")


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
    config = PrepareConfig(
        filters=(BlankConfig(), LengthConfig(maximum=10), DuplicateConfig(), OverlapConfig()), invalid_utf8="drop"
    )
    clean = Cleaner(config, Normalizers(config, LANGUAGES), [SentencePair("held out", "gehalten")])
    counts = [CorpusCounts(name, drops=clean.no_drops()) for name in ("first", "second")]
    kept = [
        pair
        for place, (corpus, of) in enumerate(zip((first, second), counts, strict=True))
        for pair in clean(corpus, place, of)
    ]
    assert kept == [KeptPair(0, 1, SentencePair("a b", "c d")), KeptPair(1, 2, SentencePair("e", "f"))]
    assert counts[0].drops == {
        "invalid_utf8": Drops(1, [5]),
        "blank": Drops(1, [2]),
        "length": Drops(1, [6]),
        "duplicate": Drops(1, [3]),
        "overlap": Drops(1, [4]),
    }
    assert list(counts[0].drops) == ["invalid_utf8", "blank", "length", "duplicate", "overlap"]
    assert counts[1].drops["duplicate"] == Drops(1, [1])
    for of in counts:
        assert of.read == of.kept + sum(drops.count for drops in of.drops.values())
    assert counts[0].characters.source.first_invalid == 5


def test_only_the_first_lines_are_remembered() -> None:
    drops = Drops()
    for line in range(1, 100):
        drops.add(line)
    assert drops == Drops(99, [1, 2, 3, 4, 5])


def test_filters_of_one_kind_are_told_apart() -> None:
    configs = (LengthConfig(maximum=5), BlankConfig(), LengthConfig(minimum=2))
    assert [reason for reason, _ in build_filters(configs, [])] == ["length_1", "blank", "length_2"]


def test_held_out_pairs_are_normalised_and_blank_ones_counted(tmp_path: Path) -> None:
    dev = text(tmp_path, "dev", [(b" a  b", b"c"), (b"", b"x"), (b"y", b" "), (b"d", b"e")])
    config = PrepareConfig()
    counts = CorpusCounts("dev")
    pairs = list(read_held_out(dev, Normalizers(config, LANGUAGES), counts))
    assert pairs == [KeptPair(0, 1, SentencePair("a b", "c")), KeptPair(0, 4, SentencePair("d", "e"))]
    assert (counts.read, counts.kept, counts.drops) == (4, 2, {"blank": Drops(2, [2, 3])})
