"""What every search promises, over every member of the union and every model."""

from collections.abc import Sequence
from itertools import pairwise

import pytest
import torch
from toy.models import VARIANTS, build, random_sentences
from toy.tables import TableModel
from toy.union import members

from nmtkit.corpus.vocabulary import BOS, EOS, PAD, UNK
from nmtkit.data.batch import Batch, Padded, collate
from nmtkit.models.base import AutoregressiveModel
from nmtkit.search.base import Hypothesis, Place
from nmtkit.search.forced import forced_log_probabilities
from nmtkit.search.settings import BeamConfig, GreedyConfig, SamplingConfig, SearchConfig

LIMIT = {"max_length_ratio": 1.5, "max_length_extra": 3}

SEARCHES: dict[str, SearchConfig] = {
    **{f"{kind.model_fields['kind'].default}": kind(**LIMIT) for kind in members(SearchConfig)},
    "beam-1": BeamConfig(beam=1, **LIMIT),
    "beam-5-of-5": BeamConfig(beam=5, n_best=5, length_penalty=1.0, **LIMIT),
    "beam-40-of-3": BeamConfig(beam=40, n_best=3, length_penalty=0.0, **LIMIT),
    "sampling-5-of-the-likely": SamplingConfig(n_best=5, temperature=0.8, top_k=12, top_p=0.9, **LIMIT),
}
MODELS = [*VARIANTS, "table"]

every_search = pytest.mark.parametrize("search", SEARCHES.values(), ids=SEARCHES.keys())
every_model = pytest.mark.parametrize("name", MODELS)


def model_named(name: str) -> AutoregressiveModel:
    return TableModel(23, seed=3).eval() if name == "table" else build(VARIANTS[name])


def search_with(
    config: SearchConfig, model: AutoregressiveModel, source: Padded, places: Sequence[Place] | None = None
) -> list[list[Hypothesis]]:
    with torch.inference_mode():
        return config.build()(model, source, places)


def same_or_tied(one: list[Hypothesis], other: list[Hypothesis]) -> None:
    """Check that two n-best lists agree; where rounding made them differ, the scores must be tied below 1e-5."""
    assert len(one) == len(other)
    for a, b in zip(one, other, strict=True):
        assert a.score == pytest.approx(b.score, rel=1e-5, abs=1e-5)
        if a.ids == b.ids:
            assert a.log_probability == pytest.approx(b.log_probability, rel=1e-5, abs=1e-5)
            assert a.finished == b.finished


@every_model
@every_search
def test_reported_log_probability_is_the_forced_score(name: str, search: SearchConfig) -> None:
    model = model_named(name)
    sentences = random_sentences([1, 4, 9, 0, 6])
    for sentence, hypotheses in zip(sentences, search_with(search, model, collate(sentences)), strict=True):
        source = collate([sentence] * len(hypotheses))
        with torch.inference_mode():
            forced = forced_log_probabilities(model, source, [(h.ids, h.finished) for h in hypotheses])
        assert [h.log_probability for h in hypotheses] == pytest.approx([sum(each) for each in forced], rel=1e-4)


@every_model
@every_search
def test_best_first_without_duplicates_and_without_control_ids(name: str, search: SearchConfig) -> None:
    sentences = random_sentences([3, 7, 1, 12])
    n_best = getattr(search, "n_best", 1)
    for hypotheses in search_with(search, model_named(name), collate(sentences)):
        assert 1 <= len(hypotheses) <= n_best
        assert all(better.score >= worse.score for better, worse in pairwise(hypotheses))
        assert len({h.ids for h in hypotheses}) == len(hypotheses)
        assert not {PAD, BOS, EOS} & {token for h in hypotheses for token in h.ids}


@every_model
@every_search
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2))])
def test_batch_size_order_and_neighbours_change_nothing(name: str, search: SearchConfig, seed: int) -> None:
    model = model_named(name)
    generator = torch.Generator().manual_seed(seed)
    lengths = torch.randint(0, 14, (7,), generator=generator).tolist()
    sentences = random_sentences(lengths, seed)
    places = [Place(number * 3, number % 2) for number in range(len(sentences))]
    together = search_with(search, model, collate(sentences), places)
    order = torch.randperm(len(sentences), generator=generator).tolist()
    source = collate([sentences[place] for place in order])
    shuffled = search_with(search, model, source, [places[place] for place in order])
    for rank, place in enumerate(order):
        same_or_tied(shuffled[rank], together[place])
    for place, sentence in enumerate(sentences):
        alone = search_with(search, model, collate([sentence]), [places[place]])[0]
        same_or_tied(alone, together[place])
        if name == "table":
            assert alone == together[place]


@every_model
@every_search
def test_padding_columns_change_nothing(name: str, search: SearchConfig) -> None:
    model = model_named(name)
    source = collate(random_sentences([5, 2]))
    wider = Padded(torch.cat([source.ids, torch.full((2, 4), PAD)], dim=1), source.lengths)
    for one, other in zip(search_with(search, model, source), search_with(search, model, wider), strict=True):
        same_or_tied(one, other)


@every_search
def test_the_limit_is_each_sentences_own(search: SearchConfig) -> None:
    endless = TableModel(23, end=-1e4).eval()
    lengths = [0, 1, 10, 4]
    for length, hypotheses in zip(
        lengths, search_with(search, endless, collate(random_sentences(lengths))), strict=True
    ):
        assert {len(h.ids) for h in hypotheses} == {int(1.5 * length) + 3}
        assert not any(h.finished for h in hypotheses)


@every_search
def test_a_limit_of_one_token(search: SearchConfig) -> None:
    tight = search.model_copy(update={"max_length_ratio": 0.0, "max_length_extra": 1})
    for hypotheses in search_with(tight, TableModel(23).eval(), collate(random_sentences([5, 0, 2]))):
        assert all(len(h.ids) + h.finished == 1 for h in hypotheses)


@every_search
def test_every_sentence_is_answered_by_a_broken_model(search: SearchConfig) -> None:
    for value in (float("nan"), -float("inf")):
        broken = TableModel(23).eval()
        with torch.no_grad():
            broken.table.fill_(value)
        assert all(len(found) >= 1 for found in search_with(search, broken, collate([[5], [6, 7]])))


@every_model
def test_greedy_is_a_beam_of_one(name: str) -> None:
    model = model_named(name)
    source = collate(random_sentences([1, 9, 4, 2, 13, 6]))
    greedy = search_with(GreedyConfig(**LIMIT), model, source)
    assert greedy == search_with(BeamConfig(beam=1, length_penalty=0.0, **LIMIT), model, source)
    for (one,), (other,) in zip(greedy, search_with(BeamConfig(beam=1, **LIMIT), model, source), strict=True):
        assert one.ids == other.ids
        assert one.log_probability == other.log_probability


@every_model
def test_the_best_is_the_first_of_the_n_best(name: str) -> None:
    model = model_named(name)
    source = collate(random_sentences([1, 9, 4, 2, 13, 6]))
    five = search_with(BeamConfig(beam=5, n_best=5, **LIMIT), model, source)
    for n_best in (1, 3):
        fewer = search_with(BeamConfig(beam=5, n_best=n_best, **LIMIT), model, source)
        for short, long in zip(fewer, five, strict=True):
            for one, other in zip(short, long[:n_best], strict=True):
                same_or_tied([one], [other])
                if name == "table":
                    assert one == other


def exhaustive(
    model: AutoregressiveModel, sentence: list[int], vocabulary: int, limit: int, alpha: float
) -> list[tuple[float, float, tuple[int, ...]]]:
    """Return (score, log-probability, ids) of every translation of at most `limit` tokens, best first."""
    found = []
    prefixes: dict[tuple[int, ...], float] = {(): 0.0}
    for length in range(limit + 1):
        penalty = ((5 + length) / 6) ** alpha
        for prefix, total in list(prefixes.items()):
            if length == limit or (prefix and prefix[-1] == EOS):
                found.append((total / penalty, total, tuple(token for token in prefix if token != EOS)))
                del prefixes[prefix]
        if prefixes:
            batch = Batch(collate([sentence] * len(prefixes)), collate([list(prefix) for prefix in prefixes]))
            with torch.inference_mode():
                scores = model.logits(batch)[:, -1].double().log_softmax(-1).tolist()
            prefixes = {
                (*prefix, token): total + own[token]
                for (prefix, total), own in zip(prefixes.items(), scores, strict=True)
                for token in range(vocabulary)
                if token not in (PAD, BOS)
            }
    return sorted(found, reverse=True)


@every_model
@pytest.mark.parametrize("alpha", [0.0, 0.6, 1.0])
def test_a_wide_beam_finds_what_exhaustive_search_finds(name: str, alpha: float) -> None:
    vocabulary, limit, sentences = 7, 4, [[5], [4, 6, 5]]
    model = TableModel(vocabulary, seed=1).eval() if name == "table" else build(VARIANTS[name], vocabulary)
    config = BeamConfig(beam=400, n_best=400, length_penalty=alpha, max_length_ratio=0.0, max_length_extra=limit)
    for sentence, hypotheses in zip(sentences, search_with(config, model, collate(sentences)), strict=True):
        expected = exhaustive(model, sentence, vocabulary, limit, alpha)
        # 4 tokens beside the end mark: 1 + 4 + 16 + 64 translations with an end mark, 4^4 without
        assert len(hypotheses) == len(expected) == 85 + 256
        assert [h.score for h in hypotheses] == pytest.approx([score for score, *_ in expected], rel=1e-4)
        assert {h.ids for h in hypotheses} == {ids for *_, ids in expected}
        assert hypotheses[0].ids == expected[0][2]
        best = config.model_copy(update={"n_best": 1})
        assert search_with(best, model, collate([sentence]))[0][0].ids == expected[0][2]


def test_unknown_may_be_chosen() -> None:
    model = TableModel(9).eval()
    with torch.no_grad():
        model.table[:, UNK] = 50.0
    for search in SEARCHES.values():
        assert UNK in search_with(search, model, collate([[5, 6]]))[0][0].ids
