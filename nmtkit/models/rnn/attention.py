"""Attention of a recurrent decoder: how well each source position answers a state, and what is found there.

Letters as in `models.base`. A query is a decoder state; the hypotheses of a sentence stand as T of them side by side.
"""

from abc import ABC, abstractmethod
from typing import Literal

from torch import Tensor, nn

from nmtkit.models.layers import projection
from nmtkit.models.rnn.cells import matrix


class Attention(nn.Module, ABC):
    """A weighted mean of what the encoder made, by the softmax of scores."""

    @abstractmethod
    def keys(self, encoded: Tensor) -> Tensor:
        """Return what scores need of (B, S, D), as much: once a sentence, for all target positions."""

    @abstractmethod
    def scores(self, query: Tensor, keys: Tensor) -> Tensor:
        """Return the score of each source position, (B, T, D) and (B, S, D) → (B, T, S)."""

    def forward(self, query: Tensor, keys: Tensor, values: Tensor, bias: Tensor) -> Tensor:
        """Return what each query finds in the values, (B, S, D) → (B, T, D).

        `bias`, (B, 1, S) of 0 and -inf, hides padding.
        """
        weights = (self.scores(query, keys) + bias).softmax(-1)
        return weights @ values


class AdditiveAttention(Attention):
    """v · tanh(W query + U encoded + b) (Bahdanau et al. 2015, appendix A.1.2)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.query = matrix(width, width)
        self.key = projection(width, width)
        self.score = matrix(width, 1)

    def keys(self, encoded: Tensor) -> Tensor:
        """Return U encoded + b."""
        keys: Tensor = self.key(encoded)
        return keys

    def scores(self, query: Tensor, keys: Tensor) -> Tensor:
        """Return the score of each source position, (B, T, S)."""
        hidden = (self.query(query)[:, :, None] + keys[:, None]).tanh()
        scores: Tensor = self.score(hidden)
        return scores.squeeze(-1)


class DotAttention(Attention):
    """query · W encoded: the score `general` of Luong et al. 2015, equation 8, with W applied ahead of the query."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.key = matrix(width, width)

    def keys(self, encoded: Tensor) -> Tensor:
        """Return W encoded."""
        keys: Tensor = self.key(encoded)
        return keys

    def scores(self, query: Tensor, keys: Tensor) -> Tensor:
        """Return the score of each source position, (B, T, S)."""
        return query @ keys.mT


ATTENTIONS: dict[Literal["additive", "dot"], type[Attention]] = {"additive": AdditiveAttention, "dot": DotAttention}
"""The attention of each name that the settings know."""
