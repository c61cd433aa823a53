from pathlib import Path

import pytest
from toy.corpora import sentence_pair

from nmtkit.corpus.cleaning import Drops, KeptPair
from nmtkit.corpus.pair import SentencePair
from nmtkit.corpus.segmenters import LONGEST_PIECE, BpeConfig, Segmenter, learn_segmenter, open_segmenter
from nmtkit.data import packing
from nmtkit.data.packing import lost_in_segmenting, pack
from nmtkit.data.store import PairStore, writing_pairs

PAIRS = [KeptPair(place // 6, place % 6 + 1, SentencePair(*sentence_pair(97 * place))) for place in range(12)]


@pytest.fixture(scope="module")
def segmenter() -> Segmenter:
    config = BpeConfig(vocabulary_size=60, byte_fallback=False)
    return open_segmenter(learn_segmenter(config, [side for kept in PAIRS for side in kept.pair]).model, "test")


def test_pairs_are_packed_in_order_across_chunks(
    tmp_path: Path, segmenter: Segmenter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packing, "PAIRS_AT_ONCE", 5)
    told = []
    with writing_pairs(tmp_path, "train", (60, 60)) as writer:
        counts = pack(PAIRS, segmenter, segmenter, writer, max_pieces=256, advance=told.append)
    store = PairStore.open(tmp_path, "train")
    assert segmenter.decode([store.source[place] for place in range(12)]) == [kept.pair.source for kept in PAIRS]
    assert segmenter.decode([store.target[place] for place in range(12)]) == [kept.pair.target for kept in PAIRS]
    assert told == [5, 5, 2]
    assert counts.pairs == 12
    assert counts.source.pieces == store.source.lengths.sum()
    assert counts.source.unknown == counts.target.unknown == 0


def test_long_pairs_are_left_out_as_a_unit_and_counted_by_corpus(tmp_path: Path, segmenter: Segmenter) -> None:
    exact = len(segmenter.encode([PAIRS[0].pair.source])[0])
    long = [
        KeptPair(0, 7, SentencePair("the dog " * exact, "der hund")),
        KeptPair(1, 8, SentencePair("the dog", "der hund " * exact)),
        KeptPair(1, 9, SentencePair("犬" * (exact * LONGEST_PIECE + 1), "der hund")),
    ]
    fitting = [KeptPair(0, 1, SentencePair(PAIRS[0].pair.source, PAIRS[0].pair.source))]
    with writing_pairs(tmp_path, "train", (60, 60)) as writer:
        counts = pack([*long, *fitting], segmenter, segmenter, writer, max_pieces=exact)
    assert counts.pairs == 1
    assert counts.too_long == {0: Drops(1, [7]), 1: Drops(2, [8, 9])}
    assert PairStore.open(tmp_path, "train").source.lengths.tolist() == [exact]


def test_unknown_pieces_are_counted(tmp_path: Path, segmenter: Segmenter) -> None:
    with writing_pairs(tmp_path, "train", (60, 60)) as writer:
        counts = pack([KeptPair(0, 1, SentencePair("犬 a 犬", "der"))], segmenter, segmenter, writer, max_pieces=9)
    assert (counts.source.unknown, counts.target.unknown) == (2, 0)


def test_lines_lost_in_segmenting_are_found(segmenter: Segmenter) -> None:
    assert lost_in_segmenting(segmenter, ["the dog", "the 犬", "", "a bird"]) == [1]
