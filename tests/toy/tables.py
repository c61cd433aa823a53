"""A model without a network: its predictions stand in a table, so that searches can be checked by hand."""

import torch
from torch import Tensor

from nmtkit.corpus.vocabulary import BOS, EOS
from nmtkit.data.batch import Batch, Padded
from nmtkit.models.base import AutoregressiveModel, Loss, Memory, State

ROWS = 9973


class TableModel(AutoregressiveModel):
    """The scores of the next token are a row of a random table, chosen by source and prefix alone.

    `end` is added to the score of the end mark: large values make short translations. Arithmetic on batches
    is exact, so results can be compared to the bit.
    """

    def __init__(self, vocabulary: int, seed: int = 0, spread: float = 1.5, end: float = 0.0) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(seed)
        table = spread * torch.randn(ROWS, vocabulary, generator=generator)
        table[:, EOS] += end
        self.table = torch.nn.Parameter(table)
        self.steps = 0
        self.rows = 0

    def forward(self, batch: Batch, label_smoothing: float = 0.0) -> Loss:
        raise AssertionError("no test trains a table")

    def encode(self, source: Padded) -> Memory:
        key = torch.zeros_like(source.lengths)
        for column in range(source.ids.size(1)):
            after = (key * 31 + source.ids[:, column] + 1) % ROWS
            key = torch.where(column < source.lengths, after, key)
        return {"key": key}

    def start(self, memory: Memory) -> State:
        return {"key": memory["key"].clone()}

    def step(self, tokens: Tensor, memory: Memory, state: State) -> tuple[Tensor, State]:
        assert len(tokens) % len(memory["key"]) == 0
        self.steps += 1
        self.rows += len(tokens)
        key = (state["key"] * 37 + tokens * 101 + 5) % ROWS
        return self.table[key], {"key": key}

    def logits(self, batch: Batch) -> Tensor:
        memory = self.encode(batch.source)
        state = self.start(memory)
        scores = []
        assert (batch.decoder_input[:, 0] == BOS).all()
        for column in range(batch.target.ids.size(1)):
            score, state = self.step(batch.decoder_input[:, column], memory, state)
            scores.append(score)
        return torch.stack(scores, dim=1)
