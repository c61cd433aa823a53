"""Parallel: how a model lies on the devices of a training, and how what they computed comes together.

`Whole` is a model on one device; `Replicas` are equal copies of it, one for each process, whose gradients are summed;
of `Shards` each process holds a part (`training.shards`).
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import torch
from torch import Tensor, nn
from torch.nn import Parameter

from nmtkit.models.base import Model
from nmtkit.training.group import Group

BUCKET = 25 * 2**20
"""Bytes of gradients that are summed at once: few enough that the next bucket is on its way, many enough to be fast."""


class Whole:
    """A model on one device."""

    gain = 1.0
    """What the loss is multiplied by, since gradients will be divided by as much."""
    in_step = False
    """Whether all processes must compute equally many tensors, since each asks the others for weights."""

    def __init__(self, model: Model) -> None:
        self.model = model

    def parameters(self) -> dict[str, Parameter]:
        """Return what the optimizer changes, by the names of the model's parameters."""
        return {name: parameter for name, parameter in self.model.named_parameters() if parameter.requires_grad}

    def begin(self) -> None:
        """Get ready for the gradients of an update."""
        self.forget()

    def last(self, is_last: bool) -> None:
        """Say whether the tensor that comes next is the last of its update."""

    def sum_gradients(self, sums: Tensor, *, useless: bool) -> bool:  # noqa: ARG002
        """Replace the gradients, and the sums of losses, by their sums over all processes.

        Returns whether those of any process are useless; whatever came of them is then to be forgotten.
        """
        return useless

    def norm(self) -> Tensor:
        """Return the Euclidean norm of all gradients together, a scalar on their device; not finite where one isn't."""
        norms = torch._foreach_norm(self._gradients())
        norm: Tensor = torch.linalg.vector_norm(torch.stack(norms))
        return norm

    def forget(self) -> None:
        """Drop the gradients."""
        for parameter in self.model.parameters():
            parameter.grad = None

    @contextmanager
    def whole(self) -> Iterator[None]:
        """Within, each process holds all weights in the model: to evaluate it, or to set them."""
        yield

    def weights(self) -> dict[str, Tensor]:
        """Return all weights, as `own_tensors` names them; in the leading process, while others return what they have.

        All processes must ask at once.
        """
        return own_tensors(self.model)

    def take(self, weights: Mapping[str, Tensor]) -> None:
        """Take over weights, whole ones, named as `own_tensors` names them."""
        copy_weights(self.model, weights)

    def agrees(self) -> bool:
        """Tell whether all processes hold the same weights: they took the same steps from the same place."""
        return True

    def full(self, name: str, tensor: Tensor) -> Tensor:  # noqa: ARG002
        """Return a tensor that belongs to a parameter, as an optimizer holds it, in the parameter's own shape."""
        return tensor

    def own(self, name: str, tensor: Tensor) -> Tensor:  # noqa: ARG002
        """Return of a tensor in the parameter's own shape what an optimizer here holds."""
        return tensor

    def _gradients(self) -> list[Tensor]:
        return [p.grad for p in self.parameters().values() if p.grad is not None]


class Replicas(Whole):
    """Equal copies of a model; gradients lie in a few buffers one behind the other, which are summed as they are.

    They are summed once an update, when each process is through with all its tensors: until then one that runs out of
    memory can begin the update anew, in smaller parts, without the others waiting inside an exchange.
    """

    def __init__(self, model: Model, group: Group) -> None:
        super().__init__(model)
        self._group = group
        self._buckets = [_Bucket(parameters) for parameters in _bucketed(list(self.parameters().values()))]
        group.spread([tensor.detach() for tensor in [*model.parameters(), *model.buffers()]])

    def begin(self) -> None:
        """Get ready for the gradients of an update."""
        for bucket in self._buckets:
            bucket.clear()

    def sum_gradients(self, sums: Tensor, *, useless: bool) -> bool:
        """Replace the gradients, and the sums of losses, by their sums over all processes.

        Returns whether those of any process are useless.
        """
        return self._group.sum([*(bucket.flat for bucket in self._buckets), sums], flag=useless)

    def forget(self) -> None:
        """Drop the gradients; their buffers stay."""

    def agrees(self) -> bool:
        """Tell whether all processes hold the same weights: they took the same steps from the same place."""
        found = self._group.gather(float(sum(p.detach().double().sum() for p in self.model.parameters())))
        return all(value == found[0] for value in found)

    def _gradients(self) -> list[Tensor]:
        return [bucket.flat for bucket in self._buckets]


class _Bucket:
    """A buffer, and the parameters whose gradients lie in it."""

    def __init__(self, parameters: list[Parameter]) -> None:
        self.flat = torch.zeros(sum(p.numel() for p in parameters), device=parameters[0].device)
        parts = torch.split(self.flat, [p.numel() for p in parameters])
        self._gradients = [
            (parameter, part.view_as(parameter)) for parameter, part in zip(parameters, parts, strict=True)
        ]

    def clear(self) -> None:
        """Let the gradients be zero, and lie here."""
        self.flat.zero_()
        for parameter, gradient in self._gradients:
            parameter.grad = gradient


def _bucketed(parameters: list[Parameter]) -> list[list[Parameter]]:
    """Return the parameters in groups of at most `BUCKET` bytes of float32, or of one parameter."""
    buckets: list[list[Parameter]] = []
    room = 0
    for parameter in parameters:
        size = 4 * parameter.numel()
        if size > room or not buckets:
            buckets.append([])
            room = BUCKET
        buckets[-1].append(parameter)
        room -= size
    return buckets


def own_tensors(model: nn.Module) -> dict[str, Tensor]:
    """Return parameters and persistent buffers by name; a tensor with several names stands under the first.

    Not by way of `state_dict`, which lets shards fall back to what each process holds.
    """
    buffers = {
        f"{path}.{name}" if path else name: buffer
        for path, module in model.named_modules()
        for name, buffer in module.named_buffers(recurse=False)
        if name not in module._non_persistent_buffers_set
    }
    return {**dict(model.named_parameters()), **buffers}


def copy_weights(model: nn.Module, tensors: Mapping[str, Tensor]) -> None:
    """Copy tensors, named as `own_tensors` names them, into the model."""
    with torch.no_grad():
        for name, tensor in own_tensors(model).items():
            tensor.copy_(tensors[name])
