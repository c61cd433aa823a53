"""Matrix products in the format that autocast asks for, with weights that are rounded once an update.

The format of products is that of autocast where it is on, else float32; weights and their gradients are float32.
"""

from typing import Any

import torch
from torch import Tensor, nn

from nmtkit.kernels.operations import apply


def number_format(x: Tensor) -> torch.dtype:
    """Return the format that products with x are computed in."""
    kind = x.device.type
    return torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else torch.float32


def rounded(x: Tensor) -> Tensor:
    """Return x in the format of products."""
    return x.to(number_format(x))


class _Product(torch.autograd.Function):
    """x · weightᵀ with a copy of the weight that is rounded already."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, copy: Tensor) -> Tensor:  # noqa: ARG004
        by_x, by_weight, _ = ctx.needs_input_grad
        ctx.save_for_backward(x if by_weight else None, copy if by_x else None)
        return x @ copy.t()

    @staticmethod
    def backward(ctx: Any, by_y: Tensor) -> tuple[Tensor | None, Tensor | None, None]:
        x, copy = ctx.saved_tensors
        by_x = None if copy is None else by_y @ copy
        by_weight = None if x is None else (by_y.flatten(0, -2).t() @ x.flatten(0, -2)).float()
        return by_x, by_weight, None


class Rounded:
    """A matrix in the format of products: rounded anew once an update has changed it, not at each use."""

    def __init__(self) -> None:
        self.keeps = True
        """Whether the copy is kept for the next use, which takes half as much memory as the weight itself."""
        self._version = -1
        self._copy: Tensor | None = None

    def of(self, weight: Tensor) -> Tensor:
        """Return the weight, (outputs, inputs), in the format of products; without a gradient."""
        number = number_format(weight)
        if number == weight.dtype or not self.keeps:
            return weight.detach().to(number)
        copy = self._copy
        if copy is None or copy.dtype != number or copy.device != weight.device:
            copy = self._copy = torch.empty_like(weight, dtype=number, requires_grad=False)
            self._version = -1
        if self._version != weight._version:
            with torch.no_grad():
                copy.copy_(weight)
            self._version = weight._version
        return copy

    def product(self, x: Tensor, weight: Tensor) -> Tensor:
        """Return x · weightᵀ, (…, inputs) → (…, outputs), in the format of products."""
        if torch.compiler.is_compiling():  # what is compiled rounds on the way, and sees no versions
            return rounded(x) @ rounded(weight).t()
        if not torch.is_grad_enabled():
            return rounded(x) @ self.of(weight).t()
        product: Tensor = apply(_Product, rounded(x), weight, self.of(weight))
        return product


class Projection(nn.Linear):
    """A linear layer; `product` leaves its bias to whatever comes next and can add it on the way."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__(inputs, outputs)
        self.rounded = Rounded()

    def product(self, x: Tensor) -> Tensor:
        """Return x · weightᵀ, (…, inputs) → (…, outputs), in the format of products."""
        return self.rounded.product(x, self.weight)
