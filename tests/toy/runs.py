"""A run folder with an untrained model, as training would leave it, made in a moment."""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from nmtkit.config import dump, resolve
from nmtkit.corpus.segmenters import learn_segmenter, open_segmenter
from nmtkit.run_folder import RunFolder, write_text
from nmtkit.training.checkpoints import WEIGHTS, write_folder
from nmtkit.training.parallel import own_tensors
from nmtkit.training.state import Origin, TrainingState
from toy.corpora import config_values, count_sentences, sentence_pair


def write_run(folder: Path, overrides: Mapping[str, Any] | None = None, *, update: int = 8, seed: int = 1) -> RunFolder:
    """Write config.toml, a joint vocabulary of the toy language, and one checkpoint whose weights are random."""
    run = RunFolder(folder)
    config = resolve(config_values(overrides), "toy")
    write_text(run.config, dump(config))
    pairs = [sentence_pair(number) for number in range(0, count_sentences(), 97)]
    sides = [side for pair in pairs for side in pair]
    learned = learn_segmenter(config.prepare.segmenter, sides, tags=config.corpus.trained_tags)
    run.data.mkdir(parents=True, exist_ok=True)
    for file in (run.source_segmenter, run.target_segmenter):
        file.write_bytes(learned.model)
    segmenter = open_segmenter(learned.model, str(run.source_segmenter))
    torch.manual_seed(seed)
    model = config.model.build(segmenter.size, segmenter.size)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    fingerprint, settings = segmenter.fingerprint, config.model.of_weights
    origin = Origin("fp32", fingerprint, fingerprint, "no data", settings, dev="")
    state = {"state": asdict(TrainingState(update=update)), "origin": asdict(origin), "regular": True}
    write_folder(run.checkpoints / f"{update:08d}", {WEIGHTS: own_tensors(model)}, state)
    return run
