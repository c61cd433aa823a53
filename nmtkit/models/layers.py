"""Layers shared by architectures: dropout, attention, positions, embeddings.

Letters as in `models.base`; **H** heads, **d** the width of a head (D / H, that of queries and keys may be another),
**L** positions of either side.
"""

import math
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from nmtkit.kernels.masks import draw_seed, sentences_before
from nmtkit.models.products import Projection
from nmtkit.models.section import ModelSection


class Dropout(nn.Module):
    """Zero each element with probability p in training and scale the rest by 1 / (1 - p) (Srivastava et al. 2014).

    The mask compares 16 random bits an element with p, which costs a fraction of what drawing a Bernoulli variable
    does on a CPU; p is met to 1 / 65,536. Draws from torch's default generator of the device; on a CPU for the whole
    tensor, of which the rows at hand may be some sentences (`kernels.masks`).
    """

    def __init__(self, p: float) -> None:
        super().__init__()
        self.p = p
        self._threshold = round(p * 65_536) - 32_768

    def forward(self, x: Tensor) -> Tensor:
        """Return x, of any shape, with elements dropped."""
        if not self.training or self.p == 0:
            return x
        if torch.compiler.is_compiling():  # which draws masks in the midst of what it fuses
            return F.dropout(x, self.p)
        bits = self._bits(x.numel(), x.numel() // len(x), x.device).view(x.shape)
        return x * ((bits >= self._threshold).to(x.dtype) / (1 - self.p))

    @staticmethod
    def _bits(count: int, each: int, device: torch.device) -> Tensor:
        """Return 16 random bits for each of `count` elements, `each` of them in a sentence: (count,) int16."""
        before, generator = 0, None
        if device.type == "cpu":
            before, generator = each * sentences_before(), torch.Generator().manual_seed(draw_seed())
        words = torch.empty((before + count + 3) // 4, dtype=torch.int64, device=device)
        return words.random_(-(2**63), None, generator=generator).view(torch.int16)[before : before + count]

    def extra_repr(self) -> str:
        """Return what the representation of the module shows."""
        return f"p={self.p}"


def sinusoids(positions: Tensor, width: int) -> Tensor:
    """Return the positional encodings of positions of any shape, (…, width) float32 (Vaswani et al. 2017, section 3.5).

    Even dimensions hold sin(position / 10000^(2i / width)), odd ones the cosine.
    """
    rates = torch.exp(torch.arange(0, width, 2, device=positions.device) * (-math.log(10_000.0) / width))
    angles = positions[..., None].float() * rates
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(-2)


def padding_bias(mask: Tensor) -> Tensor:
    """Return what to add to attention scores to hide padding: (B, L) bool → (B, 1, 1, L) of 0 and -inf."""
    return torch.zeros(mask.shape, device=mask.device).masked_fill_(~mask, -math.inf)[:, None, None, :]


def causal_bias(length: int, device: torch.device) -> Tensor:
    """Return what to add to scores so that no position sees a later one: (L, L) of 0 and -inf."""
    return torch.full((length, length), -math.inf, device=device).triu_(diagonal=1)


LONG = 192
"""Positions from which PyTorch's fused attention is the faster way on a CPU: below, its way back costs more."""


def attention(query: Tensor, key: Tensor, value: Tensor, bias: Tensor | None, dropout: Dropout) -> Tensor:
    """Scaled dot-product attention (Vaswani et al. 2017, section 3.2.1).

    `query` (B, H, T, d) and `key` (B, H, L, d), `value` (B, H, L, d) of a d of its own; `bias` is added to the scores
    and broadcasts to (B, H, T, L). Returns (B, H, T, d), as wide as values. By PyTorch's fused kernel on a GPU and for
    long sentences; else the three operations are written out. Measured on two cores with AVX-512 BF16, forth and back,
    4,096 positions of 8 heads of 64 in bf16: written out 30, 89, 150 and 300 ms with 64, 192, 256 and 512 positions a
    sentence, fused 79, 86, 101 and 157 ms; the kernel of `models.fused` 25, 57, 78 and 240 ms.
    """
    if query.is_cuda or key.size(2) > LONG:
        p = dropout.p if dropout.training else 0.0
        mask = None if bias is None else bias.to(query.dtype)
        scale, size = query.size(-1) ** -0.5, max(query.size(-1), value.size(-1))
        q, k, v = (_wide(x, size) for x in (query, key, value))  # the fused kernels know one size only
        found = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, dropout_p=p, scale=scale)
        return found[..., : value.size(-1)]
    scores = (query * query.size(-1) ** -0.5) @ key.transpose(-1, -2)
    if bias is not None:
        scores = scores + bias
    weights: Tensor = dropout(scores.softmax(-1))
    return weights.to(value.dtype) @ value


def _wide(x: Tensor, size: int) -> Tensor:
    """Return x with zeros behind its last dimension, up to this size."""
    return x if x.size(-1) == size else F.pad(x, (0, size - x.size(-1)))


def split_heads(x: Tensor, heads: int) -> Tensor:
    """(B, L, D) → (B, H, L, d)."""
    return x.view(x.size(0), x.size(1), heads, -1).transpose(1, 2)


def join_heads(x: Tensor) -> Tensor:
    """(B, H, L, d) → (B, L, D)."""
    return x.transpose(1, 2).flatten(-2)


def projection(inputs: int, *outputs: int) -> Projection:
    """Return a linear layer with Xavier-uniform weights and zero biases (Glorot and Bengio 2010).

    Matrices that share their input may lie in one layer, one behind the other; each is drawn by its own size.
    """
    layer = Projection(inputs, sum(outputs))
    for block in layer.weight.data.split_with_sizes(list(outputs)):
        nn.init.xavier_uniform_(block)
    nn.init.zeros_(layer.bias)
    return layer


class Embedding(nn.Embedding):
    """A matrix of V vectors, drawn from N(0, 1 / D) so that √D times a row has unit variance."""

    def reset_parameters(self) -> None:
        """Draw the weights."""
        nn.init.normal_(self.weight, std=self.embedding_dim**-0.5)


class Embeddings(NamedTuple):
    """The matrices of target, source and output, some of them the same."""

    target: Embedding
    source: Embedding
    output: Embedding


def embeddings(settings: ModelSection, source_vocabulary: int, target_vocabulary: int) -> Embeddings:
    """Return as many matrices as `share_embeddings` asks for (Press and Wolf 2017)."""
    target = Embedding(target_vocabulary, settings.width)
    share = settings.share_embeddings
    source = target if share == "all" else Embedding(source_vocabulary, settings.width)
    output = Embedding(target_vocabulary, settings.width) if share == "none" else target
    return Embeddings(target, source, output)
