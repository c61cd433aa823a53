"""Forced scoring against sums made by hand."""

import pytest
import torch
from toy.models import VARIANTS, build, random_sentences

from nmtkit.corpus.vocabulary import EOS
from nmtkit.data.batch import Batch, collate
from nmtkit.search import forced
from nmtkit.search.forced import forced_log_probabilities


@pytest.mark.parametrize("finished", [True, False])
def test_sums_the_tokens_and_the_end_mark_of_finished_targets(finished: bool) -> None:
    model = build(VARIANTS["transformer"])
    source, target = [5, 6, 7], [8, 9, 4]
    with torch.inference_mode():
        logits = model.logits(Batch(collate([source]), collate([target])))[0]
        log_probabilities = logits.log_softmax(-1)
        tokens = [*target, EOS] if finished else target
        by_hand = sum(float(log_probabilities[place, token]) for place, token in enumerate(tokens))
        targets = [((7, 7, 7, 7, 7, 7), True), (target, finished)]
        batch = forced_log_probabilities(model, collate([[4], source]), targets)
    assert sum(batch[1]) == pytest.approx(by_hand, rel=1e-5)


@pytest.mark.parametrize("name", VARIANTS)
@pytest.mark.parametrize("held", [1, 100, 10**6])
def test_each_token_is_scored_however_few_scores_are_looked_at(
    name: str, held: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forced, "SLICE", held)
    model = build(VARIANTS[name])
    sources, targets = random_sentences([3, 0, 6]), random_sentences([0, 4, 2], seed=1)
    with torch.inference_mode():
        scores = model.logits(Batch(collate(sources), collate(targets))).log_softmax(-1)
        found = forced_log_probabilities(model, collate(sources), list(zip(targets, [True, False, True], strict=True)))
    chosen = [[EOS], targets[1], [*targets[2], EOS]]
    for own, tokens, row in zip(found, chosen, scores.tolist(), strict=True):
        by_hand = [row[place][token] for place, token in enumerate(tokens)]
        assert own == pytest.approx(by_hand, rel=1e-6)
