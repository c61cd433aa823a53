"""`nmtkit train`: prepared data to a trained model, from the beginning or from the newest checkpoint on."""

import os
from pathlib import Path
from typing import NamedTuple

import numpy as np  # noqa: F401  before torch, which would swallow a Ctrl-C while it imports this
import torch

from nmtkit.api import Segmenters, Translator, load_run_config, load_segmenters, resolve_device
from nmtkit.commands.train_data import TrainingData, open_data
from nmtkit.commands.train_summary import summary
from nmtkit.config import Config, dump
from nmtkit.corpus.reader import corpus_folder
from nmtkit.corpus.tags import check_tags
from nmtkit.data.manifest import prepared
from nmtkit.data.resegmenting import Resegmenter, build_resegmenter
from nmtkit.errors import CheckpointError
from nmtkit.kernels.building import NotBuilt
from nmtkit.kernels.library import Kernels
from nmtkit.log import Log, counted, duration
from nmtkit.metrics.base import Metric
from nmtkit.models.base import AutoregressiveModel
from nmtkit.run_folder import RunFolder, write_text
from nmtkit.run_lock import RunLock
from nmtkit.training.changes import Change, changes
from nmtkit.training.checkpoints import (
    Checkpoint,
    average_is_current,
    check_vocabularies,
    checkpoint_folders,
    load_optimizer,
    load_weights,
    newest_resumable,
)
from nmtkit.training.choice import find_weights
from nmtkit.training.feeding import Material
from nmtkit.training.memory import keep_freed_memory
from nmtkit.training.precision import choose, set_float32_products
from nmtkit.training.reporting import Reporter, check_tensorboard
from nmtkit.training.signals import Interruption
from nmtkit.training.state import Origin, TrainingState, versions
from nmtkit.training.stopping import is_finished, seconds_needed
from nmtkit.training.tensor_folder import OPTIMIZER, WEIGHTS, remove_leftovers
from nmtkit.training.trainer import Learner, Trainer, Workplace
from nmtkit.training.validation import Translating, Validator
from nmtkit.workers import processors

NEW_BATCHES = (
    "train.batch: what is left of this epoch comes in the new batches, each pair once; limits, validations, "
    "checkpoints and the learning rate (train.schedule) still count updates, which now hold another amount of text"
)
"""What a person should know who changes batches in the middle of a training."""


class Given(NamedTuple):
    """What a training is made of, opened and checked."""

    config: Config
    data: TrainingData
    segmenters: Segmenters
    metric: Metric | None
    device: torch.device


def train(config: Config, base: Path, run: RunFolder, log: Log, *, device: str = "auto") -> None:
    """Train the model of `config` on the prepared data of `run`; paths in `config` start from the folder `base`.

    Goes on from the newest usable checkpoint where there is one; a finished run is left as it is. Raises DataError
    where the data is not prepared for these settings, CheckpointError where the run cannot go on with them or another
    process trains in it, ConfigError where something they ask for is not installed, Interrupted after a signal.
    """
    if config.train.tensorboard:
        check_tensorboard()
    config = with_absolute_corpus(config, base)
    computes = resolve_device(device)
    prepared(run)  # without it there is no folder to lock
    with RunLock(run.lock) as lock:
        given = _open(config, base, run, computes)
        for folder in (run.path, run.checkpoints, *checkpoint_folders(run.checkpoints)):
            remove_leftovers(folder)
        damaged: list[str] = []
        checkpoint = newest_resumable(run.checkpoints, damaged.append)
        changed: list[Change] = []
        if checkpoint is not None:
            changed = check_resumable(given, run, checkpoint)
            limit = is_finished(run, config.train, checkpoint.state, validating=given.data.dev is not None)
            if limit is not None:
                needed = seconds_needed(config.train, checkpoint.state)
                beyond = f" beyond {duration(needed)}" if "minutes" in limit else ""
                done = f"finished at update {checkpoint.update:,} ({limit})"
                log.info(f"{run}: {done}; to train on, raise that limit{beyond}")
                return
        lock.sign()
        log.attach(run.log)
        for message in damaged:
            log.warn(message)
        for change in changed:
            log.info(f"changed since this run began: {change}")
        if any(change.key.startswith("train.batch") for change in changed):
            log.info(NEW_BATCHES)
        try:
            _train(given, run, checkpoint, log)
        finally:
            log.close()


def _open(config: Config, base: Path, run: RunFolder, device: torch.device) -> Given:
    data, segmenters = open_data(config, base, run), load_segmenters(run)
    check_tags(config.tags, segmenters.source.tags)
    translating = data.dev is not None and config.train.validation.translate
    metric = config.score.metrics[0].build(config.languages.target) if translating else None
    return Given(config, data, segmenters, metric, device)


def with_absolute_corpus(config: Config, base: Path) -> Config:
    """Return the settings with a corpus.folder that means the same from everywhere."""
    folder = str(corpus_folder(base, config.corpus).resolve())
    return config.model_copy(update={"corpus": config.corpus.model_copy(update={"folder": folder})})


def check_resumable(given: Given, run: RunFolder, checkpoint: Checkpoint) -> list[Change]:
    """See that a run may go on with these settings and this data; return the changes that it may go on with.

    Raises CheckpointError, naming each setting with its old and its new value.
    """
    old = load_run_config(run).model_dump(exclude_none=True)
    found = list(changes(old, given.config.model_dump(exclude_none=True)))
    refused = [f"  {change}" for change in found if not change.allowed]
    if refused:
        raise CheckpointError(
            "\n".join([f"{run}: these settings cannot change in the middle of a training:", *refused])
            + "\nset them back, or train into another folder with --run"
        )
    segmenters = given.segmenters
    check_vocabularies(checkpoint.folder / WEIGHTS, segmenters.source.fingerprint, segmenters.target.fingerprint)
    if checkpoint.origin.data != given.data.fingerprint:
        raise CheckpointError(
            f"{run.data}: the training pairs are not those that {checkpoint.folder} was trained with; "
            "bring the corpus files back and run `nmtkit prepare`, or train into another folder with --run"
        )
    return found


def _train(given: Given, run: RunFolder, checkpoint: Checkpoint | None, log: Log) -> None:
    """Put the parts together and train."""
    keep_freed_memory()
    use_threads()
    config, state = given.config, checkpoint.state if checkpoint else TrainingState()
    model = _model(given)
    learner = _learner(given, model, checkpoint)
    origin = _origin(given, checkpoint)
    set_float32_products(origin.precision)
    write_text(run.config, dump(config))
    for line in summary(config, given.data.batches, given.segmenters, model):
        log.info(line)
    kernels = kernels_for(config, given.device, log)
    log.info(f"device {given.device}, precision {origin.precision}, {counted(torch.get_num_threads(), 'thread')}")
    log.info(f"going on behind update {state.update:,}" if checkpoint else f"training in {run}")
    if given.data.dev is None:
        log.warn("corpus.dev: there is no development set, so nothing is validated and no best checkpoint kept")
    reporter = Reporter(log, run, config.train.stop, every=config.train.log_every, tensorboard=config.train.tensorboard)
    with Interruption() as interruption:
        place = Workplace(run, given.device, origin.precision, log, reporter, interruption, kernels)
        trainer = Trainer(
            learner,
            Material(given.data.pairs, given.data.batches, _resegmenter(given)),
            _validator(given, model),
            config.train,
            state=state,
            origin=origin,
            place=place,
        )
        try:
            reporter.open(state, average_stands=average_is_current(run, state.update))
            limit = trainer.train()
        finally:
            reporter.close()
    log.info(f"finished at update {state.update:,} ({limit}) after {duration(state.seconds)} of training")
    if state.best is not None:
        log.info(f"best: {state.best.name} {state.best.value:.2f} at update {state.best_update:,}")
        if (run.average / WEIGHTS).exists() and find_weights(run, "auto", log.warn).parent != run.average:
            log.info("the average of checkpoints is worse than that, so translate and score will take the best")


def _model(given: Given) -> AutoregressiveModel:
    """Return the model with the weights that the seed draws."""
    torch.manual_seed(given.config.train.seed)
    source, target = given.segmenters
    return given.config.model.build(source.size, target.size).to(given.device)


def _learner(given: Given, model: AutoregressiveModel, checkpoint: Checkpoint | None) -> Learner:
    """Return model and optimizer as the checkpoint left them, or as they are drawn."""
    config = given.config
    optimizer = config.train.optimizer.build(model.parameters())
    if checkpoint is not None:
        load_weights(model, checkpoint.folder / WEIGHTS)
        load_optimizer(optimizer, model, checkpoint.folder / OPTIMIZER)
    return Learner(model, optimizer, config.model.width)


def _origin(given: Given, checkpoint: Checkpoint | None) -> Origin:
    """Return what checkpoints of this training are made from; the precision stays what it was."""
    if checkpoint is not None:
        precision = checkpoint.origin.precision
    else:
        precision = choose(given.config.train.precision, given.device)
    source, target = given.segmenters.source.fingerprint, given.segmenters.target.fingerprint
    return Origin(precision, source, target, given.data.fingerprint, versions())


def use_threads() -> None:
    """Compute on as many threads as this process has cores, a container's share counted, unless told otherwise.

    Threads beyond that wait for each other at every operation. OMP_NUM_THREADS has the last word.
    """
    if "OMP_NUM_THREADS" not in os.environ:
        torch.set_num_threads(min(torch.get_num_threads(), processors()))


def kernels_for(config: Config, device: torch.device, log: Log) -> Kernels | None:
    """Return the kernels, compiled here and now if need be; None on a GPU, or where they are not wanted or not had."""
    if device.type != "cpu" or not config.train.kernels:
        return None
    try:
        return Kernels()
    except NotBuilt as reason:
        log.info(f"training goes on without compiled kernels, at a lower speed: {reason}")
        return None


def _resegmenter(given: Given) -> Resegmenter | None:
    train = given.config.train
    return build_resegmenter(*given.segmenters, train.sampling, seed=train.seed)


def _validator(given: Given, model: AutoregressiveModel) -> Validator | None:
    if given.data.dev is None:
        return None
    translating = None
    if given.metric is not None:
        translator = Translator.of(model, given.segmenters, given.config, given.device)
        translating = Translating(translator, given.metric)
    tokens = given.config.train.batch.tokens_per_tensor
    return Validator(model, given.data.dev, translating, tokens=tokens, device=given.device)
