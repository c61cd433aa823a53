"""Fused operations with their gradients, for tensors on the processor: what the layers of a model are made of.

Letters as in `models.base`; **N** rows (tokens), **H** heads, **E** the width of the queries, and of the keys, of all
heads together, as **D** is that of their values. `number` is the format of products, float32 or bfloat16; sums, norms
and losses are float32 throughout.
"""

from ctypes import byref
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd import Function

from nmtkit.kernels.library import Heads, Kernels
from nmtkit.kernels.masks import draw_seed, sentences_before


class Dropping(NamedTuple):
    """Kernels, and which mask of dropout they draw: a seed, and the share that is dropped."""

    kernels: Kernels
    seed: int
    p: float

    @classmethod
    def draw(cls, kernels: Kernels, p: float, x: Tensor) -> "Dropping":
        """Return a mask for x, whose rows are sentences; see `kernels.masks`."""
        if not p:
            return cls(kernels, 0, 0.0)
        seed, first = draw_seed(), sentences_before() * (x.numel() // len(x))
        # A place is added to the lower half of the seed, so a mask that begins at a later place has a higher one.
        return cls(kernels, (seed & ~0xFFFFFFFF) | ((seed + first) & 0xFFFFFFFF), p)


def apply(function: type[Function], *arguments: Any) -> Any:
    """Return what an operation makes of its arguments."""
    return function.apply(*arguments)  # type: ignore[no-untyped-call]


def _sizes(x: Tensor) -> tuple[int, int]:
    """Return the rows of (…, D), and D."""
    return x.numel() // x.size(-1), x.size(-1)


def _flat(gradient: Tensor | None) -> Tensor | None:
    return None if gradient is None else gradient.contiguous()


class Sum(Function):
    """x + dropout(y + bias), (…, D) float32: a residual sum without a norm behind it."""

    @staticmethod
    def forward(ctx: Any, dropping: Dropping, x: Tensor, y: Tensor, bias: Tensor) -> Tensor:
        total = torch.empty_like(x)
        rows, width = _sizes(x)
        nothing = None
        kernels, *mask = dropping
        kernels(
            "residual_forward", y.dtype, x, y, bias, *mask, nothing, nothing, 0.0, total, *[nothing] * 4, rows, width
        )
        ctx.kernels, ctx.mask, ctx.number = kernels, mask, y.dtype
        return total

    @staticmethod
    def backward(ctx: Any, by_total: Tensor) -> tuple[Tensor | None, ...]:
        by_total = by_total.contiguous()
        by_x = torch.empty_like(by_total)
        by_y = torch.empty_like(by_total, dtype=ctx.number)
        rows, width = _sizes(by_total)
        sums = by_total.new_empty(3 * width)
        ctx.kernels("residual_backward", ctx.number, by_total, *[None] * 6, *ctx.mask, by_x, by_y, sums, rows, width)
        return None, by_x, by_y, sums[:width]


class Normed(Function):
    """The norm of x, (…, D) float32, rounded to `number`."""

    @staticmethod
    def forward(
        ctx: Any, kernels: Kernels, number: torch.dtype, epsilon: float, x: Tensor, gain: Tensor, shift: Tensor
    ) -> Tensor:
        rows, width = _sizes(x)
        mean, rate = x.new_empty(rows), x.new_empty(rows)
        rounded = torch.empty_like(x, dtype=number)
        kernels(
            "residual_forward", number, x, None, None, 0, 0.0, gain, shift, epsilon, None, mean, rate, None, rounded,
            rows, width,
        )  # fmt: skip
        ctx.save_for_backward(x, gain, mean, rate)
        ctx.kernels, ctx.number = kernels, number
        return rounded

    @staticmethod
    def backward(ctx: Any, by_rounded: Tensor) -> tuple[Tensor | None, ...]:
        x, gain, mean, rate = ctx.saved_tensors
        rows, width = len(mean), x.size(-1)
        by_x, sums = torch.empty_like(x), x.new_empty(3 * width)
        ctx.kernels(
            "residual_backward", ctx.number, None, None, by_rounded.contiguous(), x, mean, rate, gain, 0, 0.0,
            by_x, None, sums, rows, width,
        )  # fmt: skip
        return None, None, None, by_x, sums[width : 2 * width], sums[2 * width :]


class SumNormed(Function):
    """The norm of x + dropout(y + bias), in float32, and rounded to y's format or None where that is float32 too."""

    @staticmethod
    def forward(
        ctx: Any, dropping: Dropping, epsilon: float, x: Tensor, y: Tensor, bias: Tensor, gain: Tensor,
        shift: Tensor,
    ) -> tuple[Tensor, Tensor | None]:  # fmt: skip
        ctx.set_materialize_grads(False)
        rows, width = _sizes(x)
        total, normed = torch.empty_like(x), torch.empty_like(x)
        mean, rate = x.new_empty(rows), x.new_empty(rows)
        rounded = None if y.dtype == torch.float32 else torch.empty_like(y)
        kernels, *mask = dropping
        kernels(
            "residual_forward", y.dtype, x, y, bias, *mask, gain, shift, epsilon, total, mean, rate, normed, rounded,
            rows, width,
        )  # fmt: skip
        ctx.save_for_backward(total, gain, mean, rate)
        ctx.kernels, ctx.mask, ctx.number = kernels, mask, y.dtype
        return normed, rounded

    @staticmethod
    def backward(ctx: Any, by_normed: Tensor | None, by_rounded: Tensor | None) -> tuple[Tensor | None, ...]:
        total, gain, mean, rate = ctx.saved_tensors
        rows, width = len(mean), total.size(-1)
        by_x, by_y = torch.empty_like(total), torch.empty_like(total, dtype=ctx.number)
        sums = total.new_empty(3 * width)
        ctx.kernels(
            "residual_backward", ctx.number, None, _flat(by_normed), _flat(by_rounded), total, mean, rate, gain,
            *ctx.mask, by_x, by_y, sums, rows, width,
        )  # fmt: skip
        return None, None, by_x, by_y, sums[:width], sums[width : 2 * width], sums[2 * width :]


class Relu(Function):
    """dropout(max(x + bias, 0)), (…, F), in the place of x, which nothing else may need."""

    @staticmethod
    def forward(ctx: Any, dropping: Dropping, x: Tensor, bias: Tensor) -> Tensor:
        kernels, *mask = dropping
        kernels("relu_forward", x.dtype, x, bias, *mask, *_sizes(x))
        ctx.mark_dirty(x)
        ctx.save_for_backward(x)
        ctx.kernels, ctx.p = kernels, dropping.p
        return x

    @staticmethod
    def backward(ctx: Any, by_y: Tensor) -> tuple[Tensor | None, ...]:
        (y,) = ctx.saved_tensors
        by_x, by_bias = torch.empty_like(y), y.new_empty(y.size(-1), dtype=torch.float32)
        ctx.kernels("relu_backward", y.dtype, by_y.contiguous(), y, ctx.p, by_x, by_bias, *_sizes(y))
        return None, by_x, by_bias


class SelfAttention(Function):
    """What each position finds in its own sentence: (B, L, 2 E + D) of queries, keys, values to (B, L, D).

    `bias`, (2 E + D,) float32, is added first. With `lengths`, (B,) int64, positions from there on are hidden; without,
    all later ones.
    """

    @staticmethod
    def forward(
        ctx: Any, kernels: Kernels, heads: int, keys: int, lengths: Tensor | None, packed: Tensor, bias: Tensor
    ) -> Tensor:
        sentences, positions, width = packed.shape
        out = packed.new_empty(sentences, positions, width - 2 * keys)
        at = _heads(packed, packed, heads, lengths, (bias, bias[keys:], bias[2 * keys :]))
        kernels("attention_forward", packed.dtype, byref(at), packed, *_behind(packed, keys, 2 * keys), out)
        ctx.save_for_backward(packed, bias, lengths)
        ctx.kernels, ctx.heads, ctx.keys = kernels, heads, keys
        return out

    @staticmethod
    def backward(ctx: Any, by_out: Tensor) -> tuple[Tensor | None, ...]:
        packed, bias, lengths = ctx.saved_tensors
        keys = ctx.keys
        by_packed, by_bias = torch.empty_like(packed), torch.empty_like(bias)
        at = _heads(packed, packed, ctx.heads, lengths, (bias, bias[keys:], bias[2 * keys :]))
        ctx.kernels(
            "attention_backward", packed.dtype, byref(at), packed, *_behind(packed, keys, 2 * keys),
            by_out.contiguous(), by_packed, *_behind(by_packed, keys, 2 * keys), by_bias,
        )  # fmt: skip
        return None, None, None, None, by_packed, by_bias


class CrossAttention(Function):
    """What each target position, (B, T, E), finds in the source, (B, S, E + D) of keys and values: (B, T, D).

    The biases, (E,) and (E + D,) float32, are added first; source positions from `lengths`, (B,) int64, on are hidden.
    """

    @staticmethod
    def forward(
        ctx: Any, kernels: Kernels, heads: int, lengths: Tensor, query: Tensor, memory: Tensor, query_bias: Tensor,
        memory_bias: Tensor,
    ) -> Tensor:  # fmt: skip
        keys = query.size(-1)
        out = query.new_empty(*query.shape[:2], memory.size(-1) - keys)
        at = _heads(query, memory, heads, lengths, (query_bias, memory_bias, memory_bias[keys:]))
        kernels("attention_forward", query.dtype, byref(at), query, memory, *_behind(memory, keys), out)
        ctx.save_for_backward(lengths, query, memory, query_bias, memory_bias)
        ctx.kernels, ctx.heads = kernels, heads
        return out

    @staticmethod
    def backward(ctx: Any, by_out: Tensor) -> tuple[Tensor | None, ...]:
        lengths, query, memory, query_bias, memory_bias = ctx.saved_tensors
        keys = query.size(-1)
        by_query, by_memory = torch.empty_like(query), torch.empty_like(memory)
        by_bias = query_bias.new_empty(keys + memory.size(-1))
        at = _heads(query, memory, ctx.heads, lengths, (query_bias, memory_bias, memory_bias[keys:]))
        ctx.kernels(
            "attention_backward", query.dtype, byref(at), query, memory, *_behind(memory, keys), by_out.contiguous(),
            by_query, by_memory, *_behind(by_memory, keys), by_bias,
        )  # fmt: skip
        return None, None, None, by_query, by_memory, by_bias[:keys], by_bias[keys:]


def _heads(
    query: Tensor, memory: Tensor, heads: int, lengths: Tensor | None, biases: tuple[Tensor, Tensor, Tensor]
) -> Heads:
    """Return the layout of queries, (B, T, …), and of keys and values, (B, S, …).

    The biases begin with those of queries, keys and values; those of keys and values are the ends of one tensor.
    """
    keys, values = len(biases[1]) - len(biases[2]), len(biases[2])
    places = [bias.data_ptr() for bias in biases]
    hidden = None if lengths is None else lengths.data_ptr()
    return Heads(
        query.size(0), heads, keys // heads, values // heads, query.size(1), memory.size(1), query.size(2),
        memory.size(2), hidden, *places,
    )  # fmt: skip


def _behind(tensor: Tensor, *elements: int) -> list[int]:
    """Return where elements of a tensor stand."""
    return [tensor.data_ptr() + element * tensor.element_size() for element in elements]
