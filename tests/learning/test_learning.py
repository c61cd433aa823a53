"""Training learns: small tasks that a model without attention to its source could not do."""

from pathlib import Path

import pytest
import torch
from toy.models import random_sentences
from toy.projects import Project
from toy.training import make_trainer, sentences, train_config
from toy.union import members

from nmtkit.data.store import PairStore
from nmtkit.models.rnn.settings import RnnConfig
from nmtkit.models.settings import ModelConfig
from nmtkit.models.transformer.settings import TransformerConfig
from nmtkit.training.validation import DevSet, Validator

pytestmark = pytest.mark.slow

_SIZES = {"encoder_layers": 1, "decoder_layers": 1, "width": 32, "dropout": 0.0}

COPYING: dict[str, ModelConfig] = {
    "transformer": TransformerConfig(**_SIZES, feed_forward=64, heads=4),
    "rnn-gru-additive": RnnConfig(**_SIZES, cell="gru", attention="additive"),
    "rnn-lstm-dot-unfed": RnnConfig(**_SIZES, cell="lstm", attention="dot", input_feeding=False),
}


def copies(count: int, seed: int) -> PairStore:
    """Return pairs of equal random sentences of 4 pieces: nothing but the source tells what comes next."""
    ids = random_sentences([4] * count, seed)
    return PairStore(sentences(ids), sentences(ids))


def test_every_architecture_has_to_copy() -> None:
    assert {type(config) for config in COPYING.values()} == set(members(ModelConfig))


@pytest.mark.parametrize("name", COPYING)
def test_copying_is_learned_from_the_source(name: str, tmp_path: Path) -> None:
    """A model that ignores its source cannot do better than a perplexity of 19^(4/5) = 10.5 per piece."""
    config = train_config(
        batch={"tokens_per_update": 1_000, "tokens_per_tensor": 1_000},
        schedule={"kind": "constant", "peak": 0.005, "warmup": 30},
        stop={"updates": 500},
    )
    trainer = make_trainer(tmp_path, config, copies(4_000, seed=1), model_config=COPYING[name])
    held_out = DevSet(copies(50, seed=2), [], [])
    validator = Validator(trainer.model, held_out, None, tokens=1_000, device=torch.device("cpu"))
    assert validator().perplexity > 10.5
    trainer.train()
    assert validator().perplexity < 1.2


def test_the_toy_language_is_learned_to_the_end(fresh: Project) -> None:
    fresh.train(
        "train.stop.updates=600",
        "train.batch={tokens_per_update=1500, tokens_per_tensor=1500}",
        "train.validation.every=200",
        "train.checkpoints.every=50",
    )
    assert fresh.records("validation")[-1]["score"] > 50
