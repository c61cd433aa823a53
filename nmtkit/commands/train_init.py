"""`nmtkit train --init-from`: the run whose weights a training begins with, opened and seen to fit before it begins."""

import hashlib
from pathlib import Path
from typing import NamedTuple

from nmtkit.api import Segmenters, load_run_config, load_segmenters
from nmtkit.config import Config
from nmtkit.errors import CheckpointError, ConfigError
from nmtkit.log import Log
from nmtkit.models.base import Model, Side
from nmtkit.run_folder import RunFolder
from nmtkit.schema import quoted
from nmtkit.training.changes import changes, shown
from nmtkit.training.choice import find_weights, updates_of
from nmtkit.training.fitting import check_model, check_vocabularies, origin_of
from nmtkit.training.init_from import Pieces, match_pieces, put_weights
from nmtkit.training.settings import InitConfig
from nmtkit.training.tensor_folder import read_tensors

KEY = "train.init.run"


class Initial(NamedTuple):
    """Weights that a training begins with."""

    weights: Path
    pieces: dict[Side, Pieces] | None
    """How its vocabularies relate to theirs; None where they are the same."""
    origin: dict[str, str]
    """Where they come from, as `Origin.initial` holds it."""

    def put_into(self, model: Model, log: Log) -> None:
        """Give a model these weights, and say so. Raises CheckpointError where the file cannot be read or used."""
        put_weights(model, read_tensors(self.weights), self.weights, self.pieces)
        update = self.origin["update"]
        log.info(
            f"beginning with the weights of {self.weights.parent} (update{'s' if ', ' in update else ''} {update})"
        )
        sides = {} if self.pieces is None else self.pieces
        names = {"source": "source vocabulary", "target": "target vocabulary"}
        if len({id(pieces) for pieces in sides.values()}) == 1:
            sides, names = {"source": sides["source"]}, {"source": "vocabulary"}
        for side, pieces in sides.items():
            for line in pieces.in_words(names[side]):
                log.info(line)


def with_absolute_init(config: Config, base: Path) -> Config:
    """Return the settings with a train.init.run that means the same from everywhere; `base` is where it starts from."""
    init = config.train.init
    if init is None:
        return config
    return _with_init(config, init.model_copy(update={"run": str((base / init.run).resolve())}))


def as_begun(config: Config, begun: Config, log: Log | None = None) -> Config:
    """Return the settings of a training that is gone on with: its `train.init` stays what it was at the beginning.

    The log is told where another one was asked for, which nobody reads.
    """
    asked = config.train.init
    if log is not None and asked is not None and asked != begun.train.init:
        log.info(
            f"{KEY} = {asked.run!r}: only the beginning of a training reads it; this one goes on from its checkpoint"
        )
    return _with_init(config, begun.train.init)


def _with_init(config: Config, init: InitConfig | None) -> Config:
    return config.model_copy(update={"train": config.train.model_copy(update={"init": init})})


def open_initial(config: Config, segmenters: Segmenters, log: Log) -> Initial | None:
    """Find the weights that `train.init` names, and see that they fit this training; None where it names none.

    Raises ConfigError where there is no such run; CheckpointError where it has no such weights, another model, each
    setting of which is named, or other vocabularies.
    """
    init = config.train.init
    if init is None:
        return None
    other = RunFolder(Path(init.run))
    if not other.config.is_file():
        raise ConfigError(f"{KEY} = {init.run!r}: {_no_run(other)}; give the folder that nmtkit train wrote")
    theirs = load_run_config(other)
    _check_models(config, theirs, other)
    weights = find_weights(other, init.checkpoint, log.warn)
    check_model(weights, theirs.model)
    if init.vocabulary == "same":
        _check_same(weights, segmenters, other)
        pieces = None
    else:
        pieces = _match(load_segmenters(other), segmenters, weights)
    with weights.open("rb") as stream:
        sha256 = hashlib.file_digest(stream, "sha256").hexdigest()
    origin = {
        "run": str(other.path.resolve()),
        "checkpoint": weights.parent.name,
        "update": ", ".join(map(str, updates_of(weights))) or "unknown",
        "weights": sha256,
        "vocabulary": init.vocabulary,
    }
    return Initial(weights, pieces, origin)


def _no_run(other: RunFolder) -> str:
    folder, _, checkpoint = str(other).rpartition("@")
    if folder and (Path(folder) / other.config.name).is_file():
        return f"no such folder; give a checkpoint as train.init.checkpoint = {quoted([checkpoint])}"
    return f"no run folder, it has no {other.config.name}" if other.path.is_dir() else "no such folder"


def _check_models(config: Config, theirs: Config, other: RunFolder) -> None:
    """Raise CheckpointError where weights of another run cannot be those of this model, naming what differs."""
    apart = config.model.apart_from_weights
    found = changes(theirs.model.model_dump(), config.model.model_dump())
    differing = [change for change in found if change.key not in apart]
    if theirs.model.kind != config.model.kind:  # then nothing else can be compared
        differing = [change for change in differing if change.key == "kind"]
    if differing:
        raise CheckpointError(
            "\n".join(
                [
                    f"{other}: its weights are of another model than this one (train.init):",
                    *(
                        f"  model.{change.key}: {shown(change.old)} there, {shown(change.new)} here"
                        for change in differing
                    ),
                ]
            )
            + f"\nset them as {other.config} has them, or begin with another run"
        )


def _check_same(weights: Path, segmenters: Segmenters, other: RunFolder) -> None:
    """Raise CheckpointError where weights were trained with other vocabularies than these."""
    trained = origin_of(weights)
    fingerprints = {"source": segmenters.source.fingerprint, "target": segmenters.target.fingerprint}
    differing = [side for side, own in fingerprints.items() if trained.get(f"{side}_vocabulary") != own]
    if differing:
        files = {"path": other.source_segmenter, "target_path": other.target_segmenter}
        if trained.get("source_vocabulary") == trained.get("target_vocabulary"):
            del files["target_path"]
        given = ", ".join(f'{key} = "{file}"' for key, file in files.items())
        raise CheckpointError(
            f"{weights}: trained with another vocabulary ({' and '.join(differing)}) than this run was prepared with; "
            f'prepare it with that one, prepare.segmenter = {{ kind = "file", {given} }}, or set '
            'train.init.vocabulary = "by_piece" to keep the rows of the pieces that both have'
        )


def _match(theirs: Segmenters, own: Segmenters, weights: Path) -> dict[Side, Pieces]:
    check_vocabularies(weights, theirs.source.fingerprint, theirs.target.fingerprint)
    source = match_pieces(own.source, theirs.source)
    both = own.source.fingerprint == own.target.fingerprint, theirs.source.fingerprint == theirs.target.fingerprint
    return {"source": source, "target": source if all(both) else match_pieces(own.target, theirs.target)}
