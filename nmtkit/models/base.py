"""What a model promises. Training knows `forward`; search knows `encode`, `start`, `step` and row-first state.

Letters used by every docstring: **B** sentences, **S** source positions, **T** target positions, **K** beam,
**R** rows (B × K, the hypotheses of a sentence side by side), **V** target vocabulary, **D** model width.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar, Literal, NamedTuple

import torch
from torch import Tensor, nn

from nmtkit.data.batch import Batch, Padded
from nmtkit.models.recomputing import recomputed

Side = Literal["source", "target"]
"""Of a sentence pair, and of the vocabularies."""

Rows = dict[str, Tensor]
"""Named tensors; the first dimension of each is the row. Only the model that made them reads the names."""
Memory = Rows
"""What the encoder made of B sentences, one row a sentence; shared by all hypotheses of a sentence."""
State = Rows
"""What the decoder carries, one row a hypothesis; follows its hypothesis."""


class Loss(NamedTuple):
    """Sums over the target tokens of a batch, end marks included; divide once, at the very end.

    `total` is what training minimises (smoothed if asked for), `nll` the plain negative log-likelihood, both
    scalar tensors in nats, float32; `tokens` is the number of target tokens.
    """

    total: Tensor
    nll: Tensor
    tokens: int


class Model(nn.Module, ABC):
    """A network that can be trained on sentence pairs."""

    vocabulary_rows: ClassVar[Mapping[str, Side]] = {
        "target_embedding.weight": "target",
        "source_embedding.weight": "source",
        "output_embedding.weight": "target",
    }
    """The parameters with a row for each piece of a vocabulary, and of which; a shared one has several names."""
    compilable: ClassVar[bool] = True
    """False where torch.compile has nothing to gain by the layers."""

    recompute = False
    """Whether layers keep nothing but their inputs for the way back (`models.recomputing`)."""
    compiled: Callable[..., Any] | None = None
    """Calls its first argument, a layer, with the others, compiled; None: layers are called as they are."""

    def through(self, layer: Callable[..., Any], *inputs: Any) -> Any:
        """Return what a layer makes of its inputs, in training compiled or recomputed on the way back as was asked for.

        In any other case it is simply called, so that scores of a development set are those of any translation.
        """
        if not (self.training and torch.is_grad_enabled()):
            return layer(*inputs)
        call, arguments = (layer, inputs) if self.compiled is None else (self.compiled, (layer, *inputs))
        return recomputed(call, *arguments) if self.recompute else call(*arguments)

    @contextmanager
    def plain(self) -> Iterator[None]:
        """Within, layers are called as they are."""
        before = self.recompute, self.compiled
        self.recompute, self.compiled = False, None
        try:
            yield
        finally:
            self.recompute, self.compiled = before

    @abstractmethod
    def forward(self, batch: Batch, label_smoothing: float = 0.0) -> Loss:
        """Return the summed loss of a batch."""

    @abstractmethod
    def encode(self, source: Padded) -> Memory:
        """Read B source sentences."""


class AutoregressiveModel(Model):
    """A model that predicts one target token after another."""

    @abstractmethod
    def logits(self, batch: Batch) -> Tensor:
        """Return the teacher-forced next-token scores before the softmax, (B, T, V)."""

    @abstractmethod
    def start(self, memory: Memory) -> State:
        """Return the decoder's state before the first token, one row a sentence (B)."""

    @abstractmethod
    def step(self, tokens: Tensor, memory: Memory, state: State) -> tuple[Tensor, State]:
        """Read one token a row and return the scores of the next, before the softmax.

        `tokens` is (R,) int64, BOS at the first step. R is a multiple of the B rows of `memory`: row r belongs to
        sentence r // (R // B). Returns (R, V) and the state after this token; the given state is used up.
        """

    def select(self, rows: Rows, index: Tensor) -> Rows:
        """Return the rows of a memory or state named by `index`, (N,) int64, in that order; repeats are allowed.

        A model whose state is large may keep an index instead of copying.
        """
        return {name: tensor.index_select(0, index) for name, tensor in rows.items()}
