"""The plan of batches: which pairs feed which update, a pure function of (seed, epoch). Imports no torch.

Pairs are shuffled, cut into windows, sorted by length inside a window and cut into tensors by the token budget; the
tensors are shuffled and gathered into updates. Padding counts towards every budget, and so do end marks.
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nmtkit.data.settings import BatchConfig

Indexes = NDArray[np.int64]
"""Positions of pairs in the store."""
Lengths = NDArray[np.integer[Any]]
"""Pieces of each sentence of the store, end marks not counted."""


class Update(NamedTuple):
    """The pairs of one optimizer step, cut into tensors of sentences alike in length."""

    tensors: Sequence[Indexes]

    @property
    def pairs(self) -> int:
        """Number of pairs."""
        return sum(len(tensor) for tensor in self.tensors)


class PlanSummary(NamedTuple):
    """What a plan costs. Tokens include end marks, positions padding too, both sides together."""

    updates: int
    tensors: int
    source_tokens: int
    target_tokens: int
    positions: int

    @property
    def padding(self) -> float:
        """The share of all positions that hold no token."""
        return 1 - (self.source_tokens + self.target_tokens) / self.positions if self.positions else 0.0


def plan_epoch(source: Lengths, target: Lengths, config: BatchConfig, *, seed: int, epoch: int) -> list[Update]:
    """Return the updates of an epoch (from 0); every pair stands in exactly one of them.

    A pair longer than the budget makes a tensor by itself.
    """
    generator = np.random.default_rng([seed, epoch])
    order = generator.permutation(len(source))
    tensors: list[Indexes] = []
    for begin in range(0, len(order), config.window):
        window = order[begin : begin + config.window]
        # Target first: the output layer makes target padding the dearer one.
        by_length = window[np.lexsort((source[window], target[window]))]
        tensors += _cut(by_length, source, target, config.tokens_per_tensor)
    shuffled = [tensors[place] for place in generator.permutation(len(tensors))]
    return _gather(shuffled, source, target, config.tokens_per_update)


def plan_in_order(source: Lengths, target: Lengths, tokens: int) -> list[Indexes]:
    """Return tensors of at most `tokens` tokens a side over all pairs, shortest first: for evaluation."""
    by_length = np.lexsort((source, target))
    return _cut(by_length, source, target, tokens)


def summarize(plan: Iterable[Update], source: Lengths, target: Lengths) -> PlanSummary:
    """Return what the updates cost."""
    updates = tensors = source_tokens = target_tokens = positions = 0
    for update in plan:
        updates += 1
        for tensor in update.tensors:
            tensors += 1
            source_tokens += int(source[tensor].sum()) + len(tensor)
            target_tokens += int(target[tensor].sum()) + len(tensor)
            positions += sum(padded_size(tensor, source, target))
    return PlanSummary(updates, tensors, source_tokens, target_tokens, positions)


def padded_size(tensor: Indexes, source: Lengths, target: Lengths) -> tuple[int, int]:
    """Return the positions of source and target that pairs take side by side, padding and end marks included."""
    return (
        len(tensor) * (int(source[tensor].max()) + 1),
        len(tensor) * (int(target[tensor].max()) + 1),
    )


def _cut(pairs: Indexes, source: Lengths, target: Lengths, tokens: int) -> list[Indexes]:
    """Cut pairs, in their order, into tensors within the budget on either side."""
    tensors: list[Indexes] = []
    begin = longest_source = longest_target = 0
    lengths = zip((source[pairs] + 1).tolist(), (target[pairs] + 1).tolist(), strict=True)
    for place, (source_length, target_length) in enumerate(lengths):
        longest_source, longest_target = (
            max(longest_source, source_length),
            max(longest_target, target_length),
        )
        if place > begin and max(longest_source, longest_target) * (place + 1 - begin) > tokens:
            tensors.append(pairs[begin:place])
            begin, longest_source, longest_target = place, source_length, target_length
    if begin < len(pairs):
        tensors.append(pairs[begin:])
    return tensors


def _gather(tensors: Sequence[Indexes], source: Lengths, target: Lengths, tokens: int) -> list[Update]:
    """Gather tensors, in their order, into updates within the budget on either side."""
    updates: list[Update] = []
    gathered: list[Indexes] = []
    source_positions = target_positions = 0
    for tensor in tensors:
        more_source, more_target = padded_size(tensor, source, target)
        if gathered and max(source_positions + more_source, target_positions + more_target) > tokens:
            updates.append(Update(gathered))
            gathered, source_positions, target_positions = [], 0, 0
        gathered.append(tensor)
        source_positions += more_source
        target_positions += more_target
    if gathered:
        updates.append(Update(gathered))
    return updates
