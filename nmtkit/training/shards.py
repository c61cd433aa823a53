"""Shards: each process holds a part of every matrix, of its gradient and of the optimizer's tensors (PyTorch's FSDP2).

A layer's weights are gathered for as long as it computes (Zhao et al. 2023; Rajbhandari et al. 2020, stage 3), so that
a model trains which is too large for one device. Results are those of replicas but for rounding.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import cast

import torch
from torch import Tensor, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FSDPModule, fully_shard
from torch.distributed.tensor import DTensor, Shard
from torch.nn import Parameter

from nmtkit.models.base import Model
from nmtkit.models.products import Rounded
from nmtkit.training.group import Group
from nmtkit.training.parallel import Whole, own_tensors


class Shards(Whole):
    """A model of which this process holds a part."""

    in_step = True

    def __init__(self, model: Model, group: Group, device: torch.device) -> None:
        """Share out a model that each process holds as a whole so far, on the CPU or on its device."""
        super().__init__(model)
        self._group = group
        self.gain = float(group.ranks)
        self._mesh = init_device_mesh(device.type, (group.ranks,))
        for module in model.modules():
            for part in vars(module).values():
                if isinstance(part, Rounded):
                    part.keeps = False  # a copy of all weights, rounded, would lie on each device
        for module in model.modules():
            if isinstance(module, nn.ModuleList):
                for layer in module:
                    fully_shard(layer, mesh=self._mesh)
        fully_shard(model, mesh=self._mesh)
        self._root = cast(FSDPModule, model)  # which fully_shard has made of it
        self._local = {
            name: Parameter(_local(parameter))
            for name, parameter in model.named_parameters()
            if parameter.requires_grad
        }

    def parameters(self) -> dict[str, Parameter]:
        """Return the parts that the optimizer changes here, by the names of the model's parameters."""
        return self._local

    def begin(self) -> None:
        """Get ready for the gradients of an update."""
        self.forget()

    def last(self, is_last: bool) -> None:
        """Say whether the tensor that comes next is the last of its update: gradients are shared out behind it."""
        self._root.set_requires_gradient_sync(is_last)

    def sum_gradients(self, sums: Tensor, *, useless: bool) -> bool:
        """Give the optimizer its parts of the gradients, which came together behind the last tensor; sum the losses.

        Returns whether those of any process are useless.
        """
        useless = self._group.sum([sums], flag=useless)
        for name, parameter in self.model.named_parameters():
            if name in self._local:
                gradient = parameter.grad
                self._local[name].grad = None if gradient is None else _local(gradient)
        return useless

    def norm(self) -> Tensor:
        """Return the Euclidean norm of all gradients together, a scalar on their device; not finite where one isn't."""
        squares = super().norm() ** 2
        self._group.sum([squares])
        return squares.sqrt()

    def forget(self) -> None:
        """Drop the gradients."""
        super().forget()
        for parameter in self._local.values():
            parameter.grad = None

    @contextmanager
    def whole(self) -> Iterator[None]:
        """Within, each process holds all weights in the model: to evaluate it or to save them."""
        shared = [module for module in self.model.modules() if isinstance(module, FSDPModule)]
        self._root.set_reshard_after_forward(False)
        for module in shared:
            module.unshard()
        try:
            yield
        finally:
            for module in shared:
                module.reshard()
            self._root.set_reshard_after_forward(True)

    def weights(self) -> dict[str, Tensor]:
        """Return all weights, as `own_tensors` names them, on the CPU; in other processes than the first none."""
        found = {}
        for name, tensor in own_tensors(self.model).items():
            full = tensor.full_tensor().detach() if isinstance(tensor, DTensor) else tensor
            if self._group.leads:
                found[name] = full.cpu()
        return found

    def take(self, weights: Mapping[str, Tensor]) -> None:
        """Take over weights, whole ones, named as `own_tensors` names them."""
        with torch.no_grad():
            for name, tensor in own_tensors(self.model).items():
                if isinstance(tensor, DTensor):
                    _local(tensor).copy_(self.own(name, weights[name]))
                else:
                    tensor.copy_(weights[name])

    def full(self, name: str, tensor: Tensor) -> Tensor:
        """Return a tensor that belongs to a parameter, as an optimizer holds it, in the parameter's own shape."""
        if not tensor.dim():  # a count of steps
            return tensor
        parameter = dict(self.model.named_parameters())[name]
        parts = DTensor.from_local(tensor, self._mesh, [Shard(0)], shape=parameter.shape, stride=parameter.stride())
        return parts.full_tensor().cpu()

    def own(self, name: str, tensor: Tensor) -> Tensor:  # noqa: ARG002
        """Return of a tensor in the parameter's own shape what an optimizer here holds."""
        if not tensor.dim():
            return tensor
        parts = tensor.chunk(self._group.ranks)
        rank = self._group.rank
        return parts[rank].clone() if rank < len(parts) else tensor[:0].clone()

    def _gradients(self) -> list[Tensor]:
        return [p.grad for p in self._local.values() if p.grad is not None and p.grad.numel()]


def _local(tensor: Tensor) -> Tensor:
    """Return the part of a tensor that lies here, in the same memory."""
    assert isinstance(tensor, DTensor)
    return tensor.to_local().detach()
