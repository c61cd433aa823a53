"""Validation: the development set's unsmoothed perplexity, and its translation scored as `translate` and `score` do."""

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from typing import NamedTuple, TypeVar

import torch

from nmtkit.data.batch import make_batch
from nmtkit.data.batching import plan_in_order
from nmtkit.data.store import PairStore
from nmtkit.data.tensors import Indexes
from nmtkit.metrics.base import Metric, Score
from nmtkit.models.base import Model
from nmtkit.training.group import Group
from nmtkit.translation.translator import LineTranslator

T = TypeVar("T")

REHEARSED_LINES = 4
"""The longest lines of the development set, translated before the first update."""


class DevSet(NamedTuple):
    """The development set: packed pairs, and the raw lines of both sides as `translate` and `score` read them."""

    pairs: PairStore
    sources: Sequence[str]
    references: Sequence[str]
    tag: str = ""
    """What is put before each source; the packed pairs have it already."""


class Translating(NamedTuple):
    """How the development set is translated and scored."""

    translator: LineTranslator
    metric: Metric


class Validation(NamedTuple):
    """What the development set says about a model."""

    loss: float
    """Unsmoothed negative log-likelihood per target piece, end marks included, in nats."""
    score: Score
    """The metric's score, or the perplexity where nothing is translated."""
    translated: bool

    @property
    def perplexity(self) -> float:
        """Unsmoothed perplexity per piece."""
        return perplexity(self.loss)


class Share(NamedTuple):
    """What one process computed of a validation."""

    losses: list[tuple[float, int]]
    """Of each of its tensors: negative log-likelihood and target tokens."""
    hypotheses: list[str]
    """Of its lines."""


class Validator:
    """Validates a model in float32, whatever it is trained in, so scores equal those of `translate` and `score`.

    Of several processes each computes every so many-th tensor and line.
    """

    def __init__(
        self,
        model: Model,
        dev: DevSet,
        translating: Translating | None,
        *,
        tokens: int,
        device: torch.device,
        group: Group | None = None,
    ) -> None:
        self.model, self.dev, self.translating = model, dev, translating
        self.device = device
        self._group = Group() if group is None else group
        self._own = slice(self._group.rank, None, self._group.ranks)
        self._tensors = plan_in_order(dev.pairs.source.lengths, dev.pairs.target.lengths, tokens)
        if translating is not None:
            translating.translator.computed = self._group.moved

    def __call__(self) -> Validation:
        """Return loss and score of the model as it is; in one process alone."""
        return self.judge([self.compute()])

    def compute(self) -> Share:
        """Compute what falls to this process."""
        with _evaluating(self.model):
            losses = self._losses(self._tensors[self._own])
            if self.translating is None:
                return Share(losses, [])
            lines = self.dev.sources[self._own]
            numbers = count(1 + self._group.rank, self._group.ranks)
            return Share(losses, self.translating.translator.translate(lines, tag=self.dev.tag, numbers=numbers))

    def judge(self, shares: Sequence[Share]) -> Validation:
        """Return loss and score from what all processes computed, by rank."""
        losses = _interleaved([share.losses for share in shares])
        loss = sum(nll for nll, _ in losses) / sum(tokens for _, tokens in losses)
        if self.translating is None:
            return Validation(
                loss, Score("perplexity", perplexity(loss), "unsmoothed, per piece", False), translated=False
            )
        hypotheses = _interleaved([share.hypotheses for share in shares])
        return Validation(loss, self.translating.metric(hypotheses, self.dev.references), translated=True)

    def rehearse(self) -> None:
        """Go once through everything a validation needs, with the largest tensor and the longest lines.

        What fails, fails here: before the first update and not at the first validation.
        """
        with _evaluating(self.model):
            self._losses(self._tensors[-1:])
            if self.translating is not None:
                longest = sorted(range(len(self.dev.sources)), key=lambda n: -len(self.dev.sources[n]))[
                    :REHEARSED_LINES
                ]
                lines = [self.dev.sources[n] for n in longest]
                hypotheses = self.translating.translator.translate(lines, tag=self.dev.tag)
                self.translating.metric(hypotheses, [self.dev.references[n] for n in longest])

    def _losses(self, tensors: Sequence[Indexes]) -> list[tuple[float, int]]:
        found = []
        with torch.inference_mode():
            for tensor in tensors:
                loss = self.model(make_batch(self.dev.pairs, tensor).to(self.device), 0.0)
                found.append((loss.nll.item(), loss.tokens))
                self._group.moved()
        return found


def _interleaved(shares: Sequence[list[T]]) -> list[T]:
    """Return what was dealt out in turn in its first order."""
    return [share[place] for place in range(len(shares[0])) for share in shares if place < len(share)]


def perplexity(loss: float) -> float:
    """Return e^loss, infinite where that is too large for a float."""
    return math.exp(loss) if loss < 700 else math.inf


@contextmanager
def _evaluating(model: Model) -> Iterator[None]:
    model.eval()
    try:
        yield
    finally:
        model.train()
