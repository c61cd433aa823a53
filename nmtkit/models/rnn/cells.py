"""Recurrent layers: one direction of GRU or LSTM, over whole sequences or one position at a time.

Letters as in `models.base`; **L** positions of either side, **I** and **D** the width of a layer's input and its state.
"""

from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F

CellState = tuple[Tensor, ...]
"""What a layer carries from position to position, (R, D) each: the hidden state; behind it the LSTM's cell state."""


class Gru(nn.GRU):
    """A layer of gated recurrent units (Cho et al. 2014); the reset gate acts behind the product, as in cuDNN."""

    states = 1
    """Tensors in the state."""
    gates = 3
    """Blocks of D rows in each weight: reset, update, new."""

    weight_ih_l0: Tensor
    weight_hh_l0: Tensor
    bias_ih_l0: Tensor
    bias_hh_l0: Tensor

    def __init__(self, inputs: int, width: int) -> None:
        super().__init__(inputs, width, batch_first=True)

    def reset_parameters(self) -> None:
        """Draw the weights."""
        draw(self)

    def sequence(self, x: Tensor, state: CellState | None = None) -> Tensor:
        """Return the hidden state at each position, (B, L, I) → (B, L, D); without a state it begins with zeros."""
        outputs: Tensor = self(x, None if state is None else state[0][None].contiguous())[0]
        return outputs

    def step(self, inputs: Tensor, state: CellState) -> CellState:
        """Return the state behind one position; `inputs` is what it gives to the gates, (R, 3 D), with its biases."""
        (hidden,) = state
        parts = [2 * self.hidden_size, self.hidden_size]
        given, given_new = torch.split(inputs, parts, dim=-1)
        kept, kept_new = torch.split(F.linear(hidden, self.weight_hh_l0, self.bias_hh_l0), parts, dim=-1)
        reset, update = (given + kept).sigmoid().chunk(2, dim=-1)
        new = torch.addcmul(given_new, reset, kept_new).tanh()
        return (torch.lerp(new, hidden, update),)


class Lstm(nn.LSTM):
    """A layer of long short-term memory with forget gates (Hochreiter and Schmidhuber 1997, Gers et al. 2000)."""

    states = 2
    """Tensors in the state."""
    gates = 4
    """Blocks of D rows in each weight: input, forget, new, output."""

    weight_ih_l0: Tensor
    weight_hh_l0: Tensor
    bias_ih_l0: Tensor
    bias_hh_l0: Tensor

    def __init__(self, inputs: int, width: int) -> None:
        super().__init__(inputs, width, batch_first=True)

    def reset_parameters(self) -> None:
        """Draw the weights; forget gates begin open, by a bias of 1 (Jozefowicz et al. 2015)."""
        draw(self)
        nn.init.ones_(self.bias_ih_l0.data[self.hidden_size : 2 * self.hidden_size])

    def sequence(self, x: Tensor, state: CellState | None = None) -> Tensor:
        """Return the hidden state at each position, (B, L, I) → (B, L, D); without a state it begins with zeros."""
        outputs: Tensor = self(x, None if state is None else tuple(part[None].contiguous() for part in state))[0]
        return outputs

    def step(self, inputs: Tensor, state: CellState) -> CellState:
        """Return the state behind one position; `inputs` is what it gives to the gates, (R, 4 D), with its biases."""
        hidden, cell = state
        gates = inputs + F.linear(hidden, self.weight_hh_l0, self.bias_hh_l0)
        gates, new, output = torch.split(gates, [2 * self.hidden_size, self.hidden_size, self.hidden_size], dim=-1)
        write, keep = gates.sigmoid().chunk(2, dim=-1)
        cell = torch.addcmul(keep * cell, write, new.tanh())
        return output.sigmoid() * cell.tanh(), cell


Layer = Gru | Lstm

LAYERS: dict[Literal["gru", "lstm"], type[Gru] | type[Lstm]] = {"gru": Gru, "lstm": Lstm}
"""The layer of each cell that the settings name."""


def gate_inputs(layer: Layer, x: Tensor) -> Tensor:
    """Return what inputs give to the gates of a layer, (…, I) → (…, gates × D); many positions in one product."""
    return F.linear(x, layer.weight_ih_l0, layer.bias_ih_l0)


def matrix(inputs: int, outputs: int, blocks: int = 1) -> nn.Linear:
    """Return a linear layer without biases, its blocks drawn as those of `projection`."""
    layer = nn.Linear(inputs, blocks * outputs, bias=False)
    for block in layer.weight.data.chunk(blocks):
        nn.init.xavier_uniform_(block)
    return layer


def draw(layer: Layer) -> None:
    """Draw the weights of a layer, each gate by itself: inputs Xavier-uniform, recurrent orthogonal, biases zero.

    An orthogonal matrix keeps the length of a state over many positions (Saxe et al. 2014).
    """
    for block in layer.weight_ih_l0.data.chunk(layer.gates):
        nn.init.xavier_uniform_(block)
    for block in layer.weight_hh_l0.data.chunk(layer.gates):
        nn.init.orthogonal_(block)
    nn.init.zeros_(layer.bias_ih_l0)
    nn.init.zeros_(layer.bias_hh_l0)


def reversed_within(x: Tensor, lengths: Tensor) -> Tensor:
    """Turn round each sequence of (B, L, D) within its own length, padding left behind; twice gives x again."""
    positions = torch.arange(x.size(1), device=x.device)
    ends = lengths[:, None] - 1
    order = torch.where(positions <= ends, ends - positions, positions)
    return x.gather(1, order[:, :, None].expand(-1, -1, x.size(2)))
