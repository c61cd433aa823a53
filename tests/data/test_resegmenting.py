"""Training pairs in other pieces for each epoch: the same text, the same tags, whatever the batch."""

import numpy as np
import pytest
from toy.segmenters import LINES, SAMPLING_KINDS, segmenter
from toy.training import sentences

from nmtkit.corpus.vocabulary import EOS
from nmtkit.data.batch import collate, cost_of, make_batch
from nmtkit.data.batching import Update, summarize
from nmtkit.data.resegmenting import SideResegmenter, build_resegmenter
from nmtkit.data.settings import SamplingConfig
from nmtkit.data.store import PairStore
from nmtkit.errors import ConfigError

over_kinds = pytest.mark.parametrize("kind", SAMPLING_KINDS)
ON = SamplingConfig(source=True, target=True, dropout=0.3, alpha=0.2)


def store(kind: str) -> PairStore:
    own = segmenter(kind)
    encoded = own.encode(LINES)
    tagged = [[own.tag("news"), *ids] if place % 3 == 0 else ids for place, ids in enumerate(encoded)]
    return PairStore(sentences(tagged), sentences(encoded[::-1]))


def rows(padded) -> list[list[int]]:
    return [row[: length - 1] for row, length in zip(padded.ids.tolist(), padded.lengths.tolist(), strict=True)]


@over_kinds
def test_text_and_tags_stay_and_pieces_change_with_the_epoch(kind: str) -> None:
    own, pairs = segmenter(kind), store(kind)
    resegment = build_resegmenter(own, own, ON, seed=5)
    stored, first, again, second = (
        make_batch(pairs, range(len(pairs)), how, epoch)
        for how, epoch in ((None, 0), (resegment, 0), (resegment, 0), (resegment, 1))
    )
    for side in ("source", "target"):
        here = [rows(getattr(batch, side)) for batch in (stored, first, again, second)]
        assert all(own.decode(batch) == own.decode(here[0]) for batch in here)
        assert here[1] == here[2]
        assert here[0] != here[1] != here[3]
        tags = [[ids[0] for ids in batch if ids[0] == own.tag("news")] for batch in here]
        assert len(tags[0]) == (100 if side == "source" else 0)
        assert tags[0] == tags[1] == tags[3]
    assert rows(first.source) != rows(first.target)[::-1]


@over_kinds
def test_a_pair_is_the_same_in_any_batch(kind: str) -> None:
    own, pairs = segmenter(kind), store(kind)
    together = rows(make_batch(pairs, range(len(pairs)), build_resegmenter(own, own, ON, seed=5), 3).source)
    resegment = build_resegmenter(own, own, ON, seed=5)
    for places in ([7], [299, 0, 12], np.array([5, 4])):
        assert rows(make_batch(pairs, places, resegment, 3).source) == [together[place] for place in places]
    other = build_resegmenter(own, own, ON, seed=6)
    assert rows(make_batch(pairs, range(300), other, 3).source) != together


def test_one_side_alone() -> None:
    own, pairs = segmenter("bpe"), store("bpe")
    resegment = build_resegmenter(own, own, ON.model_copy(update={"target": False}), seed=1)
    plain, drawn = make_batch(pairs, range(300)), make_batch(pairs, range(300), resegment, 0)
    assert rows(plain.target) == rows(drawn.target)
    assert rows(plain.source) != rows(drawn.source)
    assert build_resegmenter(own, own, SamplingConfig(), seed=1) is None


def test_ids_that_no_text_gives_stay_as_they_are() -> None:
    own = segmenter("unigram")
    half = own.encode(["日"])[0][:2]
    pieces = [own.encode(["the"])[0], half, [own.tag("news"), *half], [EOS], []]
    stored = [np.array(ids, np.int64) for ids in pieces]
    resegment = SideResegmenter(own, ON, seed=1, side=0)
    drawn = [resegment(stored, range(5), epoch) for epoch in range(20)]
    assert {tuple(ids.tolist()) for batch in drawn for ids in batch[1:2]} == {tuple(half)}
    assert all([ids.tolist() for ids in batch[2:]] == pieces[2:] for batch in drawn)
    assert len({tuple(batch[0].tolist()) for batch in drawn}) > 1


def test_a_vocabulary_of_one_way_is_refused_at_the_start() -> None:
    own = segmenter("characters")
    with pytest.raises(ConfigError, match=r"train\.sampling: the vocabulary of this run"):
        build_resegmenter(own, own, ON, seed=1)


def test_the_cost_of_batches_is_that_of_their_plan() -> None:
    pairs = store("bpe")
    tensors = [np.arange(9), np.arange(40, 90), np.array([7])]
    planned = summarize([Update(tensors)], pairs.source.lengths, pairs.target.lengths)
    assert cost_of([make_batch(pairs, tensor) for tensor in tensors]) == planned
    assert collate([[5, 6], [7]]).lengths.tolist() == [3, 2]
