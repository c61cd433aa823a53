"""`nmtkit train --plan`: what a training will take, from its settings and what is prepared; nothing is trained.

Models are built without memory (on PyTorch's device "meta"), so one for many GPUs can be planned on a laptop.
"""

import math
import os
import sys
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, NamedTuple

import numpy as np  # noqa: F401  before torch, which would swallow a Ctrl-C while it imports this
import torch
from torch import nn

from nmtkit.api import check_device_name
from nmtkit.commands.plan_material import EpochPlan, Hardware, UpdatePlan, open_material, plan_epoch, plan_update
from nmtkit.commands.plan_pace import Told, earlier_pace, given_pace, measured_pace
from nmtkit.commands.plan_report import show
from nmtkit.commands.prepare_content import to_json
from nmtkit.commands.train_processes import check_options
from nmtkit.commands.train_summary import parameters_by_part
from nmtkit.config import Config
from nmtkit.errors import check_stdout
from nmtkit.log import Log
from nmtkit.models.activations import Shape, Way
from nmtkit.models.settings import ModelConfig
from nmtkit.run_folder import RunFolder
from nmtkit.training.checkpoints import checkpoint_folders
from nmtkit.training.freezing import freeze
from nmtkit.training.membership import Membership
from nmtkit.training.memory import THRESHOLD
from nmtkit.training.memory_estimate import (
    Allocator,
    Memory,
    ModelSizes,
    Moment,
    Sharing,
    checkpoint_copy,
    device_memory,
    loss_memory,
)
from nmtkit.training.outlook import checkpoint_disk, ending
from nmtkit.training.precision import Precision, choose
from nmtkit.training.settings import TrainConfig

REHEARSED = 2
"""Tensors that are computed before the first update, to see whether they go through."""


class Given(NamedTuple):
    """What was asked for beside the settings."""

    hardware: Hardware
    vocabulary: int | None = None
    """Pieces of each vocabulary, where none is prepared."""
    tokens_per_second: float | None = None
    """Target tokens, of all processes together."""
    measure: bool = False


def planned_hardware(
    gpus: int | None, processes: int | None, device: str, member: Membership | None = None
) -> Hardware:
    """Return what the options `--gpus`, `--processes` and `--device`, or another starter of processes, ask for.

    Raises ConfigError where they contradict each other. What is asked for need not be there.
    """
    check_options(gpus, processes, device)
    check_device_name(device)
    if gpus is not None:
        return Hardware("cuda", gpus)
    if processes is not None:
        return Hardware("cpu", processes)
    on_gpus = device.startswith("cuda") or (device == "auto" and torch.cuda.device_count() > 0)
    return Hardware("cuda" if on_gpus else "cpu", member.ranks if member else 1)


def plan(config: Config, run: RunFolder, log: Log, given: Given, *, as_json: bool) -> None:
    """Write to stdout what a training by these settings takes. Changes nothing and starts no process.

    Raises ConfigError where settings cannot be or the size of the vocabulary is not known.
    """
    check_stdout("the plan goes")
    said = facts(config, run, log, given)
    if as_json:
        sys.stdout.write(to_json(said))
    else:
        show(said)
    sys.stdout.flush()


def facts(config: Config, run: RunFolder, log: Log, given: Given) -> dict[str, Any]:
    """Return the plan as JSON has it: bytes, tokens, seconds."""
    train, hardware = config.train, given.hardware
    material = open_material(config, run, given.vocabulary)
    precision = _precision(train, hardware)
    model = built(config.model, material.vocabularies)
    freeze(model, train.freeze)
    sizes = model_sizes(model, config.model, material.vocabularies[1])
    update = plan_update(config, material.text, hardware)
    epoch = plan_epoch(material.text, update.cost) if material.text and update.cost else None
    if given.tokens_per_second is not None:
        told = given_pace(given.tokens_per_second, update)
    elif given.measure:
        told = measured_pace(config, hardware, material, update, log)
    else:
        told = earlier_pace(config, run, hardware)
    length = _length(train, run, update, epoch, told)
    computed = math.inf if length["updates"] is None else length["updates"] * update.tensors_of_a_process + REHEARSED
    way = way_of(train, precision, hardware)
    ways = {"replicate": Sharing(hardware.processes, several=update.several, tensors=computed)}
    if hardware.processes > 1:
        ways["shard"] = ways["replicate"]._replace(sharded=True)
    return {
        "model": config.model.kind,
        **hardware._asdict(),
        "parallel": train.parallel,
        "precision": precision,
        "kernels": way.kernels,
        "recompute": way.recompute,
        "vocabulary": {**dict(zip(("source", "target"), material.vocabularies, strict=True)), "by": material.stated_by},
        "no_text": material.missing,
        "parameters": sizes.parameters,
        "parameters_trained": sizes.trained,
        "parameters_by_part": parameters_by_part(model),
        "update": update.to_json(),
        "epoch": epoch and epoch._asdict(),
        "memory": {
            name: _memory_to_json(*largest_memory(config.model, sizes, material.vocabularies[1], update, sharing, way))
            for name, sharing in ways.items()
        },
        "checkpoints": checkpoint_disk(train.checkpoints, sizes.parameters, sizes.trained)._asdict(),
        "checkpoint_copy": checkpoint_copy(sizes, ways.get(train.parallel, ways["replicate"])),
        "training": length,
    }


def built(config: ModelConfig, vocabularies: tuple[int, int]) -> nn.Module:
    """Return a model whose parameters have shapes, but no values and no memory."""
    with torch.device("meta"):
        return config.build(*vocabularies)


def _precision(train: TrainConfig, hardware: Hardware) -> Precision:
    """Return the precision that training will choose; on a GPU nobody has seen, `auto` is taken for bf16."""
    if hardware.device == "cpu":
        return choose(train.precision, torch.device("cpu"))
    return "bf16" if train.precision == "auto" else train.precision


def way_of(train: TrainConfig, precision: Precision, hardware: Hardware) -> Way:
    """Return how layers will be computed. On a CPU kernels are taken to be there where they are wanted."""
    cuda = hardware.device == "cuda"
    number = 2 if precision in ("bf16", "fp16") else 4
    return Way(number, kernels=train.kernels and not cuda, cuda=cuda, recompute=train.recompute)


def model_sizes(model: nn.Module, config: ModelConfig, target_vocabulary: int) -> ModelSizes:
    """Return the sizes of a built model that memory depends on."""
    layers = [layer for module in model.modules() if isinstance(module, nn.ModuleList) for layer in module]
    of_layers = [sum(parameter.numel() for parameter in layer.parameters()) for layer in layers]
    whole = sum(parameter.numel() for parameter in model.parameters())
    return ModelSizes(
        parameters=whole,
        trained=sum(parameter.numel() for parameter in model.parameters() if parameter.requires_grad),
        rounded=config.rounded(target_vocabulary),
        waiting=0 if config.share_embeddings == "none" else target_vocabulary * config.width,
        layer=max(of_layers, default=0),
        rest=whole - sum(of_layers),
    )


def largest_memory(
    config: ModelConfig, sizes: ModelSizes, target_vocabulary: int, update: UpdatePlan, sharing: Sharing, way: Way
) -> tuple[Memory, Shape]:
    """Return what a device needs for that of the largest tensors which needs most, and that tensor."""
    found = []
    for shape in update.largest:
        loss = loss_memory(shape.target_positions, target_vocabulary, config.width, way)
        moment = Moment(config.activations(shape, way), loss)
        found.append((device_memory(sizes, moment, sharing, way, allocator_of(way, os.environ)), shape))
    return max(found, key=lambda each: each[0].together)


def allocator_of(way: Way, environ: Mapping[str, str]) -> Allocator:
    """Return how training will get memory for tensors."""
    if way.cuda:
        return "cuda"
    return "mappings" if way.recompute or THRESHOLD in environ else "heap"


def _memory_to_json(memory: Memory, shape: Shape) -> dict[str, Any]:
    return {"parts": memory.parts, "together": memory.together, "tensor": shape._asdict()}


def _length(
    train: TrainConfig, run: RunFolder, update: UpdatePlan, epoch: EpochPlan | None, told: Told
) -> dict[str, Any]:
    """Return how long training goes on in updates, epochs, tokens and seconds; None for what is not known."""
    seconds = told.pace.seconds_per_update if told.pace else None
    end = ending(train.stop, epoch.updates if epoch else None, seconds)
    behind = max((int(folder.name) for folder in checkpoint_folders(run.checkpoints)), default=0)
    left = None if end is None or seconds is None else max(0, end.updates - behind) * seconds
    return {
        "updates": end and end.updates,
        "limit": end and end.limit,
        "behind": behind,
        "epochs": end.updates / epoch.updates if end and epoch else None,
        "target_tokens": end and end.updates * update.target_tokens,
        "target_tokens_per_second": told.pace and told.pace.target_tokens_per_second,
        "seconds_per_update": seconds,
        "pace_by": told.by,
        "seconds_left": left,
        "end": None if left is None else _later(left),
    }


def _later(seconds: float) -> str | None:
    """Return when so many seconds from now are over, as ISO 8601 has it; None beyond the calendar."""
    try:
        return (datetime.now().astimezone() + timedelta(seconds=seconds)).isoformat(timespec="seconds")
    except OverflowError:
        return None
