"""One pair in, one score out, whatever the pair holds; and the score is the model's."""

import math
from collections.abc import Iterator, Sequence
from typing import ClassVar

import pytest
import torch
from toy.corpora import count_sentences, sentence_pair
from toy.models import VARIANTS, build
from toy.tables import TableModel

from nmtkit.corpus.normalizers import CountingChain, UnicodeConfig, WhitespaceConfig
from nmtkit.corpus.pair import SentencePair
from nmtkit.corpus.segmenters import BpeConfig, CharactersConfig, Segmenter, learn_segmenter, open_segmenter
from nmtkit.corpus.vocabulary import EOS, UNK
from nmtkit.data.batch import Batch, Padded, collate
from nmtkit.errors import ConfigError
from nmtkit.models.base import Memory
from nmtkit.search.settings import BeamConfig, SamplingConfig
from nmtkit.translation import scorer as module
from nmtkit.translation.scorer import PairScore, PairScorer
from nmtkit.translation.settings import TranslateConfig
from nmtkit.translation.translator import LineTranslator

CHUNK = 7
LINES = [side for number in range(0, count_sentences(), 97) for side in sentence_pair(number)]
PAIRS = [SentencePair(*sentence_pair(number * 613)) for number in range(16)]
ODD = [
    *PAIRS[:3],
    SentencePair("", ""),
    SentencePair("the dog .", " \t"),
    SentencePair("\u00a0", "der Hund ."),
    None,
    SentencePair("x" * 300, "der Hund ."),
    SentencePair("the dog .", "y" * 300),
    SentencePair("tabs\tand\u2028lines", "lone \udcff \x00 🙂"),
    *PAIRS[3:6],
]


@pytest.fixture(scope="module")
def segmenter() -> Segmenter:
    return open_segmenter(learn_segmenter(BpeConfig(vocabulary_size=400), LINES, tags=("news",)).model, "toy.model")


class Letters(Segmenter):
    """One in which every text has the pieces that it was made of, and every other sequence of pieces is a text."""

    size = 30
    fingerprint = "none"
    tags: ClassVar = {"news": 29}

    def encode(self, lines: Sequence[str]) -> list[list[int]]:
        return [[ord(letter) - 96 if letter != "?" else UNK for letter in line] for line in lines]

    def decode(self, sentences: Sequence[Sequence[int]]) -> list[str]:
        return ["".join("?" if id_ == UNK else chr(id_ + 96) for id_ in ids) for ids in sentences]

    def pieces(self, ids: Sequence[int]) -> list[str]:
        return self.decode([[id_] for id_ in ids])


class Recording(TableModel):
    """Remembers what it was asked."""

    def __init__(self, vocabulary: int) -> None:
        super().__init__(vocabulary, end=1.0)
        self.asked: list[Padded] = []

    def encode(self, source: Padded) -> Memory:
        self.asked.append(source)
        return super().encode(source)


def scorer(segmenter: Segmenter, model: TableModel | None = None, **settings: object) -> PairScorer:
    config = TranslateConfig.model_validate(
        {"search": BeamConfig(beam=3, n_best=3), "batch_tokens": 200, "chunk_lines": CHUNK, "max_pieces": 60} | settings
    )
    normalize = CountingChain((UnicodeConfig(), WhitespaceConfig()), "en")
    model = Recording(segmenter.size) if model is None else model
    return PairScorer(model, (segmenter, segmenter), (normalize, normalize), config)


def by_hand(model: TableModel, source: list[int], target: list[int]) -> list[float]:
    with torch.inference_mode():
        rows = model.logits(Batch(collate([source]), collate([target])))[0].log_softmax(-1)
    return [float(rows[place, token]) for place, token in enumerate([*target, EOS])]


def test_a_score_is_the_sum_over_pieces_and_end_mark(segmenter: Segmenter) -> None:
    model = build(VARIANTS["transformer"], segmenter.size)
    asked = scorer(segmenter, model)
    sources, targets = segmenter.encode([p.source for p in PAIRS]), segmenter.encode([p.target for p in PAIRS])
    for source, target, found in zip(sources, targets, asked.scores(PAIRS), strict=True):
        each = by_hand(model, source, target)
        assert found.each == pytest.approx(each, rel=1e-4)
        assert found.ids == tuple(target)
        assert found.tokens == len(target) + 1
        assert found.log_probability == pytest.approx(sum(each), rel=1e-5)
        assert found.perplexity == pytest.approx(math.exp(-sum(each) / found.tokens), rel=1e-4)
    counts = asked.counts
    assert (counts.pairs, counts.scored, counts.blank, counts.too_long, counts.broken) == (16, 16, 0, 0, 0)
    assert counts.tokens == sum(map(len, targets)) + 16
    assert counts.perplexity == pytest.approx(
        math.exp(-sum(score.log_probability for score in scorer(segmenter, model).scores(PAIRS)) / counts.tokens)
    )


@pytest.mark.parametrize("count", [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK + 1])
def test_each_pair_is_scored_as_if_it_were_alone(segmenter: Segmenter, count: int) -> None:
    pairs = (ODD * 2)[:count]
    together, alone = scorer(segmenter), scorer(segmenter)
    found = list(together.scores(pairs))
    assert len(found) == together.counts.pairs == count
    assert found == [score for pair in pairs for score in alone.scores([pair])]
    ours, theirs = vars(together.counts), vars(alone.counts)
    assert ours.pop("log_probability") == pytest.approx(theirs.pop("log_probability"))
    assert ours == theirs


def test_settings_of_speed_change_no_score(segmenter: Segmenter, monkeypatch: pytest.MonkeyPatch) -> None:
    usual = list(scorer(segmenter).scores(ODD))
    for batch_tokens, chunk_lines in ((1, 100), (100_000, 1), (100_000, 100)):
        speed = {"batch_tokens": batch_tokens, "chunk_lines": chunk_lines}
        assert list(scorer(segmenter, **speed).scores(ODD)) == usual
    model = build(VARIANTS["rnn"], segmenter.size)
    slow, fast = (list(scorer(segmenter, model, batch_tokens=size).scores(PAIRS)) for size in (1, 10_000))
    for one, other in zip(slow, fast, strict=True):
        assert one.log_probability == pytest.approx(other.log_probability, rel=1e-5)


def test_no_batch_has_more_scores_than_may_be_held(segmenter: Segmenter, monkeypatch: pytest.MonkeyPatch) -> None:
    usual = list(scorer(segmenter).scores(PAIRS))
    monkeypatch.setattr(module, "HELD", 50 * segmenter.size)
    asked = scorer(segmenter, batch_tokens=100_000, chunk_lines=100)
    assert list(asked.scores(PAIRS)) == usual
    assert len(asked.model.asked) > 5
    assert all(source.ids.numel() <= 50 for source in asked.model.asked)


def test_what_is_blank_too_long_or_broken_is_counted(segmenter: Segmenter) -> None:
    asked = scorer(segmenter)
    found = list(asked.scores(ODD))
    nothing, end_only, from_nothing, broken, long_source, long_target = found[3:9]
    assert nothing == PairScore(0.0, 0)
    assert (nothing.mean, nothing.perplexity) == (0.0, 1.0)
    (source,) = segmenter.encode(["the dog ."])
    assert end_only.each == pytest.approx(by_hand(asked.model, source, []))
    assert broken == PairScore(-math.inf, 0)
    for score, target in ((from_nothing, "der Hund ."), (long_source, "der Hund ."), (long_target, "y" * 300)):
        assert score == PairScore(-math.inf, len(segmenter.encode([target])[0]) + 1)
        assert (score.mean, score.perplexity) == (-math.inf, math.inf)
    counts = asked.counts
    assert (counts.pairs, counts.scored, counts.blank) == (13, 8, 3)
    assert (counts.too_long, counts.first_too_long, counts.broken, counts.first_broken) == (2, 8, 1, 7)
    assert counts.log_probability == pytest.approx(sum(s.log_probability for s in found if s.each))
    assert counts.tokens == sum(score.tokens for score in found if score.each)


def test_characters_without_a_piece_are_counted() -> None:
    characters = CharactersConfig(byte_fallback=False)
    known = open_segmenter(learn_segmenter(characters, LINES).model, "toy.model")
    asked = scorer(known)
    pair = SentencePair(f"{PAIRS[0].source} ☂", f"☃ {PAIRS[0].target}")
    (found,) = asked.scores([pair])
    assert asked.counts.unknown == 2
    source, target = known.encode(pair)
    assert UNK in target
    assert found.each == pytest.approx(by_hand(asked.model, source, target))


def test_nothing_scored_has_a_perplexity_of_one(segmenter: Segmenter) -> None:
    asked = scorer(segmenter)
    assert list(asked.scores([])) == []
    assert asked.counts.perplexity == 1


def test_a_perplexity_too_large_for_a_float() -> None:
    assert PairScore(-2000.0, 1, (), (-2000.0,)).perplexity == math.inf


@pytest.mark.parametrize("name", ["transformer", "rnn"])
@pytest.mark.parametrize("alpha", [0.0, 0.6])
@pytest.mark.parametrize("tag", ["", "news"])
@pytest.mark.parametrize("kind", ["beam", "sampling"])
def test_a_score_is_that_which_the_search_reported(name: str, alpha: float, tag: str, kind: str) -> None:
    """Of every hypothesis, by its text, those too that the limit ended."""
    segmenter, model = Letters(), build(VARIANTS[name], Letters.size)
    limit = {"max_length_ratio": 0.5, "max_length_extra": 3}
    search = BeamConfig(beam=12, n_best=12, length_penalty=alpha, **limit)
    if kind == "sampling":
        search, alpha = SamplingConfig(n_best=12, **limit), 0.0
    asked = scorer(segmenter, model, search=search, tag=tag)
    asked.normalize_source = asked.normalize_target = str
    translator = LineTranslator(model, segmenter, segmenter, str, asked.config)
    lines = ["", "h", "hund", "vogel", "fuchs", "katze", "wetterhahn"]
    listed = [(line, each) for line, own in zip(lines, translator.hypotheses(lines), strict=True) for each in own]
    scores = list(asked.scores([SentencePair(line, each.text) for line, each in listed], found=True))
    for (_, each), score in zip(listed, scores, strict=True):
        assert score.ids == each.ids
        assert score.log_probability == pytest.approx(each.log_probability, rel=1e-4, abs=1e-5)
        assert score.penalized(alpha) == pytest.approx(each.score, rel=1e-4, abs=1e-5)
    assert {each.finished for _, each in listed} == {True, False}
    assert len(listed) > 20


def test_only_what_a_search_found_may_lack_its_end_mark(segmenter: Segmenter) -> None:
    pair = PAIRS[0]
    (target,) = segmenter.encode([pair.target])
    limits = [len(target) + more for more in (-1, 0, 1)]
    for limit in limits:
        search = BeamConfig(max_length_ratio=0.0, max_length_extra=limit)
        (given,) = scorer(segmenter, search=search).scores([pair])
        (found,) = scorer(segmenter, search=search).scores([pair], found=True)
        assert given.tokens == len(target) + 1
        assert found.tokens == len(target) + (limit != len(target))
        assert found.each == given.each[: found.tokens]


def test_the_tag_comes_before_each_source(segmenter: Segmenter) -> None:
    asked = scorer(segmenter, tag="news")
    (source,) = segmenter.encode([PAIRS[0].source])
    tagged, plain = next(asked.scores(PAIRS[:1])), next(asked.scores(PAIRS[:1], tag=""))
    first, second = asked.model.asked
    assert first.ids[0].tolist() == [segmenter.tag("news"), *source, EOS]
    assert second.ids[0].tolist() == [*source, EOS]
    assert tagged != plain
    with pytest.raises(ConfigError, match=r'^tag = "old": no such tag; choose "news", or remove it$'):
        asked.scores(PAIRS, tag="old")


def test_reads_no_more_than_a_chunk_ahead(segmenter: Segmenter) -> None:
    taken = []

    def pairs() -> Iterator[SentencePair]:
        for number in range(100):
            taken.append(number)
            yield PAIRS[0]

    scores = scorer(segmenter).scores(pairs())
    assert taken == []
    next(scores)
    assert len(taken) == CHUNK


def test_the_model_is_left_as_it_was(segmenter: Segmenter) -> None:
    asked = scorer(segmenter, build(VARIANTS["transformer"], segmenter.size))
    for training in (True, False):
        asked.model.train(training)
        scores = asked.scores(PAIRS)
        first = next(scores)
        assert asked.model.training == training
        assert not torch.is_inference_mode_enabled()
    assert first == next(asked.scores(PAIRS))
