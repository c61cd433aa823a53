"""Kernels: the functions of the library, their signatures, and which library operations use at the moment."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from ctypes import POINTER, Structure, c_float, c_int, c_int64, c_uint64, c_void_p
from typing import Any

import torch
from torch import Tensor

from nmtkit.kernels.building import build

POINTERS, SIZE = c_void_p, c_int64
NAMES = {torch.float32: "float32", torch.bfloat16: "bfloat16"}


class Heads(Structure):
    """Where queries, keys and values lie; as in attention.h."""

    _fields_ = (
        *((name, c_int64) for name in ("sentences", "heads", "key_size", "value_size", "targets", "sources")),
        *((name, c_int64) for name in ("query_stride", "memory_stride")),
        *((name, c_void_p) for name in ("lengths", "query_bias", "key_bias", "value_bias")),
    )


SIGNATURES: dict[str, tuple[Any, ...]] = {
    "residual_forward": (*[POINTERS] * 3, c_uint64, c_float, *[POINTERS] * 2, c_float, *[POINTERS] * 5, SIZE, SIZE),
    "residual_backward": (*[POINTERS] * 7, c_uint64, c_float, *[POINTERS] * 3, SIZE, SIZE),
    "relu_forward": (POINTERS, POINTERS, c_uint64, c_float, SIZE, SIZE),
    "relu_backward": (POINTERS, POINTERS, c_float, POINTERS, POINTERS, SIZE, SIZE),
    "softmax_loss": (POINTERS, POINTERS, c_float, c_int, POINTERS, POINTERS, SIZE, SIZE),
    "attention_forward": (POINTER(Heads), *[POINTERS] * 4),
    "attention_backward": (POINTER(Heads), *[POINTERS] * 8),
}


class Kernels:
    """The compiled kernels. Tensors are given as they are; None is a null pointer."""

    def __init__(self) -> None:
        self._functions: dict[tuple[str, torch.dtype], Any] = {}
        library = build()
        for name, signature in SIGNATURES.items():
            for dtype, ending in NAMES.items():
                function = getattr(library, f"{name}_{ending}")
                function.argtypes, function.restype = signature, None
                self._functions[name, dtype] = function

    def __call__(self, name: str, dtype: torch.dtype, *arguments: Any) -> None:
        """Run the kernel `name` for products in `dtype`."""
        self._functions[name, dtype](*[pointer(a) if isinstance(a, Tensor) else a for a in arguments])


def pointer(tensor: Tensor) -> int:
    """Return where a tensor on the processor begins; its elements must lie one behind the other."""
    assert tensor.is_contiguous()
    return tensor.data_ptr()


_in_use: ContextVar[Kernels | None] = ContextVar("kernels", default=None)


@contextmanager
def using(kernels: Kernels | None) -> Iterator[None]:
    """Let operations on the processor go through kernels, or, with None, through PyTorch alone."""
    before = _in_use.set(kernels)
    try:
        yield
    finally:
        _in_use.reset(before)


def in_use(*tensors: Tensor) -> Kernels | None:
    """Return the kernels that operations on these tensors go through, or None."""
    if torch.compiler.is_compiling():  # what is compiled becomes a kernel of its own
        return None
    kernels = _in_use.get()
    if kernels is None or any(tensor.device.type != "cpu" or tensor.dtype not in NAMES for tensor in tensors):
        return None
    return kernels
