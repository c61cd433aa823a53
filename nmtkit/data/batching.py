"""Batches: pairs cut into tensors, tensors gathered into updates, both within a token budget. Imports no torch.

Padding counts towards every budget, and so do end marks.
"""

from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nmtkit.data.shuffle import Shuffle
from nmtkit.data.tensors import Indexes, Lengths, cut

NEAR = 1 / 16
"""Up to which part of its share a process gets more or less, so that no tensor is cut: each piece costs by itself."""
AT_ONCE = 1 << 20
"""Pairs whose lengths are looked at at once where the longest are sought."""
PASSED_OVER = 32
"""Tensors too large for what is left of an update that are passed over in search of one that fits."""


class Budget(NamedTuple):
    """At most this many positions of either side in an update, and in a tensor."""

    tokens_per_update: int
    tokens_per_tensor: int


class Update(NamedTuple):
    """The pairs of one optimizer step, cut into tensors of sentences alike in length."""

    tensors: Sequence[Indexes]

    @property
    def pairs(self) -> int:
        """Number of pairs."""
        return sum(len(tensor) for tensor in self.tensors)


class Share(NamedTuple):
    """Pairs of a tensor of an update that stand one behind the other: `begin` up to `end`."""

    tensor: int
    """The place of the tensor in its update."""
    begin: int
    end: int


class PlanSummary(NamedTuple):
    """What updates cost. Tokens include end marks, positions padding too."""

    pairs: int
    updates: int
    tensors: int
    source_tokens: int
    target_tokens: int
    source_positions: int
    target_positions: int

    @property
    def positions(self) -> int:
        """Positions of both sides."""
        return self.source_positions + self.target_positions

    @property
    def padding(self) -> float:
        """The share of all positions that hold no token."""
        return 1 - (self.source_tokens + self.target_tokens) / self.positions if self.positions else 0.0

    def plus(self, other: "PlanSummary") -> "PlanSummary":
        """Return what both cost together."""
        return PlanSummary(*(mine + its for mine, its in zip(self, other, strict=True)))


NOTHING = PlanSummary(0, 0, 0, 0, 0, 0, 0)


class Plan(NamedTuple):
    """Updates and what they cost together."""

    updates: list[Update]
    cost: PlanSummary


def plan_updates(pairs: Indexes, source: Lengths, target: Lengths, budget: Budget, words: Sequence[int]) -> Plan:
    """Return updates in which each of `pairs` stands once, a pure function of the arguments.

    `source` and `target` are the lengths of the whole store; `words` seed the order of tensors. An update is a mix of
    short and long sentences. It is over the budget only where one pair is.
    """
    own_source, own_target = source[pairs], target[pairs]  # once: a look into a large store is what takes time
    tensors = cut(own_source, own_target, budget.tokens_per_tensor, words)
    tensors = [tensors[place] for place in Shuffle(len(tensors), *words)(np.arange(len(tensors)))]
    sizes = padded_sizes(tensors, own_source, own_target)
    gathered = _gather(sizes.tolist(), budget.tokens_per_update)
    tokens = [int(own.sum()) + len(pairs) for own in (own_source, own_target)]
    return Plan(
        [Update([pairs[tensors[place]] for place in places]) for places in gathered],
        PlanSummary(len(pairs), len(gathered), len(tensors), *tokens, *sizes.sum(0).tolist()),
    )


def plan_in_order(source: Lengths, target: Lengths, tokens: int) -> list[Indexes]:
    """Return tensors of at most `tokens` tokens a side over all pairs, shortest first: for evaluation."""
    tensors = cut(source, target, tokens)
    longest = [(int(target[tensor].max()), int(source[tensor].max())) for tensor in tensors]
    return [tensors[place] for place in sorted(range(len(tensors)), key=longest.__getitem__)]


def longest_tensor(source: Lengths, target: Lengths, tokens: int) -> Indexes:
    """Return the longest pairs of all, as many as fit into the budget: what attention needs most memory for."""
    count = min(len(source), max(1, tokens // (int(max(source.max(), target.max())) + 1)))
    longest = np.empty(0, np.int64)
    for begin in range(0, len(source), AT_ONCE):
        both = source[begin : begin + AT_ONCE] + target[begin : begin + AT_ONCE]
        least = np.partition(both, max(0, len(both) - count))[max(0, len(both) - count)]
        some = np.concatenate([longest, begin + np.flatnonzero(both >= least)])
        longest = some[np.argsort(source[some] + target[some], kind="stable")][-count:]
    return longest


def summarize(updates: Sequence[Update], source: Lengths, target: Lengths) -> PlanSummary:
    """Return what the updates cost."""
    tensors = [tensor for update in updates for tensor in update.tensors]
    if not tensors:
        return NOTHING
    pairs = np.concatenate(tensors)
    tokens = [int(side[pairs].sum()) + len(pairs) for side in (source, target)]
    positions = padded_sizes(tensors, source, target).sum(0).tolist()
    return PlanSummary(len(pairs), len(updates), len(tensors), *tokens, *positions)


def padded_sizes(tensors: Sequence[Indexes], source: Lengths, target: Lengths) -> NDArray[np.int64]:
    """Return (tensors, 2): the positions of source and target of each, padding and end marks included."""
    if not tensors:
        return np.zeros((0, 2), np.int64)
    pairs = np.concatenate(tensors)
    counts = np.fromiter(map(len, tensors), np.int64, len(tensors))
    begins = np.cumsum(counts) - counts
    longest = [np.maximum.reduceat(side[pairs], begins).astype(np.int64) + 1 for side in (source, target)]
    return np.stack(longest, 1) * counts[:, None]


def deal(tensors: Sequence[Indexes], source: Lengths, target: Lengths, *, rank: int, ranks: int) -> list[Share]:
    """Return what process `rank` of `ranks` computes of an update's tensors; together they compute each pair once.

    The pairs stand one behind the other, tensor after tensor, and are cut where the positions of all are shared out
    evenly, or between two tensors close by. Where processes outnumber pairs some get nothing.
    """
    counts = np.array([len(tensor) for tensor in tensors], np.int64)
    ends = counts.cumsum()
    each = padded_sizes(tensors, source, target).sum(1) / counts
    behind = np.concatenate(([0.0], np.repeat(each, counts).cumsum()))  # positions before each pair, and all
    between = np.concatenate(([0], ends))
    first, end = (_cut_at(behind, between, share / ranks, NEAR / ranks) for share in (rank, rank + 1))
    shares = (
        Share(number, max(first - begin, 0), min(end, begin + count) - begin)
        for number, (begin, count) in enumerate(zip((ends - counts).tolist(), counts.tolist(), strict=True))
    )
    return [share for share in shares if share.begin < share.end]


def _cut_at(behind: NDArray[np.float64], between: Indexes, share: float, near: float) -> int:
    """Return before which pair a share of all positions ends: the closest one, or `between` tensors if that is near."""
    wanted, whole = share * behind[-1], behind[-1]
    closest = int(between[np.abs(behind[between] - wanted).argmin()])
    if abs(behind[closest] - wanted) <= near * whole:
        return closest
    return int(np.searchsorted((behind[1:] + behind[:-1]) / 2, wanted))


def _gather(sizes: Sequence[tuple[int, int]], tokens: int) -> list[list[int]]:
    """Gather tensors of these sizes, by their places, into updates, the last of them not much smaller than the others.

    A step on the handful of pairs that happen to be left counts as much as any other.
    """
    updates = _fill(sizes, tokens)
    if not updates or 2 * max(sum(sizes[place][side] for place in updates[-1]) for side in (0, 1)) >= tokens:
        return updates
    even = max(map(sum, zip(*sizes, strict=True))) // len(updates)
    while (even := even + even // 40 + 1) < tokens:
        evened = _fill(sizes, even)
        if len(evened) <= len(updates):
            return evened
    return updates


def _fill(sizes: Sequence[tuple[int, int]], tokens: int) -> list[list[int]]:
    """Fill one update after another with the tensors that come next and still fit."""
    waiting = deque(range(len(sizes)))
    updates: list[list[int]] = []
    while waiting:
        update: list[int] = []
        passed: list[int] = []
        source_room = target_room = tokens
        while waiting and len(passed) < PASSED_OVER:
            place = waiting.popleft()
            source, target = sizes[place]
            if update and (source > source_room or target > target_room):
                passed.append(place)
                continue
            update.append(place)
            source_room -= source
            target_room -= target
        waiting.extendleft(reversed(passed))
        updates.append(update)
    return updates
