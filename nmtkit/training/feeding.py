"""Feeding: the tensors of update after update, for a GPU made and laid ready while it computes what came before."""

from collections.abc import Iterator
from typing import NamedTuple

import torch

from nmtkit.data.ahead import ahead
from nmtkit.data.batch import Part, cost_of, make_batch
from nmtkit.data.batching import PlanSummary, Share, deal, padded_sizes, summarize
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


class Reader(NamedTuple):
    """Who computes updates: process `rank` of `ranks`, all of them equally many tensors where they go `in_step`."""

    device: torch.device
    rank: int = 0
    ranks: int = 1
    in_step: bool = False


class Feed(NamedTuple):
    """An update with the parts of it that this process computes."""

    step: Step
    parts: list[Part]
    cost: PlanSummary
    """Of the whole update; where pieces are drawn anew, of these parts alone."""


def feeds(material: Material, position: Position, reader: Reader) -> Iterator[Feed]:
    """Yield what follows a position, without end. Raises what `Batches.steps` raises."""
    made = (_feed(material, step, reader) for step in material.batches.steps(position))
    # A CPU has no time to spare: what one thread makes ahead of others it takes from them.
    return ahead(made, AHEAD) if reader.device.type == "cuda" else made


def _feed(material: Material, step: Step, reader: Reader) -> Feed:
    pairs, _, resegment = material
    tensors, lengths = step.update.tensors, (pairs.source.lengths, pairs.target.lengths)
    sizes = padded_sizes(tensors, *lengths)

    def shares(rank: int) -> list[Share]:
        return deal(tensors, *lengths, rank=rank, ranks=reader.ranks)

    def part(share: Share) -> Part:
        places = tensors[share.tensor]
        # As long as the whole tensor, so that places in the masks of dropout are those of the whole.
        source, target = (sizes[share.tensor] // len(places)).tolist() if resegment is None else (0, 0)
        batch = make_batch(pairs, places[share.begin : share.end], resegment, step.epoch, (source, target))
        return Part(batch.pinned() if reader.device.type == "cuda" else batch, share.tensor, share.begin)

    parts = [part(share) for share in shares(reader.rank)]
    cost = summarize([step.update], *lengths) if resegment is None else cost_of([part.batch for part in parts])
    if reader.in_step:
        most = max(len(shares(rank)) for rank in range(reader.ranks))
        parts += [part(Share(0, 0, 1))._replace(weight=0.0) for _ in range(most - len(parts))]
    return Feed(step, parts, cost)
