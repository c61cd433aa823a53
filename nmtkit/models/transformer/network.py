"""The Transformer: encoder, decoder, and how they meet (Vaswani et al. 2017)."""

from collections.abc import Callable
from typing import NamedTuple, cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from nmtkit.data.batch import Batch, Padded
from nmtkit.models.base import AutoregressiveModel, Loss, Memory, Side, State
from nmtkit.models.fused import (
    add_dropped,
    add_dropped_normed,
    cross_attention,
    normed,
    relu_dropped,
    self_attention,
)
from nmtkit.models.layers import (
    Dropout,
    Embedding,
    attention,
    embeddings,
    join_heads,
    padding_bias,
    projection,
    sinusoids,
    split_heads,
)
from nmtkit.models.loss import output_loss
from nmtkit.models.products import Rounded, rounded
from nmtkit.models.transformer.settings import TransformerConfig


class Stream(NamedTuple):
    """What flows through the layers: the residual sum, (B, L, D) float32, and the same in the format of products."""

    sum: Tensor
    rounded: Tensor


class SelfAttention(nn.Module):
    """Multi-head attention of a sequence over itself (section 3.2.2); the three projections lie in one matrix."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.heads = config.heads
        self.widths = config.key_width, config.key_width, config.width  # of queries, keys, values of all heads
        self.query_key_value = projection(config.width, *self.widths)
        self.output = projection(config.width, config.width)
        self.dropout = Dropout(config.attention_dropout)

    def project(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return queries, keys and values of (B, L, D), each (B, H, L, d)."""
        query, key, value = self.query_key_value(x).split_with_sizes(self.widths, -1)
        return split_heads(query, self.heads), split_heads(key, self.heads), split_heads(value, self.heads)

    def attend(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        """Return what the queries find, (B, T, D), short of the bias."""
        return self.output.product(join_heads(attention(query, key, value, None, self.dropout)))

    def forward(self, x: Tensor, lengths: Tensor | None) -> Tensor:
        """(B, L, D) → (B, L, D), short of the bias; positions see those before `lengths`, or without it before them."""
        packed, bias = self.query_key_value.product(x), self.query_key_value.bias
        found = self_attention(packed, bias, self.heads, lengths, self.dropout, key_width=self.widths[0])
        return self.output.product(found)


class CrossAttention(nn.Module):
    """Multi-head attention of the decoder over what the encoder made (section 3.2.3)."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.heads = config.heads
        self.widths = config.key_width, config.width  # of keys and values of all heads
        self.query = projection(config.width, config.key_width)
        self.key_value = projection(config.width, *self.widths)
        self.output = projection(config.width, config.width)
        self.dropout = Dropout(config.attention_dropout)

    def project(self, encoded: Tensor) -> tuple[Tensor, Tensor]:
        """Return keys and values of (B, S, D), each (B, H, S, d); once a sentence, for all target positions."""
        key, value = self.key_value(encoded).split_with_sizes(self.widths, -1)
        return split_heads(key, self.heads), split_heads(value, self.heads)

    def attend(self, x: Tensor, key: Tensor, value: Tensor, bias: Tensor) -> Tensor:
        """(B, T, D) → (B, T, D) over projected keys and values, short of the bias."""
        query = split_heads(self.query(x), self.heads)
        return self.output.product(join_heads(attention(query, key, value, bias, self.dropout)))

    def forward(self, x: Tensor, encoded: Tensor, lengths: Tensor) -> Tensor:
        """(B, T, D) → (B, T, D), short of the bias, over the source, (B, S, D), before `lengths`."""
        query, memory = self.query.product(x), self.key_value.product(encoded)
        biases = self.query.bias, self.key_value.bias
        return self.output.product(cross_attention(query, memory, biases, self.heads, lengths, self.dropout))


class FeedForward(nn.Module):
    """Two linear maps with a ReLU between, the same at every position (section 3.3)."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.inner = projection(config.width, config.feed_forward)
        self.output = projection(config.feed_forward, config.width)
        self.dropout = Dropout(config.activation_dropout)

    def forward(self, x: Tensor) -> Tensor:
        """(B, L, D) → (B, L, D), short of the bias."""
        return self.output.product(relu_dropped(self.inner.product(x), self.inner.bias, self.dropout))


class Residual(nn.Module):
    """What surrounds a sub-layer: x + dropout(sub-layer(x)), with the norm behind it (post) or before it (pre).

    Post is the paper's LayerNorm(x + Dropout(Sublayer(x))), sections 3.1 and 5.4. The sub-layer leaves its last bias
    to the sum.
    """

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(config.width)
        self.dropout = Dropout(config.dropout)
        self.pre = config.norm == "pre"

    def forward(self, x: Stream, sublayer: Callable[[Tensor], Tensor], bias: Tensor) -> Stream:
        """Return the stream behind the sub-layer, whose output is `sublayer(…) + bias`."""
        if self.pre:
            added = add_dropped(x.sum, sublayer(normed(x.sum, self.norm)), bias, self.dropout)
            return Stream(added, added)
        return Stream(*add_dropped_normed(x.sum, sublayer(x.rounded), bias, self.dropout, self.norm))


class EncoderLayer(nn.Module):
    """Self-attention, then feed-forward."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.self_attention = SelfAttention(config)
        self.self_attention_residual = Residual(config)
        self.feed_forward = FeedForward(config)
        self.feed_forward_residual = Residual(config)

    def forward(self, x: Stream, lengths: Tensor) -> Stream:
        """Return the stream one layer on; `lengths`, (B,), are those of the source sentences."""
        attend = self.self_attention
        x = self.self_attention_residual(x, lambda y: attend(y, lengths), attend.output.bias)
        x = self.feed_forward_residual(x, self.feed_forward, self.feed_forward.output.bias)
        return x


class DecoderLayer(nn.Module):
    """Self-attention over earlier targets, attention over the source, then feed-forward."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.self_attention = SelfAttention(config)
        self.self_attention_residual = Residual(config)
        self.cross_attention = CrossAttention(config)
        self.cross_attention_residual = Residual(config)
        self.feed_forward = FeedForward(config)
        self.feed_forward_residual = Residual(config)

    def forward(self, x: Stream, encoded: Tensor, lengths: Tensor) -> Stream:
        """Return the stream of all target positions one layer on, over the source, (B, S, D) before `lengths`."""
        return self._through(
            x, lambda y: self.self_attention(y, None), lambda y: self.cross_attention(y, encoded, lengths)
        )

    def step(
        self, x: Stream, past: tuple[Tensor, Tensor], memory: tuple[Tensor, Tensor], memory_bias: Tensor
    ) -> tuple[Stream, tuple[Tensor, Tensor]]:
        """Return the stream, (R, 1, D), one layer on, one position behind `past`: keys and values, (R, H, T, d).

        Those are returned longer by one.
        """
        grown = past

        def attend(y: Tensor) -> Tensor:
            nonlocal grown
            query, key, value = self.self_attention.project(y)
            grown = torch.cat((past[0], key), dim=2), torch.cat((past[1], value), dim=2)
            return self.self_attention.attend(query, *grown)

        def cross(y: Tensor) -> Tensor:
            # The hypotheses of a sentence ask the same keys: they stand as positions of one query.
            beam = y.size(0) // memory[0].size(0)
            found = self.cross_attention.attend(y.view(-1, beam, y.size(-1)), *memory, memory_bias)
            return found.view_as(y)

        return self._through(x, attend, cross), grown

    def _through(self, x: Stream, attend: Callable[[Tensor], Tensor], cross: Callable[[Tensor], Tensor]) -> Stream:
        x = self.self_attention_residual(x, attend, self.self_attention.output.bias)
        x = self.cross_attention_residual(x, cross, self.cross_attention.output.bias)
        x = self.feed_forward_residual(x, self.feed_forward, self.feed_forward.output.bias)
        return x


class Transformer(AutoregressiveModel):
    """The encoder-decoder of "Attention Is All You Need"."""

    def __init__(self, config: TransformerConfig, source_vocabulary: int, target_vocabulary: int) -> None:
        super().__init__()
        self.config = config
        self.target_embedding, self.source_embedding, self.output_embedding = embeddings(
            config, source_vocabulary, target_vocabulary
        )
        self.source_position_embedding = position_embedding(config)
        self.target_position_embedding = position_embedding(config)
        self.dropout = Dropout(config.dropout)
        self.encoder = nn.ModuleList(EncoderLayer(config) for _ in range(config.encoder_layers))
        self.decoder = nn.ModuleList(DecoderLayer(config) for _ in range(config.decoder_layers))
        pre = config.norm == "pre"
        self.encoder_norm, self.decoder_norm = (nn.LayerNorm(config.width) if pre else None for _ in range(2))
        self._rounded = Rounded()

    def forward(self, batch: Batch, label_smoothing: float = 0.0) -> Loss:
        """Return the summed loss of a batch; padding is left out before the output layer."""
        mask = batch.target.mask
        decoded, targets = self._decode(batch)[mask], batch.target.ids[mask]
        return output_loss(decoded, self.output_embedding.weight, self._rounded, targets, label_smoothing)

    def logits(self, batch: Batch) -> Tensor:
        """Return the teacher-forced next-token scores before the softmax, (B, T, V)."""
        return self._output(self._decode(batch))

    def encode(self, source: Padded) -> Memory:
        """Read B source sentences; returns the keys and values of every cross-attention, ready for all positions."""
        x = self._encode(source)
        memory: Memory = {"bias": padding_bias(source.mask)}
        for number, layer in enumerate(self._decoder_layers()):
            memory[f"keys.{number}"], memory[f"values.{number}"] = layer.cross_attention.project(x)
        return memory

    def start(self, memory: Memory) -> State:
        """Return the decoder's state before the first token: no keys and values yet, position 0."""
        bias = memory["bias"]
        state: State = {name: rows[:, :, :0] for name, rows in memory.items() if name != "bias"}
        return {**state, "position": torch.zeros(len(bias), dtype=torch.int64, device=bias.device)}

    def step(self, tokens: Tensor, memory: Memory, state: State) -> tuple[Tensor, State]:
        """Read one token a row, (R,), and return the scores of the next, (R, V)."""
        x = self._embed(tokens[:, None], state["position"][:, None], "target")
        after: State = {"position": state["position"] + 1}
        for number, layer in enumerate(self._decoder_layers()):
            past = state[f"keys.{number}"], state[f"values.{number}"]
            source = memory[f"keys.{number}"], memory[f"values.{number}"]
            x, (after[f"keys.{number}"], after[f"values.{number}"]) = layer.step(x, past, source, memory["bias"])
        return self._output(_top(x, self.decoder_norm).squeeze(1)), after

    def _decoder_layers(self) -> list[DecoderLayer]:
        return cast("list[DecoderLayer]", list(self.decoder))

    def _encode(self, source: Padded) -> Tensor:
        """Return the encoder's output at every source position, (B, S, D)."""
        positions = torch.arange(source.ids.size(1), device=source.ids.device)
        x = self._embed(source.ids, positions, "source")
        for layer in self.encoder:
            x = self.through(layer, x, source.lengths)
        return _top(x, self.encoder_norm)

    def _decode(self, batch: Batch) -> Tensor:
        """Return the decoder's output at every target position, (B, T, D)."""
        encoded, lengths = self._encode(batch.source), batch.source.lengths
        # Padding stands behind the tokens, so that no token sees it: each sees but those before.
        positions = torch.arange(batch.target.ids.size(1), device=batch.target.ids.device)
        x = self._embed(batch.decoder_input, positions, "target")
        for layer in self._decoder_layers():
            x = self.through(layer, x, encoded, lengths)
        return _top(x, self.decoder_norm)

    def _embed(self, ids: Tensor, positions: Tensor, side: Side) -> Stream:
        """Return dropout(embedding × √D + position) of ids and their positions (sections 3.4, 3.5, 5.4).

        A learned position is a row of a matrix like that of tokens, drawn and multiplied alike.
        """
        tokens, places, width = self.target_embedding, self.target_position_embedding, self.config.width
        if side == "source":
            tokens, places = self.source_embedding, self.source_position_embedding
        if places is None:
            position = sinusoids(positions, width)
        else:
            position = places(positions.clamp(max=places.num_embeddings - 1)) * width**0.5
        dropped: Tensor = self.dropout(tokens(ids) * width**0.5 + position)
        return Stream(dropped, rounded(dropped))

    def _output(self, x: Tensor) -> Tensor:
        """Return the scores of all target pieces, (…, D) → (…, V)."""
        return F.linear(x, self.output_embedding.weight)


def position_embedding(config: TransformerConfig) -> Embedding | None:
    """Return a matrix of positions; None where they are computed."""
    return Embedding(config.longest, config.width) if config.longest else None


def _top(x: Stream, norm: nn.LayerNorm | None) -> Tensor:
    """Return what a stack of layers gives, in the format of products; pre-norm layers leave the last norm to this."""
    return x.rounded if norm is None else normed(x.sum, norm)
