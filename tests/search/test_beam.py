"""Beam search against a slow one written out, early stopping, and the work it saves."""

import pytest
import torch
from toy.models import VARIANTS, build, random_sentences
from toy.tables import TableModel

from nmtkit.corpus.vocabulary import BOS, EOS, PAD
from nmtkit.data.batch import collate
from nmtkit.models.base import AutoregressiveModel
from nmtkit.search.base import Hypothesis, LengthLimit
from nmtkit.search.beam import BeamSearch

LIMIT = LengthLimit(1.0, 4)


def naive_beam(
    model: AutoregressiveModel, sentence: list[int], beam: int, alpha: float, limit: int
) -> list[tuple[tuple[int, ...], float]]:
    """Return (tokens chosen, score) of all hypotheses that end, best first: one sentence, lists, no early stopping."""
    memory = model.encode(collate([sentence]))
    open_ones = [((), torch.tensor(0.0), model.start(memory), BOS)]
    ended = []
    for length in range(1, limit + 1):
        grown = []
        for tokens, log_probability, state, last in open_ones:
            scores, after = model.step(torch.tensor([last]), memory, dict(state))
            for token, more in enumerate(scores[0].log_softmax(-1)):
                if token not in (PAD, BOS):
                    grown.append(((*tokens, token), log_probability + more, after, token))
        grown.sort(key=lambda hypothesis: -float(hypothesis[1]))
        open_ones = []
        for hypothesis in grown[: beam - len(ended)]:
            tokens, log_probability, _, last = hypothesis
            if last == EOS or length == limit:
                ended.append((tokens, float(log_probability) / ((5 + length) / 6) ** alpha))
            else:
                open_ones.append(hypothesis)
    return sorted(ended, key=lambda pair: -pair[1])


def chosen(hypothesis: Hypothesis) -> tuple[int, ...]:
    return (*hypothesis.ids, EOS) if hypothesis.finished else hypothesis.ids


@pytest.mark.parametrize("alpha", [0.0, 0.6, 1.5])
@pytest.mark.parametrize("beam", [1, 2, 3, 8])
@pytest.mark.parametrize("vocabulary", [5, 20])
def test_equals_a_beam_search_written_out(vocabulary: int, beam: int, alpha: float) -> None:
    for seed in range(4):
        model = TableModel(vocabulary, seed, end=1.0).eval()
        sentences = random_sentences([0, 3, 6, 1], seed, vocabulary)
        search = BeamSearch(beam, alpha, beam, LIMIT)
        with torch.inference_mode():
            found = search(model, collate(sentences))
            for sentence, hypotheses in zip(sentences, found, strict=True):
                expected = naive_beam(model, sentence, beam, alpha, len(sentence) + 4)
                assert [chosen(h) for h in hypotheses] == [tokens for tokens, _ in expected]
                assert [h.score for h in hypotheses] == pytest.approx([score for _, score in expected], rel=1e-5)


@pytest.mark.parametrize("alpha", [0.0, 0.6, 2.0])
@pytest.mark.parametrize("n_best", [1, 2, 5])
@pytest.mark.parametrize("end", [0.0, 2.0])
def test_early_stopping_never_changes_the_result(alpha: float, n_best: int, end: float) -> None:
    saved = 0
    for seed in range(12):
        model = TableModel(12, seed, end=end).eval()
        source = collate(random_sentences([0, 3, 6, 1, 12], seed, 12))
        with torch.inference_mode():
            early = BeamSearch(5, alpha, n_best, LIMIT)(model, source)
            rows = model.rows
            late = BeamSearch(5, alpha, n_best, LIMIT, stop_early=False)(model, source)
        saved += (model.rows - rows) - rows
        assert early == late
    if n_best == 1 and end:
        assert saved > 0


def test_early_stopping_never_changes_the_result_of_a_network() -> None:
    for variant in VARIANTS.values():
        model = build(variant)
        source = collate(random_sentences([0, 3, 6, 1, 12]))
        with torch.inference_mode():
            early = BeamSearch(4, 0.6, 1, LIMIT)(model, source)
            late = BeamSearch(4, 0.6, 1, LIMIT, stop_early=False)(model, source)
        for (one,), (other,) in zip(early, late, strict=True):
            assert one.score == pytest.approx(other.score, rel=1e-5)


def test_a_later_better_hypothesis_wins_over_the_first_that_ends() -> None:
    # One token ends at once with 0.5; the other way costs 0.5 too but goes on for sure, and length is
    # rewarded.
    model = TableModel(6).eval()
    with torch.no_grad():
        model.table.fill_(-100.0)
        model.table[:, 4] = 0.0
        key = model.step(torch.tensor([BOS]), {"key": torch.zeros(1)}, model.encode(collate([[5]])))[1]["key"]
        model.table[key] = torch.tensor([-100.0, -100.0, -100.0, 0.001, 0.0, -100.0])
    with torch.inference_mode():
        ((best,),) = BeamSearch(2, 1.0, 1, LengthLimit(0.0, 3))(model, collate([[5]]))
        ((first,),) = BeamSearch(1, 1.0, 1, LengthLimit(0.0, 3))(model, collate([[5]]))
    assert first.ids == ()
    assert best.ids == (4, 4, 4)
    assert not best.finished
    assert best.score == pytest.approx(best.log_probability / (8 / 6))


def test_sentences_and_hypotheses_that_ended_cost_nothing() -> None:
    model = TableModel(30, spread=0.1).eval()
    with torch.no_grad():
        model.table[:, 3] = -30.0
    lengths = [0, 0, 0, 20]
    with torch.inference_mode():
        BeamSearch(4, 0.6, 1, LengthLimit(1.0, 2))(model, collate(random_sentences(lengths, vocabulary=30)))
    # first step: one row a sentence; second: four each; then the long sentence alone
    assert model.rows == 4 + 4 * 4 + 20 * 4
