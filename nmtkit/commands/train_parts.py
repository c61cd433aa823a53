"""What trains: model, optimizer, precision and kernels, put together as the settings say."""

import platform
from typing import NamedTuple

import torch

from nmtkit.api import Segmenters, use_threads
from nmtkit.commands.train_init import Initial
from nmtkit.config import Config
from nmtkit.errors import ConfigError
from nmtkit.kernels.building import NotBuilt
from nmtkit.kernels.library import Kernels
from nmtkit.log import Log
from nmtkit.models.base import AutoregressiveModel
from nmtkit.training.checkpoints import Checkpoint, load_optimizer, load_weights
from nmtkit.training.compiling import compile_layers
from nmtkit.training.freezing import freeze
from nmtkit.training.group import Group
from nmtkit.training.memory import keep_freed_memory, limit_compiled_products, return_freed_memory
from nmtkit.training.parallel import Replicas, Whole
from nmtkit.training.precision import Precision, choose, set_float32_products, unfit
from nmtkit.training.tensor_folder import OPTIMIZER, WEIGHTS
from nmtkit.training.workplace import Learner
from nmtkit.workers import cores


class Parts(NamedTuple):
    """A model in training, and what it is computed with."""

    model: AutoregressiveModel
    learner: Learner
    precision: Precision
    kernels: Kernels | None


def assemble(
    config: Config,
    segmenters: Segmenters,
    device: torch.device,
    log: Log,
    *,
    checkpoint: Checkpoint | None = None,
    group: Group | None = None,
    initial: Initial | None = None,
) -> Parts:
    """Return a model as a checkpoint left it, or as it begins, shared out among the processes of a group.

    A training keeps the precision that "auto" once chose for it. Says what there is no compiler for.
    """
    group = Group() if group is None else group
    if config.train.recompute:
        return_freed_memory()
    else:
        keep_freed_memory()
    limit_compiled_products()
    share_threads(group)
    kept = checkpoint is not None and config.train.precision == "auto"
    precision = choose(checkpoint.origin.precision if checkpoint and kept else config.train.precision, device)
    if notice := unfit(precision, device):
        log.warn(notice)
    set_float32_products(precision)
    torch.manual_seed(config.train.seed)
    model = config.model.build(segmenters.source.size, segmenters.target.size)
    if checkpoint is not None:
        load_weights(model, checkpoint.folder / WEIGHTS)
    elif initial is not None:
        initial.put_into(model, log)
    freeze(model, config.train.freeze)
    model.recompute = config.train.recompute
    compile_layers(model, config.train.compile, device, log.info)
    parallel = shared_out(config, model, device, group)
    optimizer = config.train.optimizer.build(parallel.parameters().values())
    if checkpoint is not None:
        load_optimizer(optimizer, parallel, checkpoint.folder / OPTIMIZER)
    kernels = group.lead(lambda: kernels_for(config, device, log) is not None)  # compiled once, then loaded by each
    return Parts(
        model,
        Learner(parallel, optimizer, config.model.width),
        precision,
        kernels_for(config, device, log) if kernels else None,
    )


def shared_out(config: Config, model: AutoregressiveModel, device: torch.device, group: Group) -> Whole:
    """Return a model, which lies on the CPU, as it is trained by a group."""
    if group.ranks > 1 and config.train.parallel == "shard":
        try:
            from nmtkit.training.shards import Shards  # which takes a second to import
        except ImportError as error:
            raise ConfigError(
                f'train.parallel: "shard" needs torch 2.6 or later, and this is {torch.__version__}; install a later '
                'one, or choose "replicate"'
            ) from error
        return Shards(model, group, device)
    model = model.to(device)
    return Replicas(model, group) if group.ranks > 1 else Whole(model)


def share_threads(group: Group) -> None:
    """Share cores that several processes of a group may use out among them: SLURM need not bind its tasks to some."""
    host, own = platform.node(), cores()
    sharing = sum(other == host and not own.isdisjoint(theirs) for other, theirs in group.gather((host, own)))
    use_threads(sharing)


def kernels_for(config: Config, device: torch.device, log: Log) -> Kernels | None:
    """Return the kernels, compiled here and now if need be; None on a GPU, or where they are not wanted or not had."""
    if device.type != "cpu" or not config.train.kernels:
        return None
    try:
        return Kernels()
    except NotBuilt as reason:
        log.info(f"training goes on without compiled kernels, at a lower speed: {reason}")
        return None
