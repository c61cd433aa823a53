"""The recurrent encoder-decoder: two sides and the attention between (Bahdanau et al. 2015, Luong et al. 2015)."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from nmtkit.data.batch import Batch, Padded
from nmtkit.models.base import AutoregressiveModel, Loss, Memory, State
from nmtkit.models.layers import Dropout, embeddings, padding_bias, projection
from nmtkit.models.loss import output_loss
from nmtkit.models.products import Rounded
from nmtkit.models.rnn.attention import ATTENTIONS
from nmtkit.models.rnn.cells import LAYERS, CellState, Layer, gate_inputs, matrix, reversed_within
from nmtkit.models.rnn.settings import RnnConfig


class EncoderLayer(nn.Module):
    """Two recurrent layers of half the width: one reads forwards, the other backwards."""

    def __init__(self, config: RnnConfig) -> None:
        super().__init__()
        self.forwards = LAYERS[config.cell](config.width, config.width // 2)
        self.backwards = LAYERS[config.cell](config.width, config.width // 2)

    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        """(B, S, D) → (B, S, D).

        Each direction begins at an end of the sentence itself and meets the padding last, so no token feels it.
        """
        backwards = self.backwards.sequence(reversed_within(x, lengths))
        return torch.cat((self.forwards.sequence(x), reversed_within(backwards, lengths)), dim=-1)


class Decoder(nn.Module):
    """Recurrent layers, attention by the state of the last one, and the attentional vector, which predicts.

    That vector is tanh(W [found; state] + b), whichever way attention scores (Luong et al. 2015, equation 5).
    """

    def __init__(self, config: RnnConfig) -> None:
        super().__init__()
        width, layer = config.width, LAYERS[config.cell]
        self.layers = nn.ModuleList(layer(width, width) for _ in range(config.decoder_layers))
        # The columns of the first layer's input weights that the attentional vector of the last position meets.
        self.feed = matrix(width, width, blocks=layer.gates) if config.input_feeding else None
        self.initial = projection(width // 2, *[width] * (config.decoder_layers * layer.states))
        self.attention = ATTENTIONS[config.attention](width)
        self.combine = projection(2 * width, width)
        self.dropout = Dropout(config.dropout)

    def initial_states(self, encoded: Tensor) -> Tensor:
        """Return what the layers begin with, (B, S, D) → (B, layers × states × D); see `by_layer`.

        It is tanh(W h + b) of h, the state in which the encoder's backward direction has read the whole sentence
        (Bahdanau et al. 2015, appendix A.2.2, for their one layer of GRU).
        """
        whole = encoded[:, 0, encoded.size(-1) // 2 :]
        return cast(Tensor, self.initial(whole)).tanh()

    def by_layer(self, states: Tensor) -> list[CellState]:
        """Return the states of the layers, which lie side by side in one tensor, (R, layers × states × D)."""
        layers = self._layers()
        parts = states.chunk(len(layers), dim=-1)
        return [part.chunk(layer.states, dim=-1) for part, layer in zip(parts, layers, strict=True)]

    def inputs(self, x: Tensor) -> Tensor:
        """Return what embedded tokens give to the gates of the first layer, (…, D) → (…, gates × D)."""
        return gate_inputs(self._layers()[0], x)

    def forward(self, x: Tensor, memory: Memory, through: Callable[..., Any]) -> Tensor:
        """Return the attentional vector behind each embedded token, (B, T, D) → (B, T, D), by teacher forcing.

        Layers, attention or whole steps are called by `through` (`Model.through`).
        """
        states = self.by_layer(memory["initial"])
        if self.feed is None:
            for depth, (layer, state) in enumerate(zip(self._layers(), states, strict=True)):
                x = through(layer.sequence, self.dropout(x) if depth else x, state)
            return cast(Tensor, through(self._attend, x, memory))
        vector, vectors = torch.zeros_like(x[:, 0]), []
        for inputs in self.inputs(x).unbind(1):
            vector, states = through(self.step, inputs, vector, states, memory)
            vectors.append(vector)
        return torch.stack(vectors, dim=1)

    def step(
        self, inputs: Tensor, last: Tensor, states: Sequence[CellState], memory: Memory
    ) -> tuple[Tensor, list[CellState]]:
        """Return the attentional vector and the states behind one more token of R rows.

        `inputs`, (R, gates × D), is what the token gives to the first layer; `last`, (R, D), the attentional vector
        of the position before. The R / B hypotheses of a sentence ask the same memory.
        """
        if self.feed is not None:
            inputs = torch.addmm(inputs, last, self.feed.weight.mT)
        after: list[CellState] = []
        for layer, state in zip(self._layers(), states, strict=True):
            if after:
                inputs = gate_inputs(layer, self.dropout(after[-1][0]))
            after.append(layer.step(inputs, state))
        top = after[-1][0]
        vector = self._attend(top.view(len(memory["keys"]), -1, top.size(-1)), memory)
        return vector.view_as(top), after

    def _attend(self, queries: Tensor, memory: Memory) -> Tensor:
        """(B, T, D) → (B, T, D)."""
        found = self.attention(queries, memory["keys"], memory["values"], memory["bias"])
        return cast(Tensor, self.combine(torch.cat((found, queries), dim=-1))).tanh()

    def _layers(self) -> list[Layer]:
        return cast("list[Layer]", list(self.layers))


class RecurrentNetwork(AutoregressiveModel):
    """The encoder-decoder that the Transformer set out to replace.

    Everything before the output layer computes in float32, under autocast too: a state rounded to 8 bits at each
    position drifts away, and products of one position gain little. Measured with bf16 in them, on one core of an AMD
    EPYC with AVX-512 BF16 and the preset tiny: forward and backward 1.1 times as fast.
    """

    compilable = False  # torch.compile breaks off at recurrent layers, and a loop over positions it unrolls

    def __init__(self, config: RnnConfig, source_vocabulary: int, target_vocabulary: int) -> None:
        super().__init__()
        self.config = config
        self.target_embedding, self.source_embedding, self.output_embedding = embeddings(
            config, source_vocabulary, target_vocabulary
        )
        self.encoder = nn.ModuleList(EncoderLayer(config) for _ in range(config.encoder_layers))
        self.decoder = Decoder(config)
        self.dropout = Dropout(config.dropout)
        self._rounded = Rounded()

    def forward(self, batch: Batch, label_smoothing: float = 0.0) -> Loss:
        """Return the summed loss of a batch; padding is left out before the output layer."""
        mask = batch.target.mask
        decoded = self._decode(batch)[mask]
        targets = batch.target.ids[mask]
        return output_loss(decoded, self.output_embedding.weight, self._rounded, targets, label_smoothing)

    def logits(self, batch: Batch) -> Tensor:
        """Return the teacher-forced next-token scores before the softmax, (B, T, V)."""
        return self._output(self._decode(batch))

    def encode(self, source: Padded) -> Memory:
        """Read B source sentences; returns what attention needs of each position and what the decoder begins with."""
        with _float32(source.ids.device):
            x = self._embed(self.source_embedding, source.ids)
            for layer in self.encoder:
                x = self.dropout(self.through(layer, x, source.lengths))
            return {
                "keys": self.decoder.attention.keys(x),
                "values": x,
                "bias": padding_bias(source.mask)[:, 0],
                "initial": self.decoder.initial_states(x),
            }

    def start(self, memory: Memory) -> State:
        """Return the decoder's state before the first token, with an attentional vector of zeros."""
        return {"layers": memory["initial"], "vector": torch.zeros_like(memory["values"][:, 0])}

    def step(self, tokens: Tensor, memory: Memory, state: State) -> tuple[Tensor, State]:
        """Read one token a row, (R,), and return the scores of the next, (R, V)."""
        with _float32(tokens.device):
            inputs = self.decoder.inputs(self._embed(self.target_embedding, tokens))
            vector, states = self.decoder.step(inputs, state["vector"], self.decoder.by_layer(state["layers"]), memory)
            layers = torch.cat([part for layer in states for part in layer], dim=-1)
        return self._output(vector), {"layers": layers, "vector": vector}

    def _decode(self, batch: Batch) -> Tensor:
        """Return the attentional vector that predicts each target token, (B, T, D)."""
        memory = self.encode(batch.source)
        with _float32(batch.target.ids.device):
            vectors = self.decoder(self._embed(self.target_embedding, batch.decoder_input), memory, self.through)
            decoded: Tensor = self.dropout(vectors)
        return decoded

    def _embed(self, embedding: nn.Embedding, ids: Tensor) -> Tensor:
        """Return dropout(embedding × √D) of ids: inputs of unit variance from a matrix that may serve as output too."""
        dropped: Tensor = self.dropout(embedding(ids) * embedding.embedding_dim**0.5)
        return dropped

    def _output(self, x: Tensor) -> Tensor:
        """Return the scores of all target pieces, (…, D) → (…, V)."""
        return F.linear(x, self.output_embedding.weight)


def _float32(device: torch.device) -> AbstractContextManager[Any]:
    return torch.autocast(device.type, enabled=False)
