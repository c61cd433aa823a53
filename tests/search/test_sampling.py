"""Sampling: what is drawn is as probable as it should be, and depends on seed and place alone."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from toy.models import VARIANTS, build, random_sentences
from toy.tables import TableModel

from nmtkit.corpus.draws import seeds_of, uniforms, uniforms_at
from nmtkit.corpus.vocabulary import BOS, EOS, PAD
from nmtkit.data.batch import Batch, collate
from nmtkit.models.base import AutoregressiveModel
from nmtkit.search.base import Hypothesis, LengthLimit, Place
from nmtkit.search.greedy import GreedySearch
from nmtkit.search.sampling import DECISIONS, FEW, Chances, SamplingSearch

LIMIT = LengthLimit(0.0, 3)
EVERYTHING = Chances(1.0, 0, 1.0)


def sampled(
    model: AutoregressiveModel,
    sentences: list[list[int]],
    places: Sequence[Place] | None = None,
    *,
    samples: int = 1,
    chances: Chances = EVERYTHING,
    seed: int = 1,
) -> list[list[Hypothesis]]:
    with torch.inference_mode():
        return SamplingSearch(samples, chances, seed, LIMIT)(model, collate(sentences), places)


def narrowed(probabilities: list[float], chances: Chances) -> list[float]:
    """Return the probabilities that tokens should be drawn with, by the words of the settings."""
    powers = [p ** (1 / chances.temperature) for p in probabilities]
    powers[PAD] = powers[BOS] = 0.0
    likely = sorted(range(len(powers)), key=lambda token: -powers[token])[: chances.top_k or None]
    total, share, kept = sum(powers[token] for token in likely), 0.0, set[int]()
    for token in likely:
        if share < chances.top_p * total:
            kept.add(token)
            share += powers[token]
    return [powers[token] / share if token in kept else 0.0 for token in range(len(powers))]


def expected(model: TableModel, sentence: list[int], chances: Chances) -> dict[tuple[int, ...], float]:
    """Return every translation of at most 3 tokens, end mark included, with its probability."""
    ended, open_ones = dict[tuple[int, ...], float](), {(): 1.0}
    for _ in range(LIMIT.extra):
        grown = {}
        for prefix, before in open_ones.items():
            with torch.inference_mode():
                scores = model.logits(Batch(collate([sentence]), collate([list(prefix)])))[0, -1].double()
            for token, share in enumerate(narrowed(scores.softmax(-1).tolist(), chances)):
                place = ended if token == EOS else grown
                place[*prefix, token] = before * share
        open_ones = grown
    return ended | open_ones


@pytest.mark.parametrize(
    "chances",
    [EVERYTHING, Chances(0.6, 0, 1.0), Chances(2.0, 3, 1.0), Chances(1.0, 0, 0.7), Chances(0.8, 4, 0.8)],
    ids=str,
)
def test_translations_come_as_often_as_they_are_probable(chances: Chances) -> None:
    """Pearson's chi-square over all translations there are; those that hardly ever come are counted as one."""
    model, sentence, draws = TableModel(7, seed=2, spread=0.8, end=-1.0).eval(), [5, 6], 4000
    found = sampled(model, [sentence] * draws, chances=chances)
    counts = Counter((*h.ids, EOS) if h.finished else h.ids for (h,) in found)
    probabilities = expected(model, sentence, chances)
    assert sum(probabilities.values()) == pytest.approx(1.0)
    assert not [ids for ids in counts if not probabilities[ids]]
    seldom = {ids for ids, p in probabilities.items() if p * draws < 5}
    cells = [(counts[ids], p * draws) for ids, p in probabilities.items() if ids not in seldom]
    rest = sum(probabilities[ids] for ids in seldom) * draws
    if rest >= 5:
        cells.append((sum(counts[ids] for ids in seldom), rest))
    statistic = sum((count - mean) ** 2 / mean for count, mean in cells)
    free = len(cells) - 1
    assert free >= 3
    # Mean and variance of the distribution are the degrees of freedom and twice that.
    assert abs(statistic - free) < 4 * (2 * free) ** 0.5


@pytest.mark.parametrize("share", [1.0, 0.9, 0.2])
def test_tokens_of_a_large_vocabulary_come_as_often_as_they_are_probable(share: float) -> None:
    vocabulary, draws, cells = FEW + 103, 4_000, 8
    scores = 0.2 * torch.randn(1, vocabulary, generator=torch.Generator().manual_seed(3)).double()
    scores[:, [PAD, BOS]] = -float("inf")
    chances = Chances(1.0, 0, share)
    numbers = torch.rand(DECISIONS, draws, dtype=torch.float64, generator=torch.Generator().manual_seed(4))
    tokens = chances.draw(scores.log_softmax(-1).expand(draws, -1), numbers).tolist()
    shares = np.array(narrowed(scores.softmax(-1)[0].tolist(), chances))
    assert not [token for token in tokens if not shares[token]]
    counts = np.bincount(tokens, minlength=vocabulary)
    for order in (np.arange(vocabulary), np.argsort(-shares)):
        edges = np.searchsorted(np.cumsum(shares[order]), np.arange(1, cells) / cells)
        means = np.array([part.sum() for part in np.split(shares[order], edges)]) * draws
        found = np.array([part.sum() for part in np.split(counts[order], edges)])
        assert means.min() > 100
        assert abs(((found - means) ** 2 / means).sum() - (cells - 1)) < 4 * (2 * (cells - 1)) ** 0.5


def test_what_is_rounded_elsewhere_draws_hardly_any_other_token() -> None:
    """Looked up among sums of probabilities some 24 of these draws would come out otherwise."""
    generator = torch.Generator().manual_seed(5)
    scores = torch.randn(1, 4_000, generator=generator)
    others = scores + 1e-5 * (torch.arange(4_000) < 2_000)
    drawn: list[list[Tensor]] = [[], []]
    for _ in range(20):
        numbers = torch.rand(DECISIONS, 200, dtype=torch.float64, generator=generator)
        for given, tokens in zip((scores, others), drawn, strict=True):
            tokens.append(EVERYTHING.draw(given.log_softmax(-1).expand(200, -1), numbers))
    assert (torch.cat(drawn[0]) != torch.cat(drawn[1])).sum() <= 1


@pytest.mark.parametrize("name", VARIANTS)
@pytest.mark.parametrize("chances", [Chances(1.0, 1, 1.0), Chances(1.0, 0, 1e-9), Chances(1e-4, 0, 1.0)], ids=str)
def test_where_one_token_is_left_it_is_greedy(name: str, chances: Chances) -> None:
    model, sentences = build(VARIANTS[name]), random_sentences([4, 1, 7])
    with torch.inference_mode():
        greedy = GreedySearch(LIMIT)(model, collate(sentences))
    assert sampled(model, sentences, chances=chances) == greedy


def test_the_place_and_the_seed_decide() -> None:
    model = TableModel(50).eval()
    places = [Place(7), Place(8), Place(7, 1), Place(7), Place(2**40)]
    found = [h.ids for (h,) in sampled(model, [[5, 6]] * 5, places)]
    assert found[0] == found[3]
    assert len({*found}) == 4
    assert [h.ids for (h,) in sampled(model, [[5, 6]] * 5, places, seed=2)] != found


@pytest.mark.parametrize("vocabulary", [1_500, 3_000, 8_000, 20_000])
def test_a_neighbour_that_needs_more_tokens_changes_nothing(vocabulary: int) -> None:
    """Of a flat row more than FEW tokens have to be sorted, and so those of all rows beside it are."""
    generator = torch.Generator().manual_seed(1)
    peaked = (8 * torch.randn(300, vocabulary, generator=generator)).log_softmax(-1)
    flat = torch.zeros(1, vocabulary).log_softmax(-1)
    numbers = torch.rand(DECISIONS, 301, generator=generator, dtype=torch.float64)
    chances = Chances(1.0, 0, 0.9)
    together = chances.draw(torch.cat([peaked, flat]), numbers)
    assert torch.equal(together[:-1], chances.draw(peaked, numbers[:, :-1]))


def test_places_are_counted_where_none_are_given() -> None:
    model, sentences = TableModel(50).eval(), random_sentences([3, 3, 3])
    assert sampled(model, sentences) == sampled(model, sentences, [Place(line) for line in range(3)])


def test_further_samples_change_none_of_the_first() -> None:
    model, sentences = TableModel(50).eval(), random_sentences([3, 0, 8])
    one, many = (sampled(model, sentences, samples=samples) for samples in (1, 6))
    for (first,), all_of_them in zip(one, many, strict=True):
        assert first in all_of_them
        assert len(all_of_them) > 1


def test_samples_that_are_the_same_count_once() -> None:
    model = TableModel(30).eval()
    with torch.no_grad():
        model.table[:, 9] = 60.0
    (found,) = sampled(model, [[5, 6]], samples=5)
    assert [h.ids for h in found] == [(9, 9, 9)]


def test_sentences_and_samples_that_ended_cost_nothing() -> None:
    model = TableModel(30, spread=0.1, end=-1e4).eval()
    with torch.inference_mode():
        search = SamplingSearch(3, EVERYTHING, 1, LengthLimit(1.0, 1))
        search(model, collate(random_sentences([0, 0, 5], vocabulary=30)))
    # All three sentences have three samples in the first step; then the long one alone goes on for five.
    assert model.rows == 3 * 3 + 5 * 3


def test_each_place_of_a_sequence_can_be_had_by_itself() -> None:
    seeds = seeds_of(3, [1, 2, 2**63], 0)
    listed = np.array(uniforms(seeds, [9] * 3)).reshape(3, 9)
    assert uniforms_at(seeds, [0, 8, 5]).tolist() == listed.T[[0, 8, 5]].tolist()
    assert len({*seeds_of(3, np.arange(100), 0).tolist(), *seeds_of(3, 0, np.arange(1, 100)).tolist()}) == 199


def test_a_seed_of_any_size() -> None:
    wide: Any = [seeds_of(seed, [0])[0] for seed in (0, 1, 2**64 - 1, 2**70 + 5)]
    assert len({*wide}) == 4
