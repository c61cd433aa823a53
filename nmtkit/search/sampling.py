"""Sampling: translations drawn at random, token by token, as probable as the model finds them."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from nmtkit.corpus.draws import seeds_of, uniforms_at
from nmtkit.corpus.vocabulary import BOS, EOS
from nmtkit.data.batch import Padded
from nmtkit.models.base import AutoregressiveModel
from nmtkit.search.base import Hypothesis, LengthLimit, Place, Search
from nmtkit.search.candidates import token_log_probabilities

DECISIONS = 24
"""Numbers for a token: enough for a vocabulary of 2^24."""
FEW = 1_024
"""Tokens that are sorted at first where the most probable are looked for: they nearly always suffice.

Of 136 × 37,000 a core of an AMD EPYC takes 50 ms for these, 380 ms for all.
"""


class Chances(NamedTuple):
    """How tokens are drawn.

    Probabilities are raised to the power of 1 / `temperature`. Then only the `top_k` most probable tokens are left (0:
    all), and of these the most probable until their share is at least `top_p` (Holtzman et al. 2020, section 3.1).
    """

    temperature: float
    top_k: int
    top_p: float

    def draw(self, log_probabilities: Tensor, numbers: Tensor) -> Tensor:
        """Return a token for each row, (R,): of (R, V) log-probabilities, by numbers in [0, 1), (DECISIONS, R) float64.

        The tokens are halved again and again, each time by a number of its own. Were one number looked up among all the
        sums of V probabilities, what rounding does to each of these would decide: of 3,000 tokens of a small model
        drawn in batches of 200 sentences, three were others than those drawn alone.
        """
        weights = log_probabilities.exp()
        if self.temperature != 1:
            weights = (log_probabilities / self.temperature).softmax(dim=-1)
        ids = None
        if self.top_k or self.top_p < 1:
            weights, ids = self._most_probable(weights)
        found = _found(weights, numbers)[:, None]
        return (found if ids is None else ids.gather(1, found))[:, 0]

    def _most_probable(self, weights: Tensor) -> tuple[Tensor, Tensor]:
        """Return the weights of those that may be drawn, most probable first, and their ids; (R, any number) each."""
        vocabulary = weights.size(-1)
        total = weights.sum(dim=-1, keepdim=True)
        count = min(self.top_k or FEW, vocabulary)
        best, ids = weights.topk(count, dim=-1)
        while (
            not self.top_k and count < vocabulary and not (best.sum(dim=-1, keepdim=True) >= self.top_p * total).all()
        ):
            count = min(8 * count, vocabulary)
            best, ids = weights.topk(count, dim=-1)
        if self.top_p < 1:
            total = best.sum(dim=-1, keepdim=True) if self.top_k else total
            before = best.cumsum(dim=-1) - best
            best = best.masked_fill(before >= self.top_p * total, 0.0)
        return best, ids


def _half(count: int) -> int:
    """Return the largest power of two below a count: then places of no weight at the end change no decision."""
    return 1 << ((count - 1).bit_length() - 1)


def _found(weights: Tensor, numbers: Tensor) -> Tensor:
    """Return a place in each row of weights, (R, N), that comes as often as its weight says; (R,).

    Where a broken model gives no place a weight, any place is returned: the sentence is still answered.
    """
    sums = [weights]
    while (count := sums[-1].size(1)) > 1:
        half = _half(count)
        folded = sums[-1][:, :half].clone()
        folded[:, : count - half] += sums[-1][:, half:]
        sums.append(folded)
    found = torch.zeros(len(weights), 1, dtype=torch.int64, device=weights.device)
    for number, level in zip(numbers, sums[-2::-1], strict=False):
        last = level.size(1) - 1
        other = found + _half(level.size(1))
        this, that = level.gather(1, found).double(), level.gather(1, other.clamp(max=last)).double()
        that = that.masked_fill(other > last, 0.0)
        found = torch.where(number[:, None] * (this + that) < this, found, other.clamp(max=last))
    return found[:, 0]


class _Open(NamedTuple):
    """The sentences still translated, B of them, and their samples: K columns, open ones first."""

    sentences: Tensor
    """(B,) the place in the batch that was asked for."""
    limits: Tensor
    """(B,) the longest sample allowed, in tokens drawn."""
    seeds: Tensor
    """(B, K) int64, the 64 bits of a seed."""
    is_open: Tensor
    """(B, K) false where a sample has ended, or there is none."""
    prefixes: Tensor
    """(B, K, T) the tokens drawn so far."""
    log_probabilities: Tensor
    """(B, K) of the tokens drawn so far."""

    def grown(self, tokens: Tensor, log_probabilities: Tensor) -> "_Open":
        """Return the samples longer by a token each, (B, K)."""
        return self._replace(
            prefixes=torch.cat([self.prefixes, tokens[:, :, None]], dim=2),
            log_probabilities=self.log_probabilities + log_probabilities,
        )

    def without(self, ends: Tensor) -> "tuple[_Open, Tensor, Tensor]":
        """Return those that go on where some samples end, (B, K) bool.

        With them come the N sentences that are kept, and the columns that their samples stood in, (N, new K).
        """
        is_open = self.is_open & ~ends
        kept = is_open.any(dim=1).nonzero()[:, 0]
        columns = int(is_open.sum(dim=1).max())
        order = is_open.long().argsort(dim=1, descending=True, stable=True)[kept, :columns]
        left = _Open(
            sentences=self.sentences[kept],
            limits=self.limits[kept],
            seeds=self.seeds[kept].gather(1, order),
            is_open=is_open[kept].gather(1, order),
            prefixes=self.prefixes[kept].gather(1, order[:, :, None].expand(-1, -1, self.prefixes.size(2))),
            log_probabilities=self.log_probabilities[kept].gather(1, order),
        )
        return left, kept, order


class SamplingSearch(Search[AutoregressiveModel]):
    """Draws `samples` translations of each sentence; the score of each is its log-probability.

    That is the model's own, over the whole vocabulary, however tokens were drawn. Each token depends on the seed, the
    place of the sentence, the number of the sample and the tokens before it: not on batch or neighbours. Samples that
    are the same count once, and the more probable come first.
    """

    def __init__(self, samples: int, chances: Chances, seed: int, limit: LengthLimit) -> None:
        self.samples = samples
        self.chances = chances
        self.seed = seed
        self.limit = limit

    def __call__(
        self, model: AutoregressiveModel, source: Padded, places: Sequence[Place] | None = None
    ) -> list[list[Hypothesis]]:
        """Return at most `samples` hypotheses for each of the B sentences, and at least one."""
        memory = model.encode(source)
        samples = self._start(source, places)
        rows = torch.arange(samples.seeds.numel(), device=source.ids.device) // self.samples
        state = model.select(model.start(memory), rows)
        tokens = torch.full_like(rows, BOS)
        found: list[list[Hypothesis]] = [[] for _ in samples.sentences]
        while len(samples.sentences):
            scores, state = model.step(tokens, memory, state)
            drawn, log_probabilities = self._draw(scores, samples)
            samples, tokens = samples.grown(drawn, log_probabilities), drawn.flatten()
            at_limit = samples.limits <= samples.prefixes.size(2)
            ends = samples.is_open & ((drawn == EOS) | at_limit[:, None])
            if not ends.any():
                continue
            _collect(samples, ends, found)
            count, columns = samples.seeds.shape
            samples, kept, order = samples.without(ends)
            state = model.select(state, (kept[:, None] * columns + order).flatten())
            if len(kept) < count:
                memory = model.select(memory, kept)
            tokens = samples.prefixes[:, :, -1].flatten()
        return [_rank(hypotheses) for hypotheses in found]

    def _start(self, source: Padded, places: Sequence[Place] | None) -> _Open:
        count, device = len(source.ids), source.ids.device
        places = [Place(line) for line in range(count)] if places is None else places
        lines, parts = (np.repeat(np.array(numbers, np.int64), self.samples) for numbers in zip(*places, strict=True))
        seeds = seeds_of(self.seed, lines, parts, np.tile(np.arange(self.samples), count))
        sentences = torch.arange(count, device=device)
        return _Open(
            sentences=sentences,
            limits=self.limit.of(source),
            seeds=torch.from_numpy(seeds.view(np.int64)).to(device).view(count, self.samples),
            is_open=torch.ones(count, self.samples, dtype=torch.bool, device=device),
            prefixes=sentences.new_empty(count, self.samples, 0),
            log_probabilities=torch.zeros(count, self.samples, device=device),
        )

    def _draw(self, scores: Tensor, samples: _Open) -> tuple[Tensor, Tensor]:
        """Return the next token of each sample and its log-probability, (B, K) each, from scores, (R, V)."""
        log_probabilities = token_log_probabilities(scores)
        seeds = samples.seeds.flatten().cpu().numpy().view(np.uint64)
        first = samples.prefixes.size(2) * DECISIONS
        numbers = uniforms_at(seeds, range(first, first + DECISIONS))
        tokens = self.chances.draw(log_probabilities, torch.from_numpy(numbers).to(scores.device))
        chosen = log_probabilities.gather(1, tokens[:, None])
        return tokens.view_as(samples.seeds), chosen.view_as(samples.seeds)


def _collect(samples: _Open, ends: Tensor, found: list[list[Hypothesis]]) -> None:
    """Add the samples that end to those found."""
    rows, columns = ends.nonzero(as_tuple=True)
    for sentence, drawn, log_probability in zip(
        samples.sentences[rows].tolist(),
        samples.prefixes[rows, columns].tolist(),
        samples.log_probabilities[rows, columns].tolist(),
        strict=True,
    ):
        found[sentence].append(Hypothesis.of(drawn, log_probability, log_probability))


def _rank(hypotheses: list[Hypothesis]) -> list[Hypothesis]:
    different = {hypothesis.ids: hypothesis for hypothesis in hypotheses}
    return sorted(different.values(), key=lambda hypothesis: -hypothesis.score)
