"""A trainer over random pairs, without files to read from."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from nmtkit.data.epochs import Batches
from nmtkit.data.mixing import CorpusRange
from nmtkit.data.store import PairStore, Sentences
from nmtkit.log import Log
from nmtkit.models.base import Model
from nmtkit.models.settings import ModelConfig
from nmtkit.models.transformer.settings import TransformerConfig
from nmtkit.run_folder import RunFolder
from nmtkit.training.feeding import Material
from nmtkit.training.parallel import Whole
from nmtkit.training.precision import Precision
from nmtkit.training.reporting import Reporter
from nmtkit.training.settings import TrainConfig
from nmtkit.training.signals import Interruption
from nmtkit.training.state import Origin, TrainingState
from nmtkit.training.trainer import Trainer
from nmtkit.training.validation import Validator
from nmtkit.training.workplace import Learner, Workplace
from toy.models import VOCABULARY, random_sentences

WIDTH_16 = TransformerConfig(encoder_layers=1, decoder_layers=1, width=16, feed_forward=24, heads=2, dropout=0.0)
ORIGIN = Origin("fp32", "source", "target", "data", WIDTH_16.of_weights, dev="")


def sentences(ids: Sequence[Sequence[int]]) -> Sentences:
    """Return sentences held in memory."""
    offsets = np.cumsum([0, *map(len, ids)], dtype=np.int64)
    return Sentences(
        np.concatenate([np.asarray(each, np.int64) for each in ids]), offsets, np.diff(offsets).astype(np.int32)
    )


def random_pairs(count: int, seed: int = 0, longest: int = 9) -> PairStore:
    """Return pairs of random sentences of 1 to `longest` pieces."""
    lengths = np.random.default_rng(seed).integers(1, longest + 1, (2, count)).tolist()
    source, target = (random_sentences(side, seed + place) for place, side in enumerate(lengths))
    return PairStore(sentences(source), sentences(target))


def train_config(**values: Any) -> TrainConfig:
    """Return settings for small, fast updates, with some of them replaced."""
    defaults = {
        "batch": {"tokens_per_update": 200, "tokens_per_tensor": 60},
        "schedule": {"kind": "constant", "peak": 0.01},
        "stop": {"updates": 4},
        "validation": {"every": 0},
        "checkpoints": {"every": 100, "average": 0},
        "label_smoothing": 0.0,
    }
    return TrainConfig.model_validate({**defaults, **values})


def make_trainer(
    folder: Path,
    config: TrainConfig,
    pairs: PairStore,
    *,
    model: Model | None = None,
    model_config: ModelConfig = WIDTH_16,
    precision: Precision = "fp32",
    validator: Validator | None = None,
    state: TrainingState | None = None,
) -> Trainer:
    """Return a trainer on the CPU that writes into `folder`."""
    torch.manual_seed(config.seed)
    model = model or model_config.build(VOCABULARY, VOCABULARY)
    log, run = Log("quiet"), RunFolder(folder)
    reporter = Reporter(log, run, config.stop, every=config.log_every, tensorboard=False)
    whole = [CorpusRange(0, len(pairs))]
    return Trainer(
        Learner(Whole(model), config.optimizer.build(model.parameters()), model_config.width),
        Material(pairs, Batches(pairs.source.lengths, pairs.target.lengths, whole, config.batch, seed=config.seed)),
        validator,
        config,
        state=state or TrainingState(),
        origin=ORIGIN,
        place=Workplace(run, torch.device("cpu"), precision, log, reporter, Interruption()),
    )
