"""Averaging: the mean of the weights of several checkpoints (Vaswani et al. 2017, section 6.1)."""

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from torch import Tensor

from nmtkit.errors import CheckpointError
from nmtkit.metrics.base import Score
from nmtkit.run_folder import RunFolder
from nmtkit.training.checkpoints import Checkpoint, Warn, best_first, checkpoint_folders, usable_checkpoints
from nmtkit.training.tensor_folder import WEIGHTS, write_folder


def choose_last(run: RunFolder, count: int, warn: Warn) -> list[Checkpoint]:
    """Return the checkpoints to average, oldest first: the newest of all and the newest regular ones, `count` in all.

    Those written in between by a signal or a new best score would shift the mean towards where they happen to stand.
    There may be fewer: a short training writes fewer.
    """
    usable = usable_checkpoints(run.checkpoints, warn, read=True)
    regular = [checkpoint for checkpoint in usable[:-1] if checkpoint.regular]
    return [*regular, *usable[-1:]][-count:]


def choose_best(run: RunFolder, count: int, warn: Warn) -> list[Checkpoint]:
    """Return the `count` best checkpoints by development score, oldest first. There may be fewer."""
    best = best_first(usable_checkpoints(run.checkpoints, warn, read=True))[:count]
    return sorted(best, key=lambda checkpoint: checkpoint.update)


def mean_weights(files: Sequence[Path]) -> dict[str, Tensor]:
    """Return the mean of each tensor over weights files of one model, summed in float64, in the dtype of the first.

    Holds one tensor of each file at a time. Raises CheckpointError where the files are not of one model.
    """
    with ExitStack() as stack:
        opened: list[Any] = [stack.enter_context(safe_open(file, framework="pt")) for file in files]
        names = sorted(opened[0].keys())
        for file, source in zip(files, opened, strict=True):
            if sorted(source.keys()) != names:
                raise CheckpointError(f"{file}: holds other tensors than {files[0]}; average checkpoints of one model")
        return {name: _mean([source.get_tensor(name) for source in opened], name, files) for name in names}


def _mean(tensors: list[Tensor], name: str, files: Sequence[Path]) -> Tensor:
    for file, tensor in zip(files, tensors, strict=True):
        if tensor.shape != tensors[0].shape:
            raise CheckpointError(
                f"{file}: {name} is {tuple(tensor.shape)}, but {tuple(tensors[0].shape)} in {files[0]}; "
                "average checkpoints of one model"
            )
    total = torch.zeros(tensors[0].shape, dtype=torch.float64)
    for tensor in tensors:
        total += tensor
    return (total / len(tensors)).to(tensors[0].dtype)


def write_average(
    run: RunFolder, checkpoints: Sequence[Checkpoint], means: dict[str, Tensor], score: Score | None = None
) -> Path:
    """Write RUN/checkpoints/average, with what it is the mean of; return its weights file."""
    state = {
        "updates": [checkpoint.update for checkpoint in checkpoints],
        "made_at": max(int(folder.name) for folder in checkpoint_folders(run.checkpoints)),
        "score": score._asdict() if score else None,
        "origin": asdict(checkpoints[-1].origin),
    }
    return write_folder(run.average, {WEIGHTS: means}, state) / WEIGHTS


def average(run: RunFolder, checkpoints: Sequence[Checkpoint]) -> Path:
    """Average checkpoints into RUN/checkpoints/average and return its weights file."""
    if not checkpoints:
        raise CheckpointError(
            f"{run.checkpoints}: no checkpoint to average; run nmtkit train first (for the best ones, with validations)"
        )
    return write_average(run, checkpoints, mean_weights([checkpoint.folder / WEIGHTS for checkpoint in checkpoints]))
