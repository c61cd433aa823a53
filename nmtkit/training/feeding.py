"""Feeding: the tensors of update after update, for a GPU made and laid ready while it computes what came before."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import torch

from nmtkit.data.ahead import ahead
from nmtkit.data.batch import Batch, cost_of, make_batch
from nmtkit.data.batching import PlanSummary, summarize
from nmtkit.data.epochs import Batches, Step
from nmtkit.data.position import Position
from nmtkit.data.resegmenting import Resegmenter
from nmtkit.data.store import PairStore

AHEAD = 2
"""Updates made ahead of the one a GPU is told to compute."""


class Material(NamedTuple):
    """What is learned from: packed pairs, how they are dealt out, and what draws their pieces anew, if anything."""

    pairs: PairStore
    batches: Batches
    resegment: Resegmenter | None = None


class Feed(NamedTuple):
    """An update with its tensors, made when they are asked for on a CPU, and what they cost."""

    step: Step
    batches: Iterable[Batch]
    cost: PlanSummary


def feeds(material: Material, position: Position, device: torch.device) -> Iterator[Feed]:
    """Yield what follows a position, without end. Raises what `Batches.steps` raises."""
    made = (_feed(material, step, device) for step in material.batches.steps(position))
    # A CPU has no time to spare: what one thread makes ahead of others it takes from them.
    return ahead(made, AHEAD) if device.type == "cuda" else made


def _feed(material: Material, step: Step, device: torch.device) -> Feed:
    pairs, _, resegment = material
    cost = summarize([step.update], pairs.source.lengths, pairs.target.lengths)
    batches: Iterable[Batch] = (make_batch(pairs, places, resegment, step.epoch) for places in step.update.tensors)
    if resegment is not None:
        batches = list(batches)
        cost = cost_of(batches)
    if device.type == "cuda":
        batches = [batch.pinned() for batch in batches]
    return Feed(step, batches, cost)
