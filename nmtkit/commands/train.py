"""`nmtkit train`: prepared data to a trained model, from the beginning or from the newest checkpoint on."""

import platform
from contextlib import ExitStack, nullcontext
from pathlib import Path
from time import monotonic
from typing import NamedTuple

import numpy as np  # noqa: F401  before torch, which would swallow a Ctrl-C while it imports this
import torch

from nmtkit.api import Segmenters, Translator, load_run_config, load_segmenters, resolve_device
from nmtkit.commands.train_card import open_card
from nmtkit.commands.train_data import TrainingData, check_prepared, open_data
from nmtkit.commands.train_init import Initial, as_begun, open_initial, with_absolute_init
from nmtkit.commands.train_parts import assemble
from nmtkit.commands.train_summary import summary
from nmtkit.config import Config, dump
from nmtkit.corpus.reader import corpus_folder
from nmtkit.corpus.tags import check_tags
from nmtkit.data.manifest import prepared
from nmtkit.data.resegmenting import Resegmenter, build_resegmenter
from nmtkit.errors import CheckpointError, ConfigError
from nmtkit.log import Log, counted, duration
from nmtkit.metrics.base import Metric
from nmtkit.models.base import AutoregressiveModel
from nmtkit.run_folder import RunFolder, write_text
from nmtkit.run_lock import RunLock
from nmtkit.training.changes import Change, changes, flat
from nmtkit.training.checkpoints import (
    Checkpoint,
    average_is_current,
    checkpoint_folders,
    newest_resumable,
    read_state,
)
from nmtkit.training.choice import find_weights
from nmtkit.training.feeding import Material
from nmtkit.training.fitting import check_model, check_vocabularies
from nmtkit.training.group import Group, ProcessGroup, check_equal, group_of
from nmtkit.training.membership import Membership
from nmtkit.training.reporting import Reporter, check_tensorboard
from nmtkit.training.signals import Interruption
from nmtkit.training.state import Origin, TrainingState, versions
from nmtkit.training.stopping import is_finished, seconds_needed
from nmtkit.training.tensor_folder import WEIGHTS, remove_leftovers
from nmtkit.training.trainer import Trainer
from nmtkit.training.validation import Translating, Validator
from nmtkit.training.workplace import Workplace

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


def train(
    config: Config, base: Path, run: RunFolder, log: Log, *, device: str = "auto", membership: Membership | None = None
) -> None:
    """Train the model of `config` on the prepared data of `run`; paths in `config` start from the folder `base`.

    `membership` tells which of several processes this one is; all of them see the run folder, and the first writes it.
    Goes on from the newest usable checkpoint where there is one; a finished run is left as it is. Raises DataError
    where the data is not prepared for these settings, CheckpointError where the run cannot go on with them or another
    process trains in it, ConfigError where something they ask for is not installed, Interrupted after a signal.
    """
    if config.train.tensorboard:
        check_tensorboard()
    config = with_absolute_init(with_absolute_corpus(config, base), base)
    computes = resolve_device(device if membership is None else device_of(membership, device))
    group = Group() if membership is None else ProcessGroup(membership, computes, timeout=config.train.timeout)
    with group_of(group):
        _train_together(group, config, base, run, log if group.leads else Log("silent"), computes)


def device_of(membership: Membership, device: str) -> str:
    """Return the device that a process computes on: of several GPUs that of its own number on this machine.

    Where it sees but one, somebody has chosen already, as SLURM does with --gpus-per-task.
    """
    cuda = device == "cuda" or (device == "auto" and torch.cuda.is_available())
    return f"cuda:{membership.local_rank if torch.cuda.device_count() > 1 else 0}" if cuda else device


def _train_together(group: Group, config: Config, base: Path, run: RunFolder, log: Log, device: torch.device) -> None:
    with ExitStack() as stack:
        lock = RunLock(run.lock)

        def enter() -> None:
            prepared(run)  # without it there is no folder to lock
            stack.enter_context(lock)

        group.lead(enter)
        given = _open(config, base, run, device)
        check_equal(group, {**flat(config.model_dump(exclude_none=True)), **_surroundings(given)})
        start = group.lead(lambda: _start(given, run, log))
        if start is None:
            return
        if group.leads:
            lock.sign()
            log.attach(run.log)
        for message in start.damaged:
            log.warn(message)
        if given.metric is not None and given.metric.notice:
            log.info(given.metric.notice)
        for change in start.changed:
            say = log.warn if _is_weighty(change) else log.info
            say(f"changed since this run began: {change}")
        if any(change.key.startswith("train.batch") for change in start.changed):
            log.info(NEW_BATCHES)
        try:
            check_prepared(run, log, group)
            _train(given, run, start, log, group)
        finally:
            log.close()


class Start(NamedTuple):
    """Where a training begins."""

    checkpoint: str | None
    """The name of the folder it goes on from."""
    damaged: list[str]
    """What is to be said of others."""
    changed: list[Change]
    """What differs from the settings it has had so far."""
    initial: Initial | None = None
    """The weights of another run that it begins with."""


def _start(given: Given, run: RunFolder, log: Log) -> Start | None:
    """Return where training begins; None, having said so, where it is finished. Removes what a kill left behind."""
    for folder in (run.path, run.checkpoints, *checkpoint_folders(run.checkpoints)):
        remove_leftovers(folder)
    damaged: list[str] = []
    checkpoint = newest_resumable(run.checkpoints, damaged.append)
    if checkpoint is None:
        return Start(None, damaged, [], open_initial(given.config, given.segmenters, log))
    changed, train = check_resumable(given, run, checkpoint), given.config.train
    limit = is_finished(run, train, checkpoint.state, validating=given.data.dev is not None)
    if limit is None:
        return Start(checkpoint.folder.name, damaged, changed)
    needed = seconds_needed(train, checkpoint.state)
    beyond = f" beyond {duration(needed)}" if "minutes" in limit else ""
    done = f"finished at update {checkpoint.update:,} ({limit})"
    log.info(f"{run}: {done}; to train on, raise that limit{beyond}")
    for change in changed:
        if change.key.startswith(("model.", "train.")) and not change.key.startswith("train.stop."):
            log.warn(f"{change}: nothing was trained with that; to do so, choose another folder with --run")
    return None


def _is_weighty(change: Change) -> bool:
    """Whether also a quiet training tells of it: of another learning rate, or of a limit that is gone."""
    return change.key == "train.schedule.kind" or (change.key.startswith("train.stop.") and not change.new)


def _surroundings(given: Given) -> dict[str, str]:
    """Return what must be equal for all processes, beside the settings."""
    found = {f"version of {name}": version for name, version in versions().items()}
    data = {"prepared data": given.data.fingerprint, "development set": given.data.dev_fingerprint}
    return {**found, **data, "kind of device": given.device.type}


def _open(config: Config, base: Path, run: RunFolder, device: torch.device) -> Given:
    segmenters = load_segmenters(run)
    data = open_data(config, base, run, (segmenters.source.size, segmenters.target.size))
    check_tags(config.tags, segmenters.source.tags)
    translating = data.dev is not None and config.train.validation.translate
    metric = config.score.metrics[0].build(config.languages.target) if translating else None
    if metric is not None and metric.needs_sources:
        raise ConfigError(
            f'score.metrics[0].kind = "{config.score.metrics[0].kind}": takes too long to choose checkpoints by; put '
            "another metric before it, which training will use, and nmtkit score both"
        )
    return Given(config, data, segmenters, metric, device)


def with_absolute_corpus(config: Config, base: Path) -> Config:
    """Return the settings with a corpus.folder that means the same from everywhere."""
    folder = str(corpus_folder(base, config.corpus).resolve())
    return config.model_copy(update={"corpus": config.corpus.model_copy(update={"folder": folder})})


def check_resumable(given: Given, run: RunFolder, checkpoint: Checkpoint) -> list[Change]:
    """See that a run may go on with these settings and this data; return the changes that it may go on with.

    Raises CheckpointError, naming each setting with its old and its new value.
    """
    weights, old = checkpoint.folder / WEIGHTS, load_run_config(run)
    check_model(weights, old.model)
    new = as_begun(given.config, old).model_dump(exclude_none=True)
    found = list(changes(old.model_dump(exclude_none=True), new))
    refused = [f"  {change}" for change in found if not change.allowed]
    if refused:
        raise CheckpointError(
            "\n".join([f"{run}: these settings cannot change in the middle of a training:", *refused])
            + "\nset them back, or train into another folder with --run"
        )
    segmenters = given.segmenters
    check_vocabularies(weights, segmenters.source.fingerprint, segmenters.target.fingerprint)
    if checkpoint.origin.data != given.data.fingerprint:
        raise CheckpointError(
            f"{run.data}: the training pairs are not those that {checkpoint.folder} was trained with; "
            "bring the corpus files back and run `nmtkit prepare`, or train into another folder with --run"
        )
    return found


def _train(given: Given, run: RunFolder, start: Start, log: Log, group: Group) -> None:
    """Put the parts together and train."""
    checkpoint = read_state(run.checkpoints / start.checkpoint) if start.checkpoint else None
    config = as_begun(given.config, load_run_config(run), log) if checkpoint else given.config
    state = checkpoint.state if checkpoint else TrainingState()
    parts = assemble(
        config, given.segmenters, given.device, log, checkpoint=checkpoint, group=group, initial=start.initial
    )
    model, learner, precision, kernels = parts
    source, target = given.segmenters.source.fingerprint, given.segmenters.target.fingerprint
    initial = checkpoint.origin.initial if checkpoint else start.initial.origin if start.initial else {}
    dev = given.data.dev_fingerprint
    model_settings = config.model.of_weights
    origin = Origin(precision, source, target, given.data.fingerprint, model_settings, dev, versions(), initial)
    if checkpoint and state.best is not None and checkpoint.origin.dev != dev:
        log.info("corpus.dev: other pairs than before, so earlier scores do not compare, and the best is sought anew")
        state.forget_scores()
    if group.leads:
        write_text(run.config, dump(config))
    for line in summary(config, given.data.batches, given.segmenters, model):
        log.info(line)
    log.info(f"device {given.device}, precision {precision}, {counted(torch.get_num_threads(), 'thread')}")
    if group.ranks > 1:
        log.info(f"{group.ranks} processes, train.parallel = {config.train.parallel!r}")
    log.info(f"going on behind update {state.update:,}" if checkpoint else f"training in {run}")
    if given.data.dev is None:
        log.warn("corpus.dev: there is no development set, so nothing is validated and no best checkpoint kept")
    reporter = Reporter(
        log, run, config.train.stop, every=config.train.log_every, tensorboard=config.train.tensorboard,
        writes=group.leads,
    )  # fmt: skip
    card, hosts = None, group.gather(platform.node())
    if group.leads:
        card = open_card(config, run, log, parts=parts, origin=origin, device=given.device, hosts=hosts)
    began, waited = monotonic(), group.seconds
    with Interruption() as interruption:
        trainer = Trainer(
            learner,
            Material(given.data.pairs, given.data.batches, _resegmenter(given)),
            _validator(given, model, group),
            config.train,
            state=state,
            origin=origin,
            place=Workplace(run, given.device, precision, log, reporter, interruption, kernels, group, card),
        )
        try:
            reporter.open(state, average_stands=average_is_current(run, state.update))
            with nullcontext() if card is None else card.session(state):
                limit = trainer.train()
        finally:
            reporter.close()
    log.info(f"finished at update {state.update:,} ({limit}) after {duration(state.seconds)} of training")
    if group.ranks > 1:
        waited = group.seconds - waited
        share = f"{duration(waited)}, {waited / (monotonic() - began):.1%} of the time"
        log.info(f"exchange with other processes, waiting for them included: {share}")
    if state.best is not None:
        log.info(f"best: {state.best.name} {state.best.value:.2f} at update {state.best_update:,}")
        averaged = config.train.checkpoints.average > 0 and (run.average / WEIGHTS).exists()
        if averaged and find_weights(run, "auto", log.warn).parent != run.average:
            which = "translate and score" if config.translate.checkpoint == "auto" else 'translate.checkpoint = "auto"'
            log.info(f"the average of checkpoints is worse, so {which} will take the best")


def _resegmenter(given: Given) -> Resegmenter | None:
    train = given.config.train
    return build_resegmenter(*given.segmenters, train.sampling, seed=train.seed)


def _validator(given: Given, model: AutoregressiveModel, group: Group) -> Validator | None:
    if given.data.dev is None:
        return None
    translating = None
    if given.metric is not None:
        translator = Translator.of(model, given.segmenters, given.config, given.device)
        translating = Translating(translator, given.metric)
    tokens = given.config.train.batch.tokens_per_tensor
    return Validator(model, given.data.dev, translating, tokens=tokens, device=given.device, group=group)
