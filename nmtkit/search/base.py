"""What a search promises: from encoded sentences to hypotheses, best first."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Generic, NamedTuple, TypeVar

from torch import Tensor

from nmtkit.corpus.vocabulary import EOS
from nmtkit.data.batch import Padded
from nmtkit.models.base import Model

M = TypeVar("M", bound=Model)


class Hypothesis(NamedTuple):
    """A translation found by a search.

    `ids` are the target tokens without the end mark. `log_probability` is the sum of the log-probabilities,
    in nats, of the tokens chosen, end mark included. `score` is what ranks: the log-probability after length
    penalty. `finished` is false where the length limit ended the hypothesis, which then has no end mark and
    no probability of one. `text` is filled in by the translator.
    """

    ids: tuple[int, ...]
    log_probability: float
    score: float
    finished: bool
    text: str = ""

    @classmethod
    def of(cls, chosen: Sequence[int], log_probability: float, score: float) -> "Hypothesis":
        """Return the hypothesis of the tokens chosen, at least one; it is finished if the last is the end mark."""
        finished = chosen[-1] == EOS
        return cls(tuple(chosen[:-1] if finished else chosen), log_probability, score, finished)


class LengthLimit(NamedTuple):
    """At most ratio × source length + extra target tokens, end mark included, for each sentence by itself."""

    ratio: float
    extra: int

    def of(self, source: Padded) -> Tensor:
        """Return the limit of each sentence, (B,) int64; the source's end mark is not counted."""
        return ((source.lengths - 1) * self.ratio).long() + self.extra


class Place(NamedTuple):
    """Where a sentence stands in the text: all that what is drawn for it may depend on, beside a seed."""

    line: int
    """The number of its line."""
    part: int = 0
    """Which part of the line, where that was too long and cut."""


class Search(ABC, Generic[M]):
    """A way to find good translations under a model."""

    @abstractmethod
    def __call__(self, model: M, source: Padded, places: Sequence[Place] | None = None) -> list[list[Hypothesis]]:
        """Return for each of the B sentences its hypotheses, best first, without duplicates.

        A search that draws draws for the `places` of the sentences, so that batches change nothing; None: those in the
        batch. Any other disregards them.
        """
