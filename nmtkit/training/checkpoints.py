"""Checkpoints: RUN/checkpoints/NNNNNNNN, written whole or not at all, checked, found, loaded and pruned.

weights.safetensors     parameters in float32, tied ones once
optimizer.safetensors   the optimizer's tensors; only in the newest checkpoints
state.json              position, scores, fingerprints, versions, checksums of the other files
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import NamedTuple

from torch import Tensor, nn
from torch.optim import Optimizer

from nmtkit.errors import CheckpointError, UnreadableError
from nmtkit.run_folder import RunFolder
from nmtkit.toml import shorten
from nmtkit.training.guard import good_until
from nmtkit.training.parallel import Whole, copy_weights, own_tensors
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
"""Checkpoints that keep the optimizer's tensors, twice the size of the weights: the newest, and one in reserve.

There are more where the one to go back to from a divergence is older, or might be (`prune`).
"""

Tensors = Mapping[str, Mapping[str, Tensor]]
"""By file and name."""
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


def training_tensors(parallel: Whole, optimizer: Optimizer) -> Tensors:
    """Return what a checkpoint holds, by file and name, in the leading process; all processes must ask at once.

    Tensors of the optimizer are called "state name:parameter name"; its constants stand in the config.
    """
    names = list(parallel.parameters())
    moments = {
        f"{key}:{names[index]}": parallel.full(names[index], tensor)
        for index, entries in optimizer.state_dict()["state"].items()
        for key, tensor in entries.items()
    }
    return {WEIGHTS: parallel.weights(), OPTIMIZER: moments}


def save_checkpoint(folder: Path, tensors: Tensors, state: TrainingState, origin: Origin, *, regular: bool) -> Path:
    """Write a checkpoint of `training_tensors` under `folder` (RUN/checkpoints) and return where.

    Replaces one of the same update. Raises CheckpointError where the disk has no room; what was there before then
    stays as it was.
    """
    content = {"state": state.to_json(), "origin": asdict(origin), "regular": regular}
    return write_folder(folder / f"{state.update:08d}", tensors, content)


def save_score(folder: Path, state: TrainingState, origin: Origin) -> None:
    """Write the score of a late validation into the checkpoint of this state; all else in it stays as it is."""
    rewrite_state(folder / f"{state.update:08d}", {"state": state.to_json(), "origin": asdict(origin)})


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


def load_optimizer(optimizer: Optimizer, parallel: Whole, file: Path) -> None:
    """Give the optimizer of this model back its tensors. Raises CheckpointError where the file does not fit."""
    stored = read_tensors(file)
    shapes = {name: parameter.shape for name, parameter in parallel.model.named_parameters()}
    places = {name: (index, shapes[name]) for index, name in enumerate(parallel.parameters())}
    entries: dict[int, dict[str, Tensor]] = {}
    for key, tensor in stored.items():
        kind, _, name = key.partition(":")
        if name not in places:
            raise CheckpointError(f"{file}: {shorten(name)} is not a parameter of this model")
        index, shape = places[name]
        if tensor.dim() and tensor.shape != shape:  # a count of steps has no dimension
            raise CheckpointError(
                f"{file}: {shorten(key)} is {tuple(tensor.shape)}, but the parameter is {tuple(shape)}; "
                "the file belongs to another model"
            )
        entries.setdefault(index, {})[kind] = parallel.own(name, tensor)
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
        if state.update != int(folder.name):
            raise ValueError(f"the state of update {state.update}")
        checkpoint = Checkpoint(folder, state, origin, content["regular"])
    except (KeyError, TypeError, ValueError) as error:
        raise CheckpointError(f"{folder / STATE}: damaged ({error!r})") from error
    check_tensors(folder / WEIGHTS)
    return checkpoint


def read_resumable(folder: Path) -> Checkpoint:
    """Read a checkpoint that training can go on from, and see that each byte of its tensors is what was written.

    Raises CheckpointError, naming the file.
    """
    checkpoint = read_state(folder)
    for name in (WEIGHTS, OPTIMIZER):
        read_tensors(folder / name)
    return checkpoint


def checkpoint_folders(folder: Path) -> list[Path]:
    """Return the folders of checkpoints, oldest first, whatever their condition."""
    if not folder.is_dir():
        return []
    return sorted((path for path in folder.iterdir() if re.fullmatch(r"\d{8,}", path.name)), key=lambda p: int(p.name))


def usable_checkpoints(folder: Path, warn: Warn = unheard, *, read: bool = False) -> list[Checkpoint]:
    """Return the checkpoints whose weights and state are whole, oldest first; others are named in warnings.

    Whether weights are whole, their size tells; with `read` all of them is read.
    """
    usable = []
    for path in checkpoint_folders(folder):
        try:
            checkpoint = read_state(path)
            if read:
                read_tensors(path / WEIGHTS)
            usable.append(checkpoint)
        except CheckpointError as error:
            warn(f"{error}; this checkpoint is left out")
    return usable


def newest_resumable(folder: Path, warn: Warn) -> Checkpoint | None:
    """Return the newest checkpoint that training can go on from, or None where there is none at all.

    A damaged one is named in a warning and the one before it taken. Raises CheckpointError where all are damaged, or
    where one cannot be read.
    """
    problems = []
    for path in reversed(checkpoint_folders(folder)):
        try:
            checkpoint = read_resumable(path)
        except UnreadableError as error:
            raise UnreadableError(
                f"{error}; training does not go on from an older one for that: see to permissions and file system, "
                "then run the same command again"
            ) from error
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


def prune(folder: Path, config: CheckpointConfig, update: int, *, ended: bool = False) -> None:
    """Delete what is not to be kept, seen from the checkpoint of `update`, which is the newest that counts.

    Kept are the newest `keep_last` regular checkpoints, the `keep_best` by score, the newest whatever wrote it and,
    until training has ended, the newest regular one that is good for certain (`guard`); the optimizer's tensors from
    that one on, which is mostly the last but one. So a run that was interrupted keeps in the end what an uninterrupted
    one keeps.
    """
    found = [checkpoint for checkpoint in usable_checkpoints(folder) if checkpoint.update <= update]
    if not found:
        return
    guarded = found[-1].state.steady > 0 and not ended
    good = [c.update for c in found if guarded and c.regular and c.update <= good_until(found[-1].state)][-1:]
    kept = {checkpoint.update for checkpoint in [c for c in found if c.regular][-config.keep_last :]}
    kept |= {checkpoint.update for checkpoint in best_first(found)[: config.keep_best]}
    kept |= {found[-1].update, *good}
    for checkpoint in found:
        if checkpoint.update not in kept:
            remove_folder(checkpoint.folder)
    for checkpoint in [c for c in found if c.update in kept][:-RESUMABLE]:
        if not guarded or checkpoint.update < max(good, default=0):
            (checkpoint.folder / OPTIMIZER).unlink(missing_ok=True)


def best_first(checkpoints: list[Checkpoint]) -> list[Checkpoint]:
    """Return the checkpoints with a score, best first; of equals the earlier.

    Scores measured in another way than the last one, or on other pairs, are left out: they compare with nothing.
    """
    scored = [(c, c.state.current_score) for c in checkpoints if c.state.current_score is not None]
    if not scored:
        return []
    newest, last = scored[-1]
    sign = -1 if last.higher_is_better else 1
    alike = [s for s in scored if comparable(s[1], last) and s[0].origin.dev == newest.origin.dev]
    return [c for c, _ in sorted(alike, key=lambda s: (sign * s[1].value, s[0].update))]


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
