"""Training on pieces drawn anew: what is counted is what was drawn, and nothing is drawn for validation."""

from pathlib import Path

import pytest
from toy.segmenters import LINES, segmenter
from toy.training import WIDTH_16, make_trainer, sentences, train_config

from nmtkit.data.batch import Part
from nmtkit.data.resegmenting import build_resegmenter
from nmtkit.data.settings import SamplingConfig
from nmtkit.data.store import PairStore
from nmtkit.training.engine import Outcome


@pytest.mark.parametrize("on", [True, False])
def test_the_loss_is_divided_by_the_tokens_that_were_drawn(tmp_path: Path, on: bool) -> None:
    own = segmenter("bpe")
    ids = own.encode(LINES[:60])
    pairs = PairStore(sentences(ids), sentences(ids[::-1]))
    trainer = make_trainer(tmp_path, train_config(stop={"updates": 3}), pairs, model=WIDTH_16.build(own.size, own.size))
    drawing = build_resegmenter(own, own, SamplingConfig(source=on, target=on, dropout=0.4), seed=1)
    trainer.material = trainer.material._replace(resegment=drawing)
    gradients = trainer.engine.gradients
    divided, drawn = [], []

    def watch(parts: list[Part], number: int, tokens: int) -> Outcome:
        if number:
            divided.append(tokens)
            drawn.append(sum(int(part.batch.target.lengths.sum()) for part in parts))
        return gradients(parts, number, tokens)

    trainer.engine.gradients = watch
    trainer.train()
    assert divided == drawn
    planned = [
        sum(int(pairs.target.lengths[tensor].sum()) + len(tensor) for tensor in step.update.tensors)
        for step, _ in zip(trainer.material.batches.steps(type(trainer.state.position)()), range(3), strict=False)
    ]
    assert (sum(drawn) > sum(planned)) == on
    assert on or drawn == planned
