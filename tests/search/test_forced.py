"""Forced scoring against sums made by hand."""

import pytest
import torch
from toy.models import VARIANTS, build

from nmtkit.corpus.vocabulary import EOS
from nmtkit.data.batch import Batch, collate
from nmtkit.search.forced import forced_scores


@pytest.mark.parametrize("finished", [True, False])
def test_sums_the_tokens_and_the_end_mark_of_finished_targets(finished: bool) -> None:
    model = build(VARIANTS["transformer"])
    source, target = [5, 6, 7], [8, 9, 4]
    with torch.inference_mode():
        logits = model.logits(Batch(collate([source]), collate([target])))[0]
        log_probabilities = logits.log_softmax(-1)
        tokens = [*target, EOS] if finished else target
        by_hand = sum(float(log_probabilities[place, token]) for place, token in enumerate(tokens))
        batch = forced_scores(model, collate([[4], source]), [((7, 7, 7, 7, 7, 7), True), (target, finished)])
    assert batch[1] == pytest.approx(by_hand, rel=1e-5)
