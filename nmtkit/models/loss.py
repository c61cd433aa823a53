"""The loss of a softmax over the vocabulary, with its gradient, some rows at a time: scores are never held for a batch.

Chunk by chunk the scores are computed, become the loss and their own gradient in place, and go into the gradients of
what they were made from; so the way back has nothing left to compute. **N** predictions, **V** entries, **D** width.
"""

from typing import Any

import torch
from torch import Tensor

from nmtkit.kernels.library import Kernels, in_use
from nmtkit.kernels.operations import apply
from nmtkit.models.base import Loss
from nmtkit.models.products import Rounded, rounded

ELEMENTS = 2**26
"""Scores held at a time; each chunk goes over the whole gradient of the matrix once, so few large ones are better."""
SLICE = 2**21
"""Scores that PyTorch's softmax works on at a time, small enough to stay near the processor."""
FP16_GAIN = 2.0**10
"""What gradients of scores in fp16 are multiplied by: they are probabilities, and most would be too small for it."""


def output_loss(x: Tensor, weight: Tensor, copy: Rounded, targets: Tensor, label_smoothing: float) -> Loss:
    """Return the loss of N predictions from x, (N, D), by the output matrix, (V, D), for (N,) target ids.

    The smoothed target gives each of the V entries ε / V and the right one 1 - ε more (Szegedy et al. 2016, section 7;
    ε_ls of Vaswani et al. 2017, section 5.4).
    """
    x = rounded(x)
    total, nll = apply(_OutputLoss, x, weight, copy.of(weight), targets, label_smoothing, in_use(x))
    return Loss(total, nll, len(targets))


class _OutputLoss(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, x: Tensor, weight: Tensor, copy: Tensor, targets: Tensor, smoothing: float, kernels: Kernels | None
    ) -> tuple[Tensor, Tensor]:
        learning = any(ctx.needs_input_grad)
        gain = FP16_GAIN if x.dtype == torch.float16 else 1.0
        by_x = torch.empty_like(x) if ctx.needs_input_grad[0] else None
        by_weight = torch.zeros_like(weight) if ctx.needs_input_grad[1] else None
        sums = x.new_zeros(2, dtype=torch.float32)
        rows = max(1, ELEMENTS // len(copy))
        for begin in range(0, len(x), rows):
            part = slice(begin, begin + rows)
            scores = x[part] @ copy.t()
            sums += _loss(scores, targets[part], smoothing, kernels, gain if learning else 0.0)
            if by_x is not None:
                torch.mm(scores, copy, out=by_x[part])
            if by_weight is not None and x.dtype == weight.dtype:
                by_weight.addmm_(scores.t(), x[part])
            elif by_weight is not None:
                by_weight += scores.t() @ x[part]
            del scores
        ctx.save_for_backward(by_x, by_weight)
        ctx.gain = gain
        nll, mean = sums
        ctx.mark_non_differentiable(nll)
        return (1 - smoothing) * nll + smoothing * mean, nll

    @staticmethod
    def backward(ctx: Any, by_total: Tensor, _: Tensor | None) -> tuple[Tensor | None, ...]:
        by_x, by_weight = ctx.saved_tensors
        factor = by_total / ctx.gain
        by_x = None if by_x is None else by_x * factor.to(by_x.dtype)
        by_weight = None if by_weight is None else by_weight * factor
        return by_x, by_weight, None, None, None, None


def _loss(scores: Tensor, targets: Tensor, smoothing: float, kernels: Kernels | None, gain: float) -> Tensor:
    """Return the sums of -log p(target) and of the mean of -log p, (2,); with a gain, scores become the gradient."""
    if kernels is not None:
        both = scores.new_empty(2, len(scores), dtype=torch.float32)
        kernels(
            "softmax_loss", scores.dtype, scores, targets, smoothing, int(gain > 0), both[0], both[1], *scores.shape
        )
        return both.sum(1)
    sums = scores.new_zeros(2, dtype=torch.float32)
    rows = len(scores) if scores.is_cuda else max(1, SLICE // scores.size(1))
    for begin in range(0, len(scores), rows):
        part, right = scores[begin : begin + rows], targets[begin : begin + rows, None]
        logs = part.log_softmax(-1, dtype=torch.float32)
        sums -= torch.stack((logs.gather(1, right).sum(), logs.mean(1).sum()))
        if gain:
            shares = logs.exp_().sub_(smoothing / scores.size(1))
            shares.scatter_add_(1, right, shares.new_full((1, 1), smoothing - 1).expand_as(right))
            part.copy_(shares.mul_(gain) if gain != 1 else shares)
    return sums
