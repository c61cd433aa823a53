"""What sub-layers are made of, each in two ways: by a kernel on the processor where training uses them, or by PyTorch.

Both compute the same but for rounding and for what dropout draws. Residual sums, norms and losses are float32 in any
case; what products are made from is in their own format (`models.products`).
"""

import torch
from torch import Tensor, nn

from nmtkit.kernels import operations
from nmtkit.kernels.library import Kernels, in_use
from nmtkit.kernels.operations import Dropping
from nmtkit.models.layers import Dropout, attention, causal_bias, join_heads, padding_bias, split_heads
from nmtkit.models.products import number_format, rounded

FEW = 384
"""Positions up to which the attention kernel is the fastest way (figures: `layers.attention`)."""


def add_dropped(x: Tensor, y: Tensor, bias: Tensor, dropout: Dropout) -> Tensor:
    """Return x + dropout(y + bias), (…, D) float32."""
    kernels = in_use(x, y)
    if kernels is not None:
        total: Tensor = operations.apply(operations.Sum, _drop(kernels, dropout, x), x, y, bias)
        return total
    total = x + dropout(y + bias.to(y.dtype))
    return total


def normed(x: Tensor, norm: nn.LayerNorm) -> Tensor:
    """Return the norm of x, (…, D), in the format of products."""
    kernels = in_use(x)
    if kernels is not None:
        found: Tensor = operations.apply(
            operations.Normed, kernels, number_format(x), norm.eps, x, norm.weight, norm.bias
        )
        return found
    return rounded(norm(x))


def add_dropped_normed(
    x: Tensor, y: Tensor, bias: Tensor, dropout: Dropout, norm: nn.LayerNorm
) -> tuple[Tensor, Tensor]:
    """Return the norm of x + dropout(y + bias), (…, D), in float32 and in the format of products."""
    kernels = in_use(x, y)
    if kernels is None:
        exact: Tensor = norm(x + dropout(y + bias.to(y.dtype)))
        return exact, rounded(exact)
    exact, copy = operations.apply(
        operations.SumNormed, _drop(kernels, dropout, x), norm.eps, x, y, bias, norm.weight, norm.bias
    )
    return exact, exact if copy is None else copy


def relu_dropped(x: Tensor, bias: Tensor, dropout: Dropout) -> Tensor:
    """Return dropout(max(x + bias, 0)), (…, F); x, which nothing else may need, is used up."""
    kernels = in_use(x)
    if kernels is not None:
        found: Tensor = operations.apply(operations.Relu, _drop(kernels, dropout, x), x, bias)
        return found
    dropped: Tensor = dropout((x + bias.to(x.dtype)).relu())
    return dropped


def self_attention(
    packed: Tensor, bias: Tensor, heads: int, lengths: Tensor | None, dropout: Dropout, *, key_width: int
) -> Tensor:
    """Return what each position finds in its sentence: queries, keys and values, (B, L, 2 E + D), to (B, L, D).

    E is `key_width`. `bias`, (2 E + D,), is added first. Positions from `lengths`, (B,), on are hidden; without it, all
    later positions.
    """
    kernels = _for_attention(packed.size(1), dropout, packed)
    if kernels is not None:
        found: Tensor = operations.apply(operations.SelfAttention, kernels, heads, key_width, lengths, packed, bias)
        return found
    widths = key_width, key_width, packed.size(-1) - 2 * key_width
    query, key, value = (split_heads(x, heads) for x in (packed + bias.to(packed.dtype)).split_with_sizes(widths, -1))
    positions = packed.size(1)
    hidden = causal_bias(positions, packed.device) if lengths is None else _padding(lengths, positions)
    return join_heads(attention(query, key, value, hidden, dropout))


def cross_attention(
    query: Tensor, memory: Tensor, biases: tuple[Tensor, Tensor], heads: int, lengths: Tensor, dropout: Dropout
) -> Tensor:
    """Return what each target position, (B, T, E), finds in the source, (B, S, E + D) of keys and values: (B, T, D).

    The biases, (E,) and (E + D,), are added first; source positions from `lengths`, (B,), on are hidden.
    """
    kernels = _for_attention(max(query.size(1), memory.size(1)), dropout, query, memory)
    if kernels is not None:
        found: Tensor = operations.apply(operations.CrossAttention, kernels, heads, lengths, query, memory, *biases)
        return found
    widths = query.size(-1), memory.size(-1) - query.size(-1)
    query = split_heads(query + biases[0].to(query.dtype), heads)
    key, value = (split_heads(x, heads) for x in (memory + biases[1].to(memory.dtype)).split_with_sizes(widths, -1))
    return join_heads(attention(query, key, value, _padding(lengths, key.size(2)), dropout))


def _for_attention(positions: int, dropout: Dropout, *tensors: Tensor) -> Kernels | None:
    # What is compiled should not ask for sizes: it would be compiled anew for each answer.
    if torch.compiler.is_compiling() or positions > FEW or (dropout.training and dropout.p):
        return None
    return in_use(*tensors)


def _padding(lengths: Tensor, positions: int) -> Tensor:
    return padding_bias(torch.arange(positions, device=lengths.device) < lengths[:, None])


def _drop(kernels: Kernels, dropout: Dropout, x: Tensor) -> Dropping:
    return Dropping.draw(kernels, dropout.p if dropout.training else 0.0, x)
