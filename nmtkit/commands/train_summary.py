"""What `nmtkit train` says of model and data before it begins."""

from collections.abc import Iterator

from torch import nn

from nmtkit.api import Segmenters
from nmtkit.config import Config
from nmtkit.data.epochs import Batches
from nmtkit.log import counted
from nmtkit.schema import alternatives
from nmtkit.toml import inline
from nmtkit.training.freezing import frozen_in_words, part_of_parameter
from nmtkit.training.schedules import WsdConfig
from nmtkit.training.settings import TrainConfig

SAMPLED_WINDOWS = 4
"""Windows of the first epoch that are planned to say what an update is; the other windows of a corpus are alike."""


def summary(config: Config, batches: Batches, segmenters: Segmenters, model: nn.Module) -> Iterator[str]:
    """Yield lines on parameters, vocabulary, batches and the learning rate."""
    parts = ", ".join(f"{name} {count:,}" for name, count in parameters_by_part(model).items())
    yield f"model: {config.model.kind} of {sum(parameters_by_part(model).values()):,} parameters ({parts})"
    yield from frozen_in_words(model)
    yield f"vocabulary: {_vocabulary(segmenters)}"
    batch = config.train.batch
    plan, seen = batches.summary(windows=SAMPLED_WINDOWS), batches.pairs_per_epoch()
    updates = counted(round(plan.updates * seen / plan.pairs), "update")
    of_them = "" if seen == len(batches.source) else f" with {counted(seen, 'pair')} seen"
    about = "" if seen == plan.pairs else "about "
    yield f"data: {len(batches.source):,} pairs, an epoch of {about}{updates}{of_them}"
    yield (
        f"update: on average {plan.source_tokens / plan.updates:,.0f} source and "
        f"{plan.target_tokens / plan.updates:,.0f} target tokens (at most {batch.tokens_per_update:,} with padding, "
        f"which is {plan.padding:.1%}) in {plan.tensors / plan.updates:.1f} tensors"
    )
    yield f"learning rate: {schedule_in_words(config.train, config.model.width)}"


def schedule_in_words(train: TrainConfig, width: int) -> str:
    """Return the schedule that a model of this width follows, and whether it is fitted to the time."""
    schedule, stop = train.schedule, train.stop
    if isinstance(schedule, WsdConfig):
        limits = {"updates": stop.updates, "epochs": stop.epochs, "minutes": stop.minutes}
        ends = alternatives([f"train.stop.{name} = {limit:,g}" for name, limit in limits.items() if limit])
        first = ", whichever comes first" if " or " in ends else ""
        return (
            f"wsd, which rises to {schedule.highest(width):.3g} in the first {schedule.warmup:.0%} of training and "
            f"falls to zero in the last {schedule.decay:.0%}; training ends with {ends}{first}"
        )
    keys = ", ".join(f"{key} = {inline(value)}" for key, value in schedule.model_dump(exclude={"kind"}).items())
    unfit = f', which is not fitted to train.stop.minutes = {stop.minutes:g}; train.schedule.kind = "wsd" is'
    return f"{schedule.kind} ({keys}){unfit if stop.minutes else ''}"


def parameters_by_part(model: nn.Module) -> dict[str, int]:
    """Return the number of parameters of embeddings, encoder, decoder, …; what parts share counts once."""
    counts: dict[str, int] = {}
    for name, parameter in model.named_parameters():
        part = part_of_parameter(name)
        counts[part] = counts.get(part, 0) + parameter.numel()
    return counts


def _vocabulary(segmenters: Segmenters) -> str:
    source, target = segmenters
    if source.fingerprint == target.fingerprint:
        return f"{source.size:,} pieces, joint"
    return f"{source.size:,} source and {target.size:,} target pieces"
