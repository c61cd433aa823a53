"""`nmtkit train --profile`: where the time of updates goes, measured on the prepared data of a run; nothing is kept."""

import sys

import numpy as np  # noqa: F401  before torch, which would swallow a Ctrl-C while it imports this
import torch

from nmtkit.api import Segmenters, resolve_device
from nmtkit.commands.batches import open_batches
from nmtkit.commands.inspect_prepared import Prepared
from nmtkit.commands.prepare_content import to_json
from nmtkit.commands.profile_report import facts, show
from nmtkit.commands.train_parts import assemble
from nmtkit.commands.train_summary import summary
from nmtkit.config import Config
from nmtkit.data.resegmenting import build_resegmenter
from nmtkit.errors import NmtkitError, check_stdout
from nmtkit.log import Log, counted
from nmtkit.run_folder import RunFolder
from nmtkit.training.engine import Engine
from nmtkit.training.feeding import Material
from nmtkit.training.profiling import profile_updates, updates_computed


def profile(config: Config, run: RunFolder, log: Log, *, updates: int, device: str = "auto", as_json: bool) -> None:
    """Measure the first updates of a training with freshly drawn weights and write to stdout where their time goes.

    Writes nothing into the run. Raises DataError where the data is not prepared for these settings, NmtkitError where
    the GPU's memory is too small.
    """
    check_stdout("the profile goes")
    computes = resolve_device(device)
    prepared = Prepared.open(config, run, "train")
    segmenters, train = Segmenters(*prepared.segmenters), config.train
    batches = open_batches(config, prepared.store, prepared.sizes)
    resegment = build_resegmenter(*segmenters, train.sampling, seed=train.seed)
    model, learner, precision, kernels = assemble(config, segmenters, computes, log)
    for line in summary(config, batches, segmenters, model):
        log.info(line)
    engine = Engine(learner.parallel, learner.optimizer, train, precision, computes, kernels)
    engine.warn = log.warn
    log.info(f"profiling {counted(updates, 'update')} with weights drawn anew; nothing is written into {run}")
    with log.progress("profiling", updates_computed(updates), "updates") as meter:
        try:
            found = profile_updates(
                engine,
                Material(prepared.store, batches, resegment),
                width=config.model.width,
                updates=updates,
                done=meter.advance,
            )
        except torch.cuda.OutOfMemoryError as error:
            raise NmtkitError(
                f"the GPU's memory is too small ({str(error).splitlines()[0]}); lower train.batch.tokens_per_tensor "
                f"(now {train.batch.tokens_per_tensor}; the update stays the same)"
            ) from error
    said = {
        "model": config.model.kind,
        "device": str(computes),
        "precision": precision,
        "threads": torch.get_num_threads(),
        **facts(found),
    }
    if as_json:
        sys.stdout.write(to_json(said))
    else:
        show(said)
    sys.stdout.flush()
