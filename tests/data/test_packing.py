import shutil
from pathlib import Path

import numpy as np
import pytest
from toy.corpora import sentence_pair

from nmtkit.appending import Appender
from nmtkit.corpus.counts import Drops
from nmtkit.corpus.segmenters import LONGEST_PIECE, BpeConfig, Segmenter, learn_segmenter, open_segmenter
from nmtkit.corpus.spool import FILES, Spool, SpoolBlock, append_block, to_bytes
from nmtkit.data import packing
from nmtkit.data.packing import PACK_FILES, PackCounts, Packer, Packing, lost_in_segmenting, pack_into
from nmtkit.data.store import PairStore, PairWriter, open_lines, pack_ids

PAIRS = [sentence_pair(97 * place) for place in range(30)]


@pytest.fixture(scope="module")
def model() -> bytes:
    config = BpeConfig(vocabulary_size=60, byte_fallback=False)
    return learn_segmenter(config, [side for pair in PAIRS for side in pair], tags=["news"]).model


@pytest.fixture(scope="module")
def segmenter(model: bytes) -> Segmenter:
    return open_segmenter(model, "test")


def block(pairs: list[tuple[str, str]], lines: list[int], corpus: int = 0) -> SpoolBlock:
    return SpoolBlock(corpus, np.array(lines, np.int64), [pair[0] for pair in pairs], [pair[1] for pair in pairs])


def test_a_block_becomes_ids(segmenter: Segmenter) -> None:
    packed = Packer(segmenter, segmenter, 256)(block(PAIRS, list(range(1, 31))))
    for side, place in ((packed.source, 0), (packed.target, 1)):
        expected = segmenter.encode([pair[place] for pair in PAIRS])
        assert side.ids.tolist() == [id_ for ids in expected for id_ in ids]
        assert side.lengths.tolist() == [len(ids) for ids in expected]
    assert packed.too_long == []


def test_long_pairs_are_left_out_as_a_unit(segmenter: Segmenter) -> None:
    exact = len(segmenter.encode([PAIRS[0][0]])[0])
    pairs = [
        ("the dog " * exact, "der hund"),
        (PAIRS[0][0], PAIRS[0][0]),
        ("the dog", "der hund " * exact),
        ("犬" * (exact * LONGEST_PIECE + 1), "der hund"),
    ]
    packed = Packer(segmenter, segmenter, exact)(block(pairs, [7, 8, 9, 12], corpus=1))
    assert packed.too_long == [7, 9, 12]
    assert packed.source.lengths.tolist() == packed.target.lengths.tolist() == [exact]
    assert packed.source.ids.tolist() == segmenter.encode([PAIRS[0][0]])[0]
    counts = PackCounts()
    counts.add(packed)
    assert (counts.pairs, counts.too_long) == (1, {1: Drops(3, [7, 9, 12])})


def test_a_tag_comes_before_each_source_of_its_corpus(segmenter: Segmenter) -> None:
    pack, tag = Packer(segmenter, segmenter, 256, [None, segmenter.tag("news")]), segmenter.tag("news")
    plain, tagged = (pack(block([*PAIRS[:3], ("", "")], [1, 2, 3, 4], corpus)) for corpus in (0, 1))
    assert tagged.target.ids.tolist() == plain.target.ids.tolist()
    assert tagged.source.lengths.tolist() == [length + 1 for length in plain.source.lengths.tolist()]
    assert tagged.source.ids.tolist().count(tag) == 4
    assert [id_ for id_ in tagged.source.ids.tolist() if id_ != tag] == plain.source.ids.tolist()
    assert tagged.source.ids[[0, *np.cumsum(tagged.source.lengths)[:-1]]].tolist() == [tag] * 4


def test_unknown_pieces_are_counted(segmenter: Segmenter) -> None:
    counts = PackCounts()
    counts.add(Packer(segmenter, segmenter, 9)(block([("犬 a 犬", "der")], [1])))
    assert (counts.source.unknown, counts.target.unknown) == (2, 0)


def test_lines_lost_in_segmenting_are_found(segmenter: Segmenter) -> None:
    assert lost_in_segmenting(segmenter, ["the dog", "the 犬", "", "a bird"]) == [1]


# A spool


@pytest.fixture
def spool(tmp_path: Path) -> Spool:
    """Ten blocks of three pairs, half of the pairs dropped."""
    with Appender(tmp_path / "spool", "key", FILES) as files:
        for begin in range(0, 30, 3):
            some = PAIRS[begin : begin + 3]
            text = to_bytes([pair[0] for pair in some], [pair[1] for pair in some])
            append_block(files, begin // 15, np.arange(begin, begin + 3), text, np.zeros((3, 0), np.uint64))
        files.commit({})
    return Spool(tmp_path / "spool", np.arange(30) % 2 == 0)


def pack(folder: Path, spool: Spool, model: bytes, *, processes: int = 1) -> PackCounts:
    file = spool.folder / "test.model"
    file.write_bytes(model)
    size = open_segmenter(model, "test").size
    asked = Packing(spool.folder, file, file, 64, ("", "news"))
    with Appender(folder, "key", PACK_FILES) as files:
        writer = PairWriter(files.write, "train", (size, size))
        return pack_into(files, writer, spool, asked, processes=processes, advance=lambda _: None)


def content(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in PACK_FILES}


def test_a_spool_is_packed_in_order(tmp_path: Path, spool: Spool, model: bytes, segmenter: Segmenter) -> None:
    counts = pack(tmp_path / "train", spool, model)
    store = PairStore.open(tmp_path / "train", "train")
    kept = PAIRS[::2]
    assert segmenter.decode([store.source[place] for place in range(15)]) == [pair[0] for pair in kept]
    assert segmenter.decode([store.target[place] for place in range(15)]) == [pair[1] for pair in kept]
    tagged = [segmenter.tag("news") in store.source[place].tolist() for place in range(15)]
    assert tagged == [False] * 8 + [True] * 7
    assert counts.pairs == len(store) == 15
    assert (counts.source.pieces, counts.target.pieces) == (store.source.lengths.sum(), store.target.lengths.sum())
    assert open_lines(tmp_path / "train").tolist() == list(range(0, 30, 2))


def test_pieces_and_words_are_counted(tmp_path: Path, spool: Spool, model: bytes, segmenter: Segmenter) -> None:
    counts = pack(tmp_path / "train", spool, model)
    store = PairStore.open(tmp_path / "train", "train")
    for side, frequencies in zip((store.source, store.target), counts.frequencies, strict=True):
        ids = [id_ for place in range(15) for id_ in side[place].tolist()]
        assert frequencies.tolist() == [ids.count(id_) for id_ in range(segmenter.size)]
    kept = PAIRS[::2]
    for corpus, some in ((0, kept[:8]), (1, kept[8:])):
        words = [len(source.split()) for source, _ in some]
        assert counts.profiles[corpus].source.words == [words.count(number) for number in range(max(words) + 1)]
        assert counts.profiles[corpus].looked_at == counts.profiles[corpus].pairs == len(some)
        assert counts.profiles[corpus].source.lost == 0


def test_only_some_lines_are_looked_at_closely(segmenter: Segmenter) -> None:
    some = block([*PAIRS[:4], ("the 犬 dog", "der hund")], [3, 5, 6, 10, 12])
    packed = Packer(segmenter, segmenter, 256, strides=[3])(some)
    assert (packed.profile.pairs, packed.profile.looked_at) == (5, 3)
    assert (packed.profile.source.lost, packed.profile.target.lost) == (1, 0)


def test_how_many_processes_work_makes_no_difference(tmp_path: Path, spool: Spool, model: bytes) -> None:
    alone, together = (pack(tmp_path / str(n), spool, model, processes=n) for n in (1, 2))
    assert alone.to_json() == together.to_json()
    assert content(tmp_path / "1") == content(tmp_path / "2")


@pytest.mark.parametrize("steps", [0, 1, 4, 9])
def test_what_was_interrupted_goes_on(
    tmp_path: Path, spool: Spool, model: bytes, monkeypatch: pytest.MonkeyPatch, steps: int
) -> None:
    monkeypatch.setattr(packing, "BLOCKS_PER_STEP", 2)
    straight = pack(tmp_path / "straight", spool, model)
    write, written = PairWriter.write, []

    def interrupted(*arguments: object) -> None:
        if len(written) == steps:
            raise KeyboardInterrupt
        written.append(1)
        write(*arguments)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(PairWriter, "write", interrupted)
        with pytest.raises(KeyboardInterrupt):
            pack(tmp_path / "resumed", spool, model)
    shutil.copytree(tmp_path / "resumed", tmp_path / "moved")
    assert pack(tmp_path / "moved", spool, model).to_json() == straight.to_json()
    assert content(tmp_path / "moved") == content(tmp_path / "straight")


def test_ids_are_packed_one_behind_the_other() -> None:
    packed = pack_ids([[1, 2], [], [3]], "uint16")
    assert (packed.ids.tolist(), packed.lengths.tolist(), packed.ids.dtype) == ([1, 2, 3], [2, 0, 1], np.uint16)
