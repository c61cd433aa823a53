"""What `nmtkit train` says of model and data before it begins."""

from collections.abc import Iterator

from torch import nn

from nmtkit.api import Segmenters
from nmtkit.config import Config
from nmtkit.data.batching import plan_epoch, summarize
from nmtkit.data.store import PairStore
from nmtkit.log import counted


def summary(config: Config, pairs: PairStore, segmenters: Segmenters, model: nn.Module) -> Iterator[str]:
    """Yield lines on parameters, vocabulary and batches."""
    parts = ", ".join(f"{name} {count:,}" for name, count in parameters_by_part(model).items())
    yield f"model: {config.model.kind} of {sum(parameters_by_part(model).values()):,} parameters ({parts})"
    yield f"vocabulary: {_vocabulary(segmenters)}"
    batch = config.train.batch
    source, target = pairs.source.lengths, pairs.target.lengths
    plan = summarize(plan_epoch(source, target, batch, seed=config.train.seed, epoch=0), source, target)
    yield f"data: {len(pairs):,} pairs, an epoch of {counted(plan.updates, 'update')}"
    yield (
        f"update: on average {plan.source_tokens / plan.updates:,.0f} source and "
        f"{plan.target_tokens / plan.updates:,.0f} target tokens (at most {batch.tokens_per_update:,} with padding, "
        f"which is {plan.padding:.1%}) in {plan.tensors / plan.updates:.1f} tensors"
    )


def parameters_by_part(model: nn.Module) -> dict[str, int]:
    """Return the number of parameters of embeddings, encoder, decoder, …; what parts share counts once.

    A part is what the names of a model's modules begin with, all embeddings together.
    """
    counts: dict[str, int] = {}
    for name, parameter in model.named_parameters():
        module = name.split(".")[0]
        part = "embeddings" if module.endswith("_embedding") else module.removesuffix("_norm").replace("_", " ")
        counts[part] = counts.get(part, 0) + parameter.numel()
    return counts


def _vocabulary(segmenters: Segmenters) -> str:
    source, target = segmenters
    if source.fingerprint == target.fingerprint:
        return f"{source.size:,} pieces, joint"
    return f"{source.size:,} source and {target.size:,} target pieces"
