"""Activations: what the way back through a model needs of the way forth, as every architecture's formula states it.

Bytes follow from sizes alone, so that they are known before anything is built. Imports no torch.
"""

from typing import NamedTuple

FLOAT = 4
"""Bytes of a float32: weights, sums, norms, losses."""
ID = 8
"""Bytes of an id of a piece."""


class Shape(NamedTuple):
    """A tensor of sentence pairs: B of them, padded to S source and T target positions, end marks included."""

    pairs: int
    source: int
    target: int

    @property
    def source_positions(self) -> int:
        """B × S."""
        return self.pairs * self.source

    @property
    def target_positions(self) -> int:
        """B × T."""
        return self.pairs * self.target


class Way(NamedTuple):
    """How layers are computed, which decides what is kept."""

    number: int
    """Bytes of an element in the format of products: 2 for bf16 and fp16, else 4."""
    kernels: bool
    """Whether by our kernels, which keep less than PyTorch's operations."""
    cuda: bool = False
    """Whether on a GPU."""
    recompute: bool = False
    """Whether of each layer only the inputs are kept (`models.recomputing`)."""


class Activations(NamedTuple):
    """Bytes of a tensor of sentence pairs."""

    kept: int
    """For the way back, once the way forth has reached the loss; the loss itself is not in them."""
    work: int
    """Taken besides by the largest step of the way back, at its beginning, when nearly all of the above is there."""
    products: int
    """Different matrix products, forth and back, in the format of products: no bytes, but some libraries keep code for
    each."""


def gradient_of_matrix(elements: int, number: int) -> int:
    """Return the bytes that the gradient of a matrix takes: a product in its format, then the same in float32."""
    return elements * (FLOAT if number == FLOAT else number + FLOAT)
