"""Bytes of tensors: what autograd keeps, and what is there at any moment."""

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from typing import Any

import torch
from torch import Tensor
from torch.autograd.graph import saved_tensors_hooks
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_iter


class Kept:
    """Counts the bytes that autograd saves of what is computed within, each piece of memory once."""

    def __init__(self, apart_from: Iterable[Tensor] = ()) -> None:
        self._known = {_place(tensor) for tensor in apart_from}
        self._tensors: list[Tensor] = []  # held, so that no memory is used twice
        self.bytes = 0

    def counting(self) -> AbstractContextManager[Any]:
        """Return the context to compute in."""
        return saved_tensors_hooks(self._take, lambda tensor: tensor)

    def _take(self, tensor: Tensor) -> Tensor:
        if _place(tensor) not in self._known:
            self._known.add(_place(tensor))
            self._tensors.append(tensor)
            self.bytes += tensor.untyped_storage().nbytes()
        return tensor


class Living(TorchDispatchMode):
    """Counts the bytes of all tensors that were made within and are still there, and the most there ever were."""

    def __init__(self) -> None:
        super().__init__()
        self._there: dict[int, tuple[StorageWeakRef, int]] = {}
        self.most = 0

    @property
    def bytes(self) -> int:
        """Bytes that are there now."""
        self._there = {key: both for key, both in self._there.items() if not both[0].expired()}
        return sum(size for _, size in self._there.values())

    def __torch_dispatch__(
        self, function: Callable[..., Any], types: Any, arguments: Any = (), keywords: Any = None
    ) -> Any:
        """Compute, and look at what came out."""
        given = {_place(tensor) for tensor in tree_iter((arguments, keywords)) if isinstance(tensor, Tensor)}
        made = function(*arguments, **(keywords or {}))
        for tensor in tree_iter(made):
            if isinstance(tensor, Tensor) and _place(tensor) not in given:
                storage = StorageWeakRef(tensor.untyped_storage())
                self._there[storage.cdata] = storage, tensor.untyped_storage().nbytes()
        self.most = max(self.most, self.bytes)
        return made


def _place(tensor: Tensor) -> int:
    return tensor.untyped_storage().data_ptr()


def copies_of(model: torch.nn.Module) -> list[Tensor]:
    """Return the copies of its matrices in the format of products that a model holds."""
    parts = [part for module in model.modules() for part in vars(module).values() if type(part).__name__ == "Rounded"]
    return [part._copy for part in parts if part._copy is not None]
