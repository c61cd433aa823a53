"""Checkpoints: RUN/checkpoints/NNNNNNNN, written whole or not at all, checked, found, loaded and pruned.

weights.safetensors     parameters in float32, tied ones once
optimizer.safetensors   the optimizer's tensors; only in the newest checkpoints
state.json              position, scores, fingerprints, versions
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from nmtkit.errors import CheckpointError
from nmtkit.run_folder import RunFolder
from nmtkit.toml import shorten
from nmtkit.training.settings import CheckpointConfig
from nmtkit.training.state import Origin, TrainingState, comparable
from nmtkit.training.tensor_folder import (
    OPTIMIZER,
    STATE,
    WEIGHTS,
    check_tensors,
    read_json,
    read_tensors,
    remove_folder,
    rewrite_state,
    write_folder,
)

RESUMABLE = 2
"""Checkpoints that keep the optimizer's tensors, twice the size of the weights: the newest, and one in reserve."""

Warn = Callable[[str], None]
"""Takes a message that the user should see."""


def unheard(message: str) -> None:
    """Drop a message that was said before."""


class Checkpoint(NamedTuple):
    """A checkpoint on the disk whose state was read."""

    folder: Path
    state: TrainingState
    origin: Origin
    regular: bool
    """True where one was due by `train.checkpoints`, false where a stop, a signal or a new best score wrote it."""

    @property
    def update(self) -> int:
        """The number of the checkpoint."""
        return self.state.update


def save_checkpoint(
    folder: Path, model: nn.Module, optimizer: Optimizer, state: TrainingState, origin: Origin, *, regular: bool
) -> Path:
    """Write a checkpoint under `folder` (RUN/checkpoints) and return where. Replaces one of the same update.

    Raises CheckpointError where the disk has no room; what was there before then stays as it was.
    """
    tensors = {WEIGHTS: own_tensors(model), OPTIMIZER: _optimizer_tensors(model, optimizer)}
    return write_folder(folder / f"{state.update:08d}", tensors, _content(state, origin, regular))


def save_score(folder: Path, state: TrainingState, origin: Origin) -> None:
    """Write the score of a late validation into the checkpoint of this state; all else in it stays as it is."""
    checkpoint = folder / f"{state.update:08d}"
    rewrite_state(checkpoint, _content(state, origin, read_json(checkpoint)["regular"]))


def _content(state: TrainingState, origin: Origin, regular: bool) -> dict[str, Any]:
    return {"state": state.to_json(), "origin": asdict(origin), "regular": regular}


def own_tensors(model: nn.Module) -> dict[str, Tensor]:
    """Return parameters and persistent buffers by name; a tensor with several names stands under the first."""
    seen: set[int] = set()
    tensors: dict[str, Tensor] = {}
    for name, tensor in model.state_dict(keep_vars=True).items():
        if id(tensor) not in seen:
            seen.add(id(tensor))
            tensors[name] = tensor
    return tensors


def _optimizer_tensors(model: nn.Module, optimizer: Optimizer) -> dict[str, Tensor]:
    """Return the optimizer's tensors as "state name:parameter name"; its constants stand in the config."""
    names = [name for name, _ in model.named_parameters()]
    return {
        f"{key}:{names[index]}": tensor
        for index, entries in optimizer.state_dict()["state"].items()
        for key, tensor in entries.items()
    }


def load_weights(model: nn.Module, weights: Path) -> None:
    """Copy a weights file into the model. Raises CheckpointError where it is damaged or of another model."""
    stored = read_tensors(weights)
    own = own_tensors(model)
    for name in sorted(own.keys() | stored.keys()):
        in_file = tuple(stored[name].shape) if name in stored else "missing"
        in_model = tuple(own[name].shape) if name in own else "missing"
        if in_file != in_model:
            raise CheckpointError(
                f"{weights}: {name} is {in_file} in the file but {in_model} in the model; "
                "the weights belong to another model or vocabulary"
            )
    copy_weights(model, stored)


def copy_weights(model: nn.Module, tensors: Mapping[str, Tensor]) -> None:
    """Copy tensors, named as `own_tensors` names them, into the model."""
    with torch.no_grad():
        for name, tensor in own_tensors(model).items():
            tensor.copy_(tensors[name])


def load_optimizer(optimizer: Optimizer, model: nn.Module, file: Path) -> None:
    """Give the optimizer of this model back its tensors. Raises CheckpointError where the file does not fit."""
    stored = read_tensors(file)
    places = {name: (index, parameter) for index, (name, parameter) in enumerate(model.named_parameters())}
    entries: dict[int, dict[str, Tensor]] = {}
    for key, tensor in stored.items():
        kind, _, name = key.partition(":")
        if name not in places:
            raise CheckpointError(f"{file}: {shorten(name)} is not a parameter of this model")
        index, parameter = places[name]
        if tensor.dim() and tensor.shape != parameter.shape:  # a count of steps has no dimension
            raise CheckpointError(
                f"{file}: {shorten(key)} is {tuple(tensor.shape)}, but the parameter is {tuple(parameter.shape)}; "
                "the file belongs to another model"
            )
        entries.setdefault(index, {})[kind] = tensor
    if len({frozenset(entry) for entry in entries.values()}) > 1 or len(entries) not in (0, len(places)):
        raise CheckpointError(f"{file}: damaged (some parameters have other tensors than the rest, or none)")
    optimizer.load_state_dict({"state": entries, "param_groups": optimizer.state_dict()["param_groups"]})


def read_state(folder: Path) -> Checkpoint:
    """Read state.json of a checkpoint and see that the weights are whole.

    Raises CheckpointError, naming the file.
    """
    content = read_json(folder)
    try:
        state, origin = TrainingState.from_json(content["state"]), Origin(**content["origin"])
        checkpoint = Checkpoint(folder, state, origin, content["regular"])
    except (KeyError, TypeError, ValueError) as error:
        raise CheckpointError(f"{folder / STATE}: damaged ({error!r})") from error
    check_tensors(folder / WEIGHTS)
    return checkpoint


def checkpoint_folders(folder: Path) -> list[Path]:
    """Return the folders of checkpoints, oldest first, whatever their condition."""
    if not folder.is_dir():
        return []
    return sorted((path for path in folder.iterdir() if re.fullmatch(r"\d{8,}", path.name)), key=lambda p: int(p.name))


def usable_checkpoints(folder: Path, warn: Warn = unheard) -> list[Checkpoint]:
    """Return the checkpoints whose weights and state are whole, oldest first; others are named in warnings."""
    usable = []
    for path in checkpoint_folders(folder):
        try:
            usable.append(read_state(path))
        except CheckpointError as error:
            warn(f"{error}; this checkpoint is left out")
    return usable


def newest_resumable(folder: Path, warn: Warn) -> Checkpoint | None:
    """Return the newest checkpoint that training can go on from, or None where there is none at all.

    A damaged one is named in a warning and the one before it taken. Raises CheckpointError where all are damaged.
    """
    problems = []
    for path in reversed(checkpoint_folders(folder)):
        try:
            checkpoint = read_state(path)
            check_tensors(path / OPTIMIZER)
        except CheckpointError as error:
            problems.append(str(error))
        else:
            for problem in problems:
                warn(f"{problem}; trying the checkpoint before it")
            return checkpoint
    if problems:
        raise CheckpointError(
            "\n".join(problems)
            + f"\n{folder}: training can go on from none of its checkpoints; delete the folder to begin anew, "
            "or train into another folder with --run"
        )
    return None


def prune(folder: Path, config: CheckpointConfig, update: int) -> None:
    """Delete what is not to be kept, seen from the checkpoint of `update`, which is the newest that counts.

    Kept are the newest `keep_last` regular checkpoints, the `keep_best` by score, and the newest whatever wrote it; so
    a run that was interrupted keeps in the end what an uninterrupted one keeps.
    """
    found = [checkpoint for checkpoint in usable_checkpoints(folder) if checkpoint.update <= update]
    kept = {checkpoint.update for checkpoint in [c for c in found if c.regular][-config.keep_last :]}
    kept |= {checkpoint.update for checkpoint in best_first(found)[: config.keep_best]}
    kept |= {checkpoint.update for checkpoint in found[-1:]}
    for checkpoint in found:
        if checkpoint.update not in kept:
            remove_folder(checkpoint.folder)
    for checkpoint in [c for c in found if c.update in kept][:-RESUMABLE]:
        (checkpoint.folder / OPTIMIZER).unlink(missing_ok=True)


def best_first(checkpoints: list[Checkpoint]) -> list[Checkpoint]:
    """Return the checkpoints with a score, best first; of equals the earlier.

    Scores measured in another way than the last one are left out: they compare with nothing.
    """
    scored = [(c, c.state.current_score) for c in checkpoints if c.state.current_score is not None]
    if not scored:
        return []
    last = scored[-1][1]
    sign = -1 if last.higher_is_better else 1
    return [
        c
        for c, _ in sorted(
            (s for s in scored if comparable(s[1], last)), key=lambda s: (sign * s[1].value, s[0].update)
        )
    ]


def check_vocabularies(weights: Path, source: str, target: str) -> None:
    """See that the weights were trained with segmenters of these fingerprints. Raises CheckpointError naming both."""
    origin = read_json(weights.parent).get("origin")
    if not isinstance(origin, dict):
        raise CheckpointError(f"{weights.parent / STATE}: damaged (it does not say what the weights come from)")
    for side, fingerprint in (("source", source), ("target", target)):
        trained = origin.get(f"{side}_vocabulary")
        if trained != fingerprint:
            raise CheckpointError(
                f"{weights}: trained with the {side} vocabulary {shorten(str(trained)[:12])}, but the run folder's "
                f"{side}.model is {fingerprint[:12]}; bring back the {side}.model it was trained with, or train anew"
            )


def average_is_current(run: RunFolder, last_update: int, warn: Warn = unheard) -> bool:
    """Tell whether there is a whole average that no later checkpoint has overtaken."""
    if not run.average.exists():
        return False
    try:
        check_tensors(run.average / WEIGHTS)
        return int(read_json(run.average)["made_at"]) >= last_update
    except CheckpointError as error:
        warn(f"{error}; the average is left out")
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        warn(f"{run.average / STATE}: damaged ({error!r}); the average is left out")
    return False
