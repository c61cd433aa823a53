"""Validation: the development set's unsmoothed perplexity, and its translation scored as `translate` and `score` do."""

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import torch

from nmtkit.data.batch import make_batch
from nmtkit.data.batching import plan_in_order
from nmtkit.data.store import PairStore
from nmtkit.data.tensors import Indexes
from nmtkit.metrics.base import Metric, Score
from nmtkit.models.base import Model
from nmtkit.translation.translator import LineTranslator

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


class Validator:
    """Validates a model in float32, whatever it is trained in, so scores equal those of `translate` and `score`."""

    def __init__(
        self, model: Model, dev: DevSet, translating: Translating | None, *, tokens: int, device: torch.device
    ) -> None:
        self.model, self.dev, self.translating = model, dev, translating
        self.device = device
        self._tensors = plan_in_order(dev.pairs.source.lengths, dev.pairs.target.lengths, tokens)

    def __call__(self) -> Validation:
        """Return loss and score of the model as it is."""
        with _evaluating(self.model):
            loss = self._loss(self._tensors)
            if self.translating is None:
                return Validation(
                    loss, Score("perplexity", perplexity(loss), "unsmoothed, per piece", False), translated=False
                )
            hypotheses = self.translating.translator.translate(self.dev.sources, tag=self.dev.tag)
            return Validation(loss, self.translating.metric(hypotheses, self.dev.references), translated=True)

    def rehearse(self) -> None:
        """Go once through everything a validation needs, with the largest tensor and the longest lines.

        What fails, fails here: before the first update and not at the first validation.
        """
        with _evaluating(self.model):
            self._loss(self._tensors[-1:])
            if self.translating is not None:
                longest = sorted(range(len(self.dev.sources)), key=lambda n: -len(self.dev.sources[n]))[
                    :REHEARSED_LINES
                ]
                lines = [self.dev.sources[n] for n in longest]
                hypotheses = self.translating.translator.translate(lines, tag=self.dev.tag)
                self.translating.metric(hypotheses, [self.dev.references[n] for n in longest])

    def _loss(self, tensors: Sequence[Indexes]) -> float:
        nll, tokens = 0.0, 0
        with torch.inference_mode():
            for tensor in tensors:
                loss = self.model(make_batch(self.dev.pairs, tensor).to(self.device), 0.0)
                nll += loss.nll.item()
                tokens += loss.tokens
        return nll / tokens


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
